#include "runs.hpp"

#include <algorithm>
#include <cmath>

namespace paravec {
namespace {

constexpr int64_t kRunTokens = 1 << 14, kRunDocuments = 32, kLongRun = 1 << 17;
constexpr double kManyVisits = 32.0;

}  // namespace

Runs::Runs(const Corpus& corpus, const Pass& pass) : corpus_(corpus), pass_(pass) {
  int64_t tokens = 0, documents = 0;
  for (int64_t i = 0; i < pass.count; ++i) {
    tokens += corpus.offsets[pass.order[i] + 1] - corpus.offsets[pass.order[i]];
    ++documents;
    if ((tokens >= kRunTokens && documents >= kRunDocuments) || tokens >= kLongRun || i + 1 == pass.count) {
      ends_.push_back(i + 1);
      tokens_ += tokens;
      longest_ = std::max(longest_, tokens);
      most_documents_ = std::max(most_documents_, documents);
      tokens = documents = 0;
    }
  }
}

void Runs::documents(int64_t run, std::vector<Document>& out) const {
  out.clear();
  for (int64_t i = run ? ends_[run - 1] : 0; i < ends_[run]; ++i) {
    const int64_t row = pass_.order[i], first = corpus_.offsets[row];
    out.push_back({corpus_.tokens + first, corpus_.offsets[row + 1] - first, row, static_cast<uint64_t>(row), pass_.rates[i]});
  }
}

Weights::Weights(int learners) {
  weights_[0] = 1.0f;
  for (int64_t visits = 1; visits <= kMostVisits; ++visits) {
    const double left = std::exp(-static_cast<double>(visits) / kManyVisits);
    weights_[visits] = static_cast<float>((1.0 - std::pow(left, learners)) / (learners * (1.0 - left)));
  }
}

}  // namespace paravec
