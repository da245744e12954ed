/* The ground: errors, vectors, maps, arenas, slabs, the log. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/arena.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/map.h"
#include "runtime/base/slab.h"
#include "runtime/base/vec.h"

START_TEST(test_status_numbers)
{
    ck_assert_int_eq(ST_OK, 0);
    ck_assert_int_eq(status_cu(ST_NO_BINARY_FOR_GPU), 209);
    ck_assert_int_eq(status_cuda(ST_ILLEGAL_ADDRESS), 700);
    ck_assert_int_eq(status_from_cu(716), ST_MISALIGNED_ADDRESS);
    ck_assert_int_eq(status_from_cuda(720), ST_COOPERATIVE_LAUNCH_TOO_LARGE);
    ck_assert_int_eq(status_from_cu(9), ST_INVALID_CONFIGURATION);   /* passes through unchanged */
    ck_assert_int_eq(status_from_cu(123456), ST_UNKNOWN);
    ck_assert_str_eq(status_cu_name(ST_OUT_OF_MEMORY), "CUDA_ERROR_OUT_OF_MEMORY");
    ck_assert_str_eq(status_cuda_name(ST_OUT_OF_MEMORY), "cudaErrorMemoryAllocation");
    ck_assert_str_eq(status_text(ST_ILLEGAL_ADDRESS), "an illegal memory access was encountered");
    ck_assert_str_eq(status_text((enum status)9999), "unknown error");
}
END_TEST

START_TEST(test_status_rows)
{
    for (int i = 0; i < ST_COUNT; i++) {
        ck_assert_int_eq(status_from_cu(status_cu((enum status)i)), i);    /* no number twice */
        ck_assert_ptr_nonnull(status_text((enum status)i));
        ck_assert(status_cu_name((enum status)i) || status_cuda_name((enum status)i));
    }
}
END_TEST

START_TEST(test_error_message)
{
    struct error e;
    ck_assert_int_eq(error_set(&e, ST_INVALID_PTX, "line %d", 7), ST_INVALID_PTX);
    error_hint(&e, "try %s", "this");
    ck_assert_str_eq(e.text, "line 7\nhint: try this");
    ck_assert_int_eq(error_set(NULL, ST_UNKNOWN, "nobody listens"), ST_UNKNOWN);
    error_hint(NULL, "nor here");
    char longer[3000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    error_set(&e, ST_UNKNOWN, "%s", longer);
    error_hint(&e, "no room");
    ck_assert_uint_eq(strlen(e.text), sizeof e.text - 1);
}
END_TEST

START_TEST(test_vec)
{
    VEC(int) v = {0};
    for (int i = 0; i < 1000; i++)
        ck_assert(vec_push(&v, i));
    ck_assert_uint_eq(v.n, 1000);
    ck_assert_int_eq(v.at[999], 999);
    ck_assert(vec_reserve(&v, 0));
    ck_assert_int_eq(v.at[999], 999);
    ck_assert(vec_reserve(&v, 5000));
    ck_assert_uint_ge(v.cap, 5000);
    vec_free(&v);
    ck_assert_uint_eq(v.n, 0);
}
END_TEST

START_TEST(test_map_against_table)
{
    enum { KEYS = 512, STEPS = 20000 };
    struct map m = {0};
    uintptr_t table[KEYS];
    bool there[KEYS] = {false};
    size_t n = 0;
    unsigned r = 12345;
    for (int step = 0; step < STEPS; step++) {
        r = r * 1103515245 + 12345;
        unsigned key = (r >> 8) % KEYS;
        if (r >> 30) {
            ck_assert(map_put_int(&m, key, (uintptr_t)step));
            n += !there[key];
            there[key] = true;
            table[key] = (uintptr_t)step;
        } else {
            ck_assert_int_eq(map_del_int(&m, key), there[key]);
            n -= there[key];
            there[key] = false;
        }
        ck_assert_uint_eq(m.n, n);
    }
    for (unsigned key = 0; key < KEYS; key++) {
        uintptr_t v;
        ck_assert_int_eq(map_get_int(&m, key, &v), there[key]);
        if (there[key])
            ck_assert_uint_eq(v, table[key]);
    }
    map_free(&m);
}
END_TEST

START_TEST(test_map_strings)
{
    struct map m = {0};
    static char keys[1000][8];
    uintptr_t v;
    ck_assert(!map_get_str(&m, "a", 1, &v));
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(keys[i], sizeof keys[i], "k%u", i);
        ck_assert(map_put_str(&m, keys[i], strlen(keys[i]), i));
    }
    for (unsigned i = 0; i < 1000; i++) {
        ck_assert(map_get_str(&m, keys[i], strlen(keys[i]), &v));
        ck_assert_uint_eq(v, i);
    }
    ck_assert(map_put_str(&m, "k5", 2, 77));
    ck_assert(map_get_str(&m, "k55555", 2, &v));
    ck_assert_uint_eq(v, 77);
    ck_assert(!map_get_str(&m, "k", 1, NULL));
    ck_assert(map_put_str(&m, "", 0, 9) && map_get_str(&m, "", 0, &v) && v == 9);
    map_free(&m);
}
END_TEST

START_TEST(test_arena)
{
    struct arena a = {0};
    char *last = NULL;
    for (size_t i = 1; i < 3000; i++) {
        char *p = arena_alloc(&a, i);
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq((uintptr_t)p % 16, 0);
        ck_assert(p[0] == 0 && p[i - 1] == 0);
        memset(p, 0xAA, i);
        last = p;
    }
    ck_assert(last[0] == (char)0xAA);
    char *big = arena_alloc(&a, 1 << 20), *s = arena_strndup(&a, "hello world", 5);
    ck_assert(big[(1 << 20) - 1] == 0);
    ck_assert_str_eq(s, "hello");
    ck_assert_ptr_null(arena_alloc(&a, SIZE_MAX));
    arena_free(&a);
    ck_assert_ptr_null(a.head);
}
END_TEST

START_TEST(test_log)
{
    int fds[2];
    char buf[4096];
    ck_assert_int_eq(pipe(fds), 0);
    log_set(LOG_WARN, fds[1]);
    unsigned long before = log_warnings();
    log_info("not this");
    log_warn("number %d", 5);
    ck_assert_uint_eq(log_warnings(), before + 1);
    log_error("%3000d", 1);                    /* cut, still one line */
    log_text("plain\n");
    log_set(LOG_WARN, 2);
    close(fds[1]);
    size_t n = 0;
    for (ssize_t k; (k = read(fds[0], buf + n, sizeof buf - n - 1)) > 0;)
        n += (size_t)k;
    buf[n] = 0;
    ck_assert(strncmp(buf, "heddle: warning: number 5\nheddle: error: ", 41) == 0);
    ck_assert_str_eq(buf + n - 7, "\nplain\n");
    ck_assert_ptr_null(strstr(buf, "not this"));
    bool flag = false;
    ck_assert(log_first(&flag) && !log_first(&flag));
}
END_TEST

/* Small things and one that is larger than a chunk, freed in another order: each is its own, begins at a line, is zero, and keeps what it holds when it grows. */
START_TEST(test_slab)
{
    enum { N = 40 };
    static const size_t sizes[] = {1, 64, 65, 4096, 300000, 9 << 20};
    unsigned char *at[N];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) {
            size_t bytes = sizes[i % 6];
            at[i] = slab_alloc(bytes, 1);
            ck_assert_ptr_nonnull(at[i]);
            ck_assert_uint_eq((uintptr_t)at[i] % SLAB_LINE, 0);
            ck_assert(at[i][0] == 0 && at[i][bytes - 1] == 0);
            memset(at[i], i + 1, bytes);
        }
        size_t others = 0;
        for (int i = 0; i < N; i++)
            for (size_t k = 0; k < sizes[i % 6]; k += k < 1000 ? 1 : 997)
                others += at[i][k] != i + 1;
        ck_assert_uint_eq(others, 0);
        unsigned char *more = slab_grow(at[3], sizes[3], 2 * sizes[3], 1);
        ck_assert(more && more[0] == 4 && more[sizes[3] - 1] == 4 && more[sizes[3]] == 0);
        at[3] = more;
        for (int i = 0; i < N; i++)
            slab_free(at[(i * 7 + round) % N]);
    }
    slab_free(NULL);
    ck_assert_ptr_null(slab_alloc(SIZE_MAX / 2, 4));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("base");
    TCase *t = tcase_create("base");
    tcase_add_test(t, test_status_numbers);
    tcase_add_test(t, test_status_rows);
    tcase_add_test(t, test_error_message);
    tcase_add_test(t, test_vec);
    tcase_add_test(t, test_map_against_table);
    tcase_add_test(t, test_map_strings);
    tcase_add_test(t, test_arena);
    tcase_add_test(t, test_slab);
    tcase_add_test(t, test_log);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
