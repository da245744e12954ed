// lanes: lanes of one warp that wait for each other: producers and consumers, queues, ticket and try locks in divergent code, __syncwarp with the masks of both
// sides of a branch, a barrier of the block reached from different branches and loops. All must finish.
#include "app.h"

enum { T = 96 };

// Lane 2k hands numbers to lane 2k + 1 through a mailbox.
__global__ void mailbox(int *out, int rounds)
{
    __shared__ volatile int full[T / 2], box[T / 2];
    int t = threadIdx.x, k = t / 2, sum = 0;
    if (t % 2 == 0)
        full[k] = 0;
    __syncthreads();
    if (t % 2 == 0) {
        for (int i = 1; i <= rounds; i++) {
            while (full[k])
                ;
            box[k] = i * (k + 1);
            __threadfence_block();
            full[k] = 1;
        }
    } else {
        for (int i = 0; i < rounds; i++) {
            while (!full[k])
                ;
            __threadfence_block();
            sum += box[k];
            full[k] = 0;
        }
    }
    out[t] = sum;
}

// The last lane feeds all others, in turns, backwards.
__global__ void baton(int *out)
{
    __shared__ volatile int turn;
    __shared__ int trail[32];
    int t = threadIdx.x;
    if (t == 0)
        turn = 31;
    __syncwarp();
    while (turn != t)
        ;
    trail[31 - t] = t;
    __threadfence_block();
    turn = t - 1;
    __syncwarp();
    out[t] = trail[t];
}

// A ticket lock for all threads of a block, one lock for each of three lists.
__global__ void tickets(int *out)
{
    __shared__ int next[3], serving[3], count[3];
    int t = threadIdx.x, k = t % 3;
    if (t < 3)
        next[t] = serving[t] = count[t] = 0;
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        int mine = atomicAdd(&next[k], 1);
        while (atomicAdd(&serving[k], 0) != mine)
            ;
        int seen = *(volatile int *)&count[k];
        *(volatile int *)&count[k] = seen + 1;
        __threadfence_block();
        atomicAdd(&serving[k], 1);
    }
    __syncthreads();
    if (t < 3)
        out[t] = count[t];
}

// try_lock with break out of the loop, unlock inside the branch: the shapes that a stack of reconvergence points cannot run.
__global__ void trylock(int *lock, int *out)
{
    bool done = false;
    while (!done)
        if (atomicCAS(lock, 0, 1) == 0) {
            int v = *(volatile int *)out;
            *(volatile int *)out = v + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    for (;;) {
        if (atomicExch(lock, 1))
            continue;
        int v = *(volatile int *)(out + 1);
        *(volatile int *)(out + 1) = v + 1;
        __threadfence();
        atomicExch(lock, 0);
        break;
    }
}

// Both sides of a branch have a __syncwarp of their own lanes, then all meet; the masks come from a ballot and from a register.
__global__ void masks(int *out)
{
    __shared__ int s[32];
    int t = threadIdx.x;
    unsigned low = __ballot_sync(~0u, t % 5 < 2), mine = t % 5 < 2 ? low : ~low;
    s[t] = 0;
    __syncwarp();
    if (t % 5 < 2) {
        s[t] = t + 1;
        __syncwarp(low);
        int sum = 0;
        for (int i = 0; i < 32; i++)
            sum += low >> i & 1 ? s[i] : 0;
        out[t] = sum;
    } else {
        s[t] = 100 * t;
        __syncwarp(mine);
        out[t] = __reduce_max_sync(mine, s[t]) + s[__ffs(mine) - 1];
    }
    __syncwarp();
    out[32 + t] = s[31 - t];
    if (t < 7) {
        unsigned seven = 0x7f;
        for (int i = 0; i < t; i++)
            ;
        out[64 + t] = __shfl_sync(seven, t, (t + 3) % 7);
    }
}

// One barrier of the block, reached from the arms of a switch, from loops that end at different times, and through a function.
__device__ __noinline__ void meet(int *s, int t)
{
    atomicAdd(s, t);
    __syncthreads();
}

__global__ void branches(int *out)
{
    __shared__ int s[4];
    int t = threadIdx.x;
    if (t < 4)
        s[t] = 0;
    __syncthreads();
    switch (t % 4) {
    case 0: atomicAdd(&s[0], 1); __syncthreads(); break;
    case 1: atomicAdd(&s[0], 10); __syncthreads(); break;
    case 2: atomicAdd(&s[0], 100); __syncthreads(); break;
    default: meet(&s[0], 1000); break;
    }
    out[t] = s[0];
    for (int i = 0; i <= t % 3; i++)
        atomicAdd(&s[1], 1);
    __syncthreads();
    out[T + t] = s[1];
    if (t >= 64)
        return;                                // the third warp is not waited for
    if (t & 1)
        meet(&s[2], 1);
    else
        meet(&s[2], 2);
    out[2 * T + t] = s[2];
}

int main()
{
    static int got[3 * T], *dev;
    OK(cudaMalloc(&dev, sizeof got));
    mailbox<<<1, T>>>(dev, 50);
    OK_LAUNCH();
    app_to_host(got, dev, T);
    for (int t = 0; t < T; t++)
        EXPECT(got[t] == (t % 2 ? 1275 * (t / 2 + 1) : 0), "mailbox %d: %d", t, got[t]);

    baton<<<1, 32>>>(dev);
    OK_LAUNCH();
    app_to_host(got, dev, 32);
    for (int t = 0; t < 32; t++)
        EXPECT(got[t] == 31 - t, "baton %d: %d", t, got[t]);

    tickets<<<1, T>>>(dev);
    OK_LAUNCH();
    app_to_host(got, dev, 3);
    EXPECT(got[0] == 128 && got[1] == 128 && got[2] == 128, "tickets: %d %d %d", got[0], got[1], got[2]);

    OK(cudaMemset(dev, 0, sizeof got));
    trylock<<<5, 48>>>(dev, dev + 1);
    OK_LAUNCH();
    app_to_host(got, dev, 3);
    EXPECT(got[0] == 0 && got[1] == 240 && got[2] == 240, "trylock: %d %d %d", got[0], got[1], got[2]);

    masks<<<1, 32>>>(dev);
    OK_LAUNCH();
    app_to_host(got, dev, 71);
    int sum = 0, most = 0;
    for (int t = 0; t < 32; t++)
        t % 5 < 2 ? sum += t + 1 : most = 100 * t;
    for (int t = 0; t < 32; t++) {
        EXPECT(got[t] == (t % 5 < 2 ? sum : most + 200), "masks %d: %d", t, got[t]);
        EXPECT(got[32 + t] == ((31 - t) % 5 < 2 ? 32 - t : 100 * (31 - t)), "masks, then all, %d: %d", t, got[32 + t]);
        EXPECT(t >= 7 || got[64 + t] == (t + 3) % 7, "seven lanes, %d: %d", t, got[64 + t]);
    }

    branches<<<1, T>>>(dev);
    OK_LAUNCH();
    app_to_host(got, dev, 3 * T);
    for (int t = 0; t < T; t++) {
        EXPECT(got[t] == 24 * 1111, "branches %d: %d", t, got[t]);
        EXPECT(got[T + t] == 32 * 6, "loops %d: %d", t, got[T + t]);
        EXPECT(t >= 64 || got[2 * T + t] == 96, "function %d: %d", t, got[2 * T + t]);
    }
    OK(cudaFree(dev));
    return app_verdict();
}
