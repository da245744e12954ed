// atomics: every atomic of CUDA C on 32 and 64 bits in global and shared memory, their return values, compare-and-swap loops,
// floating point, 16-bit compare-and-swap, block and system scope.
#include "app.h"
#include <algorithm>
#include <stdint.h>
#include <vector>

enum { ADD, SUB, MIN, MAX, UMIN, UMAX, AND, OR, XOR, INC, DEC, OPS };

__device__ int apply(int *p, int op, int v)
{
    unsigned *u = (unsigned *)p;
    switch (op) {
    case ADD: return atomicAdd(p, v);
    case SUB: return atomicSub(p, v);
    case MIN: return atomicMin(p, v - 500);
    case MAX: return atomicMax(p, v - 500);
    case UMIN: return atomicMin(u, (unsigned)v - 500);
    case UMAX: return atomicMax(u, (unsigned)v - 500);
    case AND: return atomicAnd(p, ~(1 << v % 31));
    case OR: return atomicOr(p, 1 << v % 31);
    case XOR: return atomicXor(p, v * 0x9e3779b9);
    case INC: return atomicInc(u, 17);
    default: return atomicDec(u, 17);
    }
}

static int expected(int start, int op, int n)
{
    uint32_t u = start;
    for (int v = 0; v < n; v++)
        switch (op) {
        case ADD: u += v; break;
        case SUB: u -= v; break;
        case MIN: u = std::min((int)u, v - 500); break;
        case MAX: u = std::max((int)u, v - 500); break;
        case UMIN: u = std::min(u, (uint32_t)v - 500); break;
        case UMAX: u = std::max(u, (uint32_t)v - 500); break;
        case AND: u &= ~(1 << v % 31); break;
        case OR: u |= 1 << v % 31; break;
        case XOR: u ^= v * 0x9e3779b9; break;
        case INC: u = u >= 17 ? 0 : u + 1; break;
        case DEC: u = u == 0 || u > 17 ? 17 : u - 1; break;
        }
    return (int)u;
}

__global__ void words(int *global, int *shared_result, int start)
{
    __shared__ int s[OPS];
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < OPS)
        s[threadIdx.x] = start;
    __syncthreads();
    for (int op = 0; op < OPS; op++) {
        apply(&global[op], op, t);
        apply(&s[op], op, threadIdx.x);
    }
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x < OPS)
        shared_result[threadIdx.x] = s[threadIdx.x];
}

__global__ void longs(unsigned long long *p, long long *q, double *d, float *f, unsigned *olds)
{
    unsigned long long t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&p[0], t << 33);
    atomicMax(&p[1], t << 40);
    atomicMin(&p[2], t << 40 | 5);
    atomicOr(&p[3], 1ull << t % 64);
    atomicXor(&p[4], t * 0x100000001ull);
    atomicAnd(&p[5], ~(1ull << (t % 60)));
    atomicMin(&q[0], -(long long)t << 35);
    atomicMax(&q[1], -(long long)t - (1ll << 40));
    atomicAdd(&d[0], 0.5);
    atomicAdd(&f[0], 2.0f);
    // A multiplication and a maximum of doubles by compare and swap.
    unsigned long long *bits = (unsigned long long *)&d[1], old = *bits, seen;
    do {
        seen = old;
        old = atomicCAS(bits, seen, (unsigned long long)__double_as_longlong(__longlong_as_double(seen) * (t % 2 ? 2.0 : 0.5)));
    } while (old != seen);
    unsigned long long *top = (unsigned long long *)&d[2];
    for (old = *top; __longlong_as_double(old) < (double)t; old = seen)
        if ((seen = atomicCAS(top, old, (unsigned long long)__double_as_longlong((double)t))) == old)
            break;
    olds[t] = atomicAdd((unsigned *)&p[6], 3u);   // every old value once
    atomicExch(&p[7], t + 1);
    atomicAdd_block((int *)&p[8], 1);
    atomicAdd_system((int *)&p[9], 2);
    unsigned short *h = (unsigned short *)&p[10] + 1, h_old = *h, h_seen; // the neighbours must not change
    do {
        h_seen = h_old;
        h_old = atomicCAS(h, h_seen, (unsigned short)(h_seen + 1));
    } while (h_old != h_seen);
}

int main(void)
{
    const int blocks = 5, threads = 96, n = blocks * threads, start = 1000;
    int init[OPS], got[OPS], shared_got[OPS], *dg, *ds;
    for (int i = 0; i < OPS; i++)
        init[i] = start;
    dg = app_to_device(init, OPS);
    ds = app_to_device(init, OPS);
    words<<<blocks, threads>>>(dg, ds, start);
    OK_LAUNCH();
    app_to_host(got, dg, OPS);
    app_to_host(shared_got, ds, OPS);
    for (int op = 0; op < OPS; op++) {
        EXPECT(got[op] == expected(start, op, n), "global, operation %d: %d, not %d", op, got[op], expected(start, op, n));
        EXPECT(shared_got[op] == expected(start, op, threads), "shared, operation %d: %d, not %d", op, shared_got[op],
               expected(start, op, threads));
    }

    unsigned long long p[11] = {7, 7, ~0ull, 0, 0, ~0ull, 10, 0, 0, 0, 0xaaaa00005555ull}, *dp = app_to_device(p, 11);
    long long q[2] = {0, -(1ll << 62)}, *dq = app_to_device(q, 2);
    double d[3] = {0.25, 3.0, -1.0}, *dd = app_to_device(d, 3);
    float f = 1.0f, *df = app_to_device(&f, 1);
    std::vector<unsigned> olds(n);
    unsigned *dolds = app_to_device(olds.data(), n);
    longs<<<blocks, threads>>>(dp, dq, dd, df, dolds);
    OK_LAUNCH();
    app_to_host(p, dp, 11);
    app_to_host(q, dq, 2);
    app_to_host(d, dd, 3);
    app_to_host(&f, df, 1);
    app_to_host(olds.data(), dolds, n);
    unsigned long long sum = 7, x = 0;
    for (unsigned long long t = 0; t < (unsigned long long)n; t++) {
        sum += t << 33;
        x ^= t * 0x100000001ull;
    }
    const unsigned long long want[10] = {sum, (n - 1ull) << 40, 5, ~0ull, x, ~0ull << 60, 10 + 3ull * n, p[7], (unsigned long long)n,
                                         2ull * n};
    for (int i = 0; i < 10; i++)
        EXPECT(p[i] == want[i], "64 bits, word %d is %llx, not %llx", i, p[i], want[i]);
    EXPECT(p[7] >= 1 && p[7] <= (unsigned long long)n, "exchange left %llu", p[7]);
    EXPECT(p[10] == (0xaaaa00005555ull | (unsigned long long)n << 16), "16 bits: %llx", p[10]);
    EXPECT(q[0] == -(n - 1ll) * (1ll << 35) && q[1] == -(1ll << 40), "signed: %lld %lld", q[0], q[1]);
    EXPECT(d[0] == 0.25 + n * 0.5 && f == 1 + 2.0f * n, "floating point: %g %g", d[0], f);
    EXPECT(d[1] == 3.0 && d[2] == n - 1.0, "compare and swap: %g %g", d[1], d[2]);
    std::sort(olds.begin(), olds.end());
    for (int i = 0; i < n; i++)
        EXPECT(olds[i] == 10 + 3u * i, "old value %d is %u", i, olds[i]);
    return app_verdict();
}
