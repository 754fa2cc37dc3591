// Hierarchical softmax: the inner nodes on each target's way.
//
// Ways have many lengths, and a branch that depends on one is mispredicted. So they are cut into blocks of kBlock nodes, the
// last one filled up with rows of zeros, and the blocks of all documents are gone through in one loop.

constexpr int64_t kNearInTurn = 1 << 17;  // floats of the busiest rows of U, which are in the second-level cache anyway
constexpr int kInTurn = 256;  // numbers of a row from which on the nodes of one document fill a near cache

// Whether documents go one after another: then the rows of the next one are fetched while this one learns. (The steps are the
// same, but for rounding: so rows of bfloat16 always do.)
inline bool in_turn(const Task& task) { return task.architecture.row >= kInTurn || task.architecture.half; }

// How many nodes of a path are near: the first ones.
inline int near_nodes(const Task& task, const int32_t* path, int count) {
  int n = 0;
  while (n < count && (path[n] >> 1) * task.parameters.outputs.stride < kNearInTurn) ++n;
  return n;
}

// Where the rows of a path are, for a document that comes after all of this round.
inline void look_at_path(const Task& task, Workspace& w, int32_t target) {
  Round& round = w.round;
  const int64_t first = task.tables.path_offsets[target];
  const int count = static_cast<int>(task.tables.path_offsets[target + 1] - first);
  round.ahead = {count, near_nodes(task, task.tables.paths + first, count), round.rows_ahead};
  for (int i = 0; i < count; ++i)
    round.rows_ahead[i] = seen(task.parameters.outputs, w.outputs, task.tables.paths[first + i] >> 1);
}

inline void collect_path(const Task& task, Workspace& w, int l) {
  Round& round = w.round;
  const Tables& tables = task.tables;
  const int64_t first = tables.path_offsets[round.targets[l]];
  const int count = static_cast<int>(tables.path_offsets[round.targets[l] + 1] - first), at = l * round.apart;
  if (in_turn(task)) round.near[l] = near_nodes(task, tables.paths + first, count);
  round.lengths[l] = count;
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

// Calls work(Size<number>, rows) with some of the rows that are to be fetched, the deepest first, such that `chances` of these
// calls take them all. Few at a time, because while many are on their way nothing else gets through.
template <class Work>
inline void fetch_some(Ahead& next, int chances, Work work) {
  const int left = next.count - next.near;
  const auto take = [&](auto number) {
    next.count -= number.value;
    work(number, next.rows + next.count);
  };
  if (left <= 0) return work(Size<0>{}, nullptr);
  if (left <= chances) return take(Size<1>{});
  left <= 2 * chances || next.count < kBlock ? take(Size<2>{}) : take(Size<kBlock>{});
}

// Calls work(Size<number>) with the rows of a block. Wide ones that are nobody's cost more than a mispredicted branch.
template <bool InTurn, class Work>
inline void with_block(const Round& round, int b, Work work) {
  const int l = round.lane_of[b], left = round.lengths[l] - (round.begin_of[b] - l * round.apart);
  if (!InTurn || left >= kBlock) return work(Size<kBlock>{});
  with_size(left, [&](auto size) {
    if constexpr (size.value < kBlock) work(size);
  });
}

// The products of some blocks, and what these learn. `next` are rows to fetch on the way.
template <bool Half, bool InTurn>
inline void hs_blocks(const Task& task, Workspace& w, Sums& sums, int first, int n, Ahead next) {
  Round& round = w.round;
  const int length = task.architecture.row, begin = round.block_of[first], end = round.block_of[n];
  for (int b = begin; b < end; ++b) {
    const int at = round.begin_of[b];
    with_block<InTurn>(round, b, [&](auto size) {
      store_eight(round.products + at, dots<size.value, Half>(round.rows + at, round.seen[round.lane_of[b]], length));
    });
  }
  link_together<false>(task, round, sums, first, n);
  if (task.architecture.draw_errors) {
    for (int l = first; l < n; ++l) {
      const int at = l * round.apart;
      learn_drawn<Half>(task, round, l, gather_learners(round, round.rows + at, round.pulls + at, round.counts[l]),
                        next.rows + next.near, next.count > next.near ? next.count - next.near : 0);
    }
    return;
  }
  for (int b = begin; b < end; ++b) {
    const int at = round.begin_of[b], l = round.lane_of[b];
    with_block<InTurn>(round, b, [&](auto size) {
      fetch_some(next, end - b, [&](auto number, const float* const* ahead) {
        update<size.value, false, number.value>(round.rows + at, round.x[l], round.before[b], round.gradients[l], length,
                                                round.pulls + at, ahead);
      });
    });
  }
}

template <bool Half>
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
      hs_blocks<Half, true>(task, w, sums, l, l + 1, {round.lengths[l + 1], round.near[l + 1], round.rows + (l + 1) * round.apart});
    hs_blocks<Half, true>(task, w, sums, n - 1, n, round.ahead);
  } else {
    hs_blocks<Half, false>(task, w, sums, 0, n, {});
  }
  if (task.bias_column)
    for (int l = 0; l < n; ++l) round.gradients[l][task.architecture.width] = 0.0f;  // the 1 is no parameter
}
