// cuFFT: C2C, R2C, C2R, D2Z, Z2Z in one to three dimensions, powers of two, products of small primes, primes, batches; against the definition.
#include <cufft.h>

#include "check.h"

using c64 = std::complex<double>;

// Along one axis: `count` transforms of n elements `step` apart.
static void axis(std::vector<c64> &x, size_t start, size_t n, size_t step, int sign)
{
    std::vector<c64> y(n), root(n);
    for (size_t k = 0; k < n; k++) root[k] = std::polar(1.0, sign * 2 * M_PI * double(k) / double(n));
    for (size_t k = 0; k < n; k++) for (size_t j = 0; j < n; j++) y[k] += x[start + j * step] * root[j * k % n];
    for (size_t k = 0; k < n; k++) x[start + k * step] = y[k];
}

static void transform(std::vector<c64> &x, int nz, int ny, int nx, int sign) // row-major [nz][ny][nx]
{
    for (int z = 0; z < nz; z++) for (int y = 0; y < ny; y++) axis(x, (size_t(z) * ny + y) * nx, nx, 1, sign);
    for (int z = 0; z < nz && ny > 1; z++) for (int i = 0; i < nx; i++) axis(x, size_t(z) * ny * nx + i, ny, nx, sign);
    for (int i = 0; i < ny * nx && nz > 1; i++) axis(x, i, nz, size_t(ny) * nx, sign);
}

static cufftHandle plan_of(int nz, int ny, int nx, cufftType type, int batch)
{
    cufftHandle p;
    int n[] = {nz, ny, nx}, rank = nz > 1 ? 3 : ny > 1 ? 2 : 1;
    int rc = cufftPlanMany(&p, rank, n + 3 - rank, nullptr, 1, 0, nullptr, 1, 0, type, batch);
    if (rc) std::printf("cufftPlanMany %dx%dx%d type %x gives %d\n", nz, ny, nx, type, rc);
    return rc ? -1 : p;
}

template <class R> static void complex_to_complex(int nz, int ny, int nx, int batch, double bound)
{
    constexpr bool f = sizeof(R) == 4;
    size_t n = size_t(nz) * ny * nx;
    char what[100];
    std::snprintf(what, sizeof what, "%s %dx%dx%d, %d times", f ? "C2C" : "Z2Z", nz, ny, nx, batch);
    Buffer<std::complex<R>> a(random_vector<std::complex<R>>(n * batch)), b(n * batch);
    std::vector<c64> want, back(a.host.begin(), a.host.end());
    for (int q = 0; q < batch; q++) {
        std::vector<c64> x(a.host.begin() + q * n, a.host.begin() + (q + 1) * n);
        transform(x, nz, ny, nx, -1);
        want.insert(want.end(), x.begin(), x.end());
    }
    cufftHandle p = plan_of(nz, ny, nx, f ? CUFFT_C2C : CUFFT_Z2Z, batch);
    auto exec = [&](std::complex<R> *in, std::complex<R> *out, int dir) {
        if constexpr (f) return cufftExecC2C(p, (cufftComplex *)in, (cufftComplex *)out, dir);
        else return cufftExecZ2Z(p, (cufftDoubleComplex *)in, (cufftDoubleComplex *)out, dir);
    };
    int rc = exec(a, b, CUFFT_FORWARD);
    if (rc) { std::printf("%s: exec gives %d\n", what, rc); check(false, what); return; }
    close_to(b.down(), want, bound, what);
    OK(exec(b, b, CUFFT_INVERSE));
    b.down();
    for (auto &x : b.host) x /= R(n);
    close_to(b.host, back, bound, what);
    cufftDestroy(p);
}

template <class R> static void real_and_back(int nz, int ny, int nx, double bound)
{
    constexpr bool f = sizeof(R) == 4;
    int half = nx / 2 + 1;
    size_t n = size_t(nz) * ny * nx;
    char what[100];
    std::snprintf(what, sizeof what, "%s %dx%dx%d", f ? "R2C" : "D2Z", nz, ny, nx);
    Buffer<R> a(random_vector<R>(n)), c(n);
    Buffer<std::complex<R>> b(size_t(nz) * ny * half);
    std::vector<c64> x(a.host.begin(), a.host.end()), want;
    transform(x, nz, ny, nx, -1);
    for (int i = 0; i < nz * ny; i++) for (int j = 0; j < half; j++) want.push_back(x[size_t(i) * nx + j]);
    cufftHandle p = plan_of(nz, ny, nx, f ? CUFFT_R2C : CUFFT_D2Z, 1), q = plan_of(nz, ny, nx, f ? CUFFT_C2R : CUFFT_Z2D, 1);
    int rc;
    if constexpr (f) rc = cufftExecR2C(p, a, (cufftComplex *)b.device);
    else rc = cufftExecD2Z(p, a, (cufftDoubleComplex *)b.device);
    if (rc) { std::printf("%s: exec gives %d\n", what, rc); check(false, what); return; }
    close_to(b.down(), want, bound, what);
    if constexpr (f) rc = cufftExecC2R(q, (cufftComplex *)b.device, c);
    else rc = cufftExecZ2D(q, (cufftDoubleComplex *)b.device, c);
    if (rc) { std::printf("%s back: exec gives %d\n", what, rc); check(false, what); return; }
    c.down();
    for (auto &v : c.host) v /= R(n);
    close_to(c.host, a.host, bound, what);
    cufftDestroy(p);
    cufftDestroy(q);
}

int main()
{
    for (int n : {2, 8, 16, 64, 128, 256, 512, 1024, 2048, 4096}) complex_to_complex<float>(1, 1, n, n < 1000 ? 3 : 1, 1e-5);
    for (int n : {3, 5, 7, 9, 12, 15, 30, 49, 60, 100, 105, 121, 169, 210, 243, 625, 1000, 1001}) complex_to_complex<float>(1, 1, n, 2, 1e-5);
    for (int n : {11, 13, 17, 19, 23, 31, 37, 127, 131, 251, 509, 1009}) complex_to_complex<float>(1, 1, n, 2, 1e-5);
    for (int n : {16, 27, 64, 100, 127, 256, 1009, 2048}) complex_to_complex<double>(1, 1, n, 2, 1e-12);
    complex_to_complex<float>(1, 32, 32, 1, 1e-5);
    complex_to_complex<float>(1, 24, 35, 2, 1e-5);
    complex_to_complex<double>(1, 17, 64, 1, 1e-12);
    complex_to_complex<float>(16, 16, 16, 1, 1e-5);
    complex_to_complex<float>(6, 7, 10, 2, 1e-5);
    complex_to_complex<double>(8, 12, 5, 1, 1e-12);
    for (int n : {8, 30, 64, 101, 256, 1000, 1024}) real_and_back<float>(1, 1, n, 1e-5);
    for (int n : {16, 100, 127, 512}) real_and_back<double>(1, 1, n, 1e-12);
    real_and_back<float>(1, 20, 32, 1e-5);
    real_and_back<float>(8, 12, 10, 1e-5);
    real_and_back<double>(4, 6, 16, 1e-12);
    return report();
}
