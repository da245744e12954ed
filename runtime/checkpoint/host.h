/* The host's side of a checkpoint: what the program asked for, and what it was told.
 *
 * A recorded run puts every call of the two APIs on a tape: its name and arguments, and whatever the device gave to the host that could be otherwise in another run:
 * bytes copied to it, what kernels stored where the host can look (pinned, registered and managed memory), text of printf, answers about progress and time.
 * A replayed run executes the program again from its start. The calls do what they always do, allocations and streams included, but each is held against the
 * tape; kernels are skipped, and what the device gave comes from the tape. At the call during which the checkpoint was taken, the device's state is
 * put in place and the replay is over.
 *
 * Operations of streams run in a replay too, in their streams' order, so that host functions see what they saw; those that were not finished at the checkpoint are
 * held back until its state is there. Calls are numbered from 1; an operation is known by its call and its place in it (host_step), because whether it is
 * queued or done at once is a matter of speed.
 *
 * Threads: calls take turns. In a recorded run a thread has its turn from the beginning of a call to its end, but for the time in which it waits, so that there is one
 * order of everything that calls do; in a replay each thread waits for its turn in that order, as far as its locks let it (host_replay.c). Threads are known again by thread_name.h; one that is not on the tape
 * waits for the end of the replay. A checkpoint wants every thread of the program in a call that has done nothing yet, or asleep elsewhere. A child after fork is
 * no part of either.
 *
 * Divergence: the first call that differs from the tape is reported once, and it and all later ones answer ST_UNKNOWN; the launcher then ends with its own
 * failure status, whatever the program makes of it. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_HOST_H
#define HEDDLE_RUNTIME_CHECKPOINT_HOST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

enum host_mode { HOST_FREE, HOST_RECORDED, HOST_REPLAYED };
extern int host_mode_now;                      /* enum host_mode; changes at the start, at the end of a replay, and in a forked child */
static inline enum host_mode host_mode(void) { return (enum host_mode)__atomic_load_n(&host_mode_now, __ATOMIC_RELAXED); }
static inline bool host_watched(void) { return __builtin_expect(host_mode() != HOST_FREE, 0); }
static inline bool host_replayed(void) { return __builtin_expect(host_mode() == HOST_REPLAYED, 0); }

/* ---- the process (process.c) ---- */

/* With the runtime made: records when the settings ask for checkpoints, replays when they name a file. */
enum status host_start(struct error *err) MUST_CHECK;
enum status host_record(struct error *err) MUST_CHECK;             /* the two that it chooses from */
enum status host_replay(const char *path, struct error *err) MUST_CHECK;
/* Of the processes of a run, checkpoints are about the first that calls CUDA: is it this one? The others say once that they are not. */
bool host_is_ours(void);
bool host_records(void);                       /* calls are recorded, or will be from the end of the replay on */
void host_end(void);                           /* of the process: a replay that has not reached its checkpoint is a failure */

/* ---- calls (interpose) ---- */

struct host_site {                             /* a function of the API; static, one each */
    const char *symbol;
    char args[120];                            /* their names, "bytes, flags"; filled in at the first call */
    uint16_t number;                           /* on the tape; 0: not there yet */
    uint8_t known, kind[16];                   /* interpose/record.c's: how to look at its arguments */
    bool poll;                                 /* host_polls */
};
/* It asks whether something is over. How often a program does is a matter of time: in a replay it may ask more or less often than it did. */
bool host_polls(const char *symbol);
/* A call begins; words describe its arguments in a way that is the same in every run. Not ST_OK: it must not be executed (divergence, or the checkpoint could not
 * be put in place). host_leave: what it answers. Calls from within calls, and of other threads, count as part of the program. */
enum status host_enter(struct host_site *site, const uint64_t *words, unsigned n) MUST_CHECK;
enum status host_leave(enum status st) MUST_CHECK;
/* Where programs, their libraries, heaps and stacks usually are; what is there moves from run to run. */
static inline bool host_address(uint64_t v) { return v >= 0x500000000000 && v < 0x800000000000; }
/* A handle as its place in the order in which handles were made; 0: it is none. */
uint64_t rt_handle_number(const void *handle);

bool host_inside(void);                        /* the calling thread is one of the program's, in a call, and does not wait */

/* ---- within calls (runtime); each does nothing on other threads and outside calls ---- */

/* What the call is about to tell the program and another run might not: kept on the tape, or replaced by what is there. */
void host_answer(void *data, size_t bytes);
/* The next number of what calls make, which in a replay is that of the recorded run: threads may come in another order. last: the largest so far. */
uint64_t host_numbered(uint64_t *last);
/* What must be the same as in the recorded run. Words that look like addresses of the host's own memory are not compared. what: for the report. */
enum status host_verify(const char *what, const void *data, size_t bytes) MUST_CHECK;
/* Memory of the program's own that kernels may use from now on, and no longer. It may be elsewhere in a replay, where the system or the heap gives other addresses; but
 * not at its end: kernels may hold its address. */
void host_registers(const void *p, uint64_t bytes);
void host_unregisters(const void *p);
/* The bytes that a copy reads from the program's own memory must be the same. */
struct rt_copy;
enum status host_verify_source(const struct rt_copy *c) MUST_CHECK;
/* Copies and fills that the calling thread does itself, in place of copy_run and set_run; op was given to host_pushed. dst, src: enum place. */
struct op;
void host_copy(const struct op *op, int dst, int src);
struct set;
void host_set(const struct set *s);
/* The host has waited and may look at memory now; before context_flush prints. Takes the.lock. */
struct rt_context;
void host_synchronised(struct rt_context *c);

/* ---- operations (queue.c); under the.lock ---- */

/* An operation is pushed, or, where it copies, done at once: sets op->call and op->step, and op->held when a replay must not run it. */
void host_pushed(struct op *op);
/* From here on no checkpoint of this run can be resumed with its program; why: the reason, "it ...". Any thread. */
void host_spoil(const char *why);
#define HOST_SHARES "it shares memory or events with other processes"
/* What could have been pushed was done at once. */
void host_step(void);
/* A replay: something that the present call enqueues was not finished at the checkpoint, so nothing of it is done at once. */
bool host_call_survives(void);
void host_op_copy(const struct op *op);        /* in place of copy_run and set_run; without the.lock */
void host_op_set(const struct op *op);
void host_op_fault(const struct op *op, enum status st);   /* a launch failed */
enum status host_op_skip(const struct op *op); /* a replay's launch: how it ended */
/* The calling thread begins and ends to wait inside a call, whether or not there is anything left to wait for. The second may take as long as a checkpoint, or as
 * other threads' turns; without the.lock. */
void host_waits(void);
void host_goes_on(void);
/* The same where queues are full: whether the thread waits at all is a matter of speed. host_waited: a replay's thread did so here. */
void host_waits_for_room(void);
bool host_waited_for_room(void);
/* A replay's call waits for what other threads' calls or their operations have yet to do: they may, for some ms. */
void host_lets_others(void);

/* ---- checkpoints (whoever writes and restores the device's state) ---- */

/* Brings the host to a place where the program can be taken up again: inside a call, before it has changed anything. Waits for that, at most some seconds. Called by
 * whoever executes operations, without locks. On ST_OK the host stays there until host_let_go; ST_NOT_READY: not here, but perhaps some instructions later;
 * ST_NOT_SUPPORTED: no checkpoint of this run can be resumed with its program, err says why. */
enum status host_stop(struct error *err) MUST_CHECK;
void host_let_go(void);
/* After host_stop: the sections that are the host's. */
struct hck_writer;
enum status host_save(struct hck_writer *w, struct error *err) MUST_CHECK;
/* What host.c calls at the end of a replay, from the host's thread, with nothing running and no lock held: allocations and their contents, the devices' and contexts'
 * state, and the launches that were not finished, n of them in the order in which they were enqueued. They are in their streams' queues already, with their
 * parameters; those that had begun are to be begun and given to queue_resume. */
struct hck_reader;
enum status device_restore(struct hck_reader *r, struct op *const *launches, size_t n, struct error *err) MUST_CHECK __attribute__((weak));
bool checkpoint_armed(void) __attribute__((weak));     /* the settings ask for checkpoints */
void queue_resume(struct op *op);              /* op->started and op->u.launch.run are set: it takes its turns from now on. Under the.lock */

#endif
