// What predicts a target: h from a document and its context, and its gradient handed on to them.

// h from a document vector and its context; for skip-gram the word's own vector.
inline void fill_input(const Task& task, Workspace& w, const float* document, const int32_t* context, bool word, float* h) {
  const Architecture& a = task.architecture;
  const int p = a.vector_size, q = a.word_size;
  if (word) document = word_row(task, w, context[0]);
  for (int j = 0; j < p; ++j) h[j] = document[j];
  if (word || !a.dm) return;
  if (a.combine == Combine::Concat) {
    for (int s = 0; s < a.slots; ++s) {
      const float* from = word_row(task, w, context[s]);
      float* to = h + p + s * q;
      for (int j = 0; j < q; ++j) to[j] = from[j];
    }
    return;
  }
  int share = 1;
  for (int s = 0; s < a.slots; ++s) {
    if (context[s] == task.tables.n_words) continue;
    const float* from = word_row(task, w, context[s]);
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

inline bool is_trainable(const Task& task, int32_t word) { return !task.parameters.trainable || task.parameters.trainable[word]; }

inline void add_to_word(const Task& task, Workspace& w, int32_t word, const float* gradient, float scale) {
  if (is_trainable(task, word)) add(same_word_row(task, w, word), gradient, task.architecture.word_size, scale);
}

// The gradient with respect to h, handed on to the document and to its context words.
inline void spread(const Task& task, Workspace& w, float* document, const int32_t* context, bool word, const float* gradient) {
  const Architecture& a = task.architecture;
  if (word) {
    if (!task.frozen) add_to_word(task, w, context[0], gradient, 1.0f);
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
      add_to_word(task, w, context[s], gradient + a.vector_size + s * a.word_size, 1.0f);
    } else if (context[s] != task.tables.n_words) {
      add_to_word(task, w, context[s], gradient, share);
    }
  }
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
