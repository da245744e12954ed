/* Handlers of the approximate functions. Compiled once for each level of host vector instructions.
 *
 * Each works through a row in double precision: reduce the argument, a polynomial (minimax by Chebyshev interpolation; its error as a power of two beside
 * it), rebuild, round to single. No fused operations, so that every level gives the same bits. Edge cases as the tables of the PTX ISA. */
#include "emu/lane_loop.h"
#include "emu/lane_float.h"

#define ROWS(name) static void __attribute__((noinline)) name##_row(float *restrict d, const float *restrict a)
#define EACH _Pragma("GCC ivdep") for (unsigned l = 0; l < WARP_SIZE; l++)

static const double to_integer = 0x1.8p52;     /* adding and subtracting it rounds to an integer; its low bits are then that integer */

/* 2^t for |t| < 1000, relative error below 2^-34 */
static inline double approx_exp2(double t) {
    double n = t + to_integer, f = t - (n - to_integer);
    double p = 0x1.00c0e4e15189cp-16;
    p = p * f + 0x1.446c79efd4834p-13;
    p = p * f + 0x1.5d877598350dep-10;
    p = p * f + 0x1.3b29d8bb0b97ep-7;
    p = p * f + 0x1.c6b08da70cce3p-5;
    p = p * f + 0x1.ebfbe0aa03df0p-3;
    p = p * f + 0x1.62e42fef9cc69p-1;
    p = p * f + 0x1.ffffffffa7135p-1;
    return f64_from(f64_bits(p) + (f64_bits(n) << 52));
}

/* 2^x */
static inline float approx_ex2(float x) {
    double t = (double)(x > -160.0f ? x : -160.0f);
    float r = (float)approx_exp2(t < 130.0 ? t : 130.0);
    return x == x ? r : f32_from(0x7fffffffu);
}

/* log2(x) = e + s * G(s^2), s = (m - 1) / (m + 1), m in [sqrt 1/2, sqrt 2): relative error 2^-36 of the second term, which is exact near 1 */
static inline float approx_lg2(float x) {
    double v = (double)x;                      /* subnormals become normal */
    uint64_t bits = f64_bits(v);
    uint64_t e = (bits - 0x3fe6a09e667f3bcdu) & 0xfff0000000000000u;     /* relative to sqrt 1/2 */
    double m = f64_from(bits - e), s = (m - 1.0) / (m + 1.0), z = s * s;
    double g = 0x1.5ce5fef72a156p-2;
    g = g * z + 0x1.a58daf71ca3d4p-2;
    g = g * z + 0x1.27777f854fd01p-1;
    g = g * z + 0x1.ec709d13713b1p-1;
    g = g * z + 0x1.71547652bed4fp+1;
    double exponent = (double)((int32_t)(e >> 32) >> 20);
    float r = (float)(exponent + s * g);
    r = x > 0.0f ? r : x == 0.0f ? -__builtin_inff() : f32_from(0x7fffffffu);
    return x < __builtin_inff() || x != x ? r : __builtin_inff();
}

/* sine and cosine of r in [-pi/4, pi/4]: 2^-37 and 2^-34 */
static inline double approx_sin_poly(double r) {
    double z = r * r, p = 0x1.6cb5f9ee355dap-19;
    p = p * z - 0x1.a00ee23c4a17cp-13;
    p = p * z + 0x1.11110743b51a1p-7;
    p = p * z - 0x1.555555493bbafp-3;
    p = p * z + 0x1.fffffffff6700p-1;
    return p * r;
}
static inline double approx_cos_poly(double r) {
    double z = r * r, p = 0x1.9904c7bcdc5f4p-16;
    p = p * z - 0x1.6c077c4bf6baep-10;
    p = p * z + 0x1.55553a6c64313p-5;
    p = p * z - 0x1.ffffffbd91996p-2;
    return p * z + 0x1.ffffffff97004p-1;
}

enum { TURN_BITS = 20 };                       /* arguments below 2^20 in magnitude: the product with pi/2 keeps 2^-34 */

/* sin(x + turn pi/2) */
static inline float approx_circle(float x, uint32_t turn) {
    double v = (double)x;
    double n = v * 0x1.45f306dc9c883p-1 + to_integer, k = n - to_integer;
    double r = v - k * 0x1.921fb54442d18p+0 - k * 0x1.1a62633145c07p-54;
    uint32_t quadrant = (uint32_t)f64_bits(n) + turn;
    double s = quadrant & 1 ? approx_cos_poly(r) : approx_sin_poly(r);
    uint64_t sign = (uint64_t)(quadrant & 2) << 62;
    float y = (float)f64_from(f64_bits(s) ^ sign);
    return f32_abs(x) < __builtin_inff() ? y : f32_from(0x7fffffffu);
}

/* Larger arguments than the reduction above is exact for: one by one, by the host's libm. */
static void approx_circle_far(float *d, const float *a, double (*f)(double)) {
    for (unsigned l = 0; l < WARP_SIZE; l++)
        if (f32_abs(a[l]) >= (float)(1 << TURN_BITS) && f32_abs(a[l]) < __builtin_inff()) d[l] = (float)f((double)a[l]);
}
static inline bool approx_any_far(const float *a) {
    float top = 0.0f;
    for (unsigned l = 0; l < WARP_SIZE; l++) { float x = f32_abs(a[l]); top = x > top ? x : top; }
    return top >= (float)(1 << TURN_BITS);
}

/* tanh(x) = (e - 1) / (e + 1), e = exp(2 |x|); near 0, where that cancels, its series. Error below 2^-28; the bound of PTX is 2^-11. */
static inline float approx_tanh(float x) {
    double v = (double)f32_abs(x), z = v * v;
    double t = v < 20.0 ? v * 0x1.71547652b82fep+1 : 58.0;
    double e = approx_exp2(t), far = (e - 1.0) / (e + 1.0), near = v - v * z * (1.0 / 3.0 - z * (2.0 / 15.0));
    float r = (float)(v < 0.03125 ? near : far);
    r = f32_from(f32_bits(r) | (f32_bits(x) & 0x80000000u));
    return x == x ? r : f32_from(0x7fffffffu);
}

/* 1 / sqrt(x): single precision to 2^-22, then one Newton step in double. */
static inline float approx_rsqrt(float x) {
    float y = 1.0f / __builtin_sqrtf(x);       /* 0, inf and NaN are right here, and stay */
    double v = (double)y, e = 1.0 - (double)x * v * v;
    float r = (float)(v + 0.5 * v * e);
    r = x > 0.0f && x < __builtin_inff() ? r : y;
    return f32_canon(r);
}

ROWS(ex2_f32) { EACH d[l] = approx_ex2(a[l]); }
ROWS(ex2_f32_ftz) { EACH d[l] = f32_ftz(approx_ex2(a[l])); }
ROWS(lg2_f32) { EACH d[l] = approx_lg2(a[l]); }
ROWS(lg2_f32_ftz) { EACH d[l] = approx_lg2(f32_ftz(a[l])); }
ROWS(sin_f32) { EACH d[l] = approx_circle(a[l], 0); if (approx_any_far(a)) approx_circle_far(d, a, sin); }
ROWS(sin_f32_ftz) { EACH d[l] = approx_circle(f32_ftz(a[l]), 0); if (approx_any_far(a)) approx_circle_far(d, a, sin); }
ROWS(cos_f32) { EACH d[l] = approx_circle(a[l], 1); if (approx_any_far(a)) approx_circle_far(d, a, cos); }
ROWS(cos_f32_ftz) { EACH d[l] = approx_circle(f32_ftz(a[l]), 1); if (approx_any_far(a)) approx_circle_far(d, a, cos); }
ROWS(tanh_f32) { EACH d[l] = approx_tanh(a[l]); }
ROWS(rsqrt_f32) { EACH d[l] = approx_rsqrt(a[l]); }
ROWS(rsqrt_f32_ftz) { EACH d[l] = approx_rsqrt(f32_ftz(a[l])); }

/* div.approx is a * (1 / b), in which the reciprocal of |b| > 2^126 is flushed to zero; within 2 ulp elsewhere. */
static inline float approx_div(float a, float b) {
    float zero = f32_from(f32_bits(b) & 0x80000000u), r = f32_abs(b) > 0x1p126f && f32_abs(b) < __builtin_inff() ? a * zero : a / b;
    return r;
}

/* Upper halves of doubles: 20 bits of fraction, rounded to nearest; subnormals flushed. */
static inline double approx_upper_ftz(double a) {
    uint64_t high = f64_bits(a) & 0xffffffff00000000u, magnitude = high & 0x7fffffff00000000u;
    bool nan = a != a;                         /* its payload may lie in the lower half */
    return nan ? a : f64_from(magnitude < 0x0010000000000000u ? high & 0x8000000000000000u : high);
}
static inline double approx_upper(double r) {
    uint64_t bits = f64_bits(r), magnitude = bits & 0x7fffffffffffffffu, up = (bits + 0x80000000u) & 0xffffffff00000000u;
    if (magnitude > 0x7ff0000000000000u) return f64_from(0x7fffffff00000000u);
    return f64_from(magnitude < 0x0010000000000000u ? bits & 0x8000000000000000u : up);
}

#include "emu/lane_rows.h"
#include "emu/lane_approx.def"

const struct lane_pair LANE_TABLE(lane_approx)[] = {
#include "emu/lane_table.h"
#include "emu/lane_approx.def"
};
