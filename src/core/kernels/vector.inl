// Vectors of floats of the width of the instruction set, through the compiler's vector extensions.

typedef float Vec __attribute__((vector_size(PARAVEC_VECTOR_BYTES)));
typedef int32_t IntVec __attribute__((vector_size(PARAVEC_VECTOR_BYTES)));
typedef float LooseVec __attribute__((vector_size(PARAVEC_VECTOR_BYTES), aligned(4), may_alias));

constexpr int kLanes = PARAVEC_VECTOR_BYTES / 4;

inline Vec load(const float* p) { return *reinterpret_cast<const LooseVec*>(p); }
inline void store(float* p, Vec v) { *reinterpret_cast<LooseVec*>(p) = v; }
inline Vec splat(float x) { return Vec{} + x; }

// The sum of the lanes, by halves.
typedef float Vec4 __attribute__((vector_size(16)));
inline float sum_of(Vec4 v) {
  v += __builtin_shufflevector(v, v, 2, 3, 0, 1);
  return v[0] + v[1];
}
#if PARAVEC_VECTOR_BYTES >= 32
typedef float Vec8 __attribute__((vector_size(32)));
inline float sum_of(Vec8 v) {
  return sum_of(__builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7));
}
#endif
#if PARAVEC_VECTOR_BYTES >= 64
typedef float Vec16 __attribute__((vector_size(64)));
inline float sum_of(Vec16 v) {
  return sum_of(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
}
#endif
inline float sum(Vec v) { return sum_of(v); }

// exp(x) for x <= 0 to about one unit in the last place; 0 below -87; NaN stays NaN.
inline Vec exp_negative(Vec x) {
  const Vec bounded = x < -87.0f ? splat(-87.0f) : x;
  const Vec magic = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to a whole number
  const Vec shifted = bounded * 1.44269504088896341f + magic;
  const Vec n = shifted - magic;
  const Vec r = (bounded - n * 0.693359375f) - n * -2.12194440e-4f;
  Vec poly = splat(1.9875691500e-4f);
  poly = poly * r + 1.3981999507e-3f;
  poly = poly * r + 8.3334519073e-3f;
  poly = poly * r + 4.1665795894e-2f;
  poly = poly * r + 1.6666665459e-1f;
  poly = poly * r + 5.0000001201e-1f;
  poly = poly * r * r + r + 1.0f;
  const IntVec exponent = ((IntVec)shifted - (IntVec)magic + 127) << 23;
  const Vec result = poly * (Vec)exponent;
  return x < -87.0f ? splat(0.0f) : result;
}

inline Vec absolute(Vec x) { return (Vec)((IntVec)x & 0x7fffffff); }

struct Sigmoid {
  Vec value;  // 1 / (1 + exp(-y))
  Vec tail;   // 1 + exp(-|y|)
};

inline Sigmoid sigmoid(Vec y) {
  const Vec e = exp_negative(-absolute(y));
  const Vec tail = 1.0f + e;
  const Vec inverse = 1.0f / tail;
  return {y < 0.0f ? e * inverse : inverse, tail};
}

inline float* row_of(Matrix m, int64_t i) { return m.data + i * m.stride; }
