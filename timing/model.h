/* What the files of the model share and nobody else sees: messages, SMs, memory channels, the GPU.
 *
 *     gpu.c          windows, CTA dispatch, host threads            code.c        what the model needs to know of a PTX instruction
 *     sm.c           an SM's cycles: wake-ups, replies, CTAs        slice.c       a slice of L2
 *     issue.c        schedulers, scoreboard, units                  channel.c dram.c   slices in front of a DRAM channel; the channel
 *     fetch.c        instruction buffers and their cache            constant.c    loads from constant memory
 *     collect.c      operand collectors in detail
 *     side.c         read-only caches of these                      texture.c     textures and surfaces
 *     lsu.c          loads, stores, shared memory, L1               cache.c mshr.c coalesce.c addrmap.c hash.c   parts
 *     cluster.c      CTAs that belong together                       tensor.c      matrix products
 *     halves.c       an L2 in two halves                             fit.c         how many CTAs an SM holds
 *     state.c state_model.c   all of it as bytes: a pointer that is added here has a row there
 *     scheduler/     warp scheduling policies                       replacement/ dram_order/   policies
 *
 * An SM or channel is run by one host thread at a time. SMs write requests into queues of their own, one for each host thread, whose channels read them in the next
 * half window, and the other way round; there is no other traffic between them. */
#ifndef HEDDLE_TIMING_MODEL_H
#define HEDDLE_TIMING_MODEL_H
#include "ptx/ptx.h"
#include "runtime/base/slab.h"
#include "runtime/base/vec.h"
#include "timing/addrmap.h"
#include "timing/cache.h"
#include "timing/clock.h"
#include "timing/coalesce.h"
#include "timing/code.h"
#include "timing/dram.h"
#include "timing/mail.h"
#include "timing/mshr.h"
#include "timing/ring.h"
#include "timing/stats.h"
#include "timing/team.h"
#include "timing/timing.h"

enum { MAX_WARPS = 64, MAX_THREADS = TEAM_MOST, MAX_SCHEDULERS = 8, NEVER_SOON = 512 };
enum { BRANCH_CYCLES = 2, CONSTANT_CYCLES = 8 };                    /* issue to the next instruction of the warp when it may have branched */
enum { PAUSE_CYCLES = 20 };                    /* the same after a look at an mbarrier or a sleep: greedy schedulers would starve who is waited for */
#define NEVER UINT64_MAX
/* A new last element, or NULL: no host memory. */
#define vec_add(v) ((v)->n < (v)->cap || vec_grow_((void **)&(v)->at, &(v)->cap, (v)->n, sizeof *(v)->at) ? &(v)->at[(v)->n++] : NULL)

/* exchange.c: by host thread t alone, or while no other runs */
void exchange_replies(struct timing_gpu *g, unsigned t);       /* what slices sent to the SMs of thread t */
void exchange_requests(struct timing_gpu *g, unsigned t);      /* what SMs sent to the channels of thread t */
/* gpu.c */
struct cache_spec cache_spec_of(const struct timing_cache *c);
enum timing_outcome outcome_of(enum cache_result r);    /* as statistics count it */

/* ---- messages --------------------------------------------------------------------------------------------------------------------- */

enum request_kind { REQUEST_READ, REQUEST_WRITE, REQUEST_ATOMIC, REQUEST_STRONG_READ, REQUEST_STRONG_WRITE };
enum request_source { SOURCE_DATA, SOURCE_INSTRUCTION, SOURCE_CONSTANT, SOURCE_TEXTURE };

/* A request on its way to a slice and, answered, on the way back; the SM that sent it keeps it until then. One of the host's cache lines. */
struct packet {
    uint64_t address;                          /* of a sector, or of the first of several */
    uint64_t sent;                             /* core cycle at which it left the load/store unit */
    uint64_t ready;                            /* interconnect cycle at which the reply was ready to leave the slice */
    uint32_t tag;                              /* whom the reply is for: a load, a store's warp .. */
    uint32_t lanes;                            /* atomic and strong ones: which lanes' accesses it stands for */
    int32_t pending;                           /* atomic and strong ones: index in the SM's table; -1: nothing is to be performed */
    uint8_t kind, source;
    uint8_t type;                              /* enum timing_access_type */
    uint8_t sectors;                           /* how many 32-byte sectors from address on; one reply answers them all */
    uint8_t left;                              /* of these, not done in the slice */
    uint8_t far;                               /* the reply crosses to the other half of the die */
    uint8_t data;                              /* sectors that the reply brings, 0 for an acknowledgement */
    struct line_mask bytes;                    /* written bytes, relative to the 128-byte line */
};
/* A packet's handle: whose it is, and where there. */
enum { PACKET_BITS = 20 };
static inline uint32_t packet_sm(uint32_t handle) { return handle >> PACKET_BITS; }
static inline uint32_t packet_index(uint32_t handle) { return handle & ((1u << PACKET_BITS) - 1); }

/* ---- an SM ------------------------------------------------------------------------------------------------------------------------ */

enum warp_wait { WAIT_NONE /* in the ready set or the wheel */, WAIT_REGISTER /* a load */, WAIT_BLOCKED /* barrier, other lanes */, WAIT_FENCE, WAIT_FETCH /* for its next instruction */, WAIT_DRAIN /* ended, accesses left */, WAIT_ENDED };

enum { COPY_GROUPS = 8 };                      /* of a warp at once; older ones count with the one eight later */
enum { IN_FLIGHT = 48 };                       /* registers of a warp that are on their way */
struct in_flight { uint64_t ready; uint32_t reg; uint16_t load; bool held /* a pending operation will still read it */; };

struct warp_slot {                             /* what every instruction needs lies in one of the host's cache lines */
    _Alignas(64) struct block *block;          /* NULL: free */
    const struct timing_code *code;
    uint64_t age;                              /* order of start; least is oldest */
    uint64_t from;                             /* not before this cycle: fetch, chains of machine instructions */
    uint32_t insn, lanes;
    uint16_t micro;                            /* machine instructions of it that were issued already */
    uint16_t number;                           /* in the CTA */
    uint8_t wait;                              /* enum warp_wait */
    bool peeked;                               /* code and insn are the next instruction */
    uint8_t unit;                              /* enum unit_kind: that it wants, once it was ready */
    uint8_t n_flight;
    uint64_t flying;                           /* registers of `flight`, by their numbers' lowest six bits: at least those */
    uint64_t flight_from;                      /* none of them is there before this cycle */
    uint64_t goes;                             /* it was found that its next machine instruction can go from this cycle on; 0: that was not found */
    int32_t patience;                          /* emu_warp_issue's */
    uint16_t loads, stores, strong;            /* accesses under way; strong: of stores, those whose CTA must not end before them */
    uint32_t copy_group; uint16_t copies[COPY_GROUPS];     /* cp.async: the open group, and how many of each are under way */
    uint64_t blocked_from;                     /* waits for others since then; 0: does not */
    struct in_flight flight[IN_FLIGHT];
};

struct block {                                 /* a resident CTA */
    struct emu_cta *cta;                       /* NULL: free */
    struct kernel *kernel;
    struct cluster_run *cluster;               /* NULL: none */
    uint64_t warps;                            /* its slots */
    uint64_t thread_insns, warp_insns;
    uint32_t live;                             /* warps that have not ended and drained */
};

enum { CLUSTER_GROUP = 16 };                   /* SMs that may share a cluster */
struct cluster_run {                           /* a resident cluster */
    struct emu_cta *cta;                       /* stands for them all */
    uint32_t n, left;                          /* CTAs; those that have not ended */
    struct cluster_place { struct sm *sm; struct block *block /* NULL: ended */; } at[CLUSTER_GROUP];
};

/* The accesses of one instruction that are not back yet. */
struct load { uint32_t warp, left, next_free; uint64_t ready, age /* of its warp, which may have ended before its stores */; bool is_store; uint8_t copy /* 1 + its group; 0: none */; int32_t pending; };
enum { TAG_NOBODY = 0, TAG_FILL = UINT32_MAX };  /* a reply for nobody; for whoever waits in the cache's MSHR */

enum mem_class { MEM_CLASS_GLOBAL, MEM_CLASS_LOCAL, MEM_CLASS_SHARED, MEM_CLASS_CONST, MEM_CLASS_PARAM, MEM_CLASS_TEXTURE };
struct side_cache;
struct collectors;
struct mem_op {                                /* an instruction in the load/store unit */
    uint32_t warp, load;
    uint8_t kind;                              /* enum request_kind */
    uint8_t class;
    bool bypass;                               /* L1 is not asked */
    int32_t pending;
    uint64_t from;                             /* not before */
    uint32_t cycles;                           /* shared memory, or the throughput rule: how long it holds the unit */
    struct side_cache *side;                   /* the cache that it uses instead of L1; NULL: L1 */
    uint32_t n, next;                          /* accesses; how many are done */
    struct access at[MAX_ACCESSES];
};
enum { LSU_DEPTH = 4, LSU_DEPTH_COLLECTED = 8 /* with collectors in detail: some are on their way through these */ };

struct side_cache {                            /* a read-only cache beside L1 */
    bool on;
    uint8_t source, type;                      /* of its requests */
    uint8_t refused;                           /* enum timing_fail of the last SIDE_FULL */
    uint32_t latency;                          /* of a hit, for loads */
    struct timing_cache_stats *stats;
    struct cache tags; struct mshr mshr;
};
enum side_result { SIDE_HIT, SIDE_WAITS, SIDE_FULL };

struct fetch_buffer {                          /* a warp's instructions that are fetched but not issued: addresses */
    uint64_t from, to, end;                    /* end: of the function */
    uint64_t fresh, ready;                     /* those from `fresh` on can issue from cycle `ready` on */
    bool waits;                                /* for the line of `to` */
};
struct fetch {
    struct side_cache l1i;                     /* not on: perfect */
    uint64_t wanted, full;                     /* slots that ask for a fetch; that ask again when a line came */
    uint32_t last;                             /* slot served last */
    struct fetch_buffer buffers[MAX_WARPS];
};

struct ended_cta { struct kernel *kernel; uint64_t cycle, thread_insns, warp_insns; };

struct unit_pool { uint32_t n, per_scheduler; uint64_t free_from[64]; };

struct scheduler {
    const struct scheduler_policy *policy;
    uint64_t owned;                            /* slots: w mod n */
    uint64_t active;                           /* two_level: the active set */
    uint32_t limit;                            /* two_level, limited: warps */
    int last;                                  /* slot that issued last, -1: none */
};

struct sm {
    struct timing_gpu *gpu;
    uint32_t number;
    uint64_t now;                              /* next cycle to be simulated */
    uint64_t issued_at;                        /* the last cycle with a ready warp */
    uint64_t issued_before;                    /* machine instructions when it was last looked whether the GPU is stuck */
    bool more_ctas;                            /* some kernel has CTAs left: stop when one would fit */
    bool resume;                               /* `now` was simulated already: go on with the next cycle */
    bool wants_cta;                            /* stopped at `now`: could take a CTA */
    struct emu_worker *worker;                 /* of the host thread that runs it */

    struct warp_slot warps[MAX_WARPS];
    uint64_t free_slots, taken_slots, ready;   /* sets of slots */
    uint64_t parked;                           /* could issue but for a unit: in the wheel or lsu_waiters, ready as soon as they are woken */
    uint64_t by_unit[UNIT_KINDS], enters_lsu;  /* of those in ready and parked: what their next machine instruction wants */
    uint64_t wheel[NEVER_SOON]; uint64_t wheel_bits[NEVER_SOON / 64];     /* slots to look at again, by cycle */
    struct block blocks[MAX_WARPS];
    uint32_t n_blocks, threads, regs, shared_bytes;     /* in use */
    uint64_t next_age, cta_from;               /* cta_from: one CTA a cycle */
    uint64_t launch_from;                      /* the next warp of a new CTA may be set up */

    struct scheduler schedulers[MAX_SCHEDULERS];
    struct unit_pool units[UNIT_KINDS];
    uint64_t bank_from[64];                    /* register banks */
    struct collectors *collect;                /* NULL: these alone */
    uint64_t result_bus[NEVER_SOON]; uint8_t result_bus_used[NEVER_SOON];

    struct mem_op queue[LSU_DEPTH_COLLECTED]; uint32_t queue_at, queue_n, queue_room /* 4 or 8 */;
    uint64_t lsu_from;                         /* the unit is free */
    uint8_t lsu_stuck;                         /* 1 + enum timing_fail of the access that was refused at every cycle before lsu_from; 0: it was not */
    bool lsu_retry;                            /* what refused it may have changed */
    uint32_t lsu_quarters;                     /* of a cycle that the throughput rule has not charged yet */
    uint64_t lsu_waiters;                      /* slots that found the unit full */
    struct load *loads; uint32_t n_loads, free_load;
    struct emu_pending *pending; uint32_t n_pending; uint32_t *free_pending; uint32_t n_free_pending;
    uint64_t *pending_order, next_pending;     /* of each: how many issued before it */
    struct cache l1; struct mshr l1_mshr;
    struct side_cache l1c, l1t; struct fetch fetch;      /* not on: perfect; textures through L1 */
    uint64_t port_from;                        /* interconnect cycle at which the port is free */
    uint32_t in_network;                       /* packets not taken by their slice yet, as far as known at the last window's end */
    VEC(struct message) out[MAX_THREADS];      /* of this window, by the host thread of the channel; ascending in time */
    uint64_t packets;                          /* sent ever */
    struct packet *pool; uint32_t pool_size, *pool_free, n_pool_free;      /* its packets; a stack of the free ones */
    VEC(struct message) inbox; size_t inbox_at, inbox_old;       /* sorted by time; old: there before this window's came */

    VEC(struct ended_cta) ended;               /* in this window */
    struct emu_fault fault; bool faulted;
    struct timing_sm_stats stats;
};

struct scheduler_policy {
    const char *name;
    /* The slot to try first among candidates (not empty, all owned by s); -1: none of them may. */
    int (*pick)(struct scheduler *s, uint64_t candidates, const struct warp_slot *warps);
    bool never_refuses;                        /* and remembers nothing: not asked where no candidate can issue */
};
extern const struct scheduler_policy scheduler_lrr, scheduler_gto, scheduler_oldest, scheduler_two_level, scheduler_limited, scheduler_youngest;
int scheduler_oldest_of(uint64_t candidates, const struct warp_slot *warps);

/* fit.c */
uint32_t fit_shared(const struct timing_config *c, uint32_t bytes, uint32_t ctas);     /* shared memory of an SM for a kernel whose CTAs take `bytes` */
uint32_t fit_l1_ways(const struct timing_config *c, uint32_t shared);                  /* what the carve-out leaves */
/* sm.c */
enum status sm_create(struct sm *s, struct timing_gpu *g, uint32_t number, struct error *err) MUST_CHECK;
void sm_destroy(struct sm *s);
void sm_clear(struct sm *s);                   /* its CTAs go, and what it has not handed over; the rest is left as it is */
bool sm_fits(const struct sm *s, const struct kernel *k);
uint32_t sm_room(const struct sm *s, const struct kernel *k);   /* how many CTAs of it fit beside what is there */
/* The i-th CTA or cluster of a kernel that starts. */
enum status kernel_cta_start(struct emu_cta **out, const struct kernel *k, struct emu_worker *w, uint64_t i, uint32_t smid, struct error *err) MUST_CHECK;
enum status sm_take(struct sm *s, struct kernel *k, uint64_t index, struct error *err) MUST_CHECK;     /* a CTA starts at s->now */
void sm_run(struct sm *s, uint64_t until);     /* to `until`, or to the cycle at which it wants a CTA */
void sm_advance(struct sm *s, uint64_t until); /* to the next cycle with something to do */
bool sm_idle(const struct sm *s);              /* no CTA, nothing under way, nothing that wakes */
void sm_wake_at(struct sm *s, uint32_t slot, uint64_t cycle);
void sm_wake_set(struct sm *s, uint64_t slots, uint64_t cycle);
void sm_block_wake(struct sm *s, const struct block *b, uint64_t cycle);     /* its warps that wait for others look again */
void sm_fault(struct sm *s);                   /* the worker's fault ends the run */
void sm_drained(struct sm *s, uint32_t slot);  /* an access ended: the warp may be done, or its fence open */
struct block *sm_place(struct sm *s, struct kernel *k, struct emu_cta *cta);  /* one that was started; there is room */
/* cluster.c */
uint32_t cluster_most(const struct timing_gpu *g, uint32_t per_sm);          /* CTAs of the largest cluster when an SM holds so many */
enum status cluster_take(struct sm *s, struct kernel *k, bool *taken, struct error *err) MUST_CHECK;       /* the next cluster starts at s and its neighbours */
void cluster_wake(const struct cluster_run *c, uint64_t cycle);
void cluster_leave(struct cluster_run *c, const struct block *b, struct emu_worker *w);      /* a CTA of it ended */
/* issue.c */
void issue_evaluate(struct sm *s, uint32_t slot);       /* when can the next instruction of the slot go? */
void issue_cycle(struct sm *s);
void issue_count_idle(struct sm *s, const struct scheduler *d, uint64_t cycles);       /* in which the scheduler had no warp to issue */
void issue_load_done(struct sm *s, uint32_t load);      /* all accesses of the instruction are back */
/* collect.c: s->collect is NULL where rf.model is simple; else s->units are the registers in front of collectors, which hide the units */
enum { MACHINE_SOURCES = 4 /* registers that a machine instruction reads at most */ };
enum status collect_create(struct sm *s, struct error *err) MUST_CHECK;
void collect_destroy(struct sm *s);
size_t collect_bytes(void);                    /* of what s->collect points to */
/* An instruction enters the register in front of the collectors, which is free. The cycle at which its unit takes it. */
uint64_t collect_enter(struct sm *s, uint64_t *entry, uint32_t scheduler, uint32_t slot, const struct op_group *group, const uint32_t *src, uint32_t n_src);
void collect_result(struct sm *s, uint32_t slot, uint32_t reg, uint64_t cycle);            /* a result is written then */
/* lsu.c */
enum status lsu_create(struct sm *s, struct error *err) MUST_CHECK;
void lsu_destroy(struct sm *s);
bool lsu_room(const struct sm *s);
void lsu_wake_waiters(struct sm *s);           /* there is room again */
/* Takes the access that emu just described. strong: pending is an index of s->pending. */
void lsu_push(struct sm *s, uint32_t slot, const struct emu_event *e, int32_t pending, uint32_t load, uint64_t from /* the cycle at which it is at the unit */);
void lsu_cycle(struct sm *s);
void lsu_settle(struct sm *s);                 /* counts what a refused access would have tried before s->now */
uint64_t lsu_next(const struct sm *s);         /* cycle at which it has something to do; NEVER: nothing */
void lsu_reply(struct sm *s, const struct message *m);
void lsu_count(struct sm *s, const struct emu_event *e);       /* an instruction that accesses memory */
bool lsu_port_room(const struct sm *s);
bool lsu_send(struct sm *s, const struct packet *p, uint64_t ready);        /* ready: core cycle */
void lsu_expect(const struct sm *s, uint64_t until);           /* hints to the host before a window */
void lsu_access_done(struct sm *s, uint32_t load, uint64_t cycle);
/* side.c */
enum status side_create(struct side_cache *c, const struct timing_cache *spec, enum request_source source, enum timing_access_type type,
                        struct timing_cache_stats *stats, struct error *err) MUST_CHECK;
void side_destroy(struct side_cache *c);
uint64_t side_atom(const struct side_cache *c, uint64_t address);            /* the line or sector that it lies in */
/* WAITS: id is told when it is there. FULL: try again. */
enum side_result side_access(struct sm *s, struct side_cache *c, uint64_t address, uint32_t id);
void side_fill(struct side_cache *c, uint64_t address, void (*fn)(void *user, uint32_t id), void *user);
bool side_serve(struct sm *s, struct mem_op *m);             /* the next access of m; false: it must try again, and s->lsu_stuck says why */
void side_count_refused(const struct side_cache *c, enum timing_fail why, uint64_t times);
void side_reply(struct sm *s, struct side_cache *c, uint64_t address);            /* to such an access */
/* fetch.c */
enum status fetch_create(struct sm *s, struct error *err) MUST_CHECK;
void fetch_destroy(struct sm *s);
/* Whether the warp's next machine instruction is there, from w->from on; if not, the warp waits and is woken. Not for perfect fetch. */
bool fetch_has(struct sm *s, uint32_t slot);
void fetch_forget(struct sm *s, uint64_t slots);             /* their warps ended */
void fetch_cycle(struct sm *s);                              /* when s->fetch.wanted is not empty */
void fetch_reply(struct sm *s, uint64_t address);
/* constant.c */
enum status constant_create(struct sm *s, struct error *err) MUST_CHECK;
void constant_destroy(struct sm *s);
void constant_push(struct sm *s, struct mem_op *m, const struct lanes *in);  /* fills its accesses in */
/* texture.c */
enum status texture_create(struct sm *s, struct error *err) MUST_CHECK;
void texture_destroy(struct sm *s);
void texture_push(struct sm *s, struct mem_op *m, const struct emu_event *e);

/* ---- memory ------------------------------------------------------------------------------------------------------------------------- */

enum { HALVES = 2 };
struct waiting { uint64_t address, due; uint32_t packet; };    /* one sector of a packet; due: L2 cycle */
struct slice {
    uint32_t number;
    uint64_t next;                             /* L2 cycle at which it has something to do, if nobody does anything for it before */
    uint64_t counted;                          /* L2 cycle up to which it has counted what holds it up */
    uint8_t stuck;                             /* 1 + enum timing_fail that refuses the first of `rop` at every cycle; 0: it was not tried, or may go */
    bool awaits_fill;                          /* of what is stuck: room towards DRAM does not help it */
    bool stalled;                              /* packets wait for a grant, and there is no room */
    uint32_t n_waiting;                        /* packets that wait for a grant */
    uint32_t n_granted;                        /* packets that are in the slice */
    uint32_t grant;                            /* iSLIP: the SM asked first */
    uint32_t rop_room, rop_at, rop_n; struct waiting *rop;     /* ring: delay in front of the slice */
    uint64_t port_from;                        /* L2 cycle at which the data port is free */
    uint64_t out_from;                         /* interconnect cycle at which its port to the SMs is free */
    struct ring to_dram;                       /* misses and write-backs: sector address | write */
    struct ring from_dram;                     /* sector addresses */
    VEC(struct message) arrivals; size_t arrivals_at, arrivals_old;        /* sorted by time: not there yet */
    struct packet_list { uint32_t first, last; } *by_sm;   /* there, waiting for a grant: nodes */
    struct packet_node { uint32_t packet, next; } *nodes; uint32_t n_nodes, free_node;
    uint64_t *present;                         /* bit s: by_sm[s] is not empty */
    struct cache l2; struct mshr mshr;
    bool halved; struct cache near[HALVES];    /* halves.c */
    VEC(struct message) out[MAX_THREADS];      /* replies of this half window, by the host thread of the SM; ascending in time */
    VEC(struct message) far[MAX_THREADS];      /* those that cross to the other half */
    struct timing_slice_stats stats;
};
struct channel;
/* slice.c */
enum status slice_create(struct slice *l, const struct timing_gpu *g, uint32_t number, struct error *err) MUST_CHECK;
void slice_destroy(struct slice *l);
void slice_window(struct channel *c, struct slice *l);       /* a window begins: arrivals are there */
void slice_run(struct channel *c, struct slice *l);          /* cycle c->now */
void slice_count(struct channel *c, struct slice *l, uint64_t until);      /* what holds it up, in the cycles before `until` in which it did not run */
void slice_flush(struct slice *l);             /* drops all lines; what of them is dirty is written at no cost */
void slice_sent(struct channel *c, struct slice *l);         /* the channel has taken one of to_dram */
uint64_t slice_atom(const struct slice *l, uint64_t address);              /* the line or sector that it lies in */

/* halves.c: where the slice is halved */
enum status halves_create(struct slice *l, const struct timing_gpu *g, struct error *err) MUST_CHECK;
void halves_destroy(struct slice *l);
void halves_arrive(const struct timing_gpu *g, const struct slice *l, uint32_t handle, struct packet *p);              /* it was granted */
void halves_hit(const struct timing_gpu *g, struct slice *l, uint32_t handle, struct packet *p, uint64_t sector);      /* reads what is in the slice */
void halves_filled(const struct timing_gpu *g, struct slice *l, uint32_t handle, uint64_t sector);                     /* read what came from DRAM */
void halves_written(const struct timing_gpu *g, struct slice *l, uint32_t handle, uint64_t sector);

struct delayed { uint64_t due, address; uint32_t slice; bool write; };         /* due: L2 cycle */
struct channel {
    struct timing_gpu *gpu;
    uint32_t number;
    uint64_t now;                              /* L2 cycle */
    struct slice *slices;
    struct dram dram; struct ipoly bank_poly;
    uint64_t next;                             /* L2 cycle at which it has something to do, if nothing arrives */
    bool fresh;                                /* something arrived */
    uint64_t dram_from;                        /* before this cycle DRAM has nothing for the slices */
    uint64_t dram_delay, front_delay, atomic_delay, port_cycles;       /* L2 cycles: in front of DRAM, and of a slice; of an atomic; that a sector holds the data port */
    uint64_t way_back, crossing;               /* interconnect cycles of a reply; what a far one takes more, both ways */
    struct expected { uint64_t address; uint32_t slice; } expected[2];   /* reads that DRAM has issued: the host fetches what they will need, step by step */
    struct delayed *delay; uint32_t delay_room, delay_at, delay_n;     /* ring: dram.latency */
    uint32_t turn;                             /* slice asked first */
    uint32_t *granted;                         /* packets taken in this half window, by SM: of all channels of the host thread */
    uint64_t packets;                          /* replies sent ever */
    struct emu_worker *worker;                 /* of the host thread that runs it: performs atomics */
};
enum status channel_create(struct channel *c, struct timing_gpu *g, uint32_t number, struct error *err) MUST_CHECK;
void channel_destroy(struct channel *c);
void channel_run(struct channel *c, uint64_t until_core_cycle);
bool channel_idle(const struct channel *c);

/* ---- the GPU -------------------------------------------------------------------------------------------------------------------------- */

struct kernel {
    struct kernel *next;
    struct timing_kernel_spec spec;
    uint64_t visible;                          /* first cycle at which a CTA may start */
    uint64_t n_ctas, next_cta, ended_ctas;     /* ended: summed at window ends */
    uint32_t l1_ways;                          /* that the carve-out leaves */
    uint32_t per_sm, shared_limit;             /* CTAs of an SM; its shared memory as the carve-out has it */
    uint64_t started, ended;                   /* ended: cycle of its last CTA's end */
    uint64_t thread_insns, warp_insns;
};

struct timing_gpu {
    struct timing_config config;
    struct clocks clocks;
    struct addrmap map;
    struct coalescer coalescer;
    uint64_t now, window, until;               /* core cycles; until: the end of the present window */
    struct sm **stopped;                       /* room for sorting */
    struct sm *sms; uint32_t n_sms;
    struct channel *channels; uint32_t n_channels, n_slices;
    struct kernel *kernels, *ended;            /* resident, in order of start; ended ones to be taken */
    uint32_t group;                            /* SMs that one host thread runs together */
    bool returns;                              /* timing_gpu_return */
    unsigned n_threads;
    bool replies_taken;                        /* in this window */
    struct exchange { struct mail mail; uint32_t *granted; bool no_memory; char apart[64]; } exchange[MAX_THREADS];     /* of each host thread */
    struct timing_gpu_stats stats;
    struct code_table codes;
    struct team *team;                         /* host threads */
    struct emu_fault fault; bool faulted;
    bool judged;                               /* it is known what the last window has led to */
    bool (*halt)(void *user); void *halt_user; /* asked after each window; NULL: nobody is */
};
static inline unsigned thread_of_sm(const struct timing_gpu *g, uint32_t sm) { return g->n_threads == 1 ? 0 : sm / g->group % g->n_threads; }
void kernels_free(struct kernel **list);         /* checkpoint.c: all of a list, which is empty then */
void gpu_window(struct timing_gpu *g, uint64_t until);         /* all of it, to a cycle not further than a window away */

#endif
