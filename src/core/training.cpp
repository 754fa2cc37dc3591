#include "training.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace paravec {
namespace {

// Documents of one run are trained side by side by one thread. A run has enough documents for that unless they are long.
constexpr int64_t kRunTokens = 1 << 14, kRunDocuments = 32, kLongRun = 1 << 17;

// Where the runs of a pass end. engines/base.py has the definition.
std::vector<int64_t> cut(const Corpus& corpus, const Pass& pass) {
  std::vector<int64_t> ends;
  int64_t tokens = 0, documents = 0;
  for (int64_t i = 0; i < pass.count; ++i) {
    tokens += corpus.offsets[pass.order[i] + 1] - corpus.offsets[pass.order[i]];
    ++documents;
    if ((tokens >= kRunTokens && documents >= kRunDocuments) || tokens >= kLongRun || i + 1 == pass.count) {
      ends.push_back(i + 1);
      tokens = documents = 0;
    }
  }
  return ends;
}

// Adds a share of what this thread changed to the shared numbers, and takes those over.
void merge(float* shared, float* mine, float* before, int64_t count, float share) {
  for (int64_t i = 0; i < count; ++i) {
    shared[i] += share * (mine[i] - before[i]);
    mine[i] = before[i] = shared[i];
  }
}

// Busy rows would bounce between the caches of threads that share them, so between merges each thread learns on copies.
// The changes of a row that is visited seldom add up. Those of one that is visited often overlap (each thread has gone
// most of the way from the same start), and are averaged.
void merge_all(const Matrix& shared, const Copies& copies, int threads) {
  for (int64_t row = 0; row < copies.count; ++row) {
    const float overlap = std::min(1.0f, static_cast<float>(copies.visits[row]) / kHotVisits);
    const float share = 1.0f / (1.0f + static_cast<float>(threads - 1) * overlap);
    const int64_t at = row * shared.stride;
    merge(shared.data + at, copies.rows + at, copies.before + at, shared.stride, share);
    copies.visits[row] = 0;
  }
}

// The tokens of the longest run.
int64_t longest_run(const Corpus& corpus, const Pass& pass, const std::vector<int64_t>& ends) {
  int64_t longest = 0, i = 0;
  for (const int64_t end : ends) {
    int64_t tokens = 0;
    for (; i < end; ++i) tokens += corpus.offsets[pass.order[i] + 1] - corpus.offsets[pass.order[i]];
    longest = std::max(longest, tokens);
  }
  return longest;
}

}  // namespace

Key stream(uint64_t seed, Purpose purpose, uint32_t epoch, bool dm) {
  uint32_t c[4] = {purpose, epoch, dm ? 1u : 0u, 0u};
  Key key = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = static_cast<uint64_t>(c[0]) * 0xD2511F53u;
    const uint64_t second = static_cast<uint64_t>(c[2]) * 0xCD9E8D57u;
    c[0] = static_cast<uint32_t>(second >> 32) ^ c[1] ^ key.low;
    c[2] = static_cast<uint32_t>(first >> 32) ^ c[3] ^ key.high;
    c[1] = static_cast<uint32_t>(second);
    c[3] = static_cast<uint32_t>(first);
    key.low += 0x9E3779B9u;
    key.high += 0xBB67AE85u;
  }
  return {c[0], c[1]};
}

void Buffers::Free::operator()(void* p) const { std::free(p); }

template <class T>
T* Buffers::take(int64_t count) {
  const size_t bytes = (static_cast<size_t>(std::max<int64_t>(count, 1)) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  void* block = std::aligned_alloc(kAlignment, bytes);
  if (!block) throw std::bad_alloc();
  blocks_.emplace_back(block);
  std::memset(block, 0, bytes);
  return static_cast<T*>(block);
}

int64_t longest_path(const Tables& tables) {
  int64_t longest = 0;
  if (tables.path_offsets)
    for (int64_t t = 0; t < tables.n_targets; ++t)
      longest = std::max(longest, tables.path_offsets[t + 1] - tables.path_offsets[t]);
  return longest;
}

double total(const Tally& tally) { return tally.linear - std::log(tally.product); }

Buffers::Buffers(const Task& task, int64_t longest, int64_t longest_path, bool copies) {
  const Architecture& a = task.architecture;
  Workspace& w = workspace;
  w.tally = {0.0, 1.0, 0};
  w.noise = take<int32_t>(static_cast<int64_t>(kChunk) * a.negative);
  const int64_t path = (longest_path + kRowMultiple - 1) / kRowMultiple * kRowMultiple;
  if (task.frozen) {
    take_frozen(task, path);
  } else {
    take_lanes(task, longest, path);
    const Parameters& p = task.parameters;
    if (copies) w.outputs = take_copies(p.outputs, task.tables.n_targets - (a.output == Output::Hs), kHotOutputs);
    if (copies && p.words.data) w.words_copied = take_copies(p.words, task.tables.n_words, kHotWords);
  }
  if (a.output == Output::Softmax && (a.dm || !task.frozen)) take_batch(task);  // dbow infers without batches
}

void Buffers::take_frozen(const Task& task, int64_t path) {
  const Architecture& a = task.architecture;
  Workspace& w = workspace;
  const int64_t rows = std::max<int64_t>(a.negative + 1, path) + kRowMultiple;
  w.document = take<float>(std::max(a.row, a.vector_size + kRowMultiple));
  w.h = take<float>(a.row);
  w.gradient = take<float>(a.row);
  w.document_gradient = take<double>(a.vector_size);
  w.context = take<int32_t>(a.slots);
  w.rows = take<int32_t>(rows);
  w.labels = take<float>(rows);
  w.times = take<float>(rows);
  w.round.rows = take<float*>(rows);
  w.round.products = take<float>(rows);
  w.round.norms = take<float>(rows);
  w.round.pulls = take<float>(rows);
}

// Documents side by side, of `longest` tokens together, and their rounds.
void Buffers::take_lanes(const Task& task, int64_t longest, int64_t path) {
  const Architecture& a = task.architecture;
  Workspace& w = workspace;
  w.n_lanes = a.output == Output::Softmax ? 1 : a.batch_size;
  w.lanes = take<Lane>(w.n_lanes);
  w.active = take<Lane*>(w.n_lanes);
  if (task.tables.keep || (!a.dm && !a.train_words)) w.kept = take<int32_t>(longest + 1);
  if (a.train_words) {
    w.order = take<int64_t>(longest);
    w.words = take<int32_t>(longest + 1);
    w.ranks = take<int64_t>(longest);
  }
  const bool window = a.dm && a.combine != Combine::Concat;
  for (int l = 0; l < w.n_lanes; ++l) {
    Lane& lane = w.lanes[l];
    lane.vector = take<float>(std::max(a.row, a.vector_size));
    lane.gradient = take<float>(a.row);
    lane.context = take<int32_t>(a.slots);
    if (window) {
      lane.entered = take<float>(static_cast<int64_t>(a.slots) * a.word_row);
      lane.history = take<float>(static_cast<int64_t>(a.window) * a.word_row);
    } else if (a.dm || (a.train_words && task.bias_column)) {
      lane.h = take<float>(a.row);
    }
  }
  if (a.output == Output::Softmax) return;
  const bool hs = a.output == Output::Hs;
  const int64_t apart = ((hs ? path : a.negative + 1) + kBlock) / kRowMultiple * kRowMultiple + 2 * kRowMultiple;
  const int64_t pairs = kTogether * apart + kRowMultiple;
  Round& round = w.round;
  round.apart = static_cast<int>(apart);
  round.ids = take<int32_t>(pairs);
  for (float** each : {&round.labels, &round.times, &round.products, &round.norms, &round.pulls, &round.backs})
    *each = take<float>(pairs);
  round.rows = take<float*>(pairs);
  round.zeros = take<float>(static_cast<int64_t>(a.row) * std::max(kBlock, kTogether));
  if (hs) {
    round.begin_of = take<int>(pairs);
    round.lane_of = take<int>(pairs);
    round.before = take<const float*>(pairs);
  } else {
    round.common = take<float*>(a.negative + 1);
    round.words = take<int32_t>(a.negative + 1);
    round.drawn = take<int>(a.negative + 1);
  }
}

Copies Buffers::take_copies(const Matrix& shared, int64_t n_rows, int64_t bytes) {
  const int64_t count = std::min<int64_t>(n_rows, bytes / (4 * shared.stride));
  return {count, take<float>(count * shared.stride), take<float>(count * shared.stride), take<int64_t>(count)};
}

void Buffers::take_batch(const Task& task) {
  const Architecture& a = task.architecture;
  Workspace& w = workspace;
  const int64_t batch = (static_cast<int64_t>(a.batch_size) + kBatchMultiple - 1) / kBatchMultiple * kBatchMultiple;
  w.items = take<Item>(batch);
  w.contexts = take<int32_t>(batch * a.slots);
  w.inputs = take<float>(batch * a.row);
  w.inputs_across = take<float>(batch * a.row);
  w.input_gradients = take<float>(batch * a.row);
  w.across = take<float>(batch * task.tables.n_targets);
  w.scratch = take<float>(batch * 16);
}

// Hierarchical softmax trains its bias as one more column of U, behind those of h, where 1 stands in h.
class BiasColumn {
 public:
  BiasColumn(Task& task, int64_t n_rows) : task_(task), n_rows_(n_rows) {
    task.bias_column = task.architecture.output == Output::Hs && task.parameters.bias;
    if (!task.bias_column) return;
    task.architecture.row = (task.architecture.width + kRowMultiple) / kRowMultiple * kRowMultiple;
    for (int64_t i = 0; i < n_rows; ++i) at(i) = task.parameters.bias[i];
  }
  ~BiasColumn() {
    if (!task_.bias_column) return;
    for (int64_t i = 0; i < n_rows_; ++i) {
      task_.parameters.bias[i] = at(i);
      at(i) = 0.0f;
    }
  }
  BiasColumn(const BiasColumn&) = delete;
  BiasColumn& operator=(const BiasColumn&) = delete;

 private:
  float& at(int64_t row) { return task_.parameters.outputs.data[row * task_.parameters.outputs.stride + task_.architecture.width]; }
  Task& task_;
  int64_t n_rows_;
};

Result train(const Kernels& kernels, Task task, const Corpus& corpus, const Pass& pass, int threads,
             const std::function<bool()>& interrupted) {
  StopFlag stop;
  task.stop = &stop.value;
  task.frozen = false;
  task.part = Part::All;
  task.sample = stream(pass.seed, Sample, pass.epoch, task.architecture.dm);
  task.target_order = stream(pass.seed, TargetOrder, pass.epoch, task.architecture.dm);
  task.noise = stream(pass.seed, NoiseWords, pass.epoch, task.architecture.dm);

  const std::vector<int64_t> ends = cut(corpus, pass);
  const int64_t longest = longest_run(corpus, pass, ends);
  const int64_t path = longest_path(task.tables);
  threads = static_cast<int>(std::clamp<int64_t>(static_cast<int64_t>(ends.size()), 1, threads));
  Dealer dealer(static_cast<int64_t>(ends.size()), 1);
  std::vector<Tally> tallies(threads);
  const int64_t n_rows = task.tables.n_targets - (task.architecture.output == Output::Hs);
  const BiasColumn bias(task, n_rows);
  const bool copies = threads > 1 && task.architecture.output != Output::Softmax;
  std::mutex merging;

  const auto work = [&](int thread) {
    Buffers buffers(task, longest, path, copies);
    Workspace& w = buffers.workspace;
    int64_t merged_at = 0;
    const auto merge_now = [&] {
      const std::lock_guard<std::mutex> lock(merging);
      merge_all(task.parameters.outputs, w.outputs, threads);
      merge_all(task.parameters.words, w.words_copied, threads);
      merged_at = w.tally.targets;
    };
    if (copies) merge_now();  // nothing has changed: takes the shared rows over
    Dealer::Run run;
    std::vector<Document> documents;
    while (!stop.raised() && dealer.next(run)) {
      documents.clear();
      for (int64_t i = run.begin ? ends[run.begin - 1] : 0; i < ends[run.begin]; ++i) {
        const int64_t row = pass.order[i], first = corpus.offsets[row];
        documents.push_back(
            {corpus.tokens + first, corpus.offsets[row + 1] - first, row, static_cast<uint64_t>(row), pass.rates[i]});
      }
      kernels.train(task, w, documents.data(), static_cast<int64_t>(documents.size()));
      if (copies && w.tally.targets - merged_at >= kHotTargets) merge_now();
    }
    if (!stop.raised()) kernels.flush(task, w);
    if (copies) merge_now();
    tallies[thread] = w.tally;
  };
  const bool complete = run_threads(threads, stop, work, interrupted);

  Result result = {0.0, 0, !complete};
  for (const Tally& tally : tallies) {
    result.objective += total(tally);
    result.targets += tally.targets;
  }
  return result;
}

}  // namespace paravec
