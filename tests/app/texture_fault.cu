// texture_fault: kernels that use a texture or surface that is not there end with an error that says so. The program's one argument of the build
// (FAULT) chooses: 1 an object that was destroyed, 2 one whose memory was freed, 3 a surface used as a texture, 4 out of a surface's bounds,
// 5 a texel behind the end of the linear memory of a texture that claims more than there is (CUDA makes such a texture, and the texels that are there can be fetched).
#include "app.h"

__global__ void read_texel(cudaTextureObject_t t, float *out) { out[threadIdx.x] = tex2D<float>(t, threadIdx.x + 0.5f, 0.5f); }
__global__ void write_texel(cudaSurfaceObject_t s, int shift) { surf2Dwrite(1.0f, s, (int)(threadIdx.x + shift) * 4, 0); }

__global__ void fetch_texel(cudaTextureObject_t t, int from, float *out) { out[threadIdx.x] = tex1Dfetch<float>(t, (int)threadIdx.x + from); }

static void linear_memory(float *out)
{
    float host[32], *memory;
    cudaResourceDesc r = {};
    cudaTextureDesc d = {};
    cudaTextureObject_t t;
    for (int i = 0; i < 32; i++)
        host[i] = (float)i;
    OK(cudaMalloc(&memory, sizeof host));
    OK(cudaMemcpy(memory, host, sizeof host, cudaMemcpyHostToDevice));
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = memory;
    r.res.linear.desc = cudaCreateChannelDesc<float>();
    r.res.linear.sizeInBytes = 2 * sizeof host;
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    fetch_texel<<<1, 32>>>(t, 0, out);
    OK_LAUNCH();
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        EXPECT(host[i] == (float)i, "texel %d is %g", i, (double)host[i]);
    fetch_texel<<<1, 32>>>(t, 1, out);
}

int main()
{
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaArray_t a;
    cudaResourceDesc r = {};
    cudaTextureDesc d = {};
    cudaTextureObject_t t;
    cudaSurfaceObject_t s;
    float *out;
    OK(cudaMallocArray(&a, &f, 32, 4, cudaArraySurfaceLoadStore));
    OK(cudaMalloc(&out, 32 * sizeof *out));
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    OK(cudaCreateSurfaceObject(&s, &r));
    read_texel<<<1, 32>>>(t, out);
    write_texel<<<1, 32>>>(s, 0);
    OK_LAUNCH();
#if FAULT == 1
    OK(cudaDestroyTextureObject(t));
    read_texel<<<1, 32>>>(t, out);
#elif FAULT == 2
    OK(cudaFreeArray(a));
    read_texel<<<1, 32>>>(t, out);
#elif FAULT == 3
    read_texel<<<1, 32>>>(s, out);
#elif FAULT == 5
    linear_memory(out);
#else
    write_texel<<<1, 32>>>(s, 3);
#endif
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    return app_verdict();
}
