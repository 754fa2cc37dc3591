#pragma once

#include "types.hpp"

namespace paravec {
namespace portable { extern const Kernels kernels; }
namespace avx2 { extern const Kernels kernels; }
namespace avx512 { extern const Kernels kernels; }
namespace avx512bf16 { extern const Kernels kernels; }
}  // namespace paravec
