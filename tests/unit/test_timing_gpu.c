/* The simulated GPU as a whole: kernels side by side, ends. Properties, never golden totals. */
#include "tests/unit/sim_run.h"
#include "tests/unit/suite.h"

static void work(void)
{
    snprintf(text, sizeof text, PTX_HEAD
        ".visible .entry k(.param .u64 out, .param .u64 n) {\n.reg .b64 %%rd<4>; .reg .b32 %%r<8>; .reg .pred %%p;\nld.param.u64 %%rd1, [out]; ld.param.u64 %%rd2, [n];\n"
        "cvt.u32.u64 %%r1, %%rd2; mov.u32 %%r2, 0;\nL: add.s32 %%r2, %%r2, %%r1; add.s32 %%r1, %%r1, -1; setp.ne.s32 %%p, %%r1, 0; @%%p bra L;\nst.global.u32 [%%rd1], %%r2; ret;\n}\n");
    run_open(text);
}

static uint64_t run_all(unsigned kernels)
{
    struct emu_grid *grids[8];
    struct timing_kernel_result r;
    uint64_t last = 0;
    struct timing_gpu *g = sim_gpu(1);
    for (unsigned i = 0; i < kernels; i++) sim_start(g, &grids[i], 1, 32, 1000);
    for (unsigned ended = 0; ended < kernels;) {
        ck_assert_int_eq(timing_gpu_run(g, UINT64_MAX), TIMING_KERNEL_ENDED);
        for (; timing_kernel_take(g, &r); ended++) last = r.ended;
    }
    timing_gpu_free(g);
    for (unsigned i = 0; i < kernels; i++) emu_grid_free(grids[i]);
    return last;
}

START_TEST(kernels_run_at_once_up_to_the_limit)
{
    work();
    uint64_t one = run_all(1), four = run_all(4);
    ck_assert_uint_lt(four, one + one / 2);
    set("launch.kernels", "2");
    uint64_t pairs = run_all(4);
    ck_assert_uint_gt(pairs, one + one / 2);
    ck_assert_uint_lt(pairs, 3 * one);
    set("launch.kernels", "1");
    ck_assert_uint_gt(run_all(4), 3 * one + one / 2);
}
END_TEST

static const char *const limits[][2] = {{"stop.cycles", "2000"}, {"stop.instructions", "5000"}, {"stop.ctas", "100"}, {"stop.completed_ctas", "90"}};

START_TEST(a_limit_ends_the_simulation)
{
    struct emu_grid *grid;
    char why[400];
    set(limits[_i][0], limits[_i][1]);
    work();
    struct timing_gpu *g = sim_gpu(2);
    sim_start(g, &grid, 100000, 64, 300);
    ck_assert_int_eq(timing_gpu_run(g, 100000000), TIMING_STOPPED);
    ck_assert_int_eq(timing_gpu_run(g, 100000000), TIMING_STOPPED);
    timing_stopped(g, why, sizeof why);
    ck_assert_msg(strstr(why, limits[_i][0]) && strstr(why, limits[_i][1]), "%s", why);
    if (_i == 0) ck_assert_uint_eq(timing_gpu_cycle(g), 2000);
    timing_gpu_free(g);
    emu_grid_free(grid);
}
END_TEST

/* Rings of eight: every CTA writes its number into the shared memory of the next one, and gives what it got. */
static struct outcome ring(unsigned host_threads)
{
    snprintf(text, sizeof text, PTX_HEAD
        ".visible .entry k(.param .u64 out, .param .u64 n) .reqnctapercluster 8 {\n.reg .b64 %%rd<4>; .reg .b32 %%r<10>; .shared .align 4 .b32 box;\nld.param.u64 %%rd1, [out];\n"
        "mov.u32 %%r1, %%cluster_ctarank; add.u32 %%r2, %%r1, 1; and.b32 %%r2, %%r2, 7; mov.u32 %%r3, box; mapa.shared::cluster.u32 %%r4, %%r3, %%r2;\n"
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\nmov.u32 %%r5, %%ctaid.x; st.shared::cluster.u32 [%%r4], %%r5;\n"
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\nld.shared.u32 %%r6, [box]; mul.wide.u32 %%rd2, %%r5, 4; add.s64 %%rd1, %%rd1, %%rd2; st.global.u32 [%%rd1], %%r6;\n"
        "ret;\n}\n");
    part = "h100";
    run.launch.cluster[0] = cluster = 8;
    return simulate(800, 64, 0, host_threads);
}

START_TEST(clusters_run_together_whatever_the_threads)
{
    struct outcome one = ring(1);
    for (unsigned i = 0; i < 800; i++) ck_assert_uint_eq(run.out[i], i % 8 ? i - 1 : i + 7);
    ck_assert_uint_eq(one.s.sm.ctas, 800);
    for (unsigned threads = 2; threads <= 4; threads *= 2) {
        struct outcome o = ring(threads);
        for (unsigned i = 0; i < 800; i++) ck_assert_uint_eq(run.out[i], i % 8 ? i - 1 : i + 7);
        ck_assert_uint_eq(o.cycles, one.cycles);
        ck_assert_mem_eq(&o.s, &one.s, sizeof o.s);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("simulated GPU");
    TCase *c = tcase_create("GPU");
    tcase_add_checked_fixture(c, sim_setup, run_teardown);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, kernels_run_at_once_up_to_the_limit);
    tcase_add_loop_test(c, a_limit_ends_the_simulation, 0, 4);
    tcase_add_test(c, clusters_run_together_whatever_the_threads);
    suite_add_tcase(s, c);
    return suite_run(s);
}
