/* A few random programs of fixed seeds, run as `make fuzz` runs many: see tests/fuzz/levels.h. */
#include <check.h>

#include "tests/fuzz/levels.h"

START_TEST(levels_and_policies_agree)
{
    printf("%s\n", levels_text());
    ck_assert_int_eq(levels_round(1, 128, 2), 0);
}
END_TEST

START_TEST(programs_are_what_their_seed_says)
{
    static struct random_program a, b;
    ck_assert(ptx_isa_init(NULL));
    random_program(&a, 7, NULL);
    random_program(&b, 7, NULL);
    ck_assert_str_eq(a.text, b.text);
    random_program(&b, 8, NULL);
    ck_assert_str_ne(a.text, b.text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu levels");
    TCase *t = tcase_create("levels");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, levels_and_policies_agree);
    tcase_add_test(t, programs_are_what_their_seed_says);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
