// constants: __constant__ and __device__ symbols: initial values of many types, copies to and from them at offsets, addresses
// and sizes, uniform and divergent constant reads, pointers to symbols in initialisers.
#include "app.h"

struct mixed {
    char c;
    short s;
    int i;
    double d;
    unsigned char bytes[5];
    const char *text;
};

__constant__ int numbers[256] = {10, 20, 30};
__constant__ float scale = 2.5f;
__constant__ mixed record = {'x', -2, 300000, 0.125, {1, 2, 3, 4, 5}, "record"};
__device__ int counters[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ double pi = 3.25;
__device__ int *pointer = &counters[5];
__device__ const char *names[3] = {"zero", "one", "two"};
__device__ long long big = -1234567890123456789ll;
static __device__ short small[3] = {-1, 0, 1};
__device__ int zeroed[100];
__device__ int matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};

__device__ int length(const char *s)
{
    int n = 0;
    while (s[n])
        n++;
    return n;
}

__global__ void read_all(int *out, double *dout)
{
    int t = threadIdx.x;
    out[t] = numbers[t] + numbers[(t * 7) & 255] * 2 + numbers[1];
    if (t == 0) {
        out[64] = record.c + record.s + record.i + record.bytes[4];
        out[65] = length(record.text) * 100 + record.text[2];
        out[66] = *pointer + pointer[-1] * 10 + small[0] + small[2] * 3;
        out[67] = length(names[0]) + length(names[1]) * 10 + names[2][1];
        out[68] = zeroed[99] + matrix[1][1] * 10 + matrix[0][2];
        dout[0] = scale * 2 + record.d + pi;
        dout[1] = (double)(big + 1);
        counters[7] = 80;
        small[1] = 5;
    }
}

int main(void)
{
    int host[256], out[80], *dout;
    double dd[2], *ddout;
    for (int i = 0; i < 256; i++)
        host[i] = i * i;
    OK(cudaMemcpyToSymbol(numbers, host + 16, sizeof(int) * 240, sizeof(int) * 16)); // all but the first 16
    float s = 4.5f;
    OK(cudaMemcpyToSymbolAsync(scale, &s, sizeof(s), 0, cudaMemcpyHostToDevice, 0));
    OK(cudaMalloc(&dout, sizeof(out)));
    OK(cudaMalloc(&ddout, sizeof(dd)));
    read_all<<<1, 64>>>(dout, ddout);
    OK_LAUNCH();
    app_to_host(out, dout, 80);
    app_to_host(dd, ddout, 2);
    auto number = [&](int i) { return i < 3 ? (i + 1) * 10 : i < 16 ? 0 : i * i; };
    for (int t = 0; t < 64; t++)
        EXPECT(out[t] == number(t) + number(t * 7 & 255) * 2 + 20, "constant %d: %d", t, out[t]);
    EXPECT(out[64] == 'x' - 2 + 300000 + 5, "record: %d", out[64]);
    EXPECT(out[65] == 600 + 'c', "text: %d", out[65]);
    EXPECT(out[66] == 6 + 50 - 1 + 3, "pointer: %d", out[66]);
    EXPECT(out[67] == 4 + 30 + 'w', "names: %d", out[67]);
    EXPECT(out[68] == 53, "matrix: %d", out[68]);
    EXPECT(dd[0] == 9 + 0.125 + 3.25, "floating point: %g", dd[0]);
    EXPECT(dd[1] == (double)-1234567890123456788ll, "64 bits: %.17g", dd[1]);

    int back[8];
    short sback[3];
    OK(cudaMemcpyFromSymbol(back, counters, sizeof(back)));
    EXPECT(back[0] == 1 && back[6] == 7 && back[7] == 80, "counters: %d %d %d", back[0], back[6], back[7]);
    OK(cudaMemcpyFromSymbol(back, counters, 2 * sizeof(int), 3 * sizeof(int)));
    EXPECT(back[0] == 4 && back[1] == 5, "counters at an offset: %d %d", back[0], back[1]);
    OK(cudaMemcpyFromSymbol(sback, small, sizeof(sback)));
    EXPECT(sback[0] == -1 && sback[1] == 5 && sback[2] == 1, "shorts: %d %d %d", sback[0], sback[1], sback[2]);
    void *address;
    size_t size;
    OK(cudaGetSymbolAddress(&address, counters));
    OK(cudaGetSymbolSize(&size, counters));
    EXPECT(size == 32, "the size is %zu", size);
    OK(cudaMemset(address, 0, size));
    OK(cudaMemcpyFromSymbol(back, counters, sizeof(back)));
    EXPECT(back[7] == 0, "after memset: %d", back[7]);
    OK(cudaGetSymbolSize(&size, record));
    EXPECT(size == sizeof(mixed), "the record has %zu bytes", size);
    EXPECT_ERROR(cudaMemcpyToSymbol(counters, back, 4 * sizeof(int), 5 * sizeof(int)), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaGetSymbolAddress(&address, host), cudaErrorInvalidSymbol);
    (void)cudaGetLastError();
    return app_verdict();
}
