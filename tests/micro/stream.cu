// DRAM bandwidth of streaming kernels against resident threads: every thread does one element of 8 bytes and ends; blocks of a given size, one or
// two on an SM (shared memory keeps others away). The time of a short launch is subtracted from that of a long one, so that neither start nor end counts.
#include "micro.h"

__global__ void init_kernel(double *a, const double *, const double *, const double *) { a[(size_t)blockIdx.x * blockDim.x + threadIdx.x] = 0.25; }
__global__ void read_kernel(double *a, const double *b, const double *, const double *)
{
    double v = b[(size_t)blockIdx.x * blockDim.x + threadIdx.x];
    if (v == 123.0)
        *a = v;
}
__global__ void scale_kernel(double *a, const double *b, const double *, const double *)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = b[i] * 1.2;
}
__global__ void triad_kernel(double *a, const double *b, const double *c, const double *d)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = b[i] + c[i] * d[i];
}
typedef void kernel_fn(double *, const double *, const double *, const double *);
static const struct { const char *name; kernel_fn *fn; int arrays; } kernels[] = {
    {"init", init_kernel, 1}, {"read", read_kernel, 1}, {"scale", scale_kernel, 2}, {"triad", triad_kernel, 4}};

static double *room;
static size_t room_n, room_at;                 // doubles; every launch gets fresh ones

static double *fresh(size_t n)
{
    n = (n + 8191) & ~(size_t)8191;
    if (room_at + n > room_n)
        room_at = 0;
    double *p = room + room_at;
    room_at += n;
    return p;
}

static double seconds(int k, unsigned blocks, int threads, int shared)
{
    size_t n = (size_t)blocks * threads;
    cudaEvent_t start, stop;
    float ms;
    double *at[4];
    for (int i = 0; i < 4; i++)
        at[i] = i < kernels[k].arrays ? fresh(n) : room;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start));
    kernels[k].fn<<<blocks, threads, shared>>>(at[kernels[k].arrays - 1], at[0], at[1], at[2]);
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    return ms * 1e-3;
}

// stream [FIRST LAST [THREADS]]: only these kernels, by number; only blocks of this size.
int main(int argc, char **argv)
{
    static const int sizes[] = {32, 96, 192, 320, 512, 768, 1024};
    cudaDeviceProp p = micro_gpu();
    int from = argc > 1 ? atoi(argv[1]) : 0, to = argc > 2 ? atoi(argv[2]) : 3, only = argc > 3 ? atoi(argv[3]) : 0;
    room_n = (size_t)1 << 28;
    CHECK(cudaMalloc(&room, room_n * sizeof *room));
    int shared_sm = (int)p.sharedMemPerMultiprocessor;
    for (int k = from; k <= to; k++) {
        CHECK(cudaFuncSetAttribute((const void *)kernels[k].fn, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_sm / 2 - 2048));
        seconds(k, (unsigned)(p.l2CacheSize / (8 * 1024 * kernels[k].arrays)) + 1, 1024, 0);           // L2 has as many written lines as in the long run
        for (int threads : sizes) {
            if (only && threads != only)
                continue;
            int per_sm = 2, shared = shared_sm / 3 + 1024;
            if (shared > shared_sm / 2 - 2048)
                shared = shared_sm / 2 - 2048;
            unsigned wave = (unsigned)(p.multiProcessorCount * per_sm), waves = threads <= 96 ? 16 : 6;
            double a = seconds(k, wave * 2, threads, shared), b = seconds(k, wave * (2 + waves * (unsigned)micro_scale()), threads, shared);
            double bytes = (double)wave * waves * micro_scale() * threads * 8 * kernels[k].arrays;
            report(bytes / (b - a) * 1e-9, "GB/s", "stream", "DRAM bandwidth: %s stream, %d resident threads", kernels[k].name, (int)wave * threads);
        }
    }
    return 0;
}
