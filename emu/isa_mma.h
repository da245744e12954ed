/* What the two files of matrix products share: widening of halves, and turning columns of B into rows. Included by emu/isa_mma*.c only, once per ISA level. */
#ifndef HEDDLE_EMU_ISA_MMA_H
#define HEDDLE_EMU_ISA_MMA_H
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "emu/mma.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define INLINE static inline __attribute__((always_inline))

#ifdef __AVX2__
INLINE __m128i load128(const char *p) { return _mm_load_si128((const __m128i *)(const void *)p); }

/* Eight halves as floats. */
INLINE __m256 widen8(__m128i x, bool bf16)
{
    return bf16 ? _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16)) : _mm256_cvtph_ps(x);
}

/* The eight columns of B, `stride` bytes apart, become rows: row k holds columns 0, 2, 4, 6, 1, 3, 5, 7 (or 0 to 7) at k. columns: their first eight k, and
 * the next eight, which are turned together, in the two halves of vectors. */
INLINE void turn_columns(const char *const columns[2], unsigned stride, float *b, unsigned k, bool bf16, bool in_order)
{
    static const unsigned char even_odd[8] = { 0, 2, 4, 6, 1, 3, 5, 7 };
    __m256i c[8], d[8];
#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; i++) {
        unsigned n = in_order ? i : even_odd[i];
        __m256i low = _mm256_castsi128_si256(load128(columns[0] + stride * n));
        c[i] = k == 16 ? _mm256_inserti128_si256(low, load128(columns[1] + stride * n), 1) : low;
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {         /* pairs of columns, then fours, then eights */
        d[2 * i] = _mm256_unpacklo_epi16(c[2 * i], c[2 * i + 1]);
        d[2 * i + 1] = _mm256_unpackhi_epi16(c[2 * i], c[2 * i + 1]);
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
        unsigned from = (i & 2) * 2 + (i & 1), to = (i & 2) * 2 + (i & 1) * 2;
        c[to] = _mm256_unpacklo_epi32(d[from], d[from + 2]);
        c[to + 1] = _mm256_unpackhi_epi32(d[from], d[from + 2]);
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
        d[2 * i] = _mm256_unpacklo_epi64(c[i], c[4 + i]);
        d[2 * i + 1] = _mm256_unpackhi_epi64(c[i], c[4 + i]);
    }
#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; i++) {
        _mm256_store_ps(b + 8 * i, widen8(_mm256_castsi256_si128(d[i]), bf16));
        if (k == 16) _mm256_store_ps(b + 64 + 8 * i, widen8(_mm256_extracti128_si256(d[i], 1), bf16));
    }
}

#endif

#endif
