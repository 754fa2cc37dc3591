#include "unicode.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

namespace paravec {
namespace {

struct PropertyRun {
  uint32_t first;
  uint8_t bits;
};

struct LowerRange {
  uint32_t first, last, step;
  int32_t difference;
};

#include "unicode_tables.inl"

std::vector<uint8_t> expand() {
  std::vector<uint8_t> table(kCodePoints);
  for (size_t i = 0; i < std::size(kPropertyRuns); ++i) {
    const uint32_t end = i + 1 < std::size(kPropertyRuns) ? kPropertyRuns[i + 1].first : kCodePoints;
    std::memset(&table[kPropertyRuns[i].first], kPropertyRuns[i].bits, end - kPropertyRuns[i].first);
  }
  constexpr uint8_t has_lower = 1 << 5;
  for (const LowerRange& range : kLowerRanges)
    for (uint32_t code = range.first; code <= range.last; code += range.step) table[code] |= has_lower;
  table[kCapitalDottedI] |= has_lower;
  return table;
}

bool is_ascii(const uint8_t* p, int64_t size) {
  uint8_t any = 0;
  for (int64_t i = 0; i < size; ++i) any |= p[i];
  return any < 0x80;
}

}  // namespace

const uint8_t* property_table() {
  static const std::vector<uint8_t> table = expand();
  return table.data();
}

const char* unicode_version() { return kUnicodeVersion; }

uint32_t lower(uint32_t code) {
  const LowerRange* range =
      std::upper_bound(std::begin(kLowerRanges), std::end(kLowerRanges), code, [](uint32_t c, const LowerRange& r) { return c < r.first; });
  return code + static_cast<uint32_t>((range - 1)->difference);
}

int64_t first_invalid(const uint8_t* data, int64_t size) {
  constexpr int64_t chunk = 256;
  const uint8_t* p = data;
  const uint8_t* const end = data + size;
  while (p < end) {
    if (end - p >= chunk && is_ascii(p, chunk)) {
      p += chunk;
      continue;
    }
    const uint8_t* const stop = end - p >= chunk ? p + chunk : end;
    while (p < stop) {
      const Character c = decode(p, end);
      if ((c.size == 1 && c.code == kReplacement) || (c.code >= 0xD800 && c.code < 0xE000)) return p - data;
      p += c.size;
    }
  }
  return -1;
}

}  // namespace paravec
