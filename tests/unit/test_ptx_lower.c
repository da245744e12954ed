/* The lowering: properties of the rules, of their rounding, and of the reading of ptxas's line program. */
#include "ptx/lower.h"
#include "ptx/sass_map.h"
#include "ptx/sass_read.h"
#include "tests/unit/ptx_rig.h"

static struct arena arena;
static struct ptx_lowering low;
static char (*forms)[PTX_FORM_BYTES];

static const struct ptx_function *lower(const char *insns)
{
    struct ptx_cfg cfg;
    const struct ptx_function *f = rig_kernel(insns);
    arena_free(&arena);
    ck_assert_int_eq(ptx_cfg_build(&cfg, f, &arena, &error), ST_OK);
    ck_assert_int_eq(ptx_lower_forms(&low, &forms, f, &cfg, &arena, &error), ST_OK);
    ck_assert_uint_eq(low.n_insns, f->n_insns);
    return f;
}

static uint32_t sum(void)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < low.n_insns; i++)
        n += ptx_lowered_count(&low.insns[i]);
    return n;
}

#define ADDRESS "ld.param.u64 %d0, [p0]; cvta.to.global.u64 %d1, %d0; mov.u32 %r0, %tid.x;\nmul.wide.u32 %d2, %r0, 4; add.s64 %d3, %d1, %d2;\n"

START_TEST(address_arithmetic_folds)
{
    lower(ADDRESS "ld.global.f32 %f0, [%d3]; add.f32 %f1, %f0, %f0; st.global.f32 [%d3], %f1; ret;");
    ck_assert_str_eq(forms[3], "mul.wide.u32|fold.i");
    ck_assert_str_eq(forms[4], "add.64|Wp.addr");
    ck_assert(low.insns[0].folded && low.insns[1].folded && low.insns[3].folded);
    ck_assert_uint_eq(low.insns[4].groups[0].class, PTX_CLASS_INT);
    ck_assert_uint_eq(low.insns[2].groups[0].class, PTX_CLASS_MOVE);
    ck_assert_uint_eq(low.insns[5].groups[0].class, PTX_CLASS_MEM);
}
END_TEST

START_TEST(offset_of_an_address_is_free)
{
    lower(ADDRESS "add.s64 %d4, %d3, 16; ld.global.f32 %f0, [%d4]; st.global.f32 [%d3], %f0; ret;");
    ck_assert_str_eq(forms[5], "add.64|ir.addr");
    ck_assert(low.insns[5].folded);
    lower("ld.param.u64 %d0, [p0]; mov.u32 %r0, %tid.x; add.s32 %r2, %r0, 4; ld.shared.f32 %f0, [%r2]; st.shared.f32 [%r2], %f0; ret;");
    ck_assert_str_eq(forms[2], "add.32|ir.addr");
    ck_assert(low.insns[2].folded);
}
END_TEST

START_TEST(product_joins_the_sum)
{
    lower("mov.u32 %r0, %tid.x; cvt.rn.f32.u32 %f0, %r0; mul.f32 %f1, %f0, %f0; add.f32 %f2, %f1, %f0; st.shared.f32 [%r0], %f2; ret;");
    ck_assert_str_eq(forms[2], "mul.f32|fma");
    ck_assert(low.insns[2].folded);
    lower("mov.u32 %r0, %tid.x; cvt.rn.f32.u32 %f0, %r0; mul.rn.f32 %f1, %f0, %f0; add.f32 %f2, %f1, %f0; st.shared.f32 [%r0], %f2; ret;");
    ck_assert_str_eq(forms[2], "mul.f32");
    ck_assert_uint_eq(ptx_lowered_count(&low.insns[2]), 1);
}
END_TEST

#define SKIP(body) "mov.u32 %r0, %tid.x; setp.gt.s32 %p0, %r0, 7; @%p0 bra L;\n" body "\nL: st.shared.u32 [%r0], %r1; ret;"
#define ADDS4 "add.s32 %r1, %r1, %r0; xor.b32 %r1, %r1, %r0; add.s32 %r1, %r1, %r0; xor.b32 %r1, %r1, %r0;\n"

START_TEST(short_branch_disappears)
{
    lower(SKIP("add.s32 %r1, %r0, 1; xor.b32 %r1, %r1, %r0; add.s32 %r1, %r1, %r0;"));
    ck_assert_str_eq(forms[2], "bra|if.0-4.s");
    for (unsigned i = 0; i < low.insns[2].n_groups; i++)
        ck_assert_uint_ne(low.insns[2].groups[i].class, PTX_CLASS_CTRL);
    lower(SKIP(ADDS4 ADDS4 ADDS4 ADDS4 ADDS4));
    ck_assert_str_eq(forms[2], "bra|if.17+.s");
    ck_assert_uint_ge(ptx_lowered_count(&low.insns[2]), 1);
}
END_TEST

START_TEST(loops_and_exits_never_disappear)
{
    lower("mov.u32 %r0, 0; L: add.s32 %r0, %r0, 1; setp.lt.s32 %p0, %r0, 9; @%p0 bra L; M: bra N; N: @%p0 bra M; ret;");
    ck_assert_str_eq(forms[3], "bra|back.c.self");
    for (uint32_t i = 3; i < low.n_insns; i += 2)
        ck_assert(!low.insns[i].folded);
}
END_TEST

START_TEST(accesses_never_disappear)
{
    char text[8192] = "mov.u32 %r0, %tid.x;";
    for (int i = 0; i < 100; i++)
        strcat(text, i % 2 ? "ld.shared.f32 %f1, [4];\n" : "st.shared.u32 [%r0], 1;\n");
    strcat(text, "bar.sync 0; ret;");
    lower(text);
    for (uint32_t i = 1; i < low.n_insns; i++)
        ck_assert(!low.insns[i].folded);
}
END_TEST

START_TEST(pairs_and_sequences)
{
    lower("mov.u32 %r0, %tid.x; cvt.s64.s32 %d1, %r0; sub.s64 %d2, %d1, %d1; mul.hi.u64 %d3, %d2, %d1; div.s32 %r1, %r0, %r0; div.u64 %d4, %d3, %d2;\n"
          "st.shared.u64 [%r0], %d4; st.shared.u32 [%r0], %r1; ret;");
    ck_assert_uint_eq(ptx_lowered_count(&low.insns[2]), 2);
    ck_assert_uint_eq(ptx_lowered_count(&low.insns[3]), 7);
    ck_assert_uint_gt(ptx_lowered_count(&low.insns[4]), 15);
    ck_assert_uint_gt(ptx_lowered_count(&low.insns[5]), 60);
}
END_TEST

/* n times the same instruction costs n times its average, whatever that is. */
START_TEST(rounding_keeps_the_sum)
{
    static char text[60000];
    strcpy(text, "mov.u32 %r0, %tid.x; mov.u32 %r1, %r0;");
    for (int i = 0; i < 400; i++)
        strcat(text, "selp.b32 %r2, %r0, %r1, %p0;\n");
    strcat(text, "ret;");
    lower(text);
    uint32_t whole = sum();
    lower("mov.u32 %r0, %tid.x; mov.u32 %r1, %r0; selp.b32 %r2, %r0, %r1, %p0; selp.b32 %r2, %r0, %r1, %p0; ret;");
    ck_assert_str_eq(forms[2], "selp.b32|rr.phi");
    ck_assert_uint_ge(whole, 200);
    ck_assert_uint_le(whole, 600);
    uint32_t before = sum();
    lower("mov.u32 %r0, %tid.x; mov.u32 %r1, %r0; selp.b32 %r2, %r0, %r1, %p0; selp.b32 %r2, %r0, %r1, %p0; ret;");
    ck_assert_uint_eq(before, sum());
}
END_TEST

START_TEST(unknown_forms_are_one_of_their_class)
{
    lower("mov.u32 %r0, %tid.x; fma.rn.f32 %f1, %f0, %f0, %f0; vadd.s32.s32.s32 %r1, %r0, %r0; st.shared.u32 [%r0], %r1; ret;");
    ck_assert_uint_eq(ptx_lowered_count(&low.insns[1]), 1);
    ck_assert_uint_eq(low.insns[1].groups[0].class, PTX_CLASS_FP32);
    ck_assert_uint_eq(ptx_lowered_count(&low.insns[2]), 1);
    ck_assert_uint_eq(low.insns[2].groups[0].class, PTX_CLASS_INT);
}
END_TEST

static uint32_t registers(int live)
{
    static char text[8192];
    struct ptx_cfg cfg;
    uint32_t regs;
    struct arena a = {0};
    text[0] = 0;
    for (int i = 0; i < live; i++)
        snprintf(text + strlen(text), 64, "ld.shared.f32 %%f%d, [%d];\n", i, 4 * i);
    for (int i = 0; i < live; i++)
        snprintf(text + strlen(text), 64, "st.shared.f32 [%d], %%f%d;\n", 4 * i, i);
    strcat(text, "ret;");
    const struct ptx_function *f = rig_kernel(text);
    ck_assert_int_eq(ptx_cfg_build(&cfg, f, &a, &error), ST_OK);
    ck_assert_int_eq(ptx_lower_registers(&regs, f, &cfg, &error), ST_OK);
    arena_free(&a);
    rig_close();
    return regs;
}

START_TEST(registers_follow_what_is_live)
{
    uint32_t few = registers(1), some = registers(12), many = registers(36);
    ck_assert_uint_eq(few, 8);
    ck_assert_uint_lt(few, some);
    ck_assert_uint_lt(some, many);
    ck_assert_uint_eq(many, 42);               /* .53 * 36 + 3.45 * 6 + 1.9, rounded */
}
END_TEST

/* ---- ptxas's map ---------------------------------------------------------------------------------------------------------------------------- */

START_TEST(a_statement_per_line)
{
    static const char ptx[] = "a; b; // c; d\n\"e;f\" g; /* h;\n;*/ i;\nj;";
    struct sass_text t;
    ck_assert_int_eq(sass_text_make(&t, ptx, strlen(ptx), &error), ST_OK);
    ck_assert_int_eq((int)t.bytes, (int)strlen(ptx) + 5);
    ck_assert(!memcmp(t.text, "a;\n b;\n // c; d\n\"e;f\" g;\n /* h;\n;*/ i;\n\nj;\n", t.bytes));
    ck_assert_uint_eq(sass_text_line(&t, 1, 1), 1);
    ck_assert_uint_eq(sass_text_line(&t, 1, 4), 2);
    ck_assert_uint_eq(sass_text_line(&t, 2, 7), 4);
    ck_assert_uint_eq(sass_text_line(&t, 3, 5), 6);
    ck_assert_uint_eq(sass_text_line(&t, 4, 1), 8);
    sass_text_free(&t);
}
END_TEST

static struct sass_row rows[8];
static unsigned n_rows;

static bool note_row(void *user, const struct sass_row *row)
{
    (void)user;
    if (n_rows < 8)
        rows[n_rows++] = *row;
    return true;
}

/* Header: version 2, instructions of 1 byte, line_base -3, line_range 14, opcode_base 10; no folders, no files. */
#define HEADER 2, 0, 16, 0, 0, 0, 1, 1, 0xfd, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0
static const unsigned char program[] = {45, 0, 0, 0, HEADER, 0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0, 3, 8, 1, 2, 16, 3, 0x7f, 1, 10 + 3 + 14, 0, 1, 1};

START_TEST(line_program)
{
    unsigned char relocation[16];
    uint64_t pair[2] = {29, 7ull << 32 | 1};   /* where the address stands; symbol 7 */
    memcpy(relocation, pair, sizeof pair);
    n_rows = 0;
    ck_assert(sass_lines((struct sass_bytes){program, sizeof program}, (struct sass_bytes){relocation, 16}, 16, note_row, NULL));
    ck_assert_uint_eq(n_rows, 3);
    ck_assert_uint_eq(rows[0].symbol, 7);
    ck_assert_uint_eq(rows[0].line, 9);
    ck_assert_uint_eq(rows[0].address, 0);
    ck_assert_uint_eq(rows[1].line, 8);
    ck_assert_uint_eq(rows[1].address, 16);
    ck_assert_uint_eq(rows[2].line, 8);
    ck_assert_uint_eq(rows[2].address, 17);
}
END_TEST

START_TEST(cut_line_programs_are_refused_or_shorter)
{
    for (size_t n = 0; n < sizeof program; n++) {
        unsigned char copy[sizeof program];
        memcpy(copy, program, sizeof program);
        unsigned char *exact = malloc(n ? n : 1);      /* so that a sanitizer sees a read beyond */
        memcpy(exact, copy, n);
        n_rows = 0;
        (void)sass_lines((struct sass_bytes){exact, n}, (struct sass_bytes){exact, 0}, 16, note_row, NULL);
        ck_assert_uint_le(n_rows, 3);
        free(exact);
    }
}
END_TEST

START_TEST(no_cubin)
{
    struct sass_map m;
    ck_assert_int_eq(sass_map_read(&m, "\177ELF", 4, &error), ST_INVALID_IMAGE);
    ck_assert_ptr_null(sass_map_find(&m, "k"));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {address_arithmetic_folds, offset_of_an_address_is_free, product_joins_the_sum, short_branch_disappears, loops_and_exits_never_disappear,
                                  accesses_never_disappear, pairs_and_sequences, rounding_keeps_the_sum, unknown_forms_are_one_of_their_class,
                                  registers_follow_what_is_live, a_statement_per_line, line_program, cut_line_programs_are_refused_or_shorter, no_cubin};
    return rig_run("lowering", tests, sizeof tests / sizeof *tests);
}
