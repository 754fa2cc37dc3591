#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "types.hpp"

namespace paravec {

struct Pass {
  uint64_t seed;
  uint32_t epoch;
  const int64_t* order;
  const float* rates;
  int64_t count;
};

// A pass cut into runs: documents that one thread trains side by side. engines/base.py has the definition.
class Runs {
 public:
  Runs(const Corpus& corpus, const Pass& pass);
  int64_t count() const { return static_cast<int64_t>(ends_.size()); }
  int64_t tokens() const { return tokens_; }
  int64_t longest() const { return longest_; }  // in tokens
  int64_t most_documents() const { return most_documents_; }
  int64_t first_document() const { return pass_.count ? pass_.order[0] : 0; }
  void documents(int64_t run, std::vector<Document>& out) const;

 private:
  const Corpus& corpus_;
  const Pass& pass_;
  std::vector<int64_t> ends_;
  int64_t tokens_ = 0, longest_ = 0, most_documents_ = 0;
};

// What part of its change to a row one of several learners adds. A row goes a part of the rest of its way at every visit. If
// `left` is the part that is left after the visits of one learner, left^n is after those of n, one after another; and that
// is how far the sum of their changes, each from the same start, may go. Few visits: all of it; many: the mean.
class Weights {
 public:
  explicit Weights(int learners);
  float of(int64_t visits) const { return weights_[std::min<int64_t>(visits, kMostVisits)]; }

 private:
  static constexpr int64_t kMostVisits = 2047;  // nothing is left after fewer, as doubles go
  std::array<float, kMostVisits + 1> weights_;
};

}  // namespace paravec
