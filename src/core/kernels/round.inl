// Targets of several documents, and the rows of U they need.

constexpr int kWide = 512;  // numbers of a row from which on it pays to read it for several documents at once
constexpr int kInTurn = 256;  // numbers of a row from which on the nodes of one document fill a near cache
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

template <int R>
inline Eight dots(const float* const* rows, const float* x, int length) {
  Vec total[R] = {};
  for (int j = 0; j < length; j += kLanes) {
    const Vec at = load(x + j);
    for (int r = 0; r < R; ++r) total[r] += load(rows[r] + j) * at;
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
template <bool Cosine>
inline void products(const float* const* rows, int count, const float* x, int length, float* y, float* norms) {
  for (int done = 0; done < count; done += kGroup)
    with_size(count - done, [&](auto size) {
      store_eight(y + done, dots<size.value>(rows + done, x, length));
      if constexpr (Cosine) store_eight(norms + done, squares<size.value>(rows + done, length) + kNormFloor);
    });
}

// The products of R common rows with the x of T documents, and of each document's own row with its x, behind those.
template <int R, int T>
inline void products_of_tile(const float* const* common, const float* const* own, const float* const* x, int length, int apart,
                             float* y) {
  Vec total[T][R + 1] = {};
  for (int j = 0; j < length; j += kLanes) {
    Vec at[T];
    for (int t = 0; t < T; ++t) {
      at[t] = load(x[t] + j);
      total[t][R] += load(own[t] + j) * at[t];
    }
    for (int r = 0; r < R; ++r) {
      const Vec u = load(common[r] + j);
      for (int t = 0; t < T; ++t) total[t][r] += u * at[t];
    }
  }
  for (int t = 0; t < T; ++t) store_eight(y + t * apart, sums<R + 1>(total[t]));
}

// Sums of the objective. The sum of log(tail) is kept as the logarithm of a product.
class Sums {
 public:
  // log sigma(y) where the label is 1, log sigma(-y) where it is 0, `times` times: min(+-y, 0) - log(tail).
  void add(Vec y, Vec labels, Vec tails, Vec times, int most_times) {
    const Vec signed_y = labels > 0.0f ? y : -y;
    linear_ += times > 0.0f ? times * (signed_y < 0.0f ? signed_y : Vec{}) : Vec{};
    for (int t = 0; t < most_times; ++t) {
      product_ *= times > static_cast<float>(t) ? tails : Vec{} + 1.0f;
      if (++factors_ == kFactors) settle();
    }
  }
  void add_to(Tally& tally) {
    settle();
    tally.linear += linear_sum_ + sum(linear_);
    tally.product *= product_sum_;
    if (!(tally.product < 1e100)) {
      tally.linear -= __builtin_log(tally.product);
      tally.product = 1.0;
    }
  }

 private:
  static constexpr int kFactors = 32;  // each is at most 2

  void settle() {
    double product = 1.0;
    for (int i = 0; i < kLanes; ++i) product *= static_cast<double>(product_[i]);
    product_sum_ *= product;
    product_ = Vec{} + 1.0f;
    factors_ = 0;
    if (product_sum_ < 1e100) return;
    linear_sum_ -= __builtin_log(product_sum_);
    product_sum_ = 1.0;
  }
  Vec linear_ = {}, product_ = Vec{} + 1.0f;
  double linear_sum_ = 0.0, product_sum_ = 1.0;
  int factors_ = 0;
};

// What rows of U and a document do to each other: gradient += pull u, u += pull x (- back u, under cosine). On the way, rows
// that are needed next may be fetched.
template <int R, bool Cosine, bool Fetch>
inline void update(float* const* rows, const float* x, const float* before, float* gradient, int length, const float* pull,
                   const float* back, const float* const* next) {
  float* to[R];
  Vec pulls[R], kept[R];  // registers: the compiler would read what is in memory again after every store
  for (int r = 0; r < R; ++r) {
    to[r] = rows[r];
    pulls[r] = Vec{} + pull[r];
    kept[r] = Vec{} + (Cosine ? 1.0f - back[r] : 1.0f);
  }
  for (int j = 0; j < length; j += kLanes) {
    const Vec at = load(x + j);
    Vec total = load(before + j), u[R];
    for (int r = 0; r < R; ++r) u[r] = load(to[r] + j);
    for (int r = 0; r < R; ++r) {
      total += pulls[r] * u[r];
      store(to[r] + j, (Cosine ? kept[r] * u[r] : u[r]) + pulls[r] * at);
      if constexpr (Fetch) __builtin_prefetch(next[r] + j, 0, 2);
    }
    store(gradient + j, total);
  }
}

// The same for R rows that all documents of a round need, and with the first of these for each document's own row too.
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

// From products to what the rows are pulled by. rate and scale belong to the document.
template <bool Cosine>
struct Link {
  Vec pull, back, lean;

  Link(const Task& task, Sums& sums, Vec product, Vec bias, Vec norm, Vec x_norm, Vec labels, Vec times, int most_times, float rate,
       float scale) {
    const auto real = times > 0.0f;  // not what fills a list up
    Vec inverse = {}, cosine = {}, y;
    product = real ? product : Vec{};
    if constexpr (Cosine) {
      norm = real ? norm : Vec{} + 1.0f;
      inverse = 1.0f / root(norm * x_norm);
      cosine = product * inverse;
      y = task.architecture.cosine_scale * cosine;
    } else {
      y = product * scale + bias;
    }
    const Sigmoid<Vec> s = sigmoid(y);
    sums.add(y, labels, s.tail, times, most_times);
    const Vec error = real ? rate * times * (labels - s.value) : Vec{};
    if constexpr (Cosine) {
      const Vec g = task.architecture.cosine_scale * error;
      lean = g * cosine;
      back = lean / norm;
      pull = g * inverse;
    } else {
      pull = error * scale;
    }
  }
};

// --- The rows of U and W, or this thread's copies of them ---

inline float* copied(const Matrix& shared, Copies& copies, int64_t id) {
  int32_t place = copies.places[id];
  if (place < 0) {
    place = copies.places[id] = static_cast<int32_t>(copies.count++);
    copies.ids[place] = static_cast<int32_t>(id);
    copies.visits[place] = 0;
    const float* from = row_of(shared, id);
    float* to = copies.rows + place * shared.stride;
    for (int64_t j = 0; j < shared.stride; j += kLanes) store(to + j, load(from + j));
  }
  ++copies.visits[place];
  return copies.rows + place * shared.stride;
}

inline float* row_or_copy(const Matrix& shared, Copies& copies, int64_t id) {
  if (copies.places) return copied(shared, copies, id);
  const bool mine = id < copies.count;  // no branch: nobody could predict it
  ++copies.visits[mine ? id : copies.count];
  return (mine ? copies.rows : shared.data) + id * shared.stride;
}

inline float* output_row(const Task& task, Workspace& w, int64_t id) {
  return row_or_copy(task.parameters.outputs, w.outputs, id);
}

inline float* word_row(const Task& task, Workspace& w, int64_t id) {
  return row_or_copy(task.parameters.words, w.words_copied, id);
}

// The same row again, to write what was learned: not another visit.
inline float* same_word_row(const Task& task, const Workspace& w, int64_t id) {
  const Copies& copies = w.words_copied;
  if (copies.places) return copies.rows + copies.places[id] * task.parameters.words.stride;
  return id < copies.count ? copies.rows + id * task.parameters.words.stride : row_of(task.parameters.words, id);
}

inline void prefetch(const float* row, int length) {
  for (int j = 0; j < length && j < kPrefetched; j += kAlignment / 4) __builtin_prefetch(row + j, 1);
}

// Whether a row is busy enough to be in a near cache anyway.
inline bool is_near(const Task& task, int64_t id) { return id * task.parameters.outputs.stride < kNear; }

// Where a row is now, without a visit.
inline const float* seen(const Matrix& shared, const Copies& copies, int64_t id) {
  if (!copies.places) return (id < copies.count ? copies.rows : shared.data) + id * shared.stride;
  const int32_t place = copies.places[id];
  return place < 0 ? row_of(shared, id) : copies.rows + place * shared.stride;
}

inline void prefetch_row(const Matrix& shared, const Copies& copies, int64_t id, int length) {
  prefetch(seen(shared, copies, id), length);
}

inline void prefetch_output(const Task& task, const Workspace& w, int64_t id) {
  if (!is_near(task, id)) prefetch_row(task.parameters.outputs, w.outputs, id, task.architecture.row);
}

// --- Documents that learn together ---
//
// Their logits are computed at once and then made those of steps one after another: a row that learned pull x from one
// document has a product with the x of another that is greater by pull (x . x). Rows that two documents share stand at the
// same place of both lists: noise words, and nodes of the tree, where ways that meet have met before.

// Fills a document's list up, to a whole vector, with what is nobody's.
inline void fill_up(Round& round, int l, int count) {
  const int end = l * round.apart + count;
  store_integers(round.ids + end, IntVec{} - 1 - l);
  store(round.times + end, Vec{});
  round.counts[l] = count;
}

template <bool Cosine>
inline void link_together(const Task& task, Round& round, Sums& sums, int first, int n) {
  const int length = task.architecture.row, apart = round.apart;
  float between[kTogether][kGroup];
  for (int l = first + 1; l < n; ++l)
    with_size(l, [&](auto size) { store_eight(between[l], dots<size.value>(round.x, round.x[l], length)); });
  for (int m = first; m < n; ++m) {
    const Vec x_norm = Vec{} + (Cosine ? round.x_norms[m] : 1.0f);
    float lean = 0.0f;
    for (int i = 0; i < round.counts[m]; i += kLanes) {
      const int at = m * apart + i;
      const Link<Cosine> link(task, sums, load(round.products + at), Vec{}, load(round.norms + at), x_norm, load(round.labels + at),
                              load(round.times + at), round.most_times, round.rates[m], round.scales[m]);
      store(round.pulls + at, link.pull);
      if constexpr (Cosine) {
        store(round.backs + at, link.back);
        lean += sum(link.lean);
      }
      const IntVec ids = load_integers(round.ids + at);
      for (int l = m + 1; l < n; ++l) {
        const int theirs = l * apart + i;
        const auto same = ids == load_integers(round.ids + theirs);
        const Vec product = load(round.products + theirs), more = link.pull * between[l][m];
        if constexpr (Cosine) {
          const Vec kept = 1.0f - link.back, norm = load(round.norms + theirs);
          store(round.products + theirs, same ? kept * product + more : product);
          const Vec grown = kept * kept * norm + 2.0f * kept * link.pull * load(round.products + at) + link.pull * link.pull * x_norm;
          store(round.norms + theirs, same ? grown : norm);
        } else {
          store(round.products + theirs, same ? product + more : product);
        }
      }
    }
    if constexpr (Cosine) round.leans[m] = lean / round.x_norms[m];
  }
}

template <bool Cosine>
inline void measure_inputs(const Task& task, Round& round, int n) {
  if constexpr (Cosine)
    for (int l = 0; l < n; ++l) round.x_norms[l] = squared_length(round.x[l], task.architecture.row);
}

template <bool Cosine>
inline void take_back_all(const Task& task, Round& round, int n) {
  if constexpr (Cosine)
    for (int l = 0; l < n; ++l) take_back(round.gradients[l], round.x[l], task.architecture.row, round.leans[l]);
}

// --- Negative sampling: the noise words are those of the round, and each document has its target besides ---

// The noise words of a round, each once, and how often each was drawn.
inline void collect_noise(const Task& task, Workspace& w, const int32_t* noise) {
  Round& round = w.round;
  round.n_common = 0;
  round.most_times = 1;
  for (int k = 0; k < task.architecture.negative; ++k) {
    int i = 0;
    while (i < round.n_common && round.words[i] != noise[k]) ++i;
    if (i == round.n_common) {
      round.common[i] = output_row(task, w, noise[k]);
      round.words[i] = noise[k];
      round.drawn[i] = 0;
      ++round.n_common;
    }
    if (++round.drawn[i] > round.most_times) round.most_times = round.drawn[i];
  }
}

// The rows of document l: the noise words, and its target. One that is a noise word too is among those already, and has no
// row of its own.
inline void collect_targets(const Task& task, Workspace& w, int l) {
  Round& round = w.round;
  const int at = l * round.apart, own = at + round.n_common;
  const int32_t target = round.targets[l];
  bool is_noise = false;
  for (int k = 0; k < round.n_common; ++k) {
    const bool wanted = round.words[k] == target;
    is_noise |= wanted;
    round.ids[at + k] = round.words[k];
    round.labels[at + k] = wanted ? 1.0f : 0.0f;
    round.times[at + k] = wanted ? 1.0f : static_cast<float>(round.drawn[k]);
  }
  round.ids[own] = is_noise ? -1 - l : target;
  round.labels[own] = 1.0f;
  round.times[own] = is_noise ? 0.0f : 1.0f;
  round.rows[l] = is_noise ? round.zeros + l * task.architecture.row : output_row(task, w, target);
  fill_up(round, l, round.n_common + 1);
}

template <bool Cosine>
inline void negative_together(const Task& task, Workspace& w, Sums& sums, int n) {
  Round& round = w.round;
  const int length = task.architecture.row, n_common = round.n_common;
  measure_inputs<Cosine>(task, round, n);
  for (int l = 0; l < n; ++l) collect_targets(task, w, l);
  constexpr int kTile = kLanes == 16 ? 4 : 2;  // as many as there are registers for
  int l = 0;
  if (!Cosine && n_common < kGroup - 1 && length >= kWide)
    for (; l + kTile <= n; l += kTile)
      with_size(n_common, [&](auto size) {
        if constexpr (size.value < kGroup - 1)
          products_of_tile<size.value, kTile>(round.common, round.rows + l, round.x + l, length, round.apart,
                                              round.products + l * round.apart);
      });
  for (; l < n; ++l) {
    round.common[n_common] = round.rows[l];
    products<Cosine>(round.common, n_common + 1, round.x[l], length, round.products + l * round.apart, round.norms + l * round.apart);
  }
  link_together<Cosine>(task, round, sums, 0, n);
  for (int done = 0; done < n_common; done += kGroup)
    with_size(n_common - done, [&](auto size) {
      const auto work = [&](auto first) {
        update_common<size.value, first.value, Cosine>(round.common + done, n, round.x, round.gradients, length, round.apart,
                                                       round.pulls + done, round.backs + done, round.rows,
                                                       round.pulls + n_common, round.backs + n_common);
      };
      done == 0 ? work(Size<true>{}) : work(Size<false>{});
    });
  take_back_all<Cosine>(task, round, n);
}

// --- Hierarchical softmax: the inner nodes on each target's way ---
//
// Ways have many lengths, and a branch that depends on one is mispredicted. So they are cut into blocks of kBlock nodes, the
// last one filled up with rows of zeros, and the blocks of all documents are gone through in one loop.

// Whether documents go one after another: then the rows of the next one are fetched while this one learns. (The steps are the
// same.)
inline bool in_turn(const Task& task) { return task.architecture.row >= kInTurn; }

// Where the rows of a path are, for a document that comes after all of this round.
inline void look_at_path(const Task& task, Workspace& w, int32_t target) {
  Round& round = w.round;
  const int64_t first = task.tables.path_offsets[target], end = task.tables.path_offsets[target + 1];
  round.n_ahead = 0;
  for (int64_t i = first; i < end; ++i)
    round.ahead[round.n_ahead++] = seen(task.parameters.outputs, w.outputs, task.tables.paths[i] >> 1);
}

inline void collect_path(const Task& task, Workspace& w, int l) {
  Round& round = w.round;
  const Tables& tables = task.tables;
  const int64_t first = tables.path_offsets[round.targets[l]];
  const int count = static_cast<int>(tables.path_offsets[round.targets[l] + 1] - first), at = l * round.apart;
  const int whole = round.counts[l] = (count + kBlock - 1) / kBlock * kBlock;  // filled up with what is nobody's
  for (int i = 0; i < whole; i += kLanes) {
    const IntVec turns = load_integers(tables.paths + first + i), inside = load_integers(kPlaces) < count - i;
    store_integers(round.ids + at + i, inside ? turns >> 1 : IntVec{} - 1 - l);
    store(round.labels + at + i, (turns & 1) != 0 ? Vec{} : Vec{} + 1.0f);
    store(round.times + at + i, inside ? Vec{} + 1.0f : Vec{});
  }
  for (int i = 0; i < count; i += kBlock) {
    for (int k = 0; k < kBlock; ++k) {
      const int32_t node = round.ids[at + i + k];
      round.rows[at + i + k] = node < 0 ? round.zeros + k * task.architecture.row : output_row(task, w, node);
    }
    round.begin_of[round.n_blocks] = at + i;
    round.lane_of[round.n_blocks] = l;
    round.before[round.n_blocks++] = i ? round.gradients[l] : round.zeros;
  }
}

// The products of some blocks, and what these learn. `next` are rows to fetch on the way, the deepest last.
template <bool Cosine, bool Fetch>
inline void hs_blocks(const Task& task, Workspace& w, Sums& sums, int first, int n, const float* const* next, int n_next) {
  Round& round = w.round;
  const int length = task.architecture.row, begin = round.block_of[first], end = round.block_of[n];
  for (int b = begin; b < end; ++b) {
    const int at = round.begin_of[b];
    store_eight(round.products + at, dots<kBlock>(round.rows + at, round.x[round.lane_of[b]], length));
    if constexpr (Cosine) store_eight(round.norms + at, squares<kBlock>(round.rows + at, length) + kNormFloor);
  }
  link_together<Cosine>(task, round, sums, first, n);
  for (int b = begin; b < end; ++b) {
    const int at = round.begin_of[b], l = round.lane_of[b];
    n_next -= kBlock;
    update<kBlock, Cosine, Fetch>(round.rows + at, round.x[l], round.before[b], round.gradients[l], length, round.pulls + at,
                                  round.backs + at, n_next < 0 ? round.rows + at : next + n_next);
  }
}

template <bool Cosine>
inline void hs_together(const Task& task, Workspace& w, Sums& sums, int n) {
  Round& round = w.round;
  measure_inputs<Cosine>(task, round, n);
  round.most_times = 1;
  round.n_blocks = 0;
  for (int l = 0; l < n; ++l) {
    round.block_of[l] = round.n_blocks;
    collect_path(task, w, l);
  }
  round.block_of[n] = round.n_blocks;
  if (in_turn(task)) {
    for (int l = 0; l + 1 < n; ++l)
      hs_blocks<Cosine, true>(task, w, sums, l, l + 1, round.rows + (l + 1) * round.apart, round.counts[l + 1]);
    hs_blocks<Cosine, true>(task, w, sums, n - 1, n, round.ahead, round.n_ahead);
  } else {
    hs_blocks<Cosine, false>(task, w, sums, 0, n, nullptr, 0);
  }
  if (task.bias_column)
    for (int l = 0; l < n; ++l) round.gradients[l][task.architecture.width] = 0.0f;  // the 1 is no parameter
  take_back_all<Cosine>(task, round, n);
}
