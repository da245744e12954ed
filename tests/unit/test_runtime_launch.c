/* Modules, functions, launches, faults, residency: real PTX through the whole of the runtime. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/runtime.h"

static struct rt_context *context;
static struct rt_stream *legacy;

static const char ptx[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter = 5;\n"
    ".visible .const .align 4 .u32 factor = 3;\n"
    ".visible .global .attribute(.managed) .align 4 .u32 shared_value = 9;\n"
    ".visible .entry empty() { ret; }\n"
    /* out[i] = in * factor + i */
    ".visible .entry fill(.param .u64 out, .param .u32 in, .param .u32 n)\n{\n"
    "  .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<4>;\n"
    "  ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [in]; ld.param.u32 %r2, [n];\n"
    "  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"
    "  mad.lo.s32 %r6, %r3, %r4, %r5;\n"
    "  setp.ge.u32 %p1, %r6, %r2;\n"
    "  @%p1 bra done;\n"
    "  ld.const.u32 %r7, [factor];\n"
    "  mad.lo.s32 %r8, %r1, %r7, %r6;\n"
    "  mul.wide.u32 %rd2, %r6, 4; add.s64 %rd3, %rd1, %rd2;\n"
    "  st.global.u32 [%rd3], %r8;\n"
    "done:\n  ret;\n}\n"
    /* block b waits until flag == b, then sets it to b + 1: needs all earlier blocks, in reverse order of ctaid */
    ".visible .entry relay(.param .u64 flag)\n{\n"
    "  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<2>;\n"
    "  ld.param.u64 %rd1, [flag];\n"
    "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; sub.s32 %r3, %r2, %r1; sub.s32 %r3, %r3, 1;\n"
    "spin:\n  ld.volatile.global.u32 %r4, [%rd1];\n  setp.ne.u32 %p1, %r4, %r3;\n  @%p1 bra spin;\n"
    "  add.s32 %r5, %r4, 1; st.volatile.global.u32 [%rd1], %r5;\n  ret;\n}\n"
    /* adds one per thread; order does not matter */
    ".visible .entry count(.param .u64 at)\n{\n"
    "  .reg .b64 %rd<2>; ld.param.u64 %rd1, [at]; red.global.add.u32 [%rd1], 1; ret;\n}\n"
    ".visible .entry stray(.param .u64 at)\n{\n"
    "  .reg .b32 %r<2>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [at]; mov.u32 %r1, %ctaid.x; st.global.u32 [%rd1], %r1; ret;\n}\n"
    ".visible .entry bounded() .maxntid 64, 1, 1 { .reg .b32 %r<2>; .shared .align 4 .b8 buf[1024]; mov.u32 %r1, 1; st.shared.u32 [buf], %r1; ret; }\n"
    ;

static void setup(void)
{
    ck_assert_int_eq(rt_start(NULL), ST_OK);
    ck_assert_int_eq(rt_primary_retain(&context, 0), ST_OK);
    legacy = rt_stream_legacy(context);
}

static void teardown(void) { ck_assert_int_eq(rt_primary_release(0), ST_OK); }

static struct rt_module *load(void)
{
    struct rt_module *m;
    struct error err = {0};
    ck_assert_msg(rt_module_load(&m, context, ptx, 0, "test.ptx", &err) == ST_OK, "%s", err.text);
    return m;
}

static struct rt_function *find(struct rt_module *m, const char *name)
{
    struct rt_function *f;
    struct error err = {0};
    ck_assert_msg(rt_module_function(&f, m, name, &err) == ST_OK, "%s", err.text);
    return f;
}

static enum status launch(struct rt_function *f, struct rt_stream *s, uint32_t grid, uint32_t block, void **params, struct error *err)
{
    return rt_launch(&(struct rt_launch){.function = f, .stream = s, .grid = {grid, 1, 1}, .block = {block, 1, 1}, .params = params}, err);
}

static uint64_t alloc(uint64_t bytes)
{
    uint64_t a;
    ck_assert_int_eq(rt_alloc(context, bytes, &a, NULL), ST_OK);
    return a;
}

START_TEST(a_kernel_runs)
{
    struct rt_module *m = load();
    uint32_t in = 7, n = 1000, out[1000];
    uint64_t a = alloc(sizeof out);
    struct error err = {0};
    ck_assert_msg(launch(find(m, "fill"), legacy, 8, 128, (void *[]){&a, &in, &n}, &err) == ST_OK, "%s", err.text);
    ck_assert_int_eq(rt_memcpy_linear(legacy, (uint64_t)(uintptr_t)out, a, sizeof out, RT_SYNC), ST_OK);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_int_eq(out[i], 21 + i);
    /* The same through a ready block of parameters. */
    struct { uint64_t a; uint32_t in, n; } block = {a, 8, 1000};
    struct rt_launch l = {.function = find(m, "fill"), .stream = legacy, .grid = {8, 1, 1}, .block = {128, 1, 1}, .buffer = &block, .buffer_bytes = sizeof block};
    ck_assert_int_eq(rt_launch(&l, &err), ST_OK);
    ck_assert_int_eq(rt_stream_synchronize(legacy), ST_OK);
    ck_assert_int_eq(((uint32_t *)(uintptr_t)a)[999], 24 + 999);
    ck_assert_int_eq(rt_free(a), ST_OK);
    ck_assert_int_eq(rt_module_unload(m), ST_OK);
}
END_TEST

START_TEST(symbols_are_found)
{
    struct rt_module *m = load();
    struct rt_function *f;
    struct error err = {0};
    uint64_t a, bytes;
    ck_assert_int_eq(rt_module_global(m, "counter", &a, &bytes, &err), ST_OK);
    ck_assert(bytes == 4 && *(uint32_t *)(uintptr_t)a == 5);
    ck_assert_int_eq(rt_module_global(m, "nothing", &a, &bytes, &err), ST_NOT_FOUND);
    ck_assert_int_eq(rt_module_function(&f, m, "counter", &err), ST_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.text, "counter"));
    ck_assert_uint_eq(rt_module_functions(m, NULL, 0), 6);
    struct rt_function_info info;
    f = find(m, "bounded");
    ck_assert_int_eq(rt_function_info(f, &info, &err), ST_OK);
    ck_assert_int_eq(info.max_threads, 64);
    ck_assert_uint_eq(info.shared_bytes, 1024);
    ck_assert_int_eq(info.max_dynamic_shared_bytes, 47 << 10);
    ck_assert(info.ptx_version == 70 && info.binary_version == 90);
    uint64_t offset;
    ck_assert_int_eq(rt_function_param(find(m, "fill"), 2, &offset, &bytes), ST_OK);
    ck_assert(offset == 12 && bytes == 4);
    ck_assert_int_eq(rt_function_param(find(m, "fill"), 3, &offset, &bytes), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_module_unload(m), ST_OK);
    ck_assert(!rt_is(m, RT_MODULE) && !rt_is(f, RT_FUNCTION));
}
END_TEST

START_TEST(libraries_become_modules)
{
    struct rt_library *l;
    struct rt_kernel *k;
    struct rt_function *f, *g;
    struct rt_context *other;
    struct error err = {0};
    uint64_t a, b, c, bytes;
    ck_assert_int_eq(rt_library_load(&l, ptx, 0, "lib", &err), ST_OK);
    ck_assert_int_eq(rt_library_managed(l, "shared_value", &a, &bytes, &err), ST_OK);
    ck_assert_int_eq(*(uint32_t *)(uintptr_t)a, 9);
    *(uint32_t *)(uintptr_t)a = 10;
    ck_assert_int_eq(rt_library_kernel(&k, l, "empty", &err), ST_OK);
    ck_assert_int_eq(rt_context_create(&other, 0, 0), ST_OK);
    ck_assert_int_eq(rt_kernel_function(&f, k, context, &err), ST_OK);
    ck_assert_int_eq(rt_kernel_function(&g, k, other, &err), ST_OK);
    ck_assert(f != g && rt_function_context(g) == other);
    ck_assert_int_eq(*(uint32_t *)(uintptr_t)a, 10);           /* one variable for all contexts, as the program left it */
    ck_assert_int_eq(rt_library_global(l, context, "counter", &b, &bytes, &err), ST_OK);
    ck_assert_int_eq(rt_library_global(l, other, "counter", &c, &bytes, &err), ST_OK);
    ck_assert(b != c);
    ck_assert_int_eq(launch(g, rt_stream_legacy(other), 1, 1, NULL, &err), ST_OK);
    ck_assert_int_eq(launch(g, legacy, 1, 1, NULL, &err), ST_INVALID_HANDLE);
    ck_assert_int_eq(rt_context_destroy(other), ST_OK);
    ck_assert_int_eq(launch(f, legacy, 1, 1, NULL, &err), ST_OK);
    ck_assert_int_eq(rt_library_unload(l), ST_OK);
    ck_assert(!rt_is(k, RT_KERNEL));
}
END_TEST

START_TEST(bad_launches_are_refused)
{
    struct rt_module *m = load();
    struct rt_function *f = find(m, "empty");
    struct error err = {0};
    ck_assert_int_eq(launch(f, legacy, 0, 1, NULL, &err), ST_INVALID_CONFIGURATION);
    ck_assert_int_eq(launch(f, legacy, 1, 0, NULL, &err), ST_INVALID_CONFIGURATION);
    ck_assert_int_eq(launch(f, legacy, 1, 1025, NULL, &err), ST_INVALID_CONFIGURATION);
    ck_assert_int_eq(rt_launch(&(struct rt_launch){.function = f, .stream = legacy, .grid = {1, 1, 1}, .block = {1, 1, 65}}, &err), ST_INVALID_CONFIGURATION);
    ck_assert_int_eq(rt_launch(&(struct rt_launch){.function = f, .stream = legacy, .grid = {1, 65536, 1}, .block = {1, 1, 1}}, &err), ST_INVALID_CONFIGURATION);
    ck_assert_int_eq(launch(find(m, "bounded"), legacy, 1, 65, NULL, &err), ST_LAUNCH_OUT_OF_RESOURCES);
    struct rt_launch l = {.function = f, .stream = legacy, .grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_shared_bytes = 100 << 10};
    ck_assert_int_eq(rt_launch(&l, &err), ST_INVALID_VALUE);
    ck_assert_ptr_nonnull(strstr(err.text, "hint:"));
    ck_assert_int_eq(rt_function_set_max_dynamic_shared(f, 228 << 10), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_function_set_max_dynamic_shared(f, 100 << 10), ST_OK);
    ck_assert_int_eq(rt_launch(&l, &err), ST_OK);
    ck_assert_int_eq(launch(find(m, "fill"), legacy, 1, 1, NULL, &err), ST_INVALID_VALUE);
    l = (struct rt_launch){.function = f, .stream = legacy, .grid = {132 * 2 + 1, 1, 1}, .block = {1024, 1, 1}, .cooperative = true};
    ck_assert_int_eq(rt_launch(&l, &err), ST_COOPERATIVE_LAUNCH_TOO_LARGE);
    l.grid[0]--;
    ck_assert_int_eq(rt_launch(&l, &err), ST_OK);
    ck_assert_int_eq(rt_context_synchronize(context), ST_OK);
    ck_assert_int_eq(rt_module_unload(m), ST_OK);
}
END_TEST

START_TEST(images_are_refused_with_a_reason)
{
    struct rt_module *m;
    struct error err = {0};
    static const char bad[] = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entr k() { ret; }\n";
    ck_assert_int_eq(rt_module_load(&m, context, bad, 0, "bad.ptx", &err), ST_INVALID_PTX);
    ck_assert_ptr_nonnull(strstr(err.text, "bad.ptx:4"));
    ck_assert_int_ne(rt_module_load(&m, context, "\x01\x02\x03", 3, "junk", &err), ST_OK);
    ck_assert_int_eq(rt_context_error(context), ST_OK);
}
END_TEST

START_TEST(blocks_that_wait_for_later_blocks_finish)
{
    struct rt_module *m = load();
    uint64_t a = alloc(4);
    enum { BLOCKS = 200 };
    ck_assert_int_eq(launch(find(m, "relay"), legacy, BLOCKS, 32, (void *[]){&a}, NULL), ST_OK);
    ck_assert_int_eq(rt_stream_synchronize(legacy), ST_OK);
    ck_assert_int_eq(*(uint32_t *)(uintptr_t)a, BLOCKS);
    ck_assert_int_eq(rt_free(a), ST_OK);
}
END_TEST

START_TEST(a_kernel_that_waits_lets_other_streams_work)
{
    struct rt_module *m = load();
    struct rt_stream *s, *t;
    uint64_t a = alloc(4), b = alloc(4);
    ck_assert_int_eq(rt_stream_create(&s, context, RT_STREAM_NON_BLOCKING, 0), ST_OK);
    ck_assert_int_eq(rt_stream_create(&t, context, RT_STREAM_NON_BLOCKING, 0), ST_OK);
    ck_assert_int_eq(rt_memset(t, a, 0, 1, 1, 1, 1, RT_SYNC), ST_OK);
    ck_assert_int_eq(launch(find(m, "relay"), s, 1, 1, (void *[]){&a}, NULL), ST_OK);  /* spins: the flag is 1, not 0 */
    ck_assert_int_eq(launch(find(m, "count"), t, 10, 10, (void *[]){&b}, NULL), ST_OK);
    ck_assert_int_eq(rt_stream_synchronize(t), ST_OK);
    ck_assert_int_eq(*(uint32_t *)(uintptr_t)b, 100);
    ck_assert_int_eq(rt_stream_query(s), ST_NOT_READY);
    __atomic_store_n((uint32_t *)(uintptr_t)a, 0, __ATOMIC_RELEASE);                            /* the host's turn */
    ck_assert_int_eq(rt_stream_synchronize(s), ST_OK);
    ck_assert_int_eq(*(uint32_t *)(uintptr_t)a, 1);
    rt_stream_destroy(s);
    rt_stream_destroy(t);
}
END_TEST

START_TEST(many_launches_in_many_streams_all_run)
{
    struct rt_module *m = load();
    struct rt_function *f = find(m, "count");
    struct rt_stream *s[8];
    uint64_t a = alloc(4);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(rt_stream_create(&s[i], context, (uint32_t)i & 1, -(i & 3)), ST_OK);
    for (int i = 0; i < 2000; i++)
        ck_assert_int_eq(launch(f, s[i % 8], 3, 33, (void *[]){&a}, NULL), ST_OK);
    ck_assert_int_eq(rt_context_synchronize(context), ST_OK);
    ck_assert_int_eq(*(uint32_t *)(uintptr_t)a, 2000 * 99);
    for (int i = 0; i < 8; i++)
        rt_stream_destroy(s[i]);
}
END_TEST

static int callback_status;
static void on_callback(void *handle, int status, void *user)
{
    (void)handle;
    (void)user;
    callback_status = status;
}

START_TEST(a_fault_poisons_the_context_until_reset)
{
    struct rt_module *m = load();
    uint64_t a = alloc(100), wild = a + 100;
    struct error err = {0};
    double ms;
    struct rt_event *e, *later;
    ck_assert_int_eq(rt_event_create(&e, context, 0), ST_OK);
    ck_assert_int_eq(rt_stream_wait_value(legacy, a, 1, 4, RT_EQ), ST_OK);     /* until all is enqueued */
    ck_assert_int_eq(launch(find(m, "stray"), legacy, 40, 32, (void *[]){&wild}, &err), ST_OK);
    ck_assert_int_eq(rt_stream_callback(legacy, on_callback, NULL, NULL), ST_OK);
    ck_assert_int_eq(rt_event_record(e, legacy), ST_OK);
    __atomic_store_n((uint32_t *)(uintptr_t)a, 1, __ATOMIC_RELEASE);
    ck_assert_int_eq(rt_context_synchronize(context), ST_ILLEGAL_ADDRESS);
    ck_assert_int_eq(callback_status, 700);
    ck_assert_int_eq(rt_context_error(context), ST_ILLEGAL_ADDRESS);
    ck_assert_int_eq(launch(find(m, "empty"), legacy, 1, 1, NULL, &err), ST_ILLEGAL_ADDRESS);
    ck_assert_int_eq(rt_free(a), ST_ILLEGAL_ADDRESS);
    ck_assert_int_eq(rt_event_create(&later, context, 0), ST_ILLEGAL_ADDRESS);
    ck_assert_int_eq(rt_event_elapsed(&ms, e, e) == ST_NOT_READY, 0);
    ck_assert_int_eq(rt_primary_reset(0), ST_OK);
    ck_assert(!rt_is(m, RT_MODULE) && !rt_is(e, RT_EVENT));
    legacy = rt_stream_legacy(context);
    a = alloc(4);
    ck_assert_int_eq(launch(find(load(), "count"), legacy, 2, 2, (void *[]){&a}, &err), ST_OK);
    ck_assert_int_eq(rt_context_synchronize(context), ST_OK);
    ck_assert_int_eq(*(uint32_t *)(uintptr_t)a, 4);
}
END_TEST

START_TEST(linking_at_run_time)
{
    static const char caller[] = ".version 8.0\n.target sm_70\n.address_size 64\n.extern .func (.param .b32 r) twice (.param .b32 x);\n"
        ".visible .entry run(.param .u64 out)\n{\n  .reg .b32 %r<3>; .reg .b64 %rd<2>;\n  ld.param.u64 %rd1, [out];\n"
        "  {\n  .param .b32 x0; .param .b32 r0;\n  st.param.b32 [x0], 21;\n  call.uni (r0), twice, (x0);\n  ld.param.b32 %r1, [r0];\n  }\n"
        "  st.global.u32 [%rd1], %r1;\n  ret;\n}\n";
    static const char callee[] = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .func (.param .b32 r) twice (.param .b32 x)\n{\n"
        "  .reg .b32 %r<3>;\n  ld.param.b32 %r1, [x];\n  add.s32 %r2, %r1, %r1;\n  st.param.b32 [r], %r2;\n  ret;\n}\n";
    struct rt_link *l;
    struct rt_module *m;
    struct error err = {0};
    void *image;
    size_t bytes;
    ck_assert_int_eq(rt_link_create(&l, context), ST_OK);
    ck_assert_int_eq(rt_link_complete(l, &image, &bytes, &err), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_link_add(l, caller, sizeof caller, "caller.ptx", &err), ST_OK);
    ck_assert_int_eq(rt_link_add(l, callee, 0, "callee.ptx", &err), ST_OK);
    ck_assert_msg(rt_link_complete(l, &image, &bytes, &err) == ST_OK, "%s", err.text);
    ck_assert_msg(rt_module_load(&m, context, image, 0, NULL, &err) == ST_OK, "%s", err.text);
    ck_assert_int_eq(rt_link_destroy(l), ST_OK);
    uint64_t a = alloc(4);
    ck_assert_msg(launch(find(m, "run"), legacy, 1, 1, (void *[]){&a}, &err) == ST_OK, "%s", err.text);
    ck_assert_int_eq(rt_context_synchronize(context), ST_OK);
    ck_assert_int_eq(*(uint32_t *)(uintptr_t)a, 42);
}
END_TEST

START_TEST(occupancy_follows_the_gpu)
{
    struct rt_module *m = load();
    struct rt_function *f = find(m, "empty");
    int n, grid, block;
    size_t shared;
    ck_assert_int_eq(rt_occupancy_blocks(f, 1024, 0, &n), ST_OK);
    ck_assert_int_eq(n, 2);
    ck_assert_int_eq(rt_occupancy_blocks(f, 32, 0, &n), ST_OK);
    ck_assert_int_eq(n, 32);
    ck_assert_int_eq(rt_occupancy_blocks(f, 128, 47 << 10, &n), ST_OK);
    ck_assert_int_eq(n, 4);                                            /* 228 KiB / (47 + 1) */
    ck_assert_int_eq(rt_occupancy_block_size(f, NULL, 0, 0, &grid, &block), ST_OK);
    ck_assert(block == 1024 && grid == 2 * 132);
    ck_assert_int_eq(rt_occupancy_shared(f, 2, 128, &shared), ST_OK);
    ck_assert_uint_eq(shared, 48 << 10);
    ck_assert_int_eq(rt_occupancy_blocks(f, 0, 0, &n), ST_INVALID_VALUE);
}
END_TEST

int main(void)
{
    setenv("HEDDLE_OPTS", "--quiet --threads=2", 1);
    Suite *s = suite_create("runtime launches");
    TCase *t = tcase_create("launches");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_kernel_runs);
    tcase_add_test(t, symbols_are_found);
    tcase_add_test(t, libraries_become_modules);
    tcase_add_test(t, bad_launches_are_refused);
    tcase_add_test(t, images_are_refused_with_a_reason);
    tcase_add_test(t, blocks_that_wait_for_later_blocks_finish);
    tcase_add_test(t, a_kernel_that_waits_lets_other_streams_work);
    tcase_add_test(t, many_launches_in_many_streams_all_run);
    tcase_add_test(t, a_fault_poisons_the_context_until_reset);
    tcase_add_test(t, linking_at_run_time);
    tcase_add_test(t, occupancy_follows_the_gpu);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
