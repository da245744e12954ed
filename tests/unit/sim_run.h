/* Runs a kernel of PTX text on a simulated GPU, without a runtime: for tests of the timing model. */
#ifndef HEDDLE_TESTS_SIM_RUN_H
#define HEDDLE_TESTS_SIM_RUN_H
#include "tests/unit/emu_run.h"
#include "timing/timing.h"

struct outcome { struct timing_stats s; uint64_t cycles, thread_insns; };

static char text[1 << 16];
static const char *settings[64][2];
static unsigned n_settings;
static const char *part = "v100", *config_file;        /* a gpgpusim.config in the place of the part; NULL: none */
static uint32_t cluster;                       /* CTAs of one */
static bool one_for_one;                       /* PTX instructions are machine instructions: no averages of the lowering */

static void set(const char *name, const char *value)
{
    settings[n_settings][0] = name;
    settings[n_settings++][1] = value;
}

static struct timing_config *config(void)
{
    static struct timing_config c;
    struct timing_settings *s = timing_settings_new();
    struct error err;
    ck_assert(s && (config_file ? timing_settings_file(s, config_file) : timing_settings_part(s, part)));
    ck_assert(timing_settings_set(s, "launch.kernel_latency", "0", "test"));
    for (unsigned i = 0; i < n_settings; i++)
        ck_assert_msg(timing_settings_set(s, settings[i][0], settings[i][1], "test"), "%s", settings[i][0]);
    ck_assert_msg(timing_settings_check(s, &c, &err) == ST_OK, "%s", err.text);
    timing_settings_free(s);
    return &c;
}

/* Starts the kernel k(out, n) of the module that is open. */
static void sim_start(struct timing_gpu *g, struct emu_grid **grid, uint32_t ctas, uint32_t threads, uint64_t n)
{
    struct error err;
    uint64_t params[2] = {(uint64_t)(uintptr_t)run.out, n};
    run.launch.params = params;
    run.launch.param_bytes = sizeof params;
    run.launch.grid[0] = ctas;
    run.launch.block[0] = threads;
    run.launch.n_sm = 80;
    run.launch.parallel = true;
    ck_assert_msg(emu_grid_create(grid, run_get("k"), &run.launch, &err) == ST_OK, "%s", err.text);
    struct timing_kernel_spec spec = {.grid = *grid, .name = "k", .grid_dim = {ctas, 1, 1}, .block_dim = {threads, 1, 1}, .threads = threads, .cluster = cluster, .regs = 16};
    ck_assert_msg(timing_kernel_start(g, &spec, &err) == ST_OK, "%s", err.text);
}

static struct timing_gpu *sim_gpu(unsigned host_threads)
{
    struct error err;
    struct timing_gpu *g;
    ck_assert_msg(timing_gpu_create(&g, config(), host_threads, &err) == ST_OK, "%s", err.text);
    if (one_for_one) timing_gpu_lowering(g, NULL, NULL);
    return g;
}

/* Runs k of `text` on the configuration that was set. */
static inline struct outcome simulate(uint32_t ctas, uint32_t threads, uint64_t n, unsigned host_threads)
{
    struct outcome o;
    struct timing_kernel_result r;
    struct emu_grid *grid;
    run_open(text);
    struct timing_gpu *g = sim_gpu(host_threads);
    sim_start(g, &grid, ctas, threads, n);
    ck_assert_int_eq(timing_gpu_run(g, 100000000), TIMING_KERNEL_ENDED);
    ck_assert(timing_kernel_take(g, &r));
    o.cycles = r.ended - r.started;
    o.thread_insns = r.thread_insns;
    timing_gpu_stats(g, &o.s);
    timing_gpu_free(g);
    emu_grid_free(grid);
    return o;
}

/* The same on two to four host threads; what one does. */
static inline struct outcome simulate_alike(uint32_t ctas, uint32_t threads, uint64_t n)
{
    struct outcome one = simulate(ctas, threads, n, 1);
    for (unsigned host_threads = 2; host_threads <= 4; host_threads++) {
        struct outcome o = simulate(ctas, threads, n, host_threads);
        ck_assert_uint_eq(o.cycles, one.cycles);
        ck_assert_mem_eq(&o.s, &one.s, sizeof o.s);
    }
    return one;
}

static void sim_setup(void)
{
    n_settings = 0;
    part = "v100";
    config_file = NULL;
    cluster = 1;
    one_for_one = false;
    run_setup();
}

#endif
