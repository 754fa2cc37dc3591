// N-grams as pairs: a shorter one and the word that follows.
#pragma once

#include <cstdint>
#include <vector>

#include "indexer.hpp"

namespace paravec {

// Documents as numbers of words, -1 where a word was left out.
struct WordBlock {
  const int32_t* words;
  const int64_t* offsets;
  int64_t documents;
};

inline int64_t pair_key(int32_t prefix, int32_t last) { return static_cast<int64_t>(prefix) << 32 | static_cast<uint32_t>(last); }

// The numbers of known n-grams. Any number of threads may look up at once.
class NgramTable {
 public:
  NgramTable() { rebuild(1024); }
  void insert(int64_t key, int32_t id);
  int32_t find(int64_t key) const;  // -1 if it is not there; so for key -1
  void prefetch(int64_t key) const { __builtin_prefetch(&slots_[place(key)]); }
  void reserve(size_t expected);

  // Behind each word the known n-grams up to `longest` that end there; words that were left out are dropped.
  TokenBlock attach(const WordBlock& block, int longest, int threads, const Interrupted& interrupted) const;

 private:
  struct Slot {
    int64_t key;  // -1: empty
    int32_t id;
  };
  size_t place(int64_t key) const { return mix(static_cast<uint64_t>(key) ^ kSecret0, kSecret1) >> shift_; }
  void rebuild(size_t capacity);

  std::vector<Slot> slots_;
  size_t used_ = 0;
  int shift_ = 0;
};

// Counts n-grams of one length after another; those of a length are built from the frequent ones of the length before.
class NgramCounter {
 public:
  NgramCounter(int32_t n_words, int threads, int64_t max_unique);

  void add(const WordBlock& block, const Interrupted& interrupted);

  struct Frequent {
    std::vector<int64_t> keys, counts;  // in the order of keys; their prefixes are words or ids of the length before
  };
  // Ends a length: what occurred `floor` times gets ids, in the order of keys, behind all ids so far.
  Frequent close(int64_t floor);

  const Indexer::Pruned& pruned() const { return pruned_; }

 private:
  static constexpr size_t kShards = 64;
  struct Shard {
    struct Slot {
      int64_t key;  // -1: empty
      int64_t count;
    };
    std::vector<Slot> slots = std::vector<Slot>(1024, Slot{-1, 0});
    size_t used = 0;

    void count(int64_t key, int64_t times);
    void rebuild(size_t capacity, int64_t more_than);
  };

  void prune();

  int threads_, length_ = 2;
  int64_t max_unique_;
  int32_t ids_;
  NgramTable shorter_;
  std::vector<Shard> shards_ = std::vector<Shard>(kShards);
  std::vector<std::vector<std::vector<int64_t>>> buckets_;  // by thread and shard
  Indexer::Pruned pruned_;
};

}  // namespace paravec
