/* Linking relocatable modules. */
#include "tests/unit/ptx_rig.h"

static struct ptx_module *inputs[8];
static size_t n_inputs;

static void add(const char *name, const char *text)
{
    char all[4000];
    snprintf(all, sizeof all, "%s%s", PTX_HEAD, text);
    ck_assert_msg(ptx_module_open(&inputs[n_inputs], name, all, strlen(all), &error) == ST_OK, "%s", error.text);
    n_inputs++;
}

/* Links what was added and frees it, which the result must survive; all bodies are parsed. */
static enum status link_inputs(void)
{
    enum status st = ptx_link(&module, "whole", inputs, n_inputs, &error);
    while (n_inputs)
        ptx_module_free(inputs[--n_inputs]);
    for (uint32_t i = 0; st == ST_OK && i < module->n_functions; i++)
        if (module->functions[i].has_body)
            st = ptx_function_body(module, i, &error);
    return st;
}

static const struct ptx_function *function(const char *name)
{
    int32_t i = ptx_function_find(module, name);
    ck_assert_msg(i >= 0, "no function %s", name);
    return &module->functions[i];
}
static const struct ptx_var *var(const char *name) { return ptx_symbol_var(module, NULL, ptx_symbol_find(module, name)); }

START_TEST(externs_meet_definitions)
{
    add("a", ".extern .func (.param .b32 r) f (.param .b32 a);\n.extern .global .align 4 .b8 table[];\n.global .u64 at = table;\n"
             ".visible .entry k { .reg .b32 %r<3>; .reg .b64 %d<2>; .param .b32 p, q; st.param.b32 [p], 1; call.uni (q), f, (p); mov.u64 %d1, table; ret; }");
    add("b", ".visible .global .align 4 .b8 table[8] = {1, 2};\n.visible .func (.param .b32 r) f (.param .b32 a) { ret; }");
    ck_assert_msg(link_inputs() == ST_OK, "%s", error.text);
    ck_assert_uint_eq(module->n_functions, 2);
    ck_assert(function("f")->has_body && function("f")->linkage == PTX_LINK_VISIBLE);
    ck_assert_uint_eq(var("table")->bytes, 8);
    ck_assert_int_eq(var("at")->init[0].sym, ptx_symbol_find(module, "table"));
    const struct ptx_function *k = function("k");
    ck_assert_int_eq(k->insns[1].operands[1].sym, ptx_symbol_find(module, "f"));
    ck_assert_int_eq(k->insns[2].operands[1].sym, ptx_symbol_find(module, "table"));
}
END_TEST

START_TEST(private_names_stay_apart)
{
    add("a", ".global .u32 s = 1;\n.func h { .reg .b64 %d<2>; mov.u64 %d1, s; ret; }\n.visible .entry ka { call.uni h, (); ret; }");
    add("b", ".global .u32 s = 2;\n.func h { .reg .b64 %d<2>; mov.u64 %d1, s; mov.u64 %d1, s; ret; }\n.global .u64 ps = s;\n.visible .entry kb { call.uni h, (); ret; }");
    ck_assert_msg(link_inputs() == ST_OK, "%s", error.text);
    int32_t ha = function("ka")->insns[0].operands[0].sym, hb = function("kb")->insns[0].operands[0].sym;
    ck_assert_int_ne(ha, hb);
    const struct ptx_function *fa = &module->functions[module->symbols[ha].index], *fb = &module->functions[module->symbols[hb].index];
    ck_assert_uint_eq(fa->n_insns, 2);
    ck_assert_uint_eq(fb->n_insns, 3);
    ck_assert_uint_eq(ptx_symbol_var(module, fa, fa->insns[0].operands[1].sym)->init[0].value, 1);
    ck_assert_uint_eq(ptx_symbol_var(module, fb, fb->insns[0].operands[1].sym)->init[0].value, 2);
    ck_assert_int_eq(var("ps")->init[0].sym, fb->insns[0].operands[1].sym);
}
END_TEST

START_TEST(weak_and_common)
{
    add("a", ".weak .func w { ret; }\n.common .global .b8 c[4];\n.weak .global .u32 v = 1;\n.extern .shared .b8 dyn[];");
    add("b", ".weak .func w { .reg .b32 x; mov.u32 x, 1; ret; }\n.common .global .b8 c[16];\n.weak .global .u32 v = 2;\n.extern .shared .b8 dyn[];");
    add("c", ".visible .global .u32 v = 3;");
    ck_assert_msg(link_inputs() == ST_OK, "%s", error.text);
    ck_assert_uint_eq(module->n_functions, 1);
    ck_assert_uint_eq(function("w")->n_insns, 1);
    ck_assert_uint_eq(var("c")->bytes, 16);
    ck_assert_uint_eq(var("v")->init[0].value, 3);
    ck_assert_uint_eq(module->n_vars, 3);
}
END_TEST

START_TEST(clashes)
{
    add("a.o", ".visible .func f { ret; }");
    add("b.o", ".visible .func f { ret; }");
    ck_assert(link_inputs() == ST_INVALID_PTX);
    ck_assert_ptr_null(module);
    ck_assert(strstr(error.text, "'f' is defined in 'a.o' and again in 'b.o'"));
    add("a.o", ".extern .func f;");
    add("b.o", ".visible .global .u32 f;");
    ck_assert(link_inputs() == ST_INVALID_PTX);
    ck_assert(strstr(error.text, "a function in one"));
}
END_TEST

START_TEST(undefined_functions_stay)
{
    add("a", ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n.entry k { .param .b32 r; .param .b64 a, b; call (r), vprintf, (a, b); ret; }");
    ck_assert_msg(link_inputs() == ST_OK, "%s", error.text);
    ck_assert(!function("vprintf")->has_body && function("vprintf")->linkage == PTX_LINK_EXTERN && function("vprintf")->proto.n_params == 2);
}
END_TEST

START_TEST(lines_and_files_of_units)
{
    char buf[40];
    add("a", ".file 1 \"a.cu\"\n.entry ka {\n.loc 1 7 1\nret;\n}");
    add("b", ".file 1 \"b.cu\"\n.entry kb {\n.loc 1 8 1\nret;\nbad;\n}\n.entry kc {\n.loc 1 9 1\nret; }");
    ck_assert(link_inputs() == ST_INVALID_PTX);
    ck_assert(strncmp(error.text, "b:8:1: unknown instruction 'bad'", 32) == 0);
    int32_t kc = ptx_function_find(module, "kc");
    ck_assert(ptx_function_body(module, (uint32_t)kc, &error) == ST_OK);
    ck_assert_str_eq(ptx_source_line(module, function("ka"), &function("ka")->insns[0], buf, sizeof buf), "a.cu:7");
    ck_assert_str_eq(ptx_source_line(module, function("kc"), &function("kc")->insns[0], buf, sizeof buf), "b.cu:9");
}
END_TEST

START_TEST(linked_modules_link_again)
{
    struct ptx_module *first;
    add("a", ".global .u32 s = 1;\n.extern .func g;\n.visible .entry ka { .reg .b64 %d<2>; mov.u64 %d1, s; call g; ret; }");
    add("b", ".global .u32 s = 2;\n.visible .entry kb { .reg .b64 %d<2>; mov.u64 %d1, s; ret; }");
    ck_assert(link_inputs() == ST_OK);
    first = module;
    add("c", ".global .u32 s = 3;\n.visible .func g { ret; }");
    inputs[n_inputs++] = first;
    ck_assert_msg(link_inputs() == ST_OK, "%s", error.text);
    ck_assert_uint_eq(ptx_symbol_var(module, NULL, function("ka")->insns[0].operands[1].sym)->init[0].value, 1);
    ck_assert_uint_eq(ptx_symbol_var(module, NULL, function("kb")->insns[0].operands[1].sym)->init[0].value, 2);
    ck_assert(module->functions[module->symbols[function("ka")->insns[1].operands[0].sym].index].has_body);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { externs_meet_definitions, private_names_stay_apart, weak_and_common, clashes, undefined_functions_stay,
                                   lines_and_files_of_units, linked_modules_link_again };
    return rig_run("ptx_link", tests, sizeof tests / sizeof tests[0]);
}
