/* The setting lowering, with a real ptxas where there is one. */
#include <dirent.h>
#include <unistd.h>

#include "runtime/knobs.h"
#include "runtime/lowering.h"
#include "tests/unit/ptx_rig.h"

#define KERNEL \
    "ld.param.u64 %d0, [p0]; cvta.to.global.u64 %d1, %d0; mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4; add.s64 %d3, %d1, %d2;\n" \
    "ld.global.f32 %f0, [%d3]; mul.f32 %f1, %f0, %f0; add.f32 %f2, %f1, 0f40000000; sqrt.rn.f32 %f3, %f2; st.global.f32 [%d3], %f3; ret;"

static struct arena arena;
static char folder[] = "/tmp/heddle-lowering-XXXXXX";

/* Every test has a process of its own: the settings are read once. */
static const struct ptx_function *prepare(const char *options, uint32_t *regs, struct ptx_lowering *out)
{
    struct ptx_cfg cfg;
    setenv("HEDDLE_OPTS", options, 1);
    const struct ptx_function *f = rig_kernel(KERNEL);
    *regs = lowering_prepare(module, 0, 80, NULL);
    *out = (struct ptx_lowering){0};
    ck_assert_int_eq(ptx_cfg_build(&cfg, f, &arena, &error), ST_OK);
    if (lowering_fn())
        lowering_fn()(NULL, f, &cfg, &arena, out);
    return f;
}

static uint32_t of_class(const struct ptx_lowered *l, enum ptx_class c)
{
    uint32_t n = 0;
    for (unsigned i = 0; i < l->n_groups; i++)
        n += l->groups[i].class == c ? l->groups[i].count : 0;
    return n;
}

static unsigned files(void)
{
    char path[100];
    unsigned n = 0;
    snprintf(path, sizeof path, "%s/heddle", folder);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

START_TEST(table)
{
    struct ptx_lowering l;
    uint32_t regs;
    prepare("--lowering=table", &regs, &l);
    ck_assert_uint_ge(regs, 8);
    ck_assert(l.insns[3].folded && l.insns[6].folded);
    ck_assert_uint_ge(ptx_lowered_count(&l.insns[8]), 9);
}
END_TEST

START_TEST(one_for_one)
{
    struct ptx_lowering l;
    uint32_t regs;
    prepare("--lowering=none", &regs, &l);
    ck_assert_ptr_null(l.insns);
}
END_TEST

START_TEST(without_ptxas_the_table_serves)
{
    struct ptx_lowering l, by_rules;
    uint32_t regs;
    struct ptx_cfg cfg;
    const struct ptx_function *f = prepare("--lowering=ptxas --ptxas=/nowhere/ptxas", &regs, &l);
    ck_assert_int_eq(ptx_cfg_build(&cfg, f, &arena, &error), ST_OK);
    ck_assert_int_eq(ptx_lower(&by_rules, f, &cfg, &arena, &error), ST_OK);
    ck_assert(!memcmp(l.insns, by_rules.insns, f->n_insns * sizeof *l.insns));
    lowering_forget(module);
}
END_TEST

START_TEST(with_ptxas_it_is_exact)
{
    struct ptx_lowering l;
    uint32_t regs, again;
    prepare("--lowering=ptxas", &regs, &l);
    ck_assert_uint_ge(regs, 8);
    ck_assert_uint_eq(of_class(&l.insns[2], PTX_CLASS_MOVE), 1);       /* S2R */
    ck_assert(l.insns[3].folded);
    ck_assert_uint_eq(of_class(&l.insns[4], PTX_CLASS_INT), 1);        /* IMAD.WIDE */
    ck_assert_uint_eq(of_class(&l.insns[5], PTX_CLASS_MEM), 1);
    ck_assert_uint_eq(of_class(&l.insns[6], PTX_CLASS_FP32) + of_class(&l.insns[7], PTX_CLASS_FP32), 1);       /* FFMA */
    ck_assert_uint_eq(of_class(&l.insns[8], PTX_CLASS_SFU), 1);        /* MUFU, with what is around it */
    ck_assert_uint_le(ptx_lowered_count(&l.insns[8]), 14);
    ck_assert_uint_eq(files(), 1);
    lowering_forget(module);
    again = lowering_prepare(module, 0, 80, NULL);             /* out of the cache */
    ck_assert_uint_eq(again, regs);
    ck_assert_uint_eq(files(), 1);
    lowering_forget(module);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {table, one_for_one, without_ptxas_the_table_serves, with_ptxas_it_is_exact};
    bool has_ptxas = system("ptxas --version >/dev/null 2>&1") == 0;
    if (!mkdtemp(folder))
        return 1;
    setenv("XDG_CACHE_HOME", folder, 1);
    if (!has_ptxas)
        printf("SKIP test_runtime_lowering with_ptxas_it_is_exact: no ptxas in PATH\n");
    int failed = rig_run("lowering setting", tests, has_ptxas ? 4 : 3);
    char command[120];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) != 0 || failed;
}
