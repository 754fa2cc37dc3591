// The steps of one document with everything but its vector frozen: inference and scores.

// Calls visit(t, noise) for every target that counts, with its context (dm) in w.context.
template <class Visit>
inline void each_target(const Task& task, Workspace& w, const Document& document, Visit visit) {
  const Architecture& a = task.architecture;
  const Range range = predicted(task, document.length);
  const int64_t count = count_of(range);
  for (int64_t first = 0; first < count && !stopped(task); first += kChunk) {
    const int64_t end = first + kChunk < count ? first + kChunk : count;
    if (a.output == Output::Negative)
      noise_words(task, document.draw_key, range.begin + first * range.step, range.step, end - first, w.noise);
    for (int64_t i = first; i < end && !(a.output == Output::Softmax && stopped(task)); ++i) {
      const int64_t t = range.begin + i * range.step;
      if (a.dm) fill_context(task, document.tokens, document.length, t, w.context);
      visit(t, w.noise + (i - first) * a.negative);
    }
  }
}

// The gradient of the objective goes to w.document_gradient, its value to w.tally.
void gradient(const Task& task, Workspace& w, const Document& document) {
  const Architecture& a = task.architecture;
  each_target(task, w, document, [&](int64_t t, const int32_t* noise) {
    if (a.output == Output::Softmax) {
      add_to_batch(task, w, {document.row, document.tokens[t], false, document.rate}, w.context);
    } else {
      if (a.dm) fill_input(task, w, w.document, w.context, false, w.h);
      predict(task, w, a.dm ? w.h : w.document, document.tokens[t], noise);
      spread(task, w, w.document, w.context, false, w.gradient);
    }
  });
  flush(task, w);
}
