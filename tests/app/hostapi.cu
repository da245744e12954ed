// hostapi: the forms of copies, fills, streams, events, libraries and attributes that the other programs of this folder do not use.
#include "app.h"

__device__ int dev_words[64];
__constant__ int const_words[16];
__global__ void twice(int *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] *= 2;
}

static void fills()
{
    const size_t w = 37, h = 5, d = 3;
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    unsigned char *host = (unsigned char *)malloc(1 << 16);
    cudaPitchedPtr p;
    OK(cudaMalloc3D(&p, make_cudaExtent(w, h, d)));
    EXPECT(p.pitch >= w && p.xsize == w && p.ysize == h, "pitch %zu of %zu x %zu", p.pitch, p.xsize, p.ysize);
    OK(cudaMemset3DAsync(p, 7, make_cudaExtent(w, h, d), s));
    OK(cudaMemset3D(p, 9, make_cudaExtent(4, 2, 1)));
    OK(cudaMemset2DAsync((char *)p.ptr + p.pitch * h + 1, p.pitch, 3, 2, 2, s));
    OK(cudaStreamSynchronize(s));
    cudaMemcpy3DParms c = {};
    c.srcPtr = p;
    c.dstPtr = make_cudaPitchedPtr(host, w, w, h);
    c.extent = make_cudaExtent(w, h, d);
    c.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3DAsync(&c, s));
    OK(cudaStreamSynchronize(s));
    for (size_t z = 0; z < d; z++)
        for (size_t y = 0; y < h; y++)
            for (size_t x = 0; x < w; x++) {
                int want = z == 0 && y < 2 && x < 4 ? 9 : z == 1 && y < 2 && x >= 1 && x < 3 ? 3 : 7;
                EXPECT(host[(z * h + y) * w + x] == want, "byte %zu %zu %zu is %d, not %d", x, y, z, host[(z * h + y) * w + x], want);
            }
    // a box inside: positions in bytes, rows and slices
    memset(host, 0, 1 << 16);
    c.srcPos = make_cudaPos(1, 0, 1);
    c.dstPos = make_cudaPos(2, 1, 0);
    c.extent = make_cudaExtent(2, 2, 1);
    OK(cudaMemcpy3D(&c));
    EXPECT(host[w + 2] == 3 && host[2 * w + 3] == 3 && host[w + 1] == 0 && host[w + 4] == 0 && host[2] == 0, "a box");
    c.extent = make_cudaExtent(0, 2, 1); // nothing to copy is no error
    OK(cudaMemcpy3D(&c));
    OK(cudaFree(p.ptr));
    OK(cudaStreamDestroy(s));
    free(host);
}

static void symbols()
{
    int words[64], back[64] = {0}, *address;
    size_t bytes = 0;
    for (int i = 0; i < 64; i++)
        words[i] = i * i;
    OK(cudaMemcpyToSymbolAsync(dev_words, words, 16 * sizeof(int), 8 * sizeof(int), cudaMemcpyHostToDevice, cudaStreamPerThread));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    OK(cudaMemcpyFromSymbolAsync(back, dev_words, 16 * sizeof(int), 8 * sizeof(int), cudaMemcpyDeviceToHost, 0));
    OK(cudaDeviceSynchronize());
    EXPECT(memcmp(words, back, 16 * sizeof(int)) == 0, "to and from a symbol");
    OK(cudaGetSymbolAddress((void **)&address, dev_words));
    OK(cudaGetSymbolSize(&bytes, const_words));
    EXPECT(bytes == sizeof const_words, "size %zu", bytes);
    OK(cudaMemcpyToSymbol(const_words, address + 8, 16 * sizeof(int), 0, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpyFromSymbol(back + 32, const_words, 16 * sizeof(int)));
    EXPECT(memcmp(words, back + 32, 16 * sizeof(int)) == 0, "device to symbol");
    EXPECT_ERROR(cudaMemcpyToSymbol(const_words, words, 64, 4), cudaErrorInvalidValue); // 4 bytes too far
    EXPECT_ERROR(cudaMemcpyToSymbol(words, words, 4), cudaErrorInvalidSymbol);
    EXPECT_ERROR(cudaMemcpyToSymbol(dev_words, words, 4, 0, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
    (void)cudaGetLastError();
}

static void copies()
{
    int *a, *b, host[256], back[256];
    for (int i = 0; i < 256; i++)
        host[i] = 3 * i;
    OK(cudaMalloc(&a, sizeof host));
    OK(cudaMalloc(&b, sizeof host));
    OK(cudaMemcpy(a, host, sizeof host, cudaMemcpyDefault));
    OK(cudaMemcpyPeer(b, 0, a, 0, sizeof host));
    OK(cudaMemset(a, 0, sizeof host));
    OK(cudaMemcpyPeerAsync(a, 0, b, 0, sizeof host, cudaStreamLegacy));
    OK(cudaMemcpy(back, a, sizeof back, cudaMemcpyDefault));
    EXPECT(memcmp(host, back, sizeof host) == 0, "peer copies on one device");
    cudaMemcpy3DPeerParms p = {};
    p.srcPtr = make_cudaPitchedPtr(b, 64, 64, 4);
    p.dstPtr = make_cudaPitchedPtr(a, 128, 128, 4);
    p.extent = make_cudaExtent(64, 4, 1);
    OK(cudaMemcpy3DPeer(&p));
    OK(cudaMemcpy(back, a, sizeof back, cudaMemcpyDeviceToHost));
    EXPECT(back[32] == host[16] && back[33] == host[17] && back[16] == host[16], "rows of 64 bytes into rows of 128");
    EXPECT_ERROR(cudaMemcpy2D(a, 16, host, 64, 32, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    EXPECT_ERROR(cudaMemcpy(a, host, 4, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
    EXPECT_ERROR(cudaMemcpy(a, nullptr, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemcpyPeer(b, 0, a, 99, 4), cudaErrorInvalidDevice);
    EXPECT(cudaGetLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaSuccess, "the last error is given once");
    int can = -1;
    OK(cudaDeviceCanAccessPeer(&can, 0, 0));
    EXPECT(can == 0, "a device is no peer of itself");
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaFree(nullptr));
    EXPECT_ERROR(cudaFree(host), cudaErrorInvalidValue);
    (void)cudaGetLastError();
}

static void streams_and_events()
{
    int least, greatest, priority = 1;
    unsigned flags = 9;
    cudaStream_t s;
    cudaEvent_t e, f, quiet;
    float ms = -1;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT(least == 0 && greatest < 0, "priorities %d to %d", least, greatest);
    OK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, greatest - 100)); // clamped
    OK(cudaStreamGetPriority(s, &priority));
    OK(cudaStreamGetFlags(s, &flags));
    EXPECT(priority == greatest && flags == cudaStreamNonBlocking, "priority %d flags %u", priority, flags);
    EXPECT_ERROR(cudaStreamCreateWithFlags(&s, 77), cudaErrorInvalidValue);
    OK(cudaEventCreate(&e));
    OK(cudaEventCreateWithFlags(&f, cudaEventBlockingSync));
    OK(cudaEventCreateWithFlags(&quiet, cudaEventDisableTiming));
    OK(cudaEventQuery(e)); // never recorded: complete
    EXPECT_ERROR(cudaEventElapsedTime(&ms, e, f), cudaErrorInvalidResourceHandle);
    OK(cudaEventRecord(e, s));
    OK(cudaEventRecordWithFlags(f, s, cudaEventRecordDefault));
    OK(cudaEventRecord(quiet, s));
    OK(cudaEventSynchronize(quiet));
    OK(cudaEventElapsedTime(&ms, e, f));
    EXPECT(ms >= 0, "%f ms", ms);
    EXPECT_ERROR(cudaEventElapsedTime(&ms, e, quiet), cudaErrorInvalidResourceHandle);
    OK(cudaStreamQuery(s));
    OK(cudaStreamWaitEvent(0, e, 0));
    OK(cudaStreamDestroy(s));
    OK(cudaEventDestroy(e));
    OK(cudaEventDestroy(f));
    OK(cudaEventDestroy(quiet));
    (void)cudaGetLastError();
}

static void launches()
{
    int *p, n = 100, host[100];
    for (int i = 0; i < n; i++)
        host[i] = i;
    p = app_to_device(host, n);
    cudaLaunchConfig_t c = {};
    cudaLaunchAttribute a[3] = {};
    a[0].id = cudaLaunchAttributePriority;
    a[0].val.priority = 0;
    a[1].id = cudaLaunchAttributeCooperative;
    a[1].val.cooperative = 1;
    a[2].id = cudaLaunchAttributeIgnore;
    c.gridDim = 4;
    c.blockDim = 32;
    c.attrs = a;
    c.numAttrs = 3;
    OK(cudaLaunchKernelEx(&c, twice, p, n));
    void *args[] = {&p, &n};
    OK(cudaLaunchKernelExC(&c, (const void *)twice, args));
    OK(cudaLaunchKernel((const void *)twice, dim3(4), dim3(32), args, 0, 0));
    cudaFunction_t f;
    cudaKernel_t k;
    OK(cudaGetFuncBySymbol(&f, (const void *)twice));
    OK(cudaGetKernel(&k, (const void *)twice));
    OK(cudaDeviceSynchronize());
    app_to_host(host, p, n);
    for (int i = 0; i < n; i++)
        EXPECT(host[i] == 8 * i, "word %d is %d", i, host[i]);
    a[1].val.cooperative = 1;
    c.gridDim = 1 << 20; // more than can be resident
    EXPECT_ERROR(cudaLaunchKernelExC(&c, (const void *)twice, args), cudaErrorCooperativeLaunchTooLarge);
    EXPECT_ERROR(cudaLaunchKernel((const void *)twice, dim3(1), dim3(0), args, 0, 0), cudaErrorInvalidConfiguration);
    EXPECT_ERROR(cudaLaunchKernel((const void *)twice, dim3(1), dim3(32), args, 1 << 20, 0), cudaErrorInvalidValue);
    cudaError_t none = cudaLaunchKernel((const void *)host, dim3(1), dim3(32), args, 0, 0); // 13.0 takes an unknown address for a kernel handle
    EXPECT(none == cudaErrorInvalidDeviceFunction || none == cudaErrorInvalidResourceHandle, "launch of no kernel: %s", cudaGetErrorName(none));
    cudaFuncAttributes attr;
    OK(cudaFuncGetAttributes(&attr, twice));
    EXPECT(attr.maxThreadsPerBlock >= 32 && attr.numRegs > 0 && attr.sharedSizeBytes == 0, "attributes");
    OK(cudaFuncSetAttribute(twice, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
    OK(cudaLaunchKernel((const void *)twice, dim3(1), dim3(32), args, 60 * 1024, 0));
    EXPECT_ERROR(cudaFuncSetAttribute(twice, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 24), cudaErrorInvalidValue);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(p));
    (void)cudaGetLastError();
}

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .global .u32 word = 5;\n.visible .entry k(.param .u64 p)\n{ .reg .b32 %r; .reg .b64 %rd;\n"
                          "ld.param.u64 %rd, [p]; ld.global.u32 %r, [word]; st.global.u32 [%rd], %r; ret; }\n";

static void libraries()
{
    cudaLibrary_t lib;
    cudaKernel_t k;
    unsigned count = 0;
    int *p, got = 0;
    void *word;
    size_t bytes = 0;
    OK(cudaLibraryLoadData(&lib, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    OK(cudaLibraryGetKernel(&k, lib, "k"));
    OK(cudaLibraryGetKernelCount(&count, lib));
    OK(cudaLibraryEnumerateKernels(&k, 1, lib));
    OK(cudaLibraryGetGlobal(&word, &bytes, lib, "word"));
    EXPECT(count == 1 && bytes == 4, "%u kernels, %zu bytes", count, bytes);
    OK(cudaMalloc(&p, sizeof(int)));
    void *args[] = {&p};
    OK(cudaLaunchKernel((const void *)k, dim3(1), dim3(1), args, 0, 0));
    OK(cudaMemcpy(&got, p, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(got == 5, "the kernel of a library gave %d", got);
    EXPECT_ERROR(cudaLibraryGetKernel(&k, lib, "none"), cudaErrorSymbolNotFound);
    EXPECT_ERROR(cudaLibraryGetManaged(&word, &bytes, lib, "word"), cudaErrorSymbolNotFound);
    OK(cudaLibraryUnload(lib));
    OK(cudaFree(p));
    (void)cudaGetLastError();
}

static void host_memory()
{
    static char block[3 * 4096] __attribute__((aligned(4096)));
    void *dev;
    unsigned flags = 0;
    cudaPointerAttributes a;
    OK(cudaHostRegister(block, sizeof block, cudaHostRegisterMapped));
    EXPECT_ERROR(cudaHostRegister(block, 4096, 0), cudaErrorHostMemoryAlreadyRegistered);
    OK(cudaHostGetDevicePointer(&dev, block, 0));
    OK(cudaPointerGetAttributes(&a, block + 100));
    EXPECT(a.type == cudaMemoryTypeHost, "type %d", a.type);
    OK(cudaHostUnregister(block));
    EXPECT_ERROR(cudaHostUnregister(block), cudaErrorHostMemoryNotRegistered);
    OK(cudaHostAlloc(&dev, 1000, cudaHostAllocPortable | cudaHostAllocWriteCombined));
    OK(cudaHostGetFlags(&flags, dev));
    EXPECT((flags & cudaHostAllocPortable) && (flags & cudaHostAllocWriteCombined), "flags %x", flags);
    OK(cudaFreeHost(dev));
    EXPECT_ERROR(cudaFreeHost(dev), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaHostAlloc(&dev, 1000, 0x800), cudaErrorInvalidValue);
    (void)cudaGetLastError();
}

int main(void)
{
    fills();
    symbols();
    copies();
    streams_and_events();
    launches();
    libraries();
    host_memory();
    return app_verdict();
}
