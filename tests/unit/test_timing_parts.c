/* The parts of the timing model that stand alone: hashes, address map, tags, MSHRs, coalescing, banks, DRAM. Properties, never golden totals. */
#include <stdlib.h>
#include <string.h>

#include "timing/addrmap.h"
#include "timing/cache.h"
#include "timing/coalesce.h"
#include "timing/dram.h"
#include "timing/mshr.h"
#include "tests/unit/suite.h"

static uint64_t random_state = 88172645463325252u;
static uint64_t rnd(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

/* ---- hashes ---- */

/* Published tables (Rau 1991, as simulators use them): which upper bits each index bit takes. -1 ends a row. */
static const int ipoly16[4][9] = {{0, 3, 4, 6, 8, 9, 10, 11, -1}, {0, 1, 3, 5, 6, 7, 8, 12, -1}, {1, 2, 4, 6, 7, 8, 9, -1}, {2, 3, 5, 7, 8, 9, 10, -1}};
static const int ipoly32[5][12] = {{0, 3, 5, 6, 9, 10, 11, 12, 13, -1}, {1, 4, 6, 7, 10, 11, 12, 13, 14, -1}, {0, 2, 3, 6, 7, 8, 9, 10, 14, -1}, {1, 3, 4, 7, 8, 9, 10, 11, -1},
                                   {2, 4, 5, 8, 9, 10, 11, 12, -1}};
static const int ipoly64[6][10] = {{0, 5, 6, 10, 12, 15, 16, 17, 18, -1}, {0, 1, 5, 7, 10, 11, 12, 13, 15, -1}, {1, 2, 6, 8, 11, 12, 13, 14, 16, -1}, {2, 3, 7, 9, 12, 13, 14, 15, 17, -1},
                                   {3, 4, 8, 10, 13, 14, 15, 16, 18, -1}, {4, 5, 9, 11, 14, 15, 16, 17, -1}};

static void check_rows(const int *rows, unsigned width, unsigned k)
{
    for (unsigned upper = 0; upper < 24; upper++) {
        uint32_t want = 0;
        for (unsigned b = 0; b < k; b++)
            for (unsigned i = 0; rows[b * width + i] >= 0; i++)
                want |= (uint32_t)(rows[b * width + i] == (int)upper) << b;
        ck_assert_uint_eq(hash_ipoly(0, 1ull << upper, k), want);
    }
}

START_TEST(ipoly_has_the_published_rows)
{
    check_rows(&ipoly16[0][0], 9, 4);
    check_rows(&ipoly32[0][0], 12, 5);
    check_rows(&ipoly64[0][0], 10, 6);
}
END_TEST

START_TEST(prepared_ipoly_is_the_same)
{
    for (unsigned k = 1; k <= 10; k++) {
        struct ipoly p;
        ipoly_init(&p, k);
        for (int i = 0; i < 500; i++) {
            uint64_t n = rnd();
            ck_assert_uint_eq(ipoly_apply(&p, n), hash_ipoly((uint32_t)(n & ((1u << k) - 1)), n >> k, k));
        }
    }
}
END_TEST

START_TEST(powers_of_two_spread_over_all_sets)
{
    for (uint32_t sets = 16; sets <= 64; sets *= 2)
        for (unsigned shift = 0; shift < 14; shift++) {
            uint32_t n[64] = {0}, most = 0;
            for (uint64_t i = 0; i < 64 * sets; i++) {
                uint32_t k = ++n[hash_set(SET_IPOLY, i << shift, sets)];
                most = k > most ? k : most;
            }
            ck_assert_uint_le(most, 64 + 64 / 4);
        }
}
END_TEST

/* ---- address map ---- */

static const struct timing_address_map volta = {.channel_bit = 8, .burst = 0x1f, .column = 0xe00 | 0xe0, .bank = 0x7000 | 0x100, .row = 0x7ff8000};

START_TEST(addresses_keep_apart)
{
    static const struct { uint32_t channels, slices; enum partition_indexing how; } maps[] = {
        {32, 2, PARTITION_IPOLY}, {32, 2, PARTITION_CONSECUTIVE}, {8, 4, PARTITION_XOR}, {40, 2, PARTITION_IPOLY_MODULO}, {12, 2, PARTITION_CONSECUTIVE}, {24, 2, PARTITION_RANDOM}, {40, 2, PARTITION_ROTATE}};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        struct addrmap m;
        ck_assert_int_eq(addrmap_create(&m, &volta, maps[i].channels, maps[i].slices, maps[i].how, NULL), ST_OK);
        uint32_t n[80] = {0}, slices = maps[i].channels * maps[i].slices, total = 0;
        for (uint64_t a = 0; a < 32u << 20; a += 256, total++) {
            struct dram_place p = addrmap_place(&m, a);
            ck_assert_uint_lt(p.slice, slices);
            ck_assert_uint_eq(p.channel, p.slice / maps[i].slices);
            n[p.slice]++;
        }
        for (uint32_t s = 0; s < slices; s++) {
            ck_assert_uint_lt(n[s], total / slices * 2);
            ck_assert_uint_gt(n[s], 0);
        }
    }
}
END_TEST

START_TEST(local_addresses_are_dense_and_unique)
{
    struct addrmap m;
    enum { CHANNELS = 4, SLICES = 2, SPAN = 1 << 20 };
    ck_assert_int_eq(addrmap_create(&m, &volta, CHANNELS, SLICES, PARTITION_IPOLY, NULL), ST_OK);
    uint8_t *seen = calloc(CHANNELS * SLICES, SPAN / 32);
    for (uint64_t a = 0; a < SPAN; a += 32) {
        uint32_t slice = addrmap_place(&m, a).slice;
        uint64_t local = addrmap_local(&m, a);
        ck_assert_uint_lt(local, SPAN / (CHANNELS * SLICES));
        ck_assert_uint_eq(seen[(slice * SPAN + local) / 32]++, 0);
    }
    free(seen);
}
END_TEST

START_TEST(a_map_that_cannot_be_is_refused)
{
    struct addrmap m;
    struct error err = {0};
    struct timing_address_map letters = volta;
    letters.channel_bit = -1;
    ck_assert_int_ne(addrmap_create(&m, &letters, 12, 1, PARTITION_CONSECUTIVE, &err), ST_OK);
    ck_assert_ptr_nonnull(strstr(err.text, "dramid"));
    ck_assert_int_ne(addrmap_create(&m, &volta, 8, 3, PARTITION_CONSECUTIVE, &err), ST_OK);
}
END_TEST

/* ---- tags ---- */

static const struct line_mask all = {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}}, low_word = {{0xf, 0xf, 0xf, 0xf}};

static struct cache cache_of(const struct replacement *r, uint32_t sets, uint32_t ways)
{
    struct cache c;
    struct cache_spec spec = {.sectored = true, .sets = sets, .ways = ways, .line_bytes = 128, .replacement = r, .write = CACHE_WRITE_BACK, .write_alloc = CACHE_LAZY_FETCH};
    ck_assert_int_eq(cache_create(&c, &spec, NULL), ST_OK);
    return c;
}

static enum cache_result read_at(struct cache *c, uint64_t address)
{
    struct cache_victim v;
    return cache_read(c, address, &all, &v);
}

static void bring(struct cache *c, uint64_t address)
{
    struct cache_victim v;
    cache_read(c, address, &all, &v);
    cache_fill(c, address, &v);
}

START_TEST(a_sector_is_fetched_by_itself)
{
    struct cache c = cache_of(&replacement_lru, 4, 2);
    ck_assert_int_eq(read_at(&c, 0), CACHE_MISS);
    ck_assert_int_eq(read_at(&c, 0), CACHE_HIT_RESERVED);
    ck_assert_int_eq(read_at(&c, 32), CACHE_SECTOR_MISS);
    struct cache_victim v;
    cache_fill(&c, 0, &v);
    ck_assert_int_eq(read_at(&c, 0), CACHE_HIT);
    ck_assert_int_eq(read_at(&c, 32), CACHE_HIT_RESERVED);
    cache_destroy(&c);
}
END_TEST

START_TEST(lru_and_fifo_differ_by_touching)
{
    for (int fifo = 0; fifo < 2; fifo++) {
        struct cache c = cache_of(fifo ? &replacement_fifo : &replacement_lru, 1, 2);
        bring(&c, 0);
        bring(&c, 128);
        ck_assert_int_eq(read_at(&c, 0), CACHE_HIT);
        bring(&c, 256);
        ck_assert_int_eq(cache_probe(&c, 0, &all, false), fifo ? CACHE_MISS : CACHE_HIT);
        ck_assert_int_eq(cache_probe(&c, 128, &all, false), fifo ? CACHE_HIT : CACHE_MISS);
        cache_destroy(&c);
    }
}
END_TEST

START_TEST(all_ways_on_their_way_is_a_failure)
{
    struct cache c = cache_of(&replacement_lru, 1, 2);
    read_at(&c, 0);
    read_at(&c, 128);
    ck_assert_int_eq(read_at(&c, 256), CACHE_RESERVATION_FAIL);
    struct cache_victim v;
    cache_fill(&c, 0, &v);
    ck_assert_int_eq(read_at(&c, 256), CACHE_MISS);
    cache_destroy(&c);
}
END_TEST

START_TEST(a_written_part_is_not_readable_as_a_whole)
{
    struct cache c = cache_of(&replacement_lru, 1, 2);
    struct cache_victim v;
    ck_assert_int_eq(cache_write(&c, 0, &low_word, true, &v), CACHE_MISS);
    ck_assert_int_eq(cache_probe(&c, 0, &low_word, false), CACHE_HIT);
    ck_assert_int_eq(cache_probe(&c, 0, &all, false), CACHE_SECTOR_MISS);
    cache_fill(&c, 0, &v);
    ck_assert_int_eq(cache_probe(&c, 0, &all, false), CACHE_HIT);
    bring(&c, 128);
    struct cache_victim gone;
    cache_read(&c, 256, &all, &gone);
    ck_assert(gone.dirty);
    ck_assert_uint_eq(gone.line_address, 0);
    ck_assert_uint_eq(gone.bytes.sector[0], UINT32_MAX);
    ck_assert_uint_eq(gone.bytes.sector[1], 0);
    cache_destroy(&c);
}
END_TEST

START_TEST(dirty_lines_are_spared_while_few)
{
    struct cache c = cache_of(&replacement_lru, 1, 4);
    c.spec.dirty_percent = 50;
    struct cache_victim v;
    cache_write(&c, 0, &low_word, true, &v);
    for (uint64_t a = 128; a < 4 * 128; a += 128)
        bring(&c, a);
    bring(&c, 4 * 128);                        /* the oldest is dirty, but a quarter only: the next one goes */
    ck_assert_int_eq(cache_probe(&c, 0, &low_word, false), CACHE_HIT);
    ck_assert_int_eq(cache_probe(&c, 128, &all, false), CACHE_MISS);
    cache_destroy(&c);
}
END_TEST

START_TEST(tags_agree_with_a_plain_model)
{
    enum { SETS = 8, WAYS = 4 };
    struct cache c = cache_of(&replacement_lru, SETS, WAYS);
    uint64_t line[SETS][WAYS] = {{0}}, used[SETS][WAYS] = {{0}};
    for (uint64_t t = 1; t < 20000; t++) {
        uint64_t number = rnd() % 200 + 1;
        unsigned set = number % SETS, way = 0;
        while (way < WAYS && line[set][way] != number)
            way++;
        bool hit = way < WAYS;
        if (!hit) {
            way = 0;
            for (unsigned w = 1; w < WAYS; w++)
                if (used[set][w] < used[set][way])
                    way = w;
            line[set][way] = number;
        }
        used[set][way] = t;
        ck_assert_int_eq(cache_probe(&c, number * 128, &all, false), hit ? CACHE_HIT : CACHE_MISS);
        bring(&c, number * 128);
    }
    cache_set_ways(&c, 2);
    ck_assert_int_eq(cache_probe(&c, line[0][0] * 128, &all, false), CACHE_MISS);
    cache_destroy(&c);
}
END_TEST

/* ---- MSHRs ---- */

struct woken { uint32_t n, at[64]; };
static void wake(void *user, uint32_t request)
{
    struct woken *w = user;
    w->at[w->n++] = request;
}

START_TEST(mshr_limits_and_order)
{
    struct mshr m;
    ck_assert_int_eq(mshr_create(&m, 2, 3, NULL), ST_OK);
    ck_assert_int_eq(mshr_add(&m, 0x1000, 7), MSHR_NEW);
    ck_assert_int_eq(mshr_add(&m, 0x1000, 8), MSHR_MERGED);
    ck_assert_int_eq(mshr_add(&m, 0x1000, 9), MSHR_MERGED);
    ck_assert_int_eq(mshr_add(&m, 0x1000, 10), MSHR_MERGE_FULL);
    ck_assert_int_eq(mshr_add(&m, 0x2000, 1), MSHR_NEW);
    ck_assert_int_eq(mshr_add(&m, 0x3000, 1), MSHR_ENTRIES_FULL);
    struct woken w = {0};
    ck_assert(mshr_fill(&m, 0x1000, wake, &w));
    ck_assert_uint_eq(w.n, 3);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_uint_eq(w.at[i], 7 + i);
    ck_assert(!mshr_fill(&m, 0x1000, wake, &w));
    ck_assert_int_eq(mshr_add(&m, 0x3000, 1), MSHR_NEW);
    mshr_destroy(&m);
}
END_TEST

START_TEST(mshr_survives_much_coming_and_going)
{
    enum { ATOMS = 200 };
    struct mshr m;
    ck_assert_int_eq(mshr_create(&m, 32, 4, NULL), ST_OK);
    uint32_t waiting[ATOMS] = {0}, used = 0;
    for (int t = 0; t < 50000; t++) {
        uint32_t a = (uint32_t)(rnd() % ATOMS);
        if (rnd() & 1) {
            enum mshr_result want = waiting[a] ? waiting[a] < 4 ? MSHR_MERGED : MSHR_MERGE_FULL : used < 32 ? MSHR_NEW : MSHR_ENTRIES_FULL;
            ck_assert_int_eq(mshr_add(&m, a * 32ull, a), want);
            used += want == MSHR_NEW;
            waiting[a] += want <= MSHR_MERGED;
        } else {
            struct woken w = {0};
            ck_assert_int_eq(mshr_fill(&m, a * 32ull, wake, &w), waiting[a] != 0);
            ck_assert_uint_eq(w.n, waiting[a]);
            used -= waiting[a] != 0;
            waiting[a] = 0;
        }
    }
    mshr_destroy(&m);
}
END_TEST

/* ---- coalescing ---- */

static void stride(uint64_t at[WARP_LANES], uint64_t base, uint64_t step)
{
    for (unsigned i = 0; i < WARP_LANES; i++)
        at[i] = base + i * step;
}

START_TEST(consecutive_words_are_four_sectors)
{
    uint64_t at[WARP_LANES];
    struct access out[MAX_ACCESSES];
    struct lanes l = {at, UINT32_MAX, 4};
    struct coalescer new = {70, 1}, old = {20, 1};
    stride(at, 0x10000, 4);
    ck_assert_uint_eq(coalesce(&new, &l, coalesce_by_sectors(&new, false), out), 4);
    ck_assert_uint_eq(coalesce(&old, &l, coalesce_by_sectors(&old, false), out), 1);
    ck_assert_uint_eq(out[0].bytes, 128);
    ck_assert_uint_eq(out[0].lanes, UINT32_MAX);
    stride(at, 0x10010, 4);                    /* misaligned by half a sector */
    ck_assert_uint_eq(coalesce(&new, &l, true, out), 5);
    ck_assert_uint_eq(coalesce(&old, &l, false, out), 2);
    l.mask = 0xff;
    stride(at, 0x10000, 4);                    /* a quarter of a line shrinks to 32 bytes */
    ck_assert_uint_eq(coalesce(&old, &l, false, out), 1);
    ck_assert_uint_eq(out[0].bytes, 32);
}
END_TEST

START_TEST(strides_and_widths)
{
    uint64_t at[WARP_LANES];
    struct access out[MAX_ACCESSES];
    struct coalescer c = {70, 1};
    for (uint32_t bytes = 1; bytes <= 16; bytes *= 2)
        for (uint32_t step = bytes; step <= 256; step *= 2) {
            struct lanes l = {at, UINT32_MAX, bytes};
            stride(at, 0, step);
            uint32_t n = coalesce(&c, &l, true, out), want = step <= 32 ? 32 * step / 32 : 32;
            ck_assert_uint_eq(n, want ? want : 1);
            uint32_t lanes = 0, touched = 0;
            for (uint32_t i = 0; i < n; i++) {
                lanes |= out[i].lanes;
                for (unsigned s = 0; s < LINE_SECTORS; s++)
                    touched += (uint32_t)__builtin_popcount(out[i].touched.sector[s]);
            }
            ck_assert_uint_eq(lanes, UINT32_MAX);
            ck_assert_uint_eq(touched, 32 * bytes);
        }
}
END_TEST

START_TEST(atomics_on_one_word_serialise)
{
    uint64_t at[WARP_LANES];
    struct access out[MAX_ACCESSES];
    struct coalescer c = {70, 1};
    struct lanes l = {at, UINT32_MAX, 4};
    stride(at, 0x1000, 0);
    ck_assert_uint_eq(coalesce(&c, &l, true, out), 1);
    ck_assert_uint_eq(coalesce_atomic(&c, &l, true, out), 32);
    stride(at, 0x1000, 4);
    ck_assert_uint_eq(coalesce_atomic(&c, &l, true, out), 4);
}
END_TEST

static uint32_t gcd(uint32_t a, uint32_t b) { return b ? gcd(b, a % b) : a; }

START_TEST(bank_conflicts_are_exact)
{
    uint64_t at[WARP_LANES];
    for (uint32_t words = 0; words <= 64; words++) {
        struct lanes l = {at, UINT32_MAX, 4};
        stride(at, 0, 4 * words);
        ck_assert_uint_eq(bank_cycles(&l, 32), words ? gcd(words, 32) : 1);
    }
    for (uint32_t bytes = 1; bytes <= 16; bytes *= 2) {
        struct lanes l = {at, UINT32_MAX, bytes};
        stride(at, 0, bytes);
        ck_assert_uint_eq(bank_cycles(&l, 32), bytes <= 4 ? 1 : bytes / 4);        /* as much as 128 bytes a cycle give */
    }
    struct lanes none = {at, 0, 4};
    ck_assert_uint_eq(bank_cycles(&none, 32), 0);
}
END_TEST

/* A100, strides in words, measured cycles of an L1-hitting load, averaged over alignments (reference data): 1: 1, 3: 1.63 .. the rule must be near. */
START_TEST(wavefronts_are_near_what_was_measured)
{
    static const struct { uint32_t words; double cycles; } a100[] = {{1, 1.0}, {2, 2.0}, {3, 1.63}, {4, 4.0}, {5, 2.2}, {8, 8.0}, {16, 16.0}, {31, 8.5}, {32, 32.0}};
    uint64_t at[WARP_LANES];
    for (size_t i = 0; i < sizeof a100 / sizeof *a100; i++) {
        double sum = 0;
        for (unsigned k = 0; k < 8; k++) {
            struct lanes l = {at, UINT32_MAX, 4};
            stride(at, 16 * k, 4 * a100[i].words);
            sum += wavefront_quarter_cycles(&l, 128) / 4.0;
        }
        ck_assert_double_le(sum / 8, a100[i].cycles * 1.25);
        ck_assert_double_ge(sum / 8, a100[i].cycles * 0.85);
    }
}
END_TEST

/* ---- DRAM ---- */

static const struct dram_spec hbm = {.banks = 16, .groups = 4, .group_low_bits = true, .ccd = 1, .ccdl = 2, .rrd = 3, .rcd = 12, .ras = 28, .rp = 12, .rc = 40, .cl = 12, .wl = 2,
                                     .cdlr = 3, .wr = 10, .rtpl = 3, .burst_cycles = 1, .atom_bytes = 32, .order = &dram_frfcfs, .queue = 64, .return_queue = 192, .dual_bus = true};

static uint64_t until_returned(struct dram *d, uint64_t *id)
{
    while (!dram_returned(d, id)) {
        ck_assert(dram_busy(d));
        dram_tick(d);
    }
    return d->cycle;
}

START_TEST(a_read_takes_activation_and_column)
{
    struct dram d;
    uint64_t id;
    ck_assert_int_eq(dram_create(&d, &hbm, NULL), ST_OK);
    dram_push(&d, &(struct dram_request){.id = 1, .bank = 3, .row = 5});
    uint64_t closed = until_returned(&d, &id);
    ck_assert_uint_eq(id, 1);
    ck_assert_uint_ge(closed, hbm.rcd + hbm.cl);
    ck_assert_uint_le(closed, hbm.rcd + hbm.cl + 4);
    uint64_t from = d.cycle;
    dram_push(&d, &(struct dram_request){.id = 2, .bank = 3, .row = 5});
    uint64_t open = until_returned(&d, &id) - from;
    ck_assert_uint_le(open, hbm.cl + 4);
    from = d.cycle;
    dram_push(&d, &(struct dram_request){.id = 3, .bank = 3, .row = 6});
    uint64_t conflict = until_returned(&d, &id) - from;
    ck_assert_uint_ge(conflict, hbm.rp + hbm.rcd + hbm.cl);
    ck_assert_uint_eq(d.stats.row_hits, 1);
    ck_assert_uint_eq(d.stats.row_misses, 2);
    dram_destroy(&d);
}
END_TEST

/* Cycles that n reads take, of which the k-th goes to bank and row as the functions say. */
static uint64_t stream(const struct dram_spec *spec, uint32_t n, uint32_t banks, uint32_t reads_of_a_row, bool write)
{
    struct dram d;
    uint64_t id;
    ck_assert_int_eq(dram_create(&d, spec, NULL), ST_OK);
    uint32_t sent = 0, got = 0;
    while (write ? d.stats.writes < n : got < n) {
        while (sent < n && dram_room(&d, write)) {
            dram_push(&d, &(struct dram_request){.id = sent, .bank = sent % banks, .row = sent / banks / reads_of_a_row, .write = write});
            sent++;
        }
        dram_tick(&d);
        while (dram_returned(&d, &id))
            got++;
        ck_assert_uint_lt(d.cycle, 100000);
    }
    uint64_t cycles = d.cycle;
    dram_destroy(&d);
    return cycles;
}

START_TEST(open_rows_in_many_banks_fill_the_bus)
{
    ck_assert_uint_le(stream(&hbm, 4000, 16, 64, false), 4000 * 12 / 10);
    ck_assert_uint_le(stream(&hbm, 4000, 16, 64, true), 4000 * 12 / 10);
    ck_assert_uint_ge(stream(&hbm, 4000, 1, 4000, false), 4000 * hbm.ccdl);     /* one bank: its group's column timing */
    ck_assert_uint_ge(stream(&hbm, 200, 1, 1, false), 199ull * hbm.rc);         /* a new row each time */
}
END_TEST

START_TEST(first_ready_beats_first_come)
{
    struct dram_spec in_order = hbm;
    in_order.order = &dram_fcfs;
    uint64_t fr[2];
    for (int k = 0; k < 2; k++) {
        struct dram d;
        uint64_t id, got = 0;
        ck_assert_int_eq(dram_create(&d, k ? &in_order : &hbm, NULL), ST_OK);
        for (uint32_t i = 0; i < 32; i++)      /* two rows of one bank, alternating */
            dram_push(&d, &(struct dram_request){.id = i, .bank = 0, .row = i & 1});
        while (got < 32) {
            dram_tick(&d);
            got += dram_returned(&d, &id);
        }
        fr[k] = d.cycle;
        dram_destroy(&d);
    }
    ck_assert_uint_lt(fr[0] * 4, fr[1]);
}
END_TEST

START_TEST(writes_wait_in_their_own_queue)
{
    struct dram_spec spec = hbm;
    spec.write_queue = 32;
    spec.write_high = 28;
    spec.write_low = 16;
    struct dram d;
    uint64_t id;
    ck_assert_int_eq(dram_create(&d, &spec, NULL), ST_OK);
    for (uint32_t i = 0; i < 20; i++)
        dram_push(&d, &(struct dram_request){.id = i, .bank = i % 16, .row = 1, .write = true});
    for (uint32_t i = 0; i < 8; i++)
        dram_push(&d, &(struct dram_request){.id = 100 + i, .bank = i, .row = 2});
    for (uint32_t got = 0; got < 8; got += dram_returned(&d, &id))
        dram_tick(&d);
    ck_assert_uint_eq(d.stats.writes, 0);      /* below the mark, reads go first */
    while (dram_busy(&d))
        dram_tick(&d);
    ck_assert_uint_eq(d.stats.writes, 20);
    dram_destroy(&d);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("timing parts");
    TCase *t = tcase_create("parts");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, ipoly_has_the_published_rows);
    tcase_add_test(t, prepared_ipoly_is_the_same);
    tcase_add_test(t, powers_of_two_spread_over_all_sets);
    tcase_add_test(t, addresses_keep_apart);
    tcase_add_test(t, local_addresses_are_dense_and_unique);
    tcase_add_test(t, a_map_that_cannot_be_is_refused);
    tcase_add_test(t, a_sector_is_fetched_by_itself);
    tcase_add_test(t, lru_and_fifo_differ_by_touching);
    tcase_add_test(t, all_ways_on_their_way_is_a_failure);
    tcase_add_test(t, a_written_part_is_not_readable_as_a_whole);
    tcase_add_test(t, dirty_lines_are_spared_while_few);
    tcase_add_test(t, tags_agree_with_a_plain_model);
    tcase_add_test(t, mshr_limits_and_order);
    tcase_add_test(t, mshr_survives_much_coming_and_going);
    tcase_add_test(t, consecutive_words_are_four_sectors);
    tcase_add_test(t, strides_and_widths);
    tcase_add_test(t, atomics_on_one_word_serialise);
    tcase_add_test(t, bank_conflicts_are_exact);
    tcase_add_test(t, wavefronts_are_near_what_was_measured);
    tcase_add_test(t, a_read_takes_activation_and_column);
    tcase_add_test(t, open_rows_in_many_banks_fill_the_bus);
    tcase_add_test(t, first_ready_beats_first_come);
    tcase_add_test(t, writes_wait_in_their_own_queue);
    suite_add_tcase(s, t);
    return suite_run(s);
}
