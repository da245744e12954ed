// rounding: add, mul, fma, div, sqrt and rcp of float and double in the four directions, against the host's with fesetround;
// denormals, infinities and signed zeros included; and flush-to-zero arithmetic.
#include "app.h"
#include <fenv.h>
#include <vector>

#define ROWS 7

#define FORMS(T, add, sub, mul, fma, div, sqrt, rcp, suffix)                                                        \
    __device__ void evaluate_##suffix(T a, T b, T c, T *out, int n, int i)                                          \
    {                                                                                                               \
        out[i] = add##_##suffix(a, b);                                                                              \
        out[n + i] = sub##_##suffix(a, b);                                                                          \
        out[2 * n + i] = mul##_##suffix(a, b);                                                                      \
        out[3 * n + i] = fma##_##suffix(a, b, c);                                                                   \
        out[4 * n + i] = div##_##suffix(a, b);                                                                      \
        out[5 * n + i] = sqrt##_##suffix(a < 0 ? -a : a);                                                           \
        out[6 * n + i] = rcp##_##suffix(b);                                                                         \
    }
FORMS(float, __fadd, __fsub, __fmul, __fmaf, __fdiv, __fsqrt, __frcp, rn)
FORMS(float, __fadd, __fsub, __fmul, __fmaf, __fdiv, __fsqrt, __frcp, rz)
FORMS(float, __fadd, __fsub, __fmul, __fmaf, __fdiv, __fsqrt, __frcp, ru)
FORMS(float, __fadd, __fsub, __fmul, __fmaf, __fdiv, __fsqrt, __frcp, rd)
FORMS(double, __dadd, __dsub, __dmul, __fma, __ddiv, __dsqrt, __drcp, rn)
FORMS(double, __dadd, __dsub, __dmul, __fma, __ddiv, __dsqrt, __drcp, rz)
FORMS(double, __dadd, __dsub, __dmul, __fma, __ddiv, __dsqrt, __drcp, ru)
FORMS(double, __dadd, __dsub, __dmul, __fma, __ddiv, __dsqrt, __drcp, rd)

template <typename T> __global__ void evaluate(const T *a, const T *b, const T *c, T *out, int n, int mode)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    switch (mode) {
    case 0: evaluate_rn(a[i], b[i], c[i], out, n, i); break;
    case 1: evaluate_rz(a[i], b[i], c[i], out, n, i); break;
    case 2: evaluate_ru(a[i], b[i], c[i], out, n, i); break;
    default: evaluate_rd(a[i], b[i], c[i], out, n, i);
    }
}

// Volatile operands keep the compiler from moving the arithmetic out of the rounding mode.
template <typename T> static T reference(int row, T a_, T b_, T c_)
{
    volatile T a = a_, b = b_, c = c_, r = 0;
    switch (row) {
    case 0: r = a + b; break;
    case 1: r = a - b; break;
    case 2: r = a * b; break;
    case 3: r = std::fma((T)a, (T)b, (T)c); break;
    case 4: r = a / b; break;
    case 5: r = std::sqrt((T)(a < 0 ? -a : (T)a)); break;
    case 6: r = (T)1 / b; break;
    }
    return r;
}

template <typename T> static T value(unsigned *seed, int i, int k)
{
    const T special[] = {0, (T)-0.0, 1, -1, (T)INFINITY, (T)-INFINITY, std::numeric_limits<T>::denorm_min(),
                         -std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), -std::numeric_limits<T>::max(),
                         (T)0.1, 3, std::numeric_limits<T>::min() / 8};
    const int m = sizeof(special) / sizeof(special[0]);
    if (i < m * m)
        return special[k == 0 ? i % m : k == 1 ? i / m : (i * 5 + 2) % m];
    int range = i % 4 == 0 ? (sizeof(T) == 4 ? 120 : 1000) : 6;
    T x = (T)app_uniform(seed, 1, 2) + (T)app_uniform(seed, 0, 1) * (sizeof(T) == 4 ? (T)0 : (T)1e-8);
    return std::ldexp(app_rand(seed) & 1 ? x : -x, (int)(app_rand(seed) % (2 * range)) - range);
}

template <typename T> static void check(const char *type)
{
    const int n = 2048, modes[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    std::vector<T> in[3], out(ROWS * n);
    T *d[3], *dout;
    unsigned seed = 41;
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < n; i++)
            in[k].push_back(value<T>(&seed, i, k));
        d[k] = app_to_device(in[k].data(), n);
    }
    OK(cudaMalloc(&dout, out.size() * sizeof(T)));
    for (int mode = 0; mode < 4; mode++) {
        evaluate<T><<<n / 128, 128>>>(d[0], d[1], d[2], dout, n, mode);
        OK_LAUNCH();
        app_to_host(out.data(), dout, out.size());
        for (int r = 0; r < ROWS; r++)
            for (int i = 0; i < n; i++) {
                fesetround(modes[mode]);
                T want = reference(r, in[0][i], in[1][i], in[2][i]), got = out[r * n + i];
                fesetround(FE_TONEAREST);
                bool same = isnan(want) ? isnan(got) : got == want && std::signbit(got) == std::signbit(want);
                EXPECT(same, "%s, mode %d, row %d of %a %a %a is %a, not %a", type, mode, r, (double)in[0][i], (double)in[1][i],
                       (double)in[2][i], (double)got, (double)want);
            }
    }
}

// With .ftz denormal operands and results become zeros of their sign, without it they stay.
__global__ void flush(const float *in, float *out)
{
    float a = in[0], b = in[1], r;
    asm("add.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(-0.0f));
    out[0] = r;
    asm("mul.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(b), "f"(0.5f));
    out[1] = r;
    asm("add.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(-0.0f));
    out[2] = r;
    asm("mul.f32 %0, %1, %2;" : "=f"(r) : "f"(b), "f"(0.5f));
    out[3] = r;
    asm("fma.rn.ftz.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(1e38f), "f"(2.0f));
    out[4] = r;
    asm("{.reg .pred p; setp.eq.ftz.f32 p, %1, 0f00000000; selp.f32 %0, 0f3F800000, 0f00000000, p;}" : "=f"(r) : "f"(a));
    out[5] = r;
}

int main(void)
{
    check<float>("float");
    check<double>("double");
    const float tiny = 1e-40f, least = -1.17549435e-38f, in[2] = {tiny, least};
    float out[6], *din = app_to_device(in, 2), *dout;
    OK(cudaMalloc(&dout, sizeof(out)));
    flush<<<1, 1>>>(din, dout);
    OK_LAUNCH();
    app_to_host(out, dout, 6);
    EXPECT(out[0] == 0 && !std::signbit(out[0]), "add.ftz kept %g", out[0]);
    EXPECT(out[1] == 0 && std::signbit(out[1]), "mul.ftz kept %g", out[1]);
    EXPECT(out[2] == tiny && out[3] == least / 2, "without ftz: %g %g", out[2], out[3]);
    EXPECT(out[4] == 2.0f, "fma.ftz gave %.9g", out[4]);
    EXPECT(out[5] == 1.0f, "setp.ftz saw a denormal");
    return app_verdict();
}
