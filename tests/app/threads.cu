// threads: host threads that allocate, copy and launch at the same time, each in a stream of its own, in the default stream, and
// with errors that belong to one thread only.
#include "app.h"
#include <thread>
#include <vector>

__global__ void step(int *p, int n, int add)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = p[i] * 3 + add;
}

__device__ int shared_counter;
__global__ void count(void) { atomicAdd(&shared_counter, 1); }

static int wrong[8];

static void worker(int id, bool own_stream)
{
    const int n = 700, rounds = 25;
    cudaStream_t s = 0;
    if (own_stream && cudaStreamCreate(&s) != cudaSuccess)
        wrong[id]++;
    for (int r = 0; r < rounds; r++) {
        std::vector<int> host(n, id);
        int *dev;
        if (cudaMalloc(&dev, n * sizeof(int)) != cudaSuccess) {
            wrong[id]++;
            continue;
        }
        cudaMemcpyAsync(dev, host.data(), n * sizeof(int), cudaMemcpyHostToDevice, s);
        step<<<(n + 127) / 128, 128, 0, s>>>(dev, n, r);
        step<<<(n + 127) / 128, 128, 0, s>>>(dev, n, id);
        count<<<1, 4, 0, s>>>();
        cudaMemcpyAsync(host.data(), dev, n * sizeof(int), cudaMemcpyDeviceToHost, s);
        wrong[id] += cudaStreamSynchronize(s) != cudaSuccess;
        for (int i = 0; i < n; i++)
            wrong[id] += host[i] != (id * 3 + r) * 3 + id;
        wrong[id] += cudaFree(dev) != cudaSuccess;
    }
    if (id == 0) { // an error of this thread
        step<<<0, 1>>>(nullptr, 0, 0);
        wrong[id] += cudaGetLastError() != cudaErrorInvalidConfiguration;
    }
    wrong[id] += cudaGetLastError() != cudaSuccess;
}

int main(void)
{
    std::vector<std::thread> all;
    for (int id = 0; id < 8; id++)
        all.emplace_back(worker, id, id < 6);
    for (auto &t : all)
        t.join();
    for (int id = 0; id < 8; id++)
        EXPECT(wrong[id] == 0, "thread %d: %d wrong", id, wrong[id]);
    int got;
    OK(cudaMemcpyFromSymbol(&got, shared_counter, sizeof(got)));
    EXPECT(got == 8 * 25 * 4, "the counter is %d", got);
    return app_verdict();
}
