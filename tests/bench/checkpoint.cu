// What checkpoints cost; scripts/bench runs this with settings for them.
//   save KIND MIB     fills so much device memory with zero, compressible, smooth or random words, launches a kernel and prints the processor time of that
//   kernels N TURNS   the host computes a little, ten kernels take so many turns, then comes one more
//   copies N          so many copies of 4 bytes to the device and back
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/resource.h>
#include <vector>

__global__ void touch(unsigned *p) { p[threadIdx.x] += 1; }

__global__ void work(unsigned *p, int turns)
{
    unsigned x = threadIdx.x;
    for (int i = 0; i < turns; i++)
        x = x * 1664525u + 1013904223u;
    p[threadIdx.x] += x;
}

static double seconds()
{
    rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static int save(const char *kind, size_t mib)
{
    unsigned *d;
    unsigned long long s = 88172645463325252ull;
    std::vector<float> h(1 << 22);
    if (cudaMalloc(&d, mib << 20))
        return 1;
    for (size_t at = 0; at < mib << 20; at += h.size() * sizeof h[0]) {
        for (size_t i = 0; i < h.size(); i++) {
            s ^= s << 13;
            s ^= s >> 7;
            s ^= s << 17;
            unsigned random = (unsigned)s;
            h[i] = *kind == 'z' ? 0 : *kind == 'c' ? float(i % 1000) : sinf(float(i + at) * 1e-3f);
            if (*kind == 'r')
                memcpy(&h[i], &random, sizeof random);
        }
        cudaMemcpy((char *)d + at, h.data(), h.size() * sizeof h[0], cudaMemcpyHostToDevice);
    }
    double from = seconds();
    touch<<<1, 32>>>(d);
    int wrong = cudaDeviceSynchronize() != cudaSuccess;
    printf("saving %s: %.3f s\n", kind, seconds() - from);
    return wrong;
}

static int kernels(int n, int turns)
{
    unsigned *d;
    double sum = 0;
    if (cudaMalloc(&d, 1 << 26))
        return 1;
    for (int i = 0; i < 10000000; i++)
        sum += std::sqrt(double(i));
    for (int i = 0; i < n; i++)
        work<<<1024, 256>>>(d, i + 1 < n ? turns : 1);
    printf("%.0f\n", sum);
    return cudaDeviceSynchronize() != cudaSuccess;
}

static int copies(int n)
{
    int *d, v = 0;
    if (cudaMalloc(&d, sizeof v))
        return 1;
    for (int i = 0; i < n; i++) {
        cudaMemcpy(d, &i, sizeof i, cudaMemcpyHostToDevice);
        cudaMemcpy(&v, d, sizeof v, cudaMemcpyDeviceToHost);
    }
    return v != n - 1;
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "save"))
        return save(argv[2], (size_t)atoi(argv[3]));
    if (argc == 4 && !strcmp(argv[1], "kernels"))
        return kernels(atoi(argv[2]), atoi(argv[3]));
    return copies(argc == 3 ? atoi(argv[2]) : 1000);
}
