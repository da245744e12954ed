/* Short ways through the timing model give what the long ones do: DRAM cycles that are skipped, messages sorted by counting, streams that are cut at once. */
#include <stdlib.h>
#include <string.h>

#include "timing/coalesce.h"
#include "timing/dram.h"
#include "timing/mail.h"
#include "tests/unit/suite.h"

static uint64_t random_state = 88172645463325252u;
static uint64_t rnd(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static const struct dram_spec hbm = {.banks = 16, .groups = 4, .group_low_bits = true, .ccd = 1, .ccdl = 2, .rrd = 3, .rcd = 12, .ras = 28, .rp = 12, .rc = 40, .cl = 12, .wl = 2,
                                     .cdlr = 3, .wr = 10, .rtpl = 3, .burst_cycles = 1, .atom_bytes = 32, .order = &dram_frfcfs, .queue = 64, .return_queue = 192, .dual_bus = true};

/* ---- DRAM ---- */

/* Time that is left alone goes by at once, and the same happens as cycle by cycle. */
START_TEST(cycles_in_which_nothing_happens_are_skipped_exactly)
{
    struct dram_spec spec = hbm;
    for (int round = 0; round < 40; round++) {
        struct dram a, b;
        spec.write_queue = round & 1 ? 16 : 0;
        spec.write_high = 12;
        spec.write_low = 4;
        spec.dual_bus = round & 2;
        spec.order = round & 4 ? &dram_fcfs : &dram_frfcfs;
        spec.return_queue = round & 8 ? 2 : 192;
        ck_assert_int_eq(dram_create(&a, &spec, NULL), ST_OK);
        ck_assert_int_eq(dram_create(&b, &spec, NULL), ST_OK);
        for (uint64_t until = 0; until < 4000; until += 1 + rnd() % 40) {
            struct dram_request r = {.id = until, .bank = (uint32_t)(rnd() % 16), .row = (uint32_t)(rnd() % 3), .write = rnd() % 3 == 0};
            while (a.cycle < until)
                dram_tick(&a);
            dram_run(&b, until);
            ck_assert_uint_eq(a.cycle, b.cycle);
            ck_assert_int_eq(dram_room(&a, r.write), dram_room(&b, r.write));
            if (dram_room(&a, r.write) && until < 3000) {
                dram_push(&a, &r);
                dram_push(&b, &r);
            }
            uint64_t x = 0, y = 0, due = dram_next_return(&b);
            ck_assert(due == UINT64_MAX || due >= b.cycle || dram_there(&b));
            bool got = rnd() % 2 && dram_returned(&a, &x);
            ck_assert(!got || (dram_returned(&b, &y) && x == y));
            ck_assert(a.back_n == b.back_n && !dram_there(&a) == !dram_there(&b));
        }
        ck_assert_mem_eq(&a.stats, &b.stats, sizeof a.stats);
        dram_destroy(&a);
        dram_destroy(&b);
    }
}
END_TEST

/* ---- messages ---- */

static bool in_order(const struct message *a, const struct message *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    return a->slice != b->slice ? a->slice < b->slice : a->packet < b->packet;
}

START_TEST(mail_is_sorted_and_runs_keep_their_order)
{
    enum { RUNS = 20, MOST = 50 };
    static struct message run[MOST];
    struct mail m = {.n = 0};
    for (int round = 0; round < 60; round++) {
        uint64_t step = round % 3 == 0 ? 3 : round % 3 == 1 ? 4000 : 1ull << 36, total = 0;
        mail_begin(&m);
        for (uint32_t r = 0; r < RUNS; r++) {
            uint32_t n = (uint32_t)(rnd() % (MOST + 1));
            uint64_t t = rnd() % (step * 8);
            for (uint32_t i = 0; i < n; i++, t += rnd() % step)
                run[i] = (struct message){t, i, r};
            ck_assert(mail_add(&m, run, n));
            total += n;
        }
        mail_sort(&m);
        ck_assert_uint_eq(m.n, total);
        for (size_t i = 1; i < m.n; i++)
            ck_assert(in_order(&m.items[i - 1], &m.items[i]));
    }
    mail_free(&m);
}
END_TEST

START_TEST(two_sorted_parts_become_one)
{
    struct mail m = {.n = 0};
    for (int round = 0; round < 200; round++) {
        struct message a[80];
        size_t old = rnd() % 40, n = old + rnd() % 40;
        uint64_t t = rnd() % 50;
        for (size_t i = 0; i < n; i++) {
            t = i == old ? rnd() % 50 : t + rnd() % 4;
            a[i] = (struct message){t, (uint32_t)i, i >= old};
        }
        ck_assert(mail_merge(&m, a, old, n));
        uint64_t seen[2] = {0};
        for (size_t i = 0; i < n; i++) {
            ck_assert(i == 0 || in_order(&a[i - 1], &a[i]));
            seen[a[i].packet / 40] |= 1ull << a[i].packet % 40;
        }
        ck_assert_int_eq(__builtin_popcountll(seen[0]) + __builtin_popcountll(seen[1]), (int)n);
    }
    mail_free(&m);
}
END_TEST

/* The short way that streams take finds what the general one finds: there lanes are in another order. */
START_TEST(streams_are_cut_as_anything_is)
{
    struct coalescer k = {70, 1};
    for (int round = 0; round < 200; round++) {
        uint64_t at[WARP_LANES], back[WARP_LANES];
        uint32_t bytes = 1u << rnd() % 6;
        uint64_t base = (rnd() % 64) * bytes;
        for (int i = 0; i < WARP_LANES; i++)
            at[i] = back[WARP_LANES - 1 - i] = base + (uint64_t)i * bytes;
        struct lanes one = {at, UINT32_MAX, bytes}, other = {back, UINT32_MAX, bytes};
        struct access x[MAX_ACCESSES], y[MAX_ACCESSES];
        uint32_t n = coalesce(&k, &one, true, x);
        ck_assert_uint_eq(n, coalesce(&k, &other, true, y));
        for (uint32_t i = 0; i < n; i++) {
            const struct access *z = &y[n - 1 - i];
            ck_assert_uint_eq(x[i].address, z->address);
            ck_assert_uint_eq(x[i].bytes, z->bytes);
            ck_assert_mem_eq(&x[i].touched, &z->touched, sizeof z->touched);
            for (int lane = 0; lane < WARP_LANES; lane++)
                ck_assert_uint_eq(x[i].lanes >> lane & 1, z->lanes >> (WARP_LANES - 1 - lane) & 1);
        }
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("timing short ways");
    TCase *t = tcase_create("short ways");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, cycles_in_which_nothing_happens_are_skipped_exactly);
    tcase_add_test(t, mail_is_sorted_and_runs_keep_their_order);
    tcase_add_test(t, two_sorted_parts_become_one);
    tcase_add_test(t, streams_are_cut_as_anything_is);
    suite_add_tcase(s, t);
    return suite_run(s);
}
