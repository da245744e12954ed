/* runtime: which devices CUDA_VISIBLE_DEVICES leaves. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

/* `want`: the numbers in order, one digit each. Four devices are there. */
static const struct { const char *list, *want; } lists[] = {
    {NULL, "0123"}, {"", ""}, {"-1", ""}, {"0", "0"}, {"2,0", "20"}, {" 3 , 1 ", "31"}, {"1,9,0", "1"}, {"0,-1,1", "0"}, {"1,1", ""},
    {"3,2,1,0", "3210"}, {"0,,1", "0"}, {"1x", ""}, {"4", ""}, {"NoDevFiles", ""}, {"GPU-zz", ""}, {"GPU-", ""}, {"99999999999999999999", ""},
};

static void text_of(const int *number, int n, char *text)
{
    for (int i = 0; i < n; i++)
        text[i] = (char)('0' + number[i]);
    text[n] = 0;
}

START_TEST(numbers)
{
    int number[MAX_DEVICES];
    char got[MAX_DEVICES + 1];
    text_of(number, visible_devices(lists[_i].list, rt_gpu_find("h100"), 4, number), got);
    ck_assert_msg(strcmp(got, lists[_i].want) == 0, "'%s' gives '%s', not '%s'", lists[_i].list ? lists[_i].list : "(unset)", got, lists[_i].want);
}
END_TEST

/* A UUID may be cut where it still names one device; those of one model differ in the last digits alone. */
START_TEST(uuids)
{
    const struct rt_device_facts *gpu = rt_gpu_find("a100");
    uint8_t u[16];
    char text[64], list[200];
    int number[MAX_DEVICES], n = snprintf(text, sizeof text, "GPU-");
    device_uuid(gpu, 2, u);
    for (int i = 0; i < 16; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
    ck_assert(visible_devices(text, gpu, 4, number) == 1 && number[0] == 2);
    snprintf(list, sizeof list, "3,%s,0", text);
    ck_assert(visible_devices(list, gpu, 4, number) == 3 && number[0] == 3 && number[1] == 2 && number[2] == 0);
    text[12] = 0;
    ck_assert_int_eq(visible_devices(text, gpu, 4, number), 0);
    ck_assert(visible_devices(text, gpu, 1, number) == 1 && number[0] == 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("runtime visible");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, numbers, 0, sizeof lists / sizeof lists[0]);
    tcase_add_test(t, uuids);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
