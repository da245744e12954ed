/* Allocation, accounting, what an address is, copies and fills, pools, mappings. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"

static struct rt_context *context;
static struct rt_stream *legacy;

static void setup(void)
{
    ck_assert_int_eq(rt_start(NULL), ST_OK);
    ck_assert_int_eq(rt_primary_retain(&context, 0), ST_OK);
    legacy = rt_stream_legacy(context);
}

static void teardown(void) { ck_assert_int_eq(rt_primary_release(0), ST_OK); }

static void *at(uint64_t address) { return (void *)(uintptr_t)address; }
static uint64_t of(const void *p) { return (uint64_t)(uintptr_t)p; }

START_TEST(fresh_memory_is_zero_and_aligned)
{
    for (size_t bytes = 1; bytes < 6u << 20; bytes = bytes * 3 + 1) {
        uint64_t a, b;
        ck_assert_int_eq(rt_alloc(context, bytes, &a, NULL), ST_OK);
        ck_assert_int_eq(a % 512, 0);
        memset(at(a), 0x5a, bytes);
        ck_assert_int_eq(rt_free(a), ST_OK);
        ck_assert_int_eq(rt_alloc(context, bytes, &b, NULL), ST_OK);
        const unsigned char *p = at(b);
        ck_assert(p[0] == 0 && memcmp(p, p + 1, bytes - 1) == 0);
        ck_assert_int_eq(rt_free(b), ST_OK);
    }
}
END_TEST

START_TEST(memory_is_accounted)
{
    uint64_t before, after, total, a;
    struct error err;
    rt_device_memory(0, &before, &total);
    ck_assert_uint_eq(total, rt_device_facts(0)->memory_bytes);
    ck_assert_int_eq(rt_alloc(context, 40ull << 30, &a, NULL), ST_OK);     /* addresses; no memory until touched */
    rt_device_memory(0, &after, &total);
    ck_assert_uint_eq(before - after, 40ull << 30);
    uint64_t b = 0;
    ck_assert_int_eq(rt_alloc(context, 60ull << 30, &b, &err), ST_OUT_OF_MEMORY);
    ck_assert_ptr_nonnull(strstr(err.text, "bytes left"));
    ck_assert_int_eq(rt_free(a), ST_OK);
    rt_device_memory(0, &after, &total);
    ck_assert_uint_eq(before, after);
    ck_assert_int_eq(rt_alloc(context, 0, &a, NULL), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_alloc(context, UINT64_MAX, &a, NULL), ST_OUT_OF_MEMORY);
}
END_TEST

START_TEST(addresses_are_known)
{
    uint64_t a;
    struct rt_memory m;
    ck_assert_int_eq(rt_alloc(context, 1000, &a, NULL), ST_OK);
    ck_assert(rt_memory_find(a + 999, &m));
    ck_assert(m.base == a && m.bytes == 1000 && m.kind == RT_MEMORY_DEVICE && m.context == context);
    ck_assert(!rt_memory_find(a + 1000, &m));
    ck_assert(!rt_memory_find(of(&m), &m));
    ck_assert_int_eq(rt_free(a + 1), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_free(a), ST_OK);
    ck_assert_int_eq(rt_free(a), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_free(0), ST_OK);

    void *h;
    ck_assert_int_eq(rt_host_alloc(context, 64, 2, &h, NULL), ST_OK);
    ck_assert(rt_memory_find(of(h), &m) && m.kind == RT_MEMORY_HOST && m.flags == 2);
    ck_assert_int_eq(rt_free(of(h)), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_host_free(h), ST_OK);

    char *p = malloc(10000);
    ck_assert_int_eq(rt_host_unregister(p), ST_HOST_MEMORY_NOT_REGISTERED);
    ck_assert_int_eq(rt_host_register(context, p, 10000, 0), ST_OK);
    ck_assert_int_eq(rt_host_register(context, p + 5000, 10000, 0), ST_HOST_MEMORY_ALREADY_REGISTERED);
    ck_assert(rt_memory_find(of(p) + 9999, &m) && m.kind == RT_MEMORY_REGISTERED);
    ck_assert_int_eq(rt_host_unregister(p), ST_OK);
    free(p);
}
END_TEST

START_TEST(copies_in_three_dimensions)
{
    enum { W = 7, H = 5, D = 3, PITCH = 16, SLICE = 160 };
    unsigned char src[W * H * D], back[W * H * D];
    for (size_t i = 0; i < sizeof src; i++)
        src[i] = (unsigned char)(i + 1);
    uint64_t a;
    ck_assert_int_eq(rt_alloc(context, SLICE * D, &a, NULL), ST_OK);
    struct rt_copy up = {.dst = a, .dst_pitch = PITCH, .dst_slice = SLICE, .src = of(src), .src_pitch = W, .src_slice = W * H, .width = W, .height = H, .depth = D};
    ck_assert_int_eq(rt_memcpy(legacy, &up, RT_SYNC), ST_OK);
    ck_assert_int_eq(((unsigned char *)at(a))[2 * SLICE + 3 * PITCH + 4], src[2 * W * H + 3 * W + 4]);
    struct rt_copy down = {.dst = of(back), .dst_pitch = W, .dst_slice = W * H, .src = a, .src_pitch = PITCH, .src_slice = SLICE, .width = W, .height = H, .depth = D};
    ck_assert_int_eq(rt_memcpy(legacy, &down, RT_ASYNC), ST_OK);           /* pageable: done when it returns */
    ck_assert_mem_eq(src, back, sizeof src);
    up.depth = 4;
    ck_assert_int_eq(rt_memcpy(legacy, &up, RT_SYNC), ST_INVALID_VALUE);   /* past the end of the allocation */
    up.depth = 3;
    up.dst_pitch = W - 1;
    ck_assert_int_eq(rt_memcpy(legacy, &up, RT_SYNC), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_memcpy_linear(legacy, a + SLICE * D + 8, of(src), 1, RT_SYNC), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_memcpy_linear(legacy, a, of(src), 0, RT_SYNC), ST_OK);
    ck_assert_int_eq(rt_free(a), ST_OK);
}
END_TEST

START_TEST(fills_of_every_width)
{
    uint64_t a;
    ck_assert_int_eq(rt_alloc(context, 4096, &a, NULL), ST_OK);
    ck_assert_int_eq(rt_memset(legacy, a, 0, 0x12345678, 4, 100, 1, RT_ASYNC), ST_OK);
    ck_assert_int_eq(rt_memset(legacy, a + 2, 64, 0xabcd, 2, 3, 2, RT_SYNC), ST_OK);
    ck_assert_int_eq(rt_memset(legacy, a + 399, 0, 0x1ff, 1, 1, 1, RT_SYNC), ST_OK);
    const unsigned char *b = at(a);
    ck_assert(b[0] == 0x78 && b[1] == 0x56 && b[2] == 0xcd && b[3] == 0xab && b[7] == 0xab && b[8] == 0x78);
    ck_assert(b[66] == 0xcd && b[72] == 0x78 && b[399] == 0xff && b[400] == 0);
    ck_assert_int_eq(rt_memset(legacy, a + 1, 0, 0, 4, 1, 1, RT_SYNC), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_memset(legacy, a, 0, 0, 1, 4097, 1, RT_SYNC), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_free(a), ST_OK);
}
END_TEST

START_TEST(pools_count)
{
    struct rt_pool *p = rt_pool_default(0);
    ck_assert_ptr_eq(p, rt_pool_current(0));
    uint64_t a, used, high;
    ck_assert_int_eq(rt_alloc_async(legacy, NULL, 5000, &a, NULL), ST_OK);
    ck_assert_int_eq(rt_pool_attribute(p, RT_POOL_USED_CURRENT, &used), ST_OK);
    ck_assert_uint_eq(used, 5000);
    struct rt_memory m;
    ck_assert(rt_memory_find(a, &m) && m.pool == p);
    ck_assert_int_eq(rt_free_async(legacy, a), ST_OK);
    ck_assert_int_eq(rt_stream_synchronize(legacy), ST_OK);
    ck_assert_int_eq(rt_pool_attribute(p, RT_POOL_USED_CURRENT, &used), ST_OK);
    ck_assert_int_eq(rt_pool_attribute(p, RT_POOL_USED_HIGH, &high), ST_OK);
    ck_assert(used == 0 && high >= 5000);
    ck_assert(!rt_memory_find(a, &m));
    struct rt_pool *own;
    ck_assert_int_eq(rt_pool_create(&own, 0, 1000), ST_OK);
    ck_assert_int_eq(rt_alloc_async(legacy, own, 1001, &a, NULL), ST_OUT_OF_MEMORY);
    ck_assert_int_eq(rt_pool_destroy(p), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_pool_destroy(own), ST_OK);
    ck_assert(!rt_is(own, RT_POOL));
}
END_TEST

START_TEST(mappings_show_one_memory_twice)
{
    enum { G = RT_GRANULARITY };
    uint64_t a, b;
    struct rt_mapping *m;
    struct rt_memory found;
    ck_assert_int_eq(rt_reserve(2 * G, 0, &a), ST_OK);
    ck_assert_int_eq(rt_reserve(G, 16 * G, &b), ST_OK);
    ck_assert_int_eq(b % (16 * G), 0);
    ck_assert_int_eq(rt_physical_create(&m, 0, G), ST_OK);
    ck_assert_int_eq(rt_map(a + G, G, 0, m), ST_OK);
    ck_assert_int_eq(rt_map(a + G, G, 0, m), ST_INVALID_VALUE);
    ck_assert(!rt_memory_find(a + G, &found));
    ck_assert_int_eq(rt_map_access(a + G, G, true, true), ST_OK);
    ck_assert_int_eq(rt_map(b, G, 0, m), ST_OK);
    ck_assert_int_eq(rt_map_access(b, G, true, false), ST_OK);
    ck_assert(rt_memory_find(a + G, &found) && found.kind == RT_MEMORY_MAPPED);
    *(int *)at(a + G + 8) = 42;
    ck_assert_int_eq(*(int *)at(b + 8), 42);
    ck_assert_int_eq(rt_physical_release(m), ST_OK);
    ck_assert_int_eq(rt_reserve_free(b, G), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_unmap(b, G), ST_OK);
    ck_assert_int_eq(rt_unmap(a + G, G), ST_OK);
    ck_assert(!rt_is(m, RT_MAPPING));
    ck_assert_int_eq(rt_reserve_free(b, G), ST_OK);
    ck_assert_int_eq(rt_reserve_free(a, 2 * G), ST_OK);
}
END_TEST

START_TEST(a_context_takes_its_memory_along)
{
    uint64_t before, after, total, a;
    struct rt_context *c;
    struct rt_memory m;
    rt_device_memory(0, &before, &total);
    ck_assert_int_eq(rt_context_create(&c, 0, 0), ST_OK);
    ck_assert_int_eq(rt_push_current(c, NULL), ST_OK);
    ck_assert_int_eq(rt_alloc(c, 1 << 20, &a, NULL), ST_OK);
    ck_assert_int_eq(rt_context_destroy(c), ST_OK);
    ck_assert(!rt_is(c, RT_CONTEXT) && rt_current() != c && !rt_memory_find(a, &m));
    rt_device_memory(0, &after, &total);
    ck_assert_uint_eq(before, after);
    ck_assert_int_eq(rt_context_create(&c, 5, 0), ST_INVALID_DEVICE);
}
END_TEST

int main(void)
{
    setenv("HEDDLE_OPTS", "--quiet", 1);
    Suite *s = suite_create("runtime memory");
    TCase *t = tcase_create("memory");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, fresh_memory_is_zero_and_aligned);
    tcase_add_test(t, memory_is_accounted);
    tcase_add_test(t, addresses_are_known);
    tcase_add_test(t, copies_in_three_dimensions);
    tcase_add_test(t, fills_of_every_width);
    tcase_add_test(t, pools_count);
    tcase_add_test(t, mappings_show_one_memory_twice);
    tcase_add_test(t, a_context_takes_its_memory_along);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
