#include "training.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>

#include "buffers.hpp"
#include "draws.hpp"
#include "row_work.hpp"
#include "shares.hpp"

namespace paravec {
namespace {

// Copies are merged between runs, and would be old if those were few.
constexpr int64_t kRunsOfAThread = 4, kRunsOfThreads = 16;

// Bytes of the busiest rows of U of which each thread has a copy; of W a quarter. The more threads write to the same rows, the
// more rows are worth it.
int64_t copied_by(int threads) { return threads == 1 ? 0 : threads < 8 ? 1 << 20 : 1 << 21; }

// Busy rows would bounce between the caches of threads that share them, so between merges each thread learns on copies.
// Rows are locked block by block, and every thread begins at another one.
class Merger {
 public:
  Merger(int threads, const RowWork& work) : threads_(threads), weights_(threads), work_(work) {}

  // `merges` counts those of this thread.
  void merge(const Copies& copies, int thread, int64_t merges, const uint32_t* dither) {
    const Matrix& shared = work_.matrix();
    for (int64_t turn = 0; turn < kBlocks; ++turn) {
      const int64_t block = (turn + thread * kBlocks / threads_) % kBlocks;
      const std::lock_guard<std::mutex> lock(locks_[block]);
      for (int64_t row = copies.count * block / kBlocks; row < copies.count * (block + 1) / kBlocks; ++row) {
        const int64_t at = row * shared.stride;
        work_.kernels().merge(shared.data + at, copies.rows + at, copies.before + at, work_.length(), weights_.of(copies.visits[row]),
                              work_.dither(dither, row, merges));
        copies.visits[row] = 0;
      }
    }
  }

 private:
  static constexpr int64_t kBlocks = 64;
  int threads_;
  Weights weights_;
  RowWork work_;
  std::mutex locks_[kBlocks];
};

// Hierarchical softmax trains its bias as one more column of U, behind those of h, where 1 stands in h.
class BiasColumn {
 public:
  explicit BiasColumn(Task& task) : task_(task), n_rows_(task.tables.n_targets - 1) {
    task.bias_column = task.architecture.output == Output::Hs && task.parameters.bias;
    if (!is_kept()) return;
    task.architecture.row = (task.architecture.width + kRowMultiple) / kRowMultiple * kRowMultiple;
    for (int64_t i = 0; i < n_rows_; ++i)
      if (task.parameters.bias[i] != 0.0f) at(i) = task.parameters.bias[i];  // pages that nobody wrote to take no memory
  }
  ~BiasColumn() {
    if (!is_kept()) return;
    for (int64_t i = 0; i < n_rows_; ++i) {
      task_.parameters.bias[i] = at(i);
      if (at(i) != 0.0f) at(i) = 0.0f;
    }
  }
  BiasColumn(const BiasColumn&) = delete;
  BiasColumn& operator=(const BiasColumn&) = delete;

 private:
  bool is_kept() const { return task_.bias_column && !task_.architecture.half; }  // rows of bfloat16 have it there all the time
  float& at(int64_t row) { return task_.parameters.outputs.data[row * task_.parameters.outputs.stride + task_.architecture.width]; }
  Task& task_;
  int64_t n_rows_;
};

// Nodes and codes of all paths in one.
std::vector<int32_t> paths_of(const Tables& tables) {
  const int64_t count = tables.path_offsets ? tables.path_offsets[tables.n_targets] : 0;
  std::vector<int32_t> paths(count + kRowMultiple);
  for (int64_t i = 0; i < count; ++i) paths[i] = 2 * tables.path_nodes[i] + tables.path_codes[i];
  return paths;
}

// For training by ways.
std::vector<Leaf> leaves_of(const Tables& tables) {
  std::vector<Leaf> leaves(tables.n_targets + 1);
  for (int64_t t = 0; t < tables.n_targets; ++t) {
    const int64_t first = tables.path_offsets[t], length = tables.path_offsets[t + 1] - first;
    leaves[t].first = first;
    leaves[t + 1].first = first + length;
    for (int64_t i = 0; i < std::min<int64_t>(length, 64); ++i)
      leaves[t].turns |= static_cast<uint64_t>(tables.path_codes[first + i]) << (63 - i);
    leaves[t].turns &= kTurns;
  }
  return leaves;
}

// Threads take runs as they come and share U and W without locks.
bool train_freely(const Kernels& kernels, const Task& task, const Runs& runs, int threads, StopFlag& stop,
                  const std::function<bool()>& interrupted, std::vector<Tally>& tallies) {
  const int64_t path = longest_path(task.tables);
  const int64_t copied = task.architecture.output != Output::Softmax ? copied_by(threads) : 0;
  Dealer dealer(runs.count(), 1);
  Merger outputs(threads, RowWork::of_outputs(kernels, task)), words(threads, RowWork::of_words(kernels, task));
  tallies.resize(threads);
  return run_threads(threads, stop, [&](int thread) {
    Buffers buffers(task, runs.longest(), path, copied);
    Workspace& w = buffers.workspace;
    int64_t merges = first_turn(task, runs);
    const auto merge_now = [&] {
      outputs.merge(w.outputs, thread, merges, w.dither);
      words.merge(w.words_copied, thread, merges++, nullptr);
    };
    if (copied) merge_now();  // nothing has changed: takes the shared rows over
    Dealer::Run run;
    std::vector<Document> documents;
    while (!stop.raised() && dealer.next(run)) {
      runs.documents(run.begin, documents);
      kernels.train(task, w, documents.data(), static_cast<int64_t>(documents.size()));
      if (copied) merge_now();
    }
    if (!stop.raised()) kernels.flush(task, w);
    tallies[thread] = w.tally;
  }, interrupted);
}

}  // namespace

double total(const Tally& tally) { return tally.linear - std::log(tally.product); }

Result train(const Kernels& kernels, Task task, const Corpus& corpus, const Pass& pass, int threads, bool deterministic,
             const std::function<bool()>& interrupted) {
  StopFlag stop;
  task.stop = &stop.value;
  task.frozen = false;
  task.part = Part::All;
  task.sample = stream(pass.seed, Sample, pass.epoch, task.architecture.dm);
  task.target_order = stream(pass.seed, TargetOrder, pass.epoch, task.architecture.dm);
  task.noise = stream(pass.seed, NoiseWords, pass.epoch, task.architecture.dm);
  task.errors = stream(pass.seed, Errors, pass.epoch, task.architecture.dm);
  const BiasColumn bias(task);
  const std::vector<int32_t> paths = paths_of(task.tables);
  task.tables.paths = paths.data();
  const std::vector<Leaf> leaves = task.architecture.by_ways ? leaves_of(task.tables) : std::vector<Leaf>();
  task.tables.leaves = leaves.data();
  task.tables.deep = longest_path(task.tables) > std::popcount(kTurns);

  const Runs runs(corpus, pass);
  if (deterministic && task.architecture.output == Output::Softmax) {  // every step changes all of U
    deterministic = false;
    threads = 1;
  }
  const int64_t most = deterministic ? runs.count() : runs.count() < kRunsOfThreads ? 1 : runs.count() / kRunsOfAThread;
  threads = static_cast<int>(std::clamp<int64_t>(most, 1, threads));
  std::vector<Tally> tallies;
  const bool complete = deterministic ? train_in_shares(kernels, task, runs, threads, stop, interrupted, tallies)
                                      : train_freely(kernels, task, runs, threads, stop, interrupted, tallies);
  Result result = {0.0, 0, !complete};
  for (const Tally& tally : tallies) {
    result.objective += total(tally);
    result.targets += tally.targets;
  }
  return result;
}

}  // namespace paravec
