// int128: 128-bit integers (carry chains, wide multiplication, division by routine) and 64-bit multiply-high; same code on both sides.
#include "app.h"

typedef unsigned __int128 u128;
typedef __int128 s128;

__host__ __device__ u128 make(unsigned long long hi, unsigned long long lo) { return (u128)hi << 64 | lo; }

__host__ __device__ u128 work(unsigned long long a, unsigned long long b, unsigned long long c, unsigned long long d, int which)
{
    u128 x = make(a, b), y = make(c, d);
    int s = (int)(d % 128);
    switch (which) {
    case 0: return x + y;
    case 1: return x - y;
    case 2: return x * y;
    case 3: return x / (y >> (s % 100) | 1);
    case 4: return x % (y >> (s % 90) | 1);
    case 5: return x << s | y >> s;
    case 6: return (u128)((s128)x >> s);
    case 7: return (x < y) + 2 * ((s128)x < (s128)y) + 4 * (x == y);
    case 8: return (u128)((s128)x / (s128)(y >> 65 | 1));
    case 9: return (u128)a * b + (u128)((s128)(long long)c * (long long)d);
    default: return ~x ^ (y & x);
    }
}

__global__ void run(const unsigned long long *in, u128 *out, int n, int which)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = work(in[4 * i], in[4 * i + 1], in[4 * i + 2], in[4 * i + 3], which);
}

// (2^64-1)^2 by 32-bit pieces with the carry flag.
__global__ void carry(unsigned *out, unsigned a0, unsigned a1)
{
    unsigned r0, r1, r2, r3;
    asm("{\n\t"
        "mul.lo.u32 %0, %4, %4;\n\t"
        "mul.hi.u32 %1, %4, %4;\n\t"
        "mad.lo.cc.u32 %1, %4, %5, %1;\n\t"
        "madc.hi.u32 %2, %4, %5, 0;\n\t"
        "mad.lo.cc.u32 %1, %5, %4, %1;\n\t"
        "madc.hi.cc.u32 %2, %5, %4, %2;\n\t"
        "addc.u32 %3, 0, 0;\n\t"
        "mad.lo.cc.u32 %2, %5, %5, %2;\n\t"
        "madc.hi.u32 %3, %5, %5, %3;\n\t"
        "}"
        : "=&r"(r0), "=&r"(r1), "=&r"(r2), "=&r"(r3)
        : "r"(a0), "r"(a1));
    out[0] = r0, out[1] = r1, out[2] = r2, out[3] = r3;
    asm("sub.cc.u32 %0, %2, %3;\n\tsubc.u32 %1, 5, 1;" : "=&r"(r0), "=&r"(r1) : "r"(3u), "r"(4u));
    out[4] = r0, out[5] = r1;
    // The flag after a subtraction is the adder's carry, 1 for no borrow: code that nvcc generates relies on it.
    asm("sub.cc.u32 %0, %2, %3;\n\taddc.u32 %1, 0, 0;" : "=&r"(r0), "=&r"(r1) : "r"(a0), "r"(a0));
    out[6] = r1;
    asm("sub.cc.u32 %0, %2, %3;\n\taddc.u32 %1, 0, 0;" : "=&r"(r0), "=&r"(r1) : "r"(a0 & 7), "r"(a0 | 8));
    out[7] = r1;
}

int main(void)
{
    const int n = 200;
    static unsigned long long in[4 * n];
    static u128 out[n];
    unsigned seed = 31;
    const unsigned long long edges[] = {0, 1, ~0ull, 1ull << 63, ~0ull >> 1};
    for (int i = 0; i < 4 * n; i++)
        in[i] = i < 300 && i % 2 ? edges[i / 2 % 5] : (unsigned long long)app_rand(&seed) << 32 | app_rand(&seed);
    unsigned long long *din = app_to_device(in, 4 * n);
    u128 *dout;
    OK(cudaMalloc(&dout, sizeof(out)));
    for (int which = 0; which < 11; which++) {
        run<<<(n + 63) / 64, 64>>>(din, dout, n, which);
        OK_LAUNCH();
        app_to_host(out, dout, n);
        for (int i = 0; i < n; i++) {
            u128 want = work(in[4 * i], in[4 * i + 1], in[4 * i + 2], in[4 * i + 3], which);
            EXPECT(out[i] == want, "case %d, %d: %016llx%016llx, not %016llx%016llx", which, i, (unsigned long long)(out[i] >> 64),
                   (unsigned long long)out[i], (unsigned long long)(want >> 64), (unsigned long long)want);
        }
    }
    unsigned w[8], *dw;
    OK(cudaMalloc(&dw, sizeof(w)));
    for (unsigned long long a : {~0ull, 0x123456789abcdef1ull, 0xffffffff00000001ull}) {
        carry<<<1, 1>>>(dw, (unsigned)a, (unsigned)(a >> 32));
        OK_LAUNCH();
        app_to_host(w, dw, 8);
        u128 want = (u128)a * a, got = make((unsigned long long)w[3] << 32 | w[2], (unsigned long long)w[1] << 32 | w[0]);
        EXPECT(got == want, "the square of %llx is %016llx%016llx", a, (unsigned long long)(got >> 64), (unsigned long long)got);
        EXPECT(w[4] == ~0u && w[5] == 3, "borrow: %x %u", w[4], w[5]);
        EXPECT(w[6] == 1 && w[7] == 0, "the flag of a subtraction: %u %u", w[6], w[7]);
    }
    return app_verdict();
}
