// texture_fault: kernels that use a texture or surface that is not there end with an error that says so. The program's one argument of the build
// (FAULT) chooses: 1 an object that was destroyed, 2 one whose memory was freed, 3 a surface used as a texture, 4 out of a surface's bounds.
#include "app.h"

__global__ void read_texel(cudaTextureObject_t t, float *out) { out[threadIdx.x] = tex2D<float>(t, threadIdx.x + 0.5f, 0.5f); }
__global__ void write_texel(cudaSurfaceObject_t s, int shift) { surf2Dwrite(1.0f, s, (int)(threadIdx.x + shift) * 4, 0); }

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
#else
    write_texel<<<1, 32>>>(s, 3);
#endif
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    return app_verdict();
}
