// cuRAND: every generator of the host API (on the device against the same generator on the host, and by its moments), the device API against the host
// API where the two are specified to agree, and by moments.
#include <curand.h>
#include <curand_kernel.h>
#include <curand_mtgp32_host.h>
#include <curand_mtgp32dc_p_11213.h>

#include <cstring>

#include "check.h"

enum { COUNT = 20000 };

static void moments(const std::vector<double> &v, double mean, double variance, const char *what)
{
    double m = 0, s = 0;
    for (double x : v) m += x;
    m /= double(v.size());
    for (double x : v) s += (x - m) * (x - m);
    s /= double(v.size());
    double sd = std::sqrt(variance), n = double(v.size());
    char line[160];
    std::snprintf(line, sizeof line, "%s: mean %g (%g), variance %g (%g)", what, m, mean, s, variance);
    check(std::fabs(m - mean) < 6 * sd / std::sqrt(n) && std::fabs(s - variance) < 12 * variance / std::sqrt(n), line);
}

static void host_api(curandRngType_t type, const char *name, bool quasi, bool wide, bool on_host)
{
    curandGenerator_t d, c = nullptr;
    char what[120];
    OK(curandCreateGenerator(&d, type));
    if (on_host && curandCreateGeneratorHost(&c, type) != CURAND_STATUS_SUCCESS) c = nullptr;
    for (curandGenerator_t g : {d, c}) {
        if (!g) continue;
        if (quasi) OK(curandSetQuasiRandomGeneratorDimensions(g, 4));
        else OK(curandSetPseudoRandomGeneratorSeed(g, 1234));
    }
    if (wide) {
        Buffer<unsigned long long> bits(COUNT);
        OK(curandGenerateLongLong(d, bits, COUNT));
        std::vector<unsigned long long> want(COUNT);
        bits.down();
        std::snprintf(what, sizeof what, "%s: device and host agree", name);
        if (c) { OK(curandGenerateLongLong(c, want.data(), COUNT)); check(bits.host == want, what); }
    } else {
        Buffer<unsigned> bits(COUNT);
        std::vector<unsigned> want(COUNT);
        OK(curandGenerate(d, bits, COUNT));
        bits.down();
        std::snprintf(what, sizeof what, "%s: device and host agree", name);
        if (c) { OK(curandGenerate(c, want.data(), COUNT)); check(bits.host == want, what); }
        std::vector<double> bytes;
        for (unsigned v : bits.host) bytes.push_back(double(v >> 24));
        std::snprintf(what, sizeof what, "%s bits", name);
        moments(bytes, 127.5, (256.0 * 256 - 1) / 12, what);
    }
    Buffer<float> f(COUNT);
    Buffer<double> g(COUNT);
    auto doubles = [](const std::vector<float> &v) { return std::vector<double>(v.begin(), v.end()); };
    OK(curandGenerateUniform(d, f, COUNT));
    f.down();
    bool inside = true;
    for (float x : f.host) inside &= x > 0 && x <= 1;
    check(inside, "uniform lies in (0, 1]");
    std::snprintf(what, sizeof what, "%s uniform", name);
    moments(doubles(f.host), 0.5, 1.0 / 12, what);
    OK(curandGenerateUniformDouble(d, g, COUNT));
    moments(g.down(), 0.5, 1.0 / 12, what);
    std::snprintf(what, sizeof what, "%s normal", name);
    OK(curandGenerateNormal(d, f, COUNT, 2.0f, 3.0f));
    moments(doubles(f.down()), 2, 9, what);
    OK(curandGenerateNormalDouble(d, g, COUNT, -1.0, 0.5));
    moments(g.down(), -1, 0.25, what);
    std::snprintf(what, sizeof what, "%s log-normal", name);
    OK(curandGenerateLogNormal(d, f, COUNT, 0.0f, 0.25f));
    double v = 0.0625;
    moments(doubles(f.down()), std::exp(v / 2), (std::exp(v) - 1) * std::exp(v), what);
    if (!wide) {
        Buffer<unsigned> p(COUNT);
        OK(curandGeneratePoisson(d, p, COUNT, 7.5));
        p.down();
        std::snprintf(what, sizeof what, "%s Poisson", name);
        moments({p.host.begin(), p.host.end()}, 7.5, 7.5, what);
    }
    OK(curandDestroyGenerator(d));
    if (c) OK(curandDestroyGenerator(c));
}

template <class State> __global__ void draw(unsigned *bits, float *uniform, float *normal, int each)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    State s;
    curand_init(1234ULL, i, 0ULL, &s);
    for (int k = 0; k < each; k++) bits[i * each + k] = curand(&s);
    for (int k = 0; k < each; k++) uniform[i * each + k] = curand_uniform(&s);
    for (int k = 0; k < each; k++) normal[i * each + k] = curand_normal(&s);
}

template <class State> __global__ void skip(unsigned *bits, int each) // the k-th number by skipping to it
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    State s;
    curand_init(1234ULL, i / each, i % each, &s);
    bits[i] = curand(&s);
}

template <class State> static void device_api(const char *name)
{
    const int threads = 256, each = 16, n = threads * each;
    Buffer<unsigned> bits(n), skipped(n);
    Buffer<float> u(n), g(n);
    draw<State><<<4, threads / 4>>>(bits, u, g, each);
    skip<State><<<n / 64, 64>>>(skipped, each);
    OK(cudaDeviceSynchronize());
    bits.down();
    char what[100];
    std::snprintf(what, sizeof what, "%s: skipping gives the same numbers", name);
    check(bits.host == skipped.down(), what);
    std::snprintf(what, sizeof what, "%s, device API, uniform", name);
    u.down();
    moments({u.host.begin(), u.host.end()}, 0.5, 1.0 / 12, what);
    std::snprintf(what, sizeof what, "%s, device API, normal", name);
    g.down();
    moments({g.host.begin(), g.host.end()}, 0, 1, what);
}

__global__ void mtgp(curandStateMtgp32 *s, unsigned *bits, int each)
{
    for (int k = 0; k < each; k++) bits[(blockIdx.x * each + k) * blockDim.x + threadIdx.x] = curand(&s[blockIdx.x]);
}

static void mtgp_device()
{
    const int blocks = 2, each = 20;
    Buffer<curandStateMtgp32> s(blocks);
    Buffer<mtgp32_kernel_params> p(1);
    Buffer<unsigned> bits(blocks * each * 256);
    OK(curandMakeMTGP32Constants(mtgp32dc_params_fast_11213, p));
    OK(curandMakeMTGP32KernelState(s, mtgp32dc_params_fast_11213, p, blocks, 1234));
    mtgp<<<blocks, 256>>>(s, bits, each);
    bits.down();
    std::vector<double> bytes;
    for (unsigned v : bits.host) bytes.push_back(double(v >> 24));
    moments(bytes, 127.5, (256.0 * 256 - 1) / 12, "MTGP32, device API");
}

__global__ void sobol(curandDirectionVectors32_t *vectors, unsigned *bits, int n)
{
    curandStateSobol32_t s;
    curand_init(vectors[threadIdx.x], 0, &s);
    for (int k = 0; k < n; k++) bits[threadIdx.x * n + k] = curand(&s);
}

static void sobol_device()
{
    const int dims = 4, n = 500;
    curandDirectionVectors32_t *host;
    OK(curandGetDirectionVectors32(&host, CURAND_DIRECTION_VECTORS_32_JOEKUO6));
    unsigned char *dev;
    OK(cudaMalloc(&dev, dims * sizeof *host));
    OK(cudaMemcpy(dev, host, dims * sizeof *host, cudaMemcpyHostToDevice));
    Buffer<unsigned> bits(dims * n), want(dims * n);
    sobol<<<1, dims>>>(reinterpret_cast<curandDirectionVectors32_t *>(dev), bits, n);
    curandGenerator_t g;
    OK(curandCreateGenerator(&g, CURAND_RNG_QUASI_SOBOL32));
    OK(curandSetQuasiRandomGeneratorDimensions(g, dims));
    OK(curandGenerate(g, want, dims * n));
    check(bits.down() == want.down(), "Sobol32: device and host API agree");
    OK(curandDestroyGenerator(g));
    cudaFree(dev);
}

// MT19937 has 8192 states to skip ahead at the start: 100 G instructions. `curand all` includes it.
int main(int argc, char **)
{
    if (argc > 1) host_api(CURAND_RNG_PSEUDO_MT19937, "MT19937", false, false, true);
    host_api(CURAND_RNG_PSEUDO_XORWOW, "XORWOW", false, false, true);
    host_api(CURAND_RNG_PSEUDO_MRG32K3A, "MRG32k3a", false, false, true);
    host_api(CURAND_RNG_PSEUDO_MTGP32, "MTGP32", false, false, true);
    host_api(CURAND_RNG_PSEUDO_PHILOX4_32_10, "Philox", false, false, true);
    host_api(CURAND_RNG_QUASI_SOBOL32, "Sobol32", true, false, true);
    host_api(CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, "scrambled Sobol32", true, false, true);
    host_api(CURAND_RNG_QUASI_SOBOL64, "Sobol64", true, true, true);
    host_api(CURAND_RNG_QUASI_SCRAMBLED_SOBOL64, "scrambled Sobol64", true, true, true);
    device_api<curandStateXORWOW_t>("XORWOW");
    device_api<curandStateMRG32k3a_t>("MRG32k3a");
    device_api<curandStatePhilox4_32_10_t>("Philox");
    mtgp_device();
    sobol_device();
    return report();
}
