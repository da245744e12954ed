// What the programs of this folder share: device buffers, random numbers, comparison with a reference. Each program prints one line a
// check that fails, then PASS or FAIL; its exit status says the same.
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

static int checks, failures;

#define OK(call)                                                                           \
    do {                                                                                   \
        const int rc_ = static_cast<int>(call);                                            \
        if (rc_ != 0) {                                                                    \
            std::printf("%s:%d: %s gives %d\n", __FILE__, __LINE__, #call, rc_);           \
            std::exit(1);                                                                  \
        }                                                                                  \
    } while (0)

static inline void check(bool ok, const char *what)
{
    checks++;
    if (!ok) {
        failures++;
        std::printf("wrong: %s\n", what);
    }
}

static inline int report()
{
    OK(cudaDeviceSynchronize());
    std::printf("%d checks, %d wrong\n%s\n", checks, failures, failures || !checks ? "FAIL" : "PASS");
    return failures || !checks;
}

// A buffer on the device with its copy here.
template <class T> struct Buffer {
    std::vector<T> host;
    T *device = nullptr;
    explicit Buffer(size_t n, T value = T()) : host(n, value) { OK(cudaMalloc(reinterpret_cast<void **>(&device), (n ? n : 1) * sizeof(T))); up(); }
    explicit Buffer(const std::vector<T> &v) : host(v) { OK(cudaMalloc(reinterpret_cast<void **>(&device), v.size() * sizeof(T))); up(); }
    ~Buffer() { cudaFree(device); }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    void up() { OK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice)); }
    std::vector<T> &down()
    {
        OK(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
        return host;
    }
    operator T *() { return device; }
};

// xorshift64*: the same numbers everywhere.
static uint64_t random_state = 88172645463325252u;
static inline double uniform() // [-1, 1)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return static_cast<double>((random_state * 2685821657736338717u) >> 11) / 4503599627370496.0 - 1.0;
}

template <class T> static void randomise(T &x) { x = static_cast<T>(uniform()); }
template <class T> static void randomise(std::complex<T> &x)
{
    T re = static_cast<T>(uniform());
    x = {re, static_cast<T>(uniform())};
}
template <class T> static std::vector<T> random_vector(size_t n)
{
    std::vector<T> v(n);
    for (T &x : v)
        randomise(x);
    return v;
}

// The largest difference, relative to the largest element of the reference, is at most `bound`. Not a number is wrong.
template <class A, class B> static void close_to(const std::vector<A> &got, const std::vector<B> &want, double bound, const char *what)
{
    double scale = 0, worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < want.size(); i++)
        scale = std::max(scale, static_cast<double>(std::abs(want[i])));
    for (size_t i = 0; i < want.size(); i++) {
        double d = static_cast<double>(std::abs(static_cast<B>(got[i]) - want[i]));
        if (!(d <= worst)) {
            worst = d;
            at = i;
        }
    }
    char line[256];
    std::snprintf(line, sizeof line, "%s: element %zu is off by %g of %g", what, at, worst, scale);
    check(worst <= bound * (scale > 0 ? scale : 1), line);
}
