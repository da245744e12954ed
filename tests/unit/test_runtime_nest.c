/* Kernels that launch kernels, by the system calls themselves: order, the tail, depth, limits. Needs neither nvcc nor libcudadevrt. */
#include <check.h>
#include <string.h>

#include "runtime/runtime.h"

static struct rt_context *context;

/* digit(at, n): *at = *at * 10 + n, one after the other. parent(at) launches: digit 1 and 2 into its NULL stream, digit 9 into
 * the tail, then digit 3 into its NULL stream; what the launches answered goes to at[1]. deep(at, n) launches itself with n + 1 and notes a failure in at[1]. */
#define BUFFER(function) \
    "  mov.u64 %rd2, " function "; st.param.b64 [p0], %rd2;\n" \
    "  st.param.b32 [p1],1; st.param.b32 [p1+4],1; st.param.b32 [p1+8],1;\n" \
    "  st.param.b32 [p2],1; st.param.b32 [p2+4],1; st.param.b32 [p2+8],1; st.param.b32 [p3],0;\n" \
    "  call (r0), __cuda_syscall_cnpv2GetParameterBufferV2, (p0, p1, p2, p3);\n  ld.param.b64 %rd3,[r0];\n"
#define LAUNCH(stream) \
    "st.param.b64 [q0],%rd3; st.param.b64 [q1]," stream ";\n" \
    "  call (r1), __cuda_syscall_cnpv2LaunchDeviceV2, (q0, q1);\n  ld.param.b32 %r2,[r1]; or.b32 %r3,%r3,%r2;\n"
#define DIGIT(n, stream) BUFFER("digit") "  st.u64 [%rd3], %rd1; mov.u32 %r4, " n "; st.u32 [%rd3+8], %r4;\n" LAUNCH(stream)
#define DECLARE \
    "  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<2>;\n" \
    "  .param .b64 p0; .param .align 4 .b8 p1[12]; .param .align 4 .b8 p2[12]; .param .b32 p3; .param .b64 r0;\n" \
    "  .param .b64 q0; .param .b64 q1; .param .b32 r1;\n  ld.param.u64 %rd1, [at]; mov.u32 %r3, 0;\n"

static const char ptx[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".extern .func (.param .b64 r) __cuda_syscall_cnpv2GetParameterBufferV2(.param .b64 a, .param .align 4 .b8 b[12], .param .align 4 .b8 c[12], .param .b32 d);\n"
    ".extern .func (.param .b32 r) __cuda_syscall_cnpv2LaunchDeviceV2(.param .b64 a, .param .b64 b);\n"
    ".extern .func (.param .b32 r) __cuda_syscall_cnpv2GetLastError();\n"
    ".visible .entry digit(.param .u64 at, .param .u32 n)\n{\n"
    "  .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
    "  ld.param.u64 %rd1, [at]; ld.param.u32 %r1, [n]; ld.global.u32 %r2, [%rd1]; mad.lo.u32 %r3, %r2, 10, %r1; st.global.u32 [%rd1], %r3; ret;\n}\n"
    ".visible .entry parent(.param .u64 at)\n{\n" DECLARE
    DIGIT("1", "0") DIGIT("2", "0") DIGIT("9", "3") DIGIT("3", "0")
    "  st.global.u32 [%rd1+4], %r3; ret;\n}\n"
    ".visible .entry deep(.param .u64 at, .param .u32 n)\n{\n" DECLARE
    "  ld.param.u32 %r1, [n]; st.global.u32 [%rd1], %r1;\n" BUFFER("deep")
    "  setp.eq.u64 %p1, %rd3, 0;\n  @%p1 bra failed;\n"
    "  st.u64 [%rd3], %rd1; add.u32 %r4, %r1, 1; st.u32 [%rd3+8], %r4;\n" LAUNCH("4") "  ret;\n"
    "failed:\n  .param .b32 e;\n  call.uni (e), __cuda_syscall_cnpv2GetLastError, ();\n  ld.param.b32 %r5, [e]; st.global.u32 [%rd1+4], %r5; ret;\n}\n";

static void setup(void)
{
    ck_assert_int_eq(rt_start(NULL), ST_OK);
    ck_assert_int_eq(rt_primary_retain(&context, 0), ST_OK);
}

static void teardown(void) { ck_assert_int_eq(rt_primary_release(0), ST_OK); }

/* Launches a kernel of a text with at and 0 and waits; result: the two numbers at `at`. */
static enum status run_text(const char *text, const char *kernel, uint32_t result[2])
{
    struct error err = {0};
    struct rt_module *m;
    struct rt_function *f;
    uint64_t at;
    uint32_t zero = 0;
    ck_assert_msg(rt_module_load(&m, context, text, 0, "nest.ptx", &err) == ST_OK, "%s", err.text);
    ck_assert_msg(rt_module_function(&f, m, kernel, &err) == ST_OK, "%s", err.text);
    ck_assert_int_eq(rt_alloc(context, 8, &at, &err), ST_OK);
    void *params[] = {&at, &zero};
    struct rt_launch l = {.function = f, .stream = rt_stream_legacy(context), .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params};
    ck_assert_msg(rt_launch(&l, &err) == ST_OK, "%s", err.text);
    enum status st = rt_context_synchronize(context);
    memcpy(result, (const void *)(uintptr_t)at, 8);
    ck_assert_int_eq(rt_free(at), st);
    ck_assert_int_eq(rt_module_unload(m), ST_OK);
    return st;
}

static void run(const char *kernel, uint32_t result[2]) { ck_assert_int_eq(run_text(ptx, kernel, result), ST_OK); }

START_TEST(a_stream_is_in_order_and_the_tail_comes_last)
{
    uint32_t x[2];
    run("parent", x);
    ck_assert_uint_eq(x[0], 1239);
    ck_assert_uint_eq(x[1], 0);
}
END_TEST

START_TEST(no_more_than_24_levels)
{
    uint32_t x[2];
    run("deep", x);
    ck_assert_uint_eq(x[0], 24);
    ck_assert_int_eq((int)x[1], status_cuda(ST_LAUNCH_MAX_DEPTH_EXCEEDED));
}
END_TEST

START_TEST(the_tail_has_a_limit)
{
    uint32_t x[2];
    size_t was;
    ck_assert_int_eq(rt_context_limit(context, RT_LIMIT_PENDING_LAUNCHES, &was), ST_OK);
    ck_assert_int_eq(rt_context_set_limit(context, RT_LIMIT_PENDING_LAUNCHES, 0), ST_OK);
    run("parent", x);
    ck_assert_uint_eq(x[0], 123);
    ck_assert_uint_eq(x[1], 6);                /* the system call's number for cudaErrorLaunchOutOfResources */
    ck_assert_int_eq(rt_context_set_limit(context, RT_LIMIT_PENDING_LAUNCHES, was), ST_OK);
}
END_TEST

/* CDP1: the same calls by other names. */
START_TEST(the_older_kind)
{
    char text[sizeof ptx], *to = text;
    const char *prefix = "__cuda_syscall_cnpv2";
    for (const char *from = ptx; *from;) {
        bool here = strncmp(from, prefix, strlen(prefix)) == 0;
        if (here) {
            memcpy(to, "cnp", 3);
            to += 3;
            from += strlen(prefix);
        } else {
            *to++ = *from++;
        }
    }
    *to = 0;
    uint32_t x[2];
    ck_assert_int_eq(run_text(text, "parent", x), ST_OK);
    ck_assert_uint_eq(x[0], 1239);
}
END_TEST

START_TEST(a_kernel_cannot_wait)
{
    static const char text[] =
        ".version 8.0\n.target sm_70\n.address_size 64\n.extern .func (.param .b32 r) cudaDeviceSynchronize();\n"
        ".visible .entry wait(.param .u64 at, .param .u32 n)\n{\n  .param .b32 r0;\n  call.uni (r0), cudaDeviceSynchronize, ();\n  ret;\n}\n";
    uint32_t x[2];
    ck_assert_int_eq(run_text(text, "wait", x), ST_NOT_SUPPORTED);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("nested launches");
    TCase *t = tcase_create("runtime/nest.c");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_stream_is_in_order_and_the_tail_comes_last);
    tcase_add_test(t, no_more_than_24_levels);
    tcase_add_test(t, the_tail_has_a_limit);
    tcase_add_test(t, the_older_kind);
    tcase_add_test(t, a_kernel_cannot_wait);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
