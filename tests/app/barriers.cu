// barriers: __syncthreads_count/and/or, threads and whole warps that leave before a barrier, named barriers with counts between
// producer and consumer warps, barriers that the two sides of a divergent branch reach separately.
#include "app.h"

__global__ void votes(int *out)
{
    int t = threadIdx.x;
    out[t] = __syncthreads_count(t % 3 == 0);
    out[256 + t] = __syncthreads_and(t < 1000);
    out[512 + t] = __syncthreads_and(t != 77);
    out[768 + t] = __syncthreads_or(t == 255);
    out[1024 + t] = __syncthreads_or(t == 256);
}

// Threads from `live` on leave at once; the rest still meet.
__global__ void leavers(int *out, int live)
{
    __shared__ int s[256];
    int t = threadIdx.x;
    if (t >= live)
        return;
    s[t] = t * 5;
    __syncthreads();
    for (int step = 0; step < 3; step++) {
        int v = s[(t + 1) % live];
        __syncthreads();
        s[t] = v;
        __syncthreads();
    }
    out[t] = s[t];
}

// Warps leave one after another while the others go on meeting.
__global__ void one_by_one(int *out)
{
    __shared__ int rounds;
    int w = threadIdx.x / 32;
    if (threadIdx.x == 0)
        rounds = 0;
    __syncthreads();
    for (int r = 0; r < 8; r++) {
        if (w == 7 - r && w != 0) // warp 7 leaves first; warp 0 stays
            return;
        __syncthreads();
        if (threadIdx.x == 0)
            rounds++;
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *out = rounds;
}

// Warp 0 produces, warps 1 and 2 consume: the buffer is full (barrier 1) or free again (barrier 2).
__global__ void pipeline(int *out, int rounds)
{
    __shared__ int buffer[32];
    int w = threadIdx.x / 32, l = threadIdx.x % 32, sum = 0;
    for (int r = 0; r < rounds; r++) {
        if (w == 0) {
            if (r > 0)
                asm volatile("bar.sync 2, 96;" ::: "memory");
            buffer[l] = r * 100 + l;
            asm volatile("bar.arrive 1, 96;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 96;" ::: "memory");
            sum += buffer[31 - l] * w;
            if (r < rounds - 1)
                asm volatile("bar.arrive 2, 96;" ::: "memory");
        }
    }
    out[threadIdx.x] = sum;
}

__global__ void two_sides(int *out)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t % 32 < 16) {
        s[t] = t;
        asm volatile("barrier.sync 3, 64;" ::: "memory");
        out[t] = s[t ^ 16];
    } else {
        s[t] = t + 1000;
        asm volatile("barrier.sync 3, 64;" ::: "memory");
        out[t] = s[t ^ 48];
    }
}

int main(void)
{
    int out[1280], *dout;
    OK(cudaMalloc(&dout, sizeof(out)));
    votes<<<1, 256>>>(dout);
    OK_LAUNCH();
    app_to_host(out, dout, 1280);
    for (int t = 0; t < 256; t++)
        EXPECT(out[t] == 86 && out[256 + t] && !out[512 + t] && out[768 + t] && !out[1024 + t], "thread %d: %d %d %d %d %d", t,
               out[t], out[256 + t], out[512 + t], out[768 + t], out[1024 + t]);
    for (int live : {256, 200, 32, 17, 1}) {
        leavers<<<1, 256>>>(dout, live);
        OK_LAUNCH();
        app_to_host(out, dout, live);
        for (int t = 0; t < live; t++)
            EXPECT(out[t] == (t + 3) % live * 5, "%d live: thread %d is %d", live, t, out[t]);
    }
    one_by_one<<<1, 256>>>(dout);
    OK_LAUNCH();
    app_to_host(out, dout, 1);
    EXPECT(out[0] == 8, "%d rounds, not 8", out[0]);
    const int rounds = 6;
    pipeline<<<2, 96>>>(dout, rounds);
    OK_LAUNCH();
    app_to_host(out, dout, 96);
    for (int t = 32; t < 96; t++) {
        int want = 0;
        for (int r = 0; r < rounds; r++)
            want += (r * 100 + 31 - t % 32) * (t / 32);
        EXPECT(out[t] == want, "pipeline, thread %d: %d, not %d", t, out[t], want);
    }
    two_sides<<<1, 64>>>(dout);
    OK_LAUNCH();
    app_to_host(out, dout, 64);
    for (int t = 0; t < 64; t++) {
        int from = t % 32 < 16 ? t ^ 16 : t ^ 48, want = from % 32 < 16 ? from : from + 1000;
        EXPECT(out[t] == want, "two sides, thread %d: %d, not %d", t, out[t], want);
    }
    return app_verdict();
}
