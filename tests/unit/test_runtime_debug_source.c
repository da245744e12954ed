/* The debugger's server: variables of the source, from the DWARF that nvcc -G writes. The module is what nvcc 13 made of
 *     __global__ void fill(int n, float *out) { __shared__ float tile[32]; int i = threadIdx.x; { float v = i * 2; tile[i] = v; v += 1; out[i] = v + n; } }
 * in short: types, a parameter in each space, a register list, a scope. */
#include "tests/unit/debug_client.h"

static const char source_ptx[] =
    ".version 8.0\n.target sm_70, debug\n.address_size 64\n"
    ".visible .entry _Z4filliPf(.param .u32 _Z4filliPf_param_0, .param .u64 _Z4filliPf_param_1)\n{\n"
    "  .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f<6>;\n"
    "  .shared .align 4 .b8 _ZZ4filliPfE4tile[128];\n"
    "$L__func_begin0:\n"
    "  .loc 1 3 0\n"
    "  ld.param.u32 %r1, [_Z4filliPf_param_0];\n"                                                                /* 0 */
    "  ld.param.u64 %rd1, [_Z4filliPf_param_1];\n"
    "  mov.u32 %r2, %tid.x;\n"
    "$L__tmp0:\n"
    "  .loc 1 4 0\n"
    "  shl.b32 %r3, %r2, 1;\n"                                                                                   /* 3 */
    "  cvt.rn.f32.s32 %f1, %r3;\n"
    "$L__tmp1:\n"
    "  .loc 1 5 0\n"
    "  mul.wide.s32 %rd2, %r2, 4;\n"                                                                             /* 5 */
    "  mov.u64 %rd3, _ZZ4filliPfE4tile;\n"
    "  add.s64 %rd4, %rd3, %rd2;\n"
    "  st.shared.f32 [%rd4], %f1;\n"                                                                             /* 8 */
    "  add.f32 %f2, %f1, 0f3F800000;\n"
    "$L__tmp2:\n"
    "  .loc 1 6 0\n"
    "  cvt.rn.f32.s32 %f3, %r1;\n"                                                                               /* 10 */
    "  add.f32 %f4, %f2, %f3;\n"
    "  add.s64 %rd5, %rd1, %rd2;\n"
    "  st.global.f32 [%rd5], %f4;\n"
    "$L__tmp3:\n"
    "  .loc 1 7 0\n"
    "  ret;\n"                                                                                                   /* 14 */
    "$L__func_end0:\n}\n"
    ".file 1 \"fill.cu\"\n"
    ".section\t.debug_loc\n{\n"
    /* v: %f1 from tmp1 to tmp2, then %f2 */
    ".b64 $L__tmp1\n.b64 $L__tmp2\n.b8 5\n.b8 0\n.b8 144\n.b8 177,204,149,1\n"
    ".b64 $L__tmp2\n.b64 $L__tmp3\n.b8 5\n.b8 0\n.b8 144\n.b8 178,204,149,1\n.b64 0\n.b64 0\n}\n"
    ".section\t.debug_abbrev\n{\n"
    ".b8 1,17,1,3,8,0,0\n"                     /* unit: name */
    ".b8 2,36,0,3,8,62,11,11,11,0,0\n"         /* base type: name, encoding, bytes */
    ".b8 3,15,0,73,19,0,0\n"                   /* pointer */
    ".b8 4,1,1,73,19,0,0\n"                    /* array */
    ".b8 5,33,0,73,19,55,11,0,0\n"             /* subrange: type, count */
    ".b8 6,46,1,17,1,18,1,135,64,8,3,8,0,0\n"  /* function: low, high, linkage name, name */
    ".b8 7,5,0,2,10,51,11,3,8,73,19,0,0\n"     /* parameter: location, class, name, type */
    ".b8 8,52,0,2,10,51,11,3,8,73,19,0,0\n"    /* variable */
    ".b8 9,52,0,2,6,3,8,73,19,0,0\n"           /* variable with a list */
    ".b8 10,11,1,17,1,18,1,0,0\n"              /* scope */
    ".b8 0\n}\n"
    ".section\t.debug_info\n{\n"
    ".b32 500\n.b8 2\n.b8 0\n.b32 .debug_abbrev\n.b8 8\n"                  /* offset 11 */
    ".b8 1\n.b8 102,105,108,108\n.b8 0\n"                                  /* 11: unit "fill" */
    ".b8 2\n.b8 105,110,116\n.b8 0\n.b8 5\n.b8 4\n"                        /* 17: int */
    ".b8 2\n.b8 102,108,111,97,116\n.b8 0\n.b8 4\n.b8 4\n"                 /* 24: float */
    ".b8 3\n.b32 24\n"                                                     /* 33: float * */
    ".b8 4\n.b32 24\n.b8 5\n.b32 17\n.b8 32\n.b8 0\n"                      /* 38: float [32] */
    ".b8 6\n.b64 $L__func_begin0\n.b64 $L__func_end0\n.b8 95,90,52,102,105,108,108,105,80,102\n.b8 0\n.b8 102,105,108,108\n.b8 0\n"
    ".b8 7\n.b8 9\n.b8 3\n.b64 _Z4filliPf_param_0\n.b8 7\n.b8 110\n.b8 0\n.b32 17\n"                   /* n */
    ".b8 7\n.b8 9\n.b8 3\n.b64 _Z4filliPf_param_1\n.b8 7\n.b8 111,117,116\n.b8 0\n.b32 33\n"           /* out */
    ".b8 8\n.b8 9\n.b8 3\n.b64 _ZZ4filliPfE4tile\n.b8 8\n.b8 116,105,108,101\n.b8 0\n.b32 38\n"        /* tile */
    ".b8 8\n.b8 5\n.b8 144\n.b8 178,228,149,1\n.b8 2\n.b8 105\n.b8 0\n.b32 17\n"                       /* i: %r2 */
    ".b8 10\n.b64 $L__tmp0\n.b64 $L__tmp3\n"
    ".b8 9\n.b32 0\n.b8 118\n.b8 0\n.b32 24\n"                                                         /* v */
    ".b8 0\n.b8 0\n.b8 0\n}\n";

/* Another text, to be linked before it. */
static const char other_ptx[] = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .func other()\n{\n  ret;\n}\n";
static struct rt_link *link_of_two;

static const void *linked(struct rt_context *context)
{
    struct error err;
    void *image;
    size_t bytes;
    ck_assert_int_eq(rt_link_create(&link_of_two, context), ST_OK);
    ck_assert_msg(rt_link_add(link_of_two, other_ptx, 0, "other.ptx", &err) == ST_OK, "%s", err.text);
    ck_assert_msg(rt_link_add(link_of_two, source_ptx, 0, "fill.ptx", &err) == ST_OK, "%s", err.text);
    ck_assert_msg(rt_link_complete(link_of_two, &image, &bytes, &err) == ST_OK, "%s", err.text);
    return image;
}

static void *program_of(bool of_two)
{
    struct rt_context *context;
    struct rt_module *module;
    struct rt_function *f;
    struct error err = {0};
    uint32_t n = 10;
    uint64_t out;
    ck_assert_int_eq(rt_start(&err), ST_OK);
    ck_assert_int_eq(rt_primary_retain(&context, 0), ST_OK);
    ck_assert_msg(rt_module_load(&module, context, of_two ? linked(context) : source_ptx, 0, "fill.ptx", &err) == ST_OK, "%s", err.text);
    ck_assert_int_eq(rt_alloc(context, 128, &out, NULL), ST_OK);
    ck_assert_int_eq(rt_module_function(&f, module, "_Z4filliPf", &err), ST_OK);
    struct rt_stream *s = rt_stream_legacy(context);
    ck_assert_int_eq(rt_launch(&(struct rt_launch){.function = f, .stream = s, .grid = {1, 1, 1}, .block = {32, 1, 1}, .params = (void *[]){&n, &out}}, &err), ST_OK);
    ck_assert_int_eq(rt_stream_synchronize(s), ST_OK);
    ck_assert(((float *)(uintptr_t)out)[3] == 3 * 2 + 1 + 10);
    return NULL;
}

static void *program(void *unused) { return (void)unused, program_of(false); }
static void *program_linked(void *unused) { return (void)unused, program_of(true); }

START_TEST(each_linked_text_has_its_own)
{
    client_start(program_linked);
    ask("break at=fill.cu:6 if=\"i == 3\"");
    go("continue");
    evals("n", "10");
    evals("v", "7");
    has(ask("info locals"), "name=tile space=shared");
    has(ask("ptx count=3"), "cvt.rn.f32.s32 %f3, %r1;");
    client_finish();
}
END_TEST

START_TEST(source_variables_have_values)
{
    client_start(program);
    ask("break at=fill.cu:6 if=\"i == 3\"");
    ask("break at=fill");
    go("continue");
    evals("n", "10");
    has(refused("eval v"), "nothing is named v");          /* its scope begins later */
    go("continue");
    is(client.stop, "lane", "3");
    evals("i", "3");
    evals("v", "7");
    is(ask("eval v"), "type", "float");
    evals("tile[3]", "6");
    is(ask("eval tile"), "type", "float [32]");
    is(ask("eval out"), "type", "float *");
    evals("out[3]", "0");
    const char *locals = ask("info locals");
    has(locals, "name=n space=param type=int bytes=4 value=10");
    has(locals, "name=v space=local type=float bytes=4 value=7");
    has(locals, "name=tile space=shared");
    go("reverse-stepi 5");
    evals("v", "6");                           /* another register held it then */
    evals("v = 6.5", "6.5");
    evals("%f1", "6.5");
    evals("v = 6", "6");
    client_finish();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        source_variables_have_values, each_linked_text_has_its_own};
    return client_tests("runtime_debug_source", tests, sizeof tests / sizeof *tests);
}
