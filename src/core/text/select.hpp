#pragma once

#include "ngrams.hpp"

namespace paravec {

// Every token t becomes ids[t], of which there are `known`, and is dropped where that is -1. Tokens of -1 are dropped, too.
TokenBlock select(const WordBlock& block, const int32_t* ids, int64_t known, int threads, const Interrupted& interrupted);

// The same, but nothing is dropped: out[i] is ids[tokens[i]], or -1.
void renumber(const int32_t* tokens, int64_t size, const int32_t* ids, int64_t known, int32_t* out, int threads,
              const Interrupted& interrupted);

// Arrays end to end.
std::unique_ptr<int32_t[]> join(const std::vector<std::pair<const int32_t*, size_t>>& parts, int threads, const Interrupted& interrupted);

}  // namespace paravec
