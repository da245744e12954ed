// histogram: 256 bins by shared-memory atomics merged with global atomics, and by global atomics alone; bytes read in words.
#include "app.h"
#include <vector>

__global__ void histogram_shared(const unsigned *words, int nwords, unsigned *bins)
{
    __shared__ unsigned local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nwords; i += gridDim.x * blockDim.x) {
        unsigned w = words[i];
        atomicAdd(&local[w & 255], 1u);
        atomicAdd(&local[w >> 8 & 255], 1u);
        atomicAdd(&local[w >> 16 & 255], 1u);
        atomicAdd(&local[w >> 24], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        atomicAdd(&bins[i], local[i]);
}

__global__ void histogram_global(const unsigned char *bytes, int n, unsigned *bins)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[bytes[i]], 1u);
}

int main(void)
{
    const int n = 4 * 30011;
    std::vector<unsigned char> bytes(n);
    std::vector<unsigned> want(256), got(256);
    unsigned seed = 5;
    for (auto &b : bytes) {
        b = (unsigned char)(app_rand(&seed) % 256 * (app_rand(&seed) % 256) / 256); // uneven on purpose
        want[b]++;
    }
    unsigned char *dbytes = app_to_device(bytes.data(), n);
    unsigned *dbins;
    OK(cudaMalloc(&dbins, 256 * sizeof(unsigned)));
    for (int form = 0; form < 2; form++) {
        OK(cudaMemset(dbins, 0, 256 * sizeof(unsigned)));
        if (form == 0)
            histogram_shared<<<17, 192>>>((const unsigned *)dbytes, n / 4, dbins);
        else
            histogram_global<<<9, 256>>>(dbytes, n, dbins);
        OK_LAUNCH();
        app_to_host(got.data(), dbins, 256);
        for (int i = 0; i < 256; i++)
            EXPECT(got[i] == want[i], "%s: bin %d is %u, not %u", form ? "global" : "shared", i, got[i], want[i]);
    }
    printf("%d bytes, bin 0 %u\n", n, want[0]);
    return app_verdict();
}
