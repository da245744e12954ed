/* Records that one handler runs together (emu/fuse.h): the same results, counts and faults as one by one, from wherever they are entered. */
#include <math.h>

#include "emu/flow.h"
#include "emu/fuse.h"
#include "emu/isa.h"
#include "emu/mma.h"
#include "tests/unit/emu_run.h"

enum { DATA = 1024, WORDS = 1024 };            /* words of run.out from which shared memory is filled */

/* A kernel: %rd9 out, %rd1 out + 4 tid, %r1 tid, %r30 the start of shared memory, which is a copy of the data, %r31 that + 4 tid. Up to 9 texts. */
static char text[65536];
static void body_open(const char *body)
{
    size_t n = (size_t)snprintf(text, sizeof text, "%s.visible .entry k(.param .u64 out) {\n.reg .pred %%p<9>; .reg .b32 %%r<99>; .reg .f32 %%f<99>; .reg .b64 %%rd<40>;\n"
                                ".shared .align 16 .b8 s[4096];\nld.param.u64 %%rd9, [out];\nmov.u32 %%r1, %%tid.x;\nmul.wide.u32 %%rd2, %%r1, 4;\n"
                                "add.s64 %%rd1, %%rd9, %%rd2; mov.u32 %%r30, s; shl.b32 %%r31, %%r1, 2; add.u32 %%r31, %%r30, %%r31;\n", PTX_HEAD);
    for (unsigned i = 0; i < WORDS / 32; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "ld.global.u32 %%r32, [%%rd1+%u]; st.shared.u32 [%%r31+%u], %%r32;\n", 4 * DATA + 128 * i, 128 * i);
    snprintf(text + n, sizeof text - n, "%s\nret;\n}\n", body);
    run_open(text);
}

static float data_at(unsigned word) { return word % 37 == 5 ? -0.0f : (float)(int)(word * 2654435761u >> 8) * 0x1p-20f; }

static void fill(void)
{
    for (unsigned i = 0; i < WORDS; i++) {
        float x = data_at(i);
        memcpy(&run.out[DATA + i], &x, 4);
    }
}

static unsigned fused_records(enum fuse_id id)
{
    struct error err;
    struct emu_kernel *k = run_get("k");
    const struct code *code = kernel_code(k, kernel_entry(k), &err);
    unsigned n = 0;
    for (uint32_t i = 0; i < code->n_insns; i++) n += code->insns[i].full == (*fuse_handlers())[id];
    return n;
}

/* The whole kernel by single steps. */
static void run_steps(void)
{
    struct error err;
    struct emu_grid *g;
    struct emu_cta *cta;
    struct emu_event ev;
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    run.launch.params = &out;
    run.launch.param_bytes = 8;
    ck_assert_msg(emu_grid_create(&g, run_get("k"), &run.launch, &err) == ST_OK, "%s", err.text);
    ck_assert(emu_cta_start(&cta, g, run.worker, 0, 0, &err) == ST_OK);
    const struct ptx_insn *last = NULL;
    enum emu_result r;
    while ((r = emu_warp_step(cta, run.worker, 0, &ev)) == EMU_YIELD) {
        ck_assert_msg(ev.insn != last, "line %u twice", ev.insn->line);        /* there are no loops of one instruction here */
        last = ev.insn;
    }
    ck_assert_int_eq(r, EMU_DONE);
    emu_cta_free(cta, run.worker);
    emu_grid_free(g);
}

/* Runs the body fused, with all registers kept, and by steps; results are slots of 32 words from the start of run.out. */
static uint32_t results[3][DATA];
static void run_all_ways(const char *body)
{
    for (int way = 0; way < 3; way++) {
        run.keep_rows = way == 1;
        body_open(body);
        fill();
        if (way == 2) run_steps();
        else run_done("k");
        memcpy(results[way], run.out, sizeof results[way]);
    }
    run.keep_rows = false;
    ck_assert_msg(!memcmp(results[0], results[1], sizeof results[0]), "kept rows differ");
    ck_assert_msg(!memcmp(results[0], results[2], sizeof results[0]), "steps differ");
}

static void expect_float(unsigned slot, uint32_t lane, float want)
{
    uint32_t bits;
    memcpy(&bits, &want, 4);
    if (want != want) bits = 0x7fffffff;
    ck_assert_msg(results[0][32 * slot + lane] == bits, "result %u, lane %u: %08x, not %08x", slot, lane, results[0][32 * slot + lane], bits);
}

/* Word of a lane in each kind of address, from %r1 to a byte offset in %r2. */
static uint32_t word_dense(uint32_t l) { return l; }
static uint32_t word_same(uint32_t l) { return 5 + 0 * l; }
static uint32_t word_tile(uint32_t l) { return l % 16; }
static uint32_t word_row(uint32_t l) { return l / 16 * 16; }
static uint32_t word_mixed(uint32_t l) { return l * 7 % 32; }
static const struct { const char *ptx; uint32_t (*word)(uint32_t l); } kinds[] = {
    { "shl.b32 %r2, %r1, 2;", word_dense },
    { "and.b32 %r2, %r1, 32; add.u32 %r2, %r2, 20;", word_same },
    { "and.b32 %r2, %r1, 15; shl.b32 %r2, %r2, 2;", word_tile },
    { "shr.u32 %r2, %r1, 4; shl.b32 %r2, %r2, 6;", word_row },
    { "mul.lo.u32 %r2, %r1, 7; and.b32 %r2, %r2, 31; shl.b32 %r2, %r2, 2;", word_mixed } };
enum { KINDS = sizeof kinds / sizeof *kinds };

START_TEST(loads_and_fma)
{
    unsigned x = (unsigned)_i % KINDS, y = (unsigned)_i / KINDS;
    char body[4096];
    snprintf(body, sizeof body, "%s add.u32 %%r4, %%r30, %%r2;\n%s add.u32 %%r5, %%r30, %%r2; mov.f32 %%f1, 0f3FC00000;\n"
             "ld.shared.f32 %%f2, [%%r4]; ld.shared.f32 %%f3, [%%r5+512]; fma.rn.f32 %%f1, %%f2, %%f3, %%f1;\n"
             "ld.shared.f32 %%f4, [%%r4+128]; ld.shared.f32 %%f5, [%%r5+640]; fma.rn.f32 %%f1, %%f5, %%f4, %%f1;\n"
             "ld.shared.f32 %%f6, [%%r4+256]; ld.shared.f32 %%f7, [%%r5+768]; fma.rn.f32 %%f6, %%f6, %%f7, %%f1;\n"      /* into one of the two */
             "ld.shared.f32 %%f8, [%%r4+256]; ld.shared.f32 %%f9, [%%r5+768]; fma.rn.f32 %%f10, %%f8, %%f9, %%f1;\n"     /* both are read later */
             "st.global.f32 [%%rd1], %%f1; st.global.f32 [%%rd1+128], %%f6; st.global.f32 [%%rd1+256], %%f8; st.global.f32 [%%rd1+384], %%f9; st.global.f32 [%%rd1+512], %%f10;",
             kinds[x].ptx, kinds[y].ptx);
    run_all_ways(body);
    ck_assert_uint_eq(fused_records(FUSE_LOAD_LOAD_FMA), 4);
    for (uint32_t l = 0; l < 32; l++) {
        uint32_t p = kinds[x].word(l), q = kinds[y].word(l) + 128;
        float sum = fmaf(data_at(p + 32), data_at(q + 32), fmaf(data_at(p), data_at(q), 1.5f)), all = fmaf(data_at(p + 64), data_at(q + 64), sum);
        expect_float(0, l, sum);
        expect_float(1, l, all);
        expect_float(2, l, data_at(p + 64));
        expect_float(3, l, data_at(q + 64));
        expect_float(4, l, all);
    }
}
END_TEST

/* Groups that must not be fused, or not in the one way: the addend is a loaded value; both loads into one register; a square. */
START_TEST(groups_that_do_not_fit)
{
    run_all_ways("mov.f32 %f9, 0f40000000;\n"
                 "ld.shared.f32 %f1, [%r31]; ld.shared.f32 %f2, [%r31+128]; fma.rn.f32 %f3, %f1, %f2, %f1;\n"
                 "ld.shared.f32 %f4, [%r31]; ld.shared.f32 %f4, [%r31+128]; fma.rn.f32 %f5, %f4, %f4, %f9;\n"
                 "ld.shared.f32 %f6, [%r31]; ld.shared.f32 %f7, [%r31+128]; fma.rn.f32 %f8, %f6, %f6, %f7;\n"
                 "st.global.f32 [%rd1], %f3; st.global.f32 [%rd1+128], %f5; st.global.f32 [%rd1+256], %f8;");
    ck_assert_uint_eq(fused_records(FUSE_LOAD_LOAD_FMA), 0);
    for (uint32_t l = 0; l < 32; l++) {
        float a = data_at(l), b = data_at(l + 32);
        expect_float(0, l, fmaf(a, b, a));
        expect_float(1, l, fmaf(b, b, 2));
        expect_float(2, l, fmaf(a, a, b));
    }
}
END_TEST

/* A loop that comes back between the loads and the fma: what the fma reads must be in the registers. */
START_TEST(entered_in_the_middle)
{
    run_all_ways("mov.f32 %f1, 0f00000000; mov.u32 %r8, 0;\n"
                 "ld.shared.f32 %f2, [%r31]; ld.shared.f32 %f3, [%r31+128];\nAGAIN: fma.rn.f32 %f1, %f2, %f3, %f1;\n"
                 "add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 3; @%p1 bra AGAIN;\n"
                 "mov.f32 %f5, 0f3F800000; setp.eq.u32 %p2, %r8, 3; ld.shared.f32 %f4, [%r31]; @%p2 bra MIDDLE;\n"
                 "ld.shared.f32 %f4, [%r31+128];\nMIDDLE: ld.shared.f32 %f6, [%r31+256]; fma.rn.f32 %f5, %f4, %f6, %f5;\n"
                 "st.global.f32 [%rd1], %f1; st.global.f32 [%rd1+128], %f5;");
    for (uint32_t l = 0; l < 32; l++) {
        float a = data_at(l), b = data_at(l + 32), sum = 0;
        for (int i = 0; i < 3; i++) sum = fmaf(a, b, sum);
        expect_float(0, l, sum);
        expect_float(1, l, fmaf(a, data_at(l + 64), 1));
    }
}
END_TEST

START_TEST(some_lanes)
{
    run_all_ways("mov.f32 %f1, 0f00000000; mov.f32 %f9, 0f00000000; setp.lt.u32 %p1, %r1, 11; @%p1 bra LOW;\n"
                 "ld.shared.f32 %f2, [%r31]; ld.shared.f32 %f3, [%r31+128]; fma.rn.f32 %f1, %f2, %f3, %f1; fma.rn.f32 %f9, %f1, %f1, %f1; fma.rn.f32 %f9, %f9, %f1, %f1;\n"
                 "LOW: st.global.f32 [%rd1], %f1; st.global.f32 [%rd1+128], %f9;");
    for (uint32_t l = 0; l < 32; l++) {
        float p = l < 11 ? 0 : data_at(l) * data_at(l + 32);
        expect_float(0, l, p);
        expect_float(1, l, l < 11 ? 0 : fmaf(fmaf(p, p, p), p, p));
    }
}
END_TEST

START_TEST(rows_of_fma)
{
    run_all_ways("ld.shared.f32 %f1, [%r31]; mov.b32 %f2, 0f7F800000; mov.b32 %f3, 0fFF800000; mov.f32 %f9, 0f3F000000;\n"
                 "fma.rn.f32 %f4, %f1, %f9, %f9; fma.rn.f32 %f5, %f4, %f4, %f1; fma.rn.f32 %f4, %f5, %f9, %f4; fma.rn.f32 %f6, %f2, %f9, %f3;\n"
                 "st.global.f32 [%rd1], %f4; st.global.f32 [%rd1+128], %f5; st.global.f32 [%rd1+256], %f6;");
    ck_assert_uint_eq(fused_records(FUSE_FMA_FMA), 3);
    for (uint32_t l = 0; l < 32; l++) {
        float a = data_at(l), first = fmaf(a, 0.5f, 0.5f), second = fmaf(first, first, a);
        expect_float(0, l, fmaf(second, 0.5f, first));
        expect_float(1, l, second);
        expect_float(2, l, NAN);
    }
}
END_TEST

START_TEST(array_elements)
{
    run_all_ways("sub.u32 %r4, %r1, 16; mul.wide.s32 %rd3, %r4, 4; add.s64 %rd4, %rd9, %rd3; ld.global.u32 %r5, [%rd4+4160];\n"       /* signed */
                 "mul.wide.u32 %rd5, %r1, 8; add.s64 %rd5, %rd9, %rd5; ld.global.u32 %r6, [%rd5+4096];\n"                             /* the same register */
                 "mul.wide.u32 %rd6, %r1, 4; add.s64 %rd7, %rd6, %rd9; ld.global.u32 %r7, [%rd7+4100]; cvt.u32.u64 %r8, %rd6;\n"      /* the product is read later */
                 "mul.wide.u32 %rd8, %r1, 4; add.s64 %rd10, %rd8, %rd8; cvt.u32.u64 %r9, %rd10;\n"
                 "mul.wide.u32 %rd11, %r4, %r4; add.s64 %rd12, %rd9, %rd11; shr.u64 %rd13, %rd12, 32; cvt.u32.u64 %r10, %rd13;\n"
                 "st.global.u32 [%rd1], %r5; st.global.u32 [%rd1+128], %r6; st.global.u32 [%rd1+256], %r7; st.global.u32 [%rd1+384], %r8;\n"
                 "st.global.u32 [%rd1+512], %r9; st.global.u32 [%rd1+640], %r10;");
    ck_assert_uint_eq(fused_records(FUSE_WIDE_ADD_S), 1);
    ck_assert_uint_eq(fused_records(FUSE_WIDE_ADD_U), 2);      /* the first of the kernel, and the last */
    for (uint32_t l = 0; l < 32; l++) {
        uint64_t u = l - 16u;
        expect_float(0, l, data_at(l));
        expect_float(1, l, data_at(2 * l));
        expect_float(2, l, data_at(l + 1));
        ck_assert_uint_eq(results[0][96 + l], 4 * l);
        ck_assert_uint_eq(results[0][128 + l], 8 * l);
        ck_assert_uint_eq(results[0][160 + l], (uint32_t)(((uint64_t)(uintptr_t)run.out + u * u) >> 32));
    }
}
END_TEST

/* The second load goes beyond shared memory: reported there, at its line, and what the first one did counts. */
START_TEST(fault_in_the_second)
{
    body_open("mov.f32 %f1, 0f00000000;\nld.shared.f32 %f2, [%r31];\nld.shared.f32 %f3, [%r31+3972]; /* lane 31 */\nfma.rn.f32 %f1, %f2, %f3, %f1;\nst.global.f32 [%rd1], %f1;");
    ck_assert_uint_eq(fused_records(FUSE_LOAD_LOAD_FMA), 1);
    unsigned line = 1;
    for (const char *p = text; p < strstr(text, "[%r31+3972]; /*"); p++) line += *p == '\n';
    char want[32];
    snprintf(want, sizeof want, "test.ptx:%u", line);
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    ck_assert_int_eq(run_kernel("k", &out, 1), EMU_FAULT);
    const struct emu_fault *f = emu_worker_fault(run.worker);
    ck_assert_msg(strstr(f->report, want) != NULL, "not %s: %s", want, f->report);
    ck_assert_uint_eq(f->tid[0], 31);
}
END_TEST

START_TEST(counts)
{
    uint64_t insns[2];
    for (int kept = 0; kept < 2; kept++) {
        run.keep_rows = kept;
        body_open("mov.f32 %f1, 0f00000000; ld.shared.f32 %f2, [%r31]; ld.shared.f32 %f3, [%r31+128]; fma.rn.f32 %f1, %f2, %f3, %f1; fma.rn.f32 %f1, %f1, %f1, %f1;");
        run_done("k");
        insns[kept] = run.counters.warp_insns;
        ck_assert_uint_eq(run.counters.thread_insns, 32 * insns[kept]);
    }
    ck_assert_uint_eq(insns[0], 7 + 2 * (WORDS / 32) + 6);
    ck_assert_uint_eq(insns[0], insns[1]);
}
END_TEST

/* Groups of matrix products. The words that they multiply are any bits: NaN and infinities among the halves. */
static unsigned groups(void)
{
    static const mma_group_table *const tables[ISA_COUNT] = { &mma_group_base, &mma_group_avx2, &mma_group_avx512 };
    const mma_group_table *t = tables[isa_level()];
    struct error err;
    struct emu_kernel *k = run_get("k");
    const struct code *code = kernel_code(k, kernel_entry(k), &err);
    unsigned n = 0;
    for (uint32_t i = 0; i < code->n_insns; i++) n += code->insns[i].full && (code->insns[i].full == (*t)[0] || code->insns[i].full == (*t)[1]);
    return n;
}

static bool have_groups(void) { return isa_level() != ISA_BASE; }

/* Registers %r40.. are words of shared memory, accumulators %f10.. small numbers. */
static size_t products_begin(char *body, size_t room)
{
    size_t n = 0;
    for (unsigned i = 0; i < 40; i++) n += (size_t)snprintf(body + n, room - n, "ld.shared.b32 %%r%u, [%%r31+%u];\n", 40 + i, 64 * i);
    for (unsigned i = 0; i < 32; i++) n += (size_t)snprintf(body + n, room - n, "cvt.rn.f32.u32 %%f%u, %%r1;\n", 10 + i);
    return n;
}

static size_t product(char *to, size_t room, const char *type, unsigned a, unsigned b, const unsigned c[4], const unsigned d[4])
{
    return (size_t)snprintf(to, room, "mma.sync.aligned.m16n8k16.row.col.f32.%s.%s.f32 {%%f%u,%%f%u,%%f%u,%%f%u}, {%%r%u,%%r%u,%%r%u,%%r%u}, {%%r%u,%%r%u}, {%%f%u,%%f%u,%%f%u,%%f%u};\n",
                            type, type, d[0], d[1], d[2], d[3], a, a + 1, a + 2, a + 3, b, b + 1, c[0], c[1], c[2], c[3]);
}

static size_t products_end(char *to, size_t room)
{
    size_t n = 0;
    for (unsigned i = 0; i < 32; i++) n += (size_t)snprintf(to + n, room - n, "st.global.f32 [%%rd1+%u], %%f%u;\n", 128 * i, 10 + i);
    return n;
}

/* i: an order of A and B, a type, and how D goes round among the registers of C */
START_TEST(products)
{
    static char body[32768];
    unsigned turn = (unsigned)_i % 4;
    size_t n = products_begin(body, sizeof body);
    for (unsigned i = 0; i < 40; i++) {
        unsigned a = 40 + 4 * (_i & 4 ? i % 5 : i / 8), b = 60 + 2 * (_i & 4 ? i / 5 : (i * 3 + i / 8) % 9), c[4], d[4];
        for (unsigned k = 0; k < 4; k++) c[k] = 10 + i % 8 * 4 + k, d[k] = 10 + i % 8 * 4 + (k + turn) % 4;
        n += product(body + n, sizeof body - n, _i & 8 ? "bf16" : "f16", a, b, c, d);
    }
    products_end(body + n, sizeof body - n);
    run_all_ways(body);
    if (have_groups() && turn == 0 && !(_i & 4)) ck_assert_uint_eq(groups(), 2);        /* 32 and 8 */
}
END_TEST

/* What a product gives is multiplied by the next one: it cannot be in the group. A jump goes into the middle of one. */
START_TEST(products_that_depend)
{
    static char body[32768];
    static const unsigned c[4] = { 10, 11, 12, 13 }, e[4] = { 14, 15, 16, 17 }, f[4] = { 90, 91, 92, 93 };
    size_t n = products_begin(body, sizeof body);
    n += (size_t)snprintf(body + n, sizeof body - n, "setp.eq.u32 %%p1, %%r1, 77; mov.u32 %%r33, 0; @%%p1 bra INTO;\n");
    for (unsigned i = 0; i < 4; i++) n += product(body + n, sizeof body - n, "f16", 40, 60, i < 2 ? c : e, i < 2 ? c : e);
    n += (size_t)snprintf(body + n, sizeof body - n, "INTO:\n");
    for (unsigned i = 0; i < 3; i++) n += product(body + n, sizeof body - n, "f16", 40, 60, e, i < 2 ? e : f);
    n += (size_t)snprintf(body + n, sizeof body - n, "add.u32 %%r33, %%r33, 1; setp.lt.u32 %%p2, %%r33, 3; @%%p2 bra INTO;\n"
                          "mov.b32 %%r90, %%f90; mov.b32 %%r91, %%f91; mov.b32 %%r92, %%f92; mov.b32 %%r93, %%f93;\n");
    for (unsigned i = 0; i < 3; i++) n += product(body + n, sizeof body - n, "f16", 90, 60, c, c);
    products_end(body + n, sizeof body - n);
    run_all_ways(body);
    if (have_groups()) ck_assert_uint_eq(groups(), 3);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu_fuse");
    TCase *t = tcase_create("fuse");
    tcase_add_checked_fixture(t, run_setup, run_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, loads_and_fma, 0, KINDS * KINDS);
    tcase_add_test(t, groups_that_do_not_fit);
    tcase_add_test(t, entered_in_the_middle);
    tcase_add_test(t, some_lanes);
    tcase_add_test(t, rows_of_fma);
    tcase_add_test(t, array_elements);
    tcase_add_test(t, fault_in_the_second);
    tcase_add_test(t, counts);
    tcase_add_loop_test(t, products, 0, 16);
    tcase_add_test(t, products_that_depend);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
