// convert: conversions between integers and floating point in all rounding directions, saturation, NaN, narrow types, bit casts.
#include "app.h"
#include <fenv.h>
#include <stdint.h>
#include <vector>

#define ROWS 34

__global__ void evaluate(const double *in, const long long *ints, uint64_t *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, r = 0;
    if (i >= n)
        return;
    double d = in[i];
    float f = (float)d;
    long long q = ints[i];
#define ROW(v) out[(r++) * n + i] = (uint64_t)(v)
#define FROW(v) out[(r++) * n + i] = __float_as_uint(v)
#define DROW(v) out[(r++) * n + i] = (uint64_t)__double_as_longlong(v)
    ROW((uint32_t)__float2int_rn(f));
    ROW((uint32_t)__float2int_rz(f));
    ROW((uint32_t)__float2int_ru(f));
    ROW((uint32_t)__float2int_rd(f));
    ROW(__float2uint_rn(f));
    ROW(__float2uint_rz(f));
    ROW((uint32_t)__double2int_rn(d));
    ROW((uint32_t)__double2int_rz(d));
    ROW((uint32_t)__double2int_ru(d));
    ROW((uint32_t)__double2int_rd(d));
    ROW(__double2uint_rz(d));
    ROW(__double2ll_rn(d));
    ROW(__double2ll_rd(d));
    ROW(__float2ll_rz(f));
    ROW(__double2ull_rz(fabs(d)));
    FROW(__int2float_rn((int)q));
    FROW(__int2float_rz((int)q));
    FROW(__int2float_ru((int)q));
    FROW(__int2float_rd((int)q));
    FROW(__uint2float_rn((unsigned)q));
    FROW(__uint2float_rz((unsigned)q));
    FROW(__ll2float_rn(q));
    FROW(__ll2float_rd(q));
    FROW(__ull2float_ru((unsigned long long)q));
    DROW(__ll2double_rn(q));
    DROW(__ll2double_rz(q));
    DROW(__ull2double_ru((unsigned long long)q));
    FROW(__double2float_rn(d));
    FROW(__double2float_rz(d));
    FROW(__double2float_ru(d));
    FROW(__double2float_rd(d));
    ROW((uint32_t)(signed char)q + (uint64_t)(unsigned char)q + (uint32_t)(short)q + (uint64_t)(unsigned short)q);
    DROW(__hiloint2double(__double2hiint(d) ^ 0x80000000, __double2loint(d)));
    ROW(__float_as_uint(f) ^ (uint64_t)__double_as_longlong((double)f));
#undef ROW
#undef FROW
#undef DROW
}

// x as an integer between lo and hi in the direction of `mode`; NaN is 0.
template <typename I> static uint64_t to_int(double x, int mode, I lo, I hi)
{
    if (isnan(x))
        return 0;
    // not rint() under fesetround(): compilers expand it to something that knows round-to-nearest only
    const double r = mode == FE_TOWARDZERO ? trunc(x) : mode == FE_UPWARD ? ceil(x) : mode == FE_DOWNWARD ? floor(x) : nearbyint(x);
    return (uint64_t)(r < (double)lo ? lo : r >= (double)hi ? hi : (I)r);
}

static uint64_t bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

static uint64_t bits(double d)
{
    uint64_t u;
    memcpy(&u, &d, 8);
    return u;
}

template <typename F, typename S> static uint64_t rounded(S source, int mode)
{
    fesetround(mode);
    volatile S v = source;
    volatile F f = (F)v;
    fesetround(FE_TONEAREST);
    F result = f;
    return bits(result);
}

static uint64_t reference(int row, double d, long long q)
{
    const int modes[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    const float f = (float)d;
    if (row < 4)
        return (uint32_t)to_int<int>(f, modes[row], INT32_MIN, INT32_MAX);
    if (row >= 6 && row < 10)
        return (uint32_t)to_int<int>(d, modes[row - 6], INT32_MIN, INT32_MAX);
    if (row >= 15 && row < 19)
        return rounded<float>((int)q, modes[row - 15]);
    if (row >= 27 && row < 31)
        return rounded<float>(d, modes[row - 27]);
    switch (row) {
    case 4: return to_int<uint32_t>(f, FE_TONEAREST, 0, UINT32_MAX);
    case 5: return to_int<uint32_t>(f, FE_TOWARDZERO, 0, UINT32_MAX);
    case 10: return to_int<uint32_t>(d, FE_TOWARDZERO, 0, UINT32_MAX);
    case 11: return to_int<int64_t>(d, FE_TONEAREST, INT64_MIN, INT64_MAX);
    case 12: return to_int<int64_t>(d, FE_DOWNWARD, INT64_MIN, INT64_MAX);
    case 13: return to_int<int64_t>(f, FE_TOWARDZERO, INT64_MIN, INT64_MAX);
    case 14: return to_int<uint64_t>(fabs(d), FE_TOWARDZERO, 0, UINT64_MAX);
    case 19: return rounded<float>((uint32_t)q, FE_TONEAREST);
    case 20: return rounded<float>((uint32_t)q, FE_TOWARDZERO);
    case 21: return rounded<float>((int64_t)q, FE_TONEAREST);
    case 22: return rounded<float>((int64_t)q, FE_DOWNWARD);
    case 23: return rounded<float>((long double)(uint64_t)q, FE_UPWARD); // exact, then one rounding
    case 24: return rounded<double>((int64_t)q, FE_TONEAREST);
    case 25: return rounded<double>((int64_t)q, FE_TOWARDZERO);
    case 26: return rounded<double>((long double)(uint64_t)q, FE_UPWARD);
    case 31: return (uint32_t)(signed char)q + (uint64_t)(unsigned char)q + (uint32_t)(short)q + (uint64_t)(unsigned short)q;
    case 32: return bits(-d);
    default: return bits(f) ^ bits((double)f);
    }
}

int main(void)
{
    const double special[] = {0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 2147483647.0, 2147483648.0, -2147483648.0,
                              -2147483649.0, 4294967295.0, 4294967296.0, 1e10, -1e10, 9.2233720368547758e18, 1e30, -1e30,
                              INFINITY, -INFINITY, 16777217.0, 1e-40, -1e-46, 3.4028236e38, 3e38, 0.1, -0.7};
    const int specials = sizeof(special) / sizeof(special[0]), n = 1024;
    std::vector<double> d(n);
    std::vector<long long> q(n);
    unsigned seed = 13;
    for (int i = 0; i < n; i++) {
        d[i] = i < specials ? special[i] : ldexp(app_uniform(&seed, -1, 1) + app_uniform(&seed, -1, 1) * 1e-8,
                                                 (int)(app_rand(&seed) % 70) - 3);
        q[i] = ((long long)app_rand(&seed) << 32 | app_rand(&seed)) >> app_rand(&seed) % 60;
    }
    q[0] = INT64_MIN, q[1] = INT64_MAX, q[2] = 0x7fffffff, q[3] = 0xffffffffll, q[4] = 16777217, q[5] = -16777217, q[6] = 0;
    std::vector<uint64_t> out(ROWS * n);
    double *dd = app_to_device(d.data(), n);
    long long *dq = app_to_device(q.data(), n);
    uint64_t *dout;
    OK(cudaMalloc(&dout, out.size() * sizeof(uint64_t)));
    evaluate<<<n / 128, 128>>>(dd, dq, dout, n);
    OK_LAUNCH();
    app_to_host(out.data(), dout, out.size());
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < n; i++) {
            uint64_t want = reference(r, d[i], q[i]);
            EXPECT(out[r * n + i] == want, "row %d of %.17g, %lld is %llx, not %llx", r, d[i], q[i],
                   (unsigned long long)out[r * n + i], (unsigned long long)want);
        }
    // NaN to 32 bits is 0.
    double nan[128];
    for (double &x : nan)
        x = NAN;
    OK(cudaMemcpy(dd, nan, sizeof(nan), cudaMemcpyHostToDevice));
    evaluate<<<1, 128>>>(dd, dq, dout, n);
    OK_LAUNCH();
    app_to_host(out.data(), dout, out.size());
    for (int r : {0, 1, 2, 3, 4, 5})
        EXPECT(out[r * n] == 0, "NaN, row %d: %llx", r, (unsigned long long)out[r * n]);
    return app_verdict();
}
