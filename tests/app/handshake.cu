// handshake: blocks that wait for each other: ping-pong, a ring in which the first block waits for the last, a hand-made grid
// barrier, and the last block to finish (threadfence reduction).
#include "app.h"

__device__ volatile int turn, flags[64], data[64];
__device__ unsigned arrived, finished;
__device__ int partial[64], reduced;

__global__ void ping_pong(int rounds, int *log)
{
    for (int r = 0; r < rounds; r++) {
        if (threadIdx.x == 0) {
            while (turn != 2 * r + blockIdx.x)
                ;
            log[2 * r + blockIdx.x] = blockIdx.x * 1000 + r;
            __threadfence();
            turn = 2 * r + blockIdx.x + 1;
        }
        __syncthreads();
    }
}

// Block 0 starts the wave and also receives it: the blocks must all be resident.
__global__ void ring(int *out)
{
    int b = blockIdx.x, n = gridDim.x;
    if (threadIdx.x == 0) {
        if (b == 0) {
            data[1] = 1;
            __threadfence();
            flags[1] = 1;
            while (!flags[0])
                ;
            *out = data[0];
        } else {
            while (!flags[b])
                ;
            data[(b + 1) % n] = data[b] * 2 + b;
            __threadfence();
            flags[(b + 1) % n] = 1;
        }
    }
}

__global__ void grid_barrier(int *stage, int *seen)
{
    int b = blockIdx.x;
    for (int phase = 1; phase <= 4; phase++) {
        if (threadIdx.x == 0)
            ((volatile int *)stage)[b] = phase;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(&arrived, 1u);
            while (atomicAdd(&arrived, 0u) < phase * gridDim.x)
                __nanosleep(50);
        }
        __syncthreads();
        if (threadIdx.x < gridDim.x && ((volatile int *)stage)[threadIdx.x] < phase)
            atomicAdd(seen, 1); // a block that had not arrived
    }
}

__global__ void last_block(const int *in, int n)
{
    __shared__ int sum, last;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&sum, in[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int s = 0;
        for (int b = 0; b < gridDim.x; b++)
            s += ((volatile int *)partial)[b];
        reduced = s;
    }
}

int main(void)
{
    const int rounds = 20, ringsize = 16, n = 10000;
    int log[2 * rounds], *dlog, got, want = 1, *in = new int[n], sum = 0;
    OK(cudaMalloc(&dlog, sizeof(log)));
    ping_pong<<<2, 64>>>(rounds, dlog);
    OK_LAUNCH();
    app_to_host(log, dlog, 2 * rounds);
    for (int i = 0; i < 2 * rounds; i++)
        EXPECT(log[i] == i % 2 * 1000 + i / 2, "entry %d is %d", i, log[i]);

    ring<<<ringsize, 32>>>(dlog);
    OK_LAUNCH();
    app_to_host(&got, dlog, 1);
    for (int b = 1; b < ringsize; b++)
        want = want * 2 + b;
    EXPECT(got == want, "the ring gave %d, not %d", got, want);

    int *seen;
    OK(cudaMalloc(&seen, sizeof(int)));
    OK(cudaMemset(seen, 0, sizeof(int)));
    OK(cudaMemset(dlog, 0, sizeof(log)));
    grid_barrier<<<24, 64>>>(dlog, seen);
    OK_LAUNCH();
    app_to_host(&got, seen, 1);
    EXPECT(got == 0, "%d blocks were behind", got);

    for (int i = 0; i < n; i++)
        sum += in[i] = i % 113;
    int *din = app_to_device(in, n);
    for (int run = 0; run < 2; run++) { // the counter wraps to 0 by itself
        last_block<<<19, 128>>>(din, n);
        OK_LAUNCH();
        OK(cudaMemcpyFromSymbol(&got, reduced, sizeof(got)));
        EXPECT(got == sum, "run %d: %d, not %d", run, got, sum);
    }
    printf("ring %d\n", want);
    return app_verdict();
}
