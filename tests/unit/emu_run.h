/* Runs kernels from PTX text on a worker, without a runtime: for tests of the engine. */
#ifndef HEDDLE_TESTS_EMU_RUN_H
#define HEDDLE_TESTS_EMU_RUN_H
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/emu.h"

enum { RUN_BYTES = 1 << 20 };
#define PTX_HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"

struct run {
    struct emu_space *space;
    struct ptx_module *m;
    struct emu_image *image;
    struct emu_worker *worker;
    char *variables; size_t variables_used;
    uint32_t *out;                             /* device memory, RUN_BYTES, cleared by run_open */
    struct emu_launch launch;                  /* defaults for run_kernel */
    enum emu_result result;
    struct emu_counters counters;
    bool keep_copies, keep_rows;
    int64_t quantum;
    char said[256];                            /* emu_cta_explain when BLOCKED */
};
static struct run run;

static void run_setup(void)
{
    struct error err;
    memset(&run, 0, sizeof run);
    ck_assert_msg(emu_space_create(&run.space, &err) == ST_OK, "%s", err.text);
    void *at = mmap((void *)(uintptr_t)EMU_HEAP, 2 * RUN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    ck_assert(at == (void *)(uintptr_t)EMU_HEAP);
    run.out = at;
    run.variables = (char *)at + RUN_BYTES;
    struct emu_range r = { .lo = EMU_HEAP, .hi = EMU_HEAP + RUN_BYTES, .what = "out" };
    ck_assert(emu_space_add(run.space, &r, &err) == ST_OK);
    ck_assert(emu_worker_create(&run.worker, &err) == ST_OK);
    run.quantum = 1 << 20;
    run.launch = (struct emu_launch){ .grid = { 1, 1, 1 }, .block = { 32, 1, 1 }, .cluster = { 1, 1, 1 }, .n_sm = 4, .max_warps_per_sm = 64, .sm = 90,
                                      .max_shared_bytes = 227 * 1024, .stack_bytes = 4096 };
}

static void run_close(void)
{
    emu_image_free(run.image);
    if (run.m) ptx_module_free(run.m);
    run.image = NULL;
    run.m = NULL;
}

static void run_teardown(void)
{
    run_close();
    emu_worker_free(run.worker);
    emu_space_free(run.space);
}

static enum status run_place(void *user, const struct ptx_var *v, uint64_t *address, struct error *err)
{
    (void)user;
    size_t align = v->align < 16 ? 16 : v->align, at = (run.variables_used + align - 1) & ~(align - 1);
    ck_assert(at + v->bytes <= RUN_BYTES);
    run.variables_used = at + v->bytes;
    *address = (uint64_t)(uintptr_t)(run.variables + at);
    struct emu_range r = { .lo = *address, .hi = *address + v->bytes, .kind = EMU_RANGE_VARIABLE };
    snprintf(r.what, sizeof r.what, "variable %.50s", v->name);
    return emu_space_add(run.space, &r, err);
}

static void run_open(const char *text)
{
    struct error err;
    struct emu_range was;
    run_close();
    for (size_t at = 0; at < run.variables_used; at++) emu_space_remove(run.space, (uint64_t)(uintptr_t)(run.variables + at), &was);
    memset(run.variables, 0, RUN_BYTES);
    memset(run.out, 0, RUN_BYTES);
    run.variables_used = 0;
    ck_assert_msg(ptx_module_open(&run.m, "test.ptx", text, strlen(text), &err) == ST_OK, "%s", err.text);
    ck_assert_msg(emu_image_create(&run.image, run.m, run.space, run_place, NULL, &err) == ST_OK, "%s", err.text);
    emu_image_tune(run.image, run.keep_copies, run.keep_rows);
}

static struct emu_kernel *run_get(const char *name)
{
    struct error err;
    struct emu_kernel *k;
    int32_t f = ptx_function_find(run.m, name);
    ck_assert_msg(f >= 0, "no function %s", name);
    ck_assert_msg(emu_kernel_get(&k, run.image, (uint32_t)f, &err) == ST_OK, "%s", err.text);
    return k;
}

/* Runs a kernel whose parameters are 64-bit each, or 32-bit as declared. The result is that of the last CTA that ran. */
static enum emu_result run_kernel(const char *name, const uint64_t *params, unsigned n)
{
    struct error err;
    struct emu_grid *g;
    struct emu_kernel *k = run_get(name);
    const struct ptx_function *f = &run.m->functions[ptx_function_find(run.m, name)];
    char block[512] = { 0 };
    ck_assert(n == f->proto.n_params);
    for (unsigned i = 0; i < n; i++) {
        const struct ptx_var *v = &f->vars[f->proto.params[i]];
        memcpy(block + v->offset, &params[i], v->bytes < 8 ? v->bytes : 8);
    }
    run.launch.params = block;
    run.launch.param_bytes = f->proto.param_bytes;
    ck_assert_msg(emu_grid_create(&g, k, &run.launch, &err) == ST_OK, "%s", err.text);
    struct emu_counters before;
    emu_worker_counters(run.worker, &before);
    run.result = EMU_DONE;
    for (uint64_t i = 0; i < emu_grid_ctas(g) && run.result == EMU_DONE; i++) {
        struct emu_cta *cta;
        ck_assert_msg(emu_cta_start(&cta, g, run.worker, i, 0, &err) == ST_OK, "%s", err.text);
        int turns = 0;
        do run.result = emu_cta_run(cta, run.worker, run.quantum);
        while (run.result == EMU_YIELD && ++turns < 10000);
        emu_cta_explain(cta, run.said, sizeof run.said);
        emu_cta_free(cta, run.worker);
    }
    emu_worker_counters(run.worker, &run.counters);
    run.counters.thread_insns -= before.thread_insns;
    run.counters.warp_insns -= before.warp_insns;
    run.counters.ctas -= before.ctas;
    emu_grid_free(g);
    return run.result;
}

/* As run_kernel with one parameter: the address of run.out. */
static inline void run_done(const char *name)
{
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    enum emu_result r = run_kernel(name, &out, 1);
    ck_assert_msg(r == EMU_DONE, "%s: result %d: %s%s", name, (int)r, r == EMU_FAULT ? emu_worker_fault(run.worker)->report : "", run.said);
}

#endif
