// Latency of a load against the working set: one warp follows a chain that visits the lines of the set in random order.
#include "micro.h"

enum { LINE = 128, STEPS = 2048 };

__global__ void chase(void **first, int warm, int steps, long long *out)
{
    void **p = first;
    for (int i = 0; i < warm; i += 8)
#pragma unroll
        for (int k = 0; k < 8; k++)
            p = (void **)*p;
    long long start = now();
    for (int i = 0; i < steps; i += 32)
#pragma unroll
        for (int k = 0; k < 32; k++)
            p = (void **)*p;
    *out = now() - start + (p == nullptr);
}

// Brings lines into the L2, in the order in which they will be followed, by the SM that will do so: of a divided L2 its half then has the last ones.
__global__ void touch(const char *set, const unsigned *order, unsigned lines, int *out)
{
    int sum = 0;
    for (unsigned i = threadIdx.x; i < lines; i += blockDim.x)
        sum += __ldcg((const int *)(set + (size_t)order[i] * LINE));
    if (sum == 1)
        *out = sum;
}

// Fills the L2 with something else.
__global__ void sweep(const char *a, size_t bytes, int *out)
{
    int sum = 0;
    for (size_t i = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * 32; i < bytes; i += (size_t)gridDim.x * blockDim.x * 32)
        sum += __ldcg((const int *)(a + i));
    if (sum == 1)
        *out = sum;
}

int main(int argc, char **argv)
{
    // KB; a line of 128 bytes holds one link
    static const int standard[] = {4, 20, 48, 96, 512, 1024, 2048, 4096, 16384, 30720, 65536, 131072};
    size_t most = 131072u * 1024u;
    size_t l2 = (size_t)micro_gpu().l2CacheSize;
    char *set, *other, *host = (char *)malloc(most);
    unsigned *order = (unsigned *)malloc(most / LINE * sizeof *order), *there;
    long long *out;
    CHECK(cudaMalloc(&set, most));
    CHECK(cudaMalloc(&other, l2 + l2 / 4));
    CHECK(cudaMalloc(&out, sizeof *out));
    CHECK(cudaMalloc(&there, most / LINE * sizeof *there));
    int n = argc > 1 ? argc - 1 : (int)(sizeof standard / sizeof *standard);
    for (int i = 0; i < n; i++) {
        int kb = argc > 1 ? atoi(argv[i + 1]) : standard[i];
        size_t bytes = (size_t)kb * 1024, lines = bytes / LINE;
        unsigned seed = 12345;
        if (bytes > most)
            continue;
        for (size_t k = 0; k < lines; k++)
            order[k] = (unsigned)k;
        for (size_t k = lines - 1; k > 0; k--) {
            seed = seed * 1664525 + 1013904223;
            size_t j = (size_t)(((unsigned long long)seed * k) >> 32);
            unsigned t = order[k];
            order[k] = order[j];
            order[j] = t;
        }
        for (size_t k = 0; k < lines; k++)
            *(char **)(host + (size_t)order[k] * LINE) = set + (size_t)order[(k + 1) % lines] * LINE;
        CHECK(cudaMemcpy(set, host, bytes, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(there, order, lines * sizeof *order, cudaMemcpyHostToDevice));
        // A set that fits is there; of one that does not nothing is, as after a walk through all of it.
        if (bytes <= l2)
            touch<<<1, 1024>>>(set, there, (unsigned)lines, (int *)out);
        else
            sweep<<<micro_gpu().multiProcessorCount, 256>>>(other, l2 + l2 / 4, (int *)out);
        chase<<<1, 32>>>((void **)(set + (size_t)order[0] * LINE), kb <= 256 ? (int)lines : 0, STEPS, out);
        report(cycles_at(out) / STEPS, "cycles", "chase", "load latency, working set %d KB", kb);
    }
    return 0;
}
