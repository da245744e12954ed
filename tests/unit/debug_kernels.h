/* The program that the debugger's tests stop in: one module of PTX with source lines. */
#ifndef HEDDLE_TESTS_DEBUG_KERNELS_H
#define HEDDLE_TESTS_DEBUG_KERNELS_H
#include "tests/unit/debug_client.h"

static const char debug_ptx[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"                                                           /* lines 1 .. 3 */
    ".visible .global .align 4 .u32 counter = 5;\n"
    ".visible .const .align 4 .u32 factor = 3;\n"
    ".visible .global .align 16 .f32 grid_of[4] = {0f3F800000, 0f40000000, 0f40400000, 0f40800000};\n"
    /* int twice(int x) { return 2 * x + 1; } on lines 3 and 4 of app.cu */
    ".func (.param .b32 result) twice(.param .b32 x)\n{\n"
    "  .reg .b32 %r<4>;\n"
    "  .loc 1 3 0\n"
    "  ld.param.u32 %r1, [x];\n"
    "  shl.b32 %r2, %r1, 1;\n"
    "  .loc 1 4 0\n"
    "  add.s32 %r3, %r2, 1;\n"
    "  st.param.b32 [result], %r3;\n"
    "  ret;\n}\n"
    /* each thread below n: out[i] = twice(i), through shared memory and a barrier, odd threads once more */
    ".visible .entry _Z4workPij(.param .u64 _Z4workPij_param_0, .param .u32 _Z4workPij_param_1)\n{\n"
    "  .reg .pred %p<3>; .reg .b32 %r<12>; .reg .b64 %rd<4>; .reg .f32 %f<3>;\n"
    "  .shared .align 4 .b8 _ZZ4workPijE3buf[512];\n"
    "  .loc 1 10 0\n"
    "  ld.param.u64 %rd1, [_Z4workPij_param_0];\n"
    "  ld.param.u32 %r1, [_Z4workPij_param_1];\n"
    "  .loc 1 11 0\n"
    "  mov.u32 %r2, %ctaid.x;\n"
    "  mov.u32 %r3, %ntid.x;\n"
    "  mov.u32 %r4, %tid.x;\n"
    "  mad.lo.s32 %r5, %r2, %r3, %r4;\n"                                                                         /* insn 5 */
    "  .loc 1 12 0\n"
    "  {\n  .param .b32 arg; .param .b32 res;\n"
    "  st.param.b32 [arg], %r5;\n"
    "  call (res), twice, (arg);\n"
    "  ld.param.b32 %r6, [res];\n  }\n"                                                                          /* insn 8 */
    "  .loc 1 13 0\n"
    "  cvt.rn.f32.s32 %f1, %r6;\n"
    "  shl.b32 %r7, %r4, 2;\n"
    "  mov.u32 %r8, _ZZ4workPijE3buf;\n"
    "  add.s32 %r9, %r8, %r7;\n"
    "  st.shared.u32 [%r9], %r6;\n"                                                                              /* insn 13 */
    "  .loc 1 14 0\n"
    "  bar.sync 0;\n"                                                                                            /* insn 14 */
    "  .loc 1 15 0\n"
    "  and.b32 %r10, %r4, 1;\n"
    "  setp.eq.s32 %p1, %r10, 0;\n"
    "  @%p1 bra even;\n"                                                                                         /* insn 17 */
    "  .loc 1 16 0\n"
    "  ld.shared.u32 %r6, [%r9];\n"
    "  add.s32 %r6, %r6, 100;\n"                                                                                 /* insn 19 */
    "even:\n"
    "  .loc 1 17 0\n"
    "  setp.ge.u32 %p2, %r5, %r1;\n"
    "  @%p2 bra done;\n"                                                                                         /* insn 21 */
    "  .loc 1 18 0\n"
    "  mul.wide.u32 %rd2, %r5, 4;\n"
    "  add.s64 %rd3, %rd1, %rd2;\n"
    "  st.global.u32 [%rd3], %r6;\n"                                                                             /* insn 24 */
    "done:\n"
    "  .loc 1 19 0\n"
    "  ret;\n}\n"
    /* counts from 0 to n in one thread, in `counter` */
    ".visible .entry count(.param .u32 n)\n{\n"
    "  .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
    "  .loc 1 30 0\n"
    "  ld.param.u32 %r1, [n];\n"
    "  mov.u32 %r2, 0;\n"
    "  mov.u64 %rd1, counter;\n"
    "loop:\n"
    "  .loc 1 31 0\n"
    "  st.global.u32 [%rd1], %r2;\n"                                                                             /* insn 3 */
    "  add.s32 %r2, %r2, 1;\n"
    "  .loc 1 32 0\n"
    "  setp.lt.u32 %p1, %r2, %r1;\n"
    "  @%p1 bra loop;\n"                                                                                         /* insn 6 */
    "  .loc 1 33 0\n"
    "  ret;\n}\n"
    ".visible .entry stray(.param .u64 at)\n{\n"
    "  .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
    "  .loc 1 40 0\n"
    "  ld.param.u64 %rd1, [at];\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  .loc 1 41 0\n"
    "  st.global.u32 [%rd1], %r1;\n"
    "  ret;\n}\n"
    /* waits for ever, but for a debugger */
    ".visible .entry forever(.param .u64 flag)\n{\n"
    "  .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
    "  .loc 1 50 0\n"
    "  ld.param.u64 %rd1, [flag];\n"
    "spin:\n"
    "  ld.volatile.global.u32 %r1, [%rd1];\n"
    "  setp.eq.s32 %p1, %r1, 0;\n"
    "  @%p1 bra spin;\n"
    "  ret;\n}\n"
    /* half of the warps wait at a barrier that the others never reach */
    ".visible .entry stuck()\n{\n"
    "  .reg .pred %p<2>; .reg .b32 %r<2>;\n"
    "  .loc 1 60 0\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  bar.sync 1, 96;\n"
    "  ret;\n}\n"
    /* block b waits for block b + 1: all of them must have begun */
    ".visible .entry relay(.param .u64 flag)\n{\n"
    "  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<2>;\n"
    "  .loc 1 70 0\n"
    "  ld.param.u64 %rd1, [flag];\n"
    "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; sub.s32 %r3, %r2, %r1; sub.s32 %r3, %r3, 1;\n"
    "spin:\n  ld.volatile.global.u32 %r4, [%rd1];\n  setp.ne.u32 %p1, %r4, %r3;\n  @%p1 bra spin;\n"
    "  .loc 1 71 0\n"
    "  add.s32 %r5, %r4, 1;\n  st.volatile.global.u32 [%rd1], %r5;\n  ret;\n}\n"
    ".file 1 \"src/app.cu\"\n";

/* Clusters need a target of their own. */
static const char cluster_ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry pair(.param .u64 out) .reqnctapercluster 2\n{\n"
    "  .reg .b32 %r<8>; .reg .b64 %rd<4>; .shared .align 4 .u32 mine;\n"
    "  ld.param.u64 %rd1, [out];\n"
    "  mov.u32 %r1, %cluster_ctarank;\n"
    "  add.s32 %r2, %r1, 40;\n"
    "  st.shared.u32 [mine], %r2;\n"                                                                            /* insn 3 */
    "  barrier.cluster.arrive;\n"
    "  barrier.cluster.wait;\n"
    "  mov.u32 %r3, %ctaid.x;\n"                                                                                /* insn 6 */
    "  mul.wide.u32 %rd2, %r3, 4;\n  add.s64 %rd3, %rd1, %rd2;\n  st.global.u32 [%rd3], %r2;\n  ret;\n}\n";

/* ---- the program's side ---- */

static struct rt_context *context;
static struct rt_module *module;

static void program_begin(void)
{
    struct error err = {0};
    ck_assert_msg(rt_start(&err) == ST_OK, "%s", err.text);
    ck_assert_int_eq(rt_primary_retain(&context, 0), ST_OK);
    ck_assert_msg(rt_module_load(&module, context, debug_ptx, 0, "app.ptx", &err) == ST_OK, "%s", err.text);
}

static __attribute__((unused)) enum status program_launch(const char *name, uint32_t grid, uint32_t block, void **params)
{
    struct rt_function *f;
    struct error err = {0};
    ck_assert_msg(rt_module_function(&f, module, name, &err) == ST_OK, "%s", err.text);
    struct rt_stream *s = rt_stream_legacy(context);
    enum status st = rt_launch(&(struct rt_launch){.function = f, .stream = s, .grid = {grid, 1, 1}, .block = {block, 1, 1}, .params = params}, &err);
    ck_assert_msg(st == ST_OK, "%s", err.text);
    return rt_stream_synchronize(s);
}

static __attribute__((unused)) uint64_t program_alloc(uint64_t bytes)
{
    uint64_t a;
    ck_assert_int_eq(rt_alloc(context, bytes, &a, NULL), ST_OK);
    return a;
}

static __attribute__((unused)) uint32_t work_expected(uint32_t i, uint32_t tid) { return 2 * i + 1 + (tid & 1 ? 100 : 0); }

/* work<<<2, 64>>>(out, 100) */
static __attribute__((unused)) void *program_work(void *unused)
{
    (void)unused;
    program_begin();
    uint32_t n = 100, out[128] = {0};
    uint64_t at = program_alloc(sizeof out);
    ck_assert_int_eq(rt_memcpy_linear(rt_stream_legacy(context), at, (uint64_t)(uintptr_t)out, sizeof out, RT_SYNC), ST_OK);
    ck_assert_int_eq(program_launch("_Z4workPij", 2, 64, (void *[]){&at, &n}), ST_OK);
    ck_assert_int_eq(rt_memcpy_linear(rt_stream_legacy(context), (uint64_t)(uintptr_t)out, at, sizeof out, RT_SYNC), ST_OK);
    for (uint32_t i = 0; i < 128; i++)
        ck_assert_uint_eq(out[i], i < 100 ? work_expected(i, i % 64) : 0);
    return NULL;
}

/* count<<<1, 1>>>(20), twice */
static __attribute__((unused)) void *program_count(void *unused)
{
    (void)unused;
    program_begin();
    uint32_t n = 20;
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(program_launch("count", 1, 1, (void *[]){&n}), ST_OK);
    return NULL;
}

static __attribute__((unused)) void *program_stray(void *unused)
{
    (void)unused;
    program_begin();
    uint64_t nowhere = 0x1234560;
    ck_assert_int_eq(program_launch("stray", 1, 64, (void *[]){&nowhere}), ST_ILLEGAL_ADDRESS);
    return NULL;
}

static __attribute__((unused)) void *program_forever(void *unused)
{
    (void)unused;
    program_begin();
    uint64_t flag = program_alloc(4);
    (void)program_launch("forever", 1, 32, (void *[]){&flag});
    return NULL;
}

static __attribute__((unused)) void *program_relay(void *unused)
{
    (void)unused;
    program_begin();
    uint64_t flag = program_alloc(4);
    ck_assert_int_eq(program_launch("relay", 150, 1, (void *[]){&flag}), ST_OK);
    ck_assert_uint_eq(*(uint32_t *)(uintptr_t)flag, 150);
    return NULL;
}

static __attribute__((unused)) void *program_pair(void *unused)
{
    struct error err = {0};
    (void)unused;
    program_begin();
    ck_assert_msg(rt_module_load(&module, context, cluster_ptx, 0, "pair.ptx", &err) == ST_OK, "%s", err.text);
    uint64_t out = program_alloc(16);
    ck_assert_int_eq(program_launch("pair", 4, 1, (void *[]){&out}), ST_OK);
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_uint_eq(((uint32_t *)(uintptr_t)out)[i], 40 + i % 2);
    return NULL;
}

static __attribute__((unused)) void *program_stuck(void *unused)
{
    (void)unused;
    program_begin();
    ck_assert_int_eq(program_launch("stuck", 1, 64, NULL), ST_LAUNCH_FAILED);
    return NULL;
}

#endif
