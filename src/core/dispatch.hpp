#pragma once

#include <string>
#include <vector>

#include "types.hpp"

namespace paravec {

// The instruction sets this processor has, the best first.
std::vector<std::string> available_kernels();

// The kernels of a set, or the best ones for an empty name.
const Kernels& kernels_named(const std::string& name);

}  // namespace paravec
