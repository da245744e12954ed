// half: half and bfloat16 arithmetic with one rounding (also fma), conversions in both directions, comparisons, pairs, min/max
// with NaN; the reference rounds exact double results itself.
#include "app.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>

// x rounded to `mantissa` bits behind the point and a smallest normal exponent, ties to even; x must be exact.
static double rounded(double x, int mantissa, int lowest, double largest)
{
    if (x == 0 || isnan(x) || isinf(x))
        return x;
    int e = ilogb(x), q = (e < lowest ? lowest : e) - mantissa;
    double r = ldexp(nearbyint(ldexp(x, -q)), q);
    return fabs(r) > largest ? copysign(INFINITY, x) : r;
}
static double to_half(double x) { return rounded(x, 10, -14, 65504); }
static double to_bf16(double x) { return rounded(x, 7, -126, 3.3895313892515355e38); }

#define ROWS 8

template <typename H> __device__ void rows(const float *a, const float *b, const float *c, float *out, int n, int i)
{
    H x = (H)a[i], y = (H)b[i], z = (H)c[i];
    out[i] = (float)x;
    out[n + i] = (float)(x + y);
    out[2 * n + i] = (float)(x - y);
    out[3 * n + i] = (float)(x * y);
    out[4 * n + i] = (float)__hfma(x, y, z);
    out[5 * n + i] = (float)__hmin(x, y) + 2 * (float)__hmax(x, y);
    out[6 * n + i] = (x < y) + 2 * (x == y) + 4 * (x >= y) + 8 * (-x > y);
    out[7 * n + i] = (float)__habs(x) + (float)(int)y;
}

__global__ void half_rows(const float *a, const float *b, const float *c, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        rows<__half>(a, b, c, out, n, i);
}

__global__ void bf16_rows(const float *a, const float *b, const float *c, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        rows<__nv_bfloat16>(a, b, c, out, n, i);
}

__global__ void pairs(const float *a, const float *b, float *out, int n)
{
    int i = threadIdx.x;
    __half2 x = __floats2half2_rn(a[i], b[i]), y = __floats2half2_rn(b[i], 0.5f);
    __half2 f = __hfma2(x, y, x), l = __lows2half2(f, x);
    out[2 * i] = __low2float(f) + __high2float(l);
    out[2 * i + 1] = __high2float(__hadd2(x, y));
    out[2 * n + i] = __half2int_rz(__float2half(a[i] * 10)) + __half2int_ru(__float2half(b[i])) * 1000;
}

__global__ void specials(unsigned short *out)
{
    __half nan = __ushort_as_half(0x7e01), one = __float2half(1.0f), big = __float2half(65504.0f);
    out[0] = __half_as_ushort(__hmax(nan, one));         // the operand that is a number
    out[1] = __half_as_ushort(__hmin(one, nan));
    out[2] = __half_as_ushort(__hadd(big, big));         // infinity
    out[3] = __half_as_ushort(__hadd_sat(one, one));     // 1
    out[4] = __half_as_ushort(__float2half(65520.0f));   // rounds to infinity
    out[5] = __half_as_ushort(__float2half(65519.0f));   // rounds to 65504
    out[6] = __half_as_ushort(__float2half(5.9604645e-8f)); // the smallest denormal
    out[7] = __half_as_ushort(__hmul(__ushort_as_half(1), __float2half(0.5f))); // half of it: to even, 0
    out[8] = __half_as_ushort(__hmul(__ushort_as_half(3), __float2half(0.5f))); // 1.5 of it: to even, 2
    out[9] = __half_as_ushort(__float2half_rz(2049.9f));
    out[10] = __half_as_ushort(__float2half_ru(2049.0f));
    out[11] = __half_as_ushort(__float2half(-0.0f));
    out[12] = (__half2float(nan) != __half2float(nan)) + 2 * __hisnan(nan) + 4 * (__hisinf(__hadd(big, big)) != 0);
    out[13] = __half_as_ushort(hsqrt(__float2half(2.25f)));
}

typedef double (*rounder)(double);

static void check(const char *type, rounder round_to, const std::vector<float> *in, const std::vector<float> &out, int n)
{
    for (int i = 0; i < n; i++) {
        double x = round_to(in[0][i]), y = round_to(in[1][i]), z = round_to(in[2][i]);
        double want[ROWS] = {x, round_to(x + y), round_to(x - y), round_to(x * y), round_to(x * y + z),
                             fmin(x, y) + 2 * fmax(x, y), (x < y) + 2.0 * (x == y) + 4.0 * (x >= y) + 8.0 * (-x > y),
                             fabs(x) + trunc(y)};
        for (int r = 0; r < ROWS; r++)
            EXPECT(out[r * n + i] == (float)want[r], "%s: row %d of %g %g %g is %.9g, not %.9g", type, r, x, y, z,
                   out[r * n + i], want[r]);
    }
}

int main(void)
{
    const int n = 1024;
    std::vector<float> in[3], out(ROWS * n);
    float *din[3], *dout;
    unsigned seed = 77;
    for (int k = 0; k < 3; k++) {
        in[k].resize(n); // exponents of -7 to 3: every exact sum and product fits a double
        for (auto &x : in[k])
            x = app_uniform(&seed, 1, 2) * (app_rand(&seed) & 1 ? 1 : -1) * ldexpf(1, (int)(app_rand(&seed) % 11) - 7);
        for (int i = 0; i < n; i += 3)
            in[k][i] = (float)((int)(app_rand(&seed) % 9) - 4); // equal values and ties
        din[k] = app_to_device(in[k].data(), n);
    }
    OK(cudaMalloc(&dout, out.size() * sizeof(float)));
    half_rows<<<n / 128, 128>>>(din[0], din[1], din[2], dout, n);
    OK_LAUNCH();
    app_to_host(out.data(), dout, out.size());
    check("half", to_half, in, out, n);
    bf16_rows<<<n / 128, 128>>>(din[0], din[1], din[2], dout, n);
    OK_LAUNCH();
    app_to_host(out.data(), dout, out.size());
    check("bfloat16", to_bf16, in, out, n);

    const int m = 256;
    pairs<<<1, m>>>(din[0], din[1], dout, m);
    OK_LAUNCH();
    app_to_host(out.data(), dout, 3 * m);
    for (int i = 0; i < m; i++) {
        double x = to_half(in[0][i]), y = to_half(in[1][i]);
        EXPECT(out[2 * i] == (float)(to_half(x * y + x) + x), "pair %d, low: %g", i, out[2 * i]);
        EXPECT(out[2 * i + 1] == (float)to_half(y + 0.5), "pair %d, high: %g", i, out[2 * i + 1]);
        double ints = trunc(to_half((double)(in[0][i] * 10))) + ceil(y) * 1000;
        EXPECT(out[2 * m + i] == (float)ints, "integers %d: %g, not %g", i, out[2 * m + i], ints);
    }

    const unsigned short want[14] = {0x3c00, 0x3c00, 0x7c00, 0x3c00, 0x7c00, 0x7bff, 1, 0, 2, 0x6800, 0x6801, 0x8000, 7, 0x3e00};
    unsigned short got[14], *dspecial;
    OK(cudaMalloc(&dspecial, sizeof(got)));
    specials<<<1, 1>>>(dspecial);
    OK_LAUNCH();
    app_to_host(got, dspecial, 14);
    for (int i = 0; i < 14; i++)
        EXPECT(got[i] == want[i], "special %d is %04x, not %04x", i, got[i], want[i]);
    printf("%d values\n", n);
    return app_verdict();
}
