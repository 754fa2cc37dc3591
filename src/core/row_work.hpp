#pragma once

#include "runs.hpp"
#include "types.hpp"

namespace paravec {

// What the turns of a pass begin with, after which rows are rounded that are merged.
inline int64_t first_turn(const Task& task, const Runs& runs) { return (task.errors.low + runs.first_document()) % kDitherPhases; }

// What is done with whole rows of U or of W, whatever their numbers are.
class RowWork {
 public:
  static RowWork of_outputs(const Kernels& kernels, const Task& task) {
    return {task.parameters.outputs, task.architecture.half, kernels};
  }
  static RowWork of_words(const Kernels& kernels, const Task& task) { return {task.parameters.words, false, kernels}; }

  const Matrix& matrix() const { return matrix_; }
  const RowKernels& kernels() const { return kernels_; }
  int64_t length() const { return matrix_.stride * (half_ ? 2 : 1); }  // in numbers

  // What a row is rounded by, if it must be: other numbers whenever `turn` is another.
  const uint32_t* dither(const uint32_t* numbers, int64_t row, int64_t turn) const {
    return half_ ? numbers + (row + turn) % kDitherPhases * kRowMultiple : nullptr;
  }

 private:
  RowWork(const Matrix& matrix, bool half, const Kernels& kernels)
      : matrix_(matrix), half_(half), kernels_(half ? kernels.half_rows : kernels.rows) {}
  Matrix matrix_;
  bool half_;
  RowKernels kernels_;
};

}  // namespace paravec
