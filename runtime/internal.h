/* What the files of runtime/ share and nobody else sees.
 *
 * Locks, in the order they may be taken:  the.code  >  preparing (launch.c)  >  the.lock  >  the.memory  >  the.handles
 *     the.lock     streams, operations, events, contexts' lists, waiters
 *     the.memory   the address space's free lists and allocation records, pools, mappings
 *     the.code     loading modules and libraries
 *     the.handles  free lists of objects
 * No lock is held while a kernel, a copy or a host function runs. */
#ifndef HEDDLE_RUNTIME_INTERNAL_H
#define HEDDLE_RUNTIME_INTERNAL_H
#include <pthread.h>
#include <stdatomic.h>

#include "emu/emu.h"
#include "ptx/cubin.h"
#include "runtime/base/log.h"
#include "runtime/base/vec.h"
#include "runtime/runtime.h"

struct object { uint32_t magic; uint8_t kind; struct object *next_free; uint64_t number /* in the order of making */; };   /* first member of everything that rt_is knows */
void *object_new(enum rt_kind kind);                    /* zeroed; NULL: no memory */
void object_free(void *o);

/* ---- devices and the process ---- */

enum { MAX_DEVICES = 16, MAX_WORKERS = 256 };

struct device {
    int ordinal;                                        /* as the program counts */
    int number;                                         /* as the machine counts: CUDA_VISIBLE_DEVICES may hide some */
    const struct rt_device_facts *facts;
    struct rt_context *primary;                         /* the object always exists; active while retained > 0 */
    uint32_t primary_flags;
    unsigned retained;
    struct timing_gpu *gpu;                             /* NULL: functional mode, or nothing was launched yet */
    _Atomic uint64_t sim_ns;                            /* simulated time */
    uint64_t slice_end;                                 /* core cycle: of the slice that a checkpoint interrupts; 0: none is */
    uint64_t used_bytes, peak_bytes;                    /* under the.memory */
    struct rt_pool *default_pool, *current_pool;
};

struct runtime {
    pthread_mutex_t lock, memory, code, handles;
    atomic_int state;                                   /* 0 not started, 1 started, 2 forked away */
    struct emu_space *space;
    struct device devices[MAX_DEVICES];
    int n_devices, n_workers;
    int pid;
    atomic_bool leaving;                                /* exit() has begun */
    bool quiet;
    struct rt_context *contexts;                        /* all live ones, through next */
    uint64_t next_id;                                   /* contexts, streams: under the.lock */
};
extern struct runtime the;

enum status plugins_load(struct error *err) MUST_CHECK; /* the libraries of the setting `plugin`; once */
bool plugins_find(void *user, const char *name, struct emu_extern *out);       /* for emu_image_externs */

enum status device_make(struct device *d) MUST_CHECK;   /* primary context object and default pool */
struct device *device_at(int ordinal);                  /* NULL: none */
void device_uuid(const struct rt_device_facts *gpu, int number, uint8_t uuid[16]);
/* visible.c: what a program sees of n devices when CUDA_VISIBLE_DEVICES is `list` (NULL: not set): their count, and their numbers in order. */
int visible_devices(const char *list, const struct rt_device_facts *gpu, int n, int number[MAX_DEVICES]);
uint64_t now_ns(void);                                  /* monotonic */
/* Of this process's threads, summed: how long they ran, and how long they were ready and had no processor, until they last got one; ready: another than the caller
 * runs, stands in line, or waits for a disk. 0 where the system does not count it. */
struct host_share { uint64_t ran_ns, starved_ns; bool ready; };
struct host_share threads_share(void);

/* ---- contexts ---- */

struct store { void *key, *value; rt_dtor dtor; };

struct device_heap {                                    /* malloc and free inside kernels */
    pthread_mutex_t lock;
    uint64_t base, bytes, top;                          /* top: next never used byte */
    uint64_t free_head[40];                             /* per power of two */
};

struct rt_context {
    struct object object;
    struct rt_context *next;
    struct device *device;
    uint32_t flags;
    uint64_t id;
    bool is_primary, dead;
    atomic_int sticky;                                  /* enum status */
    struct rt_stream *legacy;
    struct rt_stream *streams;                          /* all, through next_in_context */
    struct rt_stream *gate;                             /* what new streams wait for, see rt_context_wait; NULL: nothing ever */
    struct rt_event *events;
    struct rt_module *modules;                          /* under the.code */
    size_t limits[RT_LIMITS];
    size_t pending_launches, pending_tails;             /* of kernels that kernels launched, not begun yet: nest.h. Under the.lock */
    int settings[RT_SETTINGS];
    VEC(struct rt_context *) peers;
    VEC(struct store) stores;
    struct device_heap heap;
    pthread_mutex_t output_lock;
    VEC(char) output;                                   /* device printf text not yet on stdout */
};
enum status context_status(const struct rt_context *c); /* sticky, or ST_CONTEXT_IS_DESTROYED */
/* Waits for all of its work before something goes that the work may use. Captured work is not there yet: only modes of capture that forbid unsafe calls are in the way. */
enum status context_finish(struct rt_context *c);
void context_poison(struct rt_context *c, enum status st);
void context_flush(struct rt_context *c);               /* printf text to stdout; called at synchronisation */
void context_output(void *context, const char *text, size_t n);
uint64_t heap_alloc(void *context, uint64_t bytes);     /* device malloc */
bool heap_free(void *context, uint64_t address);
struct sink; struct source;
void heap_keep(const struct device_heap *h, struct sink *to);  /* for a debugger: who has which block, as bytes; what was never given out since is zero again, other */
void heap_put_back(struct device_heap *h, struct source *from); /* contents are left alone */
void context_free_modules(struct rt_context *c);
void context_free_memory(struct rt_context *c);
void context_free_arrays(struct rt_context *c);         /* not their memory */
void context_free_textures(struct rt_context *c);
void texref_forget_module(struct rt_module *m);         /* its variables go */
void context_free_events(struct rt_context *c);
void library_forget_context(struct rt_context *c);      /* under the.code */

/* ---- memory ---- */

struct allocation {                                     /* one per range in the space that the runtime made */
    struct allocation *next, *prev;
    uint64_t base, bytes;                               /* as asked */
    uint64_t block, block_bytes;                        /* what heap.c gave; 0: not ours (registered) */
    struct rt_context *context;
    struct device *device;
    enum rt_memory_kind kind;
    uint32_t flags;
    uint64_t id, charged_bytes;                         /* charged to the device */
    struct rt_pool *pool;
    struct graph_memory *graph;                         /* of a graph's alloc node; NULL: not */
    struct advice_list *advice;                         /* NULL: none was given */
    bool sync_memops, freeing;                          /* freeing: rt_free_async was called */
    uint32_t opens;                                     /* of another process's memory: how often it was opened; 0: our own */
    uint64_t file_at;                                   /* in the file that shares it: of a pool's, or of another process's; 0: in none */
    uint64_t file_id;                                   /* of another process's */
};

/* Address blocks inside the emulator's range. Zeroed, committed when touched. Under the.memory. */
enum block_side { BLOCK_DEVICE, BLOCK_HOST };              /* what the host writes at any time shares no 2 MiB with what only the device writes: share.c */
uint64_t block_get(uint64_t bytes, enum block_side side, uint64_t *got_bytes);    /* 0: address space exhausted. 512-byte aligned; from 2 MiB on 2 MiB aligned */
void block_put(uint64_t block, enum block_side side, uint64_t block_bytes);
bool block_take(uint64_t block, enum block_side side, uint64_t block_bytes);     /* a certain one, as block_get gave it in another run; false: it is not free */
uint64_t block_get_high(uint64_t bytes);                /* from the other end of the range, for good; 0: none. For what comes at times that no program decides */
/* What is free, for a checkpoint, and as it was there: blocks that programs get behind it have the addresses that they would have had. False: it makes no sense with
 * the ranges that there are, and nothing has changed. */
struct sink;
struct source;
void block_save(struct sink *to);
bool block_load(struct source *from);
bool block_take_high(uint64_t block, uint64_t bytes);   /* after block_load, one that block_get_high had given; false: it had not */

enum block_side memory_side(enum rt_memory_kind kind);

struct allocation_request {
    struct rt_context *context; struct device *device; enum rt_memory_kind kind;
    uint64_t bytes; uint32_t flags; struct rt_pool *pool;
    const char *what;                                   /* for reports: "cudaMalloc"; NULL: from kind */
    uint64_t block, block_bytes, base;                  /* memory that is there already: of a block whose owner the record becomes. 0: make it */
    bool imported;                                      /* another process's: charged to nobody here */
};
enum status allocation_make(struct allocation **out, const struct allocation_request *r, struct error *err) MUST_CHECK;
void allocation_drop(struct allocation *a);             /* no waiting */
void allocations_visit(void (*fn)(void *user, const struct allocation *a), void *user);     /* newest first, under the.memory */
struct allocation *allocation_at(uint64_t base);        /* that starts there; takes the.memory */
void advice_drop(struct advice_list *l);
struct allocation *allocation_first(void);              /* of all, through next; under the.memory */
void pool_account_free(struct allocation *a);           /* under the.memory */

/* Memory that other processes can map (share.c): a file without a name. Its first page says what it is, its data begins at SHARE_DATA. */
enum share_kind { SHARE_MEMORY = 1, SHARE_PHYSICAL, SHARE_POOL, SHARE_EVENT };
struct share_header { uint64_t magic, bytes; uint32_t kind, device; };      /* device: its number in the machine */
enum { SHARE_DATA = RT_GRANULARITY, SHARE_EVENT_AT = 64 };
int share_create(enum share_kind kind, const struct device *d, uint64_t bytes);     /* a file descriptor; -1: no memory */
bool share_read(int fd, enum share_kind kind, struct share_header *out);
struct device *share_device(const struct share_header *h);          /* ours with that number; NULL: none is visible */
bool share_map(uint64_t at, uint64_t bytes, int fd, uint64_t offset);       /* over what is at `at` */
void share_forget(uint64_t at, uint64_t bytes);         /* the block goes; under the.memory */
struct rt_share;
void share_ticket(struct rt_share *out, enum share_kind kind, int fd, uint64_t offset, uint64_t bytes);      /* a handle for a place in the file */
enum status share_open(const struct rt_share *handle, enum share_kind kind, int *fd) MUST_CHECK;             /* ST_INVALID_HANDLE */
bool share_is_own(const struct rt_share *handle);       /* of this process */
struct share_place { uint64_t offset, bytes; };
bool share_place(const struct rt_share *handle, enum share_kind kind, int fd, struct share_place *out);       /* a place in that very file, inside of it */

enum place { PLACE_BAD, PLACE_PAGEABLE, PLACE_HOST, PLACE_DEVICE };
enum place memory_place(uint64_t address, uint64_t bytes);  /* BAD: inside our range but not inside an allocation */

/* ---- streams ---- */

enum op_kind { OP_COPY, OP_SET, OP_RECORD, OP_WAIT_EVENT, OP_WAIT_VALUE, OP_WRITE_VALUE, OP_FREE, OP_HOST, OP_CALLBACK, OP_LAUNCH, OP_CONDITION };

struct set { uint64_t dst, pitch; uint32_t value, elem_bytes; uint64_t width, height; };
struct launch_op {
    struct rt_function *function;
    uint32_t grid[3], block[3], cluster[3], dynamic_shared_bytes, param_bytes;
    bool explicit_cluster;                              /* somebody asked for it */
    uint64_t params;                                    /* device address of the block; 0: none */
    bool cooperative;
    struct grid_run *run;
    struct graph_env *env;                              /* NULL: its kernel can launch no graphs (graph_device.c) */
    struct nest *nest;                                  /* what its kernel launched (nest.h); NULL: nothing */
    bool nested; uint32_t depth;                        /* a kernel launched it, at which depth; then also: */
    uint32_t slot_bytes;                                /* the room for parameters that it asked for */
    uint64_t ready_cycle;                               /* on the simulated GPU */
};

struct condition_op {                                   /* stays at the head of its stream while a body runs in another, of its own */
    struct rt_node *node;                               /* NULL: the bodies are the graphs that kernels launch from env */
    struct graph_hold *hold;                            /* what the node is of */
    struct graph_env *env;                              /* what bodies run in */
    struct rt_stream *body;                             /* NULL: none has begun */
    uint64_t body_seq;
    bool ran;
};

struct op {
    struct op *next;
    struct op *next_ready;                              /* nest.c */
    struct rt_stream *stream;
    uint64_t seq;                                       /* order of enqueueing in the process */
    uint8_t kind;
    bool started;                                       /* a grid or host function under way */
    void *owned;                                        /* staging buffer, free()d with the operation */
    uint64_t call; uint32_t step; bool held;            /* checkpoint/host.h: who enqueued it, and whether a replay must not run it */
    union {
        struct rt_copy copy;
        struct set set;
        struct rt_event *record;
        struct { struct rt_stream *stream; uint64_t seq; } wait;     /* for an operation of another stream */
        struct { uint64_t address, value; uint32_t bytes; enum rt_compare how; } value;
        struct allocation *allocation;
        struct { rt_host_fn host; rt_callback_fn callback; void *handle, *user; } call;
        struct launch_op launch;
        struct condition_op condition;
    } u;
};

enum { RT_STREAM_HINTS = 4 };                           /* attributes that are kept */

struct rt_stream {
    struct object object;
    struct rt_context *context;
    struct rt_stream *next_in_context;
    struct rt_stream *next_active, *prev_active;        /* ring of streams with work */
    uint32_t flags;
    int priority;
    uint64_t id;
    bool is_legacy, destroyed;
    bool helper;                                        /* green.c's own: no program knows it */
    struct op *head, *tail;
    unsigned char attributes[RT_STREAM_HINTS][RT_STREAM_ATTRIBUTE_BYTES];
    struct stream_capture *capture;                     /* graph_capture.c; NULL: not capturing */
    struct rt_green *green;                             /* green.c; NULL: of none */
    struct nest_stream *nested;                         /* a running kernel's own; NULL: the host's */
};

struct rt_event {
    struct object object;
    struct rt_context *context;
    struct rt_event *next, *prev;
    uint32_t flags, refs;                               /* refs: record operations under way */
    bool destroyed;
    struct rt_stream *stream;                           /* of the newest record, NULL: never recorded; compared by seq, so it may be gone */
    uint64_t seq;
    uint64_t time_ns;                                   /* when the newest record happened */
    struct event_capture *captured;                     /* the newest record was captured */
    struct event_share *share;                          /* what processes know of it together (event_share.c); NULL: it is ours alone */
    uint64_t share_seq;                                 /* the number there of our newest record */
    int share_fd;                                       /* its file; -1: another process's */
};

/* All under the.lock unless said otherwise. */
struct op *op_new(struct rt_stream *s, enum op_kind kind);  /* NULL: no memory */
void op_drop(struct op *op);                            /* one that was not pushed */
bool op_value_ready(const struct op *op);               /* what an OP_WAIT_VALUE waits for is so */
void op_value_write(const struct op *op);
enum status stream_follow(struct rt_stream *s, struct rt_stream *first);   /* s goes on when what first has been given is done */
void op_push(struct op *op);                            /* wakes the simulation thread */
bool stream_idle(const struct rt_stream *s);            /* an operation enqueued now could run at once */
void stream_wait(struct rt_stream *s);                  /* for all that was enqueued so far and s depends on; lets go of the lock meanwhile */
void context_wait(struct rt_context *c);
void context_wind_up(struct rt_context *c);             /* before its things are freed: waits, or, when the process is leaving, abandons */
void fifo_wait(struct rt_stream *s, uint64_t seq);      /* for one operation and those before it in its stream */
bool fifo_clear(const struct rt_stream *s, uint64_t seq);
uint64_t seq_next(void);                                /* a number for something done without an operation */
void stream_free_all(struct rt_context *c);             /* after context_wait */
void record_happened(struct rt_event *e, uint64_t seq);
void event_unref(struct rt_event *e);
/* Events of several processes (event_share.c); of those that have a share, under the.lock. */
void event_share_recorded(struct rt_event *e);          /* a record was enqueued */
void event_share_happened(struct rt_event *e);          /* our newest one happened */
bool event_share_foreign(const struct rt_event *e, uint64_t *seq);      /* the newest record, number *seq, is another process's and not done */
const uint64_t *event_share_done(const struct rt_event *e);      /* what numbers are done; it stays mapped */
void event_share_drop(struct rt_event *e);
void copy_run(const struct rt_copy *c);
void op_move(struct op *op);                             /* what a copy or fill of a queue does to memory; outside the.lock */
void copies_hold(void);                                 /* by threads that do their own; returns when none is under way. Under the.lock, which they then wait for */
void copies_let(void);
void set_run(const struct set *s);
/* Host functions (callbacks.c): one goes to its thread, which gives it back. Under the.lock. False: no memory, no thread. */
bool call_hand_over(struct op *op);
void call_finished(struct op *op);
bool thread_start(pthread_t *t, void *(*fn)(void *));    /* takes no signals */
void streams_enter(void);                               /* the calling thread is one of ours: it never waits for room in the queues */
void streams_pause(void);                               /* until streams_resume, with the.lock held, nothing of the device runs: no kernel, no copy, no fill */
void streams_resume(void);
void queue_each(void (*fn)(void *user, struct op *op), void *user);     /* all operations in queues */
/* Whose turn is next, for checkpoints: ids of streams with work from the one served last on, launches that run, and the place of the one whose turn it is. */
struct queue_turns { VEC(uint64_t) streams; VEC(struct op *) running; size_t turn; };
bool queue_turns(struct queue_turns *out);              /* false: no memory. queue_turns_free */
void queue_turns_free(struct queue_turns *t);
void queue_turns_set(const struct queue_turns *t);      /* what is not in t comes last; that launch goes on before anything else begins */
bool queue_quiet(void);                                 /* no kernel has begun and nobody executes operations */
void queue_wake(void);                                  /* what may run has changed */
void queue_ask(void);                                   /* under the.lock: the host asks how far the device is, for which simulated time goes on a little */
void queue_settle(void);                                /* until nothing is left that may run; without the.lock, by a thread that nothing waits for */
bool queue_callbacks_idle(void);                        /* no host function is at work; without the.lock */
void streams_stop(void);                                /* process exit: the simulation thread ends; what it had is abandoned */
bool streams_in_simulation(void);                       /* the calling thread is the simulation or callback thread */
size_t streams_left(void);                              /* launches that never ran, after streams_stop */

/* ---- graphs ---- */

enum status launch_check(const struct rt_launch *l, struct error *err) MUST_CHECK;     /* what rt_launch checks; stream may be NULL */
void launch_params(void *block, const struct rt_launch *l);     /* its parameters as one block */
enum status copy_check(const struct rt_copy *c) MUST_CHECK;     /* ST_INVALID_VALUE: not memory, bad pitches */
enum status set_check(const struct set *s) MUST_CHECK;
enum status graph_memory_free(struct graph_memory *m);  /* the program's free, or a node's. ST_INVALID_VALUE: it is not allocated now */

enum status values_check(const struct rt_value_op *ops, size_t n) MUST_CHECK;
/* A turn of an OP_CONDITION that is ready; both without locks. False: it is over, and done is called. */
bool graph_condition_ready(const struct op *op);        /* under the.lock */
bool graph_condition_turn(struct op *op);
void graph_condition_done(struct op *op);
/* Graphs that kernels launch (graph_device.c). */
struct graph_asked { uint64_t graph, stream; };         /* as a kernel gave them to cudaGraphLaunch */
/* by: the kernel's launch. may: what launch would answer, were what it asked for before done. Under the.lock. */
enum status graph_device_may(const struct op *by, uint64_t graph, uint64_t stream, const struct graph_asked *before, size_t n) MUST_CHECK;
enum status graph_device_launch(const struct op *by, uint64_t graph, uint64_t stream) MUST_CHECK;
bool graph_device_waits(void);                          /* some are to begin. Under the.lock */
void graph_device_begin(void);                          /* gives the first of them a stream. Without locks */
uint64_t graph_device_current(const struct op *op);     /* the handle of the graph that a kernel runs in; 0: of none that kernels can launch */

/* Capture. Functions that enqueue ask capture_any() first, which costs nothing while no stream captures. */
extern atomic_int captures_active;
static inline bool capture_any(void) { return atomic_load_explicit(&captures_active, memory_order_relaxed) != 0; }
struct rt_node_params; struct rt_graph;
/* True: s captures (p is a node of its graph now), or is the legacy stream beside one that does; *st is the call's answer. */
bool capture_take(struct rt_stream *s, struct rt_node_params *p, struct error *err, enum status *st);
bool capture_record(struct rt_event *e, struct rt_stream *s, enum status *st);
bool capture_wait(struct rt_stream *s, struct rt_event *e, enum status *st);
/* The answer to what cannot be captured; not ST_OK: the capture is invalid now. */
enum status capture_refuse(struct rt_stream *s);
enum status capture_refuse_context(const struct rt_context *c);
enum status capture_refuse_event(struct rt_event *e);
enum status capture_refuse_unsafe(void);                /* allocation and what else may synchronise, by the modes of captures and thread */
void graph_drop(struct rt_graph *g);
bool capture_goes_to(const struct rt_graph *g);
void capture_forget_event(struct rt_event *e);
struct rt_graph *capture_forget_stream(struct rt_stream *s);     /* a graph that nobody can get now, or NULL */
void graph_memory_lost(struct graph_memory *m);         /* its allocation goes with the context; under the.memory */

/* ---- code ---- */

struct code {                                           /* a parsed image, shared by the modules made of it. Under the.code */
    unsigned refs;
    struct ptx_module *ptx;
    struct cubin cubin;
    bool has_cubin;
    char name[96];
};
enum status code_load(struct code **out, const void *image, size_t bytes, const char *name, unsigned gpu, struct error *err) MUST_CHECK;
void code_unref(struct code *c);
enum status module_make(struct rt_module **out, struct rt_context *c, struct code *code, struct rt_library *l, struct error *err) MUST_CHECK;

struct placed { const struct ptx_var *variable; uint64_t address; };
struct variable_key { uint32_t function /* UINT32_MAX: of the module */, index; };
struct placed_again { struct variable_key key; uint64_t address; };
struct rt_module {
    struct object object;
    struct rt_module *next, *prev;                      /* of the context */
    struct rt_context *context;
    struct rt_library *library;                         /* NULL: loaded by itself */
    struct code *code;
    struct emu_image *image;
    struct rt_function **slots; size_t n_slots;         /* by index in ptx->functions; NULL: not asked for yet */
    bool launches_graphs;                               /* functions of it may */
    VEC(struct allocation *) variables;
    VEC(struct placed) placed;                          /* all that the image asked a place for: checkpoints put them there again */
    VEC(struct placed_again) again;                     /* of a checkpoint: where everything has to go; empty: anywhere */
};
struct variable_key module_variable_key(const struct ptx_module *m, const struct ptx_var *v);
/* As module_make with places for all variables, which are mapped and in the space. */
enum status module_make_again(struct rt_module **out, struct rt_context *c, struct code *code, struct rt_library *l, const struct placed_again *where, size_t n,
                              struct error *err) MUST_CHECK;
enum status library_place(struct rt_library *l, struct rt_context *c, const struct ptx_var *v, uint64_t *address, struct error *err) MUST_CHECK;
struct rt_function *module_function_at(struct rt_module *m, uint32_t index);
void module_unload(struct rt_module *m);                /* waits for the context's work */

struct rt_function {
    struct object object;
    struct rt_module *module;
    uint32_t index;                                     /* in ptx->functions */
    struct emu_kernel *kernel;                          /* NULL until first needed */
    struct emu_kernel_facts facts;                      /* once known; those that need decoding only if there is no cubin to say them */
    bool known;
    bool ordered, can_wait, calls_host, launches; uint32_t shared_bytes;        /* of the decoded kernel, once ready */
    const struct cubin_kernel *cubin;
    uint32_t regs, max_threads;
    uint32_t max_dynamic_shared_bytes;
    int carveout;
    uint32_t cluster[3];
    bool non_portable;
    int cluster_policy;
};
/* The cluster of a launch: what it asks for (0,0,0: nothing), else what the kernel was compiled for, else what cuFuncSetAttribute said, else one block. Ready functions. */
struct cluster_choice { uint32_t ctas[3]; bool asked; };
enum status function_cluster(const struct rt_function *f, const uint32_t asked[3], struct cluster_choice *out, const char *name, struct error *err) MUST_CHECK;
/* What can be said of a launch without its parameters; the function is ready then. */
enum status launch_check_nested(const struct rt_launch *l, struct cluster_choice *cluster, struct error *err) MUST_CHECK;
/* Both thread-safe and cheap when done, and they do not ask for the.code, which who waits for kernels may hold. Known: what is asked about a kernel; ready: decoded, so that it can run. Libraries ask about hundreds of kernels
 * and launch a few. */
enum status function_known(struct rt_function *f, struct error *err) MUST_CHECK;
enum status function_ready(struct rt_function *f, struct error *err) MUST_CHECK;
uint32_t function_ctas_per_sm(const struct rt_function *f, uint32_t block_threads, uint64_t dynamic_shared_bytes);
uint64_t function_shared_limit(const struct rt_function *f);                       /* of a ready function */

uint64_t params_get(uint32_t bytes, bool nested);       /* a parameter block in the space, that kernels may write if nested; 0: no memory. Under the.lock */
void params_put(uint64_t address, uint32_t bytes, bool nested);
/* All of it for a checkpoint, and as it was there: params_forget, block_load, params_load, with nobody using any. Under the.lock and the.memory. */
void params_save(struct sink *to);
void params_forget(void);
bool params_load(struct source *from);                  /* false: it makes no sense */

/* ---- running grids (dispatch.c): simulation thread only ---- */

enum slice { SLICE_AGAIN, SLICE_DONE, SLICE_FAULT, SLICE_HALTED /* by sim_due, in the middle: the turn goes on after the checkpoint */ };
enum status grid_begin(struct op *op, struct error *err) MUST_CHECK;
enum slice grid_slice(struct op *op);                   /* a turn: to the end, or until everything resident waits */
void grid_end(struct op *op);
enum status grid_status(const struct op *op);           /* of a fault */
void dispatch_stop(void);                               /* ends the helper workers */
void dispatch_quit(void);                               /* grid_slice returns soon; any thread */

/* ---- the simulated GPU (sim.c): simulation thread only, but for the clock ---- */

struct sim_launch {                                     /* a kernel that the timing model runs */
    const char *name; uint64_t stream;
    bool done;
    uint64_t cycles, thread_insns, warp_insns, ctas;
    struct emu_fault fault;
    struct rt_sms sms;                                  /* that may run it, of a stream of a green context */
};
bool sim_on(void);
/* Hands a kernel to the device's timing model. regs, threads, shared_bytes: of one CTA, as timing.h has them. */
struct grid_run;
enum status sim_start(struct device *d, struct grid_run *r, const struct launch_op *o, const struct rt_stream *s, struct error *err) MUST_CHECK;
enum emu_policy sim_policy(struct device *d);           /* of divergence, as the configuration has it */
enum slice sim_slice(struct device *d, struct sim_launch *l);      /* some thousand cycles, or to the end of a kernel */
uint64_t device_now_ns(const struct device *d);         /* simulated time, or the host's */
bool sim_ready(struct device *d);                       /* there is a timing model now, or a log message says why not */
void sim_pass(struct device *d, uint64_t cycle);        /* time goes on to this core cycle, unless kernels run: they make it go on */
/* transfer.c: copies and fills take simulated time; under the.lock, by the thread that drives. */
bool transfer_begin(struct op *op);                     /* it was done; false: it takes no time, and has ended */
bool transfers_any(void);
uint64_t transfers_next(const struct device *d);        /* core cycle at which the first of the device's ends; UINT64_MAX: none */
struct sink; struct source;
void transfers_save(struct sink *to);                   /* for a checkpoint; begun again by their operations, they end when they would have ended */
bool transfers_restore(struct source *from);
struct op *transfer_ended(bool alone);                  /* one whose time is over, NULL: none. alone: no kernel runs, so that time goes on to the end of one */
void sim_stop(void);
/* For the debugger: see grid_residents; the state of an SM's pipeline as lines of text, to be freed, NULL: there is no such SM. */
size_t sim_residents(const struct device *d, uint64_t grid_id, struct emu_cta **out, size_t n);
bool sim_inside(void);                                  /* a simulated GPU is in the middle of a window: its state cannot be saved now */
char *sim_describe(const struct device *d, uint32_t sm);
/* sim_report.c: what the settings stats, stats_file and out ask for. */
enum status report_open(struct device *d, struct error *err) MUST_CHECK;
void report_kernel(struct device *d, const struct sim_launch *l);
uint64_t report_next_sample(const struct device *d);    /* cycle of the next sample; UINT64_MAX: none are wanted */
void report_sample(struct device *d);                   /* when its cycle has come */
void report_close(struct device *d);                    /* the end of the run */
void report_save(const struct device *d, struct sink *to);     /* what it counts from, for a checkpoint */
bool report_restore(struct device *d, struct source *from);

/* ---- summary ---- */
void summary_kernel(const struct emu_counters *c, uint64_t ns);     /* simulation thread */
void summary_cycles(uint64_t cycles);                   /* of a kernel on the simulated GPU */
void summary_progress(const char *kernel, uint64_t done, uint64_t total, uint64_t started_ns);
bool summary_progress_due(uint64_t started_ns, uint64_t every_ns);     /* is there a terminal, and time for the next line? */
void summary_sim_progress(const char *kernel, uint64_t done, uint64_t total, uint64_t started_ns, uint64_t cycle, uint64_t warp_insns);
void summary_subject(const char *path);                 /* a checkpoint: instead of the program that the process is */
void summary_print(void);

#endif
