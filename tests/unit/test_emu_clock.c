/* Clocks: they advance, count instructions, do not depend on what a worker did before, and loops that wait for them end soon. */
#include "tests/unit/emu_run.h"

static const char text[] = PTX_HEAD
    ".visible .entry k(.param .u64 p)\n{ .reg .b32 %r<9>; .reg .b64 %rd<9>; ld.param.u64 %rd1, [p];\n"
    "mov.u64 %rd2, %clock64; mov.u32 %r1, %clock; mov.u64 %rd3, %clock64; mov.u32 %r2, %clock_hi; st.global.u64 [%rd1], %rd2; st.global.u64 [%rd1+8], %rd3; st.global.u32 [%rd1+16], %r1;\n"
    "st.global.u32 [%rd1+20], %r2; ret; }\n"
    ".visible .entry busy(.param .u64 p)\n{ .reg .pred %p; .reg .b32 %r; mov.u32 %r, 0;\nL: add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 1000; @%p bra L; ret; }\n"
    ".visible .entry wait(.param .u64 p)\n{ .reg .pred %p; .reg .b64 %rd<9>; ld.param.u64 %rd1, [p]; mov.u64 %rd2, %clock64; add.u64 %rd2, %rd2, 2000000000;\n"
    "L: mov.u64 %rd3, %clock64; setp.lt.u64 %p, %rd3, %rd2; @%p bra L; st.global.u64 [%rd1], %rd3; ret; }\n";

static void run_at(uint64_t now)
{
    struct error err;
    struct emu_grid *g;
    struct emu_cta *cta;
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    run.launch.params = &out;
    run.launch.param_bytes = sizeof out;
    ck_assert(emu_grid_create(&g, run_get("k"), &run.launch, &err) == ST_OK);
    emu_grid_set_clock(g, run.worker, now);
    ck_assert(emu_cta_start(&cta, g, run.worker, 0, 0, &err) == ST_OK);
    ck_assert_int_eq(emu_cta_run(cta, run.worker, 1 << 20), EMU_DONE);
    emu_cta_free(cta, run.worker);
    emu_grid_free(g);
}

START_TEST(the_same_on_a_used_worker)
{
    const uint64_t *now = (const void *)run.out;
    uint64_t first[2], start = 0x300000000u;
    run_open(text);
    run_at(start);
    memcpy(first, now, sizeof first);
    ck_assert(first[0] >= start && first[0] < start + 8 && first[1] > first[0]);
    ck_assert(run.out[4] > (uint32_t)first[0] && run.out[4] < (uint32_t)first[1] && run.out[5] == 3);
    run_done("busy");
    run_at(start);
    ck_assert_mem_eq(first, now, sizeof first);
    run_at(start + 1000);
    ck_assert_uint_eq(now[0], first[0] + 1000);
}
END_TEST

START_TEST(readers_are_ordered)
{
    struct emu_kernel_facts f;
    run_open(text);
    emu_kernel_facts(run_get("k"), &f);
    ck_assert(f.ordered && !f.can_wait);
    emu_kernel_facts(run_get("busy"), &f);
    ck_assert(!f.ordered);
}
END_TEST

/* A second of the clock takes thousands of times fewer instructions than a second of the GPU. */
START_TEST(waits_end_soon)
{
    run_open(text);
    run.launch.block[0] = 256;
    run_done("wait");
    ck_assert_uint_lt(run.counters.warp_insns, 1000000000);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu_clock");
    TCase *t = tcase_create("clock");
    tcase_add_checked_fixture(t, run_setup, run_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, the_same_on_a_used_worker);
    tcase_add_test(t, readers_are_ordered);
    tcase_add_test(t, waits_end_soon);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
