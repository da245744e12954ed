/* Checkpoints of the device: when they are taken, what is written, how it is put back. The file is file.h, the host's side host.h.
 *
 * A checkpoint is taken by whoever executes operations (queue.c), between two turns of grids: no worker runs, every resident block lies still. The settings checkpoint, to,
 * checkpoint_every and stop say when and where; `heddle checkpoint PID` asks from outside (request.c). What asks for it makes the running grid halt: blocks in the
 * middle become residents of the grid, those that were taken and not started wait beside them, and all go on afterwards. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define HEDDLE_RUNTIME_CHECKPOINT_CHECKPOINT_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"

struct grid_run;
struct hck_reader;

/* ---- when (plan.c) ---- */

bool checkpoint_armed(void);                   /* the settings ask for checkpoints */
void checkpoint_grid_begins(struct grid_run *r);       /* sets where it halts, if it does */
void checkpoint_grid_halts(struct grid_run *r);        /* it has: takes the checkpoint, sets where it halts next */
void checkpoint_grid_ends(const struct grid_run *r);
void checkpoint_kernel_skipped(const char *name);      /* by a replay */
const char *checkpoint_number(void);           /* of checkpoint_every's that is being written; "": it is none of those */
void checkpoint_end(void);                     /* of the process: says that the settings asked for a checkpoint that did not come */

/* Kernels are decoded as they were for the checkpoint that this process goes on from: for a debugger, with a row for each register, or not. Otherwise: `wanted`. */
bool checkpoint_whole_rows(bool wanted);
struct hck_reader;
enum status checkpoint_decode_as(struct hck_reader *r, struct error *err) MUST_CHECK;

/* A debugger wants one as soon as the simulated GPU is between two windows. Executing thread. False: another one is not written yet. */
bool checkpoint_ask(const char *path);

/* Whether something outside the program wants one now: a look at a word or two. Any thread. */
extern atomic_int checkpoint_watch;            /* there is something to look at: time, or a page for requests */
bool checkpoint_is_wanted(void);
static inline bool checkpoint_wanted(void) { return __builtin_expect(atomic_load_explicit(&checkpoint_watch, memory_order_relaxed) != 0, 0) && checkpoint_is_wanted(); }

/* ---- writing (save.c) ---- */

/* Writes the state of the whole process into path: for whoever executes operations, without locks and with no worker running. What the program does meanwhile in other
 * threads waits. ST_NOT_READY: the host is where it cannot be taken up again, try some instructions later. note: where, for `heddle info`; may be NULL. */
enum status checkpoint_save(const char *path, const char *note, struct error *err) MUST_CHECK;

/* ---- reading (restore.c, resume.c) ---- */

/* Without its program: a process of ours (the launcher) becomes what the file says. */
#define RESUME_BEGUN UINT64_MAX
struct checkpoint_resume {
    const char *path;
    const char *dump;                          /* folder that receives allocations as files afterwards; NULL or "": none */
    uint64_t launches;                         /* how many of the kernels in the file are run; RESUME_BEGUN: those that were under way, or the next one */
};
enum status checkpoint_resume(const struct checkpoint_resume *q, struct error *err) MUST_CHECK;
/* The same for the launcher, which has no runtime of its own: it opens the library and finds this by its name. */
__attribute__((visibility("default"))) int cuHeddleResume(const struct checkpoint_resume *q, struct error *err);

#endif
