/* Atomics against a model that takes lane after lane, with duplicates; values at the edges of each operation; host threads. */
#include "tests/unit/mem_rig.h"

#include <pthread.h>

#include "emu/mem_atom.h"

enum { X = RIG_DATA + RIG_ROW, Y = RIG_DATA + 2 * RIG_ROW };

static uint64_t seed = 7;
static uint32_t rnd(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}

static const struct { enum atom_type type; unsigned bytes; enum mem_kind kind; } types[] = {
    { ATOM_U32, 4, MEM_32 }, { ATOM_S32, 4, MEM_32 }, { ATOM_U64, 8, MEM_64 }, { ATOM_S64, 8, MEM_64 }, { ATOM_B16, 2, MEM_16 },
};
enum { N_TYPES = sizeof types / sizeof types[0] };

/* Written apart from the tables under test, on 64-bit values. */
static uint64_t step(enum atom_op op, enum atom_type t, uint64_t old, uint64_t x, uint64_t y)
{
    int64_t so = t == ATOM_S32 ? (int32_t)old : (int64_t)old, sx = t == ATOM_S32 ? (int32_t)x : (int64_t)x;
    bool is_signed = t == ATOM_S32 || t == ATOM_S64;
    bool smaller = is_signed ? sx < so : x < old, larger = is_signed ? sx > so : x > old;
    switch (op) {
    case ATOM_ADD: return old + x;
    case ATOM_MIN: return smaller ? x : old;
    case ATOM_MAX: return larger ? x : old;
    case ATOM_INC: return old >= x ? 0 : old + 1;
    case ATOM_DEC: return old == 0 || old > x ? x : old - 1;
    case ATOM_AND: return old & x;
    case ATOM_OR: return old | x;
    case ATOM_XOR: return old ^ x;
    case ATOM_EXCH: return x;
    default: return old == x ? y : old;
    }
}

static uint64_t value(const void *p, unsigned bytes)
{
    uint64_t x = 0;
    memcpy(&x, p, bytes);
    return x;
}

/* at: where the lanes go: 0 all to one place, 1 few places, 2 each its own. */
static void check_one(enum atom_op op, unsigned t, unsigned space, unsigned actual, int at, uint32_t mask, bool old)
{
    unsigned bytes = types[t].bytes;
    char *memory = actual == MEM_SHARED ? rig.c.shared : (char *)(uintptr_t)rig.lo, want[256];
    uint64_t base = space == MEM_SHARED ? 0 : actual == MEM_SHARED ? EMU_SHARED_WINDOW : rig.lo, olds[WARP_SIZE] = { 0 };
    uint32_t extra = MEM_EXTRA(types[t].kind, 0, space, MEM_ROW64, MEM_ATOMIC);
    rig.in[0] = (struct insn){ .a = RIG_ADDRESS, .d = old ? RIG_DATA : 0, .b = X, .c = Y, .imm = 0, .extra = extra };
    for (unsigned i = 0; i < 256; i += bytes)
        memcpy(memory + i, &(uint64_t){ rnd() % 5 }, bytes);
    memcpy(want, memory, 256);
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        uint64_t off = (at == 0 ? 3 : at == 1 ? rnd() % 4 : l) * bytes, x = rnd() % 2 ? rnd() % 5 : (uint64_t)-(int64_t)(rnd() % 5), y = rnd();
        rig_address(extra, l, mask >> l & 1 ? base + off : 0xdeadbeefdeadu);
        memcpy(rig.w.frame + X + l * bytes, &x, bytes);
        memcpy(rig.w.frame + Y + l * bytes, &y, bytes);
        if (!(mask >> l & 1))
            continue;
        olds[l] = value(want + off, bytes);
        uint64_t now = step(op, types[t].type, olds[l], value(&x, bytes), value(&y, bytes));
        memcpy(want + off, &now, bytes);
    }
    handler h = atom_handler(op, types[t].type);
    ck_assert(rig_run((struct mem_handlers){ h, h }, mask));
    ck_assert_msg(!memcmp(memory, want, 256), "op %d type %u space %u at %d mask %x", op, t, space, at, mask);
    for (uint32_t l = 0; l < WARP_SIZE && old; l++)
        if (mask >> l & 1)
            ck_assert_uint_eq(value(rig.w.frame + RIG_DATA + l * bytes, bytes), olds[l]);
}

START_TEST(integers_against_a_model)
{
    static const uint32_t masks[] = { FULL_MASK, 0xaaaaaaaau, 0x80000001u, 0x10u, 0 };
    rig.c.parallel = _i;
    for (int op = 0; op < ATOM_OPS; op++)
        for (unsigned t = 0; t < N_TYPES; t++) {
            if (!atom_handler((enum atom_op)op, types[t].type))
                continue;
            for (int at = 0; at < 3; at++)
                for (unsigned m = 0; m < sizeof masks / sizeof masks[0]; m++)
                    for (int old = 0; old < 2; old++)
                        for (int again = 0; again < 2; again++) {
                            check_one((enum atom_op)op, t, MEM_GLOBAL, MEM_GLOBAL, at, masks[m], old);
                            check_one((enum atom_op)op, t, MEM_SHARED, MEM_SHARED, at, masks[m], old);
                            check_one((enum atom_op)op, t, MEM_GENERIC, MEM_GLOBAL, at, masks[m], old);
                            check_one((enum atom_op)op, t, MEM_GENERIC, MEM_SHARED, at, masks[m], old);
                        }
        }
}
END_TEST

/* One lane, one place: memory and operand in, memory out. */
static uint64_t once(enum atom_op op, enum atom_type type, enum mem_kind kind, bool shared, uint64_t memory, uint64_t x)
{
    char *p = shared ? rig.c.shared : (char *)(uintptr_t)rig.lo;
    unsigned bytes = mem_kind_bytes(kind);
    uint32_t extra = MEM_EXTRA(kind, 0, shared ? MEM_SHARED : MEM_GLOBAL, MEM_ROW64, MEM_ATOMIC);
    rig.in[0] = (struct insn){ .a = RIG_ADDRESS, .b = X, .c = Y, .extra = extra };
    rig_address(extra, 5, shared ? 0 : rig.lo);
    memcpy(p, &memory, bytes);
    memcpy(rig.w.frame + X + 5 * bytes, &x, bytes);
    handler h = atom_handler(op, type);
    ck_assert(rig_run((struct mem_handlers){ h, h }, 1u << 5));
    return value(p, bytes);
}

START_TEST(floating_point)
{
    for (int shared = 0; shared < 2; shared++) {
        ck_assert_uint_eq(once(ATOM_ADD, ATOM_F32, MEM_32, shared, 0x3f800000, 0x40000000), 0x40400000);
        /* subnormals: kept in shared memory, flushed in global */
        ck_assert_uint_eq(once(ATOM_ADD, ATOM_F32, MEM_32, shared, 0x00000001, 0x00000001), shared ? 2 : 0);
        ck_assert_uint_eq(once(ATOM_ADD, ATOM_F32, MEM_32, shared, 0x80000001, 0x80000000), shared ? 0x80000001u : 0x80000000u);
        ck_assert_uint_eq(once(ATOM_ADD, ATOM_F32, MEM_32, shared, 0x00800001, 0x80800000), shared ? 1 : 0);
        ck_assert_uint_eq(once(ATOM_ADD, ATOM_F64, MEM_64, shared, 0x3ff0000000000000u, 0x4000000000000000u), 0x4008000000000000u);
        ck_assert_uint_eq(once(ATOM_ADD, ATOM_F64, MEM_64, shared, 1, 1), 2);
    }
    ck_assert_uint_eq(once(ATOM_ADD, ATOM_F16, MEM_16, false, 0x3c00, 0x4000), 0x4200);        /* 1 + 2 */
    ck_assert_uint_eq(once(ATOM_ADD, ATOM_F16, MEM_16, false, 0x0001, 0x0001), 0x0002);        /* subnormals stay */
    ck_assert_uint_eq(once(ATOM_ADD, ATOM_F16, MEM_16, false, 0x03ff, 0x0001), 0x0400);
    ck_assert_uint_eq(once(ATOM_ADD, ATOM_F16, MEM_16, false, 0x7bff, 0x4c00), 0x7c00);        /* 65504 + 16 is a tie: to infinity */
    ck_assert_uint_eq(once(ATOM_ADD, ATOM_F16, MEM_16, false, 0x7bff, 0x4b80), 0x7bff);        /* 65504 + 15 */
    ck_assert_uint_eq(once(ATOM_ADD, ATOM_F16, MEM_16, false, 0x6800, 0x3c00), 0x6800);        /* 2048 + 1 is a tie: to even */
    ck_assert_uint_eq(once(ATOM_ADD, ATOM_F16, MEM_16, false, 0x6801, 0x3c00), 0x6802);        /* 2050 + 1 */
    ck_assert_uint_eq(once(ATOM_ADD, ATOM_F16, MEM_16, false, 0x7c00, 0xfc00), 0x7fff);
    ck_assert_uint_eq(once(ATOM_ADD, ATOM_F16X2, MEM_32, false, 0x3c003c00, 0x40004400), 0x42004500);
    ck_assert_uint_eq(once(ATOM_ADD, ATOM_BF16, MEM_16, false, 0x3f80, 0x4000), 0x4040);
    ck_assert_uint_eq(once(ATOM_ADD, ATOM_BF16, MEM_16, false, 0x4380, 0x3f80), 0x4380);       /* 256 + 1: to even */
    ck_assert_uint_eq(once(ATOM_ADD, ATOM_BF16X2, MEM_32, false, 0x3f803f80, 0x40003f80), 0x40404000);
    ck_assert_uint_eq(once(ATOM_MIN, ATOM_F16, MEM_16, false, 0x0000, 0x8000), 0x8000);
    ck_assert_uint_eq(once(ATOM_MAX, ATOM_F16, MEM_16, false, 0x8000, 0x0000), 0x0000);
    ck_assert_uint_eq(once(ATOM_MIN, ATOM_F16, MEM_16, false, 0x7e00, 0x4000), 0x4000);
    ck_assert_uint_eq(once(ATOM_MAX, ATOM_BF16, MEM_16, false, 0xbf80, 0x7fc0), 0xbf80);
    ck_assert_uint_eq(once(ATOM_INC, ATOM_U32, MEM_32, true, 5, 5), 0);
    ck_assert_uint_eq(once(ATOM_INC, ATOM_U32, MEM_32, true, 7, 5), 0);
    ck_assert_uint_eq(once(ATOM_DEC, ATOM_U32, MEM_32, true, 0, 5), 5);
    ck_assert_uint_eq(once(ATOM_DEC, ATOM_U32, MEM_32, true, 6, 5), 5);
    ck_assert_uint_eq(once(ATOM_DEC, ATOM_U32, MEM_32, true, 5, 5), 4);
}
END_TEST

START_TEST(sixteen_bytes)
{
    uint32_t extra = MEM_EXTRA(MEM_128, 0, MEM_GLOBAL, MEM_ROW64, MEM_ATOMIC);
    uint64_t *memory = (uint64_t *)(uintptr_t)rig.lo, *d = row(&rig.w, RIG_DATA), *x = row(&rig.w, X), *y = row(&rig.w, Y);
    rig.c.parallel = _i;
    rig.in[0] = (struct insn){ .a = RIG_ADDRESS, .d = RIG_DATA, .b = X, .c = Y, .extra = extra };
    for (uint32_t l = 0; l < 2; l++) {         /* lane 0 finds {1, 2}, lane 1 does not any more */
        rig_address(extra, l, rig.lo);
        x[2 * l] = 1;
        x[2 * l + 1] = 2;
        y[2 * l] = 30 + l;
        y[2 * l + 1] = 40 + l;
    }
    memory[0] = 1;
    memory[1] = 2;
    handler h = atom_handler(ATOM_CAS, ATOM_B128);
    ck_assert(rig_run((struct mem_handlers){ h, h }, 3));
    ck_assert(memory[0] == 30 && memory[1] == 40 && d[0] == 1 && d[1] == 2 && d[2] == 30 && d[3] == 40);
    h = atom_handler(ATOM_EXCH, ATOM_B128);
    ck_assert(rig_run((struct mem_handlers){ h, h }, 3));
    ck_assert(memory[0] == 1 && memory[1] == 2 && d[0] == 30 && d[3] == 2);
}
END_TEST

START_TEST(vectors)
{
    static struct mem_wide wide = { .offset = 16, .rows = { RIG_DATA, RIG_DATA + 128 }, .operands = { X, X + 128 } };
    uint32_t extra = MEM_EXTRA(MEM_32, 1, MEM_GLOBAL, MEM_ROW64, MEM_ATOMIC | MEM_WIDE);
    float *memory = (float *)(uintptr_t)rig.lo;
    for (int i = 0; i < 8; i++)
        memory[i] = (float)i;
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        rig_address(extra, l, rig.lo + 8 * (l & 1));
        ((float *)row(&rig.w, X))[l] = 1;
        ((float *)row(&rig.w, X + 128))[l] = 2;
    }
    rig.in[0] = (struct insn){ .a = RIG_ADDRESS, .b = X, .imm = (uintptr_t)&wide, .extra = extra };
    handler h = atom_handler(ATOM_ADD, ATOM_F32);
    ck_assert(rig_run((struct mem_handlers){ h, h }, FULL_MASK));
    ck_assert(memory[3] == 3 && memory[4] == 20 && memory[5] == 37 && memory[6] == 22 && memory[7] == 39);
    ck_assert(((float *)row(&rig.w, RIG_DATA))[2] == 5 && ((float *)row(&rig.w, RIG_DATA + 128))[3] == 9);
    rig_address(extra, 9, rig.lo + 4);         /* aligned for an element, not for the vector */
    ck_assert(!rig_run((struct mem_handlers){ h, h }, FULL_MASK) && rig.status == ST_MISALIGNED_ADDRESS && rig.lane == 9);
}
END_TEST

START_TEST(faults)
{
    handler h = atom_handler(ATOM_ADD, ATOM_U32);
    uint32_t extra = MEM_EXTRA(MEM_32, 0, MEM_GENERIC, MEM_ROW64, MEM_ATOMIC);
    rig.in[0] = (struct insn){ .a = RIG_ADDRESS, .b = X, .extra = extra };
    for (uint32_t l = 0; l < WARP_SIZE; l++)
        rig_address(extra, l, rig.lo + 4 * l);
    ck_assert(rig_run((struct mem_handlers){ h, h }, FULL_MASK));
    rig_address(extra, 3, EMU_LOCAL_WINDOW + 8);
    ck_assert(!rig_run((struct mem_handlers){ h, h }, FULL_MASK) && rig.status == ST_INVALID_ADDRESS_SPACE && rig.lane == 3);
    rig_address(extra, 3, rig.hi);
    ck_assert(!rig_run((struct mem_handlers){ h, h }, FULL_MASK) && rig.status == ST_ILLEGAL_ADDRESS && rig.lane == 3);
    ck_assert_msg(strstr(rig.report, "atomic on 4 bytes"), "%s", rig.report);
    rig_range(rig.lo + 16384, rig.lo + 20480, true, "parameters");
    rig_address(extra, 3, rig.lo + 16384);
    ck_assert(!rig_run((struct mem_handlers){ h, h }, 8) && rig.status == ST_ILLEGAL_ADDRESS);
}
END_TEST

/* Several workers, one counter each of several kinds. */
enum { THREADS = 4, ROUNDS = 2000 };

static void *hammer(void *arg)
{
    struct rig *r = arg;
    static const struct { enum atom_op op; enum atom_type type; } what[] = { { ATOM_ADD, ATOM_U32 }, { ATOM_ADD, ATOM_F32 }, { ATOM_INC, ATOM_U32 } };
    for (int i = 0; i < ROUNDS; i++)
        for (unsigned k = 0; k < 3; k++) {
            r->in[0].imm = 64 * k;
            atom_handler(what[k].op, what[k].type)(r->in, &r->w, &r->c);
        }
    return NULL;
}

START_TEST(nothing_is_lost_between_threads)
{
    static struct rig copies[THREADS];
    pthread_t t[THREADS];
    uint32_t extra = MEM_EXTRA(MEM_32, 0, MEM_GLOBAL, MEM_ROW64, MEM_ATOMIC);
    memset((char *)(uintptr_t)rig.lo, 0, 256);
    rig.c.parallel = true;
    rig.in[0] = (struct insn){ .a = RIG_ADDRESS, .b = X, .extra = extra };
    for (int i = 0; i < THREADS; i++) {
        copies[i] = rig;
        copies[i].c.sites = calloc(RIG_SITES, sizeof *rig.c.sites);
        mem_sites_flush(&copies[i].c);
        copies[i].w.frame = aligned_alloc(64, RIG_FRAME);
        memset(copies[i].w.frame, 0xff, 64);
        for (uint32_t l = 0; l < WARP_SIZE; l++) {
            ((uint64_t *)row(&copies[i].w, RIG_ADDRESS))[l] = rig.lo + (i & 1 ? 0 : 4 * (l & 3));
            ((uint32_t *)row(&copies[i].w, X))[l] = 0x3f800000;
        }
        ck_assert(!pthread_create(&t[i], NULL, hammer, &copies[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        free(copies[i].w.frame);
        free(copies[i].c.sites);
    }
    uint32_t ints = 0, incs = 0;
    float floats = 0;
    for (unsigned i = 0; i < 4; i++) {
        ints += ((uint32_t *)(uintptr_t)rig.lo)[i];
        floats += ((float *)(uintptr_t)rig.lo)[16 + i];
        incs += ((uint32_t *)(uintptr_t)rig.lo)[32 + i];
    }
    ck_assert_uint_eq(ints, 0x3f800000u * (THREADS * ROUNDS * WARP_SIZE));
    ck_assert(floats == THREADS * ROUNDS * WARP_SIZE);
    ck_assert_uint_eq(incs, THREADS * ROUNDS * WARP_SIZE);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu_mem_atom");
    TCase *t = tcase_create("atomics");
    tcase_add_checked_fixture(t, rig_setup, rig_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, integers_against_a_model, 0, 2);
    tcase_add_test(t, floating_point);
    tcase_add_loop_test(t, sixteen_bytes, 0, 2);
    tcase_add_test(t, vectors);
    tcase_add_test(t, faults);
    tcase_add_test(t, nothing_is_lost_between_threads);
    suite_add_tcase(s, t);
    return rig_main(s);
}
