/* Opens modules from text, for tests of the front end. */
#ifndef HEDDLE_TESTS_PTX_RIG_H
#define HEDDLE_TESTS_PTX_RIG_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/isa.h"
#include "tests/unit/suite.h"

#define PTX_HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"

static struct ptx_module *module;          /* of the running test; closed by rig_close */
static struct error error;

/* Opens text and parses all bodies; the first error is in `error`. */
static enum status rig_try(const char *text)
{
    enum status st = ptx_module_open(&module, "t.ptx", text, strlen(text), &error);
    for (uint32_t i = 0; st == ST_OK && i < module->n_functions; i++)
        if (module->functions[i].has_body)
            st = ptx_function_body(module, i, &error);
    return st;
}

static inline struct ptx_module *rig_open(const char *text)
{
    enum status st = rig_try(text);
    ck_assert_msg(st == ST_OK, "%s", error.text);
    return module;
}

/* A kernel with plenty of registers around a few instructions; answers its function. */
static inline struct ptx_function *rig_kernel(const char *insns)
{
    static char text[65536];
    snprintf(text, sizeof text, "%s.visible .entry k(.param .u64 p0) {\n.reg .pred %%p<9>; .reg .b16 %%h<9>; .reg .b32 %%r<40>; .reg .b64 %%d<9>;\n"
             ".reg .f32 %%f<40>; .reg .f64 %%g<9>;\n%s\n}\n", PTX_HEAD, insns);
    return &rig_open(text)->functions[0];
}

static inline void rig_close(void)
{
    ptx_module_free(module);
    module = NULL;
}

static inline int rig_run(const char *name, const TTest *const *tests, size_t n)
{
    Suite *s = suite_create(name);
    TCase *t = tcase_create(name);
    tcase_add_checked_fixture(t, NULL, rig_close);
    for (size_t i = 0; i < n; i++)
        tcase_add_test(t, tests[i]);
    suite_add_tcase(s, t);
    return suite_run(s);
}

#endif
