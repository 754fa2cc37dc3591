// Philox4x32-10 on sixteen counters at once; paravec/draws.py is its definition.

constexpr int kCounters = 16;

struct Counters {
  uint32_t c0[kCounters], c1[kCounters], c2[kCounters], c3[kCounters];
};

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
  for (int64_t first = 0; first < total; first += kCounters) {
    const int n = total - first < kCounters ? static_cast<int>(total - first) : kCounters;
    for (int i = 0; i < kCounters; ++i) {
      const int64_t at = i < n ? first + i : first;
      const int64_t step = at / blocks;
      set_counter(c, i, document, positions(step), static_cast<uint32_t>(numbers(step) * blocks + at % blocks));
    }
    philox(c, task.noise);
    for (int i = 0; i < n; ++i) {
      const int64_t step = (first + i) / blocks;
      const int which = 2 * static_cast<int>((first + i) % blocks);
      int32_t* words = out + step * negative + which;
      words[0] = pick(task.tables, c.c0[i], c.c1[i]);
      if (which + 1 < negative) words[1] = pick(task.tables, c.c2[i], c.c3[i]);
    }
  }
}

// The noise words of positions [first, first + count) of a document in inference.
void noise_words(const Task& task, uint64_t document, int64_t first, int64_t count, int32_t* out) {
  draw_noise(task, document, count, [=](int64_t i) { return first + i; }, [](int64_t) { return int64_t{0}; }, out);
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
