// Documents to numbers of words, on several threads.
#pragma once

#include <array>
#include <functional>

#include "words.hpp"

namespace paravec {

struct Span {
  const uint8_t* data;
  size_t size;
};

// A block of documents: texts to be split, or token lists, whose tokens lie one after another.
struct Documents {
  std::vector<Span> texts;            // a text each; empty for token lists
  std::vector<Span> tokens;           // of all documents
  std::vector<int64_t> token_offsets; // document i has tokens [offsets[i], offsets[i + 1])

  int64_t size() const { return token_offsets.empty() ? static_cast<int64_t>(texts.size()) : static_cast<int64_t>(token_offsets.size()) - 1; }
};

// Document i of a block is tokens[offsets[i] .. offsets[i + 1]).
struct TokenBlock {
  std::unique_ptr<int32_t[]> tokens;
  std::vector<int64_t> offsets;
};

using Interrupted = std::function<bool()>;

// Thrown when `Interrupted` said so.
struct Interruption {};

// Words with fixed numbers: unknown ones become -1. Any number of threads may look up at once.
class Lexicon {
 public:
  explicit Lexicon(const std::vector<Span>& words);
  Lexicon(const Lexicon&) = delete;
  TokenBlock encode(const Documents& documents, const Splitting& how, int threads, const Interrupted& interrupted) const;

 private:
  WordTable table_;
  Arena arena_;
};

// Gives every new word a number, provisional because it depends on who met it first, and counts.
class Indexer {
 public:
  Indexer(const Splitting& how, int threads, int64_t max_unique);
  Indexer(const Indexer&) = delete;

  TokenBlock add(const Documents& documents, const Interrupted& interrupted);

  struct Entry {
    WordKey word;
    int64_t count;
    int32_t id;
  };
  // The words that occur min_count times, most frequent first, equals in the order of their bytes (or as integers).
  std::vector<Entry> most_frequent(int64_t min_count, int64_t most, bool integers);
  int32_t numbers() const { return next_.load(); }  // all numbers given so far are below

  struct Pruned {
    int64_t times = 0, words = 0, lost = 0;  // how often; words forgotten; what a count may be too low by
  };
  const Pruned& pruned() const { return pruned_; }

 private:
  static constexpr size_t kShards = 64;
  struct Shard {
    std::mutex mutex;
    WordTable table;
    Arena arena;
  };
  struct Worker {
    explicit Worker(const Splitting& how) : splitter(how) {}
    Splitter splitter;
    WordTable table;  // its own copy of what it has met, with its own counts
  };

  WordTable::Slot* number(Worker& worker, const WordKey& key);
  void collect();
  void prune();

  int threads_;
  int64_t max_unique_;
  std::atomic<int32_t> next_{0};
  std::atomic<int64_t> alive_{0};
  std::array<Shard, kShards> shards_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<int64_t> totals_;
  Pruned pruned_;
};

}  // namespace paravec
