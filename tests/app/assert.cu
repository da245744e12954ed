// assert: a failed device assert gives cudaErrorAssert, which stays, and one line per thread on stderr; a passed one nothing.
#include "app.h"
#include <cassert>

__global__ void holds(const int *p) { assert(p[threadIdx.x] >= 0); }

__global__ void fails(const int *p, int limit)
{
    int value = p[threadIdx.x];
    assert(value < limit);
}

int main(void)
{
    int host[64];
    for (int i = 0; i < 64; i++)
        host[i] = i;
    int *dev = app_to_device(host, 64);
    holds<<<1, 64>>>(dev);
    OK_LAUNCH();
    fails<<<1, 64>>>(dev, 62); // threads 62 and 63
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorAssert);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorAssert);
    void *p;
    EXPECT_ERROR(cudaMalloc(&p, 16), cudaErrorAssert);
    holds<<<1, 64>>>(dev);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorAssert);
    return app_verdict();
}
