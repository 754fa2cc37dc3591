#include "ngrams.hpp"

#include <algorithm>
#include <limits>

#include "runs.hpp"

namespace paravec {
namespace {

constexpr int64_t kRunTokens = 1 << 14;
constexpr int64_t kAhead = 16;  // look-ups that are under way at once

uint64_t hash_of(int64_t key) { return mix(static_cast<uint64_t>(key) ^ kSecret1, kSecret0); }

std::vector<int64_t> cut(const WordBlock& block) {
  return cut_runs(block.documents, kRunTokens, [&](int64_t i) { return block.offsets[i]; });
}

// The n-grams that end at each word of some documents, one length after another.
class Levels {
 public:
  // Words of documents [first, last); ids of length 1 are the words themselves.
  void start(const WordBlock& block, int64_t first, int64_t last) {
    begin_ = block.offsets[first];
    size_ = block.offsets[last] - begin_;
    words_ = block.words + begin_;
    heads_.clear();
    for (int64_t i = first; i < last; ++i)
      if (block.offsets[i + 1] > block.offsets[i]) heads_.push_back(block.offsets[i] - begin_);
    ids_.assign(words_, words_ + size_);
  }

  // keys()[t] becomes the key of the next longer n-gram that ends at t, or -1.
  void make_keys() {
    keys_.resize(static_cast<size_t>(size_));
    int32_t before = -1;
    for (int64_t t = 0; t < size_; ++t) {
      keys_[t] = before >= 0 && words_[t] >= 0 ? pair_key(before, words_[t]) : -1;
      before = ids_[t];
    }
    for (const int64_t head : heads_) keys_[head] = -1;
  }

  void look_up(const NgramTable& table) {
    for (int64_t t = 0; t < std::min(size_, kAhead); ++t) table.prefetch(keys_[t]);
    for (int64_t t = 0; t < size_; ++t) {
      if (t + kAhead < size_) table.prefetch(keys_[t + kAhead]);
      ids_[t] = keys_[t] < 0 ? -1 : table.find(keys_[t]);
    }
  }

  int64_t size() const { return size_; }
  const std::vector<int64_t>& keys() const { return keys_; }
  const std::vector<int32_t>& ids() const { return ids_; }

 private:
  int64_t begin_ = 0, size_ = 0;
  const int32_t* words_ = nullptr;
  std::vector<int64_t> heads_, keys_;
  std::vector<int32_t> ids_;
};

}  // namespace

void NgramTable::insert(int64_t key, int32_t id) {
  if (++used_ * 2 > slots_.size()) rebuild(slots_.size() * 2);
  size_t i = place(key);
  while (slots_[i].key >= 0) i = (i + 1) & (slots_.size() - 1);
  slots_[i] = {key, id};
}

int32_t NgramTable::find(int64_t key) const {
  for (size_t i = place(key); slots_[i].key >= 0; i = (i + 1) & (slots_.size() - 1))
    if (slots_[i].key == key) return slots_[i].id;
  return -1;
}

void NgramTable::reserve(size_t expected) {
  size_t capacity = slots_.size();
  while (capacity < (used_ + expected) * 2 + 2) capacity *= 2;
  if (capacity != slots_.size()) rebuild(capacity);
}

void NgramTable::rebuild(size_t capacity) {
  std::vector<Slot> old(capacity, Slot{-1, -1});
  slots_.swap(old);
  shift_ = 64 - __builtin_ctzll(capacity);
  for (const Slot& slot : old) {
    if (slot.key < 0) continue;
    size_t i = place(slot.key);
    while (slots_[i].key >= 0) i = (i + 1) & (capacity - 1);
    slots_[i] = slot;
  }
}

TokenBlock NgramTable::attach(const WordBlock& block, int longest, int threads, const Interrupted& interrupted) const {
  const std::vector<int64_t> starts = cut(block);
  const int64_t runs = static_cast<int64_t>(starts.size()) - 1;
  std::vector<std::vector<int32_t>> found(static_cast<size_t>(runs));
  std::vector<Levels> levels(static_cast<size_t>(threads));
  TokenBlock result;
  result.offsets.assign(static_cast<size_t>(block.documents) + 1, 0);

  for_runs(runs, threads, interrupted, [&](int thread, int64_t run) {
    Levels& level = levels[static_cast<size_t>(thread)];
    const int64_t first = starts[run], last = starts[run + 1], begin = block.offsets[first];
    level.start(block, first, last);
    const int64_t size = level.size();
    std::vector<int32_t> all(static_cast<size_t>(size * longest), -1);
    for (int n = 1; n <= longest; ++n) {
      if (n > 1) {
        level.make_keys();
        level.look_up(*this);
      }
      for (int64_t t = 0; t < size; ++t) all[t * longest + n - 1] = level.ids()[t];
    }
    std::vector<int32_t>& out = found[run];
    out.reserve(static_cast<size_t>(size));
    for (int64_t i = first; i < last; ++i) {
      const size_t before = out.size();
      for (int64_t j = (block.offsets[i] - begin) * longest; j < (block.offsets[i + 1] - begin) * longest; ++j)
        if (all[j] >= 0) out.push_back(all[j]);
      result.offsets[i + 1] = static_cast<int64_t>(out.size() - before);
    }
  });
  put_together(result, starts, found, threads, interrupted);
  return result;
}

NgramCounter::NgramCounter(int32_t n_words, int threads, int64_t max_unique)
    : threads_(threads), max_unique_(max_unique), ids_(n_words) {
  buckets_.assign(static_cast<size_t>(threads), std::vector<std::vector<int64_t>>(kShards));
}

// First every thread makes keys and sorts them by shard, then every thread counts shards of its own: a shard's table stays
// in the cache while its keys are counted, and no two threads write to one.
void NgramCounter::add(const WordBlock& block, const Interrupted& interrupted) {
  const std::vector<int64_t> starts = cut(block);
  std::vector<Levels> levels(static_cast<size_t>(threads_));
  for_runs(static_cast<int64_t>(starts.size()) - 1, threads_, interrupted, [&](int thread, int64_t run) {
    Levels& level = levels[static_cast<size_t>(thread)];
    level.start(block, starts[run], starts[run + 1]);
    level.make_keys();
    for (int n = 3; n <= length_; ++n) {
      level.look_up(shorter_);
      level.make_keys();
    }
    for (const int64_t key : level.keys())
      if (key >= 0) buckets_[static_cast<size_t>(thread)][hash_of(key) % kShards].push_back(key);
  });
  for_runs(kShards, threads_, interrupted, [&](int, int64_t shard) {
    for (auto& bucket : buckets_) {
      for (const int64_t key : bucket[static_cast<size_t>(shard)]) shards_[static_cast<size_t>(shard)].count(key, 1);
      bucket[static_cast<size_t>(shard)].clear();
    }
  });
  size_t used = 0;
  for (const Shard& shard : shards_) used += shard.used;
  if (static_cast<int64_t>(used) > max_unique_) prune();
}

void NgramCounter::Shard::count(int64_t key, int64_t times) {
  size_t i = (hash_of(key) >> 16) & (slots.size() - 1);
  for (; slots[i].key >= 0; i = (i + 1) & (slots.size() - 1))
    if (slots[i].key == key) {
      slots[i].count += times;
      return;
    }
  slots[i] = {key, times};
  if (++used * 2 > slots.size()) rebuild(slots.size() * 2, 0);
}

void NgramCounter::Shard::rebuild(size_t capacity, int64_t more_than) {
  std::vector<Slot> old(capacity, Slot{-1, 0});
  slots.swap(old);
  used = 0;
  for (const Slot& slot : old)
    if (slot.key >= 0 && slot.count > more_than) count(slot.key, slot.count);
}

// Forgets the rarest n-grams, so that three quarters of max_unique are left at most; between blocks, whatever the threads.
void NgramCounter::prune() {
  std::vector<int64_t> counts;
  for (const Shard& shard : shards_)
    for (const Shard::Slot& slot : shard.slots)
      if (slot.key >= 0) counts.push_back(slot.count);
  const size_t left = static_cast<size_t>(max_unique_ - max_unique_ / 4);
  std::nth_element(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(left), counts.end(), std::greater<>());
  const int64_t threshold = counts[left];
  int64_t kept = 0;
  for (Shard& shard : shards_) {
    shard.rebuild(shard.slots.size(), threshold);
    kept += static_cast<int64_t>(shard.used);
  }
  ++pruned_.times;
  pruned_.words += static_cast<int64_t>(counts.size()) - kept;
  pruned_.lost += threshold;
}

NgramCounter::Frequent NgramCounter::close(int64_t floor) {
  std::vector<Shard::Slot> kept;
  for (Shard& shard : shards_) {
    for (const Shard::Slot& slot : shard.slots)
      if (slot.key >= 0 && slot.count >= floor) kept.push_back(slot);
    shard = Shard();
  }
  if (static_cast<int64_t>(kept.size()) > std::numeric_limits<int32_t>::max() - ids_)
    throw std::length_error("the corpus has more than 2 billion different n-grams; raise ngram_min_count");
  sort_on(threads_, kept, [] { return false; }, [](const Shard::Slot& x, const Shard::Slot& y) { return x.key < y.key; });
  Frequent result;
  result.keys.reserve(kept.size());
  result.counts.reserve(kept.size());
  shorter_.reserve(kept.size());
  for (const Shard::Slot& slot : kept) {
    result.keys.push_back(slot.key);
    result.counts.push_back(slot.count);
    shorter_.insert(slot.key, ids_++);
  }
  ++length_;
  return result;
}

}  // namespace paravec
