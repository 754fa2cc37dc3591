#pragma once

#include <functional>

#include "training.hpp"
#include "types.hpp"

namespace paravec {

struct Inference {
  uint64_t seed;
  double tol;
  int max_iter;
  double l2;  // of an empty document; see l2_of
  Part part;
  bool common;  // noise words are drawn for positions alone, the same for all documents
};

// A vector for each of `count` documents with W, U and b frozen: a pure function of the model and the document.
// Writes rows of vector_size floats, zero where no target counts. Returns false when interrupted.
bool infer(const Kernels& kernels, Task task, const Corpus& corpus, int64_t count, const Inference& how, float* out, int threads,
           const std::function<bool()>& interrupted);

// The objective of the targets that count at the given document vectors, without L2: the same bits at any thread count.
Result score(const Kernels& kernels, Task task, const Corpus& corpus, int64_t count, const Inference& how, const float* vectors,
             int threads, const std::function<bool()>& interrupted);

uint64_t hash_tokens(const int32_t* tokens, int64_t count);

}  // namespace paravec
