// params: kernel parameters: every scalar type between bytes (alignment), structures by value, arrays inside structures, more than
// 4 KB, __grid_constant__ with its address taken, many parameters, and parameters changed by the kernel.
#include "app.h"

struct small {
    char c;
    short s;
    float f;
};

struct __align__(16) wide {
    double d[2];
    int i;
    char tail[5];
};

struct big {
    int v[1000];
    char name[7];
};

struct huge_block {
    unsigned w[4000]; // 16000 bytes
};

__global__ void scalars(char a, short b, char c, int d, char e, long long f, char g, float h, char i, double j, bool k, small s,
                        unsigned char l, wide w, unsigned char m, double *out)
{
    out[0] = a + b * 2 + c * 3 + d * 4 + e * 5.0 + f * 6.0 + g * 7.0 + h * 8.0 + i * 9.0 + j * 10.0 + k * 11.0;
    out[1] = s.c + s.s * 2 + s.f * 3 + l * 4.0;
    out[2] = w.d[0] + w.d[1] * 2 + w.i * 3 + w.tail[4] * 4 + m * 5.0;
}

__global__ void structure(big b, int *out, int n)
{
    int t = threadIdx.x;
    b.v[t] += 1000; // each thread has its own copy
    out[t] = b.v[t] + b.v[(t + 1) % n] + b.name[t % 7];
}

__global__ void large(huge_block h, unsigned *out, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = h.w[i] ^ h.w[n - 1 - i];
}

__device__ __noinline__ unsigned sum_of(const unsigned *p, int n, int from)
{
    unsigned s = 0;
    for (int i = from; i < n; i += 32)
        s += p[i];
    return s;
}

__global__ void grid_constant(const __grid_constant__ huge_block h, unsigned *out) { out[threadIdx.x] = sum_of(h.w, 4000, threadIdx.x); }

int main(void)
{
    double out[3], *dout;
    OK(cudaMalloc(&dout, sizeof(out)));
    const small s = {'s', -300, 0.5f};
    const wide w = {{1.5, -2.25}, 123456, {1, 2, 3, 4, 5}};
    scalars<<<1, 1>>>(-1, 1000, 7, -100000, 3, 1ll << 40, -9, 0.5f, 'z', 1e-3, true, s, 200, w, 255, dout);
    OK_LAUNCH();
    app_to_host(out, dout, 3);
    double want = -1 + 2000 + 21 - 400000 + 15.0 + (double)(1ll << 40) * 6 - 63 + 4.0 + 'z' * 9.0 + 1e-3 * 10.0 + 11.0;
    EXPECT(fabs(out[0] - want) < 1e-2, "scalars: %.17g, not %.17g", out[0], want);
    EXPECT(out[1] == 's' - 600 + 1.5 + 800, "small: %g", out[1]);
    EXPECT(out[2] == 1.5 - 4.5 + 370368 + 20 + 1275, "wide: %g", out[2]);

    big b;
    const int n = 256;
    int res[n], *dres;
    for (int i = 0; i < 1000; i++)
        b.v[i] = i * 3;
    memcpy(b.name, "abcdefg", 7);
    OK(cudaMalloc(&dres, sizeof(res)));
    structure<<<1, n>>>(b, dres, n);
    OK_LAUNCH();
    app_to_host(res, dres, n);
    for (int t = 0; t < n; t++)
        EXPECT(res[t] == t * 3 + 1000 + (t + 1) % n * 3 + 'a' + t % 7, "structure: thread %d is %d", t, res[t]);

    static huge_block h;
    static unsigned got[4000];
    unsigned *dgot, seed = 3;
    for (auto &x : h.w)
        x = app_rand(&seed);
    OK(cudaMalloc(&dgot, sizeof(got)));
    large<<<1, 128>>>(h, dgot, 4000);
    OK_LAUNCH();
    app_to_host(got, dgot, 4000);
    for (int i = 0; i < 4000; i++)
        EXPECT(got[i] == (h.w[i] ^ h.w[3999 - i]), "large: word %d", i);
    grid_constant<<<1, 32>>>(h, dgot);
    OK_LAUNCH();
    app_to_host(got, dgot, 32);
    for (int t = 0; t < 32; t++) {
        unsigned sum = 0;
        for (int i = t; i < 4000; i += 32)
            sum += h.w[i];
        EXPECT(got[t] == sum, "grid constant: thread %d", t);
    }
    return app_verdict();
}
