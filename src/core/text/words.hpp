// Words and their numbers: hash tables with open addressing, made for short words.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "split.hpp"

namespace paravec {

// A word as a table looks at it. Up to kShort bytes are held in a and b themselves, padded with zeros; of a longer word a
// is the hash and b the address of its bytes.
struct WordKey {
  uint64_t a, b, hash;
  uint32_t size;

  bool is_short() const { return size <= kShort; }
  const uint8_t* bytes() const {
    return is_short() ? reinterpret_cast<const uint8_t*>(&a) : reinterpret_cast<const uint8_t*>(static_cast<uintptr_t>(b));
  }
};

__extension__ using Wide = unsigned __int128;

inline uint64_t mix(uint64_t x, uint64_t y) {
  const Wide product = static_cast<Wide>(x) * y;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Random in every process, so that nobody can write a text whose words all fall into one place. Nothing that comes out
// depends on them.
extern const uint64_t kSecret0, kSecret1;

// The key of a token; `bytes` has kShort bytes at least, zeros behind the token's own.
WordKey long_key(const uint8_t* bytes, size_t size);
[[gnu::always_inline]] inline WordKey word_key(const uint8_t* bytes, size_t size) {
  if (size > kShort) [[unlikely]]
    return long_key(bytes, size);
  static_assert(kShort == 16);
  WordKey key;
  std::memcpy(&key.a, bytes, 8);
  std::memcpy(&key.b, bytes + 8, 8);
  key.size = static_cast<uint32_t>(size);
  key.hash = mix(key.a ^ kSecret0, mix(key.b ^ kSecret1, size ^ kSecret0));
  return key;
}

class WordTable {
 public:
  struct Slot {
    uint64_t a, b;
    int32_t id;  // -1: empty
    uint32_t size;
    int64_t count;

    WordKey key() const { return {a, b, 0, size}; }
  };

  explicit WordTable(size_t expected = 0) { rebuild(capacity_for(expected)); }

  // The word's slot, or null. The pointer holds until the next insert.
  Slot* find(const WordKey& key) {
    for (size_t i = key.hash >> shift_;; i = (i + 1) & mask_) {
      Slot& slot = slots_[i];
      if (slot.id < 0) return nullptr;
      if (slot.a == key.a && slot.size == key.size && same_tail(slot, key)) return &slot;
    }
  }
  const Slot* find(const WordKey& key) const { return const_cast<WordTable*>(this)->find(key); }

  void prefetch(const WordKey& key) const { __builtin_prefetch(&slots_[key.hash >> shift_]); }

  // A word that is not there yet; a long word's bytes are kept by the caller.
  Slot* insert(const WordKey& key, int32_t id) {
    if (++used_ * 2 > slots_.size()) rebuild(slots_.size() * 2);
    Slot& slot = free_slot(key.hash);
    slot = {key.a, key.b, id, key.size, 0};
    return &slot;
  }

  template <class F>
  void for_each(F&& f) {
    for (Slot& slot : slots_)
      if (slot.id >= 0) f(slot);
  }

  size_t size() const { return used_; }
  void clear() {
    used_ = 0;
    slots_.clear();
    slots_.shrink_to_fit();
    rebuild(capacity_for(0));
  }

 private:
  static size_t capacity_for(size_t expected) {
    size_t capacity = 1024;
    while (capacity < expected * 2 + 2) capacity *= 2;
    return capacity;
  }
  static bool same_tail(const Slot& slot, const WordKey& key) {
    if (slot.b == key.b) return true;
    return !key.is_short() && std::memcmp(slot.key().bytes(), key.bytes(), key.size) == 0;
  }
  static uint64_t hash_of(const Slot& slot) {
    return slot.size <= kShort ? word_key(reinterpret_cast<const uint8_t*>(&slot.a), slot.size).hash : slot.a;
  }
  Slot& free_slot(uint64_t hash) {
    size_t i = hash >> shift_;
    while (slots_[i].id >= 0) i = (i + 1) & mask_;
    return slots_[i];
  }
  void rebuild(size_t capacity) {
    std::vector<Slot> old(capacity, Slot{0, 0, -1, 0, 0});
    slots_.swap(old);
    mask_ = capacity - 1;
    shift_ = 64 - __builtin_ctzll(capacity);
    for (const Slot& slot : old)
      if (slot.id >= 0) free_slot(hash_of(slot)) = slot;
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0, used_ = 0;
  int shift_ = 0;
};

// Keeps the bytes of long words where they are.
class Arena {
 public:
  WordKey keep(WordKey key) {
    if (key.is_short()) return key;
    if (key.size > left_) {
      const size_t room = key.size > kRoom ? key.size : kRoom;
      blocks_.emplace_back(new uint8_t[room]);
      next_ = blocks_.back().get();
      left_ = room;
    }
    std::memcpy(next_, key.bytes(), key.size);
    key.b = reinterpret_cast<uintptr_t>(next_);
    next_ += key.size;
    left_ -= key.size;
    return key;
  }

 private:
  static constexpr size_t kRoom = 1 << 16;
  std::vector<std::unique_ptr<uint8_t[]>> blocks_;
  uint8_t* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace paravec
