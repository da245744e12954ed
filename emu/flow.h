/* Splits, joins and activations of a warp: emu/flow.c, decode_flow.c, decode_call.c, decode_sync.c, cta.c. */
#ifndef HEDDLE_EMU_FLOW_H
#define HEDDLE_EMU_FLOW_H
#include "emu/engine.h"

enum { CALL_LOCAL_BYTES = 16 };                /* what a call takes of the local stack besides its variables */

struct activation;

/* Lanes that part at a branch meet again at `at`. expected: all that shall come; arrived: those that wait here. A split that holds
 * a join stands for lanes in expected and not in arrived, in this join and in all its parents. */
struct join {
    const struct insn *at;                     /* the marker record; NULL for the return of an activation */
    uint32_t expected, arrived;
    struct join *parent;                       /* also links the free list */
    struct activation *act;                    /* whose frame is in use at `at` */
};

/* One call: a frame, and the join of its lanes when they return. Lanes of one warp may be in several at a time. */
struct activation {
    struct join join;                          /* at = NULL, act = this one */
    struct activation *parent;                 /* NULL: the kernel itself; also links the free list */
    const struct code *code;
    const struct call_site *site;              /* where returned words go; NULL for the kernel */
    const struct insn *back;                   /* record after the call */
    char *frame; size_t room;                  /* room: bytes allocated at frame */
    uint32_t local_sp;                         /* start of its local memory */
    uint32_t *lane_top;                        /* end of each lane's local memory, once alloca was used; NULL: local_sp + code->local_bytes */
};

struct split {
    const struct insn *next;
    uint32_t mask;
    uint32_t sync_mask;                        /* SYNC: the member mask; BARRIER: the barrier's number */
    uint8_t state;                             /* enum split_state */
    uint8_t age;                               /* MBARRIER: turns that it waited */
    struct join *join;
    struct activation *act;
};

struct warp_flow {
    struct split waiting[WARP_SIZE]; uint32_t n;   /* all but the running one; the last ready one runs next */
    struct join *join;                         /* of the running split */
    struct activation *act;
    uint32_t barrier;                          /* not 0: all there is of the warp waits at the CTA barrier of this number - 1, at record w->next, and no split is made of it */
    struct join *free_joins;
    struct activation *free_acts;
    struct activation base;                    /* the kernel's own */
};

/* Starts a warp: lanes of mask at the first record of code, in base's frame. */
void flow_reset(struct warp *w, const struct code *code, uint32_t mask);
void flow_give_up(struct warp *w);             /* of a CTA that will not run on */
void flow_free(struct warp *w);                /* memory of joins and activations */

/* The lanes of `taken` go to target, the others of the running split to in + 1; all meet at meet (NULL: nowhere). Returns NULL, w set to go on. */
const struct insn *flow_diverge(const struct insn *in, struct warp *w, struct ctx *c, uint32_t taken, const struct insn *target,
                                const struct insn *meet);
/* Leaves the lanes of mask in the running split, the others ready to start at `in` again; all meet at meet. False: no memory. */
bool flow_part(const struct insn *in, struct warp *w, uint32_t mask, const struct insn *meet);
/* The running split arrives in its join, whose marker is in. */
const struct insn *flow_arrive(const struct insn *in, struct warp *w);
/* Lanes end (exit), or return from the current activation. Both return the next record or NULL, as a handler does. */
const struct insn *flow_exit(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lanes);
const struct insn *flow_return(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lanes);
/* Enters code with the running split; the frame's constants are filled, its parameters are the caller's affair. NULL: no memory. */
uint32_t flow_local_top(const struct warp *w); /* end of the local memory that the running split's activation uses */
struct activation *flow_call(struct warp *w, const struct code *code, const struct call_site *site, const struct insn *back);

/* Puts the running split aside in `state`, to go on at next. first: it will be the last to be picked. Returns NULL. */
const struct insn *flow_block(struct warp *w, const struct insn *next, enum split_state state, uint32_t sync_mask, bool first);
bool flow_pick(struct warp *w);                /* makes a ready split the running one; false: none */
bool flow_has_ready(const struct warp *w);
/* Lets the lanes that wait in joins go on without the others (independent thread scheduling). False: none waits. */
bool flow_release(struct warp *w);

/* cluster_barrier.c: lanes exited that belong to a cluster. */
void cluster_exit(struct warp *w, uint32_t lanes);

/* sync instructions of waiting splits (decode_sync.c): completes those whose lanes are all there. False: none was. */
bool flow_sync_retry(struct warp *w, struct ctx *c);

/* For whoever restores waits: a split may wait at record `in` in this state (BARRIER, SYNC; the barrier of the cluster). */
bool sync_may_wait(const struct insn *in, enum split_state state);
bool cluster_may_wait(const struct insn *in);
/* The call whose record is `in`; NULL: it is none. */
struct call_site;
const struct call_site *call_site_at(const struct insn *in);

/* Writes what a completed barrier gives to the lanes that waited at record in. */
void sync_barrier_result(const struct insn *in, char *frame, uint32_t mask, const struct cta_barrier *b);

/* decode_flow.c: records that stand between instructions: the count of those who fall into a block, and the place where lanes meet */
const struct insn *run_count(const struct insn *in, struct warp *w, struct ctx *c);
const struct insn *run_meet(const struct insn *in, struct warp *w, struct ctx *c);

/* The end of a slice at a control record: the warp goes on at next when its turn comes. Returns NULL. */
static inline const struct insn *flow_yield(struct warp *w, const struct insn *next)
{
    w->next = next;
    w->state = WARP_YIELD;
    return NULL;
}

/* Counts what ran since the last control record. */
static inline void flow_charge(const struct insn *in, const struct warp *w, struct ctx *c)
{
    c->warp_insns += in->charge;
    c->thread_insns += (uint64_t)in->charge * mask_count(w->mask);
}

/* cta.c */
bool cta_bind(struct emu_cta *cta, struct ctx *c);             /* the worker works on this CTA from now on; false: no memory */
bool ctx_sites(struct ctx *c, uint32_t n);                      /* room for n sites, what they remember is kept; false: no memory */
enum emu_result cta_no_memory(struct ctx *c);                  /* the fault for that */
void warp_yield(struct warp *w, struct ctx *c);                /* after WARP_YIELD: the split goes to the end of the row */
/* One block, outside any cluster: `index` counts blocks. */
enum status cta_start(struct emu_cta **out, struct emu_grid *g, struct emu_worker *w, uint64_t index, uint32_t smid, struct error *err) MUST_CHECK;
enum emu_result cta_run(struct emu_cta *cta, struct emu_worker *w, int64_t quantum);
struct worker_clock { uint64_t read_at, readings, ahead; };   /* sreg.c: warp_insns at the last reading of %clock; readings in a row; ticks beyond warp_insns */
struct worker_clock *worker_clock(struct ctx *c);
/* Counts threads in; true: the barrier is complete and all who wait at it are ready. count 0: all live threads. */
bool cta_barrier_arrive(struct emu_cta *cta, uint32_t id, uint32_t count, uint32_t threads);
const struct insn *cta_barrier_wait(const struct insn *in, struct warp *w, uint32_t id);   /* the running split waits at record in. Returns NULL */
void cta_barrier_finish(struct emu_cta *cta, uint32_t id);
void cta_barrier_check(struct emu_cta *cta);   /* after threads exited: completes barriers that wait for nobody else */

/* A call as its record sees it: frame offsets of word rows, callee or register. */
struct call_site {
    uint32_t function;                         /* number; for an indirect call UINT32_MAX */
    uint32_t address;                          /* indirect: row of 8-byte addresses */
    uint32_t n_params, n_returns;              /* words */
    uint32_t *params, *returns;                /* frame offsets in the caller's frame */
    const struct plugin_call *plugin;          /* a host function's */
    const char *why;                           /* neither: what to say of it */
    enum status (*builtin)(struct ctx *c, struct warp *w, const struct insn *in, uint32_t mask, uint32_t (*params)[32], uint32_t (*returns)[32]);
    const char *name;
};

/* sreg.c: writes the constant rows of the frame that are known only now; and of all warps' frames, those that differ between the CTAs of a launch. */
void fill_rows(const struct code *code, char *frame, const struct warp *w, const struct emu_grid *g, uint32_t local_sp);
void fill_cta_rows(const struct code *code, struct emu_cta *cta);
bool sreg_is_constant(enum ptx_sreg s);        /* false: read by a record each time (clocks, counters) */
bool sreg_is_clock(enum ptx_sreg s);           /* counts instructions, unlike %globaltimer */
bool sreg_is_reserved(enum ptx_sreg s);         /* an address of reserved shared memory */
bool sreg_is_cta(enum ptx_sreg s);             /* differs between the CTAs of a launch */
uint64_t sreg_volatile(enum ptx_sreg s, struct ctx *c, const struct warp *w);
uint64_t sreg_show(enum ptx_sreg s, unsigned component, struct ctx *c, const struct warp *w, uint32_t lane);   /* for a debugger: changes nothing that a program sees */

/* kernel.c: the decoded form of function `number`, decoding it now if need be; NULL: *err says why. */
const struct code *kernel_code(struct emu_kernel *k, uint32_t number, struct error *err);
const struct ptx_module *kernel_module(const struct emu_kernel *k);
uint32_t kernel_dynamic_at(const struct emu_kernel *k);        /* where dynamic shared memory begins */
uint32_t kernel_entry(const struct emu_kernel *k);
bool kernel_stacks(const struct emu_kernel *k);        /* calls itself, calls through pointers, or uses alloca: needs the launch's stack */
uint32_t kernel_sites(const struct emu_kernel *k);
/* Names %reserved_smem_offset_..: its blocks have KERNEL_RESERVED more bytes of shared memory, at the end; no others have them, so that an access behind the end is seen. */
enum { KERNEL_RESERVED = 1024 };
bool kernel_reserves(const struct emu_kernel *k);
const struct emu_space *kernel_space(const struct emu_kernel *k);

#endif
