/* Records and warps: what a lane handler sees. Everything else of the engine is in engine.h; this header is apart, and includes nothing of ours, because
 * the many files of handlers take long to compile. */
#ifndef HEDDLE_EMU_RECORD_H
#define HEDDLE_EMU_RECORD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WARP_SIZE = 32 };
#define FULL_MASK 0xffffffffu

struct insn;
struct warp;
struct ctx;
typedef const struct insn *(*handler)(const struct insn *in, struct warp *w, struct ctx *c);

struct insn {                                  /* one record: a cache line */
    handler full, masked;
    uint32_t d, a, b, c;                       /* byte offsets of rows (or masks) in the frame */
    uint32_t guard;                            /* byte offset of the guard mask; FRAME_TRUE when unguarded */
    uint32_t guard_flip;                       /* 0, or ~0 for @!p */
    uint64_t imm;                              /* the handler's own: address offset, immediate, packed small fields, index of an aux table */
    uint32_t target;                           /* record index of a branch target; otherwise the handler's own */
    uint32_t ptx;                              /* index of the PTX instruction in the function */
    uint16_t site;                             /* memory: index of the worker's range cache entry */
    uint16_t charge;                           /* control records: PTX instructions since the last control record, this one included;
                                                  memory records: offset / 64 of the address's struct mem_shape, 0 = none */
    uint32_t extra;                            /* the handler's own */
};
_Static_assert(sizeof(struct insn) <= 72, "records should stay near a cache line");

enum { FRAME_TRUE = 0 };                       /* offset of the always-true mask: the first word of every frame */

enum warp_state {
    WARP_RUN,          /* go on with w->next under w->mask (the mask may have changed) */
    WARP_SWITCH,       /* the running split stopped: pick another */
    WARP_DONE, WARP_FAULT, WARP_YIELD };

struct warp {
    char *frame;                               /* of the running split's current function; 64-byte aligned */
    uint32_t mask;                             /* lanes of the running split */
    const struct insn *next;                   /* where it goes on when no handler holds it */
    enum warp_state state;
    const struct code *code;
    uint32_t exited;                           /* lanes that are gone for good (lanes that never existed included) */
    uint32_t number;                           /* in the CTA */
    struct emu_cta *cta;
    uint32_t carry;                            /* CC.CF, a lane mask */
    char *local;                               /* local memory of lane 0; lane l at + l * local_stride */
    uint32_t local_stride;                     /* bytes per lane */
    uint32_t local_sp;                         /* where the current activation's local memory starts */
    const struct insn *join_at;                /* the marker at which the running split arrives in its join, or NULL */
    struct warp_flow *flow;                    /* splits, joins, call stack: emu/flow.c */
};

static inline void *row(const struct warp *w, uint32_t off) { return w->frame + off; }
static inline uint32_t mask_at(const struct warp *w, uint32_t off) { return *(const uint32_t *)(const void *)(w->frame + off); }
static inline unsigned mask_count(uint32_t m)
{
    if (m == FULL_MASK) return WARP_SIZE;      /* nearly always; and the baseline host has no instruction for it */
    m -= m >> 1 & 0x55555555u;
    m = (m & 0x33333333u) + (m >> 2 & 0x33333333u);
    return ((m + (m >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}
/* Lanes for which a record executes. */
static inline uint32_t insn_mask(const struct insn *in, const struct warp *w) { return w->mask & (mask_at(w, in->guard) ^ in->guard_flip); }


#endif
