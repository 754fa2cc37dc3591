// Hierarchical softmax: the inner nodes on each target's way.
//
// Ways have many lengths, and a branch that depends on one is mispredicted. So they are cut into blocks of kBlock nodes, the
// last one filled up with rows of zeros, and the blocks of all documents are gone through in one loop.

constexpr int kInTurn = 256;  // numbers of a row from which on the nodes of one document fill a near cache

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
template <bool Fetch>
inline void hs_blocks(const Task& task, Workspace& w, Sums& sums, int first, int n, const float* const* next, int n_next) {
  Round& round = w.round;
  const int length = task.architecture.row, begin = round.block_of[first], end = round.block_of[n];
  const bool draw = task.architecture.draw_errors;
  for (int b = begin; b < end; ++b) {
    const int at = round.begin_of[b];
    const float* x = round.x[round.lane_of[b]];
    if (Fetch && draw) {  // all rows are read now, and few later
      n_next -= kBlock;
      const float* const* ahead = n_next < 0 ? round.rows + at : next + n_next;
      store_eight(round.products + at, dots<kBlock, Fetch>(round.rows + at, x, length, ahead));
    } else {
      store_eight(round.products + at, dots<kBlock>(round.rows + at, x, length));
    }
  }
  link_together<false>(task, round, sums, first, n);
  if (draw) {
    for (int l = first; l < n; ++l) {
      const int at = l * round.apart;
      learn_drawn(task, round, l, gather_learners(round, round.rows + at, round.pulls + at, round.counts[l]));
    }
    return;
  }
  for (int b = begin; b < end; ++b) {
    const int at = round.begin_of[b], l = round.lane_of[b];
    n_next -= kBlock;
    update<kBlock, Fetch>(round.rows + at, round.x[l], round.before[b], round.gradients[l], length, round.pulls + at,
                          n_next < 0 ? round.rows + at : next + n_next);
  }
}

inline void hs_together(const Task& task, Workspace& w, Sums& sums, int n) {
  Round& round = w.round;
  round.most_times = 1;
  round.n_blocks = 0;
  for (int l = 0; l < n; ++l) {
    round.block_of[l] = round.n_blocks;
    collect_path(task, w, l);
  }
  round.block_of[n] = round.n_blocks;
  if (in_turn(task)) {
    for (int l = 0; l + 1 < n; ++l)
      hs_blocks<true>(task, w, sums, l, l + 1, round.rows + (l + 1) * round.apart, round.counts[l + 1]);
    hs_blocks<true>(task, w, sums, n - 1, n, round.ahead, round.n_ahead);
  } else {
    hs_blocks<false>(task, w, sums, 0, n, nullptr, 0);
  }
  if (task.bias_column)
    for (int l = 0; l < n; ++l) round.gradients[l][task.architecture.width] = 0.0f;  // the 1 is no parameter
}
