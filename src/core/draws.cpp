#include "draws.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace paravec {
namespace {

// Philox4x32-10 of one counter; kernels/draws.inl does many at once.
void philox(uint32_t c[4], Key key) {
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
}

}  // namespace

Key stream(uint64_t seed, Purpose purpose, uint32_t epoch, bool dm) {
  uint32_t c[4] = {purpose, epoch, dm ? 1u : 0u, 0u};
  philox(c, {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return {c[0], c[1]};
}

std::vector<int32_t> shuffled(Key key, uint64_t document, int32_t count) {
  std::vector<int32_t> order(count);
  for (int32_t i = 0; i < count; ++i) order[i] = i;
  for (int32_t i = count - 1; i > 0; --i) {
    uint32_t c[4] = {static_cast<uint32_t>(i / 4), 0, static_cast<uint32_t>(document), static_cast<uint32_t>(document >> 32)};
    philox(c, key);
    std::swap(order[i], order[static_cast<uint64_t>(c[i % 4]) * (i + 1) >> 32]);
  }
  return order;
}

void document_order(uint64_t seed, uint32_t epoch, bool dm, int64_t* order, int64_t count) {
  const Key key = stream(seed, DocumentOrder, epoch, dm);
  std::vector<uint64_t> numbers(count);
  for (int64_t i = 0; i < count; ++i) {
    uint32_t c[4] = {0, 0, static_cast<uint32_t>(i), static_cast<uint32_t>(static_cast<uint64_t>(i) >> 32)};
    philox(c, key);
    numbers[i] = static_cast<uint64_t>(c[0]) << 32 | c[1];
  }
  // Numbers are spread evenly, so those with the same first bits are few, and are sorted apart.
  const int bits = std::clamp<int>(std::bit_width(static_cast<uint64_t>(count)) - 3, 1, 32);
  std::vector<int64_t> ends((size_t{1} << bits) + 1);
  for (const uint64_t number : numbers) ++ends[(number >> (64 - bits)) + 1];
  for (size_t b = 1; b < ends.size(); ++b) ends[b] += ends[b - 1];
  for (int64_t i = 0; i < count; ++i) order[ends[numbers[i] >> (64 - bits)]++] = i;
  int64_t first = 0;
  for (size_t b = 0; b + 1 < ends.size(); first = ends[b++])
    std::sort(order + first, order + ends[b], [&](int64_t x, int64_t y) {
      return numbers[x] != numbers[y] ? numbers[x] < numbers[y] : x < y;
    });
}

}  // namespace paravec
