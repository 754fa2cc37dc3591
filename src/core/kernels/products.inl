// Rows of U times what predicts, and what they do to each other: the inner loops.

constexpr int kWide = 512;  // numbers of a row from which on it pays to read it for several documents at once
constexpr int kAsTold = -1;  // rows to fetch: a number that the compiler does not know
constexpr int kGroup = 8;  // rows handled together: all dot products, then all updates

typedef float LooseEight __attribute__((vector_size(32), aligned(4)));
inline void store_eight(float* p, Eight v) { *reinterpret_cast<LooseEight*>(p) = v; }

template <int R>
struct Size {
  static constexpr int value = R;
};

// Calls work(Size<R>) with R = count, or kGroup if that is less.
template <class Work>
inline void with_size(int64_t count, Work work) {
  switch (count) {
    case 1: return work(Size<1>{});
    case 2: return work(Size<2>{});
    case 3: return work(Size<3>{});
    case 4: return work(Size<4>{});
    case 5: return work(Size<5>{});
    case 6: return work(Size<6>{});
    case 7: return work(Size<7>{});
    default: return work(Size<8>{});
  }
}

// The product of each row with x, whose numbers are as those of rows.
template <int R, bool Half = false>
inline Eight dots(const float* const* rows, const float* x, int length) {
  Vec total[R] = {};
  for (int j = 0; j < length; j += kSpan<Half>) {
    const auto at = load_span<Half>(x, j);
    for (int r = 0; r < R; ++r) total[r] = add_products(total[r], load_span<Half>(rows[r], j), at);
  }
  return sums<R>(total);
}

template <int R>
inline Eight squares(const float* const* rows, int length) {
  Vec total[R] = {};
  for (int j = 0; j < length; j += kLanes)
    for (int r = 0; r < R; ++r) {
      const Vec u = load(rows[r] + j);
      total[r] += u * u;
    }
  return sums<R>(total);
}

// The product of each row with x, and under cosine its squared length; may write a few numbers more.
template <bool Cosine, bool Half = false>
inline void products(const float* const* rows, int count, const float* x, int length, float* y, float* norms) {
  for (int done = 0; done < count; done += kGroup)
    with_size(count - done, [&](auto size) {
      store_eight(y + done, dots<size.value, Half>(rows + done, x, length));
      if constexpr (Cosine) store_eight(norms + done, squares<size.value>(rows + done, length) + kNormFloor);
    });
}

// The products of R common rows with the x of T documents, and of each document's own row with its x, behind those. On the
// way, R + T rows that are needed next are fetched.
template <int R, int T, bool Half>
inline void products_of_tile(const float* const* common, const float* const* own, const float* const* x, int length, int apart,
                             float* y, const float* const* next, const float* const* next_own) {
  Vec total[T][R + 1] = {};
  for (int j = 0; j < length; j += kSpan<Half>) {
    for (int t = 0; t < T; ++t) __builtin_prefetch(place_in<Half>(next_own[t], j), 1);
    for (int r = 0; r < R; ++r) __builtin_prefetch(place_in<Half>(next[r], j), 0, 2);
    decltype(load_span<Half>(x[0], 0)) at[T];
    for (int t = 0; t < T; ++t) {
      at[t] = load_span<Half>(x[t], j);
      total[t][R] = add_products(total[t][R], load_span<Half>(own[t], j), at[t]);
    }
    for (int r = 0; r < R; ++r) {
      const auto u = load_span<Half>(common[r], j);
      for (int t = 0; t < T; ++t) total[t][r] = add_products(total[t][r], u, at[t]);
    }
  }
  for (int t = 0; t < T; ++t) store_eight(y + t * apart, sums<R + 1>(total[t]));
}

// What rows of U and a document do to each other: gradient = before + pull u, u += pull x; or x itself learns that, and is
// what `gradient` points to. The r-th row is rounded by the numbers from dither + r kRowMultiple on. On the way, `Fetch` rows that
// are needed next are fetched, or as many as `n_next` says.
template <int R, bool Half = false, int Fetch = 0, bool Learn = false>
inline void update(float* const* rows, const float* x, const float* before, float* gradient, int length, const float* pull,
                   const float* const* next = nullptr, const uint32_t* dither = nullptr, int n_next = 0) {
  float* to[R];
  Vec pulls[R];  // registers: the compiler would read what is in memory again after every store
  for (int r = 0; r < R; ++r) {
    to[r] = rows[r];
    pulls[r] = Vec{} + pull[r];
  }
  constexpr int n = kParts<Half>;
  for (int j = 0; j < length; j += kSpan<Half>) {
    Vec at[n], total[n], u[R][n];
    for (int part = 0; part < n; ++part) {
      at[part] = load(x + j + part * kLanes);
      total[part] = load(before + j + part * kLanes);
      for (int r = 0; r < R; ++r) u[r][part] = load_part<Half>(to[r], j, part);
    }
    for (int r = 0; r < R; ++r) {
      for (int part = 0; part < n; ++part) {
        total[part] += pulls[r] * u[r][part];
        u[r][part] += pulls[r] * at[part];
      }
      store_span<Half>(to[r], j, u[r], dither + r * kRowMultiple);
    }
    for (int r = 0; r < (Fetch == kAsTold ? n_next : Fetch); ++r) __builtin_prefetch(place_in<Half>(next[r], j), 0, 2);
    for (int part = 0; part < n; ++part) store(gradient + j + part * kLanes, Learn ? at[part] + total[part] : total[part]);
  }
}

// The same for R rows that all documents of a round need, and with the first of these for each document's own row too. Under
// cosine, u loses back u.
// pull[l * apart + r] is that of row r and document l, own_pull[l * apart] that of its own.
template <int R, bool First, bool Cosine>
inline void update_common(float* const* common, int n, const float* const* x, float* const* gradients, int length, int apart,
                          const float* pull, const float* back, float* const* own, const float* own_pull, const float* own_back) {
  float* to[R];
  for (int r = 0; r < R; ++r) to[r] = common[r];
  for (int j = 0; j < length; j += kLanes) {
    Vec u[R];
    for (int r = 0; r < R; ++r) u[r] = load(to[r] + j);
    for (int l = 0; l < n; ++l) {
      const Vec at = load(x[l] + j);
      Vec total;
      if constexpr (First) {
        const Vec mine = load(own[l] + j);
        total = own_pull[l * apart] * mine;
        store(own[l] + j, (Cosine ? mine - own_back[l * apart] * mine : mine) + own_pull[l * apart] * at);
      } else {
        total = load(gradients[l] + j);
      }
      for (int r = 0; r < R; ++r) {
        const float p = pull[l * apart + r];
        total += p * u[r];
        u[r] = (Cosine ? u[r] - back[l * apart + r] * u[r] : u[r]) + p * at;
      }
      store(gradients[l] + j, total);
    }
    for (int r = 0; r < R; ++r) store(to[r] + j, u[r]);
  }
}

// Cosine: what the gradient takes back along x.
inline void take_back(float* gradient, const float* x, int length, float share) {
  for (int j = 0; j < length; j += kLanes) store(gradient + j, load(gradient + j) - share * load(x + j));
}

inline float squared_length(const float* x, int length) {
  Vec total = {};
  for (int j = 0; j < length; j += kLanes) total += load(x + j) * load(x + j);
  return sum(total) + kNormFloor;
}
