// The window of concat.
//
// h = (document, words to the left, words to the right) lies in a strip of memory and moves along it by a word a step: the
// words in between stay where they are. As in the window of mean and sum, a word is copied when it enters the window to the
// left or to the right of the target, learns there, and what it learned is added to W when it leaves. engines/side_by_side.py
// is the definition.

// Numbers are copied in whole vectors: `from` and `to` have room behind the n-th.
inline void fill_row(float* to, const float* from, int n) {
  for (int j = 0; j < n; j += kLanes) store(to + j, load(from + j));
}

// Exactly n numbers.
inline void copy_numbers(float* to, const float* from, int n) {
  int j = 0;
  for (; j + kLanes <= n; j += kLanes) store(to + j, load(from + j));
  for (; j < n; ++j) to[j] = from[j];
}

inline int32_t word_at(const Task& task, const Lane& lane, int64_t position) {
  return in_document(lane, position) ? lane.targets[position] : static_cast<int32_t>(task.tables.n_words);
}

// Where a word of the left (0) or the right (1) side is in h.
inline float* slot_at(const Task& task, const Lane& lane, int side, int64_t position) {
  const Architecture& a = task.architecture;
  const int64_t reach = a.window - 1, slot = side ? reach + position - lane.strip_step - 1 : position - lane.strip_step + reach;
  return lane.strip + a.vector_size + slot * a.word_size;
}

inline void enter_strip(const Task& task, Workspace& w, Lane& lane, int side, int64_t position) {
  const float* row = word_row(task, w, word_at(task, lane, position));
  fill_row(place_of(task, lane, side, position), row, task.architecture.word_row);
  copy_numbers(slot_at(task, lane, side, position), row, task.architecture.word_size);
}

inline void leave_strip(const Task& task, Workspace& w, const Lane& lane, int side, int64_t position) {
  const int32_t word = word_at(task, lane, position);
  if (!is_trainable(task, word)) return;
  const int n = task.architecture.word_size;
  float* row = same_word_row(task, w, word);
  const float *now = slot_at(task, lane, side, position), *then = place_of(task, lane, side, position);
  int j = 0;
  for (; j + kLanes <= n; j += kLanes) store(row + j, load(row + j) + (load(now + j) - load(then + j)));
  for (; j < n; ++j) row[j] += now[j] - then[j];
}

// Words that are frozen have learned with all others: they are again what they were.
inline void hold_frozen(const Task& task, const Lane& lane) {
  const Architecture& a = task.architecture;
  const int64_t reach = a.window - 1;
  for (int side = 0; side <= a.both; ++side)
    for (int64_t i = 1; i <= reach; ++i) {
      const int64_t position = side ? lane.strip_step + i : lane.strip_step - i;
      if (!is_trainable(task, word_at(task, lane, position)))
        copy_numbers(slot_at(task, lane, side, position), place_of(task, lane, side, position), a.word_size);
    }
}

inline void begin_strip(const Task& task, Lane& lane) {
  lane.strip = lane.h;
  lane.strip_step = lane.begin;
  copy_numbers(lane.strip, row_of(task.parameters.documents, lane.document.row), task.architecture.vector_size);
}

// To the window of lane.at: the first one, or from that of the step before.
inline void slide_strip(const Task& task, Workspace& w, Lane& lane) {
  const Architecture& a = task.architecture;
  const int64_t reach = a.window - 1, t = lane.at;
  if (t == lane.begin) {
    for (int64_t i = reach; i >= 1; --i) enter_strip(task, w, lane, 0, t - i);
    if (a.both)
      for (int64_t i = 1; i <= reach; ++i) enter_strip(task, w, lane, 1, t + i);
    return;
  }
  if (task.parameters.trainable) hold_frozen(task, lane);
  leave_strip(task, w, lane, 0, t - 1 - reach);
  if (a.both) leave_strip(task, w, lane, 1, t);
  copy_numbers(lane.vector, lane.strip, a.vector_size);
  if ((t - lane.begin) % kStripSteps == 0) {  // the copy goes down, and never over what it has yet to read
    copy_numbers(lane.h + a.vector_size, lane.strip + a.vector_size + a.word_size, (a.slots - 1) * a.word_size);
    lane.strip = lane.h;
  } else {
    lane.strip += a.word_size;
  }
  lane.strip_step = t;
  copy_numbers(lane.strip, lane.vector, a.vector_size);
  enter_strip(task, w, lane, 0, t - 1);
  if (a.both) enter_strip(task, w, lane, 1, t + reach);
}

// Behind h there are zeros.
inline void end_strip(const Task& task, const Lane& lane) {
  const Architecture& a = task.architecture;
  for (int j = a.width; j < a.row; j += kLanes) store(lane.strip + j, Vec{});
}

// All words leave, and the document goes home.
inline void close_strip(const Task& task, Workspace& w, Lane& lane) {
  const Architecture& a = task.architecture;
  const int64_t t = lane.strip_step;
  copy_numbers(row_of(task.parameters.documents, lane.document.row), lane.strip, a.vector_size);
  for (int64_t i = a.window - 1; i >= 1; --i) leave_strip(task, w, lane, 0, t - i);
  if (a.both)
    for (int64_t i = 1; i < a.window; ++i) leave_strip(task, w, lane, 1, t + i);
}
