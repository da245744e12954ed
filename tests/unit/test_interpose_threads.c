/* interpose: many threads that use many parts of the API at once, each on its own objects and all on one context, two devices, and things they share. Their
 * results must be right; under TSan (make tsan) nothing races. */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/api.h"
#include "interpose/graph.h"
#include "interpose/nvml.h"

enum { THREADS = 6, ROUNDS = 25, N = 256 };

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry add(.param .u64 p, .param .u32 by)\n{\n.reg .u64 %a;\n.reg .u32 %i, %v, %b;\n"
                           "ld.param.u64 %a, [p];\nld.param.u32 %b, [by];\nmov.u32 %i, %tid.x;\nmad.wide.u32 %a, %i, 4, %a;\n"
                           "ld.global.u32 %v, [%a];\nadd.u32 %v, %v, %b;\nst.global.u32 [%a], %v;\nret;\n}\n";

/* Shared by all: a library, an event in each context that everybody records, a counter that host functions count up. */
static CUcontext contexts[2];
static CUlibrary library;
static CUevent common[2];
static atomic_int callbacks;
static atomic_int failures;

/* Names the first that fails; checks of the framework are for its own thread. */
#define MUST(call)                                                                              \
    do {                                                                                        \
        enum status must_st = (call);                                                           \
        if (must_st != ST_OK && atomic_fetch_add(&failures, 1) < 5)                             \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, status_text(must_st));        \
    } while (0)
#define TRUE(cond)                                                                              \
    do {                                                                                        \
        if (!(cond) && atomic_fetch_add(&failures, 1) < 5)                                      \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #cond);                          \
    } while (0)

static void count(void *user) { atomic_fetch_add((atomic_int *)user, 1); }

static void launch(CUfunction f, CUstream s, CUdeviceptr p, unsigned by)
{
    void *params[] = {&p, &by};
    MUST(cu_launch_kernel(f, 1, 1, 1, N, 1, 1, 0, s, params, NULL));
}

static void check(CUdeviceptr p, CUstream s, unsigned want)
{
    unsigned out[N];
    MUST(cu_memcpy_d2h_async(out, p, sizeof out, s));
    MUST(cu_stream_synchronize(s));
    for (int i = 0; i < N; i++)
        TRUE(out[i] == want);
}

static void memory_and_kernels(CUfunction f, CUstream s, int number, int round)
{
    CUdeviceptr p, q;
    CUevent e;
    MUST(cu_mem_alloc(&p, N * 4));
    MUST(cu_mem_alloc_async(&q, N * 4, s));
    MUST(cu_event_create(&e, 0));
    MUST(cu_memset_d32_async(p, (unsigned)round, N, s));
    launch(f, s, p, 5);
    MUST(cu_memcpy_d2d_async(q, p, N * 4, s));
    MUST(cu_event_record(e, s));
    MUST(cu_launch_host_func(s, count, &callbacks));
    launch(f, s, q, 7);
    MUST(cu_stream_wait_event(s, e, 0));
    check(q, s, (unsigned)round + 12);
    check(p, s, (unsigned)round + 5);
    MUST(cu_event_record(common[number % 2], NULL));
    MUST(cu_mem_free_async(q, s));
    MUST(cu_event_destroy(e));
    MUST(cu_mem_free(p));
}

static void graphs(CUfunction f, CUstream s)
{
    CUdeviceptr p;
    CUgraph g;
    CUgraphExec x;
    CUstreamBatchMemOpParams write = {.value = {.operation = 2, .value = 3}};
    MUST(cu_mem_alloc(&p, N * 4));
    MUST(cu_memset_d32_async(p, 1, N, s));
    MUST(cu_stream_begin_capture_v2(s, RT_CAPTURE_RELAXED));
    launch(f, s, p, 10);
    launch(f, s, p, 100);
    MUST(cu_stream_end_capture(s, &g));
    MUST(cu_graph_instantiate_with_flags(&x, g, 0));
    for (int i = 0; i < 3; i++)
        MUST(cu_graph_launch(x, s));
    check(p, s, 331);
    write.value.address = p;
    MUST(cu_stream_batch_mem_op(s, 1, &write, 0));
    MUST(cu_stream_synchronize(s));
    MUST(cu_graph_exec_destroy(x));
    MUST(cu_graph_destroy(g));
    MUST(cu_mem_free(p));
}

static void virtual_memory(CUfunction f, CUstream s)
{
    CUdeviceptr at;
    CUmemGenericAllocationHandle h;
    CUmemAllocationProp prop = {.type = 1, .handle_types = 1, .location = {LOCATION_DEVICE, 0}};
    CUmemAccessDesc access = {{LOCATION_DEVICE, 0}, 3};
    MUST(cu_mem_address_reserve(&at, RT_GRANULARITY, 0, 0, 0));
    MUST(cu_mem_create(&h, RT_GRANULARITY, &prop, 0));
    MUST(cu_mem_map(at, RT_GRANULARITY, 0, h, 0));
    MUST(cu_mem_set_access(at, RT_GRANULARITY, &access, 1));
    MUST(cu_mem_release(h));
    launch(f, s, at, 9);
    check(at, s, 9);
    MUST(cu_mem_unmap(at, RT_GRANULARITY));
    MUST(cu_mem_address_free(at, RT_GRANULARITY));
}

/* A handle moves memory into a file, while others copy and compute beside it. */
static void sharing(CUfunction f, CUstream s)
{
    CUdeviceptr p;
    struct rt_share handle;
    MUST(cu_mem_alloc(&p, N * 4));
    MUST(cu_memset_d32_async(p, 0, N, s));
    launch(f, s, p, 4);
    MUST(cu_ipc_get_mem(&handle, p));
    launch(f, s, p, 4);
    check(p, s, 8);
    MUST(cu_mem_free(p));
}

static void objects(int number)
{
    CUDA_ARRAY_DESCRIPTOR flat = {.width = 16, .height = 16, .format = 0x20, .channels = 1};
    CUDA_RESOURCE_DESC resource = {.type = 0};
    CUDA_TEXTURE_DESC texture = {.flags = 1};
    CUarray array;
    CUtexObject object;
    CUmodule module;
    CUmemoryPool pool;
    CUmemPoolProps props = {.alloc_type = 1, .location = {LOCATION_DEVICE, 0}};
    CUstreamAttrValue value;
    int attribute;
    char name[64];
    MUST(cu_array_create(&array, &flat));
    resource.res.array = array;
    MUST(cu_tex_object_create(&object, &resource, &texture, NULL));
    MUST(cu_tex_object_destroy(object));
    MUST(cu_array_destroy(array));
    MUST(cu_module_load_data(&module, text));
    MUST(cu_module_unload(module));
    MUST(cu_mem_pool_create(&pool, &props));
    MUST(cu_mem_pool_destroy(pool));
    MUST(cu_device_get_attribute(&attribute, 16, number % 2));
    MUST(cu_device_get_name(name, sizeof name, 0));
    MUST(cu_stream_get_attribute(NULL, ATTR_SYNC_POLICY, &value));
    TRUE(cu_mem_free(0x1234) == ST_INVALID_VALUE);
    enum status st = cu_event_query(common[number % 2]);
    TRUE(st == ST_OK || st == ST_NOT_READY);
}

static void questions(void)
{
    nvmlDevice_t device;
    struct nvml_memory memory;
    struct nvml_utilization load;
    uint32_t iterator;
    char log[512];
    size_t bytes = sizeof log;
    TRUE(nvml_init() == NVML_SUCCESS && nvml_by_index(0, &device) == NVML_SUCCESS);
    TRUE(nvml_memory(device, &memory) == NVML_SUCCESS && nvml_utilization(device, &load) == NVML_SUCCESS && load.gpu <= 100);
    TRUE(nvml_shutdown() == NVML_SUCCESS);
    MUST(cu_logs_current(&iterator, 0));
    MUST(cu_logs_dump_to_memory(&iterator, log, &bytes, 0));
}

static void *work(void *arg)
{
    int number = (int)(intptr_t)arg;
    MUST(cu_ctx_set_current(contexts[number % 2]));
    CUkernel kernel;
    CUfunction f;
    CUstream s;
    MUST(cu_library_get_kernel(&kernel, library, "add"));
    MUST(cu_kernel_get_function(&f, kernel));
    for (int round = 0; round < ROUNDS; round++) {
        MUST(cu_stream_create(&s, (unsigned)round % 2));
        memory_and_kernels(f, s, number, round);
        if (round % 2 && round % 5 == number % 5)        /* a blocking stream that captures is in the way of the legacy one */
            graphs(f, s);
        if (number % 2 == 0 && round % 4 == 0)
            virtual_memory(f, s);
        if (round % 6 == number)
            sharing(f, s);
        objects(number);
        questions();
        MUST(cu_stream_destroy(s));
    }
    return NULL;
}

START_TEST(many_threads)
{
    pthread_t threads[THREADS];
    setenv("HEDDLE_OPTS", "--devices=2", 1);
    ck_assert_int_eq(cu_init(0), ST_OK);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(cu_ctx_create(&contexts[i], 0, 0), ST_OK);
        ck_assert_int_eq(cu_event_create(&common[i], 0), ST_OK);
    }
    ck_assert_int_eq(cu_library_load_data(&library, text, NULL, NULL, 0, NULL, NULL, 0), ST_OK);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(cu_ctx_set_current(contexts[i]), ST_OK);
        ck_assert_int_eq(cu_ctx_synchronize(), ST_OK);
    }
    ck_assert_int_eq(atomic_load(&failures), 0);
    ck_assert_int_eq(atomic_load(&callbacks), THREADS * ROUNDS);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(cu_ctx_destroy(contexts[i]), ST_OK);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("interpose, many threads");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, many_threads);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
