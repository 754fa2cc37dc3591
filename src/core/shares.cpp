#include "shares.hpp"

#include <algorithm>
#include <array>
#include <barrier>
#include <cstdlib>
#include <memory>
#include <new>

#include "buffers.hpp"
#include "row_work.hpp"

namespace paravec {
namespace {

// How many runs are trained from the same start: few where there are few, so that a small corpus is learned from as often,
// and no more than there is room for the rows that they change.
constexpr int64_t kShares = 16, kRunsAShare = 8, kRoom = int64_t{1} << 30;

int64_t shares_of(const Task& task, const Runs& runs) {
  const auto padded = [](int64_t floats) { return (floats + kRowMultiple - 1) / kRowMultiple * kRowMultiple; };
  const Architecture& a = task.architecture;
  const int64_t stride = padded(a.width + task.bias_column) + (task.parameters.words.data ? padded(a.word_size) : 0);
  const int64_t rows = std::max<int64_t>(1, std::min(task.tables.n_targets, runs.longest()));  // there may be no token
  return std::clamp<int64_t>(std::min(runs.count() / kRunsAShare, kRoom / (4 * stride * rows)), 1, kShares);
}

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Room = std::unique_ptr<void, Free>;

// Room for so many rows of so many floats; only what is used of it takes memory.
Room room(const Matrix& shared, int64_t rows, int64_t length) {
  if (!shared.data) return {};
  Room found(std::aligned_alloc(kAlignment, static_cast<size_t>(std::max<int64_t>(rows, 1) * length) * sizeof(float)));
  if (!found) throw std::bad_alloc();
  return found;
}

// A thread's copies of the rows that a run needs. They are its own, and not those of the run, to stay in its cache.
class OwnCopies {
 public:
  OwnCopies(const Matrix& shared, int64_t n_rows, int64_t most)
      : rows_(room(shared, most, shared.stride)), visits_(most), places_(n_rows, -1), ids_(most) {}
  Copies copies() { return {0, static_cast<float*>(rows_.get()), nullptr, visits_.data(), places_.data(), ids_.data()}; }

 private:
  Room rows_;
  std::vector<int64_t> visits_;
  std::vector<int32_t> places_, ids_;
};

// The changes that a run has made to the rows of one matrix; for several threads in parts. Every n-th row is in the same one, so
// that busy rows (the first) are in all of them.
class Changes {
 public:
  Changes(const RowWork& work, int64_t most, int threads)
      : work_(work), parts_(threads > 1 ? kMostParts : 1), rows_(room(shared(), most, work.length())), ids_(most), visits_(most) {}

  // Takes over what a thread has learned on its copies, and empties them.
  void take(Copies& copies) {
    ends_.fill(0);
    for (int64_t i = 0; i < copies.count; ++i) ++ends_[part_of(copies.ids[i]) + 1];
    for (int part = 0; part < parts_; ++part) ends_[part + 1] += ends_[part];
    Ends next = ends_;
    for (int64_t i = 0; i < copies.count; ++i) {
      if (i + kAhead < copies.count) fetch(copies.ids[i + kAhead]);
      const int32_t id = copies.ids[i];
      const int64_t place = next[part_of(id)]++;
      ids_[place] = id;
      visits_[place] = copies.visits[i];
      copies.places[id] = -1;
      work_.kernels().difference(copies.rows + i * shared().stride, row_of(id), work_.length(), change_at(place));
    }
    copies.count = 0;
  }

  // Adds the changes of the parts that are this thread's. `run` is the one that made them.
  void add(int thread, int threads, const Weights& weights, int64_t run, const uint32_t* dither) const {
    for (int part = thread; part < parts_; part += threads)
      for (int64_t i = ends_[part]; i < ends_[part + 1]; ++i) {
        if (i + kAhead < ends_[part + 1]) fetch(ids_[i + kAhead]);
        work_.kernels().add(row_of(ids_[i]), change_at(i), work_.length(), weights.of(visits_[i]), work_.dither(dither, ids_[i], run));
      }
  }

 private:
  static constexpr int64_t kAhead = 4;
  static constexpr int kMostParts = 64;
  using Ends = std::array<int64_t, kMostParts + 1>;
  int part_of(int32_t id) const { return id & (parts_ - 1); }  // their number is a power of two
  const Matrix& shared() const { return work_.matrix(); }
  float* row_of(int64_t id) const { return shared().data + id * shared().stride; }
  float* change_at(int64_t place) const { return static_cast<float*>(rows_.get()) + place * work_.length(); }
  // Rows lie anywhere: one that is needed soon is on its way meanwhile.
  void fetch(int64_t id) const {
    const float* row = row_of(id);
    for (int64_t j = 0; j < shared().stride; j += kAlignment / 4) __builtin_prefetch(row + j, 1);
  }
  RowWork work_;
  int parts_;
  Ends ends_{};  // of the parts, in ids and rows; the first begins at 0
  Room rows_;
  std::vector<int32_t> ids_;
  std::vector<int64_t> visits_;
};

}  // namespace

bool train_in_shares(const Kernels& kernels, const Task& task, const Runs& runs, int threads, StopFlag& stop,
                     const std::function<bool()>& interrupted, std::vector<Tally>& tallies) {
  const Architecture& a = task.architecture;
  const Parameters& p = task.parameters;
  const int64_t n_outputs = task.tables.n_targets, n_words = p.words.data ? task.tables.n_words + 1 : 0;
  const int64_t steps = runs.longest() * (a.train_words ? 1 + a.slots : 1);
  const int64_t path = longest_path(task.tables);
  const int64_t rows_a_step = a.output == Output::Hs ? path : a.negative + 1;
  const int64_t shares = shares_of(task, runs);
  const int64_t most_outputs = std::min(n_outputs, steps * rows_a_step), most_words = std::min(n_words, runs.longest() + 1);
  std::vector<Changes> outputs, words;
  for (int64_t s = 0; s < shares; ++s) {
    outputs.emplace_back(RowWork::of_outputs(kernels, task), most_outputs, threads);
    words.emplace_back(RowWork::of_words(kernels, task), most_words, threads);
  }
  tallies.assign(runs.count(), {0.0, 1.0, 0});
  const int64_t last = runs.count() ? (runs.count() - 1) % shares + 1 : 1;
  const Weights of_all(static_cast<int>(shares)), of_last(static_cast<int>(last));

  int64_t first = 0, next = 0;  // the run that begins the present shift, and the next one to take
  bool done = runs.count() == 0;
  std::barrier trained(threads);
  const auto turn = [&]() noexcept {
    first += shares;
    next = first;
    done = first >= runs.count() || stop.raised();
  };
  std::barrier merged(threads, turn);

  const int64_t first_line = first_turn(task, runs);
  return run_threads(threads, stop, [&](int thread) {
    std::unique_ptr<Buffers> buffers;
    std::unique_ptr<OwnCopies> own_outputs, own_words;
    std::vector<Document> documents;
    try {
      buffers = std::make_unique<Buffers>(task, runs.longest(), path);
      own_outputs = std::make_unique<OwnCopies>(p.outputs, n_outputs, most_outputs);
      own_words = std::make_unique<OwnCopies>(p.words, n_words, most_words);
      documents.reserve(runs.most_documents());
    } catch (...) {  // the others must not wait for this one
      stop.raise();
      trained.arrive_and_drop();
      merged.arrive_and_drop();
      throw;
    }
    Workspace& w = buffers->workspace;
    w.outputs = own_outputs->copies();
    w.words_copied = own_words->copies();
    while (!done) {
      const int64_t end = std::min(first + shares, runs.count());
      for (int64_t run; !stop.raised() && (run = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < end;) {
        const int64_t s = run - first;
        w.tally = {0.0, 1.0, 0};
        runs.documents(run, documents);
        kernels.train(task, w, documents.data(), static_cast<int64_t>(documents.size()));
        outputs[s].take(w.outputs);
        words[s].take(w.words_copied);
        tallies[run] = w.tally;
      }
      trained.arrive_and_wait();
      const Weights& weights = end - first == shares ? of_all : of_last;
      if (!stop.raised())
        for (int64_t s = 0; s < end - first; ++s) {
          outputs[s].add(thread, threads, weights, first_line + first + s, w.dither);
          words[s].add(thread, threads, weights, first_line + first + s, nullptr);
        }
      merged.arrive_and_wait();
    }
  }, interrupted);
}

}  // namespace paravec
