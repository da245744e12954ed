// float_math: single-precision functions against the host's double library, within the errors of the CUDA guide; division,
// square root, rounding and remainders exactly; the fast intrinsics within theirs.
#define REAL float
#define WIDE double
#define MANTISSA 23
#define MIN_EXPONENT (-126)

// The fast intrinsics' errors are absolute or grow with the argument: their rows give what the guide's bound comes to.
#define FUNCTIONS(X)                                                                                                \
    X(sinf, sinf(a), sin(a), -50, 50, 2)                                                                            \
    X(cosf, cosf(a), cos(a), -50, 50, 2)                                                                            \
    X(sinf_large, sinf(a), sin(a), 2e5, 1e15, 2)                                                                    \
    X(tanf, tanf(a), tan(a), -1.5, 1.5, 4)                                                                          \
    X(expf, expf(a), exp(a), -87, 88, 2)                                                                            \
    X(exp2f, exp2f(a), exp2(a), -126, 127, 2)                                                                       \
    X(exp2f_small, exp2f(a), exp2(a), -149, -126, 2)                                                                \
    X(exp10f, exp10f(a), pow(10, a), -37, 38, 2)                                                                    \
    X(expm1f, expm1f(a), expm1(a), -5, 5, 1)                                                                        \
    X(logf, logf(a), log(a), 1e-37, 1e37, 1)                                                                        \
    X(logf_near_1, logf(a), log(a), 0.9, 1.1, 1)                                                                    \
    X(log2f, log2f(a), log2(a), 1e-6, 1e6, 1)                                                                       \
    X(log10f, log10f(a), log10(a), 1e-6, 1e6, 2)                                                                    \
    X(log1pf, log1pf(a), log1p(a), -0.9, 9, 1)                                                                      \
    X(asinf, asinf(a), asin(a), -1, 1, 2)                                                                           \
    X(acosf, acosf(a), acos(a), -1, 1, 2)                                                                           \
    X(atanf, atanf(a), atan(a), -10, 10, 2)                                                                         \
    X(atan2f, atan2f(a, b), atan2(a, b), -5, 5, 3)                                                                  \
    X(sinhf, sinhf(a), sinh(a), -20, 20, 3)                                                                         \
    X(coshf, coshf(a), cosh(a), -20, 20, 2)                                                                         \
    X(tanhf, tanhf(a), tanh(a), -5, 5, 2)                                                                           \
    X(cbrtf, cbrtf(a), cbrt(a), -1000, 1000, 1)                                                                     \
    X(powf, powf(a, b), pow(a, b), 0.1, 10, 8)                                                                      \
    X(hypotf, hypotf(a, b), hypot(a, b), -1000, 1000, 3)                                                            \
    X(erff, erff(a), erf(a), -3, 3, 2)                                                                              \
    X(erfcf, erfcf(a), erfc(a), -3, 9, 4)                                                                           \
    X(tgammaf, tgammaf(a), tgamma(a), 0.1, 20, 11)                                                                  \
    X(rsqrtf, rsqrtf(a), 1 / sqrt(a), 1e-37, 1e37, 2)                                                               \
    X(norm3df, norm3df(a, b, 1.0f), sqrt(a * a + b * b + 1), -100, 100, 3)                                          \
    X(fdividef, __fdividef(a, b), a / b, 1e-10, 1e10, 2)                                                            \
    X(fast_exp, __expf(a), exp(a), -20, 20, 26)                                                                     \
    X(fast_log2, __log2f(a), log2(a), 2.5, 1e6, 3)                                                                  \
    X(fast_sin, __sinf(a) + 1.0f, sin(a) + 1, 0, 3.1415927f, 4)                                                     \
    X(fast_cos, __cosf(a) + 2.0f, cos(a) + 2, -3.1415927f, 3.1415927f, 6)                                           \
    X(fast_pow, __powf(a, 2.0f), a * a, 1.5, 3, 12)                                                                 \
    X(divide, a / b, (float)a / (float)b, 1e-18, 1e18, 0)                                                           \
    X(divide_wide, a / b, (float)a / (float)b, 1e-37, 1e37, 0)                                                      \
    X(divide_tiny, a / 3.0f, (float)a / 3.0f, 1e-44, 1e-37, 0)                                                      \
    X(reciprocal, 1.0f / a, 1.0f / (float)a, -1e3, 1e3, 0)                                                          \
    X(sqrt, sqrtf(a), sqrtf((float)a), 1e-37, 1e37, 0)                                                              \
    X(sqrt_tiny, sqrtf(a), sqrtf((float)a), 1e-44, 1e-38, 0)                                                        \
    X(fma, fmaf(a, b, -a), fmaf((float)a, (float)b, -(float)a), -1e3, 1e3, 0)                                       \
    X(floorf, floorf(a), floor(a), -1e6, 1e6, 0)                                                                    \
    X(ceilf, ceilf(a), ceil(a), -1e6, 1e6, 0)                                                                       \
    X(truncf, truncf(a), trunc(a), -1e6, 1e6, 0)                                                                    \
    X(rintf, rintf(a), rint(a), -1e3, 1e3, 0)                                                                       \
    X(rintf_half, rintf(floorf(a) + 0.5f), rint(floor(a) + 0.5), -1e3, 1e3, 0)                                      \
    X(roundf, roundf(a), round(a), -1e3, 1e3, 0)                                                                    \
    X(fabsf, fabsf(a), fabs(a), -9, 9, 0)                                                                           \
    X(fmodf, fmodf(a, b), fmod(a, b), 0.1, 1e6, 0)                                                                  \
    X(remainderf, remainderf(a, b), remainder(a, b), 0.1, 1e6, 0)                                                   \
    X(fminf, fminf(a, b), fmin(a, b), -5, 5, 0)                                                                     \
    X(fmaxf, fmaxf(a, b), fmax(a, b), -5, 5, 0)                                                                     \
    X(copysignf, copysignf(a, b), copysign(a, b), -5, 5, 0)                                                         \
    X(nextafterf, nextafterf(a, b), nextafterf((float)a, (float)b), -5, 5, 0)                                       \
    X(ldexpf, ldexpf(a, 7), ldexp(a, 7), -5, 5, 0)                                                                  \
    X(scale_down, ldexpf(a, -140), ldexpf((float)a, -140), -5, 5, 0)                                                \
    X(saturate, __saturatef(a), fmin(fmax(a, 0), 1), -2, 2, 0)
#include "math_table.h"

int main(void)
{
    check_functions();
    return app_verdict();
}
