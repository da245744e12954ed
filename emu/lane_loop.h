/* Turns the rows of lane.def into handlers. Included by emu/isa_lane_*.c only, which are compiled once for each level of host vector
 * instructions; LANE_ISA names the level.
 *
 * A row LANE2(name, D, A, B, body) becomes name_full and name_masked: loops over 32 lanes that the compiler vectorises. `body` is an
 * expression in a, b, c (values of the row's types), p (the lane's bit of a predicate source) and imm (the record's immediate). It is evaluated for
 * inactive lanes too, so it must be free of faults for every value; what it gives there is not stored.
 *
 * Rows of one record either are the same row or do not overlap: hence the ivdep, and no run-time alias checks. Rows hold whatever type was
 * stored last, hence may_alias. */
#ifndef HEDDLE_EMU_LANE_LOOP_H
#define HEDDLE_EMU_LANE_LOOP_H
#include <math.h>
#include <string.h>

#include "emu/record.h"
#include "emu/lane.h"

#define LANE_PASTE2(a, b) a##_##b
#define LANE_PASTE(a, b) LANE_PASTE2(a, b)
#define LANE_TABLE(part) LANE_PASTE(part, LANE_ISA)     /* lane_int_avx2 */

/* Type tokens: ROW_ is the element of a row, VAL_ what a body sees. 8-bit values live extended in 16-bit elements. */
typedef uint16_t ROW_U8 __attribute__((may_alias));
typedef int16_t  ROW_S8 __attribute__((may_alias));
typedef uint16_t ROW_U16 __attribute__((may_alias));
typedef int16_t  ROW_S16 __attribute__((may_alias));
typedef uint32_t ROW_U32 __attribute__((may_alias));
typedef int32_t  ROW_S32 __attribute__((may_alias));
typedef uint64_t ROW_U64 __attribute__((may_alias));
typedef int64_t  ROW_S64 __attribute__((may_alias));
typedef float    ROW_F32 __attribute__((may_alias));
typedef double   ROW_F64 __attribute__((may_alias));
typedef uint8_t  VAL_U8;
typedef int8_t   VAL_S8;
typedef uint16_t VAL_U16;
typedef int16_t  VAL_S16;
typedef uint32_t VAL_U32;
typedef int32_t  VAL_S32;
typedef uint64_t VAL_U64;
typedef int64_t  VAL_S64;
typedef float    VAL_F32;
typedef double   VAL_F64;

#define LANE_ROW(T, off) ((ROW_##T *)__builtin_assume_aligned(w->frame + (off), 64))
#define LANE_GET(T, row_, l) ((VAL_##T)(row_)[l])
#define LANE_PUT(T, value) ((ROW_##T)(VAL_##T)(value))
#define LANE_FOR _Pragma("GCC ivdep") for (unsigned l = 0; l < WARP_SIZE; l++)

/* A mask as vectors of one bit per lane, for elements of each width. 16-bit elements need the mask spread out first. */
static const uint32_t lane_bit4[WARP_SIZE] __attribute__((aligned(64))) = {
    1u << 0, 1u << 1, 1u << 2, 1u << 3, 1u << 4, 1u << 5, 1u << 6, 1u << 7, 1u << 8, 1u << 9, 1u << 10, 1u << 11, 1u << 12, 1u << 13,
    1u << 14, 1u << 15, 1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23, 1u << 24, 1u << 25, 1u << 26,
    1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31 };
static const uint64_t lane_bit8[WARP_SIZE] __attribute__((aligned(64))) = {
    1u << 0, 1u << 1, 1u << 2, 1u << 3, 1u << 4, 1u << 5, 1u << 6, 1u << 7, 1u << 8, 1u << 9, 1u << 10, 1u << 11, 1u << 12, 1u << 13,
    1u << 14, 1u << 15, 1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23, 1u << 24, 1u << 25, 1u << 26,
    1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31 };

struct lane_spread { uint16_t bit[WARP_SIZE] __attribute__((aligned(64))); };
static inline struct lane_spread lane_spread(uint32_t m) {
    struct lane_spread s;
    for (unsigned h = 0; h < 2; h++) {
        uint32_t half = m >> (16 * h) & 0xffff;
        for (unsigned l = 0; l < 16; l++) s.bit[16 * h + l] = (uint16_t)(half & lane_bit4[l]);
    }
    return s;
}

/* LANE_SEL(D, m, x) prepares mask m under the name x for destinations of type D; LANE_ON tests lane l. */
#define LANE_SEL_U8(m, x)  const struct lane_spread x = lane_spread(m)
#define LANE_SEL_S8(m, x)  LANE_SEL_U8(m, x)
#define LANE_SEL_U16(m, x) LANE_SEL_U8(m, x)
#define LANE_SEL_S16(m, x) LANE_SEL_U8(m, x)
#define LANE_SEL_U32(m, x) const uint32_t x = (m)
#define LANE_SEL_S32(m, x) LANE_SEL_U32(m, x)
#define LANE_SEL_F32(m, x) LANE_SEL_U32(m, x)
#define LANE_SEL_U64(m, x) const uint64_t x = (m)
#define LANE_SEL_S64(m, x) LANE_SEL_U64(m, x)
#define LANE_SEL_F64(m, x) LANE_SEL_U64(m, x)
#define LANE_ON_U8(x, l)  ((x).bit[l] != 0)
#define LANE_ON_S8(x, l)  LANE_ON_U8(x, l)
#define LANE_ON_U16(x, l) LANE_ON_U8(x, l)
#define LANE_ON_S16(x, l) LANE_ON_U8(x, l)
#define LANE_ON_U32(x, l) (((x) & lane_bit4[l]) != 0)
#define LANE_ON_S32(x, l) LANE_ON_U32(x, l)
#define LANE_ON_F32(x, l) LANE_ON_U32(x, l)
#define LANE_ON_U64(x, l) (((x) & lane_bit8[l]) != 0)
#define LANE_ON_S64(x, l) LANE_ON_U64(x, l)
#define LANE_ON_F64(x, l) LANE_ON_U64(x, l)

#define LANE_ARGS const struct insn *in, struct warp *w, struct ctx *ctx
#define LANE_HEAD_MASKED(name)                                                                                                  \
    const uint32_t m = insn_mask(in, w);                                                                                        \
    if (m == 0) return in + 1;                                                                                                  \
    if (m == FULL_MASK) return name##_full(in, w, ctx)

/* SRC declares the sources' rows, VALUES loads one lane of them. */
#define LANE_MAKE(name, D, SRC, VALUES, body)                                                                                   \
    static const struct insn *name##_full(LANE_ARGS) {                                                                          \
        (void)ctx;                                                                                                              \
        ROW_##D *const rd = LANE_ROW(D, in->d);                                                                                 \
        SRC                                                                                                                     \
        LANE_FOR { VALUES rd[l] = LANE_PUT(D, body); }                                                                          \
        return in + 1;                                                                                                          \
    }                                                                                                                           \
    static const struct insn *name##_masked(LANE_ARGS) {                                                                        \
        LANE_HEAD_MASKED(name);                                                                                                 \
        ROW_##D *const rd = LANE_ROW(D, in->d);                                                                                 \
        SRC                                                                                                                     \
        LANE_SEL_##D(m, sel);                                                                                                   \
        LANE_FOR { VALUES ROW_##D r = LANE_PUT(D, body); rd[l] = LANE_ON_##D(sel, l) ? r : rd[l]; }                             \
        return in + 1;                                                                                                          \
    }

#define LANE_SRC1(A) const ROW_##A *const ra = LANE_ROW(A, in->a); const uint64_t imm = in->imm; (void)imm;
#define LANE_SRC2(A, B) LANE_SRC1(A) const ROW_##B *const rb = LANE_ROW(B, in->b);
#define LANE_SRC3(A, B, C) LANE_SRC2(A, B) const ROW_##C *const rc = LANE_ROW(C, in->c);
#define LANE_VAL1(A) const VAL_##A a = LANE_GET(A, ra, l); (void)a;
#define LANE_VAL2(A, B) LANE_VAL1(A) const VAL_##B b = LANE_GET(B, rb, l); (void)b;
#define LANE_VAL3(A, B, C) LANE_VAL2(A, B) const VAL_##C c = LANE_GET(C, rc, l); (void)c;

#define LANE_HANDLER1(name, D, A, body)       LANE_MAKE(name, D, LANE_SRC1(A), LANE_VAL1(A), body)
#define LANE_HANDLER2(name, D, A, B, body)    LANE_MAKE(name, D, LANE_SRC2(A, B), LANE_VAL2(A, B), body)
#define LANE_HANDLER3(name, D, A, B, C, body) LANE_MAKE(name, D, LANE_SRC3(A, B, C), LANE_VAL3(A, B, C), body)
/* The fourth source, e, has its row in the record's extra word. */
#define LANE_HANDLER4(name, D, A, B, C, E, body)                                                                                \
    LANE_MAKE(name, D, LANE_SRC3(A, B, C) const ROW_##E *const re = LANE_ROW(E, in->extra);,                                    \
              LANE_VAL3(A, B, C) const VAL_##E e = LANE_GET(E, re, l);, body)
/* The third source is a predicate: p. */
#define LANE_HANDLERP(name, D, A, B, body)                                                                                      \
    LANE_MAKE(name, D, LANE_SRC2(A, B) LANE_SEL_##D(mask_at(w, in->c), cond);,                                                  \
              LANE_VAL2(A, B) const bool p = LANE_ON_##D(cond, l);, body)

/* The destination is a predicate: a mask gathered by or-ing lane bits, at the width of the sources. */
#define LANE_GATHER_4(test, VALUES, r) LANE_FOR { VALUES r |= (test) ? lane_bit4[l] : 0u; }
#define LANE_GATHER_8(test, VALUES, r)                                                                                          \
    { uint64_t wide = 0; LANE_FOR { VALUES wide |= (test) ? lane_bit8[l] : 0u; } r = (uint32_t)wide; }
#define LANE_GATHER_U16 LANE_GATHER_4
#define LANE_GATHER_S16 LANE_GATHER_4
#define LANE_GATHER_U32 LANE_GATHER_4
#define LANE_GATHER_S32 LANE_GATHER_4
#define LANE_GATHER_F32 LANE_GATHER_4
#define LANE_GATHER_U64 LANE_GATHER_8
#define LANE_GATHER_S64 LANE_GATHER_8
#define LANE_GATHER_F64 LANE_GATHER_8

/* A function of a whole row, name_row(out, in), whose work is too long to be there twice. */
#define LANE_HANDLER_ROWS1(name, D, A)                                                                                          \
    static const struct insn *name##_masked(LANE_ARGS) {                                                                        \
        (void)ctx;                                                                                                              \
        const uint32_t m = insn_mask(in, w);                                                                                    \
        if (m == 0) return in + 1;                                                                                              \
        ROW_##D *const rd = LANE_ROW(D, in->d);                                                                                 \
        VAL_##D r[WARP_SIZE] __attribute__((aligned(64)));                                                                      \
        name##_row(r, LANE_ROW(A, in->a));                                                                                      \
        LANE_SEL_##D(m, sel);                                                                                                   \
        LANE_FOR { rd[l] = LANE_ON_##D(sel, l) ? r[l] : rd[l]; }                                                                \
        return in + 1;                                                                                                          \
    }                                                                                                                           \
    static const struct insn *name##_full(LANE_ARGS) {                                                                          \
        (void)ctx;                                                                                                              \
        VAL_##D r[WARP_SIZE] __attribute__((aligned(64)));                                                                      \
        name##_row(r, LANE_ROW(A, in->a));                                                                                      \
        memcpy(LANE_ROW(D, in->d), r, sizeof r);                                                                                \
        return in + 1;                                                                                                          \
    }

static inline uint32_t *lane_mask_row(struct warp *w, uint32_t off) { return (uint32_t *)(void *)(w->frame + off); }

#define LANE_TEST(name, A, SRC, VALUES, body)                                                                                   \
    static inline uint32_t name##_test(const struct insn *in, struct warp *w) {                                                 \
        SRC                                                                                                                     \
        uint32_t r = 0;                                                                                                         \
        LANE_GATHER_##A(body, VALUES, r)                                                                                        \
        return r;                                                                                                               \
    }                                                                                                                           \
    static const struct insn *name##_full(LANE_ARGS) {                                                                          \
        (void)ctx;                                                                                                              \
        *lane_mask_row(w, in->d) = name##_test(in, w);                                                                          \
        return in + 1;                                                                                                          \
    }                                                                                                                           \
    static const struct insn *name##_masked(LANE_ARGS) {                                                                        \
        LANE_HEAD_MASKED(name);                                                                                                 \
        uint32_t *const d = lane_mask_row(w, in->d);                                                                            \
        *d = (*d & ~m) | (name##_test(in, w) & m);                                                                              \
        return in + 1;                                                                                                          \
    }
#define LANE_HANDLERT1(name, A, body)    LANE_TEST(name, A, LANE_SRC1(A), LANE_VAL1(A), body)
#define LANE_HANDLERT2(name, A, B, body) LANE_TEST(name, A, LANE_SRC2(A, B), LANE_VAL2(A, B), body)

/* name_dir: the handlers of `name` with the rounding mode that the low bits of imm hold (enum lane_round). MXCSR governs SSE and AVX
 * alike; the barriers keep the loop's loads and stores, and with them the arithmetic between, inside. */
#if defined __x86_64__
#include <immintrin.h>
static inline unsigned lane_round_enter(uint64_t imm) {
    unsigned old = _mm_getcsr();
    _mm_setcsr((old & ~0x6000u) | ((unsigned)imm & 3u) << 13);
    __asm__ volatile("" ::: "memory");
    return old;
}
static inline void lane_round_leave(unsigned old) {
    __asm__ volatile("" ::: "memory");
    _mm_setcsr(old);
}
#else
#error "directed rounding needs the host's way to set it"
#endif

#define LANE_ROUNDED(name)                                                                                                      \
    static const struct insn *name##_dir_full(LANE_ARGS) {                                                                      \
        const unsigned old = lane_round_enter(in->imm);                                                                         \
        const struct insn *next = name##_full(in, w, ctx);                                                                      \
        lane_round_leave(old);                                                                                                  \
        return next;                                                                                                            \
    }                                                                                                                           \
    static const struct insn *name##_dir_masked(LANE_ARGS) {                                                                    \
        const unsigned old = lane_round_enter(in->imm);                                                                         \
        const struct insn *next = name##_masked(in, w, ctx);                                                                    \
        lane_round_leave(old);                                                                                                  \
        return next;                                                                                                            \
    }

#endif
