#pragma once

#include <functional>

#include "runs.hpp"
#include "threads.hpp"
#include "types.hpp"

namespace paravec {

struct Result {
  double objective;
  int64_t targets;
  bool interrupted;
};

// The sum of the objective.
double total(const Tally& tally);

// Visits each document of the pass exactly once, on several threads that share U and W without locks; or, if it is to be
// deterministic, in shares whose changes are added up in a fixed order.
Result train(const Kernels& kernels, Task task, const Corpus& corpus, const Pass& pass, int threads, bool deterministic,
             const std::function<bool()>& interrupted);

}  // namespace paravec
