/* emu: what an instruction does. Warps, lanes, divergence, memory spaces, device built-ins.
 *
 * Life of a kernel here:
 *     emu_image_create    a ptx_module gets addresses for its variables (one image per module and context)
 *     emu_kernel_get      decodes an entry function and everything it calls into records, once
 *     emu_grid_create     one launch: dimensions, parameter block, devices facts
 *     emu_cta_start/run   a CTA runs on a worker (= one host thread) until it is done, yields, or faults
 * emu never creates a thread, never prints, knows no stream and no cycle. Which CTA runs when is its user's affair.
 *
 * Threads: images and kernels are shared by all threads (decoding locks inside); a worker and the CTAs started on it
 * belong to one host thread at a time. Errors: `struct error`. Units: bytes; instruction counts are thread instructions
 * (one PTX instruction times active lanes) unless said otherwise. */
#ifndef HEDDLE_EMU_H
#define HEDDLE_EMU_H
#include "ptx/ptx.h"

/* ---- the address space (emu/space.c) -------------------------------------------------------------------------
 * A device pointer is a host address. One fixed range is reserved at start. The windows below are never backed by
 * memory: addresses in them are translated. Same in every run, so that traces, checkpoints and reports agree. */
#ifdef __SANITIZE_THREAD__                     /* TSan owns the usual place */
#define EMU_BASE          0x1000000000u
#define EMU_SPAN          0x6000000000u
#else
#define EMU_BASE          0x200000000000u
#define EMU_SPAN          0x020000000000u      /* 2 TiB, reserved without memory */
#endif
#define EMU_SHARED_WINDOW (EMU_BASE + 0x100000000u)   /* rank r of the cluster at + (r << 24) */
#define EMU_LOCAL_WINDOW  (EMU_BASE + 0x200000000u)   /* each thread sees its own local memory here */
#define EMU_CODE_WINDOW   (EMU_BASE + 0x300000000u)   /* function addresses: + 16 * function number */
#define EMU_WINDOW_BYTES  0x100000000u
#define EMU_HEAP          (EMU_BASE + 0x1000000000u)  /* allocations, from here up */

enum emu_range_kind { EMU_RANGE_DEVICE, EMU_RANGE_HOST, EMU_RANGE_MANAGED, EMU_RANGE_VARIABLE, EMU_RANGE_PARAM, EMU_RANGE_HEAP };

struct emu_range {                             /* one allocation: [lo, hi) exactly as asked for */
    uint64_t lo, hi;
    uint8_t kind;                              /* enum emu_range_kind */
    bool read_only;                            /* a store from a kernel is an error (parameter blocks) */
    bool watched;                              /* remember where kernels store: emu_space_written */
    uint16_t device;                           /* ordinal */
    char what[64];                             /* for reports: "cudaMalloc #12", "variable table" */
    void *owner;                               /* the runtime's, never looked at here */
};

struct emu_space;
/* Reserves the range, once a process; any thread. A caller that holds a lock of its own across fork calls it first: handlers run at
 * fork in the reverse order of their registration, so its lock is then taken before the table's, as everywhere else. */
enum status emu_space_reserve(struct error *err) MUST_CHECK;
/* Reserves the range where that is not done and makes an empty table. ST_OUT_OF_MEMORY when the range cannot be had. */
enum status emu_space_create(struct emu_space **out, struct error *err) MUST_CHECK;
void emu_space_free(struct emu_space *s);
/* The table has one lock inside: any thread may call these; a kernel's accesses look ranges up at any time. */
enum status emu_space_add(struct emu_space *s, const struct emu_range *r, struct error *err) MUST_CHECK;  /* overlap: ST_INVALID_VALUE */
bool emu_space_remove(struct emu_space *s, uint64_t lo, struct emu_range *was);      /* false: no range starts there */
bool emu_space_find(const struct emu_space *s, uint64_t address, struct emu_range *out);   /* the range that holds address */
bool emu_space_nearest(const struct emu_space *s, uint64_t address, struct emu_range *out); /* for reports; false: table empty */
bool emu_space_after(const struct emu_space *s, uint64_t address, struct emu_range *out);  /* the first range that ends behind address: to walk through all */
/* From now on multimem instructions at [lo, hi) are executed at bases[i] + (address - lo) for each of n. What else kernels do there is an error, unless it is in a range. */
enum { EMU_REPLICAS = 16 };
enum status emu_space_replicate(struct emu_space *s, uint64_t lo, uint64_t hi, const uint64_t *bases, uint32_t n, struct error *err) MUST_CHECK;
void emu_space_replicate_end(struct emu_space *s, uint64_t lo);
uint64_t emu_space_generation(const struct emu_space *s);  /* changes with every add and remove */
/* Watched ranges are cut at multiples of EMU_PIECE_BYTES; a piece counts as written once a kernel has stored, or was about to store, there. */
enum { EMU_PIECE_BYTES = 1 << 16 };
bool emu_space_any_written(const struct emu_space *s);     /* since the last forget; no lock */
/* Calls fn for each stretch of written pieces, in the order of addresses, with the table locked: fn asks nothing of the space. forget: they count as not
 * written from here on; only while no kernel runs. */
typedef void (*emu_written_fn)(void *user, uint64_t lo, uint64_t hi);
void emu_space_written(struct emu_space *s, bool forget, emu_written_fn fn, void *user);

/* ---- images and kernels ------------------------------------------------------------------------------------------ */

struct emu_image;
/* Gives *address, zeroed memory of v->bytes aligned to v->align, already added to the space. Called once per .global/.const variable that has storage. */
typedef enum status (*emu_place_fn)(void *user, const struct ptx_var *v, uint64_t *address, struct error *err);
/* Places variables, writes initialisers (function addresses included). m must outlive the image. */
enum status emu_image_create(struct emu_image **out, struct ptx_module *m, struct emu_space *space, emu_place_fn place, void *user,
                             struct error *err) MUST_CHECK;
void emu_image_free(struct emu_image *image);
struct ptx_module *emu_image_module(const struct emu_image *image);
bool emu_image_symbol(const struct emu_image *image, const char *name, uint64_t *address, uint64_t *bytes);   /* variables */

/* For debuggers and tests, before the first emu_kernel_get: keep_copies gives every PTX instruction a record of its own; keep_rows gives every register
 * a row of its own. */
void emu_image_tune(struct emu_image *image, bool keep_copies, bool keep_rows);

/* For timing models, before the first emu_kernel_get: strong accesses will be performed later than they issue (emu_warp_issue), so that what they read and
 * write must stay where it is. */
void emu_image_late(struct emu_image *image);

/* A host function that device code may call: emu/heddle_plugin.h. What it names lives as long as the process. */
struct emu_extern { void (*function)(void); const char *signature /* NULL: none is stated */, *library; };
/* Answers functions that the module declares and does not define. False: there is none of that name. */
typedef bool (*emu_extern_fn)(void *user, const char *name, struct emu_extern *out);
/* Before the first emu_kernel_get. A kernel that calls such functions `calls_host`. */
void emu_image_externs(struct emu_image *image, emu_extern_fn find, void *user);
struct heddle_plugin_host;
extern const struct heddle_plugin_host emu_plugin_host;        /* for the functions' library, see emu/heddle_plugin.h */

enum emu_policy { EMU_ITS, EMU_STACK };        /* divergence: independent thread scheduling, or the post-dominator stack */

struct emu_kernel;
/* Decodes (first time) the entry function and its callees. What the engine cannot execute decodes to a record that faults when reached;
 * a body that does not parse is an error here. */
enum status emu_kernel_get(struct emu_kernel **out, struct emu_image *image, uint32_t function, struct error *err) MUST_CHECK;

struct emu_kernel_facts {
    const char *name;
    uint32_t param_bytes, shared_bytes /* static */, local_bytes /* per thread */, const_bytes;
    uint32_t max_threads;                      /* .maxntid / .reqntid product, 0 = no limit stated */
    uint32_t req_threads[3], cluster[3];
    uint32_t max_cluster_rank;                 /* .maxclusterrank, 0 = no limit stated */
    bool explicit_cluster, blocks_are_clusters;    /* the directives of these names */
    uint32_t regs;                             /* estimate: 32-bit registers live at once; a cubin's number is better */
    uint32_t records;                          /* decoded, callees included */
    bool can_wait;                             /* has what a spin can wait on: atomics, volatile/relaxed/acquire loads, nanosleep */
    bool ordered;                              /* CTAs must run on one host thread for a result that does not depend on threads:
                                                  atomics whose result is used or whose operation does not commute (float add, exch, cas),
                                                  device malloc, printf, plug-ins, strong loads and stores, %clock */
    bool calls_host;                           /* printf, malloc, free, launches, plug-ins: what the host does depends on the order of their calls */
    bool launches;                             /* other kernels, by the device runtime */
};
void emu_kernel_facts(const struct emu_kernel *k, struct emu_kernel_facts *out);
/* What a declaration says by itself: nothing is parsed or decoded, the rest is 0. */
void emu_function_facts(const struct ptx_module *m, uint32_t function, struct emu_kernel_facts *out);

/* ---- a launch ------------------------------------------------------------------------------------------------------ */

struct emu_host {                              /* what device built-ins ask of the runtime; any of them may be NULL */
    void *user;
    void (*output)(void *user, const char *text, size_t n);        /* device printf, one call a printf */
    uint64_t (*heap_alloc)(void *user, uint64_t bytes);            /* device malloc: 16-byte aligned, in the space; 0 = exhausted */
    bool (*heap_free)(void *user, uint64_t address);               /* false: not a heap block */
    uint64_t (*time_ns)(void *user);                               /* %globaltimer */
    bool (*again)(void *user);                                     /* a debugger went back: what runs has run before */
    const struct emu_device_runtime *device;                       /* emu/device_runtime.h; NULL: kernels launch nothing */
    void *launcher;                                                /* which grid it is, for device */
    uint64_t graph;                                                /* %current_graph_exec */
};

struct emu_launch {                            /* everything a launch says; copied by emu_grid_create */
    uint32_t grid[3], block[3], cluster[3];    /* cluster 1,1,1 or 0,0,0 when there is none */
    bool explicit_cluster;                     /* somebody asked for a cluster, if only of one */
    uint32_t dynamic_shared_bytes;
    const void *params; uint32_t param_bytes;  /* laid out as the function's .param offsets say */
    uint64_t param_address;                    /* device address of a copy of params in the space (for cvta.param), or 0 */
    uint64_t grid_id;
    uint32_t envreg[32];                       /* %envreg0..31; a cooperative launch passes its workspace in 1 and 2 */
    bool cooperative;
    uint32_t n_sm, max_warps_per_sm, sm;       /* %nsmid, %nwarpid, and the compute capability * 10 */
    uint32_t max_shared_bytes;                 /* per CTA */
    uint32_t stack_bytes;                      /* cudaLimitStackSize: local memory for calls beyond the static need */
    uint8_t policy;                            /* enum emu_policy */
    bool parallel;                             /* several workers run this grid at once: atomics must be host atomics */
    struct emu_host host;
    /* For clusterlaunchcontrol: the number of a cluster (of a CTA, where there are none) that has not started and, once this answers true, never will:
     * the caller does its work. NULL: there is none. */
    bool (*claim)(void *user, uint64_t *index);
    void *claim_user;
};

struct emu_grid;
struct emu_worker;
struct emu_cta;

enum status emu_grid_create(struct emu_grid **out, struct emu_kernel *k, const struct emu_launch *launch, struct error *err) MUST_CHECK;
void emu_grid_free(struct emu_grid *g);
uint64_t emu_grid_ctas(const struct emu_grid *g);
uint64_t emu_grid_clusters(const struct emu_grid *g);          /* the same number when there are none */
/* %clock of the grid shows `now`, and from here on one more for each warp instruction that w runs. A kernel that reads it is `ordered`: whoever runs
 * its CTAs on one worker, and says here how many instructions the device ran before, gets the same values in every run. Between calls of emu_cta_run. */
void emu_grid_set_clock(struct emu_grid *g, struct emu_worker *w, uint64_t now);

enum status emu_worker_create(struct emu_worker **out, struct error *err) MUST_CHECK;     /* keeps scratch and recycled CTA memory */
void emu_worker_free(struct emu_worker *w);

/* CTA number `index` in ctaid order (x fastest), told that it is on SM `smid`. In a launch with clusters: cluster number `index` in clusterid order. Its CTAs
 * run together, on this worker, and one handle stands for them all; the CTA of rank r is told that it is on SM (smid + r) % n_sm. */
enum status emu_cta_start(struct emu_cta **out, struct emu_grid *g, struct emu_worker *w, uint64_t index, uint32_t smid, struct error *err) MUST_CHECK;
enum emu_result { EMU_DONE, EMU_YIELD, EMU_BLOCKED, EMU_FAULT, EMU_BREAK };
/* Runs until every thread has exited (DONE), about `quantum` warp instructions were issued (YIELD), nothing in the CTA can go on by itself
 * (BLOCKED: all wait at barriers that cannot complete: a deadlock unless a debugger helps), or a thread faulted. BREAK: a debugger's hook gave the run up. */
enum emu_result emu_cta_run(struct emu_cta *cta, struct emu_worker *w, int64_t quantum);
void emu_cta_free(struct emu_cta *cta, struct emu_worker *w);
/* The CTA of a rank in the cluster that cta stands for; NULL: there is none. For who runs warps one by one, below: never given to emu_cta_run or _free. */
struct emu_cta *emu_cta_of_rank(struct emu_cta *cta, uint32_t rank);

struct emu_counters { uint64_t thread_insns, warp_insns, ctas; };
void emu_worker_counters(const struct emu_worker *w, struct emu_counters *out);           /* since the worker was made */

/* The first fault of a worker's last run: code and a report of several lines (kernel, block, thread, instruction, source line, address, nearest
 * allocation). Valid until the next emu_cta_run on w. */
struct emu_fault {
    enum status status;
    uint32_t ctaid[3], tid[3];
    char report[1400];
};
const struct emu_fault *emu_worker_fault(const struct emu_worker *w);
/* One line per warp that waits: where and for what. For deadlock reports. */
void emu_cta_explain(const struct emu_cta *cta, char *buf, size_t n);

const char *emu_isa_name(void);                /* "AVX-512", "AVX2" or "baseline": the lane handlers in use; HEDDLE_ISA overrides */

/* ---- one instruction at a time: for timing, tracing, debugging (emu/step.c) ------------------------------------------------------------------ */

struct emu_event {                             /* what an instruction did */
    const struct ptx_function *function;
    const struct ptx_insn *insn;               /* the PTX instruction */
    uint32_t mask;                             /* lanes that executed it */
    uint8_t space;                             /* enum ptx_space after resolving generic; memory operations only */
    uint8_t bytes;                             /* per lane; 0 = no memory operation */
    bool store, atomic;
    bool strong;                               /* atomic, volatile, relaxed, acquire or release, to global memory: takes effect where the memory system says */
    uint32_t lanes;                            /* that have an address: those of mask, or as many as a matrix has rows */
    const uint64_t *address;                   /* 32 generic addresses; valid until the next call on the worker */
};

/* The next instruction of a warp. EMU_YIELD: there is one; EMU_BLOCKED: it waits for a barrier or other lanes; EMU_DONE; EMU_FAULT: no memory.
 * Lanes that wait for others are let go where nothing else can go on (independent thread scheduling), which is all that changes. */
struct emu_next { const struct ptx_function *function; uint32_t insn /* index */, mask; };
enum emu_result emu_warp_peek(struct emu_cta *cta, struct emu_worker *w, uint32_t warp, struct emu_next *out);

/* Executes the next instruction and says what happened. */
enum emu_result emu_warp_step(struct emu_cta *cta, struct emu_worker *w, uint32_t warp, struct emu_event *out);

/* As emu_warp_step, at `cycle` (what %clock reads; not 0), but a strong access to global memory is only checked and addressed: pending says what is left
 * to do, and out->strong is set. The registers that it reads or writes must not be used by the warp, and no call or return executed, before it was performed.
 * *patience: how many branches the running lanes may take before other lanes of the warp get their turn; the caller keeps it with the warp, 0 at first. */
struct emu_pending { struct emu_cta *cta; const void *record; char *frame; uint32_t warp, mask; };
enum emu_result emu_warp_issue(struct emu_cta *cta, struct emu_worker *w, uint32_t warp, uint64_t cycle, int32_t *patience, struct emu_event *out,
                               struct emu_pending *pending);
/* Performs a pending access for some of its lanes. Any worker of the host thread that calls; different lanes may be performed by different threads at once. */
enum emu_result emu_warp_perform(const struct emu_pending *pending, struct emu_worker *w, uint32_t lanes);

#endif
