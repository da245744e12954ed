// polls: a host that asks again and again whether its kernels are done: until they are, until the clock says that it is enough, and some more times afterwards.
// How often it asks is another number each time; what it finds in memory is not.
#include "app.h"
#include <time.h>

__global__ void spin(int *p, int n)
{
    int x = threadIdx.x;
    for (int i = 0; i < n; i++)
        x = x * 3 + 1;
    p[threadIdx.x] = x;
}

static double now(void)
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void nap(void)
{
    for (double until = now() + 20e-6 * (1 + clock() % 8); now() < until;)
        ;
}

int main(void)
{
    int *dev, got[32];
    cudaStream_t s;
    cudaEvent_t e;
    OK(cudaMalloc(&dev, sizeof got));
    OK(cudaStreamCreate(&s));
    OK(cudaEventCreate(&e));
    for (int round = 0; round < 5; round++) {
        const int n = 20000 + round;
        spin<<<1, 32, 0, s>>>(dev, n);
        OK(cudaEventRecord(e, s));
        while (cudaStreamQuery(s) == cudaErrorNotReady || cudaEventQuery(e) == cudaErrorNotReady)
            nap();
        OK(cudaMemcpy(got, dev, sizeof got, cudaMemcpyDeviceToHost));
        for (int t = 0; t < 32; t++) {
            int x = t;
            for (int i = 0; i < n; i++)
                x = (int)((unsigned)x * 3 + 1);
            EXPECT(got[t] == x, "round %d: thread %d left %d", round, t, got[t]);
        }
        spin<<<1, 32, 0, s>>>(dev, 200000);
        for (double until = now() + 3e-3; now() < until && cudaStreamQuery(s) != cudaSuccess;)
            nap();
        OK(cudaStreamSynchronize(s));
        for (double until = now() + 1e-3; now() < until;)
            EXPECT(cudaStreamQuery(s) == cudaSuccess, "round %d: not done any more", round);
    }
    return app_verdict();
}
