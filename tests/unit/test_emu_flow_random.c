/* Random structured programs: nested branches, loops with breaks, early exits, copies, calls. Both divergence policies, folded copies or not, shared rows or
 * not: all give what a run of one thread alone gives. */
#include <stdarg.h>

#include "tests/unit/emu_run.h"

enum { REGS = 12, WIDE = 4, TEXT = 1 << 16, THREADS = 64 };

static char text[TEXT];
static size_t used;
static uint32_t seed;
static unsigned labels, temps;

static uint32_t rnd(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text + used, TEXT - used, fmt, ap);
    va_end(ap);
    ck_assert(n >= 0 && used + (size_t)n < TEXT);
    used += (size_t)n;
}

static const char *const ops[] = { "add.u32", "sub.u32", "xor.b32", "and.b32", "or.b32", "mul.lo.u32", "min.u32", "max.s32" };

static void simple(void)
{
    unsigned t = temps++;
    switch (rnd(6)) {
    case 0: say("%s %%r%u, %%r%u, %u;\n", ops[rnd(8)], rnd(REGS), rnd(REGS), rnd(1000)); break;
    case 1:                                    /* through registers that are written once */
        say("mov.u32 %%t%u, %%r%u; %s %%t%u, %%t%u, %u; mov.u32 %%t%u, %%t%u; mov.u32 %%r%u, %%t%u;\n", t, rnd(REGS), ops[rnd(8)], t + 1, t, rnd(99), t + 2, t + 1,
            rnd(REGS), t + 2);
        temps += 3;
        break;
    case 2: say("mul.wide.u32 %%d%u, %%r%u, %u; cvt.u32.u64 %%r%u, %%d%u;\n", rnd(WIDE), rnd(REGS), rnd(100), rnd(REGS), rnd(WIDE)); break;
    case 3: say("setp.lt.u32 %%p%u, %%r%u, %%r%u; @%%p%u mov.u32 %%r%u, %%r%u;\n", t, rnd(REGS), rnd(REGS), t, rnd(REGS), rnd(REGS)); break;
    default: say("%s %%r%u, %%r%u, %%r%u;\n", ops[rnd(8)], rnd(REGS), rnd(REGS), rnd(REGS)); break;
    }
}

static void condition(unsigned t) { say("and.b32 %%t%u, %%r%u, %u; setp.%s.u32 %%p%u, %%t%u, %u;\n", t, rnd(REGS), rnd(15) + 1, rnd(2) ? "eq" : "lt", t, t, rnd(3)); }

static void block(unsigned depth, unsigned break_to);

static void loop(unsigned depth)
{
    unsigned l = labels++, counter = temps++, t = temps++;
    say("and.b32 %%t%u, %%r%u, 3; mov.u32 %%c%u, 0;\nTOP%u:\n", t, rnd(REGS), counter, l);
    block(depth - 1, l);
    say("add.u32 %%c%u, %%c%u, 1; setp.le.u32 %%p%u, %%c%u, %%t%u; @%%p%u bra TOP%u;\nEND%u:\n", counter, counter, t, counter, t, t, l, l);
}

static void branch(unsigned depth, unsigned break_to)
{
    unsigned l = labels++, t = temps++;
    condition(t);
    say("@%%p%u bra ELSE%u;\n", t, l);
    block(depth - 1, break_to);
    say("bra JOIN%u;\nELSE%u:\n", l, l);
    if (rnd(3)) block(depth - 1, break_to);
    say("JOIN%u:\n", l);
}

static void block(unsigned depth, unsigned break_to)
{
    for (unsigned n = rnd(4) + 1; n--;) {
        unsigned kind = rnd(10);
        if (depth && kind < 3) branch(depth, break_to);
        else if (depth && kind == 3) loop(depth);
        else if (kind == 4 && break_to != UINT32_MAX) {
            unsigned t = temps++;
            condition(t);
            say("@%%p%u bra END%u;\n", t, break_to);
        } else if (kind == 5 && !rnd(4)) {
            unsigned t = temps++;
            condition(t);
            say("@%%p%u bra FINISH;\n", t);
        } else simple();
    }
}

static void program(uint32_t n)
{
    seed = n * 2654435761u + 1;
    used = 0;
    labels = temps = 0;
    say("%s.visible .entry k(.param .u64 p, .param .u32 first)\n{\n.reg .b32 %%r<%u>; .reg .b32 %%t<2000>; .reg .b32 %%c<2000>; .reg .pred %%p<2000>; .reg .b64 %%d<%u>; .reg .b64 %%a<4>; .reg .b32 %%i<4>;\n",
        PTX_HEAD, REGS, WIDE);
    say("ld.param.u64 %%a0, [p]; ld.param.u32 %%i0, [first]; mov.u32 %%i1, %%tid.x; add.u32 %%i1, %%i1, %%i0; mul.wide.u32 %%a1, %%i1, %u; add.s64 %%a2, %%a0, %%a1;\n", 4 * REGS);
    for (unsigned i = 0; i < REGS; i++) say("mad.lo.u32 %%r%u, %%i1, %u, %u;\n", i, rnd(1000), rnd(1000));
    for (unsigned i = 0; i < WIDE; i++) say("mov.u64 %%d%u, %u;\n", i, rnd(1000));
    block(4, UINT32_MAX);
    block(4, UINT32_MAX);
    say("FINISH:\n");
    for (unsigned i = 0; i < REGS; i++) say("st.global.u32 [%%a2+%u], %%r%u;\n", 4 * i, i);
    say("ret;\n}\n");
}

START_TEST(same_in_every_way)
{
    static uint32_t want[THREADS * REGS];
    program((uint32_t)_i);
    uint64_t params[2] = { (uint64_t)(uintptr_t)run.out, 0 };
    run.keep_copies = run.keep_rows = true;
    run_open(text);
    run.launch.block[0] = 1;
    for (params[1] = 0; params[1] < THREADS; params[1]++) ck_assert_int_eq(run_kernel("k", params, 2), EMU_DONE);
    memcpy(want, run.out, sizeof want);
    uint64_t counted = 0;
    run.launch.block[0] = THREADS;
    params[1] = 0;
    for (int v = 0; v < 8; v++) {
        run.launch.policy = v & 1 ? EMU_STACK : EMU_ITS;
        run.keep_copies = v & 2;
        run.keep_rows = v & 4;
        run.quantum = v & 1 ? 1 << 20 : 50;
        run_open(text);
        ck_assert_int_eq(run_kernel("k", params, 2), EMU_DONE);
        for (unsigned i = 0; i < THREADS * REGS; i++)
            ck_assert_msg(run.out[i] == want[i], "program %d variant %d thread %u register %u: %u, expected %u", _i, v, i / REGS, i % REGS, run.out[i], want[i]);
        if (!v) counted = run.counters.thread_insns;
        ck_assert_uint_eq(run.counters.thread_insns, counted);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu_flow_random");
    TCase *t = tcase_create("random");
    tcase_add_checked_fixture(t, run_setup, run_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, same_in_every_way, 0, 80);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
