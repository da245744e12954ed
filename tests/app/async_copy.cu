// Copies to shared memory behind the computation: cp.async with two buffers, cooperative groups' memcpy_async, cuda::pipeline, and a ragged end that is
// filled with zeros. Each kernel sums what a plain loop on the host sums.
#include "app.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/pipeline>
#include <vector>
namespace cg = cooperative_groups;

enum { THREADS = 128, TILE = THREADS * 4 };        // elements; 16 bytes a thread

__device__ void copy16(int *to, const int *from, unsigned bytes)
{
    unsigned s = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(s), "l"(from), "r"(bytes) : "memory");
}

// The last tile may be cut anywhere: missing elements come as zeros, and the source is not read there.
__global__ void double_buffer(const int *in, int n, int *out)
{
    __shared__ __align__(16) int tile[2][TILE];
    int tiles = (n + TILE - 1) / TILE, sum = 0;
    auto fetch = [&](int t) {
        int first = t * TILE + threadIdx.x * 4, left = n - first;
        copy16(&tile[t & 1][threadIdx.x * 4], in + first, left >= 4 ? 16 : left > 0 ? left * 4 : 0);
        asm volatile("cp.async.commit_group;");
    };
    fetch(0);
    for (int t = 0; t < tiles; t++) {
        if (t + 1 < tiles) {
            fetch(t + 1);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_all;" ::: "memory");
        }
        __syncthreads();
        for (int k = 0; k < 4; k++)
            sum += tile[t & 1][(threadIdx.x + k * THREADS + 17) % TILE] * (t + 1);
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

__global__ void groups(const int *in, int n, int *out)
{
    __shared__ __align__(16) int tile[TILE];
    cg::thread_block block = cg::this_thread_block();
    int sum = 0;
    for (int t = 0; t < n / TILE; t++) {
        cg::memcpy_async(block, tile, in + t * TILE, cuda::aligned_size_t<16>(sizeof tile));
        cg::wait(block);
        for (int k = 0; k < 4; k++)
            sum += tile[(threadIdx.x + k * THREADS + 17) % TILE] * (t + 1);
        block.sync();
    }
    out[threadIdx.x] = sum;
}

template <int STAGES> __global__ void pipeline(const int *in, int n, int *out)
{
    __shared__ __align__(16) int tile[STAGES][TILE];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    cg::thread_block block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int tiles = n / TILE, sum = 0;
    for (int t = 0, next = 0; t < tiles; t++) {
        for (; next < tiles && next < t + STAGES; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, tile[next % STAGES], in + next * TILE, cuda::aligned_size_t<16>(sizeof tile[0]), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        for (int k = 0; k < 4; k++)
            sum += tile[t % STAGES][(threadIdx.x + k * THREADS + 17) % TILE] * (t + 1);
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

// Half of the warps copy, the others compute.
__global__ void roles(const int *in, int n, int *out)
{
    __shared__ __align__(16) int tile[2][TILE];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    cg::thread_block block = cg::this_thread_block();
    bool producer = threadIdx.x >= THREADS;
    auto pipe = cuda::make_pipeline(block, &state, producer ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    int tiles = n / TILE, sum = 0, lane = threadIdx.x % THREADS;
    for (int t = 0; t < tiles; t++) {
        if (producer) {
            pipe.producer_acquire();
            cuda::memcpy_async(&tile[t & 1][lane * 4], in + t * TILE + lane * 4, cuda::aligned_size_t<16>(16), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            for (int k = 0; k < 4; k++)
                sum += tile[t & 1][(lane + k * THREADS + 17) % TILE] * (t + 1);
            pipe.consumer_release();
        }
    }
    if (!producer)
        out[lane] = sum;
}

static void check(const char *what, const std::vector<int> &in, int n, int *dev_out)
{
    int got[THREADS], wrong = 0;
    OK_LAUNCH();
    app_to_host(got, dev_out, THREADS);
    for (int i = 0; i < THREADS; i++) {
        int sum = 0;
        for (int t = 0; t < (n + TILE - 1) / TILE; t++)
            for (int k = 0; k < 4; k++) {
                int at = t * TILE + (i + k * THREADS + 17) % TILE;
                sum += (at < n ? in[at] : 0) * (t + 1);
            }
        wrong += got[i] != sum;
    }
    EXPECT(!wrong, "%s: %d of %d threads", what, wrong, THREADS);
    OK(cudaMemset(dev_out, 0, sizeof got));
}

int main(void)
{
    enum { N = TILE * 13 };
    std::vector<int> in(N);
    unsigned seed = 42;
    for (int &x : in)
        x = (int)(app_rand(&seed) % 2000) - 1000;
    int *out;
    OK(cudaMalloc(&out, THREADS * sizeof(int)));
    for (int n : {(int)N, N - 1, N - 300, 1, 5}) {
        std::vector<int> part(in.begin(), in.begin() + n);
        int *dev = app_to_device(part.data(), n);              // exactly n elements: reading on would be an error
        double_buffer<<<1, THREADS>>>(dev, n, out);
        check("two buffers", part, n, out);
        OK(cudaFree(dev));
    }
    int *dev = app_to_device(in.data(), N);
    groups<<<1, THREADS>>>(dev, N, out);
    check("memcpy_async", in, N, out);
    pipeline<1><<<1, THREADS>>>(dev, N, out);
    check("pipeline of 1", in, N, out);
    pipeline<3><<<1, THREADS>>>(dev, N, out);
    check("pipeline of 3", in, N, out);
    roles<<<1, 2 * THREADS>>>(dev, N, out);
    check("producers and consumers", in, N, out);
    return app_verdict();
}
