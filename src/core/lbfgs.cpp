#include "lbfgs.hpp"

#include <cmath>
#include <vector>

namespace paravec {
namespace {

constexpr int kMemory = 8;
constexpr int kPatience = 10;      // steps without a smaller gradient
constexpr double kDistance = 0.01;  // |gradient| / curvature bounds the distance from the maximum: 1 % of |d| will do

// In eight sums: one would wait for itself at every number.
double dot(const double* a, const double* b, int n) {
  double sums[8] = {};
  int i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) sums[k] += a[i + k] * b[i + k];
  for (; i < n; ++i) sums[i % 8] += a[i] * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// The last few (change of d, change of gradient).
class Memory {
 public:
  explicit Memory(int size) : size_(size), change_(kMemory, std::vector<double>(size)), fall_(change_), scale_(kMemory) {}

  void remember(const double* before, const double* after, const double* gradient_before, const double* gradient_after) {
    double curvature = 0, length = 0;
    for (int i = 0; i < size_; ++i) {
      const double s = after[i] - before[i];
      curvature += s * (gradient_before[i] - gradient_after[i]);
      length += s * s;
    }
    if (!(curvature > 1e-10 * length)) return;  // not concave here, or lost in rounding
    const int slot = (first_ + count_) % kMemory;
    for (int i = 0; i < size_; ++i) {
      change_[slot][i] = after[i] - before[i];
      fall_[slot][i] = gradient_before[i] - gradient_after[i];
    }
    scale_[slot] = 1.0 / curvature;
    if (count_ < kMemory) {
      ++count_;
    } else {
      first_ = (first_ + 1) % kMemory;
    }
  }

  bool empty() const { return count_ == 0; }
  void clear() { count_ = 0; }

  // direction = (approximate inverse of the negated Hessian) gradient
  void apply(const double* gradient, double* direction) const {
    for (int i = 0; i < size_; ++i) direction[i] = gradient[i];
    double alpha[kMemory];
    for (int k = count_ - 1; k >= 0; --k) {
      const int slot = (first_ + k) % kMemory;
      alpha[k] = scale_[slot] * dot(change_[slot].data(), direction, size_);
      for (int i = 0; i < size_; ++i) direction[i] -= alpha[k] * fall_[slot][i];
    }
    if (count_) {
      const int slot = (first_ + count_ - 1) % kMemory;
      const double shrink = 1.0 / (scale_[slot] * dot(fall_[slot].data(), fall_[slot].data(), size_));
      for (int i = 0; i < size_; ++i) direction[i] *= shrink;
    }
    for (int k = 0; k < count_; ++k) {
      const int slot = (first_ + k) % kMemory;
      const double beta = scale_[slot] * dot(fall_[slot].data(), direction, size_);
      for (int i = 0; i < size_; ++i) direction[i] += (alpha[k] - beta) * change_[slot][i];
    }
  }

 private:
  int size_, first_ = 0, count_ = 0;
  std::vector<std::vector<double>> change_, fall_;
  std::vector<double> scale_;
};

// A t where the slope is small: Newton or secant steps inside a bracket that is opened by fourfold steps.
double search_line(Objective& objective, double slope, double t) {
  double low = 0, low_slope = slope, high = 0, high_slope = 0;
  bool bracketed = false;
  for (int tries = 0; tries < 30; ++tries) {
    const Slope here = objective.along(t);
    if (std::fabs(here.slope) <= 0.3 * slope) return t;
    if (here.slope > 0) {
      low = t;
      low_slope = here.slope;
    } else {
      high = t;
      high_slope = here.slope;
      bracketed = true;
    }
    double next = here.curvature > 0 ? t + here.slope / here.curvature
                  : bracketed        ? low + (high - low) * low_slope / (low_slope - high_slope)
                                     : 4 * t;
    if (!bracketed) {
      next = std::fmin(next, 10 * t);
    } else {
      const double margin = 0.1 * (high - low);
      if (!(next > low + margin && next < high - margin)) next = 0.5 * (low + high);
    }
    if (!(next > 0) || next == t) return t;
    t = next;
  }
  return low > 0 ? low : t;
}

}  // namespace

int maximise(Objective& objective, double* d, int size, const Goal& goal, const bool* stop) {
  std::vector<double> gradient(size), before(size), gradient_before(size), direction(size);
  Memory memory(size);
  objective.gradient(gradient.data());
  double smallest = INFINITY;
  int since_smallest = 0;
  for (int iteration = 0; iteration < goal.max_iter; ++iteration) {
    const double length = std::sqrt(dot(gradient.data(), gradient.data(), size));
    const double reach = goal.curvature * std::sqrt(dot(d, d, size));
    const bool near = goal.curvature == 0 || length <= kDistance * reach;
    if (length == 0 || (length <= goal.gradient && near)) return iteration;
    if (!std::isfinite(length) || __atomic_load_n(stop, __ATOMIC_RELAXED)) return iteration;
    since_smallest = length < smallest ? 0 : since_smallest + 1;
    smallest = std::fmin(smallest, length);
    // Rounding is all that is left; where the function is not concave, the gradient may grow on the way for longer.
    if (since_smallest == (goal.curvature > 0 ? kPatience : 5 * kPatience)) return iteration;
    memory.apply(gradient.data(), direction.data());
    double slope = dot(gradient.data(), direction.data(), size);
    if (!(slope > 0)) {
      memory.clear();
      direction = gradient;
      slope = length * length;
    }
    objective.aim(direction.data());
    double t = 1.0;
    if (memory.empty()) {
      const Slope here = objective.along(0.0);
      t = here.curvature > 0 ? slope / here.curvature : 0.5 / length;
    }
    t = search_line(objective, slope, t);
    before.assign(d, d + size);
    gradient_before = gradient;
    objective.move(t);
    objective.gradient(gradient.data());
    memory.remember(before.data(), d, gradient_before.data(), gradient.data());
  }
  return goal.max_iter;
}

}  // namespace paravec
