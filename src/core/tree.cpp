#include "tree.hpp"

#include <algorithm>
#include <numeric>

namespace paravec {

HuffmanPaths huffman(const int64_t* counts, int64_t leaves) {
  // Leaves from the most frequent to the rarest, equals as they came; sorted already in most vocabularies.
  std::vector<int64_t> order(static_cast<size_t>(leaves));
  std::iota(order.begin(), order.end(), 0);
  const auto more = [counts](int64_t x, int64_t y) { return counts[x] > counts[y]; };
  if (!std::is_sorted(order.begin(), order.end(), more)) std::stable_sort(order.begin(), order.end(), more);

  // Joins the two rarest trees until one is left; two queues, both sorted, make it linear.
  const int64_t nodes = 2 * leaves - 1, root = nodes - 1;
  std::vector<int64_t> weight(static_cast<size_t>(nodes)), parent(static_cast<size_t>(nodes));
  std::vector<uint8_t> code(static_cast<size_t>(nodes));
  for (int64_t i = 0; i < leaves; ++i) weight[i] = counts[order[i]];
  int64_t leaf = leaves - 1, inner = leaves;
  for (int64_t fresh = leaves; fresh < nodes; ++fresh)
    for (uint8_t bit = 0; bit < 2; ++bit) {
      const bool take_leaf = leaf >= 0 && (inner == fresh || weight[leaf] <= weight[inner]);
      const int64_t rarest = take_leaf ? leaf-- : inner++;
      parent[rarest] = fresh;
      code[rarest] = bit;
      weight[fresh] += weight[rarest];
    }

  std::vector<int32_t> depth(static_cast<size_t>(nodes));
  for (int64_t node = root - 1; node >= 0; --node) depth[node] = depth[parent[node]] + 1;
  HuffmanPaths paths;
  paths.offsets.assign(static_cast<size_t>(leaves) + 1, 0);
  for (int64_t i = 0; i < leaves; ++i) paths.offsets[order[i] + 1] = depth[i];
  std::partial_sum(paths.offsets.begin(), paths.offsets.end(), paths.offsets.begin());
  paths.nodes.resize(static_cast<size_t>(paths.offsets.back()));
  paths.codes.resize(static_cast<size_t>(paths.offsets.back()));
  for (int64_t i = 0; i < leaves; ++i) {
    int64_t place = paths.offsets[order[i] + 1];
    for (int64_t node = i; node != root; node = parent[node]) {
      --place;
      paths.nodes[place] = static_cast<int32_t>(root - parent[node]);
      paths.codes[place] = code[node];
    }
  }
  return paths;
}

AliasTable alias_table(const double* weights, int64_t count) {
  const double total = std::accumulate(weights, weights + count, 0.0);
  std::vector<double> share(static_cast<size_t>(count));
  std::vector<int32_t> poor, rich;
  AliasTable table;
  table.alias.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    share[i] = weights[i] / total * static_cast<double>(count);
    table.alias[i] = static_cast<int32_t>(i);
    (share[i] < 1.0 ? poor : rich).push_back(static_cast<int32_t>(i));
  }
  while (!poor.empty() && !rich.empty()) {
    const int32_t taker = poor.back(), giver = rich.back();
    poor.pop_back();
    table.alias[taker] = giver;
    share[giver] -= 1.0 - share[taker];
    if (share[giver] < 1.0) {
      rich.pop_back();
      poor.push_back(giver);
    }
  }
  for (const int32_t i : poor) share[i] = 1.0;  // what rounding left over
  for (const int32_t i : rich) share[i] = 1.0;
  table.threshold.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    table.threshold[i] = static_cast<uint32_t>(std::min(share[i] * 4294967296.0, 4294967295.0));
  return table;
}

}  // namespace paravec
