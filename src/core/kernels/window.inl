// The window of mean and sum.
//
// A word is copied when it enters the window to the left or to the right of the target, learns there, and is written back
// when it leaves. All words of a window move alike, by the gradients since they entered: x, the sum of the document and
// its words, and the path of the document (`history`, at each step) say where each of them is.

inline const float* history_at(const Task& task, const Lane& lane, int64_t step) {
  return lane.history + (step % task.architecture.window) * task.architecture.word_row;
}

inline float* place_of(const Task& task, const Lane& lane, int side, int64_t position) {
  const int64_t reach = task.architecture.window - 1;
  return lane.entered + (side * reach + (position + reach) % reach) * task.architecture.word_row;  // it may be before the first
}

inline bool in_document(const Lane& lane, int64_t position) { return position >= 0 && position < lane.count; }

inline void enter(const Task& task, Workspace& w, Lane& lane, int side, int64_t position) {
  if (!in_document(lane, position)) return;
  const int32_t word = lane.targets[position];
  const float* row = word_row(task, w, word);
  float* place = place_of(task, lane, side, position);
  for (int j = 0; j < task.architecture.word_row; j += kLanes) {
    const Vec v = load(row + j);
    store(place + j, v);
    store(lane.vector + j, load(lane.vector + j) + v);
  }
  ++lane.n_context;
  lane.n_moving += is_trainable(task, word);
}

// Its step of entry was the first one whose window it is in: `since`, or the document's first.
inline void leave(const Task& task, Workspace& w, Lane& lane, int side, int64_t position, int64_t since) {
  if (!in_document(lane, position)) return;
  const int32_t word = lane.targets[position];
  float* row = same_word_row(task, w, word);
  const float* place = place_of(task, lane, side, position);
  const float* now = history_at(task, lane, lane.at);
  const float* then = history_at(task, lane, since < lane.begin ? lane.begin : since);
  const bool moves = is_trainable(task, word);
  for (int j = 0; j < task.architecture.word_row; j += kLanes) {
    const Vec change = moves ? load(now + j) - load(then + j) : Vec{};
    if (moves) store(row + j, load(row + j) + change);
    store(lane.vector + j, load(lane.vector + j) - (load(place + j) + change));
  }
  --lane.n_context;
  lane.n_moving -= moves;
}

// What the step before lane.at has moved: everything alike.
inline void move_window(const Task& task, Lane& lane) {
  const float* before = history_at(task, lane, lane.at - 1);
  float* now = const_cast<float*>(history_at(task, lane, lane.at));
  const float times = static_cast<float>(1 + lane.n_moving);
  for (int j = 0; j < task.architecture.word_row; j += kLanes) {
    const Vec step = load(lane.gradient + j);
    store(now + j, load(before + j) + step);
    store(lane.vector + j, load(lane.vector + j) + times * step);
  }
}

// A word that leaves a window and the one that enters it, at the place of the former.
struct Change {
  float* old_row;
  const float* then;  // where the document was when the old word entered
  const float* new_row;
  float* place;
};

// Both are in the document, and the old one is trained.
inline bool is_plain(const Task& task, const Lane& lane, int64_t leaving, int64_t entering) {
  return in_document(lane, leaving) && in_document(lane, entering) && is_trainable(task, lane.targets[leaving]);
}

inline Change change_of(const Task& task, Workspace& w, Lane& lane, int side, int64_t leaving, int64_t entering, int64_t since) {
  const int32_t word = lane.targets[entering];
  lane.n_moving += is_trainable(task, word) - 1;
  return {same_word_row(task, w, lane.targets[leaving]), history_at(task, lane, since < lane.begin ? lane.begin : since),
          word_row(task, w, word), place_of(task, lane, side, entering)};
}

// What `move_window`, and `leave` and `enter` on all sides do, in one go.
template <int Sides>
inline void slide_at_once(const Task& task, Lane& lane, float times, const Change* changes) {
  const float* before = history_at(task, lane, lane.at - 1);
  float* now = const_cast<float*>(history_at(task, lane, lane.at));
  for (int j = 0; j < task.architecture.word_row; j += kLanes) {
    const Vec step = load(lane.gradient + j), at = load(before + j) + step;
    Vec total = load(lane.vector + j) + times * step;
    for (int s = 0; s < Sides; ++s) {
      const Vec moved = at - load(changes[s].then + j);
      store(changes[s].old_row + j, load(changes[s].old_row + j) + moved);
      total -= load(changes[s].place + j) + moved;
    }
    for (int s = 0; s < Sides; ++s) {
      const Vec entering = load(changes[s].new_row + j);
      store(changes[s].place + j, entering);
      total += entering;
    }
    store(lane.vector + j, total);
    store(now + j, at);
  }
}

// From the window of the step before to that of lane.at.
inline void slide(const Task& task, Workspace& w, Lane& lane) {
  const int64_t reach = task.architecture.window - 1, t = lane.at;
  const bool both = task.architecture.both;
  if (t == lane.begin) {
    for (int64_t i = 1; i <= reach; ++i) {
      enter(task, w, lane, 0, t - i);
      if (both) enter(task, w, lane, 1, t + i);
    }
    return;
  }
  const float times = static_cast<float>(1 + lane.n_moving);
  if (is_plain(task, lane, t - 1 - reach, t - 1) && (!both || is_plain(task, lane, t, t + reach))) {
    Change changes[2] = {change_of(task, w, lane, 0, t - 1 - reach, t - 1, t - reach)};
    if (!both) return slide_at_once<1>(task, lane, times, changes);
    changes[1] = change_of(task, w, lane, 1, t, t + reach, t - reach);
    return slide_at_once<2>(task, lane, times, changes);
  }
  move_window(task, lane);
  leave(task, w, lane, 0, t - 1 - reach, t - reach);
  if (both) leave(task, w, lane, 1, t, t - reach);
  enter(task, w, lane, 0, t - 1);
  if (both) enter(task, w, lane, 1, t + reach);
}

// All words leave; lane.at is behind the last step.
inline void empty_window(const Task& task, Workspace& w, Lane& lane) {
  const int64_t reach = task.architecture.window - 1, t = lane.at - 1;
  for (int64_t i = reach; i >= 1; --i) leave(task, w, lane, 0, t - i, t - i + 1);
  if (task.architecture.both)
    for (int64_t i = 1; i <= reach; ++i) leave(task, w, lane, 1, t + i, t + i - reach);
}
