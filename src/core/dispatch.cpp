#include "dispatch.hpp"

#include <stdexcept>

#include "kernels/kernels.hpp"

namespace paravec {
namespace {

std::vector<const Kernels*> usable() {
  std::vector<const Kernels*> found;
#ifdef PARAVEC_X86
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  if (avx2 && avx512 && __builtin_cpu_supports("avx512bf16")) found.push_back(&avx512bf16::kernels);
  if (avx2 && avx512) found.push_back(&avx512::kernels);
  if (avx2) found.push_back(&avx2::kernels);
#endif
  found.push_back(&portable::kernels);
  return found;
}

}  // namespace

std::vector<std::string> available_kernels() {
  std::vector<std::string> names;
  for (const Kernels* kernels : usable()) names.emplace_back(kernels->name);
  return names;
}

const Kernels& kernels_named(const std::string& name) {
  for (const Kernels* kernels : usable())
    if (name.empty() || name == kernels->name) return *kernels;
  throw std::invalid_argument("this processor has no instruction set '" + name + "'");
}

}  // namespace paravec
