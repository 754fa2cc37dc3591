#include "select.hpp"

#include "runs.hpp"

namespace paravec {
namespace {

constexpr int64_t kRunTokens = 1 << 16;

void check_range(const int32_t* tokens, int64_t begin, int64_t end, int64_t known) {
  int32_t largest = -1;
  for (int64_t t = begin; t < end; ++t) largest = std::max(largest, tokens[t]);
  if (largest >= known) throw std::invalid_argument("a token is out of range");
}

}  // namespace

TokenBlock select(const WordBlock& block, const int32_t* ids, int64_t known, int threads, const Interrupted& interrupted) {
  const std::vector<int64_t> starts = cut_runs(block.documents, kRunTokens, [&](int64_t i) { return block.offsets[i]; });
  const int64_t runs = static_cast<int64_t>(starts.size()) - 1;
  const auto id = [ids](int32_t token) { return token < 0 ? -1 : ids[token]; };
  TokenBlock result;
  result.offsets.assign(static_cast<size_t>(block.documents) + 1, 0);
  for_runs(runs, threads, interrupted, [&](int, int64_t run) {
    check_range(block.words, block.offsets[starts[run]], block.offsets[starts[run + 1]], known);
    for (int64_t i = starts[run]; i < starts[run + 1]; ++i) {
      int64_t kept = 0;
      for (int64_t t = block.offsets[i]; t < block.offsets[i + 1]; ++t) kept += id(block.words[t]) >= 0;
      result.offsets[i + 1] = kept;
    }
  });
  make_room(result);
  for_runs(runs, threads, interrupted, [&](int, int64_t run) {
    int32_t* out = result.tokens.get() + result.offsets[starts[run]];
    int32_t* const end = result.tokens.get() + result.offsets[starts[run + 1]];
    for (int64_t t = block.offsets[starts[run]]; out < end; ++t) {
      const int32_t found = id(block.words[t]);
      *out = found;
      out += found >= 0;
    }
  });
  return result;
}

void renumber(const int32_t* tokens, int64_t size, const int32_t* ids, int64_t known, int32_t* out, int threads,
              const Interrupted& interrupted) {
  const int64_t runs = (size + kRunTokens - 1) / kRunTokens;
  for_runs(runs, threads, interrupted, [&](int, int64_t run) {
    const int64_t end = std::min(size, (run + 1) * kRunTokens);
    check_range(tokens, run * kRunTokens, end, known);
    for (int64_t t = run * kRunTokens; t < end; ++t) out[t] = tokens[t] < 0 ? -1 : ids[tokens[t]];
  });
}

std::unique_ptr<int32_t[]> join(const std::vector<std::pair<const int32_t*, size_t>>& parts, int threads, const Interrupted& interrupted) {
  std::vector<size_t> before = {0};
  for (const auto& part : parts) before.push_back(before.back() + part.second);
  std::unique_ptr<int32_t[]> whole(new int32_t[before.back() + 1]);
  for_runs(static_cast<int64_t>(parts.size()), threads, interrupted, [&](int, int64_t i) {
    std::copy_n(parts[i].first, parts[i].second, whole.get() + before[i]);
  });
  return whole;
}

}  // namespace paravec
