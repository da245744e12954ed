/* Operand collectors in detail: what each of their parts costs and bounds. Properties, never golden totals: what a kernel's start and end cost cancels in the difference of
 * two lengths. One scheduler, and units that take one instruction a cycle, unless a test says otherwise. */
#include "tests/unit/sim_run.h"
#include "tests/unit/suite.h"

static size_t at;
#define PUT(...) at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__)

static void setup(void)
{
    sim_setup();
    one_for_one = true;
    set("rf.model", "detailed");
    set("issue.schedulers", "1");
    set("issue.sub_cores", "off");
    set("rf.banks", "64");
    set("rf.steps", "1");
    set("pipe", "8,8,8,8,8,8,8,8,8,8,8,8,8");
    set("sass.int", "6,1");
    set("sass.sp", "6,1");
    set("sass.sfu", "8,1");
    set("units.integer", "8");
    set("units.sp", "8");
    set("oc.by_unit", "off");
    set("oc.generic", "32");
    set("oc.in_generic", "8");
    set("oc.out_generic", "8");
}

/* `chains` chains of n instructions; "@" is the chain's register, the others are %r2 and on. */
static uint64_t took(const char *insn, unsigned n, unsigned chains, uint32_t warps)
{
    at = 0;
    PUT(PTX_HEAD ".visible .entry k(.param .u64 out, .param .u64 n) {\n.reg .b32 %%r<80>; .reg .f32 %%f<20>; .shared .align 4 .b32 box[32];\nmov.u32 %%r1, %%tid.x;\n");
    for (int i = 2; i < 80; i++) PUT("add.s32 %%r%d, %%r1, %d;\n", i, i);
    PUT("mov.u32 %%r5, box; st.shared.u32 [%%r5], %%r5; mov.u32 %%r10, %%r5;\n");
    for (unsigned k = 0; k < n * chains; k++)
        for (const char *p = insn; *p; p++) {
            if (*p == '@') PUT("%%r%u", 10 + k % chains);
            else text[at++] = *p;
        }
    PUT("ret;\n}\n");
    return simulate(1, 32 * warps, 0, 1).cycles;
}

/* Cycles for each of the instructions, n of them after the first. */
static double each(const char *insn, unsigned chains, uint32_t warps) { return (double)(took(insn, 60, chains, warps) - took(insn, 20, chains, warps)) / (40.0 * chains * warps); }

static const char add[] = "add.s32 @, @, %r2;\n";
#define NEAR(value, want) ck_assert_double_eq_tol(value, want, 0.13 * (want))

/* Into a collector, a source from its bank, out to the unit: a cycle each; with several steps in a cycle the first three share one. */
START_TEST(a_chain_goes_through_all_stages)
{
    ck_assert_double_eq_tol(each(add, 1, 1), 6 + 4, 0.01);
    set("rf.steps", "8");
    ck_assert_double_eq_tol(each(add, 1, 1), 6 + 2, 0.01);
    set("rf.model", "simple");
    ck_assert_double_eq_tol(each(add, 1, 1), 6, 0.01);
}
END_TEST

/* A collector is held for two steps, from the port to the exit. */
START_TEST(collectors_bound_the_rate)
{
    static const struct { const char *units; double each; } rates[] = {{"1", 2}, {"2", 1}, {"4", 1}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        set("oc.generic", rates[i].units);
        NEAR(each(add, 4, 16), rates[i].each);
    }
    set("rf.model", "simple");
    set("oc.generic", "1");
    NEAR(each(add, 4, 16), 1);
}
END_TEST

/* Four schedulers give four instructions a cycle; one port lets one in, or out. */
START_TEST(ports_bound_the_rate)
{
    static const char *const ports[] = {"oc.in_generic", "oc.out_generic"};
    set("issue.schedulers", "4");
    NEAR(each(add, 4, 16), 0.25);
    set(ports[_i], "2");
    NEAR(each(add, 4, 16), 0.5);
    set(ports[_i], "1");
    NEAR(each(add, 4, 16), 1);
}
END_TEST

/* Before the collectors an instruction holds a register for a cycle at least, behind them too. */
START_TEST(registers_before_and_behind_bound_the_rate)
{
    static const char *const pipes[] = {"pipe.id_oc_int", "pipe.oc_ex_int"};
    set("issue.schedulers", "4");
    for (unsigned width = 1; width <= 4; width *= 2) {
        static const char *const widths[] = {"", "1", "2", "", "4"};
        set(pipes[_i], widths[width]);
        NEAR(each(add, 4, 16), 1.0 / width);
    }
}
END_TEST

/* Three sources in one bank of eight are three steps; in three banks, one. */
START_TEST(banks_serve_one_register_a_step)
{
    static const char same[] = "mad.lo.s32 @, %r40, %r48, %r56;\n", apart[] = "mad.lo.s32 @, %r40, %r49, %r58;\n";
    set("rf.banks", "8");
    NEAR(each(same, 16, 1), 3);
    ck_assert_uint_gt(simulate(1, 32, 0, 1).s.sm.register_bank_stalls, 60 * 16);
    ck_assert_double_le(each(apart, 16, 1), 1.5);
    set("rf.steps", "3");
    NEAR(each(same, 16, 1), 1);
}
END_TEST

/* Each kind of unit with collectors of its own: integers do not wait for those of the special functions. */
START_TEST(sets_of_their_own_do_not_mix)
{
    static const char both[] = "rsqrt.approx.ftz.f32 %f1, %f2;\nadd.s32 @, @, %r2;\nadd.s32 %r60, %r61, %r2;\nadd.s32 %r62, %r61, %r2;\n";
    set("issue.schedulers", "4");
    set("oc.generic", "4");
    set("oc.dp", "1");
    set("oc.sfu", "1");
    set("oc.integer", "16");
    set("oc.in_integer", "4");
    set("oc.out_integer", "4");
    set("sass.sfu", "32,8");
    set("units.sfu", "1");
    double mixed = each(both, 4, 16);
    set("oc.by_unit", "on");
    set("oc.generic", "0");
    double apart = each(both, 4, 16);
    ck_assert_double_ge(mixed, apart);
    ck_assert_double_ge(apart, 7.9);           /* what the unit of the special functions takes */
    set("units.sfu", "8");
    set("sass.sfu", "8,1");
    double one = each(both, 4, 16);            /* now its one collector is the limit: two steps for each of them, or more where their bank is busy */
    ck_assert_double_ge(one, 1.95);
    ck_assert_double_le(one, 2.7);
    set("oc.sfu", "4");
    set("oc.in_sfu", "4");
    set("oc.out_sfu", "4");
    ck_assert_double_le(each(both, 4, 16), 1.5);
}
END_TEST

/* Loads come later by the stages, and as many go through. */
START_TEST(memory_instructions_are_collected)
{
    static const char load[] = "ld.shared.u32 @, [%r5];\n", chase[] = "ld.shared.u32 @, [@];\n";
    double rate = each(load, 4, 16), latency = each(chase, 1, 1);
    set("rf.model", "simple");
    NEAR(rate, each(load, 4, 16));
    ck_assert_double_eq_tol(latency, each(chase, 1, 1) + 3, 0.01);
}
END_TEST

START_TEST(every_number_of_host_threads_gives_the_same)
{
    config_file = "tests/unit/small.config";
    (void)took("mad.lo.s32 @, @, %r2, %r3; add.s32 %r60, @, %r4; rsqrt.approx.ftz.f32 %f1, %f2;\n", 40, 4, 4);
    (void)simulate_alike(60, 128, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("operand collectors");
    TCase *c = tcase_create("collect");
    tcase_add_checked_fixture(c, setup, run_teardown);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, a_chain_goes_through_all_stages);
    tcase_add_test(c, collectors_bound_the_rate);
    tcase_add_loop_test(c, ports_bound_the_rate, 0, 2);
    tcase_add_loop_test(c, registers_before_and_behind_bound_the_rate, 0, 2);
    tcase_add_test(c, banks_serve_one_register_a_step);
    tcase_add_test(c, sets_of_their_own_do_not_mix);
    tcase_add_test(c, memory_instructions_are_collected);
    tcase_add_test(c, every_number_of_host_threads_gives_the_same);
    suite_add_tcase(s, c);
    return suite_run(s);
}
