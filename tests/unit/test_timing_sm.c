/* An SM of the simulated GPU: latency and throughput of its units, the order of every scheduler, shared memory, barriers, deadlocks. Properties, never golden totals:
 * what start and end of a kernel cost cancels in the difference of two lengths. */
#include "tests/unit/sim_run.h"
#include "tests/unit/suite.h"

static size_t at;
#define PUT(...) at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__)

/* The head of k(out, n): %rd1 is out, %r1 the thread, %r2 .. %r9, %f.., %d.. are numbers that depend on it. */
static void head(const char *declarations)
{
    at = 0;
    PUT(PTX_HEAD ".visible .entry k(.param .u64 out, .param .u64 n) {\n.reg .b64 %%rd<10>; .reg .b32 %%r<80>; .reg .f32 %%f<20>; .reg .f64 %%d<20>; .reg .pred %%p<4>; %s\n"
        "ld.param.u64 %%rd1, [out]; ld.param.u64 %%rd2, [n]; mov.u32 %%r1, %%tid.x;\n", declarations);
    for (int i = 2; i < 10; i++) PUT("mad.lo.s32 %%r%d, %%r1, %%r1, %%r1; cvt.rn.f32.s32 %%f%d, %%r%d; cvt.f64.f32 %%d%d, %%f%d;\n", i, i, i, i, i);
}

static void tail(void) { PUT("ret;\n}\n"); }

static uint64_t cycles(uint32_t threads) { return simulate(1, threads, 0, 1).cycles; }

/* ---- units ------------------------------------------------------------------------------------------------------------------------ */

static const struct { const char *insn /* @: its register */, *regs, *times; uint32_t latency, initiation; } units[] = {
    {"add.s32 @, @, %r2;\n", "r", "sass.int", 7, 3},
    {"mad.lo.s32 @, @, %r2, %r3;\n", "r", "sass.int", 6, 2},
    {"fma.rn.f32 @, @, %f2, %f3;\n", "f", "sass.sp", 9, 4},
    {"add.rn.f32 @, @, %f2;\n", "f", "sass.sp", 5, 2},
    {"fma.rn.f64 @, @, %d2, %d3;\n", "d", "sass.dp", 13, 8},
    {"rsqrt.approx.ftz.f32 @, @;\n", "f", "sass.sfu", 24, 8},
};

static void unit_code(int i, unsigned n, unsigned chains)
{
    head("");
    for (unsigned k = 0; k < n * chains; k++)
        for (const char *p = units[i].insn; *p; p++) {
            if (*p == '@') PUT("%%%s%u", units[i].regs, 10 + k % chains);
            else text[at++] = *p;
        }
    tail();
}

static uint64_t unit_cycles(int i, unsigned n, unsigned chains, uint32_t threads)
{
    unit_code(i, n, chains);
    return cycles(threads);
}

static void unit_times(int i)
{
    one_for_one = true;
    set("rf.steps", "8");                      /* no conflicts of register banks */
    static char times[20];
    snprintf(times, sizeof times, "%u,%u", units[i].latency, units[i].initiation);
    set(units[i].times, times);
}

START_TEST(a_chain_costs_its_latency_each)
{
    unit_times(_i);
    uint64_t short_one = unit_cycles(_i, 20, 1, 32), long_one = unit_cycles(_i, 120, 1, 32);
    ck_assert_uint_eq(long_one - short_one, 100 * units[_i].latency);
}
END_TEST

START_TEST(streams_reach_the_throughput)
{
    unit_times(_i);
    for (uint32_t warps = 16; warps <= 32; warps += 16) {        /* four and eight for each scheduler and its unit */
        uint64_t a = unit_cycles(_i, 20, 4, 32 * warps), b = unit_cycles(_i, 70, 4, 32 * warps);
        uint64_t want = 50ull * 4 * (warps / 4) * units[_i].initiation;
        ck_assert_uint_le(b - a, want + 4);
        ck_assert_uint_ge(b - a, want - 4);
    }
}
END_TEST

/* The larger a matrix product, the longer it holds its unit. */
START_TEST(matrix_products_take_as_long_as_their_size_says)
{
    static const struct { const char *shape; unsigned cycles; } sizes[] = {{"m16n8k16", 16}, {"m16n8k8", 8}};
    set("sass.tensor", "2,1");
    set("rf.steps", "8");
    set("sass.tensor_rate", "128");
    for (unsigned i = 0; i < 2; i++) {
        uint64_t took[2];
        for (unsigned k = 0; k < 2; k++) {
            head(".reg .b32 %c<8>;");
            for (unsigned j = 0; j < (k ? 60 : 10); j++)
                PUT(i == 0 ? "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%%f10,%%f11,%%f12,%%f13}, {%%r2,%%r3,%%r4,%%r5}, {%%r6,%%r7}, {%%f10,%%f11,%%f12,%%f13};\n"
                           : "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%%f10,%%f11,%%f12,%%f13}, {%%r2,%%r3}, {%%r6}, {%%f10,%%f11,%%f12,%%f13};\n");
            tail();
            took[k] = cycles(32);
        }
        ck_assert_msg(took[1] - took[0] == 50 * sizes[i].cycles, "%s: %g cycles each", sizes[i].shape, (double)(took[1] - took[0]) / 50);
    }
}
END_TEST

/* ---- an old configuration ------------------------------------------------------------------------------------------------------------------ */

/* tests/unit/small.config: its PTX latencies are the model's, behind two cycles of operand collection, and clocks of the interconnect and memory of their own. */
START_TEST(an_old_configuration_is_the_machine_that_it_says)
{
    config_file = "tests/unit/small.config";
    one_for_one = true;
    set("rf.steps", "8");
    ck_assert_uint_eq(unit_cycles(0, 120, 1, 32) - unit_cycles(0, 20, 1, 32), 100 * (5 + 2));          /* integer add */
    ck_assert_uint_eq(unit_cycles(2, 120, 1, 32) - unit_cycles(2, 20, 1, 32), 100 * (7 + 2));          /* single-precision multiply-add */
    ck_assert_uint_eq(unit_cycles(5, 120, 1, 32) - unit_cycles(5, 20, 1, 32), 100 * (22 + 2));         /* special functions */
    unit_code(0, 30, 2);
    struct outcome one = simulate(40, 128, 0, 1), two = simulate(40, 128, 0, 2);
    ck_assert_uint_eq(one.cycles, two.cycles);
    ck_assert_uint_eq(one.s.sm.ctas, 40);
}
END_TEST

/* ---- schedulers ------------------------------------------------------------------------------------------------------------------------- */

enum { CHAIN = 200, ROOM = 4 };

/* One scheduler, its four warps. Warps of `chained` run a chain of CHAIN times 8 cycles; the others CHAIN * 2 instructions of which any two are independent.
 * out[warp]: the clock at its end. */
static void race(unsigned chained, uint32_t warps)
{
    one_for_one = true;
    set("issue.schedulers", "1");
    set("issue.sub_cores", "off");
    set("sass.int", "8,1");
    set("units.integer", "4");
    set("sm.warp_start", "0");
    set("sm.cta_start", "0");
    head("");
    PUT("mov.u32 %%r31, %%warpid; shr.u32 %%r30, %%r1, 5; mov.u32 %%r32, 1; shl.b32 %%r32, %%r32, %%r30; and.b32 %%r33, %%r32, %u; setp.eq.s32 %%p1, %%r33, 0; bar.sync 0; @%%p1 bra FREE;\n", chained);
    for (unsigned i = 0; i < CHAIN; i++) PUT("add.s32 %%r10, %%r10, %%r2;\n");
    PUT("bra END;\nFREE:\n");
    for (unsigned i = 0; i < 2 * CHAIN; i++) PUT("add.s32 %%r%u, %%r2, %%r3;\n", 10 + i % 16);
    PUT("END: mov.u32 %%r34, %%clock; mul.wide.u32 %%rd3, %%r30, 4; add.s64 %%rd1, %%rd1, %%rd3; st.global.u32 [%%rd1], %%r34;\n");
    tail();
    simulate(1, 32 * warps, 0, 1);
}

static uint32_t spread(unsigned first, unsigned last)
{
    uint32_t least = UINT32_MAX, most = 0;
    for (unsigned i = first; i <= last; i++) {
        least = run.out[i] < least ? run.out[i] : least;
        most = run.out[i] > most ? run.out[i] : most;
    }
    return most - least;
}

START_TEST(round_robin_lets_all_go_on_alike)
{
    set("issue.policy", _i ? "rrr" : "lrr");
    race(0, 4);
    ck_assert_uint_lt(spread(0, 3), 40);
}
END_TEST

START_TEST(greedy_finishes_one_after_the_other)
{
    set("issue.policy", "gto");
    race(0, 4);
    for (unsigned i = 1; i < 4; i++) ck_assert_uint_ge(run.out[i], run.out[i - 1] + 2 * CHAIN - ROOM);
}
END_TEST

/* The oldest warp's chain is never held up by others, who take what it leaves; a greedy scheduler stays with who has begun. */
START_TEST(oldest_first_holds_nothing_up_and_greedy_does)
{
    set("issue.policy", "oldest");
    race(1, 4);
    uint32_t by_age = run.out[0];
    ck_assert_uint_gt(run.out[1], by_age - 7 * CHAIN);
    race(1, 1);
    uint32_t alone = run.out[0];
    ck_assert_uint_le(by_age, alone + 40);
    set("issue.policy", "gto");
    race(1, 4);
    ck_assert_uint_ge(run.out[0], alone + 3 * CHAIN);
}
END_TEST

START_TEST(youngest_first_is_the_other_way_round)
{
    set("issue.policy", "youngest");
    race(0, 4);
    for (unsigned i = 1; i < 4; i++) ck_assert_uint_ge(run.out[i - 1], run.out[i] + 2 * CHAIN - ROOM);
}
END_TEST

/* What README.md shows to be copied is what was just tested. */
START_TEST(the_example_in_the_readme_is_the_file)
{
    static char readme[1 << 17], file[4096], shown[8192];
    FILE *r = fopen("README.md", "r"), *f = fopen("timing/scheduler/youngest.c", "r");
    ck_assert(r && f);
    ck_assert_uint_lt(fread(readme, 1, sizeof readme - 1, r), sizeof readme - 1);
    char *to = shown;
    while (fgets(file, sizeof file, f)) to += sprintf(to, "%s%s", *file == '\n' ? "" : "    ", file);
    ck_assert_msg(strstr(readme, shown), "README.md does not show timing/scheduler/youngest.c as it is");
    fclose(r);
    fclose(f);
}
END_TEST

START_TEST(two_levels_share_among_the_active)
{
    set("issue.policy", "two_level");
    set("issue.active_warps", "2");
    race(0, 4);
    uint32_t first = UINT32_MAX, order[4] = {run.out[0], run.out[1], run.out[2], run.out[3]};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned k = i + 1; k < 4; k++)
            if (order[k] < order[i]) { first = order[k]; order[k] = order[i]; order[i] = first; }
    ck_assert_uint_lt(order[1] - order[0], 40);
    ck_assert_uint_ge(order[2] - order[1], CHAIN);
    set("issue.active_warps", "4");
    race(0, 4);
    ck_assert_uint_lt(spread(0, 3), 40);
}
END_TEST

/* Four chains that would run beside each other: with one warp at a time they add up. */
START_TEST(a_limit_keeps_the_other_warps_out)
{
    set("issue.policy", "limited");
    set("issue.limit", "4");
    race(15, 4);
    ck_assert_uint_lt(spread(0, 3), 40);
    set("issue.limit", "2");
    race(15, 4);
    ck_assert_uint_lt(spread(0, 1), 40);
    ck_assert_uint_ge(run.out[2], run.out[0] + 7 * CHAIN);
    ck_assert_uint_lt(spread(2, 3), 40);
}
END_TEST

/* ---- shared memory ------------------------------------------------------------------------------------------------------------------------- */

static uint32_t gcd(uint32_t a, uint32_t b) { return b ? gcd(b, a % b) : a; }

/* Cycles of a load of `bytes` by 32 lanes that lie `stride` accesses apart. */
static double shared_load(unsigned bytes, unsigned stride)
{
    uint64_t took[2];
    one_for_one = true;
    for (unsigned k = 0; k < 2; k++) {
        head(".shared .align 16 .b8 box[40960];");
        PUT("mov.u32 %%r14, box; and.b32 %%r13, %%r1, 31; mad.lo.s32 %%r15, %%r13, %u, %%r14;\n", bytes * stride);
        for (unsigned i = 0; i < (k ? 50 : 10); i++) {
            unsigned r = 20 + i % 10 * 4;
            if (bytes == 4) PUT("ld.shared.u32 %%r%u, [%%r15];\n", r);
            else if (bytes == 8) PUT("ld.shared.v2.u32 {%%r%u, %%r%u}, [%%r15];\n", r, r + 1);
            else PUT("ld.shared.v4.u32 {%%r%u, %%r%u, %%r%u, %%r%u}, [%%r15];\n", r, r + 1, r + 2, r + 3);
        }
        tail();
        took[k] = cycles(16 * 32);
    }
    return (double)(took[1] - took[0]) / (40 * 16);
}

/* A phase has as many lanes as a row of the banks feeds; in it each bank gives a word a cycle. */
START_TEST(bank_conflicts_cost_what_they_should)
{
    static const char *const banks[] = {"32", "16", "64"};
    uint32_t n = (uint32_t)atoi(banks[_i]);
    set("smem.banks", banks[_i]);
    set("fetch.perfect", "on");
    for (unsigned bytes = 4; bytes <= 16; bytes *= 2)
        for (unsigned stride = 1; stride <= 32; stride = stride < 4 ? stride + 1 : stride * 2) {
            uint32_t lanes = n * 4 / bytes < 32 ? n * 4 / bytes : 32, rows = 32 / lanes, words = bytes / 4 * stride;
            uint32_t apart = n / gcd(words, n), groups = apart * (bytes / 4) > n ? n : apart;      /* banks that lanes of a phase begin in */
            double want = rows * (lanes / groups ? (lanes + groups - 1) / groups : 1);
            ck_assert_double_eq_tol(shared_load(bytes, stride), want, want * 0.02 + 0.07);
        }
}
END_TEST

/* ---- barriers, blocks -------------------------------------------------------------------------------------------------------------------- */

START_TEST(a_barrier_opens_with_the_last_warp)
{
    set("sm.barrier_latency", "30");
    head("");
    PUT("shr.u32 %%r30, %%r1, 5; setp.ne.s32 %%p1, %%r30, 3; @%%p1 bra WAIT;\n");
    for (unsigned i = 0; i < 300; i++) PUT("add.s32 %%r10, %%r10, %%r2;\n");
    PUT("mov.u32 %%r33, %%clock; st.global.u32 [%%rd1+64], %%r33;\nWAIT: bar.sync 0; mov.u32 %%r34, %%clock; mul.wide.u32 %%rd3, %%r30, 4; add.s64 %%rd1, %%rd1, %%rd3; st.global.u32 [%%rd1], %%r34;\n");
    tail();
    simulate(1, 256, 0, 1);
    for (unsigned i = 0; i < 8; i++) {
        ck_assert_uint_ge(run.out[i], run.out[16] + 30);
        ck_assert_uint_le(run.out[i], run.out[16] + 30 + 40);
    }
}
END_TEST

/* Limits that are ignored: a CTA too large for an SM has it alone. */
START_TEST(a_block_that_does_not_fit_runs_alone)
{
    struct error err;
    set("sm.registers", "2048");               /* 16 for each thread of 128 */
    head("");
    for (unsigned i = 0; i < 100; i++) PUT("add.s32 %%r10, %%r10, %%r2;\n");
    tail();
    run_open(text);
    struct timing_gpu *g = sim_gpu(1);
    struct timing_kernel_spec spec = {.name = "k", .grid_dim = {1, 1, 1}, .threads = 256, .regs = 16};
    ck_assert_uint_eq(timing_ctas_per_sm(g, &spec), 0);
    ck_assert_int_eq(timing_kernel_start(g, &spec, &err), ST_LAUNCH_OUT_OF_RESOURCES);
    timing_gpu_free(g);
    set("sm.clusters", "1");
    set("sm.ignore_limits", "on");
    uint64_t one = simulate(1, 256, 0, 1).cycles, three = simulate(3, 256, 0, 1).cycles;
    ck_assert_uint_ge(three, 3 * one - 100);
}
END_TEST

START_TEST(a_lonely_block_costs_the_same_on_every_gpu)
{
    unit_code(0, 60, 2);
    uint64_t full = cycles(256);
    set("sm.clusters", "1");
    ck_assert_uint_eq(cycles(256), full);
    set("sm.clusters", "132");
    ck_assert_uint_eq(cycles(256), full);
}
END_TEST

/* Half of the warps wait at one barrier, half at another: nobody comes. */
START_TEST(a_deadlock_says_who_waits_where)
{
    struct emu_grid *grid;
    char who[900];
    head("");
    PUT("shr.u32 %%r30, %%r1, 5; setp.eq.s32 %%p1, %%r30, 0; @%%p1 bra B;\nbar.sync 1, 128; bra E;\nB: bar.sync 2, 128;\nE:\n");
    tail();
    run_open(text);
    struct timing_gpu *g = sim_gpu(1);
    sim_start(g, &grid, 1, 128, 0);
    ck_assert_int_eq(timing_gpu_run(g, 100000000), TIMING_DEADLOCK);
    timing_explain(g, who, sizeof who);
    ck_assert_msg(strstr(who, "warp 0") && strstr(who, "barrier 2") && strstr(who, "barrier 1"), "%s", who);
    timing_gpu_free(g);
    emu_grid_free(grid);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("simulated SM");
    TCase *c = tcase_create("SM");
    tcase_add_checked_fixture(c, sim_setup, run_teardown);
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, a_chain_costs_its_latency_each, 0, sizeof units / sizeof *units);
    tcase_add_loop_test(c, streams_reach_the_throughput, 0, sizeof units / sizeof *units);
    tcase_add_test(c, matrix_products_take_as_long_as_their_size_says);
    tcase_add_test(c, an_old_configuration_is_the_machine_that_it_says);
    tcase_add_loop_test(c, round_robin_lets_all_go_on_alike, 0, 2);
    tcase_add_test(c, greedy_finishes_one_after_the_other);
    tcase_add_test(c, oldest_first_holds_nothing_up_and_greedy_does);
    tcase_add_test(c, youngest_first_is_the_other_way_round);
    tcase_add_test(c, the_example_in_the_readme_is_the_file);
    tcase_add_test(c, two_levels_share_among_the_active);
    tcase_add_test(c, a_limit_keeps_the_other_warps_out);
    tcase_add_loop_test(c, bank_conflicts_cost_what_they_should, 0, 3);
    tcase_add_test(c, a_barrier_opens_with_the_last_warp);
    tcase_add_test(c, a_block_that_does_not_fit_runs_alone);
    tcase_add_test(c, a_lonely_block_costs_the_same_on_every_gpu);
    tcase_add_test(c, a_deadlock_says_who_waits_where);
    suite_add_tcase(s, c);
    return suite_run(s);
}
