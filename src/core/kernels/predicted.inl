// Which targets of a document are predicted, and count. Included by the kernels and by inference.cpp, each for itself.

struct Range {  // begin, begin + step, ... below end
  int64_t begin, end, step;
};

[[maybe_unused]] inline int64_t count_of(const Range& range) {
  return range.begin < range.end ? (range.end - range.begin + range.step - 1) / range.step : 0;
}

// Those of [begin, end) that are of a part.
inline Range part_of(Part part, int64_t begin, int64_t end) {
  if (part == Part::All) return {begin, end, 1};
  const int64_t first = part == Part::Odd;
  return {begin + (begin + first) % 2, end, 2};
}

[[maybe_unused]] inline Range predicted(const Task& task, int64_t n) {
  const Architecture& a = task.architecture;
  const int64_t reach = a.window - 1;
  if (!a.dm || a.pad_all || n == 0) return part_of(task.part, 0, n);
  if (!a.both) return part_of(task.part, reach < n - 1 ? reach : n - 1, n);
  if (n > 2 * reach) return part_of(task.part, reach, n - reach);
  return part_of(task.part, n / 2, n / 2 + 1 < n ? n / 2 + 1 : n);
}
