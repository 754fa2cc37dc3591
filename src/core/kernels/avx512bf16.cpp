#define PARAVEC_ISA avx512bf16
#define PARAVEC_ISA_NAME "avx512bf16"
#define PARAVEC_VECTOR_BYTES 64
#include "kernels/all.inl"
