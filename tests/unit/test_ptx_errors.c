/* What users read when PTX is wrong. */
#include "tests/unit/ptx_rig.h"

START_TEST(the_example_of_the_header)
{
    ck_assert(rig_try(PTX_HEAD ".entry k {\n    .reg .b32 %r<4>;\n    addd.s32 %r1, %r2, %r3;\n}") == ST_INVALID_PTX);
    ck_assert_str_eq(error.text, "t.ptx:6:5: unknown instruction 'addd'\n        addd.s32 %r1, %r2, %r3;\n        ^\nhint: did you mean 'add'?");
}
END_TEST

/* One bad line in a kernel, and what the first line of the message says behind "t.ptx:". */
static const struct { const char *line, *says; } rows[] = {
    { "add.s23 %r1, %r2, %r3;", "7:4: unknown modifier '.s23'" },
    { "add.volatile.s32 %r1, %r2, %r3;", "7:4: 'add' has no modifier '.volatile'" },
    { "mul.s32 %r1, %r2, %r3;", "7:1: 'mul.s32' is no form of 'mul'" },
    { "add.s32 %r1, %r2;", "7:1: 'add.s32' does not take these operands" },
    { "ld.global.u32 %r1, %d1;", "7:1: 'ld.global.u32' does not take these operands" },
    { "add.s32 %r1, %r2, %r99;", "7:19: unknown register '%r99'" },
    { "add.s32 %r1, %r2, foo;", "7:19: unknown name 'foo'" },
    { "bra nowhere;", "7:5: unknown label 'nowhere'" },
    { "@%q bra L;", "7:2: predicate register expected behind '@'" },
    { "L: L: ret;", "7:4: label 'L' is defined twice" },
    { "add.s32 %r1, %r2, %r3", "';' expected" },
    { "{ ret;", "the body of 'k' is not closed" },
    { ".reg .b32 %r<3>;", "'%r' is declared twice" },
    { ".reg .b32 x, x;", "'x' is declared twice" },
    { ".reg x;", "the declaration has no type" },
    { ".frobnicate 3;", "unknown directive '.frobnicate'" },
    { "mov.u32 %r1, 1 / 0;", "division by zero" },
    { "mov.u32 %r1, 0x;", "number without digits" },
    { "mov.u32 %r1, 12ab;", "letter or digit 'a' inside a number" },
    { "mov.u32 %r1, 99999999999999999999;", "number does not fit into 64 bits" },
    { "mov.f32 %f1, 0f3F;", "a 0f number has 8 hexadecimal digits" },
    { "mov.u32 %r1, `;", "unexpected character '`'" },
    { "call nothing;", "unknown name 'nothing'" },
    { ".local .b32 big[0x7fffffffff][0x7fffffff];", "array is too large" },
    { ".local .align 3 .b32 x;", "alignment must be a power of two" },
    { "add.s32.s32.s32.s32.s32.s32.s32.s32.s32.s32.s32.s32.s32.s32.s32.s32.s32.s32.s32 %r1;", "too many modifiers" },
};

START_TEST(messages)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1000];
        snprintf(text, sizeof text, "%s.entry k {\n.reg .b32 %%r<4>; .reg .b64 %%d<4>; .reg .f32 %%f<4>;\n.reg .pred %%p<4>;\n%s\n}\n", PTX_HEAD, rows[i].line);
        enum status st = rig_try(text);
        ck_assert_msg(st == ST_INVALID_PTX && strstr(error.text, rows[i].says), "%s\nsays: %s\nwanted: %s", rows[i].line, error.text, rows[i].says);
        rig_close();
    }
}
END_TEST

START_TEST(top_level)
{
    static const struct { const char *text, *says; } tops[] = {
        { "", "this is no PTX" }, { "hello", "directive expected before 'hello'" }, { ".version 9\n", "version number such as 9.0 expected" },
        { ".version 9.0\n.target gfx90a\n", "unknown target 'gfx90a'" }, { ".version 9.0\n.address_size 16\n", "t.ptx:2:15: address size must be 32 or 64" },
        { ".version 9.0\n.global .u32 a;\n.global .u32 a;", "t.ptx:3:14: 'a' is declared twice" },
        { ".version 9.0\n.func f { ret; }\n.func f { ret; }", "'f' is defined twice" },
        { ".version 9.0\n.global .u32 a[2] = {1, 2, 3};", "more initialisers than elements" },
        { ".version 9.0\n.global .u64 a = nobody;", "unknown name 'nobody'" },
        { ".version 9.0\n/* open", "comment is not closed" }, { ".version 9.0\n.file 1 \"abc\n", "string is not closed" },
        { ".version 9.0\n.entry k (.param .u32 a { ret; }", "',' or ')' expected" }, { ".version 9.0\n.entry k .maxntid { }", "constant expected" },
        { ".version 9.0\n.visible .reg .u32 x;", "unknown directive '.reg'" },
    };
    for (size_t i = 0; i < sizeof tops / sizeof tops[0]; i++) {
        enum status st = rig_try(tops[i].text);
        ck_assert_ptr_null(module);
        ck_assert_msg(st == ST_INVALID_PTX && strstr(error.text, tops[i].says), "%s\nsays: %s\nwanted: %s", tops[i].text, error.text, tops[i].says);
    }
}
END_TEST

/* Deep nesting is refused, not recursed into. */
START_TEST(depth)
{
    enum { N = 100000 };
    static const struct { const char *before; char open; } rows_[] = {
        { ".entry k { mov.u32 x, ", '(' }, { ".entry k { mov.u32 x, ", '-' }, { ".global .u32 a[] = ", '{' }, { ".entry k { .reg .b32 x; mov.b32 x, ", '{' },
        { ".entry k ", '{' } };
    char *text = malloc(N + 200);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < sizeof rows_ / sizeof rows_[0]; i++) {
        int n = sprintf(text, "%s%s", PTX_HEAD, rows_[i].before);
        memset(text + n, rows_[i].open, N / 2);
        memset(text + n + N / 2, rows_[i].open == '{' ? '}' : rows_[i].open, N / 2);
        strcpy(text + n + N, strchr(rows_[i].before, 'k') ? "}" : "");
        ck_assert(rig_try(text) == ST_INVALID_PTX);
        rig_close();
    }
    free(text);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { the_example_of_the_header, messages, top_level, depth };
    return rig_run("ptx_errors", tests, sizeof tests / sizeof tests[0]);
}
