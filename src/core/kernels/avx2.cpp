#define PARAVEC_ISA avx2
#define PARAVEC_ISA_NAME "avx2"
#define PARAVEC_VECTOR_BYTES 32
#include "kernels/all.inl"
