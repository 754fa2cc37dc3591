// Philox4x32-10 on sixteen counters at once; paravec/draws.py is its definition.

constexpr int kCounters = 16;

struct Counters {
  uint32_t c0[kCounters], c1[kCounters], c2[kCounters], c3[kCounters];
};

#ifdef __AVX512F__
// Compilers make slow 64-bit products of the loop below; here the even and the odd lanes are multiplied apart.
inline void multiply(__m512i a, __m512i by, __m512i& high, __m512i& low) {
  const __m512i even = _mm512_mul_epu32(a, by), odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), by);
  high = _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
  low = _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
}

inline void philox(Counters& c, Key key) {
  __m512i c0 = _mm512_loadu_si512(c.c0), c1 = _mm512_loadu_si512(c.c1);
  __m512i c2 = _mm512_loadu_si512(c.c2), c3 = _mm512_loadu_si512(c.c3);
  const __m512i first = _mm512_set1_epi32(static_cast<int>(0xD2511F53u)), second = _mm512_set1_epi32(static_cast<int>(0xCD9E8D57u));
  for (int round = 0; round < 10; ++round) {
    __m512i high0, low0, high1, low1;
    multiply(c0, first, high0, low0);
    multiply(c2, second, high1, low1);
    c0 = _mm512_xor_si512(_mm512_xor_si512(high1, c1), _mm512_set1_epi32(static_cast<int>(key.low)));
    c2 = _mm512_xor_si512(_mm512_xor_si512(high0, c3), _mm512_set1_epi32(static_cast<int>(key.high)));
    c1 = low1;
    c3 = low0;
    key.low += 0x9E3779B9u;
    key.high += 0xBB67AE85u;
  }
  _mm512_storeu_si512(c.c0, c0);
  _mm512_storeu_si512(c.c1, c1);
  _mm512_storeu_si512(c.c2, c2);
  _mm512_storeu_si512(c.c3, c3);
}
#else
inline void philox(Counters& c, Key key) {
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kCounters; ++i) {
      const uint64_t first = static_cast<uint64_t>(c.c0[i]) * 0xD2511F53u;
      const uint64_t second = static_cast<uint64_t>(c.c2[i]) * 0xCD9E8D57u;
      c.c0[i] = static_cast<uint32_t>(second >> 32) ^ c.c1[i] ^ key.low;
      c.c2[i] = static_cast<uint32_t>(first >> 32) ^ c.c3[i] ^ key.high;
      c.c1[i] = static_cast<uint32_t>(second);
      c.c3[i] = static_cast<uint32_t>(first);
    }
    key.low += 0x9E3779B9u;
    key.high += 0xBB67AE85u;
  }
}

#endif

inline void set_counter(Counters& c, int i, uint64_t document, uint64_t position, uint32_t block) {
  c.c0[i] = static_cast<uint32_t>(position);
  c.c1[i] = static_cast<uint32_t>(position >> 32) << 16 | block;
  c.c2[i] = static_cast<uint32_t>(document);
  c.c3[i] = static_cast<uint32_t>(document >> 32);
}

// One number each for positions [first, first + 64); `first` is a multiple of 4.
inline void one_each(Key key, uint64_t document, int64_t first, uint32_t* out) {
  Counters c;
  for (int i = 0; i < kCounters; ++i) set_counter(c, i, document, first / 4 + i, 0);
  philox(c, key);
  for (int i = 0; i < kCounters; ++i) {
    out[4 * i] = c.c0[i];
    out[4 * i + 1] = c.c1[i];
    out[4 * i + 2] = c.c2[i];
    out[4 * i + 3] = c.c3[i];
  }
}

inline int64_t below(uint32_t number, int64_t bound) {
  // Bounds beyond 32 bits (a document of four billion targets) lose nothing but the low bits of the product.
  return static_cast<int64_t>((static_cast<unsigned __int128>(number) * static_cast<uint64_t>(bound)) >> 32);
}

inline int32_t pick(const Tables& tables, uint32_t first, uint32_t second) {
  const int64_t column = static_cast<int64_t>((static_cast<uint64_t>(first) * static_cast<uint64_t>(tables.n_targets)) >> 32);
  return second < tables.noise_threshold[column] ? static_cast<int32_t>(column) : tables.noise_alias[column];
}

// The noise words of `count` steps: step i is number `numbers(i)` at position `positions(i)`.
template <class Positions, class Numbers>
inline void draw_noise(const Task& task, uint64_t document, int64_t count, Positions positions, Numbers numbers, int32_t* out) {
  const int negative = task.architecture.negative;
  const int blocks = (negative + 1) / 2;
  const int64_t total = count * blocks;
  Counters c;
  int64_t asked = 0, answered = 0;  // steps whose counters are set, and whose words are picked
  int asked_block = 0, answered_block = 0;
  for (int64_t first = 0; first < total; first += kCounters) {
    const int n = total - first < kCounters ? static_cast<int>(total - first) : kCounters;
    for (int i = 0; i < n; ++i) {
      set_counter(c, i, document, positions(asked), static_cast<uint32_t>(numbers(asked) * blocks + asked_block));
      if (++asked_block == blocks) asked_block = 0, ++asked;
    }
    for (int i = n; i < kCounters; ++i) set_counter(c, i, 0, 0, 0);
    philox(c, task.noise);
    for (int i = 0; i < n; ++i) {
      const int which = 2 * answered_block;
      int32_t* words = out + answered * negative + which;
      words[0] = pick(task.tables, c.c0[i], c.c1[i]);
      if (which + 1 < negative) words[1] = pick(task.tables, c.c2[i], c.c3[i]);
      if (++answered_block == blocks) answered_block = 0, ++answered;
    }
  }
}

// The noise words of `count` positions of a document in inference: first, first + step, ...
void noise_words(const Task& task, uint64_t document, int64_t first, int64_t step, int64_t count, int32_t* out) {
  draw_noise(task, document, count, [=](int64_t i) { return first + i * step; }, [](int64_t) { return int64_t{0}; }, out);
}

// Initial vectors: uniform in (-0.5, 0.5) / columns.
void uniform(Key key, int64_t first, int64_t rows, int columns, float* out, int64_t stride) {
  const float length = static_cast<float>(columns);
  for (int64_t row = first; row < first + rows; ++row) {
    float* to = out + row * stride;
    for (int done = 0; done < columns; done += 4 * kCounters) {
      uint32_t numbers[4 * kCounters];
      one_each(key, static_cast<uint64_t>(row), done, numbers);
      const int n = columns - done < 4 * kCounters ? columns - done : 4 * kCounters;
      for (int i = 0; i < n; ++i) {
        const float unit = static_cast<float>(numbers[i] >> 8) * 0x1p-24f;
        to[done + i] = (unit - 0.5f) / length;
      }
    }
  }
}
