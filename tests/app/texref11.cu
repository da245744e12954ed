// texref11: what programs built with CUDA 11 against a shared cudart do: texture<> and surface<> variables, registered before main by their stubs and
// bound with cudaBindTexture and its kin. No present header or compiler has them, so the program plays the stubs itself and looks the functions
// up by name; a runtime that lacks them (12 and later) has nothing to be checked.
#include "app.h"
#include <dlfcn.h>

static const char ptx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .global .texref words;
.visible .global .texref picture;
.visible .global .surfref canvas;
.visible .entry work(.param .u64 out)
{
    .reg .b32 r<9>;
    .reg .f32 f<9>;
    .reg .b64 d<4>;
    ld.param.u64 d0, [out];
    mov.u32 r0, %tid.x;
    tex.1d.v4.s32.s32 {r2, r3, r4, r5}, [words, {r0}];
    cvt.rn.f32.u32 f0, r0;
    add.f32 f0, f0, 0f3F000000;
    tex.2d.v4.f32.f32 {f1, f2, f3, f4}, [picture, {f0, f0}];
    mul.wide.u32 d1, r0, 8;
    add.s64 d1, d0, d1;
    st.global.u32 [d1], r2;
    st.global.f32 [d1+4], f1;
    shl.b32 r6, r0, 2;
    sust.b.1d.b32.trap [canvas, {r6}], r2;
    ret;
}
)";

struct textureReference11 {
    int normalized;
    cudaTextureFilterMode filterMode;
    cudaTextureAddressMode addressMode[3];
    cudaChannelFormatDesc channelDesc;
    int sRGB;
    unsigned maxAnisotropy;
    cudaTextureFilterMode mipmapFilterMode;
    float bias, min, max;
    int reserved[15];
};

static void stub(void) {} // the host's name of the kernel
static textureReference11 words, picture;
static cudaChannelFormatDesc canvas;

typedef void **(*register_binary)(void *);
typedef void (*register_function)(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
typedef void (*register_texture)(void **, const void *, const void **, const char *, int, int, int);
typedef void (*register_surface)(void **, const void *, const void **, const char *, int, int);

template <class F> static F *named(const char *name) { return (F *)dlsym(RTLD_DEFAULT, name); }

int main()
{
    enum { N = 8 };
    typedef cudaError_t bind_linear(size_t *, const void *, const void *, const cudaChannelFormatDesc *, size_t);
    typedef cudaError_t bind_array(const void *, cudaArray_t, const cudaChannelFormatDesc *);
    bind_linear *bind = named<bind_linear>("cudaBindTexture");
    bind_array *to_array = named<bind_array>("cudaBindTextureToArray"), *to_surface = named<bind_array>("cudaBindSurfaceToArray");
    cudaError_t (*unbind)(const void *) = named<cudaError_t(const void *)>("cudaUnbindTexture");
    if (!bind || !to_array || !to_surface || !unbind)
        return app_verdict();
    void **binary = ((register_binary)dlsym(RTLD_DEFAULT, "__cudaRegisterFatBinary"))((void *)ptx);
    ((register_function)dlsym(RTLD_DEFAULT, "__cudaRegisterFunction"))(binary, (const char *)stub, NULL, "work", -1, NULL, NULL, NULL, NULL, NULL);
    register_texture texture = (register_texture)dlsym(RTLD_DEFAULT, "__cudaRegisterTexture");
    texture(binary, &words, NULL, "words", 1, 0, 0);
    texture(binary, &picture, NULL, "picture", 2, 1, 0);
    ((register_surface)dlsym(RTLD_DEFAULT, "__cudaRegisterSurface"))(binary, &canvas, NULL, "canvas", 1, 0);

    int host[N], *dev;
    unsigned char bytes[N * N];
    struct { int word; float texel; } got[N], *out;
    for (int i = 0; i < N; i++)
        host[i] = 100 * i + 1;
    for (int i = 0; i < N * N; i++)
        bytes[i] = (unsigned char)(3 * i);
    OK(cudaMalloc(&dev, sizeof host));
    OK(cudaMalloc(&out, sizeof got));
    OK(cudaMemcpy(dev, host, sizeof host, cudaMemcpyHostToDevice));
    cudaChannelFormatDesc i32 = cudaCreateChannelDesc<int>(), u8 = cudaCreateChannelDesc<unsigned char>();
    cudaArray_t a, s;
    OK(cudaMallocArray(&a, &u8, N, N));
    OK(cudaMallocArray(&s, &i32, N, 0, cudaArraySurfaceLoadStore));
    OK(cudaMemcpy2DToArray(a, 0, 0, bytes, N, N, N, cudaMemcpyHostToDevice));
    size_t offset = 5;
    words.channelDesc = i32;
    picture.channelDesc = u8;
    for (int i = 0; i < 3; i++)
        picture.addressMode[i] = cudaAddressModeClamp;
    OK(bind(&offset, &words, dev, &i32, ~(size_t)0));
    EXPECT(offset == 0, "the offset is %zu", offset);
    OK(to_array(&picture, a, &u8));
    OK(to_surface(&canvas, s, &i32));
    EXPECT_ERROR(to_array(&host, a, &u8), cudaErrorInvalidTexture);
    EXPECT_ERROR(to_surface(&canvas, a, &u8), cudaErrorInvalidValue);
    (void)cudaGetLastError();
    void *args[] = {&out};
    OK(cudaLaunchKernel((const void *)stub, dim3(1), dim3(N), args, 0, 0));
    OK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        EXPECT(got[i].word == host[i] && got[i].texel == (float)bytes[i * N + i] / 255, "thread %d saw %d and %g", i, got[i].word, (double)got[i].texel);
    int painted[N];
    OK(cudaMemcpy2DFromArray(painted, sizeof painted, s, 0, 0, sizeof painted, 1, cudaMemcpyDeviceToHost));
    EXPECT(!memcmp(painted, host, sizeof host), "the surface has %d %d %d", painted[0], painted[1], painted[2]);
    OK(unbind(&words));
    OK(cudaFree(dev));
    OK(cudaFree(out));
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(s));
    return app_verdict();
}
