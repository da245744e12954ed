/* Handlers of half precision arithmetic. Compiled once for each level of host vector instructions.
 *
 * Halves are computed as floats, a row at a time. One rounding: sums and products of f16 or bf16 rounded to the 24 bits of a float and then to 11 or 8
 * come out as if rounded once, since 24 >= 2 * 11 + 2 (for products in the range of f16 subnormals the float is exact; for bf16, whose subnormals
 * are those of floats, a product has 16 bits, too few to lie on a tie of the coarse grid and off the fine one). For fma that is not so: there the
 * sum is rounded to odd (the last bit set when anything was lost), which a second rounding to 2 bits fewer or more respects. */
#include "emu/lane_loop.h"
#include "emu/lane_float.h"

static inline uint32_t half_bf16_from_f32(float x) {
    uint32_t bits = f32_bits(x), r = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : r;
}

static inline float half_relu(float x) { return x > 0.0f || x != x ? x : 0.0f; }

/* a * b + c of f16 values, rounded to an odd float. The product is exact (22 bits, no smaller than 2^-48); the error of the sum is found exactly. */
static inline float half_fma(float a, float b, float c) {
    float p = a * b, s = p + c, v = s - p, lost = (p - (s - v)) + (c - v);
    uint32_t bits = f32_bits(s), step = ((f32_bits(lost) ^ bits) & 0x80000000u) ? 0xffffffffu : 1u;    /* towards what was lost */
    step = lost != 0.0f ? step : 0;
    step = bits & 1 ? 0 : step;
    step = f32_abs(s) < __builtin_inff() ? step : 0;
    return f32_from(bits + step);
}

/* The same for bf16, through doubles: their range holds every product. */
static inline float half_fma_bf16(float fa, float fb, float fc) {
    double a = (double)fa, b = (double)fb, c = (double)fc, p = a * b, s = p + c, v = s - p, lost = (p - (s - v)) + (c - v);
    uint64_t bits = f64_bits(s), step = ((f64_bits(lost) ^ bits) & 0x8000000000000000u) ? UINT64_MAX : 1u;
    step = lost != 0.0 ? step : 0;
    step = bits & 1 ? 0 : step;
    step = __builtin_fabs(s) < (double)__builtin_inff() ? step : 0;
    double odd = f64_from(bits + step);
    float r = (float)odd;
    double back = (double)r;
    uint32_t low = f32_bits(r), away = __builtin_fabs(back) < __builtin_fabs(odd) ? 1u : 0xffffffffu;
    away = back != odd ? away : 0;
    away = low & 1 ? 0 : away;
    away = f32_abs(r) < __builtin_inff() ? away : 0;
    return f32_from(low + away);
}

enum { HALVES = 2 * WARP_SIZE };
struct halves { float x[HALVES] __attribute__((aligned(64))); };
#define EACH_HALF(n) _Pragma("GCC ivdep") for (unsigned l = 0; l < (n); l++)
#define ALWAYS static inline __attribute__((always_inline))

ALWAYS void halves_load(struct halves *r, const ROW_U16 *h, unsigned n, bool bf16, bool ftz) {
    if (bf16) { EACH_HALF(n) r->x[l] = f32_from((uint32_t)h[l] << 16); return; }
#ifdef __F16C__
    for (unsigned l = 0; l < n; l += 8) _mm256_store_ps(r->x + l, _mm256_cvtph_ps(_mm_load_si128((const __m128i *)(const void *)(h + l))));
#else
    EACH_HALF(n) r->x[l] = half_to_f32(h[l]);
#endif
    if (ftz) EACH_HALF(n) r->x[l] = f32_abs(r->x[l]) < 0x1p-14f ? f32_from(f32_bits(r->x[l]) & 0x80000000u) : r->x[l];
}

/* Saturates, flushes and rounds to the destination, where lanes of m are on. As with single precision, the result that decides about flushing is
 * rounded to 11 bits without a lower end of the exponents: 2^-14 (1 - 2^-12) and more become 2^-14. */
ALWAYS void halves_store(struct halves *r, const struct insn *in, struct warp *w, uint32_t m, unsigned n, bool bf16) {
    if (in->imm & HALF_FTZ && !bf16)
        EACH_HALF(n) r->x[l] = f32_abs(r->x[l]) < 0x1.ffep-15f ? f32_from(f32_bits(r->x[l]) & 0x80000000u) : r->x[l];
    if (in->imm & HALF_SAT) EACH_HALF(n) r->x[l] = f32_sat(r->x[l]);
    if (in->imm & HALF_RELU) EACH_HALF(n) r->x[l] = half_relu(r->x[l]);
    uint16_t t[HALVES] __attribute__((aligned(64)));
    if (bf16) EACH_HALF(n) t[l] = (uint16_t)half_bf16_from_f32(r->x[l]);
    else EACH_HALF(n) t[l] = (uint16_t)half_from_f32(r->x[l]);
    if (m == FULL_MASK) memcpy(w->frame + in->d, t, n * sizeof t[0]);
    else if (n == WARP_SIZE) {
        ROW_U16 *rd = LANE_ROW(U16, in->d);
        const struct lane_spread sel = lane_spread(m);
        LANE_FOR { rd[l] = LANE_ON_U16(sel, l) ? t[l] : rd[l]; }
    } else {
        ROW_U32 *rd = LANE_ROW(U32, in->d);
        const ROW_U32 *pairs = (const ROW_U32 *)(const void *)t;
        LANE_FOR { rd[l] = LANE_ON_U32(m, l) ? pairs[l] : rd[l]; }
    }
}

/* .oob: 0 where an operand is the NaN of elements outside the tensor. */
static void halves_outside(struct halves *r, const struct insn *in, struct warp *w, unsigned n) {
    const ROW_U16 *a = LANE_ROW(U16, in->a), *b = LANE_ROW(U16, in->b), *c = LANE_ROW(U16, in->c);
    EACH_HALF(n) r->x[l] = a[l] == HALF_OOB_NAN || b[l] == HALF_OOB_NAN || c[l] == HALF_OOB_NAN ? 0.0f : r->x[l];
}

/* The value itself, not a sum: a -0 stays one, NaN is canonical when rounded. */
static inline float half_min(float a, float b) { return f32_min(a, b); }
static inline float half_max(float a, float b) { return f32_max(a, b); }
static inline float half_select(float a, float b, uint64_t imm, float (*pick)(float, float)) {
    float x = imm & HALF_ABS ? f32_abs(a) : a, y = imm & HALF_ABS ? f32_abs(b) : b;
    float r = pick(x, y);
    r = imm & HALF_NAN && (a != a || b != b) ? f32_from(0x7fffffffu) : r;
    return imm & HALF_ABS ? f32_xorsign(r, a, b) : r;
}

#define ONE(name, n, bf16, load_c, expression)                                                                                  \
    static const struct insn *name##_masked(LANE_ARGS) {                                                                        \
        (void)ctx;                                                                                                              \
        const uint32_t m = insn_mask(in, w);                                                                                    \
        if (m == 0) return in + 1;                                                                                              \
        const bool ftz = (in->imm & HALF_FTZ) != 0;                                                                             \
        const uint64_t imm = in->imm;                                                                                           \
        (void)imm;                                                                                                              \
        struct halves fa, fb, fc;                                                                                               \
        halves_load(&fa, LANE_ROW(U16, in->a), n, bf16, ftz);                                                                   \
        halves_load(&fb, LANE_ROW(U16, in->b), n, bf16, ftz);                                                                   \
        if (load_c) halves_load(&fc, LANE_ROW(U16, in->c), n, bf16, ftz);                                                       \
        EACH_HALF(n) {                                                                                                          \
            const float a = fa.x[l], b = fb.x[l], c = (load_c) ? fc.x[l] : 0.0f;                                                \
            (void)c;                                                                                                            \
            fa.x[l] = (expression);                                                                                             \
        }                                                                                                                       \
        if ((load_c) && imm & HALF_OOB) halves_outside(&fa, in, w, n);                                                          \
        halves_store(&fa, in, w, m, n, bf16);                                                                                   \
        return in + 1;                                                                                                          \
    }
#define FOUR(op, load_c, expression, expression_bf16)                                                                           \
    ONE(op##_f16, WARP_SIZE, false, load_c, expression)                                                                         \
    ONE(op##_f16x2, HALVES, false, load_c, expression)                                                                          \
    ONE(op##_bf16, WARP_SIZE, true, load_c, expression_bf16)                                                                    \
    ONE(op##_bf16x2, HALVES, true, load_c, expression_bf16)
FOUR(add, false, a + b, a + b)
FOUR(sub, false, a - b, a - b)
FOUR(mul, false, a * b, a * b)
FOUR(fma, true, half_fma(a, b, c), half_fma_bf16(a, b, c))
FOUR(min, false, half_select(a, b, imm, half_min), half_select(a, b, imm, half_min))
FOUR(max, false, half_select(a, b, imm, half_max), half_select(a, b, imm, half_max))

#include "emu/lane_rows.h"
#include "emu/lane_half.def"

/* Written rows have one handler: next to the work the test of the mask is nothing. */
const struct lane_pair LANE_TABLE(lane_half)[] = {
#include "emu/lane_table.h"
#undef WRITTEN
#define WRITTEN(name, ...) { name##_masked, name##_masked },
#include "emu/lane_half.def"
};
