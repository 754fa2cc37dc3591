// Documents in training, side by side: which targets, which contexts, in which order. engines/steps.py and engines/side_by_side.py are the definition.

// --- A document's targets ---

// Shuffles things[0, count) as paravec/draws.py does.
template <class T>
inline void shuffle(Key key, uint64_t document, int64_t count, T* things) {
  for (int64_t first = (count - 1) / 64 * 64; first >= 0; first -= 64) {
    uint32_t numbers[64];
    one_each(key, document, first, numbers);
    for (int64_t i = first + 63 < count ? first + 63 : count - 1; i >= first && i > 0; --i) {
      const int64_t j = below(numbers[i - first], i + 1);
      const T other = things[j];
      things[j] = things[i];
      things[i] = other;
    }
  }
}

// What sub-sampling leaves of a document: written to `kept`, or the document itself if it leaves all. Returns how many.
inline int64_t keep_some(const Task& task, const Document& document, int32_t* kept) {
  int64_t count = 0;
  for (int64_t first = 0; first < document.length; first += 64) {
    uint32_t numbers[64];
    one_each(task.sample, document.draw_key, first, numbers);
    for (int64_t i = first; i < document.length && i < first + 64; ++i) {
      kept[count] = document.tokens[i];
      count += numbers[i - first] <= task.tables.keep[document.tokens[i]];
    }
  }
  return count;
}

// --- A lane: a document on its way through its steps ---

inline bool has_window(const Architecture& a) { return a.dm && a.combine != Combine::Concat; }
inline bool has_strip(const Architecture& a) { return a.dm && a.combine == Combine::Concat; }

// Puts a document into a lane; its targets take places from w.kept + place on. False if it has no step.
inline bool open(const Task& task, Workspace& w, Lane& lane, const Document& document, int64_t place) {
  const Architecture& a = task.architecture;
  lane.document = document;
  lane.targets = document.tokens;
  lane.count = document.length;
  if (task.tables.keep) {
    lane.targets = w.kept + place;
    lane.count = keep_some(task, document, w.kept + place);
  }
  const Range range = predicted(task, lane.count);
  lane.at = lane.begin = range.begin;
  lane.end = range.end;
  lane.slot = a.slots;  // no skip-gram steps under way
  if (lane.begin >= lane.end) return false;
  if (a.train_words) {
    lane.order = w.order + place;
    lane.words = w.words + place;
    lane.ranks = w.ranks + place;
    lane.n_words = 0;
    for (int64_t t = 0; t < lane.count; ++t) {
      lane.order[t] = t;
      lane.ranks[t] = lane.n_words;
      lane.words[lane.n_words] = lane.targets[t];
      lane.n_words += lane.targets[t] < task.tables.n_words;
    }
    shuffle(task.target_order, document.draw_key, lane.count, lane.order);
  } else if (!a.dm) {
    if (!task.tables.keep)
      for (int64_t t = 0; t < lane.count; ++t) w.kept[place + t] = document.tokens[t];
    lane.targets = w.kept + place;
    shuffle(task.target_order, document.draw_key, lane.count, w.kept + place);
  }
  if (a.output == Output::Softmax) return true;  // whose documents stay at home
  if (has_strip(a)) {
    begin_strip(task, lane);
    return true;
  }
  const float* from = row_of(task.parameters.documents, document.row);
  for (int j = 0; j < a.vector_size; ++j) lane.vector[j] = from[j];
  if (has_window(a)) {
    float* start = const_cast<float*>(history_at(task, lane, lane.at));
    for (int j = 0; j < a.word_row; ++j) start[j] = 0.0f;
    lane.n_context = lane.n_moving = 0;
  }
  return true;
}

inline void close(const Task& task, Workspace& w, Lane& lane) {
  const Architecture& a = task.architecture;
  if (a.output == Output::Softmax) return;
  if (has_strip(a)) return close_strip(task, w, lane);
  float* to = row_of(task.parameters.documents, lane.document.row);
  if (!has_window(a)) {
    for (int j = 0; j < a.vector_size; ++j) to[j] = lane.vector[j];
    return;
  }
  move_window(task, lane);
  const float* moved = history_at(task, lane, lane.at);
  for (int j = 0; j < a.vector_size; ++j) to[j] += moved[j];
  empty_window(task, w, lane);
}

inline int32_t target_of(const Lane& lane) { return lane.targets[lane.order ? lane.order[lane.at] : lane.at]; }

// The context words of a step (dm) or those that predict its target too (skip-gram) go to lane.context.
inline void find_context(const Task& task, Lane& lane) {
  if (lane.order) {
    fill_context(task, lane.words, lane.n_words, lane.ranks[lane.order[lane.at]], lane.context);
  } else {
    fill_context(task, lane.targets, lane.count, lane.at, lane.context);
  }
}

// To the next step. False if the document has none left.
inline bool advance(const Task& task, Lane& lane) {
  const Architecture& a = task.architecture;
  if (a.train_words) {
    const int32_t null = static_cast<int32_t>(task.tables.n_words);
    if (lane.slot == a.slots && target_of(lane) < null) {  // the document has predicted a word, now the words around it do
      find_context(task, lane);
      lane.slot = -1;
    }
    if (lane.slot < a.slots) {
      while (++lane.slot < a.slots)
        if (lane.context[lane.slot] != null) return true;
    }
  }
  return ++lane.at < lane.end;
}

inline bool by_word(const Task& task, const Lane& lane) { return lane.slot < task.architecture.slots; }

// As fill_row, and nothing behind the n-th changes.
inline void add_row(float* to, const float* from, int n) {
  int j = 0;
  for (; j + kLanes <= n; j += kLanes) store(to + j, load(to + j) + load(from + j));
  if (j < n) store(to + j, load(to + j) + (load_integers(kPlaces) < n - j ? load(from + j) : Vec{}));
}

inline void teach_word(const Task& task, Workspace& w, int32_t word, const float* gradient) {
  if (is_trainable(task, word)) add_row(same_word_row(task, w, word), gradient, task.architecture.word_size);
}

// What predicts the target of a lane's step: sets x and scale.
inline void prepare(const Task& task, Workspace& w, Lane& lane) {
  const Architecture& a = task.architecture;
  lane.scale = 1.0f;
  lane.x = lane.vector;
  if (by_word(task, lane)) {
    lane.x = word_row(task, w, lane.context[lane.slot]);
    if (task.bias_column) {
      for (int j = 0; j < a.word_size; ++j) lane.h[j] = lane.x[j];
      lane.x = lane.h;
    }
  } else if (has_window(a)) {
    slide(task, w, lane);
    if (a.combine == Combine::Mean) lane.scale = 1.0f / static_cast<float>(1 + lane.n_context);
  } else if (has_strip(a)) {
    slide_strip(task, w, lane);
    end_strip(task, lane);
    lane.x = lane.strip;
  }
  if (task.bias_column) const_cast<float*>(lane.x)[a.width] = 1.0f / lane.scale;
}

// The gradient of a lane's step handed on.
inline void learn(const Task& task, Workspace& w, Lane& lane) {
  const Architecture& a = task.architecture;
  if (by_word(task, lane)) {
    teach_word(task, w, lane.context[lane.slot], lane.gradient);
  } else if (!has_window(a)) {  // whose words move when it slides
    add_row(has_strip(a) ? lane.strip : lane.vector, lane.gradient, a.width);
  }
}

// --- Rounds ---

// Fetches what a lane's step will need of U and W, and for the steps behind it of the tables that say where that is.
inline void look_ahead(const Task& task, Workspace& w, const Lane& lane, int64_t step, int place) {
  const Tables& tables = task.tables;
  const int64_t left = lane.end - step;
  if (place == 0) w.round.ahead.count = 0;
  if (left < 1 || by_word(task, lane)) return;
  const auto target = [&](int64_t ahead) { return lane.targets[lane.order ? lane.order[step + ahead] : step + ahead]; };
  if (task.architecture.dm) {  // the word that enters the window
    const int64_t entering = step + (task.architecture.both ? task.architecture.window : 0);
    if (entering < lane.count) prefetch_row(task.parameters.words, w.words_copied, lane.targets[entering], task.architecture.word_row);
  }
  if (in_tiles(task)) {
    w.round.next_own[place] = seen_output(task, w, target(0));
    return;
  }
  if (task.architecture.output == Output::Negative) return prefetch_output(task, w, target(0));
  if (in_turn(task)) {
    if (place == 0) look_at_path(task, w, target(0));
  } else {
    for (int64_t i = tables.path_offsets[target(0) + 1] - 1; i >= tables.path_offsets[target(0)]; --i) {
      if (is_near(task, tables.paths[i] >> 1)) break;  // and so are those above it
      prefetch_output(task, w, tables.paths[i] >> 1);
    }
  }
  if (left < 2) return;
  const int64_t first = tables.path_offsets[target(1)];
  __builtin_prefetch(tables.paths + first);
  __builtin_prefetch(tables.paths + first + kAlignment / 4);
  if (left < 3) return;
  __builtin_prefetch(tables.path_offsets + target(2));
}

// One step of each of n lanes: from what predicts as it is now, U learns step by step, and in the end what predicts.
inline void learn_together(const Task& task, Workspace& w, Sums& sums, Lane* const* lanes, int n) {
  const Architecture& a = task.architecture;
  Round& round = w.round;
  w.tally.targets += n;
  for (int l = 0; l < n; ++l) {
    Lane& lane = *lanes[l];
    prepare(task, w, lane);
    round.x[l] = lane.x;
    round.gradients[l] = lane.gradient;
    round.targets[l] = target_of(lane);
    round.rates[l] = lane.document.rate;
    round.scales[l] = lane.scale;
    if (a.draw_errors) draw_chances(task, lane, most_rows(task, round.targets[l]), round.chances + l * round.apart);
    round.seen[l] = a.half ? round.packed[l] : lane.x;
    if (a.half) round.dither[l] = dither_of(w, lane);
    if (a.draw_errors) {
      const float length = a.half ? pack(lane.x, a.row, round.packed[l]) : squared_length(lane.x, a.row);
      round.least[l] = least_error(lane.document.rate, lane.scale * lane.scale * length);
    }
  }
  if (a.output == Output::Hs) {
    a.half ? hs_together<true>(task, w, sums, n) : hs_together<false>(task, w, sums, n);
  } else if (a.half) {
    negative_together<false, true>(task, w, sums, n);
  } else {
    a.cosine ? negative_together<true, false>(task, w, sums, n) : negative_together<false, false>(task, w, sums, n);
  }
  if (a.draw_errors && has_strip(a)) return;  // has learned already
  for (int l = 0; l < n; ++l) learn(task, w, *lanes[l]);
}
