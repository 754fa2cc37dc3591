// Text to tokens. paravec/text.py defines what comes out; this is the quick way there.
#pragma once

#include <cstring>
#include <memory>
#include <string>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "unicode.hpp"

namespace paravec {

struct Splitting {
  bool whitespace;  // tokens are what white space separates; else words and visible characters
  bool lowercase;
  bool strip_tags;
};

constexpr size_t kShort = 16;  // tokens up to this many bytes are handed over padded with zeros to it

// A token in the making.
class Scratch {
 public:
  void clear() { size_ = 0; }
  bool empty() const { return size_ == 0; }
  void add(const uint8_t* bytes, size_t count) {
    reserve(size_ + count);
    std::memcpy(data_.get() + size_, bytes, count);
    size_ += count;
  }
  void add(uint32_t code) {
    reserve(size_ + 4);
    size_ += static_cast<size_t>(encode(code, data_.get() + size_));
  }
  // The token, padded with zeros to kShort bytes at least.
  const uint8_t* padded() {
    if (size_ < kShort) std::memset(data_.get() + size_, 0, kShort - size_);
    return data_.get();
  }
  size_t size() const { return size_; }

 private:
  void reserve(size_t wanted) {
    if (wanted <= room_) return;
    const size_t room = wanted * 2;
    std::unique_ptr<uint8_t[]> bigger(new uint8_t[room]);
    std::memcpy(bigger.get(), data_.get(), size_);
    data_ = std::move(bigger);
    room_ = room;
  }
  size_t room_ = 256, size_ = 0;
  std::unique_ptr<uint8_t[]> data_{new uint8_t[256]};
};

// Splits one text after another; calls sink(bytes, size) for each token.
class Splitter {
 public:
  explicit Splitter(const Splitting& how) : how_(how), table_(property_table()) {}

  template <class Sink>
  void split(const uint8_t* begin, size_t size, Sink&& sink) {
    begin_ = begin;
    end_ = begin + size;
    if (how_.whitespace)
      split_whitespace(sink);
    else
      split_words(sink);
  }

 private:
  Properties properties(uint32_t code) const { return {table_[code]}; }

  template <class Sink>
  void split_words(Sink& sink) {
    const uint8_t* p = begin_;
    while (p < end_) {
      if (short_word(p, sink)) continue;
      const Character c = decode(p, end_);
      const Kind kind = properties(c.code).kind();
      if (kind == Kind::Word) {
        p = long_word(p, sink);
      } else if (const uint8_t* after = c.code == '<' ? tag_end(p) : nullptr) {
        p = after;
      } else {
        if (kind != Kind::Gap) {
          token_.clear();
          add(p, c);
          sink(token_.padded(), token_.size());
        }
        p += c.size;
      }
    }
  }

  template <class Sink>
  void split_whitespace(Sink& sink) {
    token_.clear();
    const auto flush = [&] {
      if (!token_.empty()) sink(token_.padded(), token_.size());
      token_.clear();
    };
    for (const uint8_t* p = begin_; p < end_;) {
      const Character c = decode(p, end_);
      const uint8_t* after = c.code == '<' ? tag_end(p) : nullptr;
      if (after || properties(c.code).space()) {
        flush();
        p = after ? after : p + c.size;
      } else {
        add(p, c);
        p += c.size;
      }
    }
    flush();
  }

  // A word of any characters, with apostrophes inside; p is at its first character. Returns where it ends.
  template <class Sink>
  const uint8_t* long_word(const uint8_t* p, Sink& sink) {
    token_.clear();
    while (p < end_) {
      const Character c = decode(p, end_);
      const bool apostrophe = c.code == '\'' || c.code == 0x2019;
      if (apostrophe ? !word_at(p + c.size) : properties(c.code).kind() != Kind::Word) break;
      add(p, c);
      p += c.size;
    }
    sink(token_.padded(), token_.size());
    return p;
  }

  bool word_at(const uint8_t* p) const { return p < end_ && properties(decode(p, end_).code).kind() == Kind::Word; }

  // The end of the HTML tag that begins at p, if one does: as the pattern HTML_TAG of paravec/text.py.
  const uint8_t* tag_end(const uint8_t* p) const {
    if (!how_.strip_tags || end_ - p < 3) return nullptr;
    const uint8_t next = p[1], letter = next | 0x20;
    if (!(letter >= 'a' && letter <= 'z') && next != '/' && next != '!' && next != '?') return nullptr;
    for (const uint8_t* q = p + 2; q < end_; ++q) {
      if (*q == '>') return q + 1;
      if (*q == '<') return nullptr;
    }
    return nullptr;
  }

  // Appends a character to the token, in lower case if that is wanted.
  void add(const uint8_t* p, Character c) {
    if (!how_.lowercase || !properties(c.code).has_lower()) {
      token_.add(p, static_cast<size_t>(c.size));
    } else if (c.code == kCapitalDottedI) {
      token_.add('i');
      token_.add(kCombiningDot);
    } else if (c.code == kCapitalSigma) {
      token_.add(ends_word(p, p + c.size) ? kFinalSigma : kSigma);
    } else {
      token_.add(lower(c.code));
    }
  }

  // Whether a capital sigma at [p, after) becomes a final one: a cased letter before it and none behind it, whatever
  // case-ignorable characters stand between (Unicode, Final_Sigma).
  bool ends_word(const uint8_t* p, const uint8_t* after) const {
    CaseContext context = CaseContext::Ignorable;
    while (p > begin_ && context == CaseContext::Ignorable) {
      const Character c = decode_before(begin_, p);
      context = properties(c.code).case_context();
      p -= c.size;
    }
    if (context != CaseContext::Cased) return false;
    context = CaseContext::Ignorable;
    while (after < end_ && context == CaseContext::Ignorable) {
      const Character c = decode(after, end_);
      context = properties(c.code).case_context();
      after += c.size;
    }
    return context != CaseContext::Cased;
  }

#ifdef __SSE2__
  // Sixteen bytes at once, all of them ASCII or behind what is: hands over a word whose end is in sight or a visible
  // character, or skips another. False when there is something else: nothing is consumed then.
  template <class Sink>
  bool short_word(const uint8_t*& p, Sink& sink) {
    if (end_ - p < 16) return false;
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const auto in_range = [](__m128i bytes, char first, int count) {
      // A signed comparison after moving the range to the bottom of what a byte can hold.
      const __m128i moved = _mm_add_epi8(bytes, _mm_set1_epi8(static_cast<char>(-128 - first)));
      return _mm_cmplt_epi8(moved, _mm_set1_epi8(static_cast<char>(-128 + count)));
    };
    const __m128i capital = in_range(text, 'A', 26);
    const __m128i letter = in_range(_mm_or_si128(text, _mm_set1_epi8(0x20)), 'a', 26);
    const __m128i other = _mm_or_si128(in_range(text, '0', 10), _mm_cmpeq_epi8(text, _mm_set1_epi8('_')));
    const unsigned word = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(letter, other)));
    alignas(16) uint8_t token[16];
    if (!(word & 1)) {
      if (*p >= 0x80 || *p == '<') return false;
      if (properties(*p).kind() == Kind::Visible) {
        _mm_store_si128(reinterpret_cast<__m128i*>(token), _mm_cvtsi32_si128(*p));
        sink(token, 1);
      }
      ++p;
      return true;
    }
    const int size = __builtin_ctz(~word);
    if (size == 16 || p[size] >= 0x80 || p[size] == '\'') return false;
    __m128i bytes = text;
    if (how_.lowercase) bytes = _mm_or_si128(bytes, _mm_and_si128(capital, _mm_set1_epi8(0x20)));
    alignas(16) static constexpr uint8_t mask[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                     255, 255, 255, 255, 255, 255, 255, 255};
    bytes = _mm_and_si128(bytes, _mm_loadu_si128(reinterpret_cast<const __m128i*>(mask + 16 - size)));
    _mm_store_si128(reinterpret_cast<__m128i*>(token), bytes);
    sink(token, static_cast<size_t>(size));
    p += size;
    if (*p == ' ') ++p;
    return true;
  }
#else
  template <class Sink>
  bool short_word(const uint8_t*&, Sink&) {
    return false;
  }
#endif

  Splitting how_;
  const uint8_t* table_;
  const uint8_t* begin_ = nullptr;
  const uint8_t* end_ = nullptr;
  Scratch token_;
};

}  // namespace paravec
