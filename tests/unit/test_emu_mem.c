/* Loads and stores: every size, space, address form, vector and host level against a plain model; faults at exact edges. */
#include "tests/unit/mem_rig.h"

#include "emu/isa.h"

static uint64_t seed = 1;
static uint32_t rnd(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}

static const uint32_t row_at[8] = { RIG_DATA, RIG_DATA + RIG_ROW, RIG_DATA + 2 * RIG_ROW, RIG_DATA + 3 * RIG_ROW, RIG_DATA + 4 * RIG_ROW,
                                    RIG_DATA + 5 * RIG_ROW, RIG_DATA + 6 * RIG_ROW, RIG_DATA + 7 * RIG_ROW };

/* Bytes that lane's address `off` (an offset from the start of its space's test area) stands for. */
static char *place(unsigned space, uint32_t lane, uint64_t off)
{
    switch (space) {
    case MEM_SHARED: return rig.c.shared + off;
    case MEM_LOCAL: return rig.w.local + (size_t)lane * RIG_LOCAL + off;
    default: return (char *)(uintptr_t)(rig.lo + off);
    }
}

static void record(uint32_t extra, int64_t imm)
{
    static struct mem_wide wide;
    rig.in[0] = (struct insn){ .a = RIG_ADDRESS, .d = row_at[0], .b = row_at[1], .c = row_at[2], .target = row_at[3], .imm = (uint64_t)imm, .extra = extra };
    if (extra & MEM_WIDE) {
        wide.offset = imm;
        memcpy(wide.rows, row_at, sizeof row_at);
        rig.in[0].imm = (uintptr_t)&wide;
    }
}

enum { DENSE, SAME, STRIDED, BACKWARDS, SCATTERED, SHAPES };
static const uint32_t masks[] = { FULL_MASK, 0x0000ffffu, 0xffff0000u, 0x55555555u, 0x00000001u, 0x80000000u, 0x7ffffffeu, 0 };

static uint64_t shape_offset(int shape, uint32_t lane, unsigned bytes, unsigned space)
{
    uint64_t room = (space == MEM_LOCAL ? RIG_LOCAL : RIG_SHARED) / bytes;
    switch (shape) {
    case DENSE: return (uint64_t)lane * bytes % (room * bytes);
    case SAME: return 3ull * bytes;
    case STRIDED: return lane * 2ull * bytes % (room * bytes);
    case BACKWARDS: return (31ull - lane) * bytes % (room * bytes);
    default: return rnd() % room * bytes;
    }
}

static void fill(void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)p)[i] = (uint8_t)rnd();
}

/* What a warp's access must leave behind, computed on copies. */
static char want_frame[RIG_FRAME], want_global[8192], want_shared[RIG_SHARED], want_local[WARP_SIZE * RIG_LOCAL];

static char *model_place(unsigned space, uint32_t lane, uint64_t off)
{
    return space == MEM_SHARED ? want_shared + off : space == MEM_LOCAL ? want_local + (size_t)lane * RIG_LOCAL + off : want_global + off;
}

static void model(uint32_t extra, uint32_t mask, const uint64_t off[WARP_SIZE], unsigned space)
{
    unsigned kind = MEM_KIND(extra), bytes = mem_kind_bytes(kind), vec = 1u << MEM_LOGVEC(extra);
    memcpy(want_frame, rig.w.frame, RIG_FRAME);
    memcpy(want_global, (char *)(uintptr_t)rig.lo, 8192);
    memcpy(want_shared, rig.c.shared, RIG_SHARED);
    memcpy(want_local, rig.w.local, sizeof want_local);
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        if (!(mask >> l & 1))
            continue;
        for (unsigned v = 0; v < vec; v++) {
            char *m = model_place(space, l, off[l] + v * bytes), *r = want_frame + row_at[v] + l * mem_row_bytes(kind);
            if (extra & MEM_STORE) {
                memcpy(m, r, bytes);
            } else if (bytes == 1) {
                uint16_t x = kind == MEM_S8 ? (uint16_t)(int16_t)(int8_t)*m : (uint8_t)*m;
                memcpy(r, &x, 2);
            } else {
                memcpy(r, m, bytes);
            }
        }
    }
}

static struct mem_handlers handlers(uint32_t extra, int level)
{
    const mem_table *const tables[] = { &mem_table_base, &mem_table_avx2, &mem_table_avx512 };
    struct mem_handlers lanes = { mem_lanes, mem_lanes };
    unsigned space = MEM_SPACE(extra);
    if (MEM_LOGVEC(extra) > 2)
        return lanes;
    struct mem_handlers h = (*tables[level])[(extra & MEM_STORE) != 0][space == MEM_GENERIC ? MEM_GLOBAL : space][MEM_FORM(extra)][MEM_KIND(extra)][MEM_LOGVEC(extra)];
    return h.full ? h : lanes;
}

static uint64_t generic_base(unsigned space)
{
    return space == MEM_SHARED ? EMU_SHARED_WINDOW : space == MEM_LOCAL ? EMU_LOCAL_WINDOW : rig.lo;
}

/* named: the space in the record; actual: where the addresses lead (they differ for generic). */
static void check_one(struct mem_handlers h, uint32_t extra, unsigned actual, int shape, uint32_t mask, int64_t imm)
{
    unsigned bytes = mem_access_bytes(extra), form = MEM_FORM(extra), named = MEM_SPACE(extra);
    uint64_t off[WARP_SIZE], base = named == MEM_SHARED || named == MEM_LOCAL ? 0 : generic_base(actual);
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        off[l] = form == MEM_FIXED ? 3ull * bytes : shape_offset(shape, l, bytes, actual);
        rig_address(extra, l, mask >> l & 1 ? base + off[l] - (uint64_t)imm : 0xdeadbeefdeadbeefu);
    }
    record(extra, form == MEM_FIXED ? (int64_t)(base + 3ull * bytes) : imm);
    fill(rig.w.frame + RIG_DATA, 8 * RIG_ROW);
    model(extra, mask, off, actual);
    ck_assert_msg(rig_run(h, mask), "%s", rig.report);
    const char *what[] = { "frame", "global", "shared", "local" };
    const char *want[] = { want_frame, want_global, want_shared, want_local };
    const char *got[] = { rig.w.frame, (char *)(uintptr_t)rig.lo, rig.c.shared, rig.w.local };
    size_t size[] = { RIG_FRAME, 8192, RIG_SHARED, sizeof want_local };
    for (int i = 0; i < 4; i++)
        ck_assert_msg(!memcmp(want[i], got[i], size[i]), "%s differs: extra %x actual %u shape %d mask %08x", what[i], extra, actual, shape, mask);
}

static void check_all(uint32_t extra, unsigned actual)
{
    for (int level = 0; level <= isa_level(); level++)
        for (int shape = 0; shape < SHAPES; shape++)
            for (size_t m = 0; m < sizeof masks / sizeof masks[0]; m++)
                for (int again = 0; again < 2; again++)        /* the second time the site knows the range */
                    check_one(handlers(extra, level), extra, actual, shape, masks[m], again ? 48 : -16);
}

START_TEST(every_access)
{
    unsigned space = (unsigned)_i;
    fill((char *)(uintptr_t)rig.lo, 8192);
    fill(rig.c.shared, RIG_SHARED);
    fill(rig.w.local, WARP_SIZE * RIG_LOCAL);
    for (uint32_t store = 0; store < 2; store++)
        for (unsigned form = 0; form < 3; form++)
            for (unsigned kind = 0; kind < MEM_KINDS; kind++)
                for (unsigned logvec = 0; logvec < 4 && mem_kind_bytes(kind) << logvec <= 32; logvec++) {
                    uint32_t flags = (store ? MEM_STORE : 0) | (logvec == 3 ? MEM_WIDE : 0);
                    if (form == MEM_ROW32 && space != MEM_SHARED && space != MEM_LOCAL)
                        continue;
                    if (space != MEM_GENERIC) {
                        check_all(MEM_EXTRA(kind, logvec, space, form, flags), space);
                        continue;
                    }
                    for (unsigned actual = MEM_GLOBAL; actual <= MEM_LOCAL; actual++)
                        check_all(MEM_EXTRA(kind, logvec, space, form, flags), actual);
                }
}
END_TEST

START_TEST(a_generic_warp_in_three_spaces)
{
    uint32_t extra = MEM_EXTRA(MEM_32, 0, MEM_GENERIC, MEM_ROW64, MEM_STORE);
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        ((uint32_t *)row(&rig.w, RIG_DATA))[l] = 1000 + l;
        rig_address(extra, l, generic_base(l % 3) + 4 * l);
    }
    record(extra, 0);
    ck_assert(rig_run(mem_handlers_of(extra), FULL_MASK));
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        uint32_t x;
        memcpy(&x, place(l % 3, l, 4 * l), 4);
        ck_assert_uint_eq(x, 1000 + l);
    }
}
END_TEST

START_TEST(the_highest_lane_wins)
{
    for (unsigned space = MEM_GLOBAL; space <= MEM_SHARED; space++)
        for (uint32_t mask = FULL_MASK; mask; mask >>= 5) {
            uint32_t extra = MEM_EXTRA(MEM_32, 0, space, MEM_ROW64, MEM_STORE), x;
            for (uint32_t l = 0; l < WARP_SIZE; l++) {
                ((uint32_t *)row(&rig.w, RIG_DATA))[l] = l;
                rig_address(extra, l, (space == MEM_GLOBAL ? rig.lo : 0) + (l & 1) * 4);
            }
            record(extra, 0);
            ck_assert(rig_run(mem_handlers_of(extra), mask) && rig_run(mem_handlers_of(extra), mask));
            memcpy(&x, place(space, 0, 0), 4);
            ck_assert_uint_eq(x, (31 - (uint32_t)__builtin_clz(mask & 0x55555555u)));
        }
}
END_TEST

/* The last place that fits works, one byte further faults, in the lane that does it and with nothing stored. */
static void edge(unsigned space, unsigned named, unsigned kind, unsigned logvec, uint32_t lane, bool store)
{
    unsigned bytes = mem_kind_bytes(kind) << logvec;
    uint64_t base = named == MEM_SHARED || named == MEM_LOCAL ? 0 : generic_base(space);
    uint64_t size = space == MEM_SHARED ? RIG_SHARED : space == MEM_LOCAL ? RIG_LOCAL : 8192;
    uint32_t extra = MEM_EXTRA(kind, logvec, named, MEM_ROW64, store ? MEM_STORE : 0);
    for (int warm = 0; warm < 2; warm++)
        for (uint32_t mask = 0; mask < 2; mask++) {
            for (uint32_t l = 0; l < WARP_SIZE; l++)
                rig_address(extra, l, base + size - bytes);
            record(extra, 0);
            uint32_t lanes = mask ? FULL_MASK : 1u << lane;
            ck_assert_msg(rig_run(mem_handlers_of(extra), lanes), "%s", rig.report);
            rig_address(extra, lane, base + size);
            ck_assert(!rig_run(mem_handlers_of(extra), lanes));
            ck_assert_int_eq(rig.status, ST_ILLEGAL_ADDRESS);
            ck_assert_uint_eq(rig.lane, lane);
            if (bytes > 1) {
                rig_address(extra, lane, base + size - bytes + 1);
                ck_assert(!rig_run(mem_handlers_of(extra), lanes));
                ck_assert_int_eq(rig.status, ST_MISALIGNED_ADDRESS);
            }
            if (space == MEM_GLOBAL) {
                rig_address(extra, lane, base - bytes);
                ck_assert(!rig_run(mem_handlers_of(extra), lanes) && rig.status == ST_ILLEGAL_ADDRESS);
            }
        }
}

START_TEST(edges_are_exact)
{
    for (unsigned space = MEM_GLOBAL; space <= MEM_LOCAL; space++)
        for (unsigned kind = 0; kind < MEM_KINDS; kind++)
            for (unsigned logvec = 0; logvec < 3 && mem_kind_bytes(kind) << logvec <= 32; logvec++)
                for (uint32_t lane = 0; lane < WARP_SIZE; lane += 31)
                    for (int store = 0; store < 2; store++) {
                        edge(space, space, kind, logvec, lane, store);
                        edge(space, MEM_GENERIC, kind, logvec, lane, store);
                    }
}
END_TEST

START_TEST(an_odd_end_is_an_end)
{
    uint32_t extra = MEM_EXTRA(MEM_32, 0, MEM_GLOBAL, MEM_ROW64, 0);
    rig_range(rig.lo + 16384, rig.lo + 16384 + 126, false, "cudaMalloc #4");
    for (uint32_t l = 0; l < WARP_SIZE; l++)
        rig_address(extra, l, rig.lo + 16384 + 4 * l);
    record(extra, 0);
    ck_assert(rig_run(mem_handlers_of(extra), 0x7fffffffu));
    ck_assert(!rig_run(mem_handlers_of(extra), FULL_MASK));
    ck_assert_uint_eq(rig.lane, 31);
    ck_assert_msg(strstr(rig.report, "the last 2 bytes lie after the end of cudaMalloc #4"), "%s", rig.report);
}
END_TEST

START_TEST(addresses_that_wrap_do_not_pass)
{
    static const uint64_t bad[] = { 0, 8, UINT64_MAX - 3, UINT64_MAX - 127, 0x8000000000000000u, EMU_SHARED_WINDOW, EMU_LOCAL_WINDOW, EMU_CODE_WINDOW };
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        for (uint64_t step = 0; step <= 4; step += 4)
            for (int warm = 0; warm < 2; warm++) {
                uint32_t extra = MEM_EXTRA(MEM_32, 0, MEM_GLOBAL, MEM_ROW64, 0);
                record(extra, 0);
                for (uint32_t l = 0; l < WARP_SIZE; l++)
                    rig_address(extra, l, rig.lo + 4 * l);
                if (warm)
                    ck_assert(rig_run(mem_handlers_of(extra), FULL_MASK));
                for (uint32_t l = 0; l < WARP_SIZE; l++)
                    rig_address(extra, l, bad[i] + step * l);
                ck_assert(!rig_run(mem_handlers_of(extra), FULL_MASK) && rig.status == ST_ILLEGAL_ADDRESS);
                ck_assert(!rig_run(mem_handlers_of(extra), 0x8000ffffu) && rig.status == ST_ILLEGAL_ADDRESS);
            }
}
END_TEST

START_TEST(a_report_names_the_neighbour)
{
    uint32_t extra = MEM_EXTRA(MEM_32, 0, MEM_GLOBAL, MEM_ROW64, MEM_STORE);
    for (uint32_t l = 0; l < WARP_SIZE; l++)
        rig_address(extra, l, rig.hi + 4);
    record(extra, 0);
    ck_assert(!rig_run(mem_handlers_of(extra), 0x30));
    ck_assert_uint_eq(rig.lane, 4);
    ck_assert_msg(strstr(rig.report, "store of 4 bytes at global address 0x") && strstr(rig.report, "is 4 bytes after the end of cudaMalloc #3 [0x") &&
                  strstr(rig.report, "8192 bytes"), "%s", rig.report);
    for (uint32_t l = 0; l < WARP_SIZE; l++)
        rig_address(extra, l, 0);
    ck_assert(!rig_run(mem_handlers_of(extra), FULL_MASK));
    ck_assert_msg(strstr(rig.report, "null pointer"), "%s", rig.report);
}
END_TEST

START_TEST(read_only_memory_is_not_stored_to)
{
    rig_range(rig.lo + 16384, rig.lo + 16384 + 4096, true, "parameters");
    for (int store = 0; store < 2; store++)
        for (int warm = 0; warm < 2; warm++) {
            uint32_t extra = MEM_EXTRA(MEM_32, 0, MEM_GENERIC, MEM_ROW64, store ? MEM_STORE : 0);
            for (uint32_t l = 0; l < WARP_SIZE; l++)
                rig_address(extra, l, rig.lo + 16384 + 4 * l);
            record(extra, 0);
            ck_assert(rig_run(mem_handlers_of(extra), FULL_MASK) == !store);
            ck_assert(rig_run(mem_handlers_of(extra), 0xff) == !store);
        }
    ck_assert_int_eq(rig.status, ST_ILLEGAL_ADDRESS);
    ck_assert_msg(strstr(rig.report, "read-only"), "%s", rig.report);
}
END_TEST

START_TEST(a_freed_range_is_gone)
{
    uint32_t extra = MEM_EXTRA(MEM_32, 0, MEM_GLOBAL, MEM_ROW64, 0);
    for (uint32_t l = 0; l < WARP_SIZE; l++)
        rig_address(extra, l, rig.lo + 4 * l);
    record(extra, 0);
    ck_assert(rig_run(mem_handlers_of(extra), FULL_MASK));
    ck_assert(emu_space_remove(rig.space, rig.lo, NULL));
    mem_sites_flush(&rig.c);                   /* as the engine does before it runs a CTA under a new generation */
    ck_assert(!rig_run(mem_handlers_of(extra), FULL_MASK));
}
END_TEST

START_TEST(stepping_fills_the_event)
{
    for (unsigned actual = MEM_GLOBAL; actual <= MEM_LOCAL; actual++) {
        uint32_t extra = MEM_EXTRA(MEM_64, 1, MEM_GENERIC, MEM_ROW64, MEM_STORE);
        for (uint32_t l = 0; l < WARP_SIZE; l++)
            rig_address(extra, l, generic_base(actual) + 16 * l);
        record(extra, 32);
        rig.c.event = &rig.event;
        ck_assert(rig_run(mem_handlers_of(extra), 0xf0));
        rig.c.event = NULL;
        uint8_t space = actual == MEM_SHARED ? PTX_SPACE_SHARED : actual == MEM_LOCAL ? PTX_SPACE_LOCAL : PTX_SPACE_GLOBAL;
        ck_assert_uint_eq(rig.event.space, space);
        ck_assert(rig.event.bytes == 16 && rig.event.store && !rig.event.atomic);
        for (uint32_t l = 4; l < 8; l++)
            ck_assert_uint_eq(rig.event.address[l], generic_base(actual) + 16 * l + 32);
    }
}
END_TEST

START_TEST(parameters_by_computed_address)
{
    static const uint32_t params[4] = { 11, 22, 33, 44 };
    rig.grid.launch.params = params;
    rig.grid.launch.param_bytes = 14;
    uint32_t extra = MEM_EXTRA(MEM_32, 0, MEM_PARAM, MEM_FIXED, 0);
    record(extra, 8);
    ck_assert(rig_run(mem_handlers_of(extra), FULL_MASK) && ((uint32_t *)row(&rig.w, RIG_DATA))[31] == 33);
    extra = MEM_EXTRA(MEM_32, 0, MEM_PARAM, MEM_ROW64, 0);
    for (uint32_t l = 0; l < WARP_SIZE; l++)
        rig_address(extra, l, l % 3 * 4);
    record(extra, 0);
    ck_assert(rig_run(mem_handlers_of(extra), FULL_MASK) && ((uint32_t *)row(&rig.w, RIG_DATA))[4] == 22);
    record(extra, 4);
    ck_assert(!rig_run(mem_handlers_of(extra), FULL_MASK) && rig.lane == 2 && rig.status == ST_ILLEGAL_ADDRESS);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu_mem");
    TCase *t = tcase_create("accesses");
    tcase_add_checked_fixture(t, rig_setup, rig_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, every_access, MEM_GLOBAL, MEM_PARAM);
    tcase_add_test(t, a_generic_warp_in_three_spaces);
    tcase_add_test(t, the_highest_lane_wins);
    tcase_add_test(t, edges_are_exact);
    tcase_add_test(t, an_odd_end_is_an_end);
    tcase_add_test(t, addresses_that_wrap_do_not_pass);
    tcase_add_test(t, a_report_names_the_neighbour);
    tcase_add_test(t, read_only_memory_is_not_stored_to);
    tcase_add_test(t, a_freed_range_is_gone);
    tcase_add_test(t, stepping_fills_the_event);
    tcase_add_test(t, parameters_by_computed_address);
    suite_add_tcase(s, t);
    return rig_main(s);
}
