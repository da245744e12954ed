/* What arithmetic instructions compute: the values of lane_values.def, decoded and run as PTX. */
#include "emu/isa.h"
#include "tests/unit/emu_run.h"

static const struct value { unsigned bytes; const char *insns; uint64_t want; } values[] = {
#define VALUE(bytes, insns, want) { bytes, insns, want },
#include "tests/unit/lane_values.def"
#undef VALUE
};
enum { N_VALUES = sizeof values / sizeof values[0], TEXT_BYTES = 1 << 17 };

/* One value: d of the right type in a scope of its own; stored at out + 8 i. */
static size_t append(char *text, size_t at, unsigned i)
{
    static const char *const types[] = { [0] = "pred", [2] = "b16", [4] = "b32", [8] = "b64" };
    const struct value *v = &values[i];
    at += (size_t)snprintf(text + at, TEXT_BYTES - at, "{ .reg .%s d;\n%s;\n", types[v->bytes], v->insns);
    if (v->bytes == 0) at += (size_t)snprintf(text + at, TEXT_BYTES - at, "selp.b32 %%s, 1, 0, d; st.global.b32 [%%out+%u], %%s; }\n", 8 * i);
    else at += (size_t)snprintf(text + at, TEXT_BYTES - at, "st.global.b%u [%%out+%u], d; }\n", 8 * v->bytes, 8 * i);
    return at;
}

START_TEST(values_are_right)
{
    char *text = malloc(TEXT_BYTES);
    ck_assert(text != NULL);
    size_t at = (size_t)snprintf(text, TEXT_BYTES, ".version 9.0\n.target sm_100a\n.address_size 64\n"
        ".visible .entry k(.param .u64 p) {\n.reg .b64 %%out; .reg .b32 %%s; .reg .b32 %%r<10>; .reg .b16 %%h<10>; .reg .b64 %%rd<10>; .reg .pred %%p<10>;\n"
        "ld.param.u64 %%out, [p];\n");
    for (unsigned i = 0; i < N_VALUES; i++) at = append(text, at, i);
    at += (size_t)snprintf(text + at, TEXT_BYTES - at, "ret; }\n");
    ck_assert(at < TEXT_BYTES);
    run_open(text);
    run_done("k");
    free(text);
    unsigned wrong = 0;
    for (unsigned i = 0; i < N_VALUES; i++) {
        uint64_t got = 0;
        memcpy(&got, (const char *)run.out + 8 * i, values[i].bytes ? values[i].bytes : 4);
        if (got == values[i].want) continue;
        wrong++;
        printf("%s: 0x%llx, not 0x%llx\n", values[i].insns, (unsigned long long)got, (unsigned long long)values[i].want);
        fflush(stdout);
    }
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu lane values");
    TCase *t = tcase_create("values");
    tcase_add_checked_fixture(t, run_setup, run_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, values_are_right);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
