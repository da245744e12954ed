/* Control flow of warps: the same programs under both divergence policies, with and without folded copies and shared rows. */
#include "tests/unit/emu_run.h"

/* Every program stores one word per thread at out[tid]; the prologue leaves the address in %rd9 and the thread number in %r9. */
#define BEGIN_TAIL(regs) ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<8>;\n" regs \
    "ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1; mov.u32 %r9, %tid.x; mul.wide.u32 %rd8, %r9, 4; add.s64 %rd9, %rd2, %rd8;\n"
#define BEGIN(regs) PTX_HEAD BEGIN_TAIL(regs)
#define END "st.global.u32 [%rd9], %r1; ret;\n}\n"

static void variant(int i)
{
    run.launch.policy = i & 1 ? EMU_STACK : EMU_ITS;
    run.keep_copies = i & 2;
    run.keep_rows = i & 4;
}
enum { VARIANTS = 8 };

static void expect(const char *text, unsigned threads, uint32_t (*value)(uint32_t tid))
{
    run_open(text);
    run.launch.block[0] = threads;
    run_done("k");
    for (uint32_t t = 0; t < threads; t++) ck_assert_msg(run.out[t] == value(t), "thread %u: %u, expected %u", t, run.out[t], value(t));
    ck_assert_uint_eq(run.out[threads], 0);
}

static uint32_t v_line(uint32_t t) { return t * 3 + 7; }
START_TEST(straight_line)
{
    variant(_i);
    expect(BEGIN("") "mov.u32 %r2, 7; mad.lo.s32 %r1, %r9, 3, %r2;" END, 100, v_line);
    ck_assert_uint_eq(run.counters.thread_insns, 900);     /* nine instructions */
}
END_TEST

static uint32_t v_nest(uint32_t t) { return (t & 1 ? (t & 2 ? 10 : 20) : (t & 4 ? 30 : t & 8 ? 40 : 50)) + t; }
START_TEST(nested_ifs)
{
    variant(_i);
    expect(BEGIN("") "and.b32 %r2, %r9, 1; and.b32 %r3, %r9, 2; and.b32 %r4, %r9, 4; and.b32 %r5, %r9, 8;"
           "setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r3, 0; setp.eq.u32 %p3, %r4, 0; setp.eq.u32 %p4, %r5, 0;"
           "@%p1 bra EVEN; @%p2 bra ODD2; mov.u32 %r1, 10; bra JOIN; ODD2: mov.u32 %r1, 20; bra JOIN;"
           "EVEN: @%p3 bra E2; mov.u32 %r1, 30; bra JOIN; E2: @%p4 bra E3; mov.u32 %r1, 40; bra JOIN; E3: mov.u32 %r1, 50;"
           "JOIN: add.s32 %r1, %r1, %r9;" END, 64, v_nest);
}
END_TEST

/* A branch to the very next instruction: nobody parts from anybody, and nobody leaves an instruction out. */
static uint32_t v_next(uint32_t t) { return 2 * t + 5; }
START_TEST(branch_to_the_next_instruction)
{
    variant(_i);
    expect(BEGIN("") "and.b32 %r2, %r9, 1; setp.eq.u32 %p1, %r2, 0; mov.u32 %r1, 0; @%p1 bra L; L: add.u32 %r1, %r1, %r9; @!%p1 bra M; M: add.u32 %r1, %r1, 5;"
           "bra N; N: add.u32 %r1, %r1, %r9;" END, 64, v_next);
}
END_TEST

static uint32_t v_loop(uint32_t t)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i <= t; i++) {
        if (i == 20) return sum + 1000;
        sum += i;
    }
    return sum;
}
START_TEST(loop_with_two_exits)
{
    variant(_i);
    expect(BEGIN("") "mov.u32 %r1, 0; mov.u32 %r2, 0;"
           "LOOP: setp.gt.u32 %p1, %r2, %r9; @%p1 bra OUT; setp.eq.u32 %p2, %r2, 20; @%p2 bra SPECIAL; add.u32 %r1, %r1, %r2; add.u32 %r2, %r2, 1; bra LOOP;"
           "SPECIAL: add.u32 %r1, %r1, 1000;"
           "OUT:" END, 50, v_loop);
}
END_TEST

static uint32_t v_exit(uint32_t t) { return t % 3 == 0 ? 0 : t; }
START_TEST(early_exit)
{
    variant(_i);
    expect(BEGIN("") "rem.u32 %r2, %r9, 3; setp.eq.u32 %p1, %r2, 0; @%p1 exit; mov.u32 %r1, %r9;" END, 70, v_exit);
}
END_TEST

static uint32_t v_swap(uint32_t t) { return t < 5 ? 1 : (t - 5) % 2 ? 2 : 1; }
START_TEST(copies_that_must_not_fold)
{
    /* (a, b) = (b, a) around a loop; the copies have one definition inside, but their sources change */
    variant(_i);
    expect(BEGIN("") "mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 5;"
           "L: setp.ge.u32 %p1, %r3, %r9; @%p1 bra OUT; mov.u32 %r4, %r1; mov.u32 %r1, %r2; mov.u32 %r2, %r4; add.u32 %r3, %r3, 1; bra L; OUT:" END, 40, v_swap);
}
END_TEST

static uint32_t v_last(uint32_t t) { return t == 0 ? 0 : t - 1; }
START_TEST(copy_outlives_its_source)
{
    /* %r5 keeps what %r4 was in the round before */
    variant(_i);
    expect(BEGIN("") "mov.u32 %r1, 0; mov.u32 %r3, 0;"
           "L: setp.eq.u32 %p2, %r3, 0; @%p2 bra FIRST; mov.u32 %r1, %r5; FIRST: add.u32 %r4, %r3, 0; mov.u32 %r5, %r4; add.u32 %r3, %r3, 1;"
           "setp.le.u32 %p1, %r3, %r9; @%p1 bra L;" END, 40, v_last);
}
END_TEST

static uint32_t v_brx(uint32_t t) { return t % 4 == 0 ? 100 : t % 4 == 1 ? 200 : t % 4 == 2 ? 301 : 300; }
START_TEST(indexed_branch)
{
    variant(_i);
    expect(BEGIN("") "and.b32 %r2, %r9, 3; mov.u32 %r1, 0; ts: .branchtargets A, B, C, D; brx.idx %r2, ts;"
           "A: mov.u32 %r1, 100; bra OUT; B: mov.u32 %r1, 200; bra OUT; C: mov.u32 %r1, 1; D: add.u32 %r1, %r1, 300; OUT:" END, 64, v_brx);
}
END_TEST

static uint32_t fib(uint32_t n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static uint32_t v_fib(uint32_t t) { return fib(t % 11); }
#define FIB ".func (.param .b32 r) fib(.param .b32 n)\n{ .reg .pred %p<3>; .reg .b32 %r<12>;\n" \
    "ld.param.u32 %r1, [n]; setp.lt.u32 %p1, %r1, 2; @%p1 bra SMALL;" \
    "sub.u32 %r2, %r1, 1; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), fib, (a); ld.param.b32 %r3, [b]; }" \
    "sub.u32 %r4, %r1, 2; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r4; call.uni (b), fib, (a); ld.param.b32 %r5, [b]; }" \
    "add.u32 %r6, %r3, %r5; st.param.b32 [r], %r6; ret; SMALL: st.param.b32 [r], %r1; ret; }\n"
START_TEST(recursion)
{
    variant(_i);
    expect(PTX_HEAD FIB ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<40>; .reg .b64 %rd<20>;\n"
           "ld.param.u64 %rd1, [p]; mov.u32 %r9, %tid.x; mul.wide.u32 %rd8, %r9, 4; add.s64 %rd9, %rd1, %rd8; rem.u32 %r2, %r9, 11;"
           "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call (b), fib, (a); ld.param.b32 %r1, [b]; }" END, 64, v_fib);
}
END_TEST

START_TEST(recursion_too_deep)
{
    run_open(PTX_HEAD ".func f() { call.uni f; ret; }\n.visible .entry k() { call.uni f; ret; }\n");
    ck_assert_int_eq(run_kernel("k", NULL, 0), EMU_FAULT);
    ck_assert_int_eq(emu_worker_fault(run.worker)->status, ST_HARDWARE_STACK_ERROR);
    ck_assert_ptr_nonnull(strstr(emu_worker_fault(run.worker)->report, "cudaLimitStackSize"));
}
END_TEST

static uint32_t v_pointer(uint32_t t) { return t % 3 == 0 ? t + 1 : t % 3 == 1 ? t * 2 : t; }
START_TEST(indirect_calls)
{
    variant(_i);
    expect(PTX_HEAD ".func (.param .b32 r) inc(.param .b32 n) { .reg .b32 %r<4>; ld.param.u32 %r1, [n]; add.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }\n"
           ".func (.param .b32 r) dbl(.param .b32 n) { .reg .b32 %r<4>; ld.param.u32 %r1, [n]; shl.b32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }\n"
           ".func (.param .b32 r) same(.param .b32 n) { .reg .b32 %r<4>; ld.param.u32 %r1, [n]; st.param.b32 [r], %r1; ret; }\n"
           ".visible .global .align 8 .u64 table[2] = { inc, dbl };\n"
           BEGIN_TAIL("") "rem.u32 %r2, %r9, 3; mul.wide.u32 %rd3, %r2, 8; mov.u64 %rd4, table; add.s64 %rd4, %rd4, %rd3; setp.eq.u32 %p1, %r2, 2; mov.u64 %rd5, same;"
           "@!%p1 ld.global.u64 %rd5, [%rd4];"
           "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r9; proto: .callprototype (.param .b32 _) _ (.param .b32 _); call (b), %rd5, (a), proto; ld.param.b32 %r1, [b]; }"
           END, 64, v_pointer);
}
END_TEST

Suite *flow_suite(void);
Suite *flow_suite(void)
{
    Suite *s = suite_create("emu_flow");
    TCase *t = tcase_create("flow");
    tcase_add_checked_fixture(t, run_setup, run_teardown);
    tcase_add_loop_test(t, straight_line, 0, VARIANTS);
    tcase_add_loop_test(t, nested_ifs, 0, VARIANTS);
    tcase_add_loop_test(t, branch_to_the_next_instruction, 0, VARIANTS);
    tcase_add_loop_test(t, loop_with_two_exits, 0, VARIANTS);
    tcase_add_loop_test(t, early_exit, 0, VARIANTS);
    tcase_add_loop_test(t, copies_that_must_not_fold, 0, VARIANTS);
    tcase_add_loop_test(t, copy_outlives_its_source, 0, VARIANTS);
    tcase_add_loop_test(t, indexed_branch, 0, VARIANTS);
    tcase_add_loop_test(t, recursion, 0, VARIANTS);
    tcase_add_test(t, recursion_too_deep);
    tcase_add_loop_test(t, indirect_calls, 0, VARIANTS);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *r = srunner_create(flow_suite());
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
