/* Which of the three compilations of emu/isa_*.c runs on this host. */
#ifndef HEDDLE_EMU_ISA_H
#define HEDDLE_EMU_ISA_H

#include <stdbool.h>

enum { ISA_BASE, ISA_AVX2, ISA_AVX512, ISA_COUNT };

/* The best that the CPU and the system have, or the lesser one that HEDDLE_ISA=base|avx2|avx512 asks for. */
int isa_level(void);                           /* 0 baseline, 1 AVX2, 2 AVX-512; the same for the life of the process. emu/isa.c */
bool isa_usable(int level);

#endif
