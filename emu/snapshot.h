/* The exact state of blocks that have started: saved as bytes, and restored into another worker, grid or process, where they go on as if nothing had happened.
 *
 * Saved: control flow (splits, joins, calls), registers, predicates, carry, local and shared memory, barriers of block and cluster, waits at mbarriers, and whose turn
 * it is. Not saved, because it is not a block's: device memory, the launch, counters. Records are named by function and number, so the kernel must be decoded
 * to the same records: same module, same emu_image_late and emu_image_tune. Policy, GPU and level of vector instructions may differ.
 *
 * Bytes from anywhere are safe to restore: what is inconsistent is refused with a message. */
#ifndef HEDDLE_EMU_SNAPSHOT_H
#define HEDDLE_EMU_SNAPSHOT_H
#include "emu/emu.h"
#include "runtime/base/bytes.h"

/* A block or cluster that is on w: between calls of emu_cta_run, emu_warp_step or emu_warp_issue; what is pending is saved apart, below. Also a faulted one. On
 * failure (no memory, the sink's own) to->failed is set. The block itself goes on as before. */
void emu_cta_save(const struct emu_cta *cta, const struct emu_worker *w, struct sink *to);
/* As emu_cta_start, but the block is where the saved one was. smid: UINT32_MAX: of the saved one. */
enum status emu_cta_restore(struct emu_cta **out, struct emu_grid *g, struct emu_worker *w, uint32_t smid, struct source *from, struct error *err) MUST_CHECK;
/* Number of the block or cluster as emu_cta_start has it. */
uint64_t emu_cta_number(const struct emu_cta *cta);

/* Lanes of an access that emu_warp_issue left pending, after the block whose it is; restored into that block, or cluster, after it. A restored access may be performed
 * once. Saving fails for an access of lanes that have exited inside a function, whose registers are gone. */
void emu_pending_save(const struct emu_pending *p, uint32_t lanes, struct sink *to);
bool emu_pending_restore(struct emu_pending *out, struct emu_cta *cta, struct source *from);       /* false: from failed, or its bytes make no sense */

/* What %clock of the worker has besides its counts: saved when its blocks are, restored after emu_grid_set_clock. */
void emu_worker_save(const struct emu_worker *w, struct sink *to);
bool emu_worker_restore(struct emu_worker *w, struct source *from);    /* false: from failed */

/* Memory of a watched range counts as written by kernels, as it did in the process that was saved (emu_space_written). */
void emu_space_mark_written(struct emu_space *s, uint64_t lo, uint64_t hi);

#endif
