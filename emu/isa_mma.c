/* The cores: what a tile's a and b multiply to. Compiled once for each level of host vector instructions. See emu/mma.h for the order and the rounding. */
#include <math.h>
#include <string.h>

#include "emu/isa_mma.h"
#include "emu/lane_float.h"

typedef uint16_t word16 __attribute__((may_alias));
typedef uint32_t word32 __attribute__((may_alias));
typedef double f64 __attribute__((may_alias));

static unsigned stored(const struct mma *op) { return op->unit ? op->k / 2u : op->k; }     /* elements of a row of A that are there */

/* ---- floats ------------------------------------------------------------------------------------------------------------- */

INLINE uint32_t half_at(const unsigned char *from, unsigned i) { return ((const word16 *)(const void *)from)[i]; }

/* n elements as floats. */
static void widen(enum mma_elem e, const unsigned char *from, unsigned n, float *restrict to)
{
    const float *small = mma_small[e];
    switch (e) {
    case MMA_F16:
#ifdef __AVX2__
        for (unsigned i = 0; i < n; i += 8) _mm256_storeu_ps(to + i, widen8(_mm_loadu_si128((const __m128i *)(const void *)(from + 2 * i)), false));
        break;
#endif
        for (unsigned i = 0; i < n; i++) to[i] = half_to_f32(half_at(from, i));
        break;
    case MMA_BF16:
        for (unsigned i = 0; i < n; i++) to[i] = f32_from(half_at(from, i) << 16);
        break;
    case MMA_TF32:
        for (unsigned i = 0; i < n; i++) to[i] = f32_from(((const word32 *)(const void *)from)[i] & 0xffffe000u);
        break;
    case MMA_E2M1_PACKED:
        for (unsigned i = 0; i < n; i++) to[i] = small[from[i / 2] >> 4 * (i % 2) & 15];
        break;
    default:
        for (unsigned i = 0; i < n; i++) to[i] = small[from[i]];
    }
}

/* One row of A times eight columns of B: element i of the row stands for row index[i] of B, or i. exact: the product of any two multiplicands is a float, so
 * that adding it takes no fused operation. */
INLINE void multiply_row(float *restrict acc, const float *a, const float *b, const unsigned char *index, unsigned k, bool exact)
{
    float r[8];
    memcpy(r, acc, sizeof r);
    for (unsigned i = 0; i < k; i++) {
        const float *x = b + 8 * (index ? index[i] : i);
#ifdef __FMA__
        exact = false;
#endif
        for (unsigned n = 0; n < 8; n++)
            r[n] = exact ? a[i] * x[n] + r[n] : __builtin_fmaf(a[i], x[n], r[n]);
    }
    memcpy(acc, r, sizeof r);
}

/* Eight rows of A, all of whose elements are there. */
INLINE void multiply_rows(float *acc, const float *a, const float *b, unsigned k, bool exact)
{
#ifdef __FMA__
    __m256 r[8];
    (void)exact;
    for (unsigned j = 0; j < 8; j++) r[j] = _mm256_load_ps(acc + 8 * j);
    for (unsigned i = 0; i < k; i++) {
        __m256 x = _mm256_load_ps(b + 8 * i);
#pragma GCC unroll 8
        for (unsigned j = 0; j < 8; j++) r[j] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + j * MMA_ROW + i), x, r[j]);
    }
    for (unsigned j = 0; j < 8; j++) _mm256_store_ps(acc + 8 * j, r[j]);
#else
    for (unsigned j = 0; j < 8; j++) multiply_row(acc + 8 * j, a + j * MMA_ROW, b, NULL, k, exact);
#endif
}

/* Block scales: a block's products are summed in f64, times its two scales, and added to the accumulator. */
static void multiply_scaled(const struct mma *op, const struct mma_tile *t, float *acc, const float *a, const float *b)
{
    unsigned n_a = stored(op), per_block = op->k / op->scales;
    for (unsigned m = 0; m < op->m; m++)
        for (unsigned n = 0; n < 8; n++) {
            double sum[4] = { 0 };
            for (unsigned i = 0; i < n_a; i++) {
                unsigned k = op->unit ? t->index[m][i] : i;
                sum[k / per_block] += (double)a[m * MMA_ROW + i] * (double)b[k * 8 + n];
            }
            float r = acc[m * 8 + n];
            for (unsigned s = 0; s < op->scales; s++)
                r = (float)((double)r + sum[s] * ((double)t->scale_a[m][s] * (double)t->scale_b[mma_order(n)][s]));
            acc[m * 8 + n] = r;
        }
}

INLINE void multiply_block(const struct mma *op, const struct mma_tile *t, float *acc, const float *a, const float *b, bool exact)
{
    unsigned k = stored(op);
    for (unsigned m = 0; m < op->m && !op->unit; m += 8)
        multiply_rows(acc + m * 8, a + m * MMA_ROW, b, k, exact);
    for (unsigned m = 0; m < op->m && op->unit; m++)
        multiply_row(acc + m * 8, a + m * MMA_ROW, b, t->index[m], k, exact);
}

/* Eight columns of B side by side, in the accumulators' order. */
static void widen_columns(const struct mma *op, const unsigned char *from, float *to)
{
#ifdef __AVX2__
    for (unsigned k = 0; op->b <= MMA_BF16 && k < op->k; k += 16) {
        const char *columns[2] = { (const char *)from + 2 * k, (const char *)from + 2 * k + 16 };
        if (op->k - k < 16) turn_columns(columns, MMA_ROW, to + 8 * k, 8, op->b == MMA_BF16, false);
        else if (op->b == MMA_BF16) turn_columns(columns, MMA_ROW, to + 8 * k, 16, true, false);
        else turn_columns(columns, MMA_ROW, to + 8 * k, 16, false, false);
    }
    if (op->b <= MMA_BF16) return;
#endif
    float column[MMA_MAX_K];
    for (unsigned n = 0; n < 8; n++) {
        widen((enum mma_elem)op->b, from + mma_order(n) * MMA_ROW, op->k, column);
        for (unsigned k = 0; k < op->k; k++)
            to[k * 8 + n] = column[k];
    }
}

static void core_float(const struct mma *op, struct mma_tile *t)
{
    _Alignas(64) float a[MMA_MAX_M * MMA_ROW], b[MMA_MAX_K * 8];
    bool exact = op->a != MMA_BF16 && op->a != MMA_TF32;       /* those alone have products below the range of floats */
    for (unsigned m = 0; m < op->m; m++) {
        widen((enum mma_elem)op->a, t->a + m * MMA_ROW, stored(op), a + m * MMA_ROW);
        for (unsigned i = 0; i < stored(op) && op->flags & MMA_NEGATE_A; i++)
            a[m * MMA_ROW + i] = -a[m * MMA_ROW + i];
    }
    for (unsigned n = 0; n < op->n; n += 8) {
        float *acc = t->acc.f + n * op->m;
        widen_columns(op, t->b + n * MMA_ROW, b);
        if (op->scales) multiply_scaled(op, t, acc, a, b);
        else if (exact) multiply_block(op, t, acc, a, b, true);
        else multiply_block(op, t, acc, a, b, false);
        for (unsigned i = 0; i < op->m * 8u; i++)
            acc[i] = f32_canon(acc[i]);
    }
}

/* ---- doubles --------------------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void multiply_doubles(const struct mma *op, double *acc, const unsigned char *a, const unsigned char *b)
{
    for (unsigned m = 0; m < op->m; m++)
        for (unsigned n = 0; n < 8; n++) {
            const f64 *x = (const f64 *)(const void *)(a + m * MMA_ROW * 2), *y = (const f64 *)(const void *)(b + mma_order(n) * MMA_ROW * 2);
            double r = acc[m * 8 + n];
            for (unsigned k = 0; k < op->k; k++)
                r = __builtin_fma(x[k], y[k], r);
            acc[m * 8 + n] = r;
        }
}

static void core_double(const struct mma *op, struct mma_tile *t)
{
    unsigned old = _mm_getcsr();
    _mm_setcsr((old & ~0x6000u) | (unsigned)op->rounding << 13);
    multiply_doubles(op, t->acc.d, t->a, t->b);
    _mm_setcsr(old);
}

/* ---- integers --------------------------------------------------------------------------------------------------------------- */

static void widen_int(enum mma_elem e, const unsigned char *from, unsigned n, int16_t *restrict to)
{
    switch (e) {
    case MMA_S8:
        for (unsigned i = 0; i < n; i++) to[i] = (int8_t)from[i];
        break;
    case MMA_U8:
        for (unsigned i = 0; i < n; i++) to[i] = from[i];
        break;
    case MMA_S4:
        for (unsigned i = 0; i < n; i++) to[i] = (int16_t)(((from[i / 2] >> 4 * (i % 2) & 15) ^ 8) - 8);
        break;
    default:
        for (unsigned i = 0; i < n; i++) to[i] = from[i / 2] >> 4 * (i % 2) & 15;
    }
}

/* Adds the products of pairs: two 16-bit elements of A's row times two of each column. */
INLINE void multiply_pairs(int32_t *sum, const int16_t *a, const int16_t (*b)[8][2], unsigned pairs)
{
    const int32_t *pair = (const int32_t *)(const void *)a;
#ifdef __AVX2__
    __m256i r = _mm256_setzero_si256();
    for (unsigned i = 0; i < pairs; i++)
        r = _mm256_add_epi32(r, _mm256_madd_epi16(_mm256_set1_epi32(pair[i]), _mm256_load_si256((const __m256i *)(const void *)b[i])));
    _mm256_store_si256((__m256i *)(void *)sum, r);
#else
    __m128i lo = _mm_setzero_si128(), hi = lo;
    for (unsigned i = 0; i < pairs; i++) {
        __m128i x = _mm_set1_epi32(pair[i]);
        lo = _mm_add_epi32(lo, _mm_madd_epi16(x, _mm_load_si128((const __m128i *)(const void *)b[i])));
        hi = _mm_add_epi32(hi, _mm_madd_epi16(x, _mm_load_si128((const __m128i *)(const void *)(b[i] + 4))));
    }
    _mm_store_si128((__m128i *)(void *)sum, lo);
    _mm_store_si128((__m128i *)(void *)(sum + 4), hi);
#endif
}

static int32_t add_clamped(int32_t a, int32_t b)
{
    int64_t r = (int64_t)a + b;
    return r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : (int32_t)r;
}

static void core_int(const struct mma *op, struct mma_tile *t)
{
    _Alignas(64) int16_t a[MMA_MAX_M][MMA_MAX_K], b[MMA_MAX_K / 2][8][2];
    int16_t line[MMA_MAX_K] = { 0 };
    for (unsigned m = 0; m < op->m; m++) {
        widen_int((enum mma_elem)op->a, t->a + m * MMA_ROW, stored(op), op->unit ? line : a[m]);
        if (!op->unit) continue;
        memset(a[m], 0, op->k * sizeof a[m][0]);
        for (unsigned i = 0; i < stored(op); i++)
            a[m][t->index[m][i]] = line[i];
    }
    for (unsigned n = 0; n < op->n; n += 8) {
        for (unsigned i = 0; i < 8; i++) {
            widen_int((enum mma_elem)op->b, t->b + (n + mma_order(i)) * MMA_ROW, op->k, line);
            for (unsigned k = 0; k < op->k; k++)
                b[k / 2][i][k % 2] = line[k];
        }
        for (unsigned m = 0; m < op->m; m++) {
            _Alignas(32) int32_t sum[8];
            int32_t *acc = t->acc.s + n * op->m + m * 8;
            multiply_pairs(sum, a[m], (const int16_t (*)[8][2])b, op->k / 2u);
            for (unsigned i = 0; i < 8; i++)
                acc[i] = op->flags & MMA_SATFINITE ? add_clamped(acc[i], sum[i]) : (int32_t)((uint32_t)acc[i] + (uint32_t)sum[i]);
        }
    }
}

/* ---- bits --------------------------------------------------------------------------------------------------------------------- */

static void core_bit(const struct mma *op, struct mma_tile *t)
{
    typedef uint64_t word64 __attribute__((may_alias));
    for (unsigned n = 0; n < op->n; n++)
        for (unsigned m = 0; m < op->m; m++) {
            const word64 *x = (const word64 *)(const void *)(t->a + m * MMA_ROW), *y = (const word64 *)(const void *)(t->b + ((n & ~7u) + mma_order(n & 7)) * MMA_ROW);
            int32_t *acc = t->acc.s + (n & ~7u) * op->m + m * 8 + (n & 7);
            int sum = 0;
            for (unsigned i = 0; i < op->k / 64u; i++)
                sum += __builtin_popcountll(op->flags & MMA_AND ? x[i] & y[i] : x[i] ^ y[i]);
            *acc = (int32_t)((uint32_t)*acc + (uint32_t)sum);
        }
}

const mma_core PASTE(mma_cores, LANE_ISA)[MMA_KINDS] = { [MMA_FLOAT] = core_float, [MMA_DOUBLE] = core_double, [MMA_INT] = core_int, [MMA_BIT] = core_bit };
