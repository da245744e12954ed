/* For double_math.cu and float_math.cu: REAL and FUNCTIONS(X) come from the including file, one row
 * X(name, device expression in a and b, host expression in a and b, lowest argument, highest argument, error in ulp).
 *
 * Rows with an error of 0 must agree bit for bit. The others are compared with a more precise host function; one ulp is
 * added, since the CUDA guide counts from the rounded result. */
#pragma once
#include "app.h"
#include <vector>

enum function_id {
#define X(name, dev, host, lo, hi, ulp) ID_##name,
    FUNCTIONS(X)
#undef X
    FUNCTION_COUNT
};

__global__ void evaluate(int which, const REAL *as, const REAL *bs, REAL *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    REAL a = as[i], b = bs[i], r = 0;
    switch (which) {
#define X(name, dev, host, lo, hi, ulp) case ID_##name: r = dev; break;
        FUNCTIONS(X)
#undef X
    }
    out[i] = r;
}

static WIDE reference(int which, REAL a_, REAL b_)
{
    WIDE a = a_, b = b_;
    (void)b;
    switch (which) {
#define X(name, dev, host, lo, hi, ulp) case ID_##name: return (WIDE)(host);
        FUNCTIONS(X)
#undef X
    }
    return 0;
}

/* The distance in units of REAL's last place. */
static double ulps(REAL got, WIDE want)
{
    if (got == (REAL)want || (isnan(got) && isnan(want)))
        return 0;
    int e = want == 0 ? MIN_EXPONENT : (int)logb((double)want);
    return fabs((double)(((WIDE)got - want) / (WIDE)ldexp(1.0, (e < MIN_EXPONENT ? MIN_EXPONENT : e) - MANTISSA)));
}

static void check_function(int which, const char *name, double lo, double hi, double bound)
{
    const int n = 512;
    static std::vector<REAL> a(n), b(n), out(n);
    static REAL *da, *db, *dout;
    unsigned seed = 1000 + which;
    double worst = 0;
    for (int i = 0; i < n; i++) {
        double u = app_uniform(&seed, 0, 1), v = app_uniform(&seed, 0, 1);
        bool wide = lo > 0 && hi / lo > 1e4; // spread over the magnitudes
        a[i] = (REAL)(wide ? exp(log(lo) + u * (log(hi) - log(lo))) : lo + u * (hi - lo));
        b[i] = (REAL)(wide ? exp(log(lo) + v * (log(hi) - log(lo))) : lo + v * (hi - lo));
    }
    a[0] = (REAL)lo, a[1] = (REAL)hi, a[2] = (REAL)(lo < 0 ? 0 : lo), b[2] = (REAL)hi;
    if (!da) {
        OK(cudaMalloc(&da, n * sizeof(REAL)));
        OK(cudaMalloc(&db, n * sizeof(REAL)));
        OK(cudaMalloc(&dout, n * sizeof(REAL)));
    }
    OK(cudaMemcpy(da, a.data(), n * sizeof(REAL), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(db, b.data(), n * sizeof(REAL), cudaMemcpyHostToDevice));
    evaluate<<<(n + 127) / 128, 128>>>(which, da, db, dout, n);
    OK_LAUNCH();
    app_to_host(out.data(), dout, n);
    for (int i = 0; i < n; i++) {
        WIDE want = reference(which, a[i], b[i]);
        double err = ulps(out[i], want);
        worst = err > worst || isnan(err) ? err : worst;
        EXPECT(err <= (bound > 0 ? bound + 1 : 0), "%s(%.17g, %.17g) is %.17g, not %.17g: %.3g ulp", name, (double)a[i],
               (double)b[i], (double)out[i], (double)want, err);
    }
    if (getenv("APP_VERBOSE"))
        printf("%-12s %.3f ulp (%g allowed)\n", name, worst, bound);
}

static void check_functions(void)
{
#define X(name, dev, host, lo, hi, ulp) check_function(ID_##name, #name, lo, hi, ulp);
    FUNCTIONS(X)
#undef X
    printf("%d functions\n", FUNCTION_COUNT);
}
