/* What decoding makes of a function: folded copies, shared rows, facts, layouts, and what it refuses. */
#include "tests/unit/emu_run.h"

#define HEAD PTX_HEAD

static struct emu_kernel_facts facts_of(const char *text, bool keep_copies, bool keep_rows)
{
    struct emu_kernel_facts f;
    run.keep_copies = keep_copies;
    run.keep_rows = keep_rows;
    run_open(text);
    emu_kernel_facts(run_get("k"), &f);
    return f;
}

START_TEST(copies_need_no_record)
{
    const char *text = HEAD ".visible .entry k(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %rd<9>;"
                            "ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1; mov.u32 %r1, %tid.x; mov.u32 %r2, %r1; mov.u32 %r3, 5; st.global.u32 [%rd2], %r2; st.global.u32 [%rd2+4], %r3; ret; }";
    ck_assert_uint_eq(facts_of(text, false, false).records, 4);            /* two stores, ret, the end */
    ck_assert_uint_eq(facts_of(text, true, false).records, 10);            /* all eight, the shape of the address that both stores use, the end */
}
END_TEST

START_TEST(facts)
{
    struct emu_kernel_facts f = facts_of(HEAD ".const .align 4 .b8 c[100];\n.visible .entry k(.param .u64 p, .param .u32 n) .reqntid 64, 2, 1 { .shared .align 4 .b8 s[100]; .local .align 8 .b8 l[20]; .reg .b32 %r<9>; .reg .b64 %rd<9>;"
                                         "mov.u32 %r1, s; ld.shared.u32 %r2, [%r1]; ld.param.u64 %rd1, [p]; atom.global.exch.b32 %r3, [%rd1], %r2; st.global.u32 [%rd1+4], %r3; ret; }", false, false);
    ck_assert_str_eq(f.name, "k");
    ck_assert_uint_eq(f.param_bytes, 12);
    ck_assert_uint_eq(f.shared_bytes, 100);
    ck_assert_uint_eq(f.local_bytes, 32);
    ck_assert_uint_eq(f.const_bytes, 100);
    ck_assert_uint_eq(f.max_threads, 128);
    ck_assert_uint_eq(f.req_threads[0], 64);
    ck_assert(f.can_wait);
    ck_assert(f.ordered);
}
END_TEST

START_TEST(launches_that_cannot_be)
{
    struct error err;
    struct emu_grid *g;
    run_open(HEAD ".visible .entry k(.param .u64 p) .maxntid 64 { ret; }");
    uint64_t p = 0;
    run.launch.params = &p;
    run.launch.param_bytes = 8;
    run.launch.block[0] = 128;
    ck_assert(emu_grid_create(&g, run_get("k"), &run.launch, &err) != ST_OK);
    run.launch.block[0] = 0;
    ck_assert(emu_grid_create(&g, run_get("k"), &run.launch, &err) != ST_OK);
    run.launch.block[0] = 64;
    run.launch.dynamic_shared_bytes = 1 << 20;
    ck_assert(emu_grid_create(&g, run_get("k"), &run.launch, &err) != ST_OK);
    run.launch.dynamic_shared_bytes = 0;
    run.launch.param_bytes = 4;
    ck_assert(emu_grid_create(&g, run_get("k"), &run.launch, &err) != ST_OK);
    struct emu_kernel *k;
    run_open(HEAD ".func f() { ret; }\n");
    ck_assert_int_eq(emu_kernel_get(&k, run.image, 0, &err), ST_INVALID_DEVICE_FUNCTION);
}
END_TEST

START_TEST(dynamic_shared_begins_behind_the_static)
{
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    run_open(HEAD ".extern .shared .align 16 .b8 dyn[];\n.extern .shared .align 4 .b8 dyn2[];\n.visible .entry k(.param .u64 p) { .shared .align 4 .b8 s[20]; .reg .b32 %r<9>; .reg .b64 %rd<9>;"
             "ld.param.u64 %rd1, [p]; mov.u32 %r1, dyn; mov.u32 %r2, dyn2; mov.u32 %r3, s; mov.u32 %r4, %dynamic_smem_size; mov.u32 %r5, %total_smem_size;"
             "st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4}; st.global.u32 [%rd1+16], %r5; st.shared.u32 [%r1+60], %r1; ret; }");
    run.launch.dynamic_shared_bytes = 64;
    ck_assert_int_eq(run_kernel("k", &out, 1), EMU_DONE);
    const uint32_t want[5] = { 32, 32, 0, 64, 128 /* in units of 128 */ };
    for (int i = 0; i < 5; i++) ck_assert_uint_eq(run.out[i], want[i]);
}
END_TEST

START_TEST(special_registers)
{
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    run_open(HEAD ".visible .entry k(.param .u64 p) { .reg .pred %p<3>; .reg .b32 %r<30>; .reg .b64 %rd<9>; ld.param.u64 %rd1, [p];"
             "mov.u32 %r1, %tid.y; mov.u32 %r2, %ntid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y; mov.u32 %r5, %nctaid.y; mov.u32 %r6, %warpid; mov.u32 %r7, %lanemask_lt; mov.u32 %r8, %nsmid;"
             "mov.u32 %r9, %clock; mov.u64 %rd2, %clock64; mov.u32 %r10, %envreg3; mov.u64 %rd3, %gridid; mov.u32 %r11, %tid.x; mov.u32 %r12, %clock; sub.u32 %r12, %r12, %r9; setp.gt.s32 %p1, %r12, 0; selp.u32 %r12, 1, 0, %p1;"
             "mad.lo.u32 %r13, %r1, %r2, %r11; mad.lo.u32 %r14, %r4, %nctaid.x, %r3; mul.lo.u32 %r14, %r14, 40; add.u32 %r13, %r13, %r14; mul.wide.u32 %rd4, %r13, 32; add.s64 %rd5, %rd1, %rd4; cvt.u32.u64 %r15, %rd3;"
             "st.global.v4.u32 [%rd5], {%r6, %r7, %r8, %r10}; st.global.v4.u32 [%rd5+16], {%r5, %r12, %r15, %r4}; ret; }");
    run.launch.grid[0] = 2;
    run.launch.grid[1] = 3;
    run.launch.block[0] = 8;
    run.launch.block[1] = 5;
    run.launch.envreg[3] = 33;
    run.launch.grid_id = 77;
    ck_assert_int_eq(run_kernel("k", &out, 1), EMU_DONE);
    for (uint32_t b = 0; b < 6; b++)
        for (uint32_t t = 0; t < 40; t++) {
            const uint32_t *o = run.out + (b * 40 + t) * 8;
            const uint32_t want[8] = { t / 32, (1u << (t % 32)) - 1, 4, 33, 3, 1, 77, b / 2 };
            for (int i = 0; i < 8; i++) ck_assert_msg(o[i] == want[i], "block %u thread %u value %d: %u, expected %u", b, t, i, o[i], want[i]);
        }
}
END_TEST

START_TEST(the_clock_counts_and_runs_ahead_for_those_who_wait_for_it)
{
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    run_open(HEAD ".visible .entry k(.param .u64 p) { .reg .pred %p<3>; .reg .b32 %r<30>; .reg .b64 %rd<9>; ld.param.u64 %rd1, [p];"
             "mov.u32 %r1, %clock; add.u32 %r2, %r1, 1; mul.lo.u32 %r2, %r2, %r1; xor.b32 %r2, %r2, %r1; mov.u32 %r3, %clock; sub.u32 %r3, %r3, %r1;"
             "mov.u64 %rd2, %clock64; mov.u32 %r4, 0; WAIT: add.u32 %r4, %r4, 1; mov.u64 %rd3, %clock64; sub.u64 %rd3, %rd3, %rd2; setp.lt.u64 %p1, %rd3, 20000000; @%p1 bra WAIT;"
             "mov.u32 %r5, %clock; st.global.v2.u32 [%rd1], {%r3, %r4}; st.global.u32 [%rd1+8], %r2; ret; }");
    run.launch.block[0] = 1;
    ck_assert_int_eq(run_kernel("k", &out, 1), EMU_DONE);
    ck_assert_uint_ge(run.out[0], 4);          /* instructions between the readings */
    ck_assert_uint_lt(run.out[0], 20);
    ck_assert_uint_lt(run.out[1], 1000000);    /* rounds of five instructions that see 20 million ticks */
    ck_assert_uint_gt(run.out[1], 1000);
}
END_TEST

START_TEST(moves)
{
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    run_open(HEAD ".visible .entry k(.param .u64 p) { .reg .pred %p<3>; .reg .b16 %h<9>; .reg .b32 %r<30>; .reg .b64 %rd<9>; .reg .b128 %q<2>; ld.param.u64 %rd1, [p];"
             "mov.b32 %r1, 0x11223344; mov.b32 {%h1, %h2}, %r1; mov.b32 %r2, {%h2, %h1}; mov.b64 %rd2, {%r1, %r2}; mov.b64 {%r3, %r4}, %rd2; mov.b64 {%h3, %h4, %h5, %h6}, %rd2; mov.b64 %rd3, {%h6, %h5, %h4, %h3};"
             "mov.b128 %q1, {%rd2, %rd3}; mov.b128 {%rd4, %rd5}, %q1; mov.b64 {_, %r5}, %rd5; cvt.u32.u16 %r6, %h4;"
             "st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r5}; st.global.u64 [%rd1+16], %rd3; st.global.u64 [%rd1+24], %rd4; st.global.u32 [%rd1+32], %r6; ret; }");
    ck_assert_int_eq(run_kernel("k", &out, 1), EMU_DONE);
    const uint32_t want[9] = { 0x33441122, 0x11223344, 0x33441122, 0x33441122, 0x11223344, 0x33441122, 0x11223344, 0x33441122, 0x1122 };
    for (int i = 0; i < 9; i++) ck_assert_msg(run.out[i] == want[i], "%d: 0x%x, expected 0x%x", i, run.out[i], want[i]);
}
END_TEST

START_TEST(initialisers)
{
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    run_open(HEAD ".global .align 4 .u32 a[4] = { 1, 2, 3, 4 };\n.global .align 8 .u64 q = generic(a)+8;\n.const .align 4 .u32 c = 9;\n.visible .entry k(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %rd<9>;"
             "ld.param.u64 %rd1, [p]; ld.global.u64 %rd2, [q]; ld.u32 %r1, [%rd2]; ld.const.u32 %r2, [c]; ld.global.u32 %r3, [a+4]; st.global.v2.u32 [%rd1], {%r1, %r2}; st.global.u32 [%rd1+8], %r3; ret; }");
    ck_assert_int_eq(run_kernel("k", &out, 1), EMU_DONE);
    ck_assert_uint_eq(run.out[0], 3);
    ck_assert_uint_eq(run.out[1], 9);
    ck_assert_uint_eq(run.out[2], 2);
    uint64_t address, bytes;
    ck_assert(emu_image_symbol(run.image, "a", &address, &bytes));
    ck_assert_uint_eq(bytes, 16);
    ck_assert(!emu_image_symbol(run.image, "k", &address, &bytes));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu_decode");
    TCase *t = tcase_create("decode");
    tcase_add_checked_fixture(t, run_setup, run_teardown);
    tcase_add_test(t, copies_need_no_record);
    tcase_add_test(t, facts);
    tcase_add_test(t, launches_that_cannot_be);
    tcase_add_test(t, dynamic_shared_begins_behind_the_static);
    tcase_add_test(t, special_registers);
    tcase_add_test(t, the_clock_counts_and_runs_ahead_for_those_who_wait_for_it);
    tcase_add_test(t, moves);
    tcase_add_test(t, initialisers);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
