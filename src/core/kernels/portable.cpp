#define PARAVEC_ISA portable
#define PARAVEC_ISA_NAME "portable"
#define PARAVEC_VECTOR_BYTES 16
#include "kernels/all.inl"
