/* Every row of lane.def: its handlers agree with each other under all masks, in place, and on every level of host instructions; and inactive lanes
 * neither change nor fault. What the rows compute is checked by test_emu_lane_value and test_emu_lane_float. */
#include <check.h>
#include <string.h>

#include "emu/isa.h"
#include "emu/lane.h"

enum { ROW_BYTES = 512, N_ROWS = 6, GUARD = 4, MASK_A = 8, MASK_B = 12, MASK_C = 16, MASK_D = 20, MASK_Q = 24 };
struct frame { _Alignas(64) char bytes[64 + N_ROWS * ROW_BYTES]; };

static const uint64_t edges[] = {
    0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff,
    0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0xfffffffffffffffe, 0xfffffffffffffff0,
    0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f812345, 0xffc12345, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000,
    0x7f7fffff, 0x4f000000, 0xcf000000, 0x4effffff, 0x5f000000, 0x3f000000, 0x40490fdb, 0xc2fe0000, 0x3eaaaaab, 0x4b800001,
    0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x7ff4000000012345, 0xfff8000000012345,
    0x0000000000000001, 0x800fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff, 0x41e0000000000000, 0xc1e0000000000000, 0x43e0000000000000,
    0x3fe0000000000000, 0x400921fb54442d18, 0x3c003c00, 0xbc00fc00, 0x7c007e01, 0x00010400, 0x7bff03ff, 0x3555d555 };
enum { N_EDGES = sizeof edges / sizeof edges[0] };

static uint64_t seed;
static uint64_t next_random(void) { seed = seed * 6364136223846793005u + 1442695040888963407u; return seed ^ seed >> 29; }

static unsigned width_of(unsigned type)
{
    static const uint8_t widths[] = { [LANE_TYPE_U8] = 2, [LANE_TYPE_S8] = 2, [LANE_TYPE_U16] = 2, [LANE_TYPE_S16] = 2, [LANE_TYPE_U32] = 4,
                                      [LANE_TYPE_S32] = 4, [LANE_TYPE_U64] = 8, [LANE_TYPE_S64] = 8, [LANE_TYPE_F32] = 4, [LANE_TYPE_F64] = 8 };
    return type < sizeof widths ? widths[type] : 0;
}

static void fill_row(char *row, unsigned type)
{
    unsigned width = width_of(type);
    for (unsigned l = 0; l < WARP_SIZE && width; l++) {
        uint64_t v = next_random() % 3 ? edges[next_random() % N_EDGES] : next_random() << (next_random() % 40);
        if (type == LANE_TYPE_U8) v &= 255;
        if (type == LANE_TYPE_S8) v = (uint64_t)(int64_t)(int8_t)v;
        memcpy(row + l * width, &v, width);
    }
}

static void fill(struct frame *f, const struct lane_shape *s)
{
    uint32_t masks[] = { FULL_MASK, 0, (uint32_t)next_random(), (uint32_t)next_random(), (uint32_t)next_random(), (uint32_t)next_random(),
                         (uint32_t)next_random() };
    memcpy(f->bytes, masks, sizeof masks);
    fill_row(f->bytes + 64, s->d);
    fill_row(f->bytes + 64 + ROW_BYTES, s->a);
    fill_row(f->bytes + 64 + 2 * ROW_BYTES, s->b);
    fill_row(f->bytes + 64 + 3 * ROW_BYTES, s->c);
    fill_row(f->bytes + 64 + 4 * ROW_BYTES, s->e);
}

static uint32_t place(unsigned type, unsigned k, uint32_t mask) { return type == LANE_TYPE_P ? mask : 64 + k * ROW_BYTES; }

static struct insn record(enum lane_id id, uint64_t imm)
{
    const struct lane_shape *s = lane_shape(id);
    struct insn in = { .d = place(s->d, 0, MASK_D), .a = place(s->a, 1, MASK_A), .b = place(s->b, 2, MASK_B), .c = place(s->c, 3, MASK_C),
                       .guard = FRAME_TRUE, .imm = imm };
    in.extra = s->e ? 64 + 4 * ROW_BYTES : MASK_Q;
    return in;
}

static uint32_t run(struct frame *f, const struct insn *in, handler h, uint32_t mask, uint32_t carry)
{
    struct warp w = { .frame = f->bytes, .mask = mask, .carry = carry };
    ck_assert_ptr_eq(h(in, &w, NULL), in + 1);
    return w.carry;
}

/* Lanes of `got` outside m are those of `before`, inside those of `all`. */
static void check_blend(enum lane_id id, const struct frame *got, const struct frame *before, const struct frame *all, uint32_t m)
{
    const struct lane_shape *s = lane_shape(id);
    unsigned width = width_of(s->d);
    ck_assert_msg(memcmp(got->bytes + 64 + ROW_BYTES, before->bytes + 64 + ROW_BYTES, 4 * ROW_BYTES) == 0, "%s writes a source", lane_name(id));
    for (unsigned l = 0; l < WARP_SIZE && width; l++) {
        const struct frame *want = m >> l & 1 ? all : before;
        ck_assert_msg(memcmp(got->bytes + 64 + l * width, want->bytes + 64 + l * width, width) == 0, "%s: lane %u under mask %08x", lane_name(id), l, m);
    }
    for (unsigned at = MASK_D; at <= MASK_Q; at += MASK_Q - MASK_D) {
        uint32_t was, is, full;
        memcpy(&was, before->bytes + at, 4);
        memcpy(&is, got->bytes + at, 4);
        memcpy(&full, all->bytes + at, 4);
        ck_assert_msg(is == ((was & ~m) | (full & m)), "%s: predicate under mask %08x", lane_name(id), m);
    }
}

/* imm values that mean something for all kinds of rows: roundings, truth tables, flags, formats. */
static const uint64_t immediates[] = { 0, 1, 3, 0x96, 0x1050a /* a format: f16 with NaN alone */, 0x2010403 };

static void check_row(enum lane_id id, uint64_t imm, int level)
{
    const struct lane_shape *s = lane_shape(id);
    struct insn in = record(id, imm);
    struct lane_pair h = lane_handlers_of(id, level), base = lane_handlers_of(id, ISA_BASE);
    for (unsigned round = 0; round < 2; round++) {
        struct frame before, all, got;
        fill(&before, s);
        uint32_t carry = (uint32_t)next_random();
        all = before;
        uint32_t carry_all = run(&all, &in, base.full, FULL_MASK, carry);
        uint32_t masks[] = { FULL_MASK, 0, 1, 0x80000000u, 0x0000ffffu, (uint32_t)next_random() };
        got = before;
        ck_assert_uint_eq(run(&got, &in, h.full, FULL_MASK, carry), carry_all);
        check_blend(id, &got, &before, &all, FULL_MASK);
        for (unsigned k = 0; k < sizeof masks / sizeof masks[0]; k++) {
            uint32_t m = masks[k];
            got = before;
            ck_assert_uint_eq(run(&got, &in, h.masked, m, carry), (carry & ~m) | (carry_all & m));
            check_blend(id, &got, &before, &all, m);
        }
        /* the guard, negated: lanes where it is not set */
        struct insn guarded = in;
        guarded.guard = GUARD;
        guarded.guard_flip = 0xffffffffu;
        uint32_t guard = (uint32_t)next_random();
        memcpy(before.bytes + GUARD, &guard, 4);
        got = before;
        run(&got, &guarded, h.masked, 0xffff00ffu, carry);
        check_blend(id, &got, &before, &all, 0xffff00ffu & ~guard);
        /* in place */
        if (s->d != LANE_TYPE_P && width_of(s->a) == width_of(s->d)) {
            struct insn same = in;
            same.d = same.a;
            got = before;
            run(&got, &same, h.full, FULL_MASK, carry);
            ck_assert_msg(memcmp(got.bytes + same.a, all.bytes + in.d, WARP_SIZE * width_of(s->d)) == 0, "%s in place", lane_name(id));
        }
    }
}

/* Rows that read a format or a width out of imm get those that decoding makes. */
static bool suits(enum lane_id id, uint64_t imm)
{
    if (id == LANE_small16_f64 || id == LANE_small32_f64 || id == LANE_small_random || id == LANE_small_f32) return (imm >> 8 & 255) >= 2;
    return id != LANE_cvt_pack || ((imm & 31) >= 2 && (imm & 31) <= 16);
}

START_TEST(rows_agree)
{
    int level = _i;
    if (!isa_usable(level)) return;
    for (unsigned id = 0; id < LANE_COUNT; id++)
        for (unsigned k = 0; k < sizeof immediates / sizeof immediates[0]; k++) {
            seed = id * 1000003u + k;
            if (suits((enum lane_id)id, immediates[k])) check_row((enum lane_id)id, immediates[k], level);
        }
}
END_TEST

/* The rounding mode that the host program set is as it was after a directed row. */
START_TEST(rounding_is_put_back)
{
    struct frame f;
    fill(&f, lane_shape(LANE_add_f32_dir));
    struct insn in = record(LANE_add_f32_dir, LANE_ROUND_UP);
    unsigned before = __builtin_ia32_stmxcsr() & 0xffc0u;
    run(&f, &in, lane_handlers(LANE_add_f32_dir).full, FULL_MASK, 0);
    ck_assert_uint_eq(__builtin_ia32_stmxcsr() & 0xffc0u, before);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu lanes");
    TCase *t = tcase_create("rows");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, rows_agree, 0, ISA_COUNT);
    tcase_add_test(t, rounding_is_put_back);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
