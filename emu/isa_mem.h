/* What the memory handlers of isa_mem.c are made of: the shape of an address row, where a space is, moving elements between rows and memory. Everything is
 * inlined into the handlers, so that space, form, kind and vector length are constants there. Included by isa_mem.c only, once per ISA level. */
#ifndef HEDDLE_EMU_ISA_MEM_H
#define HEDDLE_EMU_ISA_MEM_H
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "emu/mem.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
#define VEC_BYTES 64
#elif defined(__AVX2__)
#define VEC_BYTES 32
#else
#define VEC_BYTES 16
#endif
typedef uint64_t v64 __attribute__((vector_size(VEC_BYTES), may_alias));
typedef uint32_t v32 __attribute__((vector_size(VEC_BYTES), may_alias));
enum { N64 = VEC_BYTES / 8, N32 = VEC_BYTES / 4 };

typedef uint8_t m8 __attribute__((may_alias));
typedef int8_t ms8 __attribute__((may_alias));
typedef uint16_t m16 __attribute__((may_alias));
typedef int16_t ms16 __attribute__((may_alias));
typedef uint32_t m32 __attribute__((may_alias));
typedef uint64_t m64 __attribute__((may_alias));
typedef struct { uint64_t x[2]; } __attribute__((may_alias)) m128;

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---- address rows ------------------------------------------------------------------------------------------------ */

INLINE bool any64(v64 x)
{
#if defined(__AVX512F__)
    return _mm512_test_epi64_mask((__m512i)x, (__m512i)x) != 0;
#elif defined(__AVX2__)
    return !_mm256_testz_si256((__m256i)x, (__m256i)x);
#else
    uint64_t r = 0;
    for (int i = 0; i < N64; i++)
        r |= x[i];
    return r != 0;
#endif
}

/* Whether at[l] is at[0] + l * step for n lanes, a multiple of 8. */
INLINE bool affine64(const uint64_t *at, uint64_t step, unsigned n)
{
    const v64 *v = (const v64 *)(const void *)at;
    v64 want, bad = { 0 };
    for (int i = 0; i < N64; i++)
        want[i] = (uint64_t)i;
    want = want * (uint32_t)step + at[0];
    for (unsigned k = 0; k < n / N64; k++) {
        bad |= v[k] ^ want;
        want += step * N64;
    }
    return !any64(bad);
}

INLINE bool affine32(const uint32_t *at, uint32_t step, unsigned n)
{
#if defined(__AVX512F__)
    if (n < N32) {                             /* 8 lanes are half a vector */
        __m256i ramp = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32((int)step));
        __m256i x = _mm256_xor_si256(_mm256_load_si256((const __m256i *)(const void *)at), _mm256_add_epi32(ramp, _mm256_set1_epi32((int)at[0])));
        return _mm256_testz_si256(x, x);
    }
#endif
    const v32 *v = (const v32 *)(const void *)at;
    v32 want, bad = { 0 };
    for (int i = 0; i < N32; i++)
        want[i] = (uint32_t)i;
    want = want * step + at[0];
    for (unsigned k = 0; k < n / N32; k++) {
        bad |= v[k] ^ want;
        want += step * N32;
    }
    return !any64((v64)bad);
}

/* Three shapes of an address row: side by side (step = access size), the same, anything. */
enum shape { SHAPE_ANY, SHAPE_SAME, SHAPE_DENSE };

INLINE enum shape shape_of(const struct warp *w, const struct insn *in, unsigned form, unsigned bytes, uint32_t lane, unsigned n)
{
    if (form == MEM_FIXED)
        return SHAPE_SAME;
    if (form == MEM_ROW32) {
        const uint32_t *a = (const uint32_t *)row(w, in->a) + lane;
        return a[1] - a[0] == bytes ? (affine32(a, bytes, n) ? SHAPE_DENSE : SHAPE_ANY)
             : a[1] == a[0] && affine32(a, 0, n) ? SHAPE_SAME : SHAPE_ANY;
    }
    const uint64_t *a = (const uint64_t *)row(w, in->a) + lane;
    return a[1] - a[0] == bytes ? (affine64(a, bytes, n) ? SHAPE_DENSE : SHAPE_ANY)
         : a[1] == a[0] && affine64(a, 0, n) ? SHAPE_SAME : SHAPE_ANY;
}

/* Address of a lane as its space counts it: 64 bits for global, an offset for shared and local. */
INLINE uint64_t address_of(const struct warp *w, const struct insn *in, unsigned space, unsigned form, uint32_t lane)
{
    uint64_t x = form == MEM_FIXED ? in->imm
               : form == MEM_ROW32 ? ((const uint32_t *)row(w, in->a))[lane] + in->imm : ((const uint64_t *)row(w, in->a))[lane] + in->imm;
    if (space == MEM_LOCAL && form == MEM_FIXED)
        x += w->local_sp;
    return space == MEM_GLOBAL ? x : (uint32_t)x;
}

/* Where offset 0 of a space is, and how many bytes are there. For global: the site's last range. */
struct window { char *base; uint64_t lo, bytes; size_t lane_stride; };

INLINE struct window window_of(const struct warp *w, const struct ctx *c, const struct insn *in, unsigned space, bool store)
{
    if (space == MEM_SHARED)
        return (struct window){ c->shared, 0, c->shared_bytes, 0 };
    if (space == MEM_LOCAL)
        return (struct window){ w->local, 0, w->local_stride, w->local_stride };
    const struct range_cache *r = &c->sites[in->site];
    if (store && !r->writable)
        return (struct window){ NULL, 0, 0, 0 };
    return (struct window){ NULL, r->lo, r->hi > r->lo ? r->hi - r->lo : 0, 0 };
}

INLINE bool holds(const struct window *o, uint64_t address, uint64_t bytes)
{
    return o->bytes >= bytes && address - o->lo <= o->bytes - bytes;
}

INLINE char *pointer(const struct window *o, uint64_t address, uint32_t lane)
{
    return o->base + lane * o->lane_stride + address;
}

/* ---- one element, and 32 of them ---------------------------------------------------------------------------------- */

INLINE void get_element(void *to, uint32_t lane, const void *from, uint32_t i, unsigned kind)
{
    switch (kind) {
    case MEM_U8: ((m16 *)to)[lane] = ((const m8 *)from)[i]; break;
    case MEM_S8: ((ms16 *)to)[lane] = ((const ms8 *)from)[i]; break;
    case MEM_16: ((m16 *)to)[lane] = ((const m16 *)from)[i]; break;
    case MEM_32: ((m32 *)to)[lane] = ((const m32 *)from)[i]; break;
    case MEM_64: ((m64 *)to)[lane] = ((const m64 *)from)[i]; break;
    default: ((m128 *)to)[lane] = ((const m128 *)from)[i]; break;
    }
}

INLINE void put_element(void *to, uint32_t i, const void *from, uint32_t lane, unsigned kind)
{
    switch (kind) {
    case MEM_U8: case MEM_S8: ((m8 *)to)[i] = (m8)((const m16 *)from)[lane]; break;
    case MEM_16: ((m16 *)to)[i] = ((const m16 *)from)[lane]; break;
    case MEM_32: ((m32 *)to)[i] = ((const m32 *)from)[lane]; break;
    case MEM_64: ((m64 *)to)[i] = ((const m64 *)from)[lane]; break;
    default: ((m128 *)to)[i] = ((const m128 *)from)[lane]; break;
    }
}

INLINE void rows_of(const struct warp *w, const struct insn *in, unsigned vec, char *rows[4])
{
    rows[0] = row(w, in->d);
    if (vec > 1)
        rows[1] = row(w, in->b);
    if (vec > 2) {
        rows[2] = row(w, in->c);
        rows[3] = row(w, in->target);
    }
}

/* Lane l's elements at at[l]. Rows are written as vectors: a vector that is read back in one piece right after 32 small stores would wait for all of them. */
typedef uint32_t four32 __attribute__((vector_size(16), may_alias));
typedef uint64_t two64 __attribute__((vector_size(16), may_alias));
#define U32_AT(p, v) (((const m32 *)(const void *)(p))[v])
#define U64_AT(p, v) (((const m64 *)(const void *)(p))[v])

INLINE void get_lanes(char *const rows[4], char *const at[WARP_SIZE], unsigned kind, unsigned vec)
{
    if (kind == MEM_32 && vec == 4) {          /* four lanes at a time, transposed */
        for (uint32_t l = 0; l < WARP_SIZE; l += 4) {
            four32 a = *(const four32 *)(const void *)at[l], b = *(const four32 *)(const void *)at[l + 1];
            four32 c = *(const four32 *)(const void *)at[l + 2], d = *(const four32 *)(const void *)at[l + 3];
            four32 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
            ((four32 *)(void *)rows[0])[l / 4] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
            ((four32 *)(void *)rows[1])[l / 4] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
            ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
            cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
            ((four32 *)(void *)rows[2])[l / 4] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
            ((four32 *)(void *)rows[3])[l / 4] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
        }
        return;
    }
    for (unsigned v = 0; v < vec; v++)
        if (kind == MEM_32) {
            for (uint32_t l = 0; l < WARP_SIZE; l += 4)
                ((four32 *)(void *)rows[v])[l / 4] = (four32){ U32_AT(at[l], v), U32_AT(at[l + 1], v), U32_AT(at[l + 2], v), U32_AT(at[l + 3], v) };
        } else if (kind == MEM_64) {
            for (uint32_t l = 0; l < WARP_SIZE; l += 2)
                ((two64 *)(void *)rows[v])[l / 2] = (two64){ U64_AT(at[l], v), U64_AT(at[l + 1], v) };
        } else {
            for (uint32_t l = 0; l < WARP_SIZE; l++)
                get_element(rows[v], l, at[l], v, kind);
        }
}

INLINE void put_lanes(char *const rows[4], char *const at[WARP_SIZE], unsigned kind, unsigned vec)
{
    for (uint32_t l = 0; l < WARP_SIZE; l++)
        for (unsigned v = 0; v < vec; v++)
            put_element(at[l], v, rows[v], l, kind);
}

/* Lane l's elements at p + l * vec: the rows are the columns of that matrix. Rows and memory never overlap. */
INLINE void get_dense(char *const rows[4], char *p, unsigned kind, unsigned vec)
{
    if (kind == MEM_32 && vec == 4) {
        char *at[WARP_SIZE];
        for (uint32_t l = 0; l < WARP_SIZE; l++)
            at[l] = p + 16 * l;
        get_lanes(rows, at, kind, vec);
        return;
    }
    char *restrict r0 = rows[0];
    const char *restrict m = p;
    if (vec == 1) {
        for (uint32_t l = 0; l < WARP_SIZE; l++)
            get_element(r0, l, m, l, kind);
    } else if (vec == 2) {
        char *restrict r1 = rows[1];
        for (uint32_t l = 0; l < WARP_SIZE; l++) {
            get_element(r0, l, m, 2 * l, kind);
            get_element(r1, l, m, 2 * l + 1, kind);
        }
    } else {
        char *restrict r1 = rows[1], *restrict r2 = rows[2], *restrict r3 = rows[3];
        for (uint32_t l = 0; l < WARP_SIZE; l++) {
            get_element(r0, l, m, 4 * l, kind);
            get_element(r1, l, m, 4 * l + 1, kind);
            get_element(r2, l, m, 4 * l + 2, kind);
            get_element(r3, l, m, 4 * l + 3, kind);
        }
    }
}

INLINE void put_dense(char *const rows[4], char *p, unsigned kind, unsigned vec)
{
    const char *restrict r0 = rows[0];
    char *restrict m = p;
    if (vec == 1) {
        for (uint32_t l = 0; l < WARP_SIZE; l++)
            put_element(m, l, r0, l, kind);
    } else if (vec == 2) {
        const char *restrict r1 = rows[1];
        for (uint32_t l = 0; l < WARP_SIZE; l++) {
            put_element(m, 2 * l, r0, l, kind);
            put_element(m, 2 * l + 1, r1, l, kind);
        }
    } else {
        const char *restrict r1 = rows[1], *restrict r2 = rows[2], *restrict r3 = rows[3];
        for (uint32_t l = 0; l < WARP_SIZE; l++) {
            put_element(m, 4 * l, r0, l, kind);
            put_element(m, 4 * l + 1, r1, l, kind);
            put_element(m, 4 * l + 2, r2, l, kind);
            put_element(m, 4 * l + 3, r3, l, kind);
        }
    }
}

/* The same elements into every lane. */
INLINE void get_same(char *const rows[4], const char *p, unsigned kind, unsigned vec)
{
    for (unsigned v = 0; v < vec; v++) {
        m128 one[1];
        get_element(one, 0, p, v, kind);
        char *restrict r = rows[v];
        for (uint32_t l = 0; l < WARP_SIZE; l++)
            switch (kind) {
            case MEM_U8: case MEM_S8: case MEM_16: ((m16 *)r)[l] = *(m16 *)one; break;
            case MEM_32: ((m32 *)r)[l] = *(m32 *)one; break;
            case MEM_64: ((m64 *)r)[l] = *(m64 *)one; break;
            default: ((m128 *)r)[l] = one[0]; break;
            }
    }
}

#endif
