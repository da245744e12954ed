// dynshared: dynamic shared memory beside static, several views of it, sizes above 48 KB after opting in, errors without.
#include "app.h"

extern __shared__ int as_int[];
extern __shared__ double as_double[];

__global__ void mixed(int *out, int n)
{
    __shared__ char fixed[13]; // the dynamic part behind it must still be aligned
    int t = threadIdx.x;
    if (t < 13)
        fixed[t] = (char)(t * 3);
    double *d = as_double;
    float *f = (float *)(d + n);
    unsigned char *c = (unsigned char *)(f + n);
    d[t] = t * 0.5;
    f[t] = t * 0.25f;
    c[t] = (unsigned char)t;
    __syncthreads();
    int o = n - 1 - t;
    out[t] = (int)(d[o] * 2) + (int)(f[o] * 4) * 3 + c[o] * 5 + fixed[t % 13] + (as_int == (int *)as_double ? 0 : 100000);
}

__global__ void large(unsigned *out, int words)
{
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        as_int[i] = i * 7;
    __syncthreads();
    unsigned sum = 0;
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        sum += as_int[words - 1 - i];
    atomicAdd(out, sum);
}

int main(void)
{
    const int n = 100;
    int out[n], *dout, device, most, optin;
    OK(cudaMalloc(&dout, sizeof(out)));
    mixed<<<1, n, n * (sizeof(double) + sizeof(float) + 1)>>>(dout, n);
    OK_LAUNCH();
    app_to_host(out, dout, n);
    for (int t = 0; t < n; t++) {
        int o = n - 1 - t;
        EXPECT(out[t] == o + o * 3 + o * 5 + t % 13 * 3, "thread %d is %d", t, out[t]);
    }

    OK(cudaGetDevice(&device));
    OK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlock, device));
    OK(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    EXPECT(most == 48 * 1024 && optin > most, "limits are %d and %d", most, optin);
    for (int bytes : {48 * 1024, optin}) {
        int words = bytes / 4;
        unsigned got, want = 0, *dsum = (unsigned *)dout;
        if (bytes > most) {
            large<<<1, 256, bytes>>>(dsum, words);
            EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidValue);
            OK(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        }
        OK(cudaMemset(dout, 0, sizeof(int)));
        large<<<1, 256, bytes>>>(dsum, words);
        OK_LAUNCH();
        app_to_host(&got, dsum, 1);
        for (int i = 0; i < words; i++)
            want += i * 7;
        EXPECT(got == want, "%d bytes: %u, not %u", bytes, got, want);
    }
    EXPECT_ERROR(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, optin + 4), cudaErrorInvalidValue);
    (void)cudaGetLastError();
    cudaFuncAttributes attr;
    OK(cudaFuncGetAttributes(&attr, large));
    EXPECT(attr.maxDynamicSharedSizeBytes == optin, "the attribute reads %d", attr.maxDynamicSharedSizeBytes);
    return app_verdict();
}
