/* atom and red. Lanes take effect in lane order; lanes that all mean one address are combined and written once, which is
 * one of the orders that hardware could have chosen too. Host atomics only where another host thread can see the memory. */
#include <string.h>

#include "emu/cluster.h"
#include "emu/half.h"
#include "emu/mem.h"
#include "emu/mem_atom.h"

__extension__ typedef unsigned __int128 uint128_t;
typedef uint64_t half_of_128 __attribute__((may_alias));

/* ---- arithmetic on bits ------------------------------------------------------------------------------------------ */

static float f32_of(uint32_t b) { float f; memcpy(&f, &b, 4); return f; }
static uint32_t bits_of(float f) { uint32_t b; memcpy(&b, &f, 4); return b; }

static uint64_t add_f64(uint64_t a, uint64_t b)
{
    double x, y;
    memcpy(&x, &a, 8);
    memcpy(&y, &b, 8);
    x += y;
    memcpy(&a, &x, 8);
    return a;
}

static uint32_t flush(uint32_t b) { return b & 0x7f800000u ? b : b & 0x80000000u; }

/* PTX: add.f32 on shared memory keeps subnormals; on global memory it flushes subnormal operands and results to zero. */
static uint32_t add_f32_keep(uint32_t a, uint32_t b, uint32_t unused)
{
    (void)unused;
    return bits_of(f32_of(a) + f32_of(b));
}

static uint32_t add_f32_flush(uint32_t a, uint32_t b, uint32_t unused)
{
    (void)unused;
    return flush(bits_of(f32_of(flush(a)) + f32_of(flush(b))));
}

static float bf16_value(uint16_t h) { return f32_of((uint32_t)h << 16); }

static uint16_t bf16_bits(float f)
{
    uint32_t b = bits_of(f);
    return (b & 0x7fffffffu) > 0x7f800000u ? 0x7fff : (uint16_t)((b + 0x7fffu + (b >> 16 & 1)) >> 16);
}

/* Rounding the f32 sum again is harmless: 24 bits are at least twice a half's 11, plus 2. */
static uint16_t add_f16(uint16_t a, uint16_t b) { return half_code(half_value(a) + half_value(b)); }
static uint16_t add_bf16(uint16_t a, uint16_t b) { return bf16_bits(bf16_value(a) + bf16_value(b)); }

/* The operand that is no NaN; -0 is less than +0. */
static bool less(float x, float y) { return x < y || (x == y && bits_of(x) > bits_of(y)); }
static uint16_t pick(uint16_t a, float x, uint16_t b, float y, bool min)
{
    if (x != x || y != y)
        return x == x ? a : y == y ? b : 0x7fff;
    return less(x, y) == min ? a : b;
}
static uint16_t min_f16(uint16_t a, uint16_t b) { return pick(a, half_value(a), b, half_value(b), true); }
static uint16_t max_f16(uint16_t a, uint16_t b) { return pick(a, half_value(a), b, half_value(b), false); }
static uint16_t min_bf16(uint16_t a, uint16_t b) { return pick(a, bf16_value(a), b, bf16_value(b), true); }
static uint16_t max_bf16(uint16_t a, uint16_t b) { return pick(a, bf16_value(a), b, bf16_value(b), false); }

static uint32_t pair(uint16_t (*f)(uint16_t, uint16_t), uint32_t a, uint32_t b)
{
    return (uint32_t)f((uint16_t)(a >> 16), (uint16_t)(b >> 16)) << 16 | f((uint16_t)a, (uint16_t)b);
}

/* ---- look, and compare and swap, of every size ------------------------------------------------------------------------------ */

#define SWAP(bits)                                                                                                    \
    static uint##bits##_t peek##bits(const uint##bits##_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }        \
    static bool swap##bits(uint##bits##_t *p, uint##bits##_t *old, uint##bits##_t new)                                \
    { return __atomic_compare_exchange_n(p, old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); }
SWAP(16)
SWAP(32)
SWAP(64)

static uint128_t peek128(const uint128_t *p)   /* may be torn: swap128 finds out */
{
    const half_of_128 *half = (const void *)p;
    return (uint128_t)__atomic_load_n(half + 1, __ATOMIC_RELAXED) << 64 | __atomic_load_n(half, __ATOMIC_RELAXED);
}

static bool swap128(uint128_t *p, uint128_t *old, uint128_t new)
{
    uint64_t lo = (uint64_t)*old, hi = (uint64_t)(*old >> 64);
    bool done;
    __asm__ volatile("lock cmpxchg16b %1" : "=@ccz"(done), "+m"(*p), "+a"(lo), "+d"(hi) : "b"((uint64_t)new), "c"((uint64_t)(new >> 64)) : "memory");
    *old = (uint128_t)hi << 64 | lo;
    return done;
}

/* ---- lanes -------------------------------------------------------------------------------------------------------- */

struct lanes {
    uint32_t mask;
    unsigned n;                                /* elements per lane */
    bool parallel;                             /* another host thread may touch the memory meanwhile */
    char *at[WARP_SIZE];
    uint32_t d[8], x[8], y;                    /* rows of each element; d[i] = 0: the old value is not wanted */
};

/* Pointers without mem_resolve's pains, when every lane is where the last ones were. */
static bool begin_fast(const struct insn *in, struct warp *w, struct ctx *c, unsigned bytes, struct lanes *a)
{
    unsigned space = MEM_SPACE(in->extra), form = MEM_FORM(in->extra);
    const struct range_cache *site = &c->sites[in->site];
    bool shared = space == MEM_SHARED, good = !c->event && (shared || (site->writable && site->hi - site->lo >= bytes && site->hi > site->lo));
    char *base = shared ? c->shared : NULL;
    uint64_t lo = shared ? 0 : site->lo, limit = shared ? (uint64_t)c->shared_bytes - bytes : site->hi - site->lo - bytes;
    if (!good || (in->extra & MEM_WIDE) || (shared && c->shared_bytes < bytes))
        return false;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        uint64_t x = form == MEM_FIXED ? in->imm : form == MEM_ROW32 ? ((const uint32_t *)row(w, in->a))[l] + in->imm
                                                                     : ((const uint64_t *)row(w, in->a))[l] + in->imm;
        if (shared)
            x = (uint32_t)x;
        good &= x - lo <= limit && !(x & (bytes - 1));
        a->at[l] = base + x;
    }
    return good;
}

static bool begin(const struct insn *in, struct warp *w, struct ctx *c, unsigned bytes, struct lanes *a)
{
    a->mask = insn_mask(in, w);
    if (!a->mask)
        return false;
    a->parallel = (c->parallel || (in->extra & MEM_STRONG)) && MEM_SPACE(in->extra) != MEM_SHARED;
    a->n = 1;
    a->d[0] = in->d;
    a->x[0] = in->b;
    a->y = in->c;
    if (in->extra & MEM_WIDE) {
        const struct mem_wide *wide = (const struct mem_wide *)(uintptr_t)in->imm;
        a->n = 1u << MEM_LOGVEC(in->extra);
        memcpy(a->d, wide->rows, sizeof a->d);
        memcpy(a->x, wide->operands, sizeof a->x);
    }
    return begin_fast(in, w, c, bytes, a) || mem_resolve(in, w, c, a->mask, bytes * a->n, a->at);
}

#define BITS 16
#include "emu/mem_atom_loop.h"
#define BITS 32
#include "emu/mem_atom_loop.h"
#define BITS 64
#include "emu/mem_atom_loop.h"
#define BITS 128
#include "emu/mem_atom_loop.h"

#define ATOM(op, type, bits, expression)                                                                              \
    static uint##bits##_t step_##op##_##type(uint##bits##_t old, uint##bits##_t x, uint##bits##_t y)                  \
    {                                                                                                                 \
        (void)old;                                                                                                    \
        (void)x;                                                                                                      \
        (void)y;                                                                                                      \
        return (uint##bits##_t)(expression);                                                                          \
    }                                                                                                                 \
    static const struct insn *atom_##op##_##type(const struct insn *in, struct warp *w, struct ctx *c)                \
    { return run##bits(step_##op##_##type, step_##op##_##type, in, w, c); }
#include "emu/mem_atom.def"
#undef ATOM

static const struct insn *atom_ADD_F32(const struct insn *in, struct warp *w, struct ctx *c)
{
    return run32(add_f32_flush, add_f32_keep, in, w, c);
}

handler atom_handler(enum atom_op op, enum atom_type type)
{
    static const handler table[ATOM_OPS][ATOM_TYPES] = {
#define ATOM(op, type, bits, expression) [ATOM_##op][ATOM_##type] = atom_##op##_##type,
#include "emu/mem_atom.def"
#undef ATOM
        [ATOM_ADD][ATOM_F32] = atom_ADD_F32,
    };
    return table[op][type];
}

/* ---- spans: reductions of asynchronous copies, element by element ----------------------------------------------------------- */

#define SPAN(name, bits, step)                                                                                        \
    static void span_##name(void *to, const void *from, size_t n, bool parallel)                                      \
    {                                                                                                                 \
        uint##bits##_t *p = to;                                                                                       \
        for (size_t i = 0; i < n; i++, p++) {                                                                         \
            uint##bits##_t x, old = peek##bits(p);                                                                    \
            memcpy(&x, (const char *)from + i * sizeof x, sizeof x);                                                  \
            if (!parallel)                                                                                            \
                *p = step(old, x, 0);                                                                                 \
            else                                                                                                      \
                while (!swap##bits(p, &old, step(old, x, 0)))                                                         \
                    ;                                                                                                 \
        }                                                                                                             \
    }
#define ATOM(op, type, bits, expression) SPAN(op##_##type, bits, step_##op##_##type)
#include "emu/mem_atom.def"
#undef ATOM
SPAN(ADD_F32, 32, add_f32_keep)

atom_span atom_span_of(enum atom_op op, enum atom_type type)
{
    static const atom_span table[ATOM_OPS][ATOM_TYPES] = {
#define ATOM(op, type, bits, expression) [ATOM_##op][ATOM_##type] = span_##op##_##type,
#include "emu/mem_atom.def"
#undef ATOM
        [ATOM_ADD][ATOM_F32] = span_ADD_F32,
    };
    return table[op][type];
}
