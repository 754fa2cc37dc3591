// The exact softmax on a mini-batch: logits of all targets for all inputs, one pass over U forth and one back.
// Arrays "across" lie target by target (or feature by feature) with the batch innermost, padded to kBatchMultiple.

inline int padded_batch(int filled) { return (filled + kBatchMultiple - 1) / kBatchMultiple * kBatchMultiple; }

// across[w][b] = U[w] . inputs[b]
inline void batch_logits(const Task& task, Workspace& w, int batch) {
  constexpr int kRows = 4, kColumns = 2;
  const int width = task.architecture.width;
  const int64_t targets = task.tables.n_targets;
  for (int64_t first = 0; first < targets; first += kRows) {
    const float* u[kRows];
    for (int r = 0; r < kRows; ++r) u[r] = row_of(task.parameters.outputs, first + r < targets ? first + r : targets - 1);
    for (int b = 0; b < batch; b += kColumns * kLanes) {
      Vec total[kRows][kColumns] = {};
      for (int j = 0; j < width; ++j) {
        const float* x = w.inputs_across + static_cast<int64_t>(j) * batch + b;
        for (int r = 0; r < kRows; ++r)
          for (int c = 0; c < kColumns; ++c) total[r][c] += u[r][j] * load(x + c * kLanes);
      }
      for (int r = 0; r < kRows && first + r < targets; ++r)
        for (int c = 0; c < kColumns; ++c) store(w.across + (first + r) * batch + b + c * kLanes, total[r][c]);
    }
  }
}

// Dot products become logits: bias added, or scaled cosines.
inline void finish_logits(const Task& task, Workspace& w, int batch, const float* inverse_norm) {
  const Parameters& parameters = task.parameters;
  for (int64_t t = 0; t < task.tables.n_targets; ++t) {
    float* y = w.across + t * batch;
    if (task.architecture.cosine) {
      float* u = row_of(parameters.outputs, t);
      const float square = squares<1>(&u, task.architecture.row)[0];
      const float scale = task.architecture.cosine_scale / __builtin_sqrtf(square + kNormFloor);
      for (int b = 0; b < batch; b += kLanes) store(y + b, scale * load(y + b) * load(inverse_norm + b));
    } else {
      for (int b = 0; b < batch; b += kLanes) store(y + b, load(y + b) + parameters.bias[t]);
    }
  }
}

// Logits become rate * (label - probability); tallies the objective.
inline void batch_errors(const Task& task, Workspace& w, int batch, const float* rates, float* most, float* norm) {
  const int64_t targets = task.tables.n_targets;
  for (int b = 0; b < batch; b += kLanes) {
    Vec largest = load(w.across + b);
    for (int64_t t = 1; t < targets; ++t) {
      const Vec y = load(w.across + t * batch + b);
      largest = y > largest ? y : largest;
    }
    store(most + b, largest);
  }
  for (int b = 0; b < w.filled; ++b)
    w.tally.linear += w.across[w.items[b].target * static_cast<int64_t>(batch) + b] - most[b];
  for (int b = 0; b < batch; b += kLanes) store(norm + b, Vec{});
  for (int64_t t = 0; t < targets; ++t)
    for (int b = 0; b < batch; b += kLanes) {
      float* y = w.across + t * batch + b;
      const Vec e = exp_negative(load(y) - load(most + b));
      store(y, e);
      store(norm + b, load(norm + b) + e);
    }
  for (int b = 0; b < w.filled; ++b) w.tally.linear -= __builtin_log(static_cast<double>(norm[b]));
  w.tally.targets += w.filled;
  for (int b = 0; b < batch; b += kLanes) store(norm + b, load(rates + b) / load(norm + b));
  for (int64_t t = 0; t < targets; ++t)
    for (int b = 0; b < batch; b += kLanes) store(w.across + t * batch + b, -load(w.across + t * batch + b) * load(norm + b));
  for (int b = 0; b < w.filled; ++b) w.across[w.items[b].target * static_cast<int64_t>(batch) + b] += rates[b];
}

// Cosine: errors become coefficients of u and h; what is taken back along each is summed in `shrink` and `lean`.
inline float cosine_coefficients(const Task& task, const float* u_row, const float* error, float* coefficient, int batch,
                                 const float* inverse_norm, const float* dots, float* lean) {
  float* row = const_cast<float*>(u_row);
  const float square = squares<1>(&row, task.architecture.row)[0] + kNormFloor;
  const float inverse = 1.0f / __builtin_sqrtf(square);
  Vec shrink = {};
  for (int b = 0; b < batch; b += kLanes) {
    const Vec g = task.architecture.cosine_scale * load(error + b);
    const Vec back = g * load(dots + b) * inverse * load(inverse_norm + b);
    shrink += back;
    store(lean + b, load(lean + b) + back);
    store(coefficient + b, g * inverse * load(inverse_norm + b));
  }
  return 1.0f - sum(shrink) / square;
}

// input_gradients += errors^T U, then U += errors inputs^T (and the bias), four targets at a time.
inline void batch_updates(const Task& task, Workspace& w, int batch, const float* inverse_norm, float* lean, float* spare) {
  constexpr int kRows = 4;
  const Architecture& a = task.architecture;
  const int64_t targets = task.tables.n_targets;
  for (int64_t first = 0; first < targets; first += kRows) {
    const int n = targets - first < kRows ? static_cast<int>(targets - first) : kRows;
    float* u[kRows];
    const float* k[kRows];
    float shrink[kRows];
    for (int r = 0; r < kRows; ++r) {
      const int64_t t = first + (r < n ? r : 0);
      u[r] = row_of(task.parameters.outputs, t);
      float* error = w.across + t * batch;
      float* mine = spare + r * batch;
      shrink[r] = 1.0f;
      if (r >= n) {
        for (int b = 0; b < batch; ++b) mine[b] = 0.0f;
      } else if (a.cosine) {
        float* dot = spare + kRows * batch;
        for (int b = 0; b < w.filled; ++b) {
          float* row = u[r];
          dot[b] = dots<1>(&row, w.inputs + static_cast<int64_t>(b) * a.row, a.row)[0];
        }
        for (int b = w.filled; b < batch; ++b) dot[b] = 0.0f;
        shrink[r] = cosine_coefficients(task, u[r], error, mine, batch, inverse_norm, dot, lean);
      } else {
        Vec total = {};
        for (int b = 0; b < batch; b += kLanes) {
          total += load(error + b);
          store(mine + b, load(error + b));
        }
        if (!task.frozen) task.parameters.bias[t] += sum(total);
      }
      k[r] = mine;
    }
    for (int j = 0; j < a.row; j += kLanes) {
      Vec row[kRows], change[kRows] = {};
      for (int r = 0; r < kRows; ++r) row[r] = load(u[r] + j);
      for (int b = 0; b < w.filled; ++b) {
        const Vec x = load(w.inputs + static_cast<int64_t>(b) * a.row + j);
        float* to = w.input_gradients + static_cast<int64_t>(b) * a.row + j;
        Vec total = load(to);
        for (int r = 0; r < kRows; ++r) {
          total += k[r][b] * row[r];
          change[r] += k[r][b] * x;
        }
        store(to, total);
      }
      if (!task.frozen)
        for (int r = 0; r < n; ++r) store(u[r] + j, shrink[r] * row[r] + change[r]);
    }
  }
}

// One step on the filled part of the batch; leaves rate * (gradients with respect to the inputs) in w.input_gradients.
inline void batch_step(const Task& task, Workspace& w) {
  const Architecture& a = task.architecture;
  const int batch = padded_batch(w.filled);
  float* rates = w.scratch;
  float* inverse_norm = rates + batch;
  float* most = inverse_norm + batch;
  float* norm = most + batch;
  float* lean = norm + batch;
  float* spare = lean + batch;
  for (int b = 0; b < batch; ++b) {
    const bool real = b < w.filled;
    const float* x = w.inputs + static_cast<int64_t>(b) * a.row;
    float square = 0.0f;
    for (int j = 0; j < a.width; ++j) {
      const float value = real ? x[j] : 0.0f;
      square += value * value;
      w.inputs_across[static_cast<int64_t>(j) * batch + b] = value;
    }
    rates[b] = real ? w.items[b].rate : 0.0f;
    inverse_norm[b] = 1.0f / __builtin_sqrtf(square + kNormFloor);
    lean[b] = 0.0f;
  }
  for (int64_t i = 0; i < static_cast<int64_t>(w.filled) * a.row; ++i) w.input_gradients[i] = 0.0f;
  batch_logits(task, w, batch);
  finish_logits(task, w, batch, inverse_norm);
  batch_errors(task, w, batch, rates, most, norm);
  batch_updates(task, w, batch, inverse_norm, lean, spare);
  if (!a.cosine) return;
  for (int b = 0; b < w.filled; ++b) {
    const float back = lean[b] * inverse_norm[b] * inverse_norm[b];
    const float* x = w.inputs + static_cast<int64_t>(b) * a.row;
    float* to = w.input_gradients + static_cast<int64_t>(b) * a.row;
    for (int j = 0; j < a.row; j += kLanes) store(to + j, load(to + j) - back * load(x + j));
  }
}

void flush(const Task& task, Workspace& w) {
  if (!w.filled) return;
  const Architecture& a = task.architecture;
  for (int b = 0; b < w.filled; ++b) {
    const Item& item = w.items[b];
    const float* d = task.frozen ? w.document : row_of(task.parameters.documents, item.document);
    fill_input(task, w, d, w.contexts + static_cast<int64_t>(b) * a.slots, item.word, w.inputs + static_cast<int64_t>(b) * a.row);
  }
  batch_step(task, w);
  for (int b = 0; b < w.filled; ++b) {
    const Item& item = w.items[b];
    float* d = task.frozen ? w.document : row_of(task.parameters.documents, item.document);
    spread(task, w, d, w.contexts + static_cast<int64_t>(b) * a.slots, item.word,
           w.input_gradients + static_cast<int64_t>(b) * a.row);
  }
  w.filled = 0;
}

// One target more, and a step when there are enough.
inline void add_to_batch(const Task& task, Workspace& w, const Item& item, const int32_t* context) {
  const Architecture& a = task.architecture;
  w.items[w.filled] = item;
  int32_t* to = w.contexts + static_cast<int64_t>(w.filled) * a.slots;
  const int n = item.word ? 1 : a.dm ? a.slots : 0;
  for (int s = 0; s < n; ++s) to[s] = context[s];
  if (++w.filled == a.batch_size) flush(task, w);
}
