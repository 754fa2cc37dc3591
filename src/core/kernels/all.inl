// The kernels, compiled once an instruction set: the including file defines PARAVEC_ISA (a namespace) and
// PARAVEC_VECTOR_BYTES. Nothing here may use the standard library: its templates would be shared between the sets.
#include "kernels/kernels.hpp"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace paravec::PARAVEC_ISA {
namespace {

#include "kernels/vector.inl"
#include "kernels/draws.inl"
#include "kernels/predicted.inl"
#include "kernels/spans.inl"
#include "kernels/products.inl"
#include "kernels/copies.inl"
#include "kernels/errors.inl"
#include "kernels/together.inl"
#include "kernels/negative.inl"
#include "kernels/hs.inl"
#include "kernels/input.inl"
#include "kernels/softmax.inl"
#include "kernels/window.inl"
#include "kernels/strip.inl"
#include "kernels/lanes.inl"
#include "kernels/ways.inl"
#include "kernels/train.inl"
#include "kernels/rows.inl"
#include "kernels/frozen.inl"
#include "kernels/inference.inl"

}  // namespace

extern const Kernels kernels = {
    PARAVEC_ISA_NAME, train, flush, gradient, occurrences, noise_words, uniform, dots_many, weighted_sum, logistic, exponentials,
    {difference<false>, add_part_of<false>, merge<false>}, {difference<true>, add_part_of<true>, merge<true>}, pack, unpack};

}  // namespace paravec::PARAVEC_ISA
