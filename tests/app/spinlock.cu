// spinlock: all lanes of a warp contend for one lock, which they take in a loop: finishes only when each lane makes progress.
// Also a producer and a consumer in one warp, and locks per bucket.
#include "app.h"

__device__ int lock_word, total, buckets[7], bucket_locks[7];
__device__ volatile int mailbox, mailbox_full;

// The plain form: a lane that holds the lock must reach the unlock while the others spin.
__global__ void contend(int rounds)
{
    for (int r = 0; r < rounds; r++) {
        while (atomicCAS(&lock_word, 0, 1) != 0)
            ;
        __threadfence();
        total = total + 1; // no atomic: the lock protects it
        __threadfence();
        atomicExch(&lock_word, 0);
    }
}

__global__ void contend_buckets(void)
{
    int b = threadIdx.x % 7;
    bool done = false;
    while (!done) {
        if (atomicCAS(&bucket_locks[b], 0, 1) == 0) {
            __threadfence();
            ((volatile int *)buckets)[b] += threadIdx.x;
            __threadfence();
            atomicExch(&bucket_locks[b], 0);
            done = true;
        }
    }
}

// Lane 0 consumes what lane 1 produces; the branch that waits comes first in the code.
__global__ void pass_on(int n, int *sum)
{
    if (threadIdx.x == 0) {
        int s = 0;
        for (int i = 0; i < n; i++) {
            while (!mailbox_full)
                ;
            s += mailbox;
            __threadfence();
            mailbox_full = 0;
        }
        *sum = s;
    } else if (threadIdx.x == 1) {
        for (int i = 0; i < n; i++) {
            while (mailbox_full)
                ;
            mailbox = i * i;
            __threadfence();
            mailbox_full = 1;
        }
    }
}

int main(void)
{
    int got, *dsum, sums[7], want[7] = {0};
    contend<<<3, 64>>>(5);
    OK_LAUNCH();
    OK(cudaMemcpyFromSymbol(&got, total, sizeof(got)));
    EXPECT(got == 3 * 64 * 5, "the total is %d, not %d", got, 3 * 64 * 5);
    contend_buckets<<<1, 96>>>();
    OK_LAUNCH();
    OK(cudaMemcpyFromSymbol(sums, buckets, sizeof(sums)));
    for (int t = 0; t < 96; t++)
        want[t % 7] += t;
    for (int b = 0; b < 7; b++)
        EXPECT(sums[b] == want[b], "bucket %d is %d, not %d", b, sums[b], want[b]);
    OK(cudaMalloc(&dsum, sizeof(int)));
    pass_on<<<1, 32>>>(50, dsum);
    OK_LAUNCH();
    app_to_host(&got, dsum, 1);
    EXPECT(got == 40425, "passed on %d, not 40425", got);
    return app_verdict();
}
