// What API calls cost that do nothing on the device: nanoseconds each, the best of several rounds.
#include <cuda_runtime.h>
#include <stdio.h>
#include <time.h>

static double now_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

template <typename F> static void measure(const char *name, F call)
{
    const int rounds = 7, calls = 20000;
    double best = 1e18;
    for (int r = 0; r < rounds; r++) {
        double start = now_ns();
        for (int i = 0; i < calls; i++)
            call();
        double each = (now_ns() - start) / calls;
        best = each < best ? each : best;
    }
    printf("%-28s %6.0f ns\n", name, best);
}

int main()
{
    int device, value;
    void *p;
    cudaStream_t s;
    cudaEvent_t e;
    cudaPointerAttributes attributes;
    if (cudaStreamCreate(&s) || cudaEventCreateWithFlags(&e, cudaEventDisableTiming) || cudaMalloc(&p, 4096))
        return 1;
    measure("cudaGetLastError", [&] { cudaGetLastError(); });
    measure("cudaGetDevice", [&] { cudaGetDevice(&device); });
    measure("cudaSetDevice", [&] { cudaSetDevice(0); });
    measure("cudaDeviceGetAttribute", [&] { cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0); });
    measure("cudaStreamQuery", [&] { cudaStreamQuery(s); });
    measure("cudaStreamSynchronize", [&] { cudaStreamSynchronize(s); });
    measure("cudaDeviceSynchronize", [&] { cudaDeviceSynchronize(); });
    measure("cudaEventRecord", [&] { cudaEventRecord(e, s); });
    measure("cudaEventQuery", [&] { cudaEventQuery(e); });
    measure("cudaStreamWaitEvent", [&] { cudaStreamWaitEvent(s, e, 0); });
    measure("cudaPointerGetAttributes", [&] { cudaPointerGetAttributes(&attributes, p); });
    measure("cudaMemcpyAsync, 0 bytes", [&] { cudaMemcpyAsync(p, p, 0, cudaMemcpyDefault, s); });
    measure("cudaMalloc and cudaFree", [&] { void *q; cudaMalloc(&q, 1024); cudaFree(q); });
    return cudaDeviceSynchronize() != cudaSuccess;
}
