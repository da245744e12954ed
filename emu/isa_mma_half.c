/* mma.m16n8k8 and m16n8k16 of f16 or bf16, from the rows of the frame without a detour: what matrix kernels spend their time in. Compiled once for each level
 * of host vector instructions; the baseline has none of these. The order of the sums is that of isa_mma.c. */
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "emu/mma.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define INLINE static inline __attribute__((always_inline))

#ifdef __AVX2__

INLINE const char *at(const struct warp *w, uint32_t r, unsigned bytes) { return w->frame + r + bytes; }
INLINE __m128i load128(const char *p) { return _mm_load_si128((const __m128i *)(const void *)p); }

/* Eight halves as floats. */
INLINE __m256 widen8(__m128i x, bool bf16)
{
    return bf16 ? _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16)) : _mm256_cvtph_ps(x);
}

/* Rows g of the pieces of A as floats, `k` apart. */
INLINE void load_a(const struct mma *op, const struct warp *w, float *a, unsigned k, bool bf16)
{
    for (unsigned piece = 0; piece < k / 8; piece++)
        for (unsigned block = 0; block < 2; block++)
            for (unsigned g = 0; g < 8; g++)
                _mm256_store_ps(a + (block * 8 + g) * k + piece * 8, widen8(load128(at(w, op->a_rows[piece * 2 + block], 16 * g)), bf16));
}

/* The eight columns of B, each 16 bytes along k, become eight rows: x[k] holds column 0, 2, 4, 6, 1, 3, 5, 7 (halves: 0 to 7) at k. In either half of a
 * vector one piece. */
INLINE void load_b(const struct mma *op, const struct warp *w, __m256 *b, unsigned k, bool bf16, bool in_order)
{
    static const unsigned char even_odd[8] = { 0, 2, 4, 6, 1, 3, 5, 7 };
    __m256i c[8], d[8];
    for (unsigned i = 0; i < 8; i++) {
        unsigned n = in_order ? i : even_odd[i];
        __m128i low = load128(at(w, op->b_rows[0], 16 * n));
        c[i] = k == 16 ? _mm256_inserti128_si256(_mm256_castsi128_si256(low), load128(at(w, op->b_rows[k / 8 - 1], 16 * n)), 1) : _mm256_castsi128_si256(low);
    }
    for (unsigned i = 0; i < 4; i++) {         /* pairs of columns, then fours, then eights */
        d[2 * i] = _mm256_unpacklo_epi16(c[2 * i], c[2 * i + 1]);
        d[2 * i + 1] = _mm256_unpackhi_epi16(c[2 * i], c[2 * i + 1]);
    }
    for (unsigned i = 0; i < 2; i++)
        for (unsigned h = 0; h < 2; h++) {
            c[4 * i + 2 * h] = _mm256_unpacklo_epi32(d[4 * i + h], d[4 * i + 2 + h]);
            c[4 * i + 2 * h + 1] = _mm256_unpackhi_epi32(d[4 * i + h], d[4 * i + 2 + h]);
        }
    for (unsigned i = 0; i < 4; i++) {
        d[2 * i] = _mm256_unpacklo_epi64(c[i], c[4 + i]);
        d[2 * i + 1] = _mm256_unpackhi_epi64(c[i], c[4 + i]);
    }
    for (unsigned i = 0; i < 8; i++) {
        b[i] = widen8(_mm256_castsi256_si128(d[i]), bf16);
        if (k == 16) b[8 + i] = widen8(_mm256_extracti128_si256(d[i], 1), bf16);
    }
}

INLINE __m256 canonical(__m256 x)
{
    return _mm256_blendv_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

INLINE __m256 load_acc(const struct mma *op, const struct warp *w, unsigned block, unsigned g, bool half)
{
    if (half) return _mm256_cvtph_ps(load128(at(w, op->c_rows[block], 16 * g)));
    __m256 even = _mm256_castps128_ps256(_mm_load_ps((const float *)(const void *)at(w, op->c_rows[2 * block], 16 * g)));
    return _mm256_insertf128_ps(even, _mm_load_ps((const float *)(const void *)at(w, op->c_rows[2 * block + 1], 16 * g)), 1);
}

INLINE void store_acc(const struct mma *op, struct warp *w, unsigned block, unsigned g, __m256 x, bool half)
{
    x = canonical(x);
    if (half) {                                /* NaN becomes 7fff */
        _mm_store_si128((__m128i *)(void *)(w->frame + op->d_rows[block] + 16 * g), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
        return;
    }
    _mm_store_ps((float *)(void *)(w->frame + op->d_rows[2 * block] + 16 * g), _mm256_castps256_ps128(x));
    _mm_store_ps((float *)(void *)(w->frame + op->d_rows[2 * block + 1] + 16 * g), _mm256_extractf128_ps(x, 1));
}

INLINE const struct insn *multiply(const struct insn *in, struct warp *w, unsigned k, bool bf16, bool half)
{
    const struct mma *op = (const struct mma *)(uintptr_t)in->imm;
    _Alignas(32) float a[16 * 16];
    __m256 b[16], r[16];
    load_a(op, w, a, k, bf16);
    load_b(op, w, b, k, bf16, half);
    for (unsigned block = 0; block < 2; block++) {
        __m256 *acc = r + 8 * block;
        const float *from = a + block * 8 * k;
        for (unsigned g = 0; g < 8; g++)
            acc[g] = load_acc(op, w, block, g, half);
        for (unsigned i = 0; i < k; i++)
            for (unsigned g = 0; g < 8; g++)
                acc[g] = _mm256_fmadd_ps(_mm256_broadcast_ss(from + g * k + i), b[i], acc[g]);
    }
    for (unsigned block = 0; block < 2; block++)               /* after all sources are read: a row may be both */
        for (unsigned g = 0; g < 8; g++)
            store_acc(op, w, block, g, r[8 * block + g], half);
    return in + 1;
}

#define FAST(name, k, bf16, half)                                                                                                     \
    static const struct insn *name(const struct insn *in, struct warp *w, struct ctx *c) {                                            \
        (void)c;                                                                                                                      \
        return multiply(in, w, k, bf16, half);                                                                                        \
    }
FAST(f16_k8_f32, 8, false, false)
FAST(f16_k8_f16, 8, false, true)
FAST(f16_k16_f32, 16, false, false)
FAST(f16_k16_f16, 16, false, true)
FAST(bf16_k8_f32, 8, true, false)
FAST(bf16_k16_f32, 16, true, false)

const mma_fast_table PASTE(mma_fast, LANE_ISA) = { { { f16_k8_f32, f16_k8_f16 }, { f16_k16_f32, f16_k16_f16 } }, { { bf16_k8_f32, NULL }, { bf16_k16_f32, NULL } } };

#else

const mma_fast_table PASTE(mma_fast, LANE_ISA) = { { { NULL } } };

#endif
