#include "indexer.hpp"

#include <algorithm>
#include <random>

#include "runs.hpp"

namespace paravec {
namespace {

constexpr int64_t kRunBytes = 1 << 16;   // text dealt out at once
constexpr int64_t kRunTokens = 1 << 13;  // tokens of token lists dealt out at once

std::vector<int64_t> cut(const Documents& documents) {
  if (!documents.token_offsets.empty())
    return cut_runs(documents.size(), kRunTokens, [&](int64_t i) { return documents.token_offsets[i]; });
  std::vector<int64_t> before = {0};
  for (const Span& text : documents.texts) before.push_back(before.back() + static_cast<int64_t>(text.size));
  return cut_runs(documents.size(), kRunBytes, [&](int64_t i) { return before[i]; });
}

// Looks words up some time after they are known, so that the table's memory is on its way meanwhile.
template <class LookUp>
class Queue {
 public:
  Queue(LookUp& look_up, std::vector<int32_t>& out) : look_up_(look_up), out_(out) {}
  void add(const WordKey& key) {
    if (!key.is_short()) {  // its bytes are about to be overwritten
      flush();
      out_.push_back(look_up_.find(key));
      return;
    }
    look_up_.prefetch(key);
    waiting_[count_++] = key;
    if (count_ == kLength) flush();
  }
  void flush() {
    const size_t before = out_.size();
    out_.resize(before + static_cast<size_t>(count_));
    for (int i = 0; i < count_; ++i) out_[before + static_cast<size_t>(i)] = look_up_.find(waiting_[i]);
    count_ = 0;
  }

 private:
  static constexpr int kLength = 32;
  LookUp& look_up_;
  std::vector<int32_t>& out_;
  int count_ = 0;
  WordKey waiting_[kLength];
};

// The key of a token that is not padded.
WordKey list_key(const Span& token) {
  uint8_t padded[kShort] = {};
  if (token.size > kShort) return word_key(token.data, token.size);
  std::memcpy(padded, token.data, token.size);
  return word_key(padded, token.size);
}

// Finds every token of every document, each thread with a splitter and a look-up of its own, and keeps the order.
template <class LookUp>
TokenBlock look_up_all(const Documents& documents, std::vector<Splitter*> splitters, std::vector<LookUp> look_ups,
                       const Interrupted& interrupted) {
  const std::vector<int64_t> starts = cut(documents);
  const int64_t runs = static_cast<int64_t>(starts.size()) - 1;
  std::vector<std::vector<int32_t>> found(static_cast<size_t>(runs));
  TokenBlock block;
  block.offsets.assign(static_cast<size_t>(documents.size()) + 1, 0);
  for_runs(runs, static_cast<int>(splitters.size()), interrupted, [&](int thread, int64_t run) {
    std::vector<int32_t>& out = found[run];
    out.reserve(1 << 14);
    Queue<LookUp> queue(look_ups[static_cast<size_t>(thread)], out);
    for (int64_t i = starts[run]; i < starts[run + 1]; ++i) {
      const size_t before = out.size();
      if (documents.token_offsets.empty()) {
        const Span text = documents.texts[i];
        splitters[static_cast<size_t>(thread)]->split(text.data, text.size,
                                                      [&](const uint8_t* bytes, size_t size) { queue.add(word_key(bytes, size)); });
      } else {
        for (int64_t t = documents.token_offsets[i]; t < documents.token_offsets[i + 1]; ++t) queue.add(list_key(documents.tokens[t]));
      }
      queue.flush();
      block.offsets[i + 1] = static_cast<int64_t>(out.size() - before);
    }
  });
  put_together(block, starts, found, static_cast<int>(splitters.size()), interrupted);
  return block;
}

bool before(const Indexer::Entry& x, const Indexer::Entry& y, bool integers) {
  if (x.count != y.count) return x.count > y.count;
  if (integers) return static_cast<int64_t>(x.word.a) < static_cast<int64_t>(y.word.a);
  const int order = std::memcmp(x.word.bytes(), y.word.bytes(), std::min(x.word.size, y.word.size));
  return order != 0 ? order < 0 : x.word.size < y.word.size;
}

}  // namespace

namespace {
uint64_t random_number() {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}
}  // namespace

const uint64_t kSecret0 = random_number() | 1, kSecret1 = random_number() | 1;

WordKey long_key(const uint8_t* bytes, size_t size) {
  if (size > UINT32_MAX) throw std::length_error("a word has more than 4 GiB");
  WordKey key;
  uint64_t hash = size ^ kSecret0, part;
  size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    std::memcpy(&part, bytes + i, 8);
    hash = mix(hash ^ part, kSecret1);
  }
  std::memcpy(&part, bytes + size - 8, 8);
  key.hash = key.a = mix(hash ^ part, kSecret0);
  key.b = reinterpret_cast<uintptr_t>(bytes);
  key.size = static_cast<uint32_t>(size);
  return key;
}

Lexicon::Lexicon(const std::vector<Span>& words) : table_(words.size()) {
  for (size_t i = 0; i < words.size(); ++i) {
    const WordKey key = list_key(words[i]);
    if (!table_.find(key)) table_.insert(arena_.keep(key), static_cast<int32_t>(i));
  }
}

TokenBlock Lexicon::encode(const Documents& documents, const Splitting& how, int threads, const Interrupted& interrupted) const {
  struct LookUp {
    const WordTable* table;
    void prefetch(const WordKey& key) const { table->prefetch(key); }
    int32_t find(const WordKey& key) const {
      const WordTable::Slot* slot = table->find(key);
      return slot ? slot->id : -1;
    }
  };
  std::vector<std::unique_ptr<Splitter>> owned;
  std::vector<Splitter*> splitters;
  for (int i = 0; i < threads; ++i) splitters.push_back(owned.emplace_back(new Splitter(how)).get());
  return look_up_all(documents, splitters, std::vector<LookUp>(splitters.size(), LookUp{&table_}), interrupted);
}

Indexer::Indexer(const Splitting& how, int threads, int64_t max_unique) : threads_(threads), max_unique_(max_unique) {
  for (int i = 0; i < threads; ++i) workers_.emplace_back(new Worker(how));
}

TokenBlock Indexer::add(const Documents& documents, const Interrupted& interrupted) {
  struct LookUp {
    Indexer* indexer;
    Worker* worker;
    void prefetch(const WordKey& key) const { worker->table.prefetch(key); }
    int32_t find(const WordKey& key) const {
      WordTable::Slot* slot = worker->table.find(key);
      if (!slot) slot = indexer->number(*worker, key);
      ++slot->count;
      return slot->id;
    }
  };
  std::vector<Splitter*> splitters;
  std::vector<LookUp> look_ups;
  for (const auto& worker : workers_) {
    splitters.push_back(&worker->splitter);
    look_ups.push_back({this, worker.get()});
  }
  TokenBlock block = look_up_all(documents, splitters, look_ups, interrupted);
  if (alive_.load() > max_unique_) prune();
  return block;
}

// A word that this thread has not met yet: the shared table knows its number, or gives it one.
WordTable::Slot* Indexer::number(Worker& worker, const WordKey& key) {
  Shard& shard = shards_[key.hash % kShards];
  WordKey kept;
  int32_t id;
  {
    const std::lock_guard<std::mutex> lock(shard.mutex);
    if (const WordTable::Slot* slot = shard.table.find(key)) {
      id = slot->id;
      kept = {slot->a, slot->b, key.hash, slot->size};
    } else {
      id = next_.fetch_add(1);
      if (id < 0 || id == INT32_MAX) throw std::length_error("the corpus has more than 2 billion different words");
      alive_.fetch_add(1);
      kept = shard.arena.keep(key);
      shard.table.insert(kept, id);
    }
  }
  return worker.table.insert(kept, id);
}

// Adds the threads' counts up.
void Indexer::collect() {
  totals_.resize(static_cast<size_t>(next_.load()), 0);
  for (const auto& worker : workers_)
    worker->table.for_each([this](WordTable::Slot& slot) {
      totals_[static_cast<size_t>(slot.id)] += slot.count;
      slot.count = 0;
    });
}

// Forgets the rarest words, so that three quarters of max_unique are left at most. It happens between blocks, so what is
// forgotten does not depend on the number of threads.
void Indexer::prune() {
  collect();
  std::vector<int64_t> counts;
  for (Shard& shard : shards_)
    shard.table.for_each([&](WordTable::Slot& slot) { counts.push_back(totals_[static_cast<size_t>(slot.id)]); });
  const size_t left = static_cast<size_t>(max_unique_ - max_unique_ / 4);
  if (counts.size() <= left) return;
  std::nth_element(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(left), counts.end(), std::greater<>());
  const int64_t threshold = counts[left];
  for (Shard& shard : shards_) {
    WordTable table(shard.table.size());  // the words come in the order of their hashes, and would crowd a small table
    Arena arena;
    shard.table.for_each([&](WordTable::Slot& slot) {
      if (totals_[static_cast<size_t>(slot.id)] > threshold) {
        const WordKey key = word_key(slot.key().bytes(), slot.size);
        table.insert(arena.keep(key), slot.id);
      } else {
        totals_[static_cast<size_t>(slot.id)] = 0;
        ++pruned_.words;
      }
    });
    std::swap(shard.table, table);
    std::swap(shard.arena, arena);
  }
  int64_t alive = 0;
  for (Shard& shard : shards_) alive += static_cast<int64_t>(shard.table.size());
  alive_.store(alive);
  for (const auto& worker : workers_) worker->table.clear();
  ++pruned_.times;
  pruned_.lost += threshold;
}

std::vector<Indexer::Entry> Indexer::most_frequent(int64_t min_count, int64_t most, bool integers) {
  collect();
  std::vector<Entry> entries;
  for (Shard& shard : shards_)
    shard.table.for_each([&](WordTable::Slot& slot) {
      const int64_t count = totals_[static_cast<size_t>(slot.id)];
      if (count >= min_count) entries.push_back({slot.key(), count, slot.id});
    });
  const auto order = [integers](const Entry& x, const Entry& y) { return before(x, y, integers); };
  if (static_cast<int64_t>(entries.size()) > most) {
    std::nth_element(entries.begin(), entries.begin() + most, entries.end(), order);
    entries.resize(static_cast<size_t>(most));
  }
  sort_on(threads_, entries, [] { return false; }, order);
  return entries;
}

}  // namespace paravec
