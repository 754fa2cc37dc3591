#pragma once

#include <cstddef>
#include <cstdint>

namespace paravec {

// FNV-1a of 64 bits. It is written to files, so it stays what it is; the tables of words have a quicker one.
inline uint64_t fnv1a(const uint8_t* bytes, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

}  // namespace paravec
