/* The allocation table: bounds, neighbours, many threads, fork. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/space.h"

static struct emu_space *space;

static void setup(void)
{
    struct error err;
    ck_assert_msg(emu_space_create(&space, &err) == ST_OK, "%s", err.text);
}

static void teardown(void) { emu_space_free(space); }

static enum status add(uint64_t lo, uint64_t hi, const char *what)
{
    struct emu_range r = { .lo = lo, .hi = hi };
    struct error err;
    strncpy(r.what, what, sizeof r.what - 1);
    return emu_space_add(space, &r, &err);
}

START_TEST(bounds_are_exact)
{
    struct emu_range r;
    struct range_cache c;
    ck_assert(add(EMU_HEAP + 16, EMU_HEAP + 19, "three") == ST_OK);
    ck_assert(!emu_space_find(space, EMU_HEAP + 15, &r));
    ck_assert(emu_space_find(space, EMU_HEAP + 16, &r) && r.hi == EMU_HEAP + 19);
    ck_assert(emu_space_find(space, EMU_HEAP + 18, &r) && !strcmp(r.what, "three"));
    ck_assert(!emu_space_find(space, EMU_HEAP + 19, &r));
    ck_assert(!space_lookup(space, EMU_HEAP + 15, 0, &c) && !space_lookup(space, EMU_HEAP + 19, 0, &c));
    ck_assert(space_lookup(space, EMU_HEAP + 17, 0, &c) && c.lo == EMU_HEAP + 16 && c.hi == EMU_HEAP + 19 && c.writable);
}
END_TEST

START_TEST(overlap_is_refused)
{
    ck_assert(add(100, 200, "a") == ST_OK);
    ck_assert(add(199, 201, "b") == ST_INVALID_VALUE);
    ck_assert(add(50, 101, "b") == ST_INVALID_VALUE);
    ck_assert(add(120, 130, "b") == ST_INVALID_VALUE);
    ck_assert(add(50, 500, "b") == ST_INVALID_VALUE);
    ck_assert(add(300, 300, "b") == ST_INVALID_VALUE);
    ck_assert(add(200, 201, "b") == ST_OK);
    ck_assert(add(99, 100, "c") == ST_OK);
}
END_TEST

START_TEST(nearest_looks_both_ways)
{
    struct emu_range r;
    ck_assert(!emu_space_nearest(space, 5, &r));
    ck_assert(add(1000, 2000, "low") == ST_OK && add(3000, 4000, "high") == ST_OK);
    ck_assert(emu_space_nearest(space, 0, &r) && !strcmp(r.what, "low"));
    ck_assert(emu_space_nearest(space, 2000, &r) && !strcmp(r.what, "low"));
    ck_assert(emu_space_nearest(space, 2400, &r) && !strcmp(r.what, "low"));
    ck_assert(emu_space_nearest(space, 2900, &r) && !strcmp(r.what, "high"));
    ck_assert(emu_space_nearest(space, 3500, &r) && !strcmp(r.what, "high"));
    ck_assert(emu_space_nearest(space, UINT64_MAX, &r) && !strcmp(r.what, "high"));
}
END_TEST

START_TEST(remove_gives_back_and_counts)
{
    struct emu_range r;
    uint64_t g = emu_space_generation(space);
    ck_assert(add(1000, 2000, "low") == ST_OK);
    ck_assert(emu_space_generation(space) != g);
    g = emu_space_generation(space);
    ck_assert(!emu_space_remove(space, 1001, &r));
    ck_assert(emu_space_generation(space) == g);
    ck_assert(emu_space_remove(space, 1000, &r) && !strcmp(r.what, "low"));
    ck_assert(emu_space_generation(space) != g);
    ck_assert(!emu_space_find(space, 1500, NULL));
}
END_TEST

START_TEST(many_ranges_in_any_order)
{
    enum { N = 2003 };
    for (uint64_t i = 0; i < N; i++) {
        uint64_t k = i * 7919 % N;
        ck_assert(add(EMU_HEAP + 100 * k, EMU_HEAP + 100 * k + 60, "x") == ST_OK);
    }
    for (uint64_t k = 0; k < N; k++) {
        struct range_cache c;
        ck_assert(space_lookup(space, EMU_HEAP + 100 * k + 59, 0, &c) && c.lo == EMU_HEAP + 100 * k);
        ck_assert(!space_lookup(space, EMU_HEAP + 100 * k + 60, 0, &c));
    }
    for (uint64_t k = 0; k < N; k += 2)
        ck_assert(emu_space_remove(space, EMU_HEAP + 100 * k, NULL));
    for (uint64_t k = 0; k < N; k++)
        ck_assert(emu_space_find(space, EMU_HEAP + 100 * k, NULL) == (k % 2 == 1));
}
END_TEST

/* Fixed ranges must be found at any time, exactly, while others come and go around them. */
static bool stop;
static unsigned long wrong;

static void *look(void *arg)
{
    uint64_t x = (uint64_t)(uintptr_t)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        struct range_cache c = { 0 };
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint64_t k = (x >> 33) % 500, lo = EMU_HEAP + 4096 * k;
        bool found = space_lookup(space, lo + 10, 0, &c);
        if (!found || c.lo != lo || c.hi != lo + 1000)
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
        if (space_lookup(space, lo + 2500, 0, &c) && (c.lo != lo + 2000 || c.hi != lo + 3000))
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

START_TEST(lookups_while_others_add_and_remove)
{
    pthread_t t[3];
    for (uint64_t k = 0; k < 500; k++)
        ck_assert(add(EMU_HEAP + 4096 * k, EMU_HEAP + 4096 * k + 1000, "fixed") == ST_OK);
    for (uintptr_t i = 0; i < 3; i++)
        ck_assert(!pthread_create(&t[i], NULL, look, (void *)(i + 1)));
    for (unsigned round = 0; round < 20; round++) {
        for (uint64_t k = 0; k < 500; k++)
            ck_assert(add(EMU_HEAP + 4096 * k + 2000, EMU_HEAP + 4096 * k + 3000, "moving") == ST_OK);
        for (uint64_t k = 0; k < 500; k++)
            ck_assert(emu_space_remove(space, EMU_HEAP + 4096 * k + 2000, NULL));
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

START_TEST(the_child_of_a_fork_has_the_table)
{
    ck_assert(add(1000, 2000, "low") == ST_OK);
    pid_t pid = fork();
    if (!pid) {
        struct error err;
        struct emu_space *other;
        bool good = emu_space_find(space, 1500, NULL) && add(2000, 3000, "child") == ST_OK && emu_space_create(&other, &err) == ST_OK;
        _exit(good ? 0 : 1);
    }
    int status;
    ck_assert(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert(!emu_space_find(space, 2500, NULL));
}
END_TEST

struct seen { uint64_t lo[8], hi[8]; size_t n; };
static void see(void *user, uint64_t lo, uint64_t hi)
{
    struct seen *s = user;
    ck_assert(s->n < 8);
    s->lo[s->n] = lo;
    s->hi[s->n++] = hi;
}

START_TEST(stores_into_watched_ranges_are_remembered)
{
    const uint64_t piece = EMU_PIECE_BYTES, lo = EMU_HEAP + 100, hi = EMU_HEAP + 5 * piece + 7;
    struct emu_range r = { .lo = lo, .hi = hi, .watched = true };
    struct range_cache c;
    struct seen seen = { .n = 0 };
    ck_assert(emu_space_add(space, &r, NULL) == ST_OK && add(hi, hi + 100, "unwatched") == ST_OK);
    ck_assert(space_lookup(space, lo + 2 * piece, 0, &c) && c.lo == lo && c.hi == hi);
    ck_assert(space_lookup(space, hi + 5, 4, &c) && c.lo == hi);
    ck_assert(!emu_space_any_written(space));
    ck_assert(space_lookup(space, lo, 4, &c) && c.lo == lo && c.hi == EMU_HEAP + piece);
    ck_assert(space_lookup(space, hi - 4, 4, &c) && c.lo == EMU_HEAP + 5 * piece && c.hi == hi);
    ck_assert(space_lookup(space, EMU_HEAP + 3 * piece - 8, 16, &c) && c.lo == EMU_HEAP + 2 * piece && c.hi == EMU_HEAP + 4 * piece);
    ck_assert(emu_space_any_written(space));
    emu_space_written(space, false, see, &seen);
    ck_assert(seen.n == 3 && seen.lo[0] == lo && seen.hi[0] == EMU_HEAP + piece && seen.lo[1] == EMU_HEAP + 2 * piece && seen.hi[1] == EMU_HEAP + 4 * piece &&
              seen.lo[2] == EMU_HEAP + 5 * piece && seen.hi[2] == hi);
    ck_assert(space_lookup(space, EMU_HEAP + piece, 1, &c) && c.lo == lo && c.hi == EMU_HEAP + 4 * piece);   /* closes a gap */
    uint64_t before = emu_space_generation(space);
    seen.n = 0;
    emu_space_written(space, true, see, &seen);
    ck_assert(seen.n == 2 && emu_space_generation(space) > before && !emu_space_any_written(space));
    seen.n = 0;
    emu_space_written(space, true, see, &seen);
    ck_assert(seen.n == 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu_space");
    TCase *t = tcase_create("table");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, bounds_are_exact);
    tcase_add_test(t, stores_into_watched_ranges_are_remembered);
    tcase_add_test(t, overlap_is_refused);
    tcase_add_test(t, nearest_looks_both_ways);
    tcase_add_test(t, remove_gives_back_and_counts);
    tcase_add_test(t, many_ranges_in_any_order);
    tcase_add_test(t, lookups_while_others_add_and_remove);
    tcase_add_test(t, the_child_of_a_fork_has_the_table);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_ENV);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed != 0;
}
