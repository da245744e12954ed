/* Calls: parameters of every size, divergence inside and around them, exits inside, the stack, faults and single steps. */
#include "tests/unit/emu_run.h"
#include <pthread.h>

#define ENTRY ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<8>;\n" \
    "ld.param.u64 %rd1, [p]; mov.u32 %r9, %tid.x; mul.wide.u32 %rd8, %r9, 4; add.s64 %rd9, %rd1, %rd8;\n"
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
    for (uint32_t t = 0; t < threads; t++) ck_assert_msg(run.out[t] == value(t), "thread %u: 0x%x, expected 0x%x", t, run.out[t], value(t));
}

static uint32_t v_struct(uint32_t t) { return t + 1 + 2 + 3 + 0xffffff80u + t + 0x44; }
START_TEST(struct_parameter)
{
    variant(_i);
    expect(PTX_HEAD ".func (.param .align 8 .b8 r[16]) f(.param .align 8 .b8 s[24], .param .b16 h)\n{ .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .f64 %d<2>;"
           "ld.param.u64 %rd1, [s]; ld.param.v2.u32 {%r1, %r2}, [s+8]; ld.param.u16 %h1, [s+16]; ld.param.s8 %h2, [s+18]; ld.param.u16 %h3, [h];"
           "cvt.u32.u64 %r3, %rd1; add.u32 %r3, %r3, %r1; add.u32 %r3, %r3, %r2; cvt.u32.u16 %r4, %h1; add.u32 %r3, %r3, %r4; cvt.s32.s16 %r5, %h2; add.u32 %r3, %r3, %r5;"
           "cvt.u32.u16 %r6, %h3; add.u32 %r3, %r3, %r6; st.param.b32 [r+12], %r3; ret; }\n"
           ENTRY "cvt.u64.u32 %rd3, %r9; mov.u32 %r2, 1; mov.u32 %r3, 2; mov.u16 %h1, 3; cvt.u16.u32 %h2, %r9; add.u16 %h2, %h2, 128; mov.u16 %h3, 0x44;"
           "{ .param .align 8 .b8 a[24]; .param .b16 b; .param .align 8 .b8 r[16]; st.param.b64 [a], %rd3; st.param.v2.b32 [a+8], {%r2, %r3}; st.param.b16 [a+16], %h1; st.param.b8 [a+18], %h2;"
           "st.param.b16 [b], %h3; call.uni (r), f, (a, b); ld.param.b32 %r1, [r+12]; }" END, 32, v_struct);
}
END_TEST

/* A parameter whose address is taken lies in local memory; loads by its address, plain and generic, and by its name agree. In recursion each
 * activation has its own. */
static uint32_t v_address(uint32_t t) { uint32_t w[4] = { t, t + 1, 7, 9 }; return w[t % 4] * 3 + 2 * w[t % 4] * 3; }
START_TEST(address_of_a_parameter)
{
    variant(_i);
    expect(PTX_HEAD ".func (.param .b32 r) f(.param .align 8 .b8 s[16], .param .b32 i, .param .b32 n)\n{ .reg .pred %p<2>; .reg .b32 %r<16>; .reg .b64 %rd<9>;"
           "mov.b64 %rd1, s; ld.param.u32 %r1, [i]; ld.param.u32 %r9, [n]; mov.u32 %r8, 0; mul.wide.u32 %rd2, %r1, 4; setp.eq.u32 %p1, %r9, 0; @%p1 bra OUT;"
           "{ .param .align 8 .b8 a[16]; .param .b32 b; .param .b32 c; .param .b32 d; ld.param.v2.u32 {%r2, %r3}, [s]; ld.param.v2.u32 {%r4, %r5}, [s+8];"
           "add.u32 %r2, %r2, %r2; add.u32 %r3, %r3, %r3; add.u32 %r4, %r4, %r4; add.u32 %r5, %r5, %r5; sub.u32 %r9, %r9, 1;"
           "st.param.v2.b32 [a], {%r2, %r3}; st.param.v2.b32 [a+8], {%r4, %r5}; st.param.b32 [b], %r1; st.param.b32 [c], %r9; call (d), f, (a, b, c); ld.param.b32 %r8, [d]; }"
           "OUT: add.u64 %rd3, %rd1, %rd2; ld.param.u32 %r6, [%rd3]; cvta.param.u64 %rd4, %rd3; ld.u32 %r7, [%rd4]; add.u32 %r8, %r8, %r6; add.u32 %r8, %r8, %r7;"
           "mov.b64 %rd5, s+4; sub.u64 %rd5, %rd5, 4; add.u64 %rd5, %rd5, %rd2; ld.param.u32 %r6, [%rd5]; add.u32 %r8, %r8, %r6; st.param.b32 [r], %r8; ret; }\n"
           ENTRY "and.b32 %r2, %r9, 3; add.u32 %r3, %r9, 1; { .param .align 8 .b8 a[16]; .param .b32 b; .param .b32 c; .param .b32 d; st.param.v2.b32 [a], {%r9, %r3}; mov.u32 %r4, 7; mov.u32 %r5, 9;"
           "st.param.v2.b32 [a+8], {%r4, %r5}; mov.u32 %r6, 1; st.param.b32 [b], %r2; st.param.b32 [c], %r6; call (d), f, (a, b, c); ld.param.b32 %r1, [d]; }" END, 32, v_address);
}
END_TEST

static uint32_t v_returns(uint32_t t) { return (t < 10 ? 100u : t < 20 ? 200u : 300u) + t; }
START_TEST(returns_from_several_places)
{
    variant(_i);
    expect(PTX_HEAD ".func (.param .b32 r) f(.param .b32 n)\n{ .reg .pred %p<3>; .reg .b32 %r<9>; ld.param.u32 %r1, [n]; setp.ge.u32 %p1, %r1, 10; @%p1 bra A; mov.u32 %r2, 100; st.param.b32 [r], %r2; ret;"
           "A: setp.ge.u32 %p2, %r1, 20; mov.u32 %r3, 200; st.param.b32 [r], %r3; @!%p2 ret; mov.u32 %r4, 300; st.param.b32 [r], %r4; ret; }\n"
           ENTRY "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r9; call (b), f, (a); ld.param.b32 %r1, [b]; } add.u32 %r1, %r1, %r9; activemask.b32 %r2; setp.ne.u32 %p1, %r2, -1; @%p1 mov.u32 %r1, 0;" END,
           32, v_returns);
}
END_TEST

static uint32_t v_guarded(uint32_t t) { return t % 2 ? t + 5 : t; }
START_TEST(guarded_call_and_registers_as_parameters)
{
    variant(_i);
    expect(PTX_HEAD ".func (.reg .b32 r) f(.reg .b32 n, .reg .b64 m)\n{ .reg .b32 %r<9>; cvt.u32.u64 %r1, m; add.u32 r, n, %r1; ret; }\n"
           ENTRY "and.b32 %r2, %r9, 1; setp.eq.u32 %p1, %r2, 1; mov.u32 %r1, %r9; @%p1 call (%r1), f, (%r9, 5);" END, 32, v_guarded);
}
END_TEST

static uint32_t v_exit(uint32_t t) { return t < 7 ? 0 : t; }
START_TEST(exit_inside_a_function)
{
    variant(_i);
    expect(PTX_HEAD ".func f(.param .b32 n) { .reg .pred %p<2>; .reg .b32 %r<3>; ld.param.u32 %r1, [n]; setp.lt.u32 %p1, %r1, 7; @%p1 exit; ret; }\n"
           ENTRY "{ .param .b32 a; st.param.b32 [a], %r9; call f, (a); } bar.sync 0; mov.u32 %r1, %r9;" END, 64, v_exit);
}
END_TEST

static uint32_t v_local(uint32_t t) { uint32_t s = 0; for (uint32_t i = 0; i <= t % 5; i++) s += 10 * i + t; return s; }
START_TEST(local_memory_of_recursion)
{
    /* each activation keeps a word in its own local array over the inner call */
    variant(_i);
    expect(PTX_HEAD ".func (.param .b32 r) f(.param .b32 n, .param .b32 t)\n{ .local .align 8 .b8 depot[16]; .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<5>;"
           "mov.u64 %rd1, depot; cvta.local.u64 %rd2, %rd1; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [t]; mad.lo.u32 %r3, %r1, 10, %r2; st.u32 [%rd2+8], %r3; mov.u32 %r6, 0;"
           "setp.eq.u32 %p1, %r1, 0; @%p1 bra OUT; sub.u32 %r4, %r1, 1;"
           "{ .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [a], %r4; st.param.b32 [b], %r2; call (c), f, (a, b); ld.param.b32 %r6, [c]; }"
           "OUT: ld.local.u32 %r5, [%rd1+8]; add.u32 %r6, %r6, %r5; st.param.b32 [r], %r6; ret; }\n"
           ENTRY "rem.u32 %r2, %r9, 5; { .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [a], %r2; st.param.b32 [b], %r9; call (c), f, (a, b); ld.param.b32 %r1, [c]; }" END, 64, v_local);
}
END_TEST

static uint32_t v_alloca(uint32_t t) { return t + (t + 100); }
START_TEST(stack_allocation)
{
    variant(_i);
    expect(PTX_HEAD ENTRY "stacksave.u64 %rd3; mul.wide.u32 %rd4, %r9, 8; add.u64 %rd4, %rd4, 8; alloca.u64 %rd5, %rd4, 16; alloca.u64 %rd6, 16; st.local.u32 [%rd5], %r9; add.u32 %r2, %r9, 100;"
           "st.local.u32 [%rd6+4], %r2; ld.local.u32 %r3, [%rd5]; ld.local.u32 %r4, [%rd6+4]; add.u32 %r1, %r3, %r4; stackrestore.u64 %rd3; stacksave.u64 %rd7; setp.ne.u64 %p1, %rd7, %rd3; @%p1 mov.u32 %r1, 0;" END,
           32, v_alloca);
}
END_TEST

/* A table of functions whose text is too large to be decoded in advance: they are decoded at their first calls, by two workers at once. Their shared
 * variables, those of what they call and their own, have their places all the same. */
enum { LARGE = 3 << 20, HALF = 4 };
struct half { struct emu_grid *grid; uint64_t first; bool done; };
static void *run_half(void *user)
{
    struct half *h = user;
    struct emu_worker *w;
    struct emu_cta *cta;
    h->done = emu_worker_create(&w, NULL) == ST_OK;
    for (uint64_t i = h->first; i < h->first + HALF && h->done; i++) {
        enum emu_result r = EMU_FAULT;
        if (emu_cta_start(&cta, h->grid, w, i, 0, NULL) == ST_OK)
            do r = emu_cta_run(cta, w, 20);
            while (r == EMU_YIELD);
        h->done = r == EMU_DONE;
        if (h->done) emu_cta_free(cta, w);
    }
    if (w) emu_worker_free(w);
    return NULL;
}

START_TEST(large_table)
{
    const char *const parts[] = { PTX_HEAD ".shared .u32 of_a, of_c, of_nobody[100];\n"
            ".func (.param .b32 r) c(.param .b32 n) { .reg .b32 %r<4>; ld.param.u32 %r1, [n]; st.shared.u32 [of_c], %r1; ld.shared.u32 %r1, [of_c]; add.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }\n"
            ".func (.param .b32 r) a(.param .b32 n) { .reg .b32 %r<4>; { .param .b32 x; .param .b32 y; ld.param.u32 %r1, [n]; st.shared.u32 [of_a], %r1; /*",
                                  "*/ ld.shared.u32 %r2, [of_a]; st.param.b32 [x], %r2; call (y), c, (x); ld.param.b32 %r3, [y]; } st.param.b32 [r], %r3; ret; }\n"
            ".func (.param .b32 r) b(.param .b32 n) { .reg .b32 %r<4>; .shared .u32 own; ld.param.u32 %r1, [n]; st.shared.u32 [own], %r1; /*",
                                  "*/ ld.shared.u32 %r2, [own]; shl.b32 %r2, %r2, 1; st.param.b32 [r], %r2; ret; }\n"
            ".visible .global .align 8 .u64 table[2] = { a, b };\n"
            ENTRY "mov.u32 %r2, %ctaid.x; and.b32 %r2, %r2, 1; mul.wide.u32 %rd3, %r2, 8; mov.u64 %rd4, table; add.s64 %rd4, %rd4, %rd3; ld.global.u64 %rd5, [%rd4];"
            "{ .param .b32 x; .param .b32 y; mov.u32 %r3, %ctaid.x; st.param.b32 [x], %r3; proto: .callprototype (.param .b32 _) _ (.param .b32 _); call (y), %rd5, (x), proto; ld.param.b32 %r1, [y]; }"
            "mul.wide.u32 %rd6, %r3, 4; add.s64 %rd9, %rd9, %rd6;" END };
    char *text = calloc(1, 2 * LARGE + 4096);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0, n = 0; i < 3; i++, n += LARGE) {
        strcpy(text + n, parts[i]);
        n += strlen(parts[i]);
        if (i < 2) memset(text + n, 'x', LARGE);
    }
    run_open(text);
    struct emu_kernel_facts late, whole;
    emu_kernel_facts(run_get("k"), &late);
    ck_assert_uint_eq(late.shared_bytes, 12);              /* of_a, of_c, own */
    ck_assert(late.ordered && late.can_wait);
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    struct emu_grid *g;
    pthread_t thread[2];
    run.launch.grid[0] = 2 * HALF;
    run.launch.block[0] = 1;
    run.launch.params = &out;
    run.launch.param_bytes = 8;
    run.launch.parallel = true;
    ck_assert(emu_grid_create(&g, run_get("k"), &run.launch, NULL) == ST_OK);
    struct half half[2] = { { g, 0, false }, { g, HALF, false } };
    for (int i = 0; i < 2; i++) ck_assert_int_eq(pthread_create(&thread[i], NULL, run_half, &half[i]), 0);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
    ck_assert(half[0].done && half[1].done);
    emu_grid_free(g);
    for (uint32_t c = 0; c < 2 * HALF; c++) ck_assert_uint_eq(run.out[c], c & 1 ? 2 * c : c + 1);
    run.keep_copies = run.keep_rows = true;                /* for a debugger all is decoded before */
    run_open(text);
    free(text);
    emu_kernel_facts(run_get("k"), &whole);
    ck_assert_uint_gt(whole.records, late.records + 20);
    ck_assert_uint_eq(whole.shared_bytes, 12);
}
END_TEST

START_TEST(wrong_addresses)
{
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    run_open(PTX_HEAD ENTRY "mov.u64 %rd3, 1234; P: .callprototype _ (); call %rd3, P;" "mov.u32 %r1, 1;" END);
    ck_assert_int_eq(run_kernel("k", &out, 1), EMU_FAULT);
    ck_assert_int_eq(emu_worker_fault(run.worker)->status, ST_INVALID_PC);
    run_open(PTX_HEAD ".extern .func nowhere();\n" ENTRY "setp.eq.u32 %p1, %r9, 3; @%p1 call nowhere; mov.u32 %r1, 1;" END);
    ck_assert_int_eq(run_kernel("k", &out, 1), EMU_FAULT);
    ck_assert_ptr_nonnull(strstr(emu_worker_fault(run.worker)->report, "nowhere"));
    ck_assert_uint_eq(emu_worker_fault(run.worker)->tid[0], 3);
}
END_TEST

START_TEST(reports)
{
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    run_open(PTX_HEAD ".file 1 \"a.cu\"\n" ENTRY "setp.eq.u32 %p1, %r9, 37;\n.loc 1 12 3\n@%p1 trap; mov.u32 %r1, 1;" END);
    run.launch.block[0] = 64;
    run.launch.grid[0] = 2;
    ck_assert_int_eq(run_kernel("k", &out, 1), EMU_FAULT);
    const struct emu_fault *f = emu_worker_fault(run.worker);
    ck_assert_int_eq(f->status, ST_LAUNCH_FAILED);
    ck_assert_uint_eq(f->tid[0], 37);
    ck_assert_ptr_nonnull(strstr(f->report, "trap;"));
    ck_assert_ptr_nonnull(strstr(f->report, "a.cu:12"));
    ck_assert_ptr_nonnull(strstr(f->report, "(37, 0, 0) of (64, 1, 1)"));
    run.launch.grid[0] = 1;
    run_open(".version 9.0\n.target sm_100a\n.address_size 64\n" ENTRY "mov.u32 %r1, 1; tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" END);
    ck_assert_int_eq(run_kernel("k", &out, 1), EMU_FAULT);
    ck_assert_int_eq(emu_worker_fault(run.worker)->status, ST_NOT_SUPPORTED);
    ck_assert_ptr_nonnull(strstr(emu_worker_fault(run.worker)->report, "tcgen05"));
}
END_TEST

START_TEST(single_steps)
{
    struct error err;
    struct emu_grid *g;
    struct emu_cta *cta;
    struct emu_event ev;
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    run.keep_copies = _i & 1;
    run_open(PTX_HEAD ENTRY "and.b32 %r2, %r9, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra EVEN; mov.u32 %r1, 7; bra OUT; EVEN: mov.u32 %r1, 9; OUT:" END);
    run.launch.params = &out;
    run.launch.param_bytes = 8;
    ck_assert(emu_grid_create(&g, run_get("k"), &run.launch, &err) == ST_OK);
    ck_assert(emu_cta_start(&cta, g, run.worker, 0, 0, &err) == ST_OK);
    enum emu_result r;
    unsigned steps = 0, stores = 0;
    while ((r = emu_warp_step(cta, run.worker, 0, &ev)) == EMU_YIELD && steps < 100) {
        ck_assert_ptr_nonnull(ev.insn);
        steps++;
        if (ev.insn->op != PTX_OP_ST) continue;
        stores++;
        ck_assert_uint_eq(ev.mask, 0xffffffff);
        ck_assert_uint_eq(ev.bytes, 4);
        ck_assert(ev.store);
        ck_assert_uint_eq(ev.address[5], out + 20);
    }
    ck_assert_int_eq(r, EMU_DONE);
    ck_assert_uint_eq(stores, 1);
    for (unsigned t = 0; t < 32; t++) ck_assert_uint_eq(run.out[t], t % 2 ? 7 : 9);
    emu_cta_free(cta, run.worker);
    emu_grid_free(g);
}
END_TEST

Suite *call_suite(void);
Suite *call_suite(void)
{
    Suite *s = suite_create("emu_flow_call");
    TCase *t = tcase_create("call");
    tcase_add_checked_fixture(t, run_setup, run_teardown);
    tcase_add_loop_test(t, struct_parameter, 0, VARIANTS);
    tcase_add_loop_test(t, address_of_a_parameter, 0, VARIANTS);
    tcase_add_loop_test(t, returns_from_several_places, 0, VARIANTS);
    tcase_add_loop_test(t, guarded_call_and_registers_as_parameters, 0, VARIANTS);
    tcase_add_loop_test(t, exit_inside_a_function, 0, VARIANTS);
    tcase_add_loop_test(t, local_memory_of_recursion, 0, VARIANTS);
    tcase_add_loop_test(t, stack_allocation, 0, VARIANTS);
    tcase_add_test(t, large_table);
    tcase_add_test(t, wrong_addresses);
    tcase_add_test(t, reports);
    tcase_add_loop_test(t, single_steps, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *r = srunner_create(call_suite());
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
