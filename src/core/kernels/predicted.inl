// Which words of a document a dm model predicts. Included by the kernels and by inference.cpp, each for itself.

struct Range {
  int64_t begin, end;
};

[[maybe_unused]] inline Range predicted(const Architecture& a, int64_t n) {
  const int64_t reach = a.window - 1;
  if (a.pad_all || n == 0) return {0, n};
  if (!a.both) return {reach < n - 1 ? reach : n - 1, n};
  if (n > 2 * reach) return {reach, n - reach};
  return {n / 2, n / 2 + 1 < n ? n / 2 + 1 : n};
}
