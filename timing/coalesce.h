/* What a warp's memory instruction becomes: accesses to segments of memory, or cycles of shared-memory banks. Pure functions. */
#ifndef HEDDLE_TIMING_COALESCE_H
#define HEDDLE_TIMING_COALESCE_H
#include "timing/cache.h"

enum { WARP_LANES = 32, MAX_ACCESSES = 2 * WARP_LANES * 2 };

struct lanes {                                 /* one warp instruction's accesses */
    const uint64_t *address;                   /* [32] */
    uint32_t mask;
    uint32_t bytes;                            /* per lane: 1 2 4 8 16 32 */
};

struct access {
    uint64_t address;                          /* of the segment */
    uint32_t bytes;                            /* 32, 64 or 128 */
    uint32_t lanes;
    struct line_mask touched;                  /* bytes, within the 128-byte line */
};

struct coalescer {                             /* -gpgpu_coalesce_arch and what belongs to it */
    uint32_t arch;                             /* 13, 20.., 40 and later: sectors */
    uint32_t warp_parts;                       /* sub-warps coalesced by themselves: 1 or 2 */
};

/* Whether accesses are sectors of 32 bytes. bypass: the instruction skips the first-level cache. */
bool coalesce_by_sectors(const struct coalescer *c, bool bypass);
/* Accesses in ascending order of their first lane, at most MAX_ACCESSES. Returns their number. */
uint32_t coalesce(const struct coalescer *c, const struct lanes *in, bool sectors, struct access *out);
/* As coalesce, for atomics: lanes that touch the same bytes go into accesses of their own, so that each serialises. */
uint32_t coalesce_atomic(const struct coalescer *c, const struct lanes *in, bool sectors, struct access *out);

/* Cycles that shared memory of `banks` banks (1 to 128; 32 for a first-level cache's data) needs: over phases of as many lanes as a row of the banks feeds (32 banks: 32
 * lanes up to 4 bytes, 16 of 8, 8 of 16), the most distinct 4-byte words in one bank. 0 when no lane is active. */
uint32_t bank_cycles(const struct lanes *in, uint32_t banks);
uint32_t bank_cycles_of_one(const struct lanes *in, uint32_t banks);     /* where only one word of a phase is broadcast (smem.one_broadcast) */
uint32_t atomic_bank_cycles(const struct lanes *in, uint32_t banks);     /* as many at least as lanes that share a word */

/* The "wavefront" throughput rule of a first-level cache hit (reference data: A100, A40, H200 lane strides): cycles in quarters, at least 4. port_bytes: what
 * it returns a cycle. */
uint32_t wavefront_quarter_cycles(const struct lanes *in, uint32_t port_bytes);

#endif
