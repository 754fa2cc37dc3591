// Errors that are drawn.
//
// The error of a logit is 1 - p where a row should say 1, and -p where it should say 0. Drawn, one that is small is rounded at
// random, to 0 or to a size that is worth the work: the same in the mean, but most rows of a step need not learn at all.
// engines/steps.py is the definition.

// NaN stays NaN.
inline Vec drawn(Vec error, Vec chance, Vec least) {
  const Vec size = error < 0.0f ? -error : error;
  const Vec full = error < 0.0f ? -least : least;
  return size < least ? (chance * least < size ? full : Vec{}) : error;
}

// What errors of a step are rounded to, where h has this squared length.
inline float least_error(float rate, float length) {
  const float farthest = rate * length;
  if (!(farthest > kFarthest)) return 1.0f;
  return kFarthest > kLeastError * farthest ? kFarthest / farthest : kLeastError;
}

// The numbers of four steps of a document, the t-th one among them, for places [first, first + kCounters) of their lists.
inline void number_places(const Task& task, uint64_t document, int64_t t, int first, uint32_t* out) {
  Counters c;
  for (int i = 0; i < kCounters; ++i) set_counter(c, i, document, static_cast<uint64_t>(t) / 4, static_cast<uint32_t>(first + i));
  philox(c, task.errors);
  const uint32_t* of_steps[4] = {c.c0, c.c1, c.c2, c.c3};
  for (int step = 0; step < 4; ++step)
    for (int i = 0; i < kCounters; ++i) out[step * kCounters + i] = of_steps[step][i];
}

// How many rows a target needs at most.
inline int most_rows(const Task& task, int32_t target) {
  if (task.architecture.output == Output::Negative) return task.architecture.negative + 1;
  return static_cast<int>(task.tables.path_offsets[target + 1] - task.tables.path_offsets[target]);
}

// What the errors of a step are measured by: numbers in [0, 1), one a row of its list.
inline void draw_chances(const Task& task, const Lane& lane, int count, float* out) {
  uint32_t more[4 * kCounters];
  for (int first = 0; first < count; first += kCounters) {
    uint32_t* numbers = first ? more : lane.numbers;
    if (first || lane.at % 4 == 0 || lane.at == lane.begin) number_places(task, lane.document.draw_key, lane.at, first, numbers);
    const uint32_t* mine = numbers + lane.at % 4 * kCounters;
    for (int i = 0; i < kCounters; ++i) out[first + i] = static_cast<float>(mine[i] >> 8) * 0x1p-24f;
  }
}

// Where the numbers begin that the rows of a lane's step are rounded by: low bits, which chances leave.
inline const uint32_t* dither_of(const Workspace& w, const Lane& lane) {
  return w.dither + lane.numbers[lane.at % 4 * kCounters] % kDitherPhases * kRowMultiple;
}

// Those rows of a list that learn, and their pulls, are put together. Returns how many.
inline int gather_learners(Round& round, float* const* rows, const float* pulls, int count) {
  int n = 0;
  for (int i = 0; i < count; ++i) {
    round.learners[n] = rows[i];
    round.learned[n] = pulls[i];
    n += pulls[i] != 0.0f;
  }
  return n;
}

// They learn from a document, and it from them: at once, if its x is all that there is of it. `next` are rows that another
// document needs, fetched now, since products of this one waited for its own.
template <bool Half>
inline void learn_drawn(const Task& task, Round& round, int l, int n, const float* const* next = nullptr, int n_next = 0) {
  const int length = task.architecture.row;
  float* gradient = round.gradients[l];
  const float* x = round.x[l];
  const bool at_once = task.architecture.combine == Combine::Concat;
  if (n == 0 && !at_once)
    for (int j = 0; j < length; j += kLanes) store(gradient + j, Vec{});
  for (int done = 0; done < n; done += kGroup)
    with_size(n - done, [&](auto size) {
      const float* before = done ? gradient : round.zeros;
      const auto work = [&](auto learn, float* to) {
        update<size.value, Half, kAsTold, learn.value>(round.learners + done, x, before, to, length, round.learned + done, next,
                                                       Half ? round.dither[l] + done * kRowMultiple : nullptr, done ? 0 : n_next);
      };
      at_once && n - done <= kGroup ? work(Size<true>{}, const_cast<float*>(x)) : work(Size<false>{}, gradient);
    });
}
