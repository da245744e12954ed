/* Every row of isa.def by an instruction of its own: it parses, finds its row, and comes back the same from its printed form. */
#include "tests/unit/ptx_rig.h"

static const char *const snippets[] = {
#define SNIPPET(text) text,
#include "tests/unit/ptx_snippets.def"
#undef SNIPPET
};
enum { N_SNIPPETS = sizeof snippets / sizeof snippets[0] };

static const struct ptx_function *parse(const char *insn)
{
    static char text[20000];
    snprintf(text, sizeof text, "%s.visible .entry k(.param .u64 p0) {\n.reg .b16 h<10>; .reg .b32 r<40>; .reg .b64 d<10>; .reg .f32 f<40>; .reg .f64 fd<10>; .reg .pred p<10>;\n"
             ".reg .b128 q<10>; .reg .v4 .b32 vv; .param .b32 pp;\nL0:\n%s\n}\n.func (.param .b32 rr) fr (.param .b32 a0) { ret; }\n.func fn (.param .b32 a0) { ret; }\n", PTX_HEAD, insn);
    ck_assert_msg(rig_try(text) == ST_OK, "%s", error.text);
    ck_assert_uint_eq(module->functions[0].n_insns, 1);
    return &module->functions[0];
}

START_TEST(one_for_every_row)
{
    ck_assert(ptx_isa_init(NULL));
    ck_assert_uint_eq(N_SNIPPETS, ptx_form_count());
}
END_TEST

START_TEST(rows_are_found)
{
    for (unsigned i = 0; i < N_SNIPPETS; i++) {
        const struct ptx_function *f = parse(snippets[i]);
        ck_assert_msg(f->insns[0].row == i, "%s: row %u (%s %s), not %u", snippets[i], f->insns[0].row, ptx_op_text((enum ptx_op)f->insns[0].op),
                      ptx_form_at(f->insns[0].row)->syntax, i);
        rig_close();
    }
}
END_TEST

START_TEST(print_and_parse)
{
    for (unsigned i = 0; i < N_SNIPPETS; i++) {
        char once[8192], twice[8192];
        const struct ptx_function *f = parse(snippets[i]);
        bool needs_label = f->n_labels > 1;        /* target lists and prototypes are no part of the instruction */
        ptx_insn_print(module, f, &f->insns[0], once, sizeof once);
        bool vectors = strstr(once, "vv.x") != NULL;           /* a vector register prints as its parts */
        rig_close();
        if (needs_label || vectors)
            continue;
        f = parse(once);
        ck_assert_str_eq(ptx_insn_print(module, f, &f->insns[0], twice, sizeof twice), once);
        ck_assert_uint_eq(f->insns[0].row, i);
        rig_close();
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { one_for_every_row, rows_are_found, print_and_parse };
    return rig_run("ptx_snippets", tests, sizeof tests / sizeof tests[0]);
}
