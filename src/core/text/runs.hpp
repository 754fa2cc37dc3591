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

// Makes room for all tokens. offsets[i + 1] holds the length of document i before, and its end afterwards.
inline void make_room(TokenBlock& block) {
  for (size_t i = 1; i < block.offsets.size(); ++i) block.offsets[i] += block.offsets[i - 1];
  block.tokens.reset(new int32_t[static_cast<size_t>(block.offsets.back()) + 1]);
}

// What the runs found, one after another.
inline void put_together(TokenBlock& block, const std::vector<int64_t>& starts, const std::vector<std::vector<int32_t>>& found,
                         int threads, const Interrupted& interrupted) {
  make_room(block);
  for_runs(static_cast<int64_t>(found.size()), threads, interrupted, [&](int, int64_t run) {
    std::copy(found[run].begin(), found[run].end(), block.tokens.get() + block.offsets[starts[run]]);
  });
}

// Sorts on several threads: pieces each, then two sorted halves at a time.
template <class T, class Before>
void sort_on(int threads, std::vector<T>& items, const Interrupted& interrupted, Before&& before) {
  const int64_t pieces = threads == 1 ? 1 : 2 * static_cast<int64_t>(threads);
  const auto at = [&](int64_t piece) { return items.begin() + static_cast<int64_t>(items.size()) * std::min(piece, pieces) / pieces; };
  for_runs(pieces, threads, interrupted, [&](int, int64_t i) { std::sort(at(i), at(i + 1), before); });
  for (int64_t width = 1; width < pieces; width *= 2)
    for_runs((pieces + 2 * width - 1) / (2 * width), threads, interrupted, [&](int, int64_t i) {
      std::inplace_merge(at(2 * i * width), at((2 * i + 1) * width), at((2 * i + 2) * width), before);
    });
}

}  // namespace paravec
