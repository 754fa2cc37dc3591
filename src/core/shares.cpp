#include "shares.hpp"

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <memory>
#include <new>

#include "buffers.hpp"

namespace paravec {
namespace {

// How many runs are trained from the same start: few where there are few, so that a small corpus is learned from as often,
// and no more than there is room for the rows that they change.
constexpr int64_t kShares = 16, kRunsAShare = 8, kRoom = int64_t{1} << 30;

int64_t shares_of(const Task& task, const Runs& runs) {
  const int64_t stride = task.parameters.outputs.stride + task.parameters.words.stride;
  const int64_t rows = std::min(task.tables.n_targets, runs.longest());
  return std::clamp<int64_t>(std::min(runs.count() / kRunsAShare, kRoom / (4 * stride * rows)), 1, kShares);
}

struct Free {
  void operator()(void* p) const { std::free(p); }
};

// The rows of one matrix that a run has changed: first as they are now, then by how much they have changed.
class Changes {
 public:
  Changes(const Matrix& shared, int64_t most) : shared_(shared), ids_(most), visits_(most) {
    if (!shared.data) return;
    // Not touched before it is used, so that only what is used takes memory.
    rows_.reset(std::aligned_alloc(kAlignment, static_cast<size_t>(std::max<int64_t>(most, 1) * shared.stride) * sizeof(float)));
    if (!rows_) throw std::bad_alloc();
  }

  Copies copies(int32_t* places) { return {0, rows(), nullptr, visits_.data(), places, ids_.data()}; }

  void close(const Copies& used) {
    count_ = used.count;
    for (int64_t i = 0; i < count_; ++i) {
      used.places[ids_[i]] = -1;
      float* row = rows() + i * shared_.stride;
      const float* before = shared_.data + ids_[i] * shared_.stride;
      for (int64_t j = 0; j < shared_.stride; ++j) row[j] -= before[j];
    }
  }

  // Adds the changes of rows [begin, end).
  void add(int64_t begin, int64_t end, int64_t shares) const {
    for (int64_t i = 0; i < count_; ++i) {
      if (ids_[i] < begin || ids_[i] >= end) continue;
      const float weight = weight_of(visits_[i], static_cast<int>(shares));
      float* to = shared_.data + ids_[i] * shared_.stride;
      const float* change = rows() + i * shared_.stride;
      for (int64_t j = 0; j < shared_.stride; ++j) to[j] += weight * change[j];
    }
  }

 private:
  float* rows() const { return static_cast<float*>(rows_.get()); }
  Matrix shared_;
  int64_t count_ = 0;
  std::unique_ptr<void, Free> rows_;
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
  std::vector<Changes> outputs, words;
  for (int64_t s = 0; s < shares; ++s) {
    outputs.emplace_back(p.outputs, std::min(n_outputs, steps * rows_a_step));
    words.emplace_back(p.words, std::min(n_words, runs.longest() + 1));
  }
  tallies.assign(runs.count(), {0.0, 1.0, 0});

  int64_t first = 0, next = 0;  // the run that begins the present shift, and the next one to take
  bool done = runs.count() == 0;
  std::barrier trained(threads);
  const auto turn = [&]() noexcept {
    first += shares;
    next = first;
    done = first >= runs.count() || stop.raised();
  };
  std::barrier merged(threads, turn);

  return run_threads(threads, stop, [&](int thread) {
    std::unique_ptr<Buffers> buffers;
    std::vector<int32_t> output_places, word_places;
    std::vector<Document> documents;
    try {
      buffers = std::make_unique<Buffers>(task, runs.longest(), path);
      output_places.assign(n_outputs, -1);
      word_places.assign(n_words, -1);
      documents.reserve(runs.most_documents());
    } catch (...) {  // the others must not wait for this one
      stop.raise();
      trained.arrive_and_drop();
      merged.arrive_and_drop();
      throw;
    }
    Workspace& w = buffers->workspace;
    while (!done) {
      const int64_t end = std::min(first + shares, runs.count());
      for (int64_t run; !stop.raised() && (run = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < end;) {
        const int64_t s = run - first;
        w.outputs = outputs[s].copies(output_places.data());
        w.words_copied = words[s].copies(word_places.data());
        w.tally = {0.0, 1.0, 0};
        runs.documents(run, documents);
        kernels.train(task, w, documents.data(), static_cast<int64_t>(documents.size()));
        outputs[s].close(w.outputs);
        words[s].close(w.words_copied);
        tallies[run] = w.tally;
      }
      trained.arrive_and_wait();
      if (!stop.raised())
        for (int64_t s = 0; s < end - first; ++s) {
          outputs[s].add(n_outputs * thread / threads, n_outputs * (thread + 1) / threads, end - first);
          words[s].add(n_words * thread / threads, n_words * (thread + 1) / threads, end - first);
        }
      merged.arrive_and_wait();
    }
  }, interrupted);
}

}  // namespace paravec
