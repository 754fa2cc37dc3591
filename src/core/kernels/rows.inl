// Rows of U against h: the innermost work of hierarchical softmax and negative sampling.

constexpr int kGroup = 8;  // rows handled as a block: all dot products, then all updates

template <int R>
inline Eight dots(float* const* rows, const float* h, int length) {
  Vec total[R] = {};
  for (int j = 0; j < length; j += kLanes) {
    const Vec x = load(h + j);
    for (int r = 0; r < R; ++r) total[r] += load(rows[r] + j) * x;
  }
  return sums<R>(total);
}

template <int R>
inline Eight squares(float* const* rows, int length) {
  Vec total[R] = {};
  for (int j = 0; j < length; j += kLanes)
    for (int r = 0; r < R; ++r) {
      const Vec u = load(rows[r] + j);
      total[r] += u * u;
    }
  return sums<R>(total);
}

typedef float LooseEight __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t IntEight __attribute__((vector_size(32)));
inline Eight load_eight(const float* p) { return *reinterpret_cast<const LooseEight*>(p); }
inline void store_eight(float* p, Eight v) { *reinterpret_cast<LooseEight*>(p) = v; }

// gradient += pull u (= for the first group of a step), then u = shrink u + pull h, for every row; `shrink` is 1 but for
// cosine.
template <int R, bool First, bool Shrink, bool Frozen>
inline void update(float* const* rows, const float* h, float* gradient, int length, const float* pull, const float* shrink) {
  for (int j = 0; j < length; j += kLanes) {
    const Vec x = load(h + j);
    Vec total = First ? Vec{} : load(gradient + j);
    for (int r = 0; r < R; ++r) {
      const Vec u = load(rows[r] + j);
      total += pull[r] * u;
      if constexpr (!Frozen) store(rows[r] + j, (Shrink ? shrink[r] * u : u) + pull[r] * x);
    }
    store(gradient + j, total);
  }
}

inline void settle(Tally& tally) {
  tally.linear -= __builtin_log(tally.product);
  tally.product = 1.0;
}

// log sigma(y) where the label is 1, log sigma(-y) where it is 0: min(+-y, 0) - log(tail).
inline void add_to(Tally& tally, Eight y, Eight labels, Eight tails, Eight times, bool repeated) {
  const Eight signed_y = labels > 0.0f ? y : -y;
  tally.linear += sum(times * (signed_y < 0.0f ? signed_y : Eight{}));
  if (repeated) {
    for (int r = 0; r < kGroup; ++r) tally.linear -= times[r] * __builtin_log(static_cast<double>(tails[r]));
  } else {
    Eight product = tails * __builtin_shufflevector(tails, tails, 4, 5, 6, 7, 0, 1, 2, 3);
    product *= __builtin_shufflevector(product, product, 2, 3, 0, 1, 6, 7, 4, 5);
    tally.product *= static_cast<double>(product[0] * product[1]);
  }
  if (!(tally.product < 1e100)) settle(tally);
}

// A row of U and its bias: this thread's copy of a busy one.
inline float* output_row(const Task& task, const Workspace& w, int64_t id) {
  return id < w.n_hot ? w.hot + id * task.parameters.outputs.stride : row_of(task.parameters.outputs, id);
}

inline float* output_bias(const Task& task, const Workspace& w, int64_t id) {
  return id < w.n_hot ? w.hot_bias + id : task.parameters.bias + id;
}

// One group of at most kGroup distinct rows. `lean` collects what cosine takes back along h.
template <int R, bool Cosine, bool Frozen>
inline void group(const Task& task, Workspace& w, const float* h, float h_square, const int32_t* ids, const float* labels_at,
                  const float* times_at, float rate, bool first, float& lean) {
  const Parameters& parameters = task.parameters;
  const int length = task.architecture.row;
  const IntEight used = IntEight{0, 1, 2, 3, 4, 5, 6, 7} < R;
  float* rows[R];
  for (int r = 0; r < R; ++r) {
    rows[r] = output_row(task, w, ids[r]);
    if (ids[r] < w.n_hot) ++w.hot_visits[ids[r]];
  }
  Eight y = dots<R>(rows, h, length), cosine = {}, norm = {}, inverse = {};
  if constexpr (Cosine) {
    norm = squares<R>(rows, length) + kNormFloor;
    for (int r = 0; r < R; ++r) inverse[r] = 1.0f / __builtin_sqrtf(norm[r] * h_square);
    cosine = y * inverse;
    y = task.architecture.cosine_scale * cosine;
  } else if (parameters.bias) {
    for (int r = 0; r < R; ++r) y[r] += *output_bias(task, w, ids[r]);
  }
  const Sigmoid<Eight> s = sigmoid(y);
  const Eight labels = load_eight(labels_at);
  const Eight times = used ? load_eight(times_at) : Eight{};
  add_to(w.tally, y, labels, used ? s.tail : Eight{} + 1.0f, times, w.repeated);
  Eight pull = rate * times * (labels - s.value), shrink = {};
  if constexpr (Cosine) {
    const Eight g = task.architecture.cosine_scale * pull;
    lean += sum(used ? g * cosine : Eight{});
    shrink = 1.0f - g * cosine / norm;
    pull = g * inverse;
  } else if (!Frozen && parameters.bias) {
    for (int r = 0; r < R; ++r) *output_bias(task, w, ids[r]) += pull[r];
  }
  float pulls[kGroup], shrinks[kGroup];
  store_eight(pulls, pull);
  if constexpr (Cosine) store_eight(shrinks, shrink);
  first ? update<R, true, Cosine, Frozen>(rows, h, w.gradient, length, pulls, shrinks)
        : update<R, false, Cosine, Frozen>(rows, h, w.gradient, length, pulls, shrinks);
}

// All rows of a step against h: updates them and leaves rate * (gradient with respect to h) in w.gradient.
template <bool Cosine, bool Frozen>
inline void rows_against(const Task& task, Workspace& w, const float* h, int count, float rate) {
  const int length = task.architecture.row;
  float h_square = 0, lean = 0;
  if constexpr (Cosine) {
    Vec total = {};
    for (int j = 0; j < length; j += kLanes) total += load(h + j) * load(h + j);
    h_square = sum(total) + kNormFloor;
  }
  for (int done = 0; done < count; done += kGroup) {
    const int32_t* ids = w.rows + done;
    const float* labels = w.labels + done;
    const float* times = w.times + done;
    switch (count - done) {
#define PARAVEC_GROUP(R) group<R, Cosine, Frozen>(task, w, h, h_square, ids, labels, times, rate, done == 0, lean); break
      case 1: PARAVEC_GROUP(1);
      case 2: PARAVEC_GROUP(2);
      case 3: PARAVEC_GROUP(3);
      case 4: PARAVEC_GROUP(4);
      case 5: PARAVEC_GROUP(5);
      case 6: PARAVEC_GROUP(6);
      case 7: PARAVEC_GROUP(7);
      default: PARAVEC_GROUP(8);
#undef PARAVEC_GROUP
    }
  }
  if constexpr (Cosine) {
    const float back = lean / h_square;
    for (int j = 0; j < length; j += kLanes) store(w.gradient + j, load(w.gradient + j) - back * load(h + j));
  }
}

// The rows a target needs, each once: (row, label, how often it was drawn).
inline int collect_rows(const Task& task, Workspace& w, int32_t target, const int32_t* noise) {
  w.repeated = false;
  if (task.architecture.output == Output::Hs) {
    const Tables& tables = task.tables;
    const int64_t first = tables.path_offsets[target];
    const int count = static_cast<int>(tables.path_offsets[target + 1] - first);
    for (int i = 0; i < count; ++i) {
      w.rows[i] = tables.path_nodes[first + i];
      w.labels[i] = tables.path_codes[first + i] ? 0.0f : 1.0f;
      w.times[i] = 1.0f;
    }
    return count;
  }
  w.rows[0] = target;
  w.labels[0] = 1.0f;
  w.times[0] = 1.0f;
  int count = 1;
  for (int k = 0; k < task.architecture.negative; ++k) {
    if (noise[k] == target) continue;
    int i = 1;
    while (i < count && w.rows[i] != noise[k]) ++i;
    if (i < count) {
      w.times[i] += 1.0f;
      w.repeated = true;
    } else {
      w.rows[count] = noise[k];
      w.labels[count] = 0.0f;
      w.times[count++] = 1.0f;
    }
  }
  return count;
}

inline void prefetch_row(const Task& task, int64_t id) {
  if (id < kHotRows) return;  // in the cache anyway
  const char* p = reinterpret_cast<const char*>(row_of(task.parameters.outputs, id));
  const int bytes = task.architecture.row * 4;
  for (int at = 0; at < bytes && at < 1024; at += 64) __builtin_prefetch(p + at, 1);
}

inline void prefetch_target(const Task& task, int32_t target, const int32_t* noise) {
  if (task.architecture.output == Output::Hs) {
    for (int64_t i = task.tables.path_offsets[target]; i < task.tables.path_offsets[target + 1]; ++i)
      prefetch_row(task, task.tables.path_nodes[i]);
  } else {
    prefetch_row(task, target);
    for (int k = 0; k < task.architecture.negative; ++k) prefetch_row(task, noise[k]);
  }
}

// One target predicted from h.
inline void predict(const Task& task, Workspace& w, const float* h, int32_t target, const int32_t* noise, float rate) {
  const int count = collect_rows(task, w, target, noise);
  w.tally.targets += 1;
  if (task.architecture.cosine) {
    task.frozen ? rows_against<true, true>(task, w, h, count, rate) : rows_against<true, false>(task, w, h, count, rate);
  } else {
    task.frozen ? rows_against<false, true>(task, w, h, count, rate) : rows_against<false, false>(task, w, h, count, rate);
  }
}
