// Vectors of floats of the width of the instruction set, through the compiler's vector extensions.

typedef float Vec __attribute__((vector_size(PARAVEC_VECTOR_BYTES)));
typedef int32_t IntVec __attribute__((vector_size(PARAVEC_VECTOR_BYTES)));
typedef float LooseVec __attribute__((vector_size(PARAVEC_VECTOR_BYTES), aligned(4)));

constexpr int kLanes = PARAVEC_VECTOR_BYTES / 4;

inline Vec load(const float* p) { return *reinterpret_cast<const LooseVec*>(p); }
inline void store(float* p, Vec v) { *reinterpret_cast<LooseVec*>(p) = v; }

typedef int32_t LooseIntVec __attribute__((vector_size(PARAVEC_VECTOR_BYTES), aligned(4)));
inline IntVec load_integers(const int32_t* p) { return *reinterpret_cast<const LooseIntVec*>(p); }
inline void store_integers(int32_t* p, IntVec v) { *reinterpret_cast<LooseIntVec*>(p) = v; }
// Whether a comparison holds anywhere.
inline bool any(IntVec v) {
  typedef int64_t LongVec __attribute__((vector_size(PARAVEC_VECTOR_BYTES)));
  const LongVec halves = (LongVec)v;
  int64_t all = 0;
  for (int i = 0; i < kLanes / 2; ++i) all |= halves[i];
  return all != 0;
}
constexpr int32_t kPlaces[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// A vector's square roots.
inline Vec root(Vec v) {
  Vec r;
  for (int i = 0; i < kLanes; ++i) r[i] = __builtin_sqrtf(v[i]);
  return r;
}

// The lanes of a vector added up to four, and those to one.
typedef float Four __attribute__((vector_size(16)));
inline Four quarter(Four v) { return v; }
typedef float Eight __attribute__((vector_size(32)));
inline Four quarter(Eight v) { return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7); }
#if PARAVEC_VECTOR_BYTES == 64
inline Four quarter(Vec v) {
  return quarter(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                 __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
}
#endif
template <class V>
inline float sum(V v) {
  Four q = quarter(v);
  q += __builtin_shufflevector(q, q, 2, 3, 0, 1);
  return q[0] + q[1];
}

// The sums of up to eight vectors, side by side, without a way through memory.
inline Four sums_of_four(Four a, Four b, Four c, Four d) {
  const Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}
template <int N>
inline Eight sums(const Vec* v) {
  Four part[8] = {};
  for (int i = 0; i < N; ++i) part[i] = quarter(v[i]);
  const Four low = sums_of_four(part[0], part[1], part[2], part[3]);
  const Four high = N > 4 ? sums_of_four(part[4], part[5], part[6], part[7]) : Four{};
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}

// exp(x) for x <= 0 to about one unit in the last place; 0 below -87; NaN stays NaN.
template <class V>
inline V exp_negative(V x) {
  using Int = decltype(x < x);
  const V least = V{} - 87.0f;
  const V bounded = x < least ? least : x;
  const V magic = V{} + 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  const V shifted = bounded * 1.44269504088896341f + magic;
  const V n = shifted - magic;
  const V r = (bounded - n * 0.693359375f) - n * -2.12194440e-4f;
  const V square = r * r;  // pairs of terms wait for each other less than terms one by one
  V poly = 1.9875691500e-4f * r + 1.3981999507e-3f;
  poly = poly * square + (8.3334519073e-3f * r + 4.1665795894e-2f);
  poly = poly * square + (1.6666665459e-1f * r + 5.0000001201e-1f);
  poly = poly * square + (r + 1.0f);
  const Int exponent = ((Int)shifted - (Int)magic + 127) << 23;
  const V result = poly * (V)exponent;
  return x < least ? V{} : result;
}

template <class V>
struct Sigmoid {
  V value;  // 1 / (1 + exp(-y))
  V tail;   // 1 + exp(-|y|)
};

template <class V>
inline Sigmoid<V> sigmoid(V y) {
  using Int = decltype(y < y);
  const V e = exp_negative((V)((Int)y | static_cast<int32_t>(0x80000000)));
  const V tail = 1.0f + e;
  const V inverse = 1.0f / tail;
  return {y < 0.0f ? e * inverse : inverse, tail};
}

inline float* row_of(Matrix m, int64_t i) { return m.data + i * m.stride; }
