// Tables over the vocabulary that take too long in Python: the Huffman tree and the alias table of noise words.
#pragma once

#include <cstdint>
#include <vector>

namespace paravec {

struct HuffmanPaths {
  std::vector<int64_t> offsets;
  std::vector<int32_t> nodes;
  std::vector<uint8_t> codes;
};

// The way from the root to every leaf of the Huffman tree over counts, which may come in any order. Inner nodes are numbered
// from the root.
HuffmanPaths huffman(const int64_t* counts, int64_t leaves);

struct AliasTable {
  std::vector<uint32_t> threshold;
  std::vector<int32_t> alias;
};

// Walker's table for drawing i with probability proportional to weights[i].
AliasTable alias_table(const double* weights, int64_t count);

}  // namespace paravec
