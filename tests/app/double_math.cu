// double_math: double-precision functions against the host's long double library, within the errors of the CUDA guide; division,
// square root, rounding and remainders exactly.
#define REAL double
#define WIDE long double
#define MANTISSA 52
#define MIN_EXPONENT (-1022)

// In the host's column a and b are long double: a function that must be exact is called with double arguments.
#define FUNCTIONS(X)                                                                                                \
    X(sin, sin(a), sinl(a), -50, 50, 2)                                                                             \
    X(cos, cos(a), cosl(a), -50, 50, 2)                                                                             \
    X(sin_large, sin(a), sinl(a), 1e5, 1e15, 2)                                                                     \
    X(tan, tan(a), tanl(a), -1.5, 1.5, 2)                                                                           \
    X(exp, exp(a), expl(a), -700, 700, 1)                                                                           \
    X(exp_small, exp(a), expl(a), -745, -705, 1)                                                                    \
    X(exp2, exp2(a), exp2l(a), -1000, 1000, 1)                                                                      \
    X(exp10, exp10(a), powl(10, a), -300, 300, 1)                                                                   \
    X(expm1, expm1(a), expm1l(a), -5, 5, 1)                                                                         \
    X(log, log(a), logl(a), 1e-300, 1e300, 1)                                                                       \
    X(log_near_1, log(a), logl(a), 0.9, 1.1, 1)                                                                     \
    X(log2, log2(a), log2l(a), 1e-6, 1e6, 1)                                                                        \
    X(log10, log10(a), log10l(a), 1e-6, 1e6, 1)                                                                     \
    X(log1p, log1p(a), log1pl(a), -0.9, 9, 1)                                                                       \
    X(asin, asin(a), asinl(a), -1, 1, 2)                                                                            \
    X(acos, acos(a), acosl(a), -1, 1, 2)                                                                            \
    X(atan, atan(a), atanl(a), -10, 10, 2)                                                                          \
    X(atan2, atan2(a, b), atan2l(a, b), -5, 5, 2)                                                                   \
    X(sinh, sinh(a), sinhl(a), -20, 20, 2)                                                                          \
    X(cosh, cosh(a), coshl(a), -20, 20, 2)                                                                          \
    X(tanh, tanh(a), tanhl(a), -5, 5, 2)                                                                            \
    X(asinh, asinh(a), asinhl(a), -50, 50, 3)                                                                       \
    X(acosh, acosh(a), acoshl(a), 1, 50, 3)                                                                         \
    X(atanh, atanh(a), atanhl(a), -0.99, 0.99, 3)                                                                   \
    X(cbrt, cbrt(a), cbrtl(a), -1000, 1000, 1)                                                                      \
    X(pow, pow(a, b), powl(a, b), 0.01, 100, 2)                                                                     \
    X(hypot, hypot(a, b), hypotl(a, b), -1000, 1000, 2)                                                             \
    X(erf, erf(a), erfl(a), -3, 3, 2)                                                                               \
    X(erfc, erfc(a), erfcl(a), -3, 10, 5)                                                                           \
    X(tgamma, tgamma(a), tgammal(a), 0.1, 20, 10)                                                                   \
    X(lgamma, lgamma(a), lgammal(a), 3, 50, 4)                                                                      \
    X(rsqrt, rsqrt(a), 1 / sqrtl(a), 1e-300, 1e300, 1)                                                              \
    X(sinpi, sinpi(a), sinl(a * 3.14159265358979323846264338327950288L), -0.5, 0.5, 2)                              \
    X(sincos_norm, sincos_norm(a), 1, -9, 9, 4)                                                                     \
    X(divide, a / b, (double)a / (double)b, 1e-150, 1e150, 0)                                                       \
    X(divide_wide, a / b, (double)a / (double)b, 1e-300, 1e300, 0)                                                  \
    X(reciprocal, 1.0 / a, 1.0 / (double)a, -1e3, 1e3, 0)                                                           \
    X(sqrt, sqrt(a), sqrt((double)a), 1e-300, 1e300, 0)                                                             \
    X(sqrt_tiny, sqrt(a), sqrt((double)a), 1e-320, 1e-305, 0)                                                       \
    X(fma, fma(a, b, -a), ::fma((double)a, (double)b, -(double)a), -1e3, 1e3, 0)                                    \
    X(floor, floor(a), floorl(a), -1e6, 1e6, 0)                                                                     \
    X(ceil, ceil(a), ceill(a), -1e6, 1e6, 0)                                                                        \
    X(trunc, trunc(a), truncl(a), -1e6, 1e6, 0)                                                                     \
    X(rint, rint(a), rintl(a), -1e3, 1e3, 0)                                                                        \
    X(rint_half, rint(floor(a) + 0.5), rintl(floorl(a) + 0.5L), -1e3, 1e3, 0)                                       \
    X(round, round(a), roundl(a), -1e3, 1e3, 0)                                                                     \
    X(fabs, fabs(a), fabsl(a), -9, 9, 0)                                                                            \
    X(fmod, fmod(a, b), fmodl(a, b), 0.1, 1e6, 0)                                                                   \
    X(remainder, remainder(a, b), remainderl(a, b), 0.1, 1e6, 0)                                                    \
    X(fmin, fmin(a, b), fminl(a, b), -5, 5, 0)                                                                      \
    X(fmax, fmax(a, b), fmaxl(a, b), -5, 5, 0)                                                                      \
    X(fdim, fdim(a, b), fdim((double)a, (double)b), -5, 5, 0)                                                       \
    X(copysign, copysign(a, b), copysignl(a, b), -5, 5, 0)                                                          \
    X(nextafter, nextafter(a, b), nextafter((double)a, (double)b), -5, 5, 0)                                        \
    X(ldexp, ldexp(a, 7), ldexpl(a, 7), -5, 5, 0)                                                                   \
    X(scale_down, ldexp(a, -1060), ldexp((double)a, -1060), -5, 5, 0)                                               \
    X(logb, logb(a), logbl(a), 1e-9, 1e9, 0)                                                                        \
    X(frexp, fraction(a), fraction((double)a), -1e9, 1e9, 0)                                                        \
    X(modf, parts(a), parts((double)a), -1e3, 1e3, 0)

static __host__ __device__ double fraction(double x);
static __host__ __device__ double parts(double x);
static __device__ double sincos_norm(double x);
#include "math_table.h"

static __host__ __device__ double fraction(double x)
{
    int e;
    double f = frexp(x, &e);
    return f * 4 + e * 1024; // exact: few bits of e above those of f are lost on neither side
}

static __host__ __device__ double parts(double x)
{
    double whole, f = modf(x, &whole);
    return f * 2 - whole;
}

static __device__ double sincos_norm(double x)
{
    double s, c;
    sincos(x, &s, &c);
    return s * s + c * c;
}

int main(void)
{
    check_functions();
    return app_verdict();
}
