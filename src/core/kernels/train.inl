// A run of documents: the kernel of training.

// Trains on some documents, a step of each of w.n_lanes a round. The draws of a round are keyed by the first document.
void train(const Task& task, Workspace& w, const Document* documents, int64_t count) {
  const Architecture& a = task.architecture;
  if (a.by_ways) return train_by_ways(task, w, documents, count);
  int64_t next = 0, place = 0;
  Sums sums;
  for (int l = 0; l < w.n_lanes; ++l) w.lanes[l].active = false;
  for (int64_t number = 0;; ++number) {
    const int32_t* noise = w.noise + (number % kChunk) * a.negative;
    if (a.output == Output::Softmax && stopped(task)) break;  // whose steps take long
    if (number % kChunk == 0) {
      if (stopped(task)) break;
      if (a.output == Output::Negative)
        draw_noise(task, documents[0].draw_key, kChunk, [=](int64_t i) { return number + i; }, [](int64_t) { return int64_t{0}; },
                   w.noise);
    }
    int n = 0;
    for (int l = 0; l < w.n_lanes; ++l) {
      Lane& lane = w.lanes[l];
      while (!lane.active && next < count) {
        lane.active = open(task, w, lane, documents[next], place);
        place += documents[next++].length;
      }
      if (lane.active) w.active[n++] = &lane;
    }
    if (n == 0) break;
    if (a.output == Output::Softmax) {
      Lane& lane = *w.active[0];
      const bool word = by_word(task, lane);
      if (a.dm) find_context(task, lane);
      add_to_batch(task, w, {lane.document.row, target_of(lane), word, lane.document.rate}, lane.context + (word ? lane.slot : 0));
    } else {
      if (a.output == Output::Negative) {
        collect_noise(task, w, noise);
        const int32_t* next = (number + 1) % kChunk ? noise + a.negative : noise;
        for (int k = 0; k < a.negative; ++k) {
          if (in_tiles(task))
            w.round.next[k] = seen_output(task, w, next[k]);
          else
            prefetch_output(task, w, next[k]);
        }
      }
      for (int l = 0; l < n; l += kTogether) {
        const int end = l + kTogether < n ? l + kTogether : n;
        if (in_tiles(task))
          for (int k = 0; k < kTogether; ++k) w.round.next_own[k] = w.round.zeros;
        if (end < n) {
          for (int k = end; k < n && k < end + kTogether; ++k) look_ahead(task, w, *w.active[k], w.active[k]->at, k - end);
        } else {
          for (int k = 0; k < n && k < kTogether; ++k) look_ahead(task, w, *w.active[k], w.active[k]->at + 1, k);
        }
        learn_together(task, w, sums, w.active + l, end - l);
      }
    }
    for (int l = 0; l < n; ++l) {
      Lane& lane = *w.active[l];
      if (advance(task, lane)) continue;
      close(task, w, lane);
      lane.active = false;
    }
  }
  sums.add_to(w.tally);
}
