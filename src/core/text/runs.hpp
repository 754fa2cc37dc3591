// A block of documents in runs of about equal weight, dealt out to threads.
#pragma once

#include <algorithm>
#include <vector>

#include "../threads.hpp"
#include "indexer.hpp"

namespace paravec {

// Where the runs begin, and the end of the last one; weight_before(i) is the weight of all documents before i.
template <class WeightBefore>
std::vector<int64_t> cut_runs(int64_t documents, int64_t run_weight, WeightBefore&& weight_before) {
  std::vector<int64_t> starts = {0};
  for (int64_t i = 0; i < documents; ++i)
    if (weight_before(i + 1) - weight_before(starts.back()) >= run_weight) starts.push_back(i + 1);
  if (starts.back() != documents) starts.push_back(documents);
  return starts;
}

// Calls work(thread, run) once for each run in [0, runs); a single run is done by the calling thread.
template <class Work>
void for_runs(int64_t runs, int threads, const Interrupted& interrupted, Work&& work) {
  if (runs == 0) return;
  if (runs == 1) return work(0, 0);
  StopFlag stop;
  Dealer dealer(runs, 1);
  const auto loop = [&](int thread) {
    Dealer::Run run;
    while (!stop.raised() && dealer.next(run)) work(thread, run.begin);
  };
  const int used = static_cast<int>(std::min<int64_t>(threads, runs));
  if (!run_threads(used, stop, loop, interrupted)) throw Interruption{};
}

// What the runs found, one after another. offsets[i + 1] holds the length of document i before, and its end afterwards.
inline void put_together(TokenBlock& block, const std::vector<std::vector<int32_t>>& found) {
  for (size_t i = 1; i < block.offsets.size(); ++i) block.offsets[i] += block.offsets[i - 1];
  block.tokens.reset(new int32_t[static_cast<size_t>(block.offsets.back()) + 1]);
  int32_t* out = block.tokens.get();
  for (const std::vector<int32_t>& run : found) out = std::copy(run.begin(), run.end(), out);
}

}  // namespace paravec
