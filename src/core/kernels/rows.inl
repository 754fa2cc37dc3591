// Rows of U against h: the innermost work of hierarchical softmax and negative sampling.

constexpr int kGroup = 8;  // rows handled as a block: all dot products, then all updates

template <int R>
inline void dots(float* const* rows, const float* h, int length, float* out) {
  Vec total[R] = {};
  for (int j = 0; j < length; j += kLanes) {
    const Vec x = load(h + j);
    for (int r = 0; r < R; ++r) total[r] += load(rows[r] + j) * x;
  }
  for (int r = 0; r < R; ++r) out[r] = sum(total[r]);
}

template <int R>
inline void squares(float* const* rows, int length, float* out) {
  Vec total[R] = {};
  for (int j = 0; j < length; j += kLanes)
    for (int r = 0; r < R; ++r) {
      const Vec u = load(rows[r] + j);
      total[r] += u * u;
    }
  for (int r = 0; r < R; ++r) out[r] = sum(total[r]);
}

// gradient += pull u, then u = shrink u + pull h, for every row; `shrink` is 1 but for cosine.
template <int R, bool Shrink, bool Frozen>
inline void update(float* const* rows, const float* h, float* gradient, int length, const float* pull, const float* shrink) {
  for (int j = 0; j < length; j += kLanes) {
    const Vec x = load(h + j);
    Vec total = load(gradient + j);
    for (int r = 0; r < R; ++r) {
      const Vec u = load(rows[r] + j);
      total += pull[r] * u;
      if constexpr (!Frozen) store(rows[r] + j, (Shrink ? shrink[r] * u : u) + pull[r] * x);
    }
    store(gradient + j, total);
  }
}

inline void add_to(Tally& tally, float y, float label, float tail, float times) {
  const double sign = label > 0 ? y : -y;
  const double linear = sign < 0 ? sign : 0.0;
  tally.linear += times * linear;
  if (times == 1.0f) {
    tally.product *= tail;
  } else {
    tally.linear -= times * __builtin_log(static_cast<double>(tail));
  }
}

inline void settle(Tally& tally) {
  tally.linear -= __builtin_log(tally.product);
  tally.product = 1.0;
}

// One group of at most kGroup distinct rows. `lean` collects what cosine takes back along h.
template <int R, bool Cosine, bool Frozen>
inline void group(const Task& task, Workspace& w, const float* h, float h_square, const int32_t* ids, const float* labels,
                  const float* times, float rate, float& lean) {
  const Parameters& parameters = task.parameters;
  const int length = task.architecture.row;
  float* rows[R];
  for (int r = 0; r < R; ++r) rows[r] = row_of(parameters.outputs, ids[r]);
  float y[16] = {}, tail[16], pull[16], shrink[16], square[16], cosine[16];
  dots<R>(rows, h, length, y);
  if constexpr (Cosine) {
    squares<R>(rows, length, square);
    for (int r = 0; r < R; ++r) {
      cosine[r] = y[r] / __builtin_sqrtf((square[r] + kNormFloor) * h_square);
      y[r] = task.architecture.cosine_scale * cosine[r];
    }
  } else if (parameters.bias) {
    for (int r = 0; r < R; ++r) y[r] += parameters.bias[ids[r]];
  }
  for (int r = 0; r < R; r += kLanes) {
    const Sigmoid s = sigmoid(load(y + r));
    store(pull + r, s.value);
    store(tail + r, s.tail);
  }
  for (int r = 0; r < R; ++r) {
    add_to(w.tally, y[r], labels[r], tail[r], times[r]);
    pull[r] = rate * times[r] * (labels[r] - pull[r]);
  }
  if (w.tally.product > 1e100) settle(w.tally);
  if constexpr (Cosine) {
    for (int r = 0; r < R; ++r) {
      const float g = task.architecture.cosine_scale * pull[r];
      const float norm = square[r] + kNormFloor;
      lean += g * cosine[r];
      shrink[r] = 1.0f - g * cosine[r] / norm;
      pull[r] = g / __builtin_sqrtf(norm * h_square);
    }
  } else if (!Frozen && parameters.bias) {
    for (int r = 0; r < R; ++r) parameters.bias[ids[r]] += pull[r];
  }
  update<R, Cosine, Frozen>(rows, h, w.gradient, length, pull, shrink);
}

// All rows of a step against h: updates them and leaves rate * (gradient with respect to h) in w.gradient.
template <bool Cosine, bool Frozen>
inline void rows_against(const Task& task, Workspace& w, const float* h, int count, float rate) {
  const int length = task.architecture.row;
  for (int j = 0; j < length; j += kLanes) store(w.gradient + j, Vec{});
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
#define PARAVEC_GROUP(R) group<R, Cosine, Frozen>(task, w, h, h_square, ids, labels, times, rate, lean); break
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
    } else {
      w.rows[count] = noise[k];
      w.labels[count] = 0.0f;
      w.times[count++] = 1.0f;
    }
  }
  return count;
}

inline void prefetch_row(const Task& task, int64_t id) {
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
