/* The instruction tables themselves. */
#include "tests/unit/ptx_rig.h"

START_TEST(every_row_is_well_formed)
{
    const char *bad = NULL;
    ck_assert_msg(ptx_isa_init(&bad), "bad row: %s", bad);
    ck_assert_uint_gt(ptx_form_count(), 400);
    for (uint32_t i = 0; i < ptx_form_count(); i++) {
        const struct ptx_form *f = ptx_form_at(i);
        ck_assert_msg(f->version >= 10 && f->version <= 90 && f->version % 10 <= 9, "%s %s: version", ptx_op_text(f->op), f->syntax);
        ck_assert_msg(atoi(f->sm) >= 10 && atoi(f->sm) <= 121, "%s %s: sm", ptx_op_text(f->op), f->syntax);
        ck_assert(f->n_required <= f->n_places);
        for (unsigned k = 1; k < f->n_places; k++)             /* destinations come first */
            ck_assert_msg(!f->places[k].writes || f->places[k - 1].writes, "%s %s", ptx_op_text(f->op), f->operands);
    }
    ck_assert_ptr_null(ptx_form_at(ptx_form_count()));
}
END_TEST

START_TEST(every_opcode_has_rows)
{
    ck_assert(ptx_isa_init(NULL));
    for (int i = 0; i < PTX_OP_COUNT; i++) {
        uint32_t first, n;
        ptx_op_rows((enum ptx_op)i, &first, &n);
        ck_assert_msg(n > 0, "%s", ptx_op_text((enum ptx_op)i));
        for (uint32_t k = first; k < first + n; k++)
            ck_assert_uint_eq(ptx_form_at(k)->op, (unsigned)i);
        ck_assert(*ptx_op_summary((enum ptx_op)i));
        ck_assert_int_eq(ptx_op_find(ptx_op_text((enum ptx_op)i), strlen(ptx_op_text((enum ptx_op)i))), i);
    }
}
END_TEST

START_TEST(every_word_is_used)
{
    ck_assert(ptx_isa_init(NULL));
    for (int m = 1; m < PTX_MOD_COUNT; m++) {
        bool used = false;
        for (int op = 0; op < PTX_OP_COUNT && !used; op++)
            used = ptx_op_takes((enum ptx_op)op, (enum ptx_mod)m);
        ck_assert_int_eq(ptx_mod_find(ptx_mod_text((enum ptx_mod)m), strlen(ptx_mod_text((enum ptx_mod)m))), m);
        ck_assert_msg(used, "no row takes .%s", ptx_mod_text((enum ptx_mod)m));
    }
}
END_TEST

START_TEST(types_are_the_first_words)
{
    for (int t = 1; t < PTX_TYPE_COUNT; t++) {
        ck_assert_str_eq(ptx_type_text((enum ptx_type)t), ptx_mod_text((enum ptx_mod)t));
        ck_assert_uint_gt(ptx_type_bytes((enum ptx_type)t), 0);
        ck_assert_int_ne(ptx_type_kind((enum ptx_type)t), PTX_KIND_NONE);
    }
    ck_assert_uint_eq(ptx_type_bytes(PTX_F64), 8);
    ck_assert_uint_eq(ptx_type_bytes(PTX_B128), 16);
}
END_TEST

START_TEST(special_registers)
{
    ck_assert(ptx_isa_init(NULL));
    for (int s = 0; s < PTX_SREG_COUNT; s++)
        ck_assert_int_eq(ptx_sreg_find(ptx_sreg_text((enum ptx_sreg)s), strlen(ptx_sreg_text((enum ptx_sreg)s))), s);
    ck_assert_int_eq(ptx_sreg_type(PTX_SREG_CLOCK64), PTX_U64);
    ck_assert_int_eq(ptx_sreg_find("%tid.x", 6), PTX_SREG_COUNT);
}
END_TEST

START_TEST(near_words)
{
    ck_assert(ptx_isa_init(NULL));
    ck_assert_str_eq(ptx_op_nearest("addd", 4), "add");
    ck_assert_str_eq(ptx_op_nearest("step", 4), "setp");
    ck_assert_str_eq(ptx_mod_nearest("globl", 5), "global");
    ck_assert_ptr_null(ptx_op_nearest("xyzzyplugh", 10));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { every_row_is_well_formed, every_opcode_has_rows, every_word_is_used, types_are_the_first_words, special_registers, near_words };
    return rig_run("ptx_isa", tests, sizeof tests / sizeof tests[0]);
}
