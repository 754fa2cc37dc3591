// Rows of U a span at a time: one vector of floats, or two of bfloat16, the first in the low halves and the second in the high
// halves of 32 bits. What is written is rounded at random, by the numbers of `dither`: the same in the mean, however small the
// change. engines/steps.py is the definition.

typedef uint32_t UIntVec __attribute__((vector_size(PARAVEC_VECTOR_BYTES)));
typedef uint16_t ShortVec __attribute__((vector_size(PARAVEC_VECTOR_BYTES / 2)));
typedef uint32_t LooseUIntVec __attribute__((vector_size(PARAVEC_VECTOR_BYTES), aligned(4)));
typedef uint16_t LooseShortVec __attribute__((vector_size(PARAVEC_VECTOR_BYTES / 2), aligned(2)));

template <bool Half>
constexpr int kParts = Half ? 2 : 1;
template <bool Half>
constexpr int kSpan = kParts<Half> * kLanes;

// A span as it lies in memory.
inline Vec span_at(const LooseVec* p) { return *p; }
inline UIntVec span_at(const LooseUIntVec* p) { return *p; }
template <bool Half>
struct Spans {
  typedef LooseVec Loose;
};
template <>
struct Spans<true> {
  typedef LooseUIntVec Loose;
};

// Where the j-th number of a row is; j is a multiple of kSpan, and everywhere below.
template <bool Half>
inline const float* place_in(const float* row, int j) { return Half ? row + j / 2 : row + j; }

template <bool Half>
inline auto load_span(const float* row, int j) {
  return span_at(reinterpret_cast<const typename Spans<Half>::Loose*>(place_in<Half>(row, j)));
}

inline Vec part_of_span(Vec span, int) { return span; }
inline Vec part_of_span(UIntVec span, int part) { return part ? (Vec)(span & 0xFFFF0000u) : (Vec)(span << 16); }

template <bool Half>
inline Vec load_part(const float* row, int j, int part) { return part_of_span(load_span<Half>(row, j), part); }

// total + the products of the numbers of two spans, some of them in one lane.
inline Vec add_products(Vec total, Vec a, Vec b) { return total + a * b; }
inline Vec add_products(Vec total, UIntVec a, UIntVec b) {
#ifdef __AVX512BF16__
  return (Vec)_mm512_dpbf16_ps((__m512)total, (__m512bh)a, (__m512bh)b);
#else
  return total + part_of_span(a, 0) * part_of_span(b, 0) + part_of_span(a, 1) * part_of_span(b, 1);
#endif
}

inline UIntVec bits_to_round(Vec v, const uint16_t* dither) {
  return (UIntVec)v + __builtin_convertvector(*reinterpret_cast<const LooseShortVec*>(dither), UIntVec);
}

template <bool Half>
inline void store_span(float* row, int j, const Vec* parts, const uint16_t* dither, int shift = 0) {
  if constexpr (!Half) return store(row + j, parts[0]);
  dither += shift + j;
  const UIntVec low = bits_to_round(parts[0], dither), high = bits_to_round(parts[1], dither + kLanes);
  *reinterpret_cast<LooseUIntVec*>(row + j / 2) = (low >> 16) | (high & 0xFFFF0000u);
}

// --- Whole rows, of so many numbers ---

template <bool Half>
void difference(const float* now, const float* before, int64_t length, float* out) {
  for (int j = 0; j < length; j += kSpan<Half>)
    for (int part = 0; part < kParts<Half>; ++part)
      store(out + j + part * kLanes, load_part<Half>(now, j, part) - load_part<Half>(before, j, part));
}

template <bool Half>
void add_part_of(float* row, const float* change, int64_t length, float weight, const uint16_t* dither) {
  for (int j = 0; j < length; j += kSpan<Half>) {
    Vec parts[kParts<Half>];
    for (int part = 0; part < kParts<Half>; ++part)
      parts[part] = load_part<Half>(row, j, part) + weight * load(change + j + part * kLanes);
    store_span<Half>(row, j, parts, dither);
  }
}

template <bool Half>
void merge(float* shared, float* mine, float* before, int64_t length, float weight, const uint16_t* dither) {
  for (int j = 0; j < length; j += kSpan<Half>) {
    Vec parts[kParts<Half>];
    for (int part = 0; part < kParts<Half>; ++part)
      parts[part] = load_part<Half>(shared, j, part) + weight * (load_part<Half>(mine, j, part) - load_part<Half>(before, j, part));
    store_span<Half>(shared, j, parts, dither);
    const int place = Half ? j / 2 : j;  // whose bits are taken over
    const IntVec merged = *reinterpret_cast<const LooseIntVec*>(shared + place);
    *reinterpret_cast<LooseIntVec*>(mine + place) = merged;
    *reinterpret_cast<LooseIntVec*>(before + place) = merged;
  }
}

// Rows of floats to rows of bfloat16, to the nearest number, and back.
void pack(const float* row, int64_t length, float* to) {
  uint16_t half[2 * kLanes];
  for (int i = 0; i < 2 * kLanes; ++i) half[i] = 0x8000;
  for (int j = 0; j < length; j += kSpan<true>) {
    const Vec parts[2] = {load(row + j), load(row + j + kLanes)};
    store_span<true>(to, j, parts, half, -j);
  }
}

void unpack(const float* row, int64_t length, float* to) {
  for (int j = 0; j < length; j += kSpan<true>)
    for (int part = 0; part < 2; ++part) store(to + j + part * kLanes, load_part<true>(row, j, part));
}
