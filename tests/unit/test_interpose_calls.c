/* interpose: every driver function of api.def with arguments that make no sense. It must answer a status and not crash, and a bad handle must never
 * be taken for a good one. The arguments are made from the types in the table. */
#include <check.h>
#include <string.h>

#include "emu/emu.h"
#include "interpose/api.h"

typedef enum status (*any_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                              uint64_t);
struct param { const char *type, *name; };
struct call { const char *symbol; void *handler; struct param params[17]; };

#define TYPED(...) ARGS_JOIN(TYPED_, ARGS_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define TYPED_1(v)
#define TYPED_2(t, n) {#t, #n},
#define TYPED_4(t, n, ...) {#t, #n}, TYPED_2(__VA_ARGS__)
#define TYPED_6(t, n, ...) {#t, #n}, TYPED_4(__VA_ARGS__)
#define TYPED_8(t, n, ...) {#t, #n}, TYPED_6(__VA_ARGS__)
#define TYPED_10(t, n, ...) {#t, #n}, TYPED_8(__VA_ARGS__)
#define TYPED_12(t, n, ...) {#t, #n}, TYPED_10(__VA_ARGS__)
#define TYPED_14(t, n, ...) {#t, #n}, TYPED_12(__VA_ARGS__)
#define TYPED_16(t, n, ...) {#t, #n}, TYPED_14(__VA_ARGS__)
#define TYPED_18(t, n, ...) {#t, #n}, TYPED_16(__VA_ARGS__)
#define TYPED_20(t, n, ...) {#t, #n}, TYPED_18(__VA_ARGS__)
#define TYPED_22(t, n, ...) {#t, #n}, TYPED_20(__VA_ARGS__)
#define TYPED_24(t, n, ...) {#t, #n}, TYPED_22(__VA_ARGS__)
#define TYPED_26(t, n, ...) {#t, #n}, TYPED_24(__VA_ARGS__)
#define TYPED_28(t, n, ...) {#t, #n}, TYPED_26(__VA_ARGS__)
#define TYPED_30(t, n, ...) {#t, #n}, TYPED_28(__VA_ARGS__)
#define TYPED_32(t, n, ...) {#t, #n}, TYPED_30(__VA_ARGS__)

static const struct call calls[] = {
#define CU(name, suffix, since, variant, handler, params) {#name #suffix, (void *)(uintptr_t)handler, {TYPED params {0}}},
#include "interpose/api.def"
};
enum { CALLS = sizeof calls / sizeof calls[0] };

enum mode { ZERO, GARBAGE, DESTROYED };
enum { BUFFERS = 16, BUFFER_BYTES = 4096 };
static uint64_t buffers[BUFFERS][BUFFER_BYTES / 8];

static struct rt_context *context;
static struct { const char *type; enum rt_kind kind; void *destroyed; } handles[] = {
    {"CUcontext", RT_CONTEXT, NULL}, {"CUstream", RT_STREAM, NULL}, {"CUevent", RT_EVENT, NULL}, {"CUmemoryPool", RT_POOL, NULL}, {"CUarray", RT_ARRAY, NULL},
    {"CUlinkState", RT_LINK, NULL}, {"CUmemGenericAllocationHandle", RT_MAPPING, NULL}, {"CUmodule", RT_MODULE, NULL}, {"CUlibrary", RT_LIBRARY, NULL},
    {"CUkernel", RT_KERNEL, NULL}, {"CUfunction", RT_FUNCTION, NULL},
};
enum { HANDLES = sizeof handles / sizeof handles[0] };

static void host_fn(void *user) { (void)user; }
static void callback_fn(void *stream, int status, void *user) { (void)stream, (void)status, (void)user; }

/* Some object that was good once; types that cannot be made without code get another kind's. */
static void make_destroyed(void)
{
    struct rt_context *c;
    struct rt_stream *s;
    struct rt_event *e;
    struct rt_mapping *m;
    struct rt_pool *p;
    ck_assert_int_eq(cu_init(0), ST_OK);
    ck_assert_int_eq(cu_ctx_create(&context, 0, 0), ST_OK);
    ck_assert_int_eq(rt_context_create(&c, 0, 0), ST_OK);
    ck_assert_int_eq(rt_stream_create(&s, context, 0, 0), ST_OK);
    ck_assert_int_eq(rt_event_create(&e, context, 0), ST_OK);
    ck_assert_int_eq(rt_physical_create(&m, 0, RT_GRANULARITY), ST_OK);
    ck_assert_int_eq(rt_pool_create(&p, 0, 0), ST_OK);
    handles[0].destroyed = c, handles[1].destroyed = s, handles[2].destroyed = e, handles[3].destroyed = p, handles[6].destroyed = m;
    ck_assert_int_eq(rt_context_destroy(c), ST_OK);
    ck_assert_int_eq(rt_stream_destroy(s), ST_OK);
    ck_assert_int_eq(rt_event_destroy(e), ST_OK);
    ck_assert_int_eq(rt_physical_release(m), ST_OK);
    ck_assert_int_eq(rt_pool_destroy(p), ST_OK);
    for (int i = 0; i < HANDLES; i++)
        if (!handles[i].destroyed)
            handles[i].destroyed = s;
}

/* bad: no live object of that kind stands there (a call before may have made one where a destroyed one was). */
static bool is_handle(const char *type, enum mode mode, uint64_t *value, bool *bad)
{
    for (int i = 0; i < HANDLES; i++)
        if (strcmp(type, handles[i].type) == 0) {
            *value = mode == ZERO ? 0 : mode == GARBAGE ? 0x123456789abcdef0u : (uintptr_t)handles[i].destroyed;
            *bad = mode != ZERO && !rt_is((void *)(uintptr_t)*value, handles[i].kind);
            return true;
        }
    return false;
}

static uint64_t argument(const struct param *p, enum mode mode, uint64_t number, int slot)
{
    const uint64_t no_memory = EMU_BASE + EMU_SPAN - 0x10000;        /* inside the reserved range, nothing there */
    uint64_t v;
    bool bad;
    if (is_handle(p->type, mode, &v, &bad))
        return v;
    if (strcmp(p->type, "CUhostFn") == 0)
        return mode == ZERO ? 0 : (uintptr_t)host_fn;
    if (strcmp(p->type, "CUstreamCallback") == 0)
        return mode == ZERO ? 0 : (uintptr_t)callback_fn;
    if (strcmp(p->type, "CUoccupancyB2DSize") == 0)
        return 0;
    if (strcmp(p->type, "CUdeviceptr") == 0)
        return mode == ZERO ? 0 : no_memory;
    if (strchr(p->type, '*'))
        return mode == ZERO ? 0 : (uintptr_t)buffers[slot];
    return number;
}

static enum status run(const struct call *c, enum mode mode, uint64_t number, bool *bad_handle)
{
    uint64_t a[16] = {0};
    any_fn f;
    *bad_handle = false;
    for (int i = 0; i < 16 && c->params[i].type; i++) {
        uint64_t v;
        bool bad = false;
        a[i] = argument(&c->params[i], mode, number, i);
        *bad_handle |= is_handle(c->params[i].type, mode, &v, &bad) && bad;
    }
    memset(buffers, 0, sizeof buffers);
    memcpy(&f, &c->handler, sizeof f);
    ck_assert_int_eq(rt_set_current(context, NULL), ST_OK);
    return f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15]);
}

START_TEST(nonsense_is_answered)
{
    static const uint64_t numbers[] = {0, 1, 3};
    make_destroyed();
    for (int i = 0; i < CALLS; i++)
        for (enum mode mode = ZERO; mode <= DESTROYED; mode++)
            for (int n = 0; n < 3; n++) {
                bool bad_handle;
                enum status st = run(&calls[i], mode, numbers[n], &bad_handle);
                ck_assert_msg((unsigned)st < ST_COUNT, "%s", calls[i].symbol);
                ck_assert_msg(!bad_handle || st != ST_OK, "%s takes a bad handle (mode %d, number %d)", calls[i].symbol, mode, (int)numbers[n]);
            }
}
END_TEST

/* Before cuInit everything that needs the driver says so. */
START_TEST(before_init)
{
    int n;
    size_t bytes;
    CUdevice d;
    CUcontext c;
    CUdeviceptr p;
    ck_assert_int_eq(cu_device_get_count(&n), ST_NOT_INITIALIZED);
    ck_assert_int_eq(cu_device_get(&d, 0), ST_NOT_INITIALIZED);
    ck_assert_int_eq(cu_device_total_mem_v2(&bytes, 0), ST_NOT_INITIALIZED);
    ck_assert_int_eq(cu_ctx_create(&c, 0, 0), ST_NOT_INITIALIZED);
    ck_assert_int_eq(cu_mem_alloc(&p, 16), ST_NOT_INITIALIZED);
    ck_assert_int_eq(cu_stream_synchronize(NULL), ST_NOT_INITIALIZED);
    ck_assert_int_eq(cu_driver_get_version(&n), ST_OK);
    ck_assert_int_eq(cu_init(1), ST_INVALID_VALUE);
}
END_TEST

START_TEST(contexts_and_the_stack)
{
    CUcontext a, b, got;
    CUdeviceptr p;
    ck_assert_int_eq(cu_init(0), ST_OK);
    ck_assert_int_eq(cu_mem_alloc(&p, 16), ST_INVALID_CONTEXT);
    ck_assert_int_eq(cu_ctx_create(&a, 0, 0), ST_OK);
    ck_assert_int_eq(cu_ctx_create(&b, 0, 0), ST_OK);
    ck_assert_int_eq(cu_ctx_get_current(&got), ST_OK);
    ck_assert_ptr_eq(got, b);
    ck_assert_int_eq(cu_ctx_pop_current(&got), ST_OK);
    ck_assert_ptr_eq(got, b);
    ck_assert_int_eq(cu_ctx_set_current(b), ST_OK);
    ck_assert_int_eq(cu_ctx_destroy(b), ST_OK);
    ck_assert_int_eq(cu_ctx_destroy(b), ST_CONTEXT_IS_DESTROYED);
    ck_assert_int_eq(cu_ctx_push_current(b), ST_INVALID_CONTEXT);
    ck_assert_int_eq(cu_ctx_create(&a, 0x4000, 0), ST_INVALID_VALUE);
    ck_assert_int_eq(cu_ctx_create(&a, 0, 5), ST_INVALID_DEVICE);
}
END_TEST

START_TEST(memory_and_copies)
{
    CUcontext c;
    CUdeviceptr p, base;
    size_t bytes;
    char in[64], out[64] = "";
    memset(in, 7, sizeof in);
    ck_assert_int_eq(cu_init(0), ST_OK);
    ck_assert_int_eq(cu_ctx_create(&c, 0, 0), ST_OK);
    ck_assert_int_eq(cu_mem_alloc(&p, 0), ST_INVALID_VALUE);
    ck_assert_int_eq(cu_mem_alloc(&p, sizeof in), ST_OK);
    ck_assert_int_eq(cu_memcpy_h2d(p, in, sizeof in), ST_OK);
    ck_assert_int_eq(cu_memcpy_h2d(p, in, sizeof in + 1), ST_INVALID_VALUE);
    ck_assert_int_eq(cu_memcpy_h2d((uintptr_t)out, in, sizeof in), ST_INVALID_VALUE);       /* not device memory */
    ck_assert_int_eq(cu_memset_d8(p, 1, 8), ST_OK);
    ck_assert_int_eq(cu_memcpy_d2h(out, p, sizeof out), ST_OK);
    ck_assert(out[0] == 1 && out[7] == 1 && out[8] == 7 && out[63] == 7);
    ck_assert_int_eq(cu_mem_get_address_range(&base, &bytes, p + 10), ST_OK);
    ck_assert(base == p && bytes == sizeof in);
    int type = 0;
    ck_assert_int_eq(cu_pointer_get_attribute(&type, 2, p), ST_OK);
    ck_assert_int_eq(type, MEMORYTYPE_DEVICE);
    ck_assert_int_eq(cu_pointer_get_attribute(&type, 2, (uintptr_t)in), ST_INVALID_VALUE);
    ck_assert_int_eq(cu_mem_free(p + 1), ST_INVALID_VALUE);
    ck_assert_int_eq(cu_mem_free(p), ST_OK);
    ck_assert_int_eq(cu_mem_free(p), ST_INVALID_VALUE);
}
END_TEST

/* A rectangle out of the middle of one layout into another, through both structs. */
START_TEST(rectangles)
{
    enum { ROWS = 4, PITCH = 16 };
    CUcontext c;
    CUdeviceptr p;
    char in[ROWS * PITCH], out[ROWS * PITCH];
    for (int i = 0; i < ROWS * PITCH; i++)
        in[i] = (char)i;
    memset(out, 0, sizeof out);
    ck_assert_int_eq(cu_init(0), ST_OK);
    ck_assert_int_eq(cu_ctx_create(&c, 0, 0), ST_OK);
    ck_assert_int_eq(cu_mem_alloc(&p, sizeof in), ST_OK);
    CUDA_MEMCPY2D to = {.src_type = MEMORYTYPE_HOST, .src_host = in, .src_pitch = PITCH, .dst_type = MEMORYTYPE_DEVICE, .dst_device = p, .dst_pitch = PITCH,
                        .width_bytes = PITCH, .height = ROWS};
    ck_assert_int_eq(cu_memcpy_2d(&to), ST_OK);
    CUDA_MEMCPY3D from = {.src_type = MEMORYTYPE_DEVICE, .src_device = p, .src_pitch = PITCH, .src_x = 3, .src_y = 1, .dst_type = MEMORYTYPE_HOST, .dst_host = out,
                          .dst_pitch = PITCH, .dst_x = 1, .dst_y = 2, .width_bytes = 4, .height = 2, .depth = 1};
    ck_assert_int_eq(cu_memcpy_3d(&from), ST_OK);
    ck_assert_int_eq(out[2 * PITCH + 1], PITCH + 3);
    ck_assert_int_eq(out[3 * PITCH + 4], 2 * PITCH + 6);
    ck_assert_int_eq(out[2 * PITCH], 0);
    ck_assert_int_eq(out[3 * PITCH + 5], 0);
    to.src_pitch = PITCH - 1;
    ck_assert_int_eq(cu_memcpy_2d(&to), ST_INVALID_VALUE);
    to.src_type = 9;
    ck_assert_int_eq(cu_memcpy_2d(&to), ST_INVALID_VALUE);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("interpose calls");
    TCase *t = tcase_create("all");
    tcase_add_test(t, before_init);
    tcase_add_test(t, nonsense_is_answered);
    tcase_add_test(t, contexts_and_the_stack);
    tcase_add_test(t, memory_and_copies);
    tcase_add_test(t, rectangles);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
