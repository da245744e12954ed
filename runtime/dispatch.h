/* A running grid, as the dispatcher and checkpoints see it. Simulation thread only, but for the atomic fields. */
#ifndef HEDDLE_RUNTIME_DISPATCH_H
#define HEDDLE_RUNTIME_DISPATCH_H
#include "runtime/base/bytes.h"
#include "runtime/internal.h"

enum { LINE_PAIR = 128 };                      /* bytes that hosts fetch together */

/* A cluster is started, run and counted as one CTA. cta NULL: taken from the counter, but not started yet. */
struct resident { struct emu_cta *cta; uint64_t index; int64_t quantum; };

struct grid_run {
    struct grid_run *next_free;
    struct op *op;
    struct rt_context *context;
    struct rt_function *function;
    struct emu_grid *grid;
    uint64_t n_ctas;
    uint64_t end;                              /* CTAs from here on are not handed out now: n_ctas, or fewer when a checkpoint waits for those before */
    uint64_t halt_insns, halt_done;            /* the turn ends when so many warp instructions of the grid have run, so many CTAs ended; UINT64_MAX */
    uint64_t halt_cycle;                       /* on the simulated GPU */
    uint32_t warps;                            /* of a CTA */
    bool halt_reached;                         /* halt_insns was */
    bool halt_loosely;                         /* halt_insns may be passed by as much as other workers run meanwhile, so there may be some */
    atomic_uint_fast64_t stop;                 /* the lowest CTA that faulted, or UINT64_MAX */
    atomic_bool halt;                          /* the turn ends as soon as it can, for a checkpoint; CTAs become residents */
    atomic_bool pause;                         /* the same for a debugger, this turn */
    char before[LINE_PAIR];                    /* all workers look at what is above, and write what is below once a batch */
    atomic_uint_fast64_t next, done;           /* CTA numbers handed out; CTAs that ended */
    atomic_uint_fast64_t thread_insns, warp_insns;      /* of turns that ended; */
    atomic_uint_fast64_t live_insns;           /* of the present one too, kept only where it halts by them */
    char behind[LINE_PAIR];
    uint32_t residency;
    uint32_t cluster_ctas;
    bool ordered, waits;
    bool crowded;                              /* its blocks have launched so much that the turn ends */
    bool together;                             /* its CTAs may wait for each other */
    bool apart;                                /* with a debugger, this turn: as if there were none; else one CTA after the other */
    struct resident faulted;                   /* then: the one of fault; under fault_lock */
    pthread_mutex_t fault_lock;                /* fault, and residents while several workers run */
    struct emu_fault fault;
    VEC(struct resident) residents;
    struct allocation *workspace;              /* cooperative launches */
    uint64_t workspace_at;                     /* its address; 0: none */
    uint64_t grid_id, number;                  /* number: of the launch in the process, from 1 */
    uint64_t started_ns, spent_ns;
    uint64_t clock_from;                       /* device_clock when it began */
    struct emu_counters turn_from;             /* of worker 0, when this turn began */
    uint64_t boundary, look_at, gap;           /* with a debugger, worker 0's warp instructions: at the last boundary between turns of blocks; from when on it is told of
                                                  one; most that were between two */
    struct grid_state *from;                   /* it goes on from a checkpoint; owned, NULL: not */
    struct sim_launch sim;                     /* on the simulated GPU */
};

/* What a checkpoint says of a grid that had begun. */
struct grid_state {
    uint64_t next, done, thread_insns, warp_insns, clock_from, grid_id, number, workspace_at;
    uint64_t n_residents;
    /* The next of them, in order: *index of a block, and whether it had started; then its bytes come from the source. NULL: they make no sense. */
    struct source *(*resident)(void *user, uint64_t *index, int64_t *quantum, bool *started);
    void (*free)(void *user);                  /* with the grid */
    void *user;
};
/* As grid_begin, in the middle. Takes *from (malloc), also on failure. */
enum status grid_begin_from(struct op *op, struct grid_state *from, struct error *err) MUST_CHECK;

/* checkpoint/restore.c: sets the grid, just made, where r->from says that it stood; blocks that had started become residents, unless a simulated GPU will take them. */
enum status grid_take_up(struct grid_run *r, struct error *err) MUST_CHECK;

/* checkpoint/restore.c: the next block that was under way; on the simulated GPU, with `perform`, what it had issued and not performed is done now. out->cta NULL: it had
 * not started. */
enum status grid_next_resident(const struct grid_run *r, struct emu_worker *w, uint32_t smid, bool perform, struct resident *out, struct error *err) MUST_CHECK;

/* grid.c: some grid of the device is where a checkpoint is to be taken. */
bool sim_due(void *device);
/* sim.c, for checkpoints. The whole state of a simulated GPU, taken up by grids that begin while one is awaited (checkpoint/timing.c). */
struct timing_links; struct timing_kernel_spec; struct textbuf;
void sim_await_state(bool on);
enum status sim_save(struct device *d, const struct timing_links *links, struct sink *to, struct error *err) MUST_CHECK;
enum status sim_load(struct device *d, const struct timing_links *links, struct source *from, struct error *err) MUST_CHECK;
void sim_links(struct grid_run *r, struct timing_kernel_spec *spec);
enum status sim_configuration(struct textbuf *out, struct error *err) MUST_CHECK;      /* as lines: what must be the same for a state to fit */
uint64_t sim_cycle(const struct device *d);

/* sim_moment.c, for a debugger, between two windows: where a simulated GPU and all kernels on it stand, as bytes, and back there. Memory is not among it. blocks, state: of
 * one moment, two heaps of bytes. ops: all kernels on it, the same then as now. */
bool sim_keep(struct device *d, struct op *const *ops, size_t n, struct sink *blocks, struct sink *state);     /* false: no host memory, or the sink's own failure */
enum status sim_put_back(struct device *d, struct op *const *ops, size_t n, struct source *blocks, struct source *state, struct error *err) MUST_CHECK;   /* else it is of no use */
uint64_t sim_issued(const struct device *d);           /* warp instructions ever, also in the middle of a window */
bool sim_state(const struct grid_run *r, struct grid_state *out);      /* next, done, instructions, n_residents; false: blocks of a checkpoint wait for their SM */
struct emu_cta *sim_resident(const struct grid_run *r, uint64_t i);
void sim_progress(const struct grid_run *r);           /* a line on a terminal, from time to time */

/* For a debugger, with worker 0 between two turns of blocks: where the grid stands, as bytes, and back there. Memory is not among it. */
void grid_keep(const struct grid_run *r, struct sink *to);
bool grid_put_back(struct grid_run *r, struct source *from);   /* false: no host memory: the grid has failed */

static inline bool grid_halted(const struct grid_run *r) { return atomic_load_explicit(&r->halt, memory_order_relaxed) || atomic_load_explicit(&r->pause, memory_order_relaxed); }
void dispatch_turn(struct grid_run *r);        /* all workers: to the end, a halt, or until everything resident waits */

struct dispatch_clock { uint64_t device_clock, grid_id, launches; };    /* what grids that begin continue */
struct dispatch_clock dispatch_clock(void);
void dispatch_clock_set(struct dispatch_clock c);
struct emu_worker *dispatch_worker(void);      /* worker 0, which has all residents; NULL: nothing was launched yet */

#endif
