// clock: the clocks advance, loops that wait for them end, nanosleep returns.
#include "app.h"

__global__ void spin(long long *out, long long cycles)
{
    long long start = clock64(), now;
    do
        now = clock64();
    while (now - start < cycles);
    unsigned a = clock(), b;
    do
        b = clock();
    while (b == a);
    unsigned long long t0, t1;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t0));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t1));
    while (t1 < t0 + 2000);
    __nanosleep(1000);
    out[blockIdx.x * blockDim.x + threadIdx.x] = now - start;
}

int main(void)
{
    const int n = 128;
    long long out[n], *dout;
    OK(cudaMalloc(&dout, sizeof(out)));
    spin<<<2, n / 2>>>(dout, 5000);
    OK_LAUNCH();
    app_to_host(out, dout, n);
    for (int i = 0; i < n; i++)
        EXPECT(out[i] >= 5000, "thread %d waited %lld cycles", i, out[i]);
    return app_verdict();
}
