#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "threads.hpp"
#include "types.hpp"

namespace paravec {

struct Pass {
  uint64_t seed;
  uint32_t epoch;
  const int64_t* order;
  const float* rates;
  int64_t count;
};

struct Result {
  double objective;
  int64_t targets;
  bool interrupted;
};

// The key of one stream of draws.
Key stream(uint64_t seed, Purpose purpose, uint32_t epoch, bool dm);

// One aligned block of zeros, cut into the arrays of a Workspace.
class Buffers {
 public:
  // For runs of at most `longest` tokens, and with copies of the busiest rows.
  Buffers(const Task& task, int64_t longest, int64_t longest_path, bool copies = false);
  Workspace workspace{};

 private:
  void take_frozen(const Task& task, int64_t path);
  void take_lanes(const Task& task, int64_t longest, int64_t path);
  Copies take_copies(const Matrix& shared, int64_t n_rows, int64_t bytes);
  void take_batch(const Task& task);
  template <class T>
  T* take(int64_t count);
  struct Free {
    void operator()(void* p) const;
  };
  std::vector<std::unique_ptr<void, Free>> blocks_;
};

int64_t longest_path(const Tables& tables);

// The sum of the objective.
double total(const Tally& tally);

// Visits each document of the pass exactly once, on several threads that share U and W without locks.
Result train(const Kernels& kernels, Task task, const Corpus& corpus, const Pass& pass, int threads,
             const std::function<bool()>& interrupted);

}  // namespace paravec
