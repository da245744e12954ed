// heap: device new/delete and malloc/free: alignment, no overlap, memory that outlives its kernel, exhaustion gives NULL.
#include "app.h"

struct node {
    int value;
    node *next;
};

__device__ node *heads[64];
__device__ int allocation_failures, misaligned;

// Each thread builds a list of t+1 nodes; a second kernel walks and frees them.
__global__ void build(void)
{
    int t = threadIdx.x;
    node *head = nullptr;
    for (int i = 0; i <= t; i++) {
        node *n = new node;
        if ((size_t)n % 16)
            atomicAdd(&misaligned, 1);
        n->value = t * 1000 + i;
        n->next = head;
        head = n;
    }
    heads[t] = head;
}

__global__ void walk(int *sums)
{
    int t = threadIdx.x, sum = 0;
    for (node *n = heads[t]; n;) {
        node *next = n->next;
        sum += n->value;
        delete n;
        n = next;
    }
    sums[t] = sum;
}

// Blocks of differing sizes, filled and checked after everybody else has filled theirs.
__global__ void fill(int *bad)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, size = 1 + t * 37 % 400, wrong = 0;
    unsigned char *p = (unsigned char *)malloc(size);
    for (int i = 0; i < size; i++)
        p[i] = (unsigned char)(t + i);
    __syncthreads();
    for (int i = 0; i < size; i++)
        wrong += p[i] != (unsigned char)(t + i);
    free(p);
    free(nullptr);
    bad[t] = wrong;
}

__global__ void exhaust(void)
{
    void *p = malloc((size_t)1 << 40);
    if (!p)
        atomicAdd(&allocation_failures, 1);
    free(p);
}

// Allocating and freeing for ever must not use the heap up: 64 MB pass through a heap of 8 MB.
__global__ void churn(int *bad)
{
    int wrong = 0;
    for (int i = 0; i < 64; i++) {
        int *p = (int *)malloc(1 << 16);
        if (p)
            p[(1 << 14) - 1] = i, wrong += p[(1 << 14) - 1] != i;
        else
            wrong++;
        free(p);
    }
    bad[threadIdx.x] = wrong;
}

int main(void)
{
    int sums[64], bad[256], *dbad, count;
    size_t limit;
    OK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    EXPECT(limit >= 8u << 20, "the heap limit is %zu bytes", limit);
    OK(cudaMalloc(&dbad, sizeof(bad)));
    build<<<1, 64>>>();
    walk<<<1, 64>>>(dbad);
    OK_LAUNCH();
    app_to_host(sums, dbad, 64);
    for (int t = 0; t < 64; t++)
        EXPECT(sums[t] == (t + 1) * t * 1000 + t * (t + 1) / 2, "list %d sums to %d", t, sums[t]);
    OK(cudaMemcpyFromSymbol(&count, misaligned, sizeof(count)));
    EXPECT(count == 0, "%d nodes are not aligned to 16 bytes", count);
    fill<<<2, 128>>>(dbad);
    OK_LAUNCH();
    app_to_host(bad, dbad, 256);
    for (int t = 0; t < 256; t++)
        EXPECT(bad[t] == 0, "thread %d: %d bytes changed", t, bad[t]);
    exhaust<<<1, 32>>>();
    OK_LAUNCH();
    OK(cudaMemcpyFromSymbol(&count, allocation_failures, sizeof(count)));
    EXPECT(count == 32, "%d of 32 huge allocations failed", count);
    churn<<<1, 16>>>(dbad);
    OK_LAUNCH();
    app_to_host(bad, dbad, 16);
    for (int t = 0; t < 16; t++)
        EXPECT(bad[t] == 0, "churn, thread %d: %d failures", t, bad[t]);
    printf("heap of at least 8 MB\n");
    return app_verdict();
}
