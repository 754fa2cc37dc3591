#pragma once

#include <memory>
#include <vector>

#include "types.hpp"

namespace paravec {

// A thread's arrays, all zero: those of a Workspace.
class Buffers {
 public:
  // For runs of at most `longest` tokens, and with copies of the busiest rows: so many bytes of U, a quarter of that of W.
  Buffers(const Task& task, int64_t longest, int64_t longest_path, int64_t copied = 0);
  Workspace workspace{};

 private:
  void take_frozen(const Task& task, int64_t path);
  void take_lanes(const Task& task, int64_t longest, int64_t path);
  void take_dither(int64_t behind);
  void take_ways(int64_t nodes);
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

}  // namespace paravec
