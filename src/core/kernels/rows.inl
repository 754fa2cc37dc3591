// Rows of U against h, with U frozen: inference and scores.

// The rows a target needs, each once: (row, label, how often it was drawn). Returns how many.
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
    if (i == count) {
      w.rows[count] = noise[k];
      w.labels[count] = 0.0f;
      w.times[count++] = 0.0f;
    }
    w.times[i] += 1.0f;
  }
  return count;
}

template <bool Cosine>
inline void rows_against(const Task& task, Workspace& w, const float* h, int count) {
  const int length = task.architecture.row;
  float** rows = w.round.rows;
  for (int i = 0; i < count; ++i) rows[i] = row_of(task.parameters.outputs, w.rows[i]);
  products<Cosine>(rows, count, h, length, w.round.products, w.round.norms);
  const float h_norm = Cosine ? squared_length(h, length) : 1.0f;
  const IntVec places = load_integers(kPlaces);
  Sums sums;
  float lean = 0.0f;
  for (int i = 0; i < count; i += kLanes) {
    Vec bias = {};
    int most = 0;
    for (int k = 0; k < kLanes && i + k < count; ++k) {
      if (task.parameters.bias) bias[k] = task.parameters.bias[w.rows[i + k]];
      if (w.times[i + k] > static_cast<float>(most)) most = static_cast<int>(w.times[i + k]);
    }
    const Vec times = places < count - i ? load(w.times + i) : Vec{};
    const Link<Cosine> link(task, sums, load(w.round.products + i), bias, load(w.round.norms + i), Vec{} + h_norm,
                            load(w.labels + i), times, most, 1.0f, 1.0f);
    store(w.round.pulls + i, link.pull);
    if constexpr (Cosine) lean += sum(times > 0.0f ? link.lean : Vec{});
  }
  sums.add_to(w.tally);
  for (int j = 0; j < length; j += kLanes) {
    Vec total = {};
    for (int i = 0; i < count; ++i) total += w.round.pulls[i] * load(rows[i] + j);
    store(w.gradient + j, total);
  }
  if constexpr (Cosine) take_back(w.gradient, h, length, lean / h_norm);
}

// One target predicted from h: leaves the gradient with respect to h in w.gradient.
inline void predict(const Task& task, Workspace& w, const float* h, int32_t target, const int32_t* noise) {
  const int count = collect_rows(task, w, target, noise);
  w.tally.targets += 1;
  task.architecture.cosine ? rows_against<true>(task, w, h, count) : rows_against<false>(task, w, h, count);
}
