#pragma once

#include "types.hpp"

namespace paravec {

// A function of d to be maximised, which knows where d is. Concave ones are solved; others climb to a maximum.
class Objective {
 public:
  virtual ~Objective() = default;
  virtual void gradient(double* out) = 0;
  virtual void aim(const double* direction) = 0;  // the line d + t direction
  virtual Slope along(double t) = 0;              // of the function on that line
  virtual void move(double t) = 0;                // d becomes d + t direction
};

struct Goal {
  double gradient;   // its length is to fall to this ...
  double curvature;  // ... and where the function is known to curve at least so much, d is to be near the maximum
  int max_iter;
};

// Climbs by L-BFGS. Returns the steps taken.
int maximise(Objective& objective, double* d, int size, const Goal& goal, const bool* stop);

}  // namespace paravec
