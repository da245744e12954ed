/* wgmma: the product of four warps. Each warp computes its own 16 rows when it comes to the instruction, at once: a program may not look at the registers, nor
 * overwrite the shared memory, before wgmma.wait_group, so that it cannot tell. fence, commit_group and wait_group are nothing.
 *
 * Matrices in shared memory are described by 64 bits: start, leading and stride byte offset (each / 16, 14 bits, at 0, 16 and 32), base offset (3 bits at 49)
 * and swizzle (2 bits at 62: none, 128, 64, 32 bytes). Pieces of 16 bytes, where r is a row of A or a column of B, k counts along the sum:
 *
 *   k-major    none        start + r / 8 * stride + r % 8 * 16 + piece * leading
 *              swizzled s  start + r / 8 * stride + r % 8 * s + piece * 16
 *   m/n-major  none        start + r / 8 * stride + k / 8 * leading + k % 8 * 16          (16-bit elements; eight r a piece)
 *              swizzled s  start + r / 8 % (s / 16) * 16 + r / (s / 2) * leading + k / 8 * stride + k % 8 * s
 *
 * then bits 4.. of the address are xored with bits 7.. (as many as pieces in s take). */
#ifndef HEDDLE_EMU_WGMMA_H
#define HEDDLE_EMU_WGMMA_H
#include "emu/mma.h"

struct wgmma {
    struct mma mma;                            /* m = 16: what one warp computes; first, as emu/whole.h wants it */
    bool a_in_memory, a_turned, b_turned;      /* turned: m- or n-major */
    uint32_t a_desc, b_desc;                   /* rows of descriptors */
    uint32_t scale_d, scale_d_flip;            /* mask: false = the accumulators start from zero */
};
const struct insn *run_wgmma(const struct insn *in, struct warp *w, struct ctx *c);

#endif
