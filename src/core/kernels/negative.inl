// Negative sampling: the noise words are those of the round, and each document has its target besides.

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
      round.places[i] = k;
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
  if (!task.architecture.draw_errors) return;
  float* chances = round.chances + at;  // in the order of places, of which the last is the target's
  const float of_target = chances[task.architecture.negative];
  for (int k = 0; k < round.n_common; ++k) chances[k] = round.words[k] == target ? of_target : chances[round.places[k]];
  chances[round.n_common] = of_target;
}

// Whether the products of several documents are found together, and the rows of the next round fetched meanwhile.
inline bool in_tiles(const Task& task) {
  const Architecture& a = task.architecture;
  return a.output == Output::Negative && !a.cosine && a.negative < kGroup - 1 && a.row >= kWide;
}

template <bool Cosine, bool Half>
inline void negative_together(const Task& task, Workspace& w, Sums& sums, int n) {
  Round& round = w.round;
  const int length = task.architecture.row, n_common = round.n_common;
  measure_inputs<Cosine>(task, round, n);
  for (int l = 0; l < n; ++l) collect_targets(task, w, l);
  constexpr int kTile = kLanes == 16 ? 4 : 2;  // as many as there are registers for
  int l = 0;
  if (in_tiles(task))
    for (; l + kTile <= n; l += kTile)
      with_size(n_common, [&](auto size) {
        if constexpr (size.value < kGroup - 1)
          products_of_tile<size.value, kTile, Half>(round.common, round.rows + l, round.seen + l, length, round.apart,
                                              round.products + l * round.apart, round.next, round.next_own + l);
      });
  for (; l < n; ++l) {
    round.common[n_common] = round.rows[l];
    products<Cosine, Half>(round.common, n_common + 1, round.seen[l], length, round.products + l * round.apart, round.norms + l * round.apart);
  }
  link_together<Cosine, Half>(task, round, sums, 0, n);
  if (!Cosine && task.architecture.draw_errors) {
    for (l = 0; l < n; ++l) {
      round.common[n_common] = round.rows[l];
      learn_drawn<Half>(task, round, l, gather_learners(round, round.common, round.pulls + l * round.apart, n_common + 1));
    }
    return;
  }
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
