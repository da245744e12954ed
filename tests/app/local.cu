// local: arrays in local memory with indices known only at run time, of every element size, structures, address arithmetic,
// two-dimensional arrays, pointers into the caller's frame, private to each thread.
#include "app.h"

struct pair {
    short a;
    double b;
    char c[3];
};

__host__ __device__ __noinline__ void rotate(int *a, int n, int by)
{
    int t[16];
    for (int i = 0; i < n; i++)
        t[(i + by) % n] = a[i];
    for (int i = 0; i < n; i++)
        a[i] = t[i];
}

__host__ __device__ long long work(int t)
{
    int ints[16];
    signed char bytes[40];
    unsigned short shorts[12];
    long long longs[9];
    double grid[3][5];
    pair pairs[4];
    long long sum = 0;
    for (int i = 0; i < 16; i++)
        ints[(i * 5 + t) & 15] = i * t;
    for (int i = 0; i < 40; i++)
        bytes[(i * 7 + t) % 40] = (signed char)(i * t - 60);
    for (int i = 0; i < 12; i++)
        shorts[(i + t) % 12] = (unsigned short)(i * 6000 + t);
    for (int i = 0; i < 9; i++)
        longs[(i * 2 + t) % 9] = ((long long)i << 40) - t;
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 5; x++)
            grid[(y + t) % 3][(x * 2 + t) % 5] = y * 10 + x + t * 0.5;
    for (int i = 0; i < 4; i++) {
        pair &p = pairs[(i + t) & 3];
        p.a = (short)(i - t);
        p.b = i * 0.25;
        p.c[(t + i) % 3] = (char)i;
        p.c[(t + i + 1) % 3] = (char)(i + 1);
        p.c[(t + i + 2) % 3] = (char)(i + 2);
    }
    rotate(ints, 16, t % 16);
    for (int i = 0; i < 16; i++)
        sum = sum * 3 + ints[(i * t) & 15];
    for (int i = 0; i < 40; i++)
        sum += bytes[(i + t * 3) % 40] * (i + 1);
    for (int i = 0; i < 12; i++)
        sum ^= (long long)shorts[(i * 5 + t) % 12] << i;
    for (int i = 0; i < 9; i++)
        sum += longs[(i + t) % 9] * (i + 1);
    for (int i = 0; i < 15; i++)
        sum += (long long)(grid[(i + t) % 3][(i * t) % 5] * 2) * (i + 3);
    const pair copy = pairs[t & 3];
    sum += copy.a + (long long)(copy.b * 4) * 7 + copy.c[t % 3] * 11 + pairs[(t + 1) & 3].c[2];
    int *end = ints + 15;
    for (const int *p = ints + t % 16; p <= end; p++)
        sum -= *p;
    return sum;
}

__global__ void run(long long *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = work(t);
}

int main(void)
{
    const int n = 320;
    long long out[n], *dout;
    OK(cudaMalloc(&dout, sizeof(out)));
    run<<<5, n / 5>>>(dout);
    OK_LAUNCH();
    app_to_host(out, dout, n);
    for (int t = 0; t < n; t++)
        EXPECT(out[t] == work(t), "thread %d is %lld, not %lld", t, out[t], work(t));
    printf("thread 100: %lld\n", work(100));
    return app_verdict();
}
