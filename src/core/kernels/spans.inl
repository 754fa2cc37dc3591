// Rows of U a span at a time: one vector of floats, or two of bfloat16, the first in the low halves and the second in the high
// halves of 32 bits. What is written is rounded at random, by the numbers of `dither`: the same in the mean, however small the
// change. engines/steps.py is the definition.

typedef uint32_t UIntVec __attribute__((vector_size(PARAVEC_VECTOR_BYTES)));
typedef uint32_t LooseUIntVec __attribute__((vector_size(PARAVEC_VECTOR_BYTES), aligned(4)));

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

// Two vectors as a span of bfloat16: their bits, and what makes the upper halves greater by one if it is more than is missing.
inline void store_halves(float* row, int j, Vec low, Vec high, UIntVec more_low, UIntVec more_high) {
  *reinterpret_cast<LooseUIntVec*>(row + j / 2) = (((UIntVec)low + more_low) >> 16) | (((UIntVec)high + more_high) & 0xFFFF0000u);
}

// Of 2 kRowMultiple numbers of a row, the second half is rounded by the same numbers as the first.
inline UIntVec more_of(const uint32_t* dither, int j, int part) {
  const int place = kLanes == kRowMultiple ? j / 2 : j / kHalfMultiple * kRowMultiple + (j + part * kLanes) % kRowMultiple;
  return *reinterpret_cast<const LooseUIntVec*>(dither + place);
}

template <bool Half>
inline void store_span(float* row, int j, const Vec* parts, const uint32_t* dither) {
  if constexpr (!Half) return store(row + j, parts[0]);
  store_halves(row, j, parts[0], parts[1], more_of(dither, j, 0), more_of(dither, j, 1));
}

// --- Whole rows, of so many numbers ---

template <bool Half>
void difference(const float* now, const float* before, int64_t length, float* out) {
  for (int j = 0; j < length; j += kSpan<Half>)
    for (int part = 0; part < kParts<Half>; ++part)
      store(out + j + part * kLanes, load_part<Half>(now, j, part) - load_part<Half>(before, j, part));
}

template <bool Half>
void add_part_of(float* row, const float* change, int64_t length, float weight, const uint32_t* dither) {
  for (int j = 0; j < length; j += kSpan<Half>) {
    Vec parts[kParts<Half>];
    for (int part = 0; part < kParts<Half>; ++part)
      parts[part] = load_part<Half>(row, j, part) + weight * load(change + j + part * kLanes);
    store_span<Half>(row, j, parts, dither);
  }
}

template <bool Half>
void merge(float* shared, float* mine, float* before, int64_t length, float weight, const uint32_t* dither) {
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

// Rows of floats to rows of bfloat16, to the nearest number, and back. The former returns the squared length.
float pack(const float* row, int64_t length, float* to) {
  const UIntVec half = UIntVec{} + 0x8000u;
  Vec squares[2] = {};
  for (int j = 0; j < length; j += kSpan<true>) {
    const Vec low = load(row + j), high = load(row + j + kLanes);
    squares[0] += low * low;
    squares[1] += high * high;
    store_halves(to, j, low, high, half, half);
  }
  return sum(squares[0] + squares[1]);
}

void unpack(const float* row, int64_t length, float* to) {
  for (int j = 0; j < length; j += kSpan<true>)
    for (int part = 0; part < 2; ++part) store(to + j + part * kLanes, load_part<true>(row, j, part));
}
