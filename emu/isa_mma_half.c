/* mma.m16n8k8 and m16n8k16 of f16 or bf16, from the rows of the frame without a detour: what matrix kernels spend their time in. Compiled once for each level
 * of host vector instructions; the baseline has none of these. The order of the sums is that of isa_mma.c. */
#include "emu/isa_mma.h"

#ifdef __AVX2__

/* Row g of a block of accumulators: its even and its odd columns, or all of them as halves. */
INLINE __m256 load_acc(const char *even, const char *odd, unsigned g, bool half)
{
    if (half) return _mm256_cvtph_ps(load128(even + 16 * g));
    __m256 low = _mm256_castps128_ps256(_mm_load_ps((const float *)(const void *)(even + 16 * g)));
    return _mm256_insertf128_ps(low, _mm_load_ps((const float *)(const void *)(odd + 16 * g)), 1);
}

INLINE void store_acc(char *even, char *odd, unsigned g, __m256 x, bool half)
{
    __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    x = _mm256_blendv_ps(x, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    if (half) {                                /* NaN becomes 7fff */
        _mm_store_si128((__m128i *)(void *)(even + 16 * g), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
        return;
    }
    _mm_store_ps((float *)(void *)(even + 16 * g), _mm256_castps256_ps128(x));
    _mm_store_ps((float *)(void *)(odd + 16 * g), _mm256_extractf128_ps(x, 1));
}

/* Eight rows of A times B. */
INLINE void multiply_block(const float *a, const float *b, const char *c_even, const char *c_odd, char *d_even, char *d_odd, unsigned k, bool half)
{
    __m256 r[8];
#pragma GCC unroll 8
    for (unsigned g = 0; g < 8; g++) r[g] = load_acc(c_even, c_odd, g, half);
#pragma GCC unroll 2
    for (unsigned i = 0; i < k; i++) {
        __m256 x = _mm256_load_ps(b + 8 * i);
#pragma GCC unroll 8
        for (unsigned g = 0; g < 8; g++) r[g] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + g * k + i), x, r[g]);
    }
#pragma GCC unroll 8
    for (unsigned g = 0; g < 8; g++) store_acc(d_even, d_odd, g, r[g], half);
}

INLINE const struct insn *multiply(const struct insn *in, struct warp *w, unsigned k, bool bf16, bool half)
{
    const struct mma *op = (const struct mma *)(uintptr_t)in->imm;
    const uint32_t *ra = op->a_rows, *rb = op->b_rows, *rc = op->c_rows, *rd = op->d_rows;
    char *frame = w->frame;
    const char *b_rows[2] = { frame + rb[0], frame + rb[k / 8 - 1] };
    const char *c0 = frame + rc[0], *c1 = frame + rc[1], *c2 = half ? c1 : frame + rc[2], *c3 = half ? c1 : frame + rc[3];
    char *d0 = frame + rd[0], *d1 = frame + rd[1], *d2 = half ? d1 : frame + rd[2], *d3 = half ? d1 : frame + rd[3];
    _Alignas(32) float a[16 * 16], b[16 * 8];
    for (unsigned piece = 0; piece < k / 8; piece++)
        for (unsigned block = 0; block < 2; block++) {
            const char *from = frame + ra[piece * 2 + block];
#pragma GCC unroll 8
            for (unsigned g = 0; g < 8; g++) _mm256_store_ps(a + (block * 8 + g) * k + piece * 8, widen8(load128(from + 16 * g), bf16));
        }
    turn_columns(b_rows, 16, b, k, bf16, half);
    if (half) {
        multiply_block(a, b, c0, c0, d0, d0, k, true);
        multiply_block(a + 8 * k, b, c1, c1, d1, d1, k, true);
        return in + 1;
    }
    multiply_block(a, b, c0, c1, d0, d1, k, false);
    multiply_block(a + 8 * k, b, c2, c3, d2, d3, k, false);
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

/* ---- groups: see struct mma_group ----------------------------------------------------------------------------------------- */

/* A in a slot: for every k, four vectors a block of eight rows, each with an element of row 2p four times, and that of row 2p + 1. The frame has
 * accumulators in this form, row above row, even columns apart from odd ones; so a vector serves two products, and nothing is moved in the inner loop. */
struct slots {
    _Alignas(64) float a[MMA_A_SLOTS][2][16][4][8], b[MMA_B_SLOTS][16][8];
};

INLINE void spread(__m256 x, float (*to)[4][8])
{
    _mm256_store_ps(to[0][0], _mm256_permute_ps(x, 0x00));
    _mm256_store_ps(to[1][0], _mm256_permute_ps(x, 0x55));
    _mm256_store_ps(to[2][0], _mm256_permute_ps(x, 0xaa));
    _mm256_store_ps(to[3][0], _mm256_permute_ps(x, 0xff));
}

INLINE void fill_a(const struct warp *w, const uint32_t *rows, float (*to)[16][4][8], bool bf16)
{
    for (unsigned block = 0; block < 2; block++)
        for (unsigned piece = 0; piece < 2; piece++)
#pragma GCC unroll 4
            for (unsigned p = 0; p < 4; p++) {
                __m256i x = _mm256_load_si256((const __m256i *)(const void *)(w->frame + rows[piece * 2 + block] + 32 * p));
                x = _mm256_permute4x64_epi64(x, 0xd8);      /* both rows' first four elements, then both rows' last four */
                spread(widen8(_mm256_castsi256_si128(x), bf16), (float (*)[4][8])(void *)to[block][8 * piece][p]);
                spread(widen8(_mm256_extracti128_si256(x, 1), bf16), (float (*)[4][8])(void *)to[block][8 * piece + 4][p]);
            }
}

/* Eight rows of D = A * B + C. */
INLINE void multiply_spread(const float (*a)[4][8], const float (*b)[8], const char *frame, const uint32_t *c, char *to, const uint32_t *d)
{
    __m256 r[4][2];
#pragma GCC unroll 4
    for (unsigned p = 0; p < 4; p++)
        for (unsigned side = 0; side < 2; side++) r[p][side] = _mm256_load_ps((const float *)(const void *)(frame + c[side] + 32 * p));
#pragma GCC unroll 16
    for (unsigned i = 0; i < 16; i++) {
        __m256 even = _mm256_broadcast_ps((const __m128 *)(const void *)&b[i][0]), odd = _mm256_broadcast_ps((const __m128 *)(const void *)&b[i][4]);
#pragma GCC unroll 4
        for (unsigned p = 0; p < 4; p++) {
            __m256 x = _mm256_load_ps(a[i][p]);
            __asm__("" : "+x"(x));             /* loaded once: the compiler would make it an operand of both */
            r[p][0] = _mm256_fmadd_ps(x, even, r[p][0]);
            r[p][1] = _mm256_fmadd_ps(x, odd, r[p][1]);
        }
    }
    __m256 nans = _mm256_setzero_ps(), nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
#pragma GCC unroll 4
    for (unsigned p = 0; p < 4; p++) nans = _mm256_or_ps(nans, _mm256_cmp_ps(r[p][0], r[p][1], _CMP_UNORD_Q));
    if (__builtin_expect(!_mm256_testz_ps(nans, nans), 0))
        for (unsigned p = 0; p < 4; p++)
            for (unsigned side = 0; side < 2; side++) r[p][side] = _mm256_blendv_ps(r[p][side], nan, _mm256_cmp_ps(r[p][side], r[p][side], _CMP_UNORD_Q));
#pragma GCC unroll 4
    for (unsigned p = 0; p < 4; p++)
        for (unsigned side = 0; side < 2; side++) _mm256_store_ps((float *)(void *)(to + d[side] + 32 * p), r[p][side]);
}

INLINE const struct insn *multiply_group(const struct insn *in, struct warp *w, struct ctx *c, bool bf16)
{
    const struct mma *first = (const struct mma *)(uintptr_t)in->imm;
    if (c->event) return first->run(in, w, c); /* one instruction at a time */
    struct slots s;
    const struct mma_group *g = first->group;
    for (uint32_t i = 0; i < g->n; i++) {
        const struct mma_part *part = &g->of[i];
        const struct mma *op = part->op;
        if (part->new_a) fill_a(w, op->a_rows, s.a[part->a], bf16);
        if (part->new_b) {
            const char *columns[2] = { w->frame + op->b_rows[0], w->frame + op->b_rows[1] };
            turn_columns(columns, 16, s.b[part->b][0], 16, bf16, false);
        }
        for (unsigned block = 0; block < 2; block++)
            multiply_spread((const float (*)[4][8])s.a[part->a][block], (const float (*)[8])s.b[part->b], w->frame, op->c_rows + 2 * block, w->frame,
                            op->d_rows + 2 * block);
    }
    return in + g->n;
}

static const struct insn *f16_group(const struct insn *in, struct warp *w, struct ctx *c) { return multiply_group(in, w, c, false); }
static const struct insn *bf16_group(const struct insn *in, struct warp *w, struct ctx *c) { return multiply_group(in, w, c, true); }

const mma_fast_table PASTE(mma_fast, LANE_ISA) = { { { f16_k8_f32, f16_k8_f16 }, { f16_k16_f32, f16_k16_f16 } }, { { bf16_k8_f32, NULL }, { bf16_k16_f32, NULL } } };
const mma_group_table PASTE(mma_group, LANE_ISA) = { f16_group, bf16_group };

#else

const mma_fast_table PASTE(mma_fast, LANE_ISA) = { { { NULL } } };
const mma_group_table PASTE(mma_group, LANE_ISA) = { NULL };

#endif
