// The rows of U and W, or a thread's copies of them.

inline float* copied(const Matrix& shared, Copies& copies, int64_t id, int64_t times) {
  int32_t place = copies.places[id];
  if (place < 0) {
    place = copies.places[id] = static_cast<int32_t>(copies.count++);
    copies.ids[place] = static_cast<int32_t>(id);
    copies.visits[place] = 0;
    const float* from = row_of(shared, id);
    float* to = copies.rows + place * shared.stride;
    for (int64_t j = 0; j < shared.stride; j += kLanes) store(to + j, load(from + j));
  }
  copies.visits[place] += times;
  return copies.rows + place * shared.stride;
}

inline float* row_or_copy(const Matrix& shared, Copies& copies, int64_t id, int64_t times) {
  if (copies.places) return copied(shared, copies, id, times);
  const bool mine = id < copies.count;  // no branch: nobody could predict it
  copies.visits[mine ? id : copies.count] += times;
  return (mine ? copies.rows : shared.data) + id * shared.stride;
}

inline float* output_row(const Task& task, Workspace& w, int64_t id, int64_t times = 1) {
  return row_or_copy(task.parameters.outputs, w.outputs, id, times);
}

inline float* word_row(const Task& task, Workspace& w, int64_t id) {
  return row_or_copy(task.parameters.words, w.words_copied, id, 1);
}

// The same row again, to write what was learned: not another visit.
inline float* same_word_row(const Task& task, const Workspace& w, int64_t id) {
  const Copies& copies = w.words_copied;
  if (copies.places) return copies.rows + copies.places[id] * task.parameters.words.stride;
  return id < copies.count ? copies.rows + id * task.parameters.words.stride : row_of(task.parameters.words, id);
}

inline void prefetch(const float* row, int length) {
  for (int j = 0; j < length && j < kPrefetched; j += kAlignment / 4) __builtin_prefetch(row + j, 1);
}

// Whether a row is busy enough to be in a near cache anyway.
inline bool is_near(const Task& task, int64_t id) { return id * task.parameters.outputs.stride < kNear; }

// Where a row is now, without a visit.
inline const float* seen(const Matrix& shared, const Copies& copies, int64_t id) {
  if (!copies.places) return (id < copies.count ? copies.rows : shared.data) + id * shared.stride;
  const int32_t place = copies.places[id];
  return place < 0 ? row_of(shared, id) : copies.rows + place * shared.stride;
}

inline void prefetch_row(const Matrix& shared, const Copies& copies, int64_t id, int length) {
  prefetch(seen(shared, copies, id), length);
}

// The same, but for rows that need not be fetched.
inline const float* seen_output(const Task& task, const Workspace& w, int64_t id) {
  return is_near(task, id) ? w.round.zeros : seen(task.parameters.outputs, w.outputs, id);
}

inline void prefetch_output(const Task& task, const Workspace& w, int64_t id) {
  if (!is_near(task, id)) prefetch_row(task.parameters.outputs, w.outputs, id, static_cast<int>(task.parameters.outputs.stride));
}
