/* wmma.load and wmma.store: a fragment between memory and registers. The registers are those of emu/mma.h; where PTX has more of them than the matrix
 * needs (f16), the others repeat the first ones, and only the first ones count. */
#ifndef HEDDLE_EMU_WMMA_H
#define HEDDLE_EMU_WMMA_H
#include "emu/mem.h"
#include "emu/mma.h"

enum wmma_role { WMMA_A, WMMA_B, WMMA_C };

/* One instruction. The record's imm points at it; a = address row, b = range cache, extra = MEM_* fields. All lanes name the same address: the first one's counts. */
struct wmma {
    handler run;                               /* see emu/whole.h */
    int64_t offset;
    uint32_t stride;                           /* row of leading dimensions, in elements; 0 = as wide as the matrix */
    uint8_t elem, role;                        /* enum mma_elem, enum wmma_role */
    bool store, turned;                        /* turned: lines in memory run across k (A, B) or along m (C) */
    uint8_t m, n; uint16_t k;
    uint32_t n_regs, n_needed;
    uint32_t *regs;
};
const struct insn *run_wmma(const struct insn *in, struct warp *w, struct ctx *c);

#endif
