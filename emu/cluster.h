/* Clusters: blocks that run together and see each other's shared memory. A block outside any cluster is one of its own, of rank 0.
 *
 * All blocks of a cluster belong to one worker, which runs them in turns; what they do to each other needs no host atomics and comes out the same
 * in every run. To the engine's user a cluster is one struct emu_cta, that of rank 0, which stands for all of them.
 *
 * A shared address has 32 bits; the low 24 are an offset in a block's shared memory, the high 8 say whose:
 *     0          the block's own, whatever its rank: what symbols and cvta give, so that the fast handlers never look at ranks
 *     1 .. 15    the block of that rank
 *     16         the block of rank 0, as others name it
 * A generic address of shared memory is EMU_SHARED_WINDOW + (rank << 24) + offset, the same for all. */
#ifndef HEDDLE_EMU_CLUSTER_H
#define HEDDLE_EMU_CLUSTER_H
#include "emu/engine.h"

enum { CLUSTER_MAX = 16, CLUSTER_SHIFT = 24, CLUSTER_RANK_0 = 16 /* in the high byte */, CLUSTER_NOBODY = 255 };
#define CLUSTER_MASK ((1u << CLUSTER_SHIFT) - 1)

struct cluster {
    uint32_t n;                                /* blocks */
    uint32_t next;                             /* whose turn it is */
    uint32_t arrived;                          /* threads at the cluster's barrier in this phase */
    uint32_t done;                             /* a bit for each block that has ended */
    struct emu_cta *cta[CLUSTER_MAX];          /* by rank */
    struct cluster_lanes { uint32_t pending /* arrived in this phase */, passed /* in one that is complete, and have not waited */; } lanes[CLUSTER_MAX][WARP_SIZE];
};

/* ---- addresses: inlined into lane loops ---- */

static inline uint64_t cluster_generic(uint32_t rank, uint32_t offset) { return EMU_SHARED_WINDOW + ((uint64_t)rank << CLUSTER_SHIFT) + offset; }

/* Whose the address is, as seen by the block of rank `own`. Ranks that no cluster has come out as they are. */
static inline uint32_t cluster_rank_of(uint32_t address, uint32_t own)
{
    uint32_t high = address >> CLUSTER_SHIFT;
    return high == 0 ? own : high == CLUSTER_RANK_0 ? 0 : high;
}

/* The shared address of an offset in the block of a rank, as the block of rank `own` says it. */
static inline uint32_t cluster_address(uint32_t rank, uint32_t offset, uint32_t own)
{
    uint32_t high = rank == own ? 0 : rank == 0 ? CLUSTER_RANK_0 : rank < CLUSTER_MAX ? rank : CLUSTER_NOBODY;
    return high << CLUSTER_SHIFT | (offset & CLUSTER_MASK);
}

static inline uint32_t cluster_of_generic(uint64_t generic, uint32_t own)
{
    return cluster_address((uint32_t)generic >> CLUSTER_SHIFT, (uint32_t)generic, own);
}

/* Where the bytes of a shared address are. */
struct cluster_place {
    struct emu_cta *cta;                       /* whose shared memory it is; NULL: nobody's */
    uint32_t rank, offset;
    enum status status; char why[112];         /* when there are no such bytes */
};
/* The one translation of shared addresses: NULL when block `self` cannot access `bytes` there; then status and why are set. Any alignment. */
char *cluster_at(struct emu_cta *self, uint32_t address, uint32_t bytes, struct cluster_place *out);
/* True when p points into the shared memory of a block of self's cluster. */
bool cluster_has(const struct emu_cta *self, const char *p);

/* mapa, getctarank: rows a (address), d; b: row of ranks; extra: bytes of an address (of the operands, not of the result of getctarank); imm: 1 = the address (mapa: the result) is
 * generic. */
const struct insn *cluster_mapa(const struct insn *in, struct warp *w, struct ctx *c);
const struct insn *cluster_rank(const struct insn *in, struct warp *w, struct ctx *c);

/* ---- running: called by cta.c ---- */

/* Starts all blocks of cluster number `index`; *out is the block of rank 0. */
enum status cluster_start(struct emu_cta **out, struct emu_grid *g, struct emu_worker *w, uint64_t index, uint32_t smid, struct error *err);
/* As emu_cta_run, for all of them in turns. */
enum emu_result cluster_run(struct cluster *k, struct emu_worker *w, int64_t quantum);

#endif
