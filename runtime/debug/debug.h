/* The debugger inside the library, as the rest of runtime/ sees it. The protocol is PROTOCOL.md, the state shared by its files debug/state.h.
 *
 * Somebody is attached when HEDDLE_DEBUG_FD named a socket at the first CUDA call; debug_on() says so, and nothing else here may be called otherwise.
 * Calls come from the thread that executes operations, unless said otherwise; they return when the debugger lets the program go on. */
#ifndef HEDDLE_RUNTIME_DEBUG_H
#define HEDDLE_RUNTIME_DEBUG_H
#include "runtime/internal.h"

extern atomic_bool debug_attached;
static inline bool debug_on(void) { return atomic_load_explicit(&debug_attached, memory_order_relaxed); }

void debug_start(void);                                 /* at the start of the runtime: looks for a debugger, and waits for its first word */
void debug_exit(void);                                  /* the process ends; any thread */

void debug_module(struct rt_module *m);                 /* made, none of its kernels decoded yet. Under the.code; any thread */
void debug_module_gone(const struct rt_module *m);      /* under the.code; any thread */

/* Running grids. grid_id as in struct emu_launch; worker: that will run it, NULL on the simulated GPU. */
void debug_launch(struct op *op, uint64_t grid_id, struct emu_worker *worker);
bool debug_turn(struct op *op, bool may_share);         /* before it runs on. True: its blocks may run on all threads this time, if may_share (apart.c) */
bool debug_pauses(void);                                /* such a turn is to end soon: blocks are kept for the next; any thread */
bool debug_fault_apart(struct op *op);                  /* in such a turn a block has failed. True: the grid begins anew, nothing has happened; any thread */
void debug_finished(struct op *op);                     /* before its grid is freed */
const struct emu_hook *debug_hook(bool apart);          /* for workers; apart: in such a turn */
/* A block cannot go on: status and report say why. cta: of the block or its cluster; may be NULL. False: the error does not count, the grid begins anew. */
bool debug_fault(struct emu_cta *cta, const struct emu_fault *f);
/* Behind a turn. True: another one, at once: the grid was put back to an earlier moment, or is on its way from there. ended: it has done everything. */
bool debug_goes_on(struct op *op, bool ended);
uint64_t debug_boundary(struct op *op);                 /* worker 0, between turns of blocks. Its count of warp instructions from when on it is to be asked again */
void debug_host_wrote(void);                             /* a copy or a fill was done; any thread, no lock held */
void debug_cycle(struct op *op, uint64_t now);          /* the simulated GPU has come to a cycle */
uint64_t debug_turn_end(struct device *d, uint64_t now, uint64_t until);      /* the cycle at which its turn is to end, instead of `until` */
bool debug_window(struct device *d);                    /* between two windows of it. True: the turn is to end here, debug_goes_on says how */
void debug_kernels_ended(struct device *d);             /* kernels have ended on it: there is no way back behind that */
bool debug_restarting(void);                            /* what runs is given up, to begin anew */
bool debug_silent(void);                                /* a kernel runs once more */
bool debug_printed(void);                               /* what it prints now was printed; once for each text */

/* dispatch.c and sim.c: the blocks (or clusters) of a grid that have begun and not ended; how many, of which at most n are stored. */
size_t grid_residents(const struct op *op, struct emu_cta **out, size_t n);
bool grid_start_more(struct op *op);                    /* begins blocks that have not, as many as may be; false: there are none */
struct grid_progress { uint64_t ctas, done, next; };    /* in blocks */
struct grid_progress grid_progress(const struct op *op);

#endif
