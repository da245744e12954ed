/* mbarrier objects: emu/mbarrier.c; asynchronous copies tell them of their bytes.
 *
 * An object is 64 bits of shared memory, opaque to programs. Ours:
 *
 *     bits  0..19  arrivals that the present phase still waits for         bits 40..60  bytes that it still waits for, two's complement
 *     bits 20..39  arrivals that each later phase waits for                bits 61..62  number of the phase, modulo 4      bit 63  initialised
 *
 * A phase is complete when both counts are zero; then the next one begins with the arrivals of bits 20..39. The state that
 * mbarrier.arrive answers is the object as it was before the arrival. A block runs on one host thread, and so does a cluster: no host atomics. */
#ifndef HEDDLE_EMU_MBARRIER_H
#define HEDDLE_EMU_MBARRIER_H
#include "emu/engine.h"

enum { MBARRIER_COUNT_BITS = 20, MBARRIER_MOST = (1 << MBARRIER_COUNT_BITS) - 1 /* arrivals, and bytes either way */ };

/* What happens to the object at `at`, in this order, as one step: tx is added to its bytes, arrivals are taken off, as many of them as `drops` off the
 * later phases too. quiet: the phase must not complete. Waits that are over end. NULL, or why it cannot be. */
const char *mbarrier_update(struct ctx *c, char *at, int64_t tx, uint32_t arrivals, uint32_t drops, bool quiet);

/* cp.async.mbarrier.arrive: the copies of this thread are complete already, so it arrives now; without noinc it adds itself to the pending count first. */
const char *mbarrier_arrive_for_copies(struct ctx *c, char *at, bool noinc);

/* Faults: why is from mbarrier_update. Returns NULL. */
const struct insn *mbarrier_fault(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lane, const char *why);

/* The object in a few words, for reports. */
void mbarrier_describe(const char *at, char *buf, size_t n);

/* Waits that do not succeed put their split aside (SPLIT_MBARRIER) until the phase completes. They fail, as the ISA lets them, when they had to wait for
 * many turns of the other warps, or when nothing else in the block can run. */
void mbarrier_turn(struct emu_cta *cta, struct ctx *c);          /* once a turn of all warps: lets the oldest fail */
bool mbarrier_fail_all(struct emu_cta *cta, struct ctx *c);      /* false: there are none, or they failed so often with nothing done in between that this is a deadlock */
/* Lanes may wait at record `in`, whose objects are inside the block's shared memory: for whoever restores a wait. */
bool mbarrier_may_wait(const struct emu_cta *cta, const struct insn *in, const char *frame, uint32_t mask);
void mbarrier_explain(const struct emu_cta *cta, const struct insn *in, const char *frame, uint32_t mask, char *buf, size_t n);

#endif
