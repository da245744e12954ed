// mailbox: a running kernel and the host talk through mapped host memory: the kernel counts with system-wide atomics and waits for answers, which the
// host gives while it polls; results are there before the kernel ends.
#include "app.h"

enum { BLOCKS = 2, ROUNDS = 20 };

struct box { int asked, answered, sum, seen[BLOCKS * ROUNDS]; };

__global__ void ask(volatile struct box *box)
{
    if (threadIdx.x != 5)
        return;
    for (int round = 1; round <= ROUNDS; round++) {
        atomicAdd_system((int *)&box->sum, round + (int)blockIdx.x);
        __threadfence_system();
        atomicAdd_system((int *)&box->asked, 1);
        while (box->answered < round)
            __nanosleep(100);
        __threadfence_system();
        box->seen[blockIdx.x * ROUNDS + round - 1] = box->answered >= round;
    }
}

int main(void)
{
    struct box *box, *view;
    OK(cudaHostAlloc(&box, sizeof *box, cudaHostAllocMapped));
    memset(box, 0, sizeof *box);
    OK(cudaHostGetDevicePointer(&view, box, 0));
    ask<<<BLOCKS, 32>>>(view);
    OK(cudaGetLastError());
    int expected = 0;
    for (int round = 1; round <= ROUNDS; round++) {
        while (__atomic_load_n(&box->asked, __ATOMIC_ACQUIRE) < BLOCKS * round)
            continue;
        for (int b = 0; b < BLOCKS; b++)
            expected += round + b;
        int sum = __atomic_load_n(&box->sum, __ATOMIC_RELAXED);
        EXPECT(sum == expected, "round %d: the sum is %d, not %d", round, sum, expected);
        __atomic_store_n(&box->answered, round, __ATOMIC_RELEASE);
    }
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < BLOCKS * ROUNDS; i++)
        EXPECT(box->seen[i] == 1, "answer %d was not seen", i);
    OK(cudaFreeHost(box));
    return app_verdict();
}
