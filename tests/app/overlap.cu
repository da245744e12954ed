// overlap: simulated time of two streams. Kernels that leave room for each other run side by side; copies share an engine with those of their direction only; a kernel hides a
// copy. Nothing depends on how fast the host is: simulated time stands still while it naps between calls and in host functions.
#include "app.h"
#include <unistd.h>

__global__ void spin(int *out, int rounds)
{
    int x = threadIdx.x;
    for (int i = 0; i < rounds; i++)
        x = x * 3 + i;
    out[threadIdx.x] = x;
}

static cudaStream_t s[3];                      // the first one times
static cudaEvent_t start, stop, done[2];
static int *out;
static char *host, *device;
enum { ROUNDS = 40000, BYTES = 8 << 20 };

// Milliseconds from the start of both to the end of both.
template <class A, class B> static float both(A first, B second, unsigned nap_us = 0)
{
    float ms;
    OK(cudaEventRecord(start, s[0]));
    for (int i = 0; i < 2; i++)
        OK(cudaStreamWaitEvent(s[1 + i], start, 0));
    first(s[1]);
    usleep(nap_us);
    second(s[2]);
    for (int i = 0; i < 2; i++) {
        OK(cudaEventRecord(done[i], s[1 + i]));
        OK(cudaStreamWaitEvent(s[0], done[i], 0));
    }
    OK(cudaEventRecord(stop, s[0]));
    OK(cudaEventSynchronize(stop));
    OK(cudaEventElapsedTime(&ms, start, stop));
    return ms;
}

int main(void)
{
    for (auto &x : s)
        OK(cudaStreamCreateWithFlags(&x, cudaStreamNonBlocking));
    for (cudaEvent_t *e : {&start, &stop, &done[0], &done[1]})
        OK(cudaEventCreate(e));
    OK(cudaMalloc(&out, 4096));
    OK(cudaMalloc(&device, 2 * BYTES));
    OK(cudaMallocHost(&host, 2 * BYTES));
    auto nothing = [](cudaStream_t) {};
    auto kernel = [](cudaStream_t t) { spin<<<1, 128, 0, t>>>(out, ROUNDS); };
    auto up = [](cudaStream_t t) { OK(cudaMemcpyAsync(device, host, BYTES, cudaMemcpyHostToDevice, t)); };
    auto down = [](cudaStream_t t) { OK(cudaMemcpyAsync(host + BYTES, device + BYTES, BYTES, cudaMemcpyDeviceToHost, t)); };
    auto fill = [](cudaStream_t t) { OK(cudaMemsetAsync(device, 1, BYTES, t)); };
    float k = both(kernel, nothing), u = both(up, nothing), d = both(down, nothing), f = both(fill, nothing);
    EXPECT(k > 0 && u > 0 && d > 0 && f > 0, "something takes no time: kernel %g, up %g, down %g, fill %g ms", k, u, d, f);
    EXPECT(f < u / 4, "a fill takes %g ms, a copy from the host %g", f, u);             // memory is faster than the bus
    float kk = both(kernel, kernel), uu = both(up, up), ud = both(up, down), ku = both(kernel, up);
    EXPECT(kk < 1.2f * k, "two kernels take %g ms, one %g", kk, k);
    EXPECT(uu > 1.9f * u && uu < 2.1f * u, "two copies of a direction take %g ms, one %g", uu, u);
    EXPECT(ud < 1.1f * (u > d ? u : d), "copies of both directions take %g ms, one %g and %g", ud, u, d);
    EXPECT(ku < 1.2f * (k > u ? k : u), "kernel and copy take %g ms, one %g and %g", ku, k, u);
    auto napper = [](cudaStream_t t) { OK(cudaLaunchHostFunc(t, [](void *) { usleep(30000); }, nullptr)); spin<<<1, 128, 0, t>>>(out, ROUNDS / 2); };
    float slow = both(kernel, kernel, 30000), n = both(kernel, napper);
    EXPECT(fabsf(slow - kk) < 1e-5f, "two kernels take %g ms, and %g when the host naps before the second", kk, slow);
    EXPECT(n < 1.2f * k, "a kernel and half of one behind a host function take %g ms, one %g", n, k);
    return app_verdict();
}
