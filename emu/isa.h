/* Which of the three compilations of emu/isa_*.c runs on this host. */
#ifndef HEDDLE_EMU_ISA_H
#define HEDDLE_EMU_ISA_H

int isa_level(void);                           /* 0 baseline, 1 AVX2, 2 AVX-512; the same for the life of the process. emu/isa.c */

#endif
