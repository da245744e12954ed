/* The front end of the simulated SM: instruction buffers and cache, constant cache. Properties, never golden totals. */
#include "tests/unit/sim_run.h"
#include "tests/unit/suite.h"

/* A loop of n rounds with `adds` additions, which depend on each other two by two. */
static void loop_of(unsigned adds)
{
    size_t at = (size_t)snprintf(text, sizeof text, PTX_HEAD
        ".visible .entry k(.param .u64 out, .param .u64 n) {\n.reg .b64 %%rd<4>; .reg .b32 %%r<8>; .reg .pred %%p;\nld.param.u64 %%rd1, [out]; ld.param.u64 %%rd2, [n];\n"
        "cvt.u32.u64 %%r1, %%rd2; mov.u32 %%r2, %%tid.x; mov.u32 %%r3, %%tid.x;\nL:\n");
    for (unsigned i = 0; i < adds; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "add.s32 %%r%u, %%r%u, %u;\n", 2 + i % 2, 2 + i % 2, i);
    snprintf(text + at, sizeof text - at, "add.s32 %%r1, %%r1, -1; setp.ne.s32 %%p, %%r1, 0; @%%p bra L;\nadd.s32 %%r2, %%r2, %%r3; mov.u32 %%r4, %%tid.x;\n"
                                          "mul.wide.u32 %%rd3, %%r4, 4; add.s64 %%rd1, %%rd1, %%rd3; st.global.u32 [%%rd1], %%r2; ret;\n}\n");
}

static uint64_t misses(const struct outcome *o) { return o->s.sm.l1i.access[TIMING_INST_ACC_R][TIMING_MISS]; }
static uint64_t hits(const struct outcome *o) { return o->s.sm.l1i.access[TIMING_INST_ACC_R][TIMING_HIT]; }

static void setup(void)
{
    sim_setup();
    set("fetch.perfect", "off");
}

START_TEST(a_loop_that_fits_misses_once_a_line)
{
    loop_of(100);                              /* 1,6 KB of 128 */
    struct outcome few = simulate(1, 32, 2, 1), many = simulate(1, 32, 50, 1), warps = simulate(1, 256, 50, 1);
    ck_assert_uint_ge(misses(&few), 100 * 16 / 128);
    ck_assert_uint_le(misses(&few), 120 * 16 / 128 + 1);
    ck_assert_uint_eq(misses(&many), misses(&few));
    ck_assert_uint_eq(misses(&warps), misses(&few));
    ck_assert_uint_gt(hits(&many), hits(&few));
    ck_assert_uint_eq(many.s.sm.sent[TIMING_INST_ACC_R][0], misses(&many));
}
END_TEST

START_TEST(a_body_larger_than_the_cache_misses_each_round)
{
    set("l1i", "N:1:128:4,L:R:f:N:L,S:2:48,4");
    loop_of(100);
    struct outcome two = simulate(1, 32, 2, 1), ten = simulate(1, 32, 10, 1);
    ck_assert_uint_ge(misses(&two), 2 * (100 * 16 / 128));
    ck_assert_uint_ge(misses(&ten), 5 * (misses(&two) - 2));
    struct outcome small = (loop_of(20), simulate(1, 32, 10, 1));
    ck_assert_uint_le(misses(&small), 5);
}
END_TEST

START_TEST(perfect_costs_nothing_and_the_front_end_something)
{
    loop_of(100);
    struct outcome real = simulate(1, 32, 20, 1);
    set("fetch.perfect", "on");
    struct outcome perfect = simulate(1, 32, 20, 1);
    ck_assert_uint_eq(misses(&perfect) + hits(&perfect), 0);
    ck_assert_uint_gt(real.cycles, perfect.cycles);
    ck_assert_uint_eq(real.thread_insns, perfect.thread_insns);
}
END_TEST

START_TEST(prefetching_helps_straight_code)
{
    loop_of(600);
    struct outcome none = simulate(1, 32, 1, 1);
    set("fetch.prefetch", "4 lines");
    set("l1i", "N:64:128:16,L:R:f:N:L,S:8:48,4");
    struct outcome some = simulate(1, 32, 1, 1);
    ck_assert_uint_lt(some.cycles * 2, none.cycles);
    ck_assert_uint_eq(misses(&some), misses(&none));
}
END_TEST

START_TEST(fetches_a_cycle_bound_the_rate)
{
    loop_of(100);
    set("fetch.per_cycle", "1");
    struct outcome one = simulate(1, 512, 50, 1);
    ck_assert_uint_ge(one.cycles, one.s.sm.machine_instructions);
    set("fetch.per_cycle", "4");
    struct outcome four = simulate(1, 512, 50, 1);
    ck_assert_uint_lt(four.cycles * 3, one.cycles * 2);
}
END_TEST

/* One load from constant memory at tid * stride, n times. */
static void constants(unsigned stride)
{
    snprintf(text, sizeof text, PTX_HEAD ".const .align 4 .b8 c[8192];\n"
        ".visible .entry k(.param .u64 out, .param .u64 n) {\n.reg .b64 %%rd<6>; .reg .b32 %%r<8>; .reg .pred %%p;\nld.param.u64 %%rd2, [n];\n"
        "cvt.u32.u64 %%r1, %%rd2; mov.u32 %%r2, %%tid.x; mul.wide.u32 %%rd3, %%r2, %u; mov.u64 %%rd4, c; add.s64 %%rd4, %%rd4, %%rd3;\nL:\n"
        "ld.const.u32 %%r3, [%%rd4]; add.s32 %%r4, %%r4, %%r3;\n"
        "add.s32 %%r1, %%r1, -1; setp.ne.s32 %%p, %%r1, 0; @%%p bra L; ret;\n}\n", stride);
}

static uint64_t const_accesses(const struct outcome *o)
{
    const uint64_t *a = o->s.sm.l1c.access[TIMING_CONST_ACC_R];
    return a[TIMING_HIT] + a[TIMING_HIT_RESERVED] + a[TIMING_MISS];
}

START_TEST(a_uniform_constant_is_one_access_and_distinct_ones_are_many)
{
    constants(0);
    struct outcome uniform = simulate(1, 32, 100, 1);
    ck_assert_uint_eq(const_accesses(&uniform), 100);
    ck_assert_uint_eq(uniform.s.sm.l1c.access[TIMING_CONST_ACC_R][TIMING_MISS], 1);
    ck_assert_uint_eq(uniform.s.sm.sent_const, 1);
    ck_assert_uint_eq(uniform.s.sm.const_port_conflicts, 0);
    constants(4);
    struct outcome all = simulate(1, 32, 100, 1);
    ck_assert_uint_eq(const_accesses(&all), 3200);
    ck_assert_uint_eq(all.s.sm.l1c.access[TIMING_CONST_ACC_R][TIMING_MISS], 2);    /* lines of 64 bytes */
    ck_assert_uint_eq(all.s.sm.const_port_conflicts, 3100);
    ck_assert_uint_ge(all.cycles, uniform.cycles + 30 * 100);
    constants(64);                             /* 32 lines, and a miss queue that is soon full */
    struct outcome lines = simulate(1, 32, 100, 1);
    ck_assert_uint_eq(lines.s.sm.l1c.access[TIMING_CONST_ACC_R][TIMING_MISS], 32);
    ck_assert_uint_gt(lines.s.sm.stall_const, 0);
}
END_TEST

START_TEST(every_number_of_host_threads_gives_the_same)
{
    loop_of(300);
    set("l1i", "N:1:128:8,L:R:f:N:L,S:2:48,4");
    set("fetch.prefetch", "1");
    struct outcome one = simulate(200, 128, 4, 1);
    uint32_t sum = 0, again;
    for (unsigned i = 0; i < 128; i++) sum = sum * 31 + run.out[i];
    for (unsigned threads = 1; threads <= 4; threads *= 2) {
        struct outcome o = simulate(200, 128, 4, threads);
        again = 0;
        for (unsigned i = 0; i < 128; i++) again = again * 31 + run.out[i];
        ck_assert_uint_eq(o.cycles, one.cycles);
        ck_assert_uint_eq(again, sum);
        ck_assert_mem_eq(&o.s, &one.s, sizeof o.s);
    }
}
END_TEST

START_TEST(code_in_lines_of_256_bytes)
{
    set("l1i", "N:4:256:4,L:R:f:N:L,A:2:32,4");
    set("issue.sub_cores", "off");
    loop_of(200);                              /* 8 bytes an instruction: fits */
    struct outcome o = simulate(2, 64, 20, 1);
    ck_assert_uint_le(misses(&o), 2 * (220 * 8 / 256 + 1));
    ck_assert_uint_eq(o.s.sm.sent[TIMING_INST_ACC_R][0], 2 * misses(&o));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("timing front end");
    TCase *c = tcase_create("front end");
    tcase_add_checked_fixture(c, setup, run_teardown);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, a_loop_that_fits_misses_once_a_line);
    tcase_add_test(c, a_body_larger_than_the_cache_misses_each_round);
    tcase_add_test(c, perfect_costs_nothing_and_the_front_end_something);
    tcase_add_test(c, prefetching_helps_straight_code);
    tcase_add_test(c, fetches_a_cycle_bound_the_rate);
    tcase_add_test(c, a_uniform_constant_is_one_access_and_distinct_ones_are_many);
    tcase_add_test(c, every_number_of_host_threads_gives_the_same);
    tcase_add_test(c, code_in_lines_of_256_bytes);
    suite_add_tcase(s, c);
    return suite_run(s);
}
