/* Which sectors of memory a functional run touched last, so that a resume on the simulated GPU begins with them in L2 (setting `warm`).
 *
 * Grids then run on one worker, an instruction at a time, since the run loop does not tell addresses: some ten times as slowly. The last WARM_SECTORS are kept, more than any
 * L2 holds. They are put there in the order of their last use, as read; which of them were dirty, and what first-level caches held, is not known. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_WARM_H
#define HEDDLE_RUNTIME_CHECKPOINT_WARM_H
#include "runtime/checkpoint/file.h"
#include "runtime/dispatch.h"

bool warm_on(void);                            /* this run notes them */
void warm_note(const struct emu_event *e);     /* worker 0 */
void warm_save(struct hck_writer *w);          /* nothing where nothing was noted */
/* Into the simulated GPUs, which have just been made; nothing where the file has none. */
enum status warm_restore(struct hck_reader *r, struct error *err) MUST_CHECK;

#endif
