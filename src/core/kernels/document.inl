// The steps of a document: which targets, which contexts, in which order. engines/reference.py is the definition.

// h from a document vector and its context; for skip-gram the word's own vector.
inline void fill_input(const Task& task, const float* document, const int32_t* context, bool word, float* h) {
  const Architecture& a = task.architecture;
  const Matrix& words = task.parameters.words;
  const int p = a.vector_size, q = a.word_size;
  if (word) document = row_of(words, context[0]);
  for (int j = 0; j < p; ++j) h[j] = document[j];
  if (word || !a.dm) return;
  if (a.combine == Combine::Concat) {
    for (int s = 0; s < a.slots; ++s) {
      const float* from = row_of(words, context[s]);
      float* to = h + p + s * q;
      for (int j = 0; j < q; ++j) to[j] = from[j];
    }
    return;
  }
  int share = 1;
  for (int s = 0; s < a.slots; ++s) {
    if (context[s] == task.tables.n_words) continue;
    const float* from = row_of(words, context[s]);
    for (int j = 0; j < q; ++j) h[j] += from[j];
    ++share;
  }
  if (a.combine == Combine::Mean) {
    const float inverse = 1.0f / static_cast<float>(share);
    for (int j = 0; j < p; ++j) h[j] *= inverse;
  }
}

inline void add(float* to, const float* from, int n, float scale) {
  for (int j = 0; j < n; ++j) to[j] += scale * from[j];
}

inline float share_of(const Task& task, const int32_t* context) {
  const Architecture& a = task.architecture;
  if (!a.dm || a.combine != Combine::Mean) return 1.0f;
  int share = 1;
  for (int s = 0; s < a.slots; ++s) share += context[s] != task.tables.n_words;
  return 1.0f / static_cast<float>(share);
}

inline void add_to_word(const Task& task, int32_t word, const float* gradient, float scale) {
  if (task.parameters.trainable && !task.parameters.trainable[word]) return;
  add(row_of(task.parameters.words, word), gradient, task.architecture.word_size, scale);
}

// The gradient with respect to h, handed on to the document and to its context words.
inline void spread(const Task& task, Workspace& w, float* document, const int32_t* context, bool word, const float* gradient) {
  const Architecture& a = task.architecture;
  if (word) {
    if (!task.frozen) add_to_word(task, context[0], gradient, 1.0f);
    return;
  }
  const float share = share_of(task, context);
  if (task.frozen) {
    for (int j = 0; j < a.vector_size; ++j) w.document_gradient[j] += share * gradient[j];
    return;
  }
  add(document, gradient, a.vector_size, share);
  if (!a.dm) return;
  for (int s = 0; s < a.slots; ++s) {
    if (a.combine == Combine::Concat) {
      add_to_word(task, context[s], gradient + a.vector_size + s * a.word_size, 1.0f);
    } else if (context[s] != task.tables.n_words) {
      add_to_word(task, context[s], gradient, share);
    }
  }
}

void flush(const Task& task, Workspace& w) {
  if (!w.filled) return;
  const Architecture& a = task.architecture;
  for (int b = 0; b < w.filled; ++b) {
    const Item& item = w.items[b];
    const float* d = task.frozen ? w.document : row_of(task.parameters.documents, item.document);
    fill_input(task, d, w.contexts + static_cast<int64_t>(b) * a.slots, item.word, w.inputs + static_cast<int64_t>(b) * a.row);
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

// One target: at once, or put into the softmax batch.
inline void step(const Task& task, Workspace& w, const Document& document, int32_t target, const int32_t* context, bool word,
                 const int32_t* noise) {
  const Architecture& a = task.architecture;
  if (a.output == Output::Softmax) {
    w.items[w.filled] = {document.row, target, word, document.rate};
    int32_t* to = w.contexts + static_cast<int64_t>(w.filled) * a.slots;
    const int n = word ? 1 : a.dm ? a.slots : 0;
    for (int s = 0; s < n; ++s) to[s] = context[s];
    if (++w.filled == a.batch_size) flush(task, w);
    return;
  }
  const float* h = w.document;
  if (word) {
    h = row_of(task.parameters.words, context[0]);
  } else if (a.dm) {
    fill_input(task, w.document, context, false, w.h);
    h = w.h;
  }
  predict(task, w, h, target, noise, document.rate);
  spread(task, w, w.document, context, word, w.gradient);
}

struct Kept {
  const int32_t* targets;
  const int64_t* positions;  // null: all, in place
  int64_t count;
};

inline int64_t position_of(const Kept& kept, int64_t t) { return kept.positions ? kept.positions[t] : t; }

inline Kept keep_some(const Task& task, Workspace& w, const Document& document) {
  if (task.frozen || !task.tables.keep) return {document.tokens, nullptr, document.length};
  int64_t count = 0;
  for (int64_t first = 0; first < document.length; first += 64) {
    uint32_t numbers[64];
    one_each(task.sample, document.draw_key, first, numbers);
    for (int64_t i = first; i < document.length && i < first + 64; ++i) {
      w.kept[count] = document.tokens[i];
      w.positions[count] = i;
      count += numbers[i - first] <= task.tables.keep[document.tokens[i]];
    }
  }
  return {w.kept, w.positions, count};
}

// The order in which dbow visits its targets: at random, or those that count as they come. Returns how many.
inline int64_t order_targets(const Task& task, Workspace& w, const Document& document, const Kept& kept) {
  const Range range = predicted(task, kept.count);
  const int64_t count = count_of(range);
  for (int64_t i = 0; i < count; ++i) w.order[i] = range.begin + i * range.step;
  if (task.frozen) return count;
  for (int64_t first = (count - 1) / 64 * 64; first >= 0; first -= 64) {
    uint32_t numbers[64];
    one_each(task.target_order, document.draw_key, first, numbers);
    for (int64_t i = first + 63 < count ? first + 63 : count - 1; i >= first && i > 0; --i) {
      const int64_t j = below(numbers[i - first], i + 1);
      const int64_t other = w.order[j];
      w.order[j] = w.order[i];
      w.order[i] = other;
    }
  }
  return count;
}

inline void fill_context(const Task& task, const int32_t* words, int64_t count, int64_t t, int32_t* context) {
  const Architecture& a = task.architecture;
  const int reach = a.window - 1;
  const int32_t null = static_cast<int32_t>(task.tables.n_words);
  for (int s = 0; s < a.slots; ++s) {
    const int64_t at = s < reach ? t - reach + s : t + 1 + s - reach;
    context[s] = at >= 0 && at < count ? words[at] : null;
  }
}

inline bool stopped(const Task& task) { return __atomic_load_n(task.stop, __ATOMIC_RELAXED); }

// The skip-gram steps beside the target t: each word around it predicts it.
inline void train_words_around(const Task& task, Workspace& w, const Document& document, const Kept& kept, int64_t t,
                               int64_t n_words) {
  const Architecture& a = task.architecture;
  const int32_t null = static_cast<int32_t>(task.tables.n_words);
  fill_context(task, w.words, n_words, w.ranks[t], w.context);
  int32_t* noise = w.noise + static_cast<int64_t>(kChunk) * a.negative;
  if (a.output == Output::Negative) {
    const int64_t at = position_of(kept, t);
    draw_noise(task, document.draw_key, a.slots, [=](int64_t) { return at; }, [](int64_t s) { return s + 1; }, noise);
  }
  for (int s = 0; s < a.slots && !stopped(task); ++s)
    if (w.context[s] != null) step(task, w, document, kept.targets[t], w.context + s, true, noise + static_cast<int64_t>(s) * a.negative);
}

inline void train_dbow(const Task& task, Workspace& w, const Document& document, const Kept& kept) {
  const Architecture& a = task.architecture;
  const bool with_words = a.train_words && !task.frozen;
  const bool slow = with_words || a.output == Output::Softmax;  // a target takes long enough to look at the stop flag
  const int64_t count = order_targets(task, w, document, kept);
  int64_t n_words = 0;
  if (with_words)
    for (int64_t t = 0; t < kept.count; ++t) {
      w.ranks[t] = n_words;
      w.words[n_words] = kept.targets[t];
      n_words += kept.targets[t] < task.tables.n_words;
    }
  for (int64_t first = 0; first < count && !stopped(task); first += kChunk) {
    const int64_t end = first + kChunk < count ? first + kChunk : count;
    if (a.output == Output::Negative)
      draw_noise(task, document.draw_key, end - first, [&](int64_t i) { return position_of(kept, w.order[first + i]); },
                 [](int64_t) { return int64_t{0}; }, w.noise);
    for (int64_t i = first; i < end && !(slow && stopped(task)); ++i) {
      const int64_t t = w.order[i];
      const int32_t* noise = w.noise + (i - first) * a.negative;
      if (i + 1 < end && a.output != Output::Softmax) prefetch_target(task, kept.targets[w.order[i + 1]], noise + a.negative);
      step(task, w, document, kept.targets[t], nullptr, false, noise);
      if (with_words && kept.targets[t] < task.tables.n_words) train_words_around(task, w, document, kept, t, n_words);
    }
  }
}

// Calls visit(t, noise) for every predicted word that counts, with its context in w.context.
template <class Visit>
inline void each_dm_target(const Task& task, Workspace& w, const Document& document, const Kept& kept, Visit visit) {
  const Architecture& a = task.architecture;
  const Range range = predicted(task, kept.count);
  const int64_t count = count_of(range);
  const auto target = [&](int64_t i) { return range.begin + i * range.step; };
  for (int64_t first = 0; first < count && !stopped(task); first += kChunk) {
    const int64_t end = first + kChunk < count ? first + kChunk : count;
    if (a.output == Output::Negative)
      draw_noise(task, document.draw_key, end - first, [&](int64_t i) { return position_of(kept, target(first + i)); },
                 [](int64_t) { return int64_t{0}; }, w.noise);
    for (int64_t i = first; i < end && !(a.output == Output::Softmax && stopped(task)); ++i) {
      const int64_t t = target(i);
      const int32_t* noise = w.noise + (i - first) * a.negative;
      if (i + 1 < end && a.output != Output::Softmax) prefetch_target(task, kept.targets[target(i + 1)], noise + a.negative);
      fill_context(task, kept.targets, kept.count, t, w.context);
      visit(t, noise);
    }
  }
}

void train(const Task& task, Workspace& w, const Document& document) {
  const Architecture& a = task.architecture;
  const bool own = !task.frozen && a.output != Output::Softmax;  // d stays with this thread while its document is trained
  const Kept kept = keep_some(task, w, document);
  if (own) {
    const float* from = row_of(task.parameters.documents, document.row);
    for (int j = 0; j < a.vector_size; ++j) w.document[j] = from[j];
  }
  if (a.dm) {
    each_dm_target(task, w, document, kept, [&](int64_t t, const int32_t* noise) {
      step(task, w, document, kept.targets[t], w.context, false, noise);
    });
  } else {
    train_dbow(task, w, document, kept);
  }
  if (own) {
    float* to = row_of(task.parameters.documents, document.row);
    for (int j = 0; j < a.vector_size; ++j) to[j] = w.document[j];
  }
}
