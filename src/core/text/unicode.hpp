// What the tokenizer knows of characters, and UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paravec {

enum class Kind : uint8_t { Gap = 0, Word = 1, Han = 2, Visible = 3 };
enum class CaseContext : uint8_t { None = 0, Cased = 1, Ignorable = 2 };

// The properties of a character in one byte.
struct Properties {
  uint8_t bits;
  Kind kind() const { return static_cast<Kind>(bits & 3); }
  CaseContext case_context() const { return static_cast<CaseContext>(bits >> 2 & 3); }
  bool space() const { return bits >> 4 & 1; }
  bool has_lower() const { return bits >> 5 & 1; }
};

constexpr uint32_t kCodePoints = 0x110000;
constexpr uint32_t kReplacement = 0xFFFD;
constexpr uint32_t kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2;
constexpr uint32_t kCapitalDottedI = 0x130, kCombiningDot = 0x307;  // the one capital with a small form of two characters

const uint8_t* property_table();  // kCodePoints entries
const char* unicode_version();
uint32_t lower(uint32_t code);  // of a character with has_lower() and a small form of one character

struct Character {
  uint32_t code;
  int size;  // bytes
};

// The character at p < end. Surrogates are taken as they are, as Python's strings may hold them; a byte that belongs to no
// character counts as U+FFFD.
inline Character decode(const uint8_t* p, const uint8_t* end) {
  const uint32_t c = p[0];
  const auto more = [&](int i) { return (p[i] & 0xC0) == 0x80; };
  if (c < 0x80) return {c, 1};
  if (c >= 0xC2 && c < 0xE0 && end - p >= 2 && more(1)) return {(c & 0x1F) << 6 | (p[1] & 0x3Fu), 2};
  if (c >= 0xE0 && c < 0xF0 && end - p >= 3 && more(1) && more(2)) {
    const uint32_t code = (c & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    if (code >= 0x800) return {code, 3};
  }
  if (c >= 0xF0 && c < 0xF5 && end - p >= 4 && more(1) && more(2) && more(3)) {
    const uint32_t code = (c & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
    if (code >= 0x10000 && code < kCodePoints) return {code, 4};
  }
  return {kReplacement, 1};
}

// The character that ends before p > begin.
inline Character decode_before(const uint8_t* begin, const uint8_t* p) {
  for (int size = 1; size <= 4 && p - begin >= size; ++size) {
    const Character found = decode(p - size, p);
    if (found.size == size && (size > 1 || p[-1] < 0x80)) return found;
  }
  return {kReplacement, 1};
}

// Writes a character and returns its size; `out` has room for four bytes.
inline int encode(uint32_t code, uint8_t* out) {
  const auto tail = [code](int shift) { return static_cast<uint8_t>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    out[0] = static_cast<uint8_t>(code);
    return 1;
  }
  if (code < 0x800) {
    out[0] = static_cast<uint8_t>(0xC0 | code >> 6), out[1] = tail(0);
    return 2;
  }
  if (code < 0x10000) {
    out[0] = static_cast<uint8_t>(0xE0 | code >> 12), out[1] = tail(6), out[2] = tail(0);
    return 3;
  }
  out[0] = static_cast<uint8_t>(0xF0 | code >> 18), out[1] = tail(12), out[2] = tail(6), out[3] = tail(0);
  return 4;
}

// The offset of the first byte that is not UTF-8 (surrogates are not), or -1.
int64_t first_invalid(const uint8_t* data, int64_t size);

}  // namespace paravec
