#include "buffers.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "draws.hpp"

namespace paravec {

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

Buffers::Buffers(const Task& task, int64_t longest, int64_t longest_path, int64_t copied) {
  const Architecture& a = task.architecture;
  Workspace& w = workspace;
  w.tally = {0.0, 1.0, 0};
  w.noise = take<int32_t>(static_cast<int64_t>(kChunk) * a.negative);
  const int64_t path = (longest_path + kRowMultiple - 1) / kRowMultiple * kRowMultiple;
  if (task.frozen) {
    take_frozen(task, path);
  } else {
    take_lanes(task, longest, path);
  }
  const Parameters& p = task.parameters;
  w.outputs = take_copies(p.outputs, task.tables.n_targets - (a.output == Output::Hs), copied);
  if (p.words.data) w.words_copied = take_copies(p.words, task.tables.n_words, copied / 4);
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
  w.n_lanes = a.output == Output::Softmax ? 1 : a.by_ways ? 2 : a.batch_size;
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
    lane.vector = take<float>(std::max(a.row, a.vector_size) + kRowMultiple);
    lane.gradient = take<float>(a.row + kRowMultiple);
    lane.context = take<int32_t>(a.slots);
    if (a.draw_errors) lane.numbers = take<uint32_t>(4 * kRowMultiple);
    if (window) {
      lane.entered = take<float>(static_cast<int64_t>(a.slots) * a.word_row);
      lane.history = take<float>(static_cast<int64_t>(a.window) * a.word_row);
    } else if (a.dm) {
      lane.entered = take<float>(static_cast<int64_t>(a.slots) * a.word_row);
      lane.h = take<float>(a.row + kStripSteps * static_cast<int64_t>(a.word_size) + 2 * kRowMultiple);
    } else if (a.train_words && task.bias_column) {
      lane.h = take<float>(a.row + kRowMultiple);
    }
  }
  if (a.output == Output::Softmax) return;
  const bool hs = a.output == Output::Hs;
  const int64_t apart = ((hs ? path : a.negative + 1) + kBlock) / kRowMultiple * kRowMultiple + 2 * kRowMultiple;
  const int64_t pairs = (a.by_ways ? kMostWays : kTogether) * apart + kRowMultiple;
  Round& round = w.round;
  round.apart = static_cast<int>(apart);
  round.ids = take<int32_t>(pairs);
  for (float** each : {&round.labels, &round.times, &round.products, &round.norms, &round.pulls, &round.backs})
    *each = take<float>(pairs);
  round.rows = take<float*>(pairs);
  if (a.draw_errors) {
    round.chances = take<float>(pairs);
    round.learners = take<float*>(apart);
    round.learned = take<float>(apart);
  }
  if (a.half) {
    take_dither(a.row / 2 + apart * kRowMultiple);
    for (float*& each : round.packed) each = take<float>(a.row / 2);
  }
  round.zeros = take<float>(static_cast<int64_t>(a.row) * std::max(kBlock, kTogether));
  if (hs) {
    round.begin_of = take<int>(pairs);
    round.lane_of = take<int>(pairs);
    round.before = take<const float*>(pairs);
    round.rows_ahead = take<const float*>(apart);
    if (a.by_ways) take_ways(pairs);
  } else {
    round.common = take<float*>(a.negative + 1);
    round.words = take<int32_t>(a.negative + 1);
    round.drawn = take<int>(a.negative + 1);
    round.places = take<int>(a.negative + 1);
    round.next = take<const float*>(a.negative + 1);
    round.next_own = take<const float*>(kTogether);
  }
}

// Behind each of kRowMultiple columns stand kDitherPhases numbers, spread evenly and shuffled: a row that begins at a random
// one is rounded right in the mean.
void Buffers::take_dither(int64_t behind) {
  constexpr int n = kDitherPhases * kRowMultiple;
  workspace.dither = take<uint32_t>(n + behind);
  for (int column = 0; column < kRowMultiple; ++column) {
    const std::vector<int32_t> order = shuffled({0, 0}, static_cast<uint64_t>(column), kDitherPhases);
    for (int phase = 0; phase < kDitherPhases; ++phase)
      workspace.dither[phase * kRowMultiple + column] = static_cast<uint32_t>((2 * order[phase] + 1) * (65536 / kDitherPhases / 2));
  }
  for (int64_t i = n; i < n + behind; ++i) workspace.dither[i] = workspace.dither[i - n];
}

void Buffers::take_ways(int64_t nodes) {
  for (Ways& ways : workspace.ways) {
    ways.targets = take<int32_t>(kMostWays);
    ways.rows = take<float*>(nodes);
    ways.times = take<float>(nodes);
    ways.ones = take<float>(nodes);
  }
  Met& met = workspace.met;
  met.common = take<Common>(nodes);
  for (int32_t** each : {&met.single, &met.open, &met.order}) *each = take<int32_t>(nodes);
}

Copies Buffers::take_copies(const Matrix& shared, int64_t n_rows, int64_t bytes) {
  const int64_t count = std::min<int64_t>(n_rows, bytes / (4 * shared.stride));
  return {count, take<float>(count * shared.stride), take<float>(count * shared.stride), take<int64_t>(count + 1), nullptr, nullptr};
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

int64_t longest_path(const Tables& tables) {
  int64_t longest = 0;
  if (tables.path_offsets)
    for (int64_t t = 0; t < tables.n_targets; ++t)
      longest = std::max(longest, tables.path_offsets[t + 1] - tables.path_offsets[t]);
  return longest;
}

}  // namespace paravec
