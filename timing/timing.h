/* timing: the simulated GPU in cycles.
 *
 * Its user (runtime/sim.c) makes a GPU from a configuration, hands it kernels, and lets it run:
 *
 *     timing_gpu_create -> timing_kernel_start ... -> timing_gpu_run until a kernel ended -> timing_kernel_take
 *
 * timing decides when things happen; emu decides what. It computes no value that a program can see but the clock.
 *
 * Inside, SMs advance by windows of some hundred cycles, then L2 slices and DRAM advance by the same window, in turn; messages carry their time. SMs are
 * spread over host threads, and so are memory channels. Nothing depends on how: cycles and statistics are the same for any number of threads.
 *
 * Units: core cycles unless a name says otherwise. One thread at a time may use a GPU; it has helper threads of its own. */
#ifndef HEDDLE_TIMING_H
#define HEDDLE_TIMING_H
#include "emu/emu.h"
#include "timing/config.h"
#include "timing/lowering.h"
#include "timing/stats.h"

struct timing_gpu;

/* threads: host threads to use, at least 1. The configuration is copied. */
enum status timing_gpu_create(struct timing_gpu **out, const struct timing_config *config, unsigned threads, struct error *err) MUST_CHECK;
void timing_gpu_free(struct timing_gpu *g);
/* Before the first kernel: another lowering than ptx_lower's; NULL: one for one. */
void timing_gpu_lowering(struct timing_gpu *g, timing_lower_fn *lower, void *user);
/* Before a module goes, of which no kernel runs: another may come to lie where it was. For all GPUs. Any thread. */
void timing_forget(const struct ptx_module *m);
uint64_t timing_gpu_cycle(const struct timing_gpu *g);      /* how far it has run */
const struct timing_config *timing_gpu_config(const struct timing_gpu *g);

struct timing_kernel_spec {
    struct emu_grid *grid;                     /* the caller's; must live until the kernel was taken */
    const char *name;
    uint32_t grid_dim[3], block_dim[3];
    uint32_t threads;                          /* per CTA */
    uint32_t cluster;                          /* CTAs of a cluster; 0 or 1: there are none */
    uint32_t regs;                             /* per thread */
    uint32_t shared_bytes;                     /* per CTA, static and dynamic */
    /* A kernel that goes on from a checkpoint: start makes the i-th handle (a CTA, or where there are clusters a cluster) instead of emu_cta_start, in order, n_starts
     * times; SMs take CTAs wherever they stand. NULL: all CTAs, from the beginning. */
    enum status (*start)(void *user, struct emu_cta **out, struct emu_worker *w, uint64_t i, uint32_t smid, struct error *err);
    void *start_user; uint64_t n_starts;
    const uint64_t *sms;                       /* bit for each SM of the words of 64 that may run it; NULL: all may. The caller's, until the kernel was taken */
    bool calls_host;                           /* what its instructions do with the host must come in an order: SMs then run on one host thread */
    uint64_t ready_cycle;                      /* the launch is there; its CTAs start after the launch latency */
    void *user;
};
/* How many CTAs of it one SM holds at once; 0: it can never start. */
uint32_t timing_ctas_per_sm(const struct timing_gpu *g, const struct timing_kernel_spec *spec);
enum status timing_kernel_start(struct timing_gpu *g, const struct timing_kernel_spec *spec, struct error *err) MUST_CHECK;

enum timing_stop { TIMING_KERNEL_ENDED, TIMING_IDLE /* no kernel is resident */, TIMING_LIMIT /* `until` was reached */, TIMING_FAULT, TIMING_DEADLOCK,
                   TIMING_STOPPED /* a limit of the configuration, group stop; the same from then on */, TIMING_HALTED /* timing_gpu_halt */ };
/* Runs until something of that happens. A fault, deadlock or stop ends every resident kernel. Limits are looked at when a window ends, some hundred cycles. */
enum timing_stop timing_gpu_run(struct timing_gpu *g, uint64_t until);

/* From within built-ins of a kernel that calls the host: timing_gpu_run returns when the window under way ends. */
void timing_gpu_return(struct timing_gpu *g);

/* Time goes on to `until` where no kernel is resident; else nothing happens. */
void timing_gpu_pass(struct timing_gpu *g, uint64_t until);

struct timing_kernel_result { void *user; uint64_t started, ended; uint64_t thread_insns, warp_insns, ctas; };
/* A kernel that ended, oldest first; false: none. */
bool timing_kernel_take(struct timing_gpu *g, struct timing_kernel_result *out);
/* After TIMING_FAULT and TIMING_DEADLOCK: what happened. */
const struct emu_fault *timing_fault(const struct timing_gpu *g);
void timing_explain(const struct timing_gpu *g, char *buf, size_t n);
void timing_stopped(const struct timing_gpu *g, char *buf, size_t n);        /* after TIMING_STOPPED: which limit */

/* For checkpoints. While a hook is set it is asked after each window, before kernels that ended in it are taken as ended; when it says true timing_gpu_run returns TIMING_HALTED, and called again
 * with the same `until` it goes on as if nothing had been: other cycles come of it neither then nor later. */
void timing_gpu_halt(struct timing_gpu *g, bool (*halt)(void *user), void *user);      /* NULL: none */

/* How far the kernel with spec.user == user is: handles started, those that have not ended, CTAs ended, instructions of all. False: it is not resident. */
struct timing_progress { uint64_t starts, residents, ended, thread_insns, warp_insns; };
bool timing_kernel_progress(const struct timing_gpu *g, const void *user, struct timing_progress *out);
/* Its i-th resident CTA, or cluster, in the order of SMs; NULL: there are no more. */
struct emu_cta *timing_kernel_resident(const struct timing_gpu *g, const void *user, uint64_t i);
/* All CTAs, or clusters, in the order in which timing_gpu_load asks for them. kernel: spec.user; w: the worker that has it. */
void timing_gpu_residents(const struct timing_gpu *g, void (*fn)(void *user, const void *kernel, struct emu_cta *cta, struct emu_worker *w), void *user);
/* Strong accesses that were issued and not performed yet, of all kernels, in the order of SMs and of issue; mask: lanes that are left. resident: the CTA or cluster,
 * as timing_kernel_resident has it. *out: malloc. */
struct timing_pending { struct emu_cta *resident; struct emu_pending access; };
enum status timing_gpu_pending(const struct timing_gpu *g, struct timing_pending **out, size_t *n, struct error *err) MUST_CHECK;

/* The complete state, between calls of timing_gpu_run: saved, and loaded into a GPU that was just made of the same configuration, with any number of host threads. What it
 * refers to outside of the GPU has names that are the caller's; saving uses the first two functions, loading the others. After a failed load the GPU is of no use. */
struct timing_links {
    void *user;
    uint32_t (*kernel_number)(void *user, const void *kernel);                 /* kernel: spec.user */
    bool (*function_number)(void *user, const struct ptx_function *f, uint32_t number[2]);
    bool (*kernel)(void *user, uint32_t number, struct timing_kernel_spec *spec);          /* sets grid, name, start, start_user, user, sms */
    const struct ptx_function *(*function)(void *user, const uint32_t number[2]);          /* NULL: there is none */
    struct emu_cta *(*resident)(void *user, const void *kernel, struct emu_worker *w);     /* its next CTA or cluster that had started, as timing_kernel_resident had them */
};
struct sink; struct source;
enum status timing_gpu_save(struct timing_gpu *g, const struct timing_links *links, struct sink *to, struct error *err) MUST_CHECK;
enum status timing_gpu_load(struct timing_gpu *g, const struct timing_links *links, struct source *from, struct error *err) MUST_CHECK;
void timing_gpu_clear(struct timing_gpu *g);               /* all kernels and CTAs go: the GPU is as one just made to timing_gpu_load, and good for nothing else */

/* All that was counted so far: SMs, slices and channels summed. *out is large. */
void timing_gpu_stats(const struct timing_gpu *g, struct timing_stats *out);

/* For a debugger (timing/debug.c); one host thread. The hook is called by every worker, see emu/debug.h; out: blocks of a grid that have begun, how many, of which
 * at most n are stored; the pipeline state of an SM as lines of text, from malloc, NULL: no such SM. */
struct emu_hook;
void timing_debug_hook(struct timing_gpu *g, const struct emu_hook *hook);
size_t timing_debug_blocks(const struct timing_gpu *g, uint64_t grid_id, struct emu_cta **out, size_t n);
char *timing_debug_sm(const struct timing_gpu *g, uint32_t sm);
uint64_t timing_debug_issued(const struct timing_gpu *g);  /* warp instructions so far, also within a window */

/* What the host copied to the device is in L2 afterwards, when the configuration says so (mem.copy_fills_l2). No time passes. */
void timing_copy_to_device(struct timing_gpu *g, uint64_t address, uint64_t bytes);
/* The sector is in L2, as if it had just been read. No time passes, nothing is counted. */
void timing_touch(struct timing_gpu *g, uint64_t sector);

#endif
