#pragma once

#include <cstdint>
#include <vector>

#include "types.hpp"

namespace paravec {

// The key of one stream of draws; paravec/draws.py is its definition.
Key stream(uint64_t seed, Purpose purpose, uint32_t epoch, bool dm);

// The numbers below `count` in random order, as paravec/draws.py shuffles the targets of a document.
std::vector<int32_t> shuffled(Key key, uint64_t document, int32_t count);

// The order in which an epoch visits its documents: sorted by a number drawn for each.
void document_order(uint64_t seed, uint32_t epoch, bool dm, int64_t* order, int64_t count);

}  // namespace paravec
