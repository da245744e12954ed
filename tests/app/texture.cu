// texture: texture and surface objects against a CPU reference that follows the CUDA guide: linear filters in 1, 2 and 3 dimensions, all address
// modes, layers, cube maps, mipmaps with blended levels, normalized integers, linear and pitched memory, gathers, surface reads and writes, and
// a texture of what a surface wrote.
#include "app.h"
#include <vector>

typedef std::vector<float> floats;

static cudaArray_t make_array(const cudaChannelFormatDesc &d, cudaExtent e, unsigned flags, const void *data, size_t texel)
{
    cudaArray_t a;
    OK(cudaMalloc3DArray(&a, &d, e, flags));
    cudaMemcpy3DParms p = {};
    size_t h = e.height ? e.height : 1, n = e.depth ? e.depth : 1;
    p.srcPtr = make_cudaPitchedPtr((void *)data, e.width * texel, e.width, h);
    p.dstArray = a;
    p.extent = make_cudaExtent(e.width, h, n);
    p.kind = cudaMemcpyHostToDevice;
    if (data)
        OK(cudaMemcpy3D(&p));
    return a;
}

static cudaTextureDesc sampler(cudaTextureFilterMode filter, cudaTextureAddressMode mode, bool normalized)
{
    cudaTextureDesc t = {};
    t.addressMode[0] = t.addressMode[1] = t.addressMode[2] = mode;
    t.filterMode = filter;
    t.normalizedCoords = normalized;
    return t;
}

static cudaTextureObject_t object(cudaArray_t a, const cudaTextureDesc &t)
{
    cudaTextureObject_t o;
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    OK(cudaCreateTextureObject(&o, &r, &t, NULL));
    return o;
}

// ---- the CPU's idea of a fetch

static int address(long i, int n, cudaTextureAddressMode mode)
{
    if (mode == cudaAddressModeClamp)
        return i < 0 ? 0 : i >= n ? n - 1 : (int)i;
    if (mode == cudaAddressModeBorder)
        return i < 0 || i >= n ? -1 : (int)i;
    if (mode == cudaAddressModeWrap)
        return (int)(((i % n) + n) % n);
    long k = ((i % (2 * n)) + 2 * n) % (2 * n);
    return (int)(k < n ? k : 2 * n - 1 - k);
}

struct axis { int at[2]; double weight[2]; };

static axis foot(double x, int n, cudaTextureAddressMode mode, bool normalized)
{
    if (normalized && mode == cudaAddressModeWrap)
        x -= floor(x);
    if (normalized && mode == cudaAddressModeMirror)
        x -= 2 * floor(x / 2);
    double fixed = floor(((normalized ? x * n : x) - 0.5) * 256 + 0.5) / 256, i = floor(fixed);
    axis a = {{address((long)i, n, mode), address((long)i + 1, n, mode)}, {1 - (fixed - i), fixed - i}};
    return a;
}

// of an image of w x h x d floats (h, d 1 where absent)
static float linear(const float *image, int w, int h, int d, int dims, const float *x, cudaTextureAddressMode mode, bool normalized)
{
    int size[3] = {w, h, d};
    axis a[3];
    double sum = 0;
    for (int i = 0; i < dims; i++)
        a[i] = foot(x[i], size[i], mode, normalized);
    for (int k = 0; k < 1 << dims; k++) {
        double weight = 1;
        int at[3] = {0, 0, 0};
        for (int i = 0; i < dims; i++) {
            at[i] = a[i].at[k >> i & 1];
            weight *= a[i].weight[k >> i & 1];
        }
        if (at[0] >= 0 && at[1] >= 0 && at[2] >= 0)
            sum += weight * (double)image[(at[2] * h + at[1]) * w + at[0]];
    }
    return (float)sum;
}

static floats random_floats(size_t n, unsigned seed, float lo = -1, float hi = 1)
{
    floats v(n);
    for (size_t i = 0; i < n; i++)
        v[i] = app_uniform(&seed, lo, hi);
    return v;
}

static void compare(const char *what, const floats &got, const floats &want)
{
    for (size_t i = 0; i < got.size(); i++)
        EXPECT(fabsf(got[i] - want[i]) <= 2e-6f, "%s: %zu is %g, not %g", what, i, (double)got[i], (double)want[i]);
}

// ---- filters and address modes

__global__ void fetch1(cudaTextureObject_t t, const float *x, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex1D<float>(t, x[i]);
}
__global__ void fetch2(cudaTextureObject_t t, const float *x, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex2D<float>(t, x[3 * i], x[3 * i + 1]);
}
__global__ void fetch3(cudaTextureObject_t t, const float *x, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex3D<float>(t, x[3 * i], x[3 * i + 1], x[3 * i + 2]);
}
__global__ void fetch_layer(cudaTextureObject_t t, const float *x, float *out, int n, int layers)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex2DLayered<float>(t, x[3 * i], x[3 * i + 1], i % layers);
}
__global__ void fetch_lod(cudaTextureObject_t t, const float *x, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex2DLod<float>(t, x[3 * i], x[3 * i + 1], x[3 * i + 2]);
}
__global__ void fetch_cube(cudaTextureObject_t t, const float *x, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = texCubemap<float>(t, x[3 * i], x[3 * i + 1], x[3 * i + 2]);
}

static float *on_device(const floats &v)
{
    float *p;
    OK(cudaMalloc(&p, v.size() * sizeof(float)));
    OK(cudaMemcpy(p, v.data(), v.size() * sizeof(float), cudaMemcpyHostToDevice));
    return p;
}

static floats back(float *p, size_t n)
{
    floats v(n);
    OK(cudaMemcpy(v.data(), p, n * sizeof(float), cudaMemcpyDeviceToHost));
    OK(cudaFree(p));
    return v;
}

static void modes(void)
{
    static const char *const names[] = {"wrap", "clamp", "mirror", "border"};
    const int w = 19, h = 7, d = 5, n = 1000;
    floats image = random_floats(w * h * d, 3), x = random_floats(3 * n, 5, -2, 3);
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaArray_t a1 = make_array(f, make_cudaExtent(w, 0, 0), 0, image.data(), 4), a2 = make_array(f, make_cudaExtent(w, h, 0), 0, image.data(), 4),
                a3 = make_array(f, make_cudaExtent(w, h, d), 0, image.data(), 4);
    for (int mode = 0; mode < 4; mode++)
        for (int normalized = mode == 0 || mode == 2; normalized < 2; normalized++) {
            cudaTextureAddressMode m = (cudaTextureAddressMode)mode;
            floats at = x, want(n);
            for (int i = 0; i < 3 * n && !normalized; i++)
                at[i] *= i % 3 == 0 ? w : i % 3 == 1 ? h : d;
            for (int dims = 1; dims <= 3; dims++) {
                cudaTextureObject_t t = object(dims == 1 ? a1 : dims == 2 ? a2 : a3, sampler(cudaFilterModeLinear, m, normalized));
                float *px = on_device(at), *out = on_device(floats(n));
                if (dims == 1)
                    fetch1<<<(n + 127) / 128, 128>>>(t, px, out, n);
                else if (dims == 2)
                    fetch2<<<(n + 127) / 128, 128>>>(t, px, out, n);
                else
                    fetch3<<<(n + 127) / 128, 128>>>(t, px, out, n);
                OK_LAUNCH();
                for (int i = 0; i < n; i++)
                    want[i] = linear(image.data(), w, h, d, dims, &at[dims == 1 ? i : 3 * i], m, normalized);
                char what[60];
                snprintf(what, sizeof what, "%dD, %s, %s", dims, names[mode], normalized ? "normalized" : "in texels");
                compare(what, back(out, n), want);
                OK(cudaFree(px));
                OK(cudaDestroyTextureObject(t));
            }
        }
    OK(cudaFreeArray(a1));
    OK(cudaFreeArray(a2));
    OK(cudaFreeArray(a3));
}

static void layers(void)
{
    const int w = 12, h = 9, layers = 4, n = 500;
    floats image = random_floats(w * h * layers, 7), x = random_floats(3 * n, 9, -2, 14), want(n);
    cudaArray_t a = make_array(cudaCreateChannelDesc<float>(), make_cudaExtent(w, h, layers), cudaArrayLayered, image.data(), 4);
    cudaTextureObject_t t = object(a, sampler(cudaFilterModeLinear, cudaAddressModeClamp, false));
    float *px = on_device(x), *out = on_device(floats(n));
    fetch_layer<<<4, 128>>>(t, px, out, n, layers);
    OK_LAUNCH();
    for (int i = 0; i < n; i++)
        want[i] = linear(&image[i % layers * w * h], w, h, 1, 2, &x[3 * i], cudaAddressModeClamp, false);
    compare("layers", back(out, n), want);
    OK(cudaFree(px));
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(a));
}

static void cube(void)
{
    const int w = 8, n = 600;
    floats image = random_floats(w * w * 6, 11), x = random_floats(3 * n, 13), want(n);
    cudaArray_t a = make_array(cudaCreateChannelDesc<float>(), make_cudaExtent(w, w, 6), cudaArrayCubemap, image.data(), 4);
    cudaTextureObject_t t = object(a, sampler(cudaFilterModeLinear, cudaAddressModeClamp, true));
    float *px = on_device(x), *out = on_device(floats(n));
    fetch_cube<<<5, 128>>>(t, px, out, n);
    OK_LAUNCH();
    for (int i = 0; i < n; i++) { // the guide's table of faces
        float v[3] = {x[3 * i], x[3 * i + 1], x[3 * i + 2]}, m, s, r, at[2];
        int face;
        if (fabsf(v[0]) > fabsf(v[1]) && fabsf(v[0]) > fabsf(v[2]))
            face = v[0] < 0, m = fabsf(v[0]), s = v[0] < 0 ? v[2] : -v[2], r = -v[1];
        else if (fabsf(v[1]) > fabsf(v[2]))
            face = 2 + (v[1] < 0), m = fabsf(v[1]), s = v[0], r = v[1] < 0 ? -v[2] : v[2];
        else
            face = 4 + (v[2] < 0), m = fabsf(v[2]), s = v[2] < 0 ? -v[0] : v[0], r = -v[1];
        at[0] = (s / m + 1) / 2;
        at[1] = (r / m + 1) / 2;
        want[i] = linear(&image[face * w * w], w, w, 1, 2, at, cudaAddressModeClamp, true);
    }
    floats got = back(out, n);
    int far = 0; // a coordinate on the edge of two weights may be rounded either way: 1/256 of a step
    for (int i = 0; i < n; i++) {
        EXPECT(fabsf(got[i] - want[i]) <= 2.0f / 256, "cube: %d is %g, not %g", i, (double)got[i], (double)want[i]);
        far += fabsf(got[i] - want[i]) > 2e-6f;
    }
    EXPECT(far < n / 50, "cube: %d of %d differ", far, n);
    OK(cudaFree(px));
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(a));
}

static void mipmaps(void)
{
    const int w = 16, levels = 5, n = 700;
    floats image[levels], x = random_floats(3 * n, 17, 0, 1), want(n);
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaMipmappedArray_t mip;
    OK(cudaMallocMipmappedArray(&mip, &f, make_cudaExtent(w, w, 0), levels, 0));
    for (int l = 0; l < levels; l++) {
        cudaArray_t a;
        cudaExtent e;
        OK(cudaGetMipmappedArrayLevel(&a, mip, l));
        OK(cudaArrayGetInfo(NULL, &e, NULL, a));
        EXPECT(e.width == (size_t)(w >> l) && e.height == e.width && e.depth == 0, "level %d is %zu x %zu", l, e.width, e.height);
        image[l] = random_floats((w >> l) * (w >> l), 19 + l);
        OK(cudaMemcpy2DToArray(a, 0, 0, image[l].data(), (w >> l) * 4, (w >> l) * 4, w >> l, cudaMemcpyHostToDevice));
    }
    cudaArray_t none;
    EXPECT_ERROR(cudaGetMipmappedArrayLevel(&none, mip, levels), cudaErrorInvalidValue);
    (void)cudaGetLastError();
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeMipmappedArray;
    r.res.mipmap.mipmap = mip;
    cudaTextureDesc s = sampler(cudaFilterModeLinear, cudaAddressModeWrap, true);
    s.mipmapFilterMode = cudaFilterModeLinear;
    s.maxMipmapLevelClamp = levels - 1;
    cudaTextureObject_t t;
    OK(cudaCreateTextureObject(&t, &r, &s, NULL));
    for (int i = 0; i < n; i++)
        x[3 * i + 2] = floorf(x[3 * i + 2] * 6 * 256) / 256 - 1; // levels from -1 to 5, in 1/256
    float *px = on_device(x), *out = on_device(floats(n));
    fetch_lod<<<6, 128>>>(t, px, out, n);
    OK_LAUNCH();
    for (int i = 0; i < n; i++) {
        double lod = x[3 * i + 2] < 0 ? 0 : x[3 * i + 2] > levels - 1 ? levels - 1 : (double)x[3 * i + 2], part = lod - floor(lod);
        int l = (int)lod;
        double v = linear(image[l].data(), w >> l, w >> l, 1, 2, &x[3 * i], cudaAddressModeWrap, true);
        if (part > 0)
            v = v * (1 - part) + part * (double)linear(image[l + 1].data(), w >> (l + 1), w >> (l + 1), 1, 2, &x[3 * i], cudaAddressModeWrap, true);
        want[i] = (float)v;
    }
    compare("mipmaps", back(out, n), want);
    OK(cudaFree(px));
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeMipmappedArray(mip));
}

// ---- other texels, other memory

__global__ void fetch_bytes(cudaTextureObject_t t, float4 *out, int w) { out[threadIdx.y * w + threadIdx.x] = tex2D<float4>(t, threadIdx.x + 0.5f, threadIdx.y + 0.5f); }
__global__ void fetch_linear(cudaTextureObject_t t, int2 *out, int n)
{
    int i = (int)threadIdx.x - 4;
    out[threadIdx.x] = tex1Dfetch<int2>(t, i);
}
__global__ void gather(cudaTextureObject_t t, float4 *out, int w) { out[threadIdx.y * w + threadIdx.x] = tex2Dgather<float4>(t, threadIdx.x + 1.0f, threadIdx.y + 1.0f, 1); }

static void texels(void)
{
    const int w = 8, h = 4;
    std::vector<uchar4> bytes(w * h);
    for (int i = 0; i < w * h; i++)
        bytes[i] = make_uchar4(i, 255 - i, 7 * i, i % 2 * 255);
    cudaArray_t a = make_array(cudaCreateChannelDesc<uchar4>(), make_cudaExtent(w, h, 0), cudaArrayTextureGather, bytes.data(), 4);
    cudaTextureDesc s = sampler(cudaFilterModePoint, cudaAddressModeClamp, false);
    s.readMode = cudaReadModeNormalizedFloat;
    cudaTextureObject_t t = object(a, s);
    float4 *out, host[w * h];
    OK(cudaMalloc(&out, sizeof host));
    fetch_bytes<<<1, dim3(w, h)>>>(t, out, w);
    OK_LAUNCH();
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < w * h; i++)
        EXPECT(host[i].x == (float)bytes[i].x / 255 && host[i].y == (float)bytes[i].y / 255 && host[i].z == (float)bytes[i].z / 255 &&
                   host[i].w == (float)bytes[i].w / 255, "byte texel %d is %g %g %g %g", i, host[i].x, host[i].y, host[i].z, host[i].w);
    gather<<<1, dim3(w - 1, h - 1)>>>(t, out, w);
    OK_LAUNCH();
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int y = 0; y < h - 1; y++)
        for (int x = 0; x < w - 1; x++) {
            const float4 g = host[y * w + x];
            auto green = [&](int i, int j) { return (float)bytes[j * w + i].y / 255; };
            EXPECT(g.x == green(x, y + 1) && g.y == green(x + 1, y + 1) && g.z == green(x + 1, y) && g.w == green(x, y), "gather at %d %d", x, y);
        }
    cudaTextureDesc told;
    cudaResourceDesc resource;
    OK(cudaGetTextureObjectTextureDesc(&told, t));
    OK(cudaGetTextureObjectResourceDesc(&resource, t));
    EXPECT(told.readMode == cudaReadModeNormalizedFloat && told.addressMode[1] == cudaAddressModeClamp && !told.normalizedCoords, "the description of a texture");
    EXPECT(resource.resType == cudaResourceTypeArray && resource.res.array.array == a, "the resource of a texture");
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(a));
    OK(cudaFree(out));
}

static void memory(void)
{
    const int n = 64, outside = 8;
    std::vector<int2> host(n), got(n + outside);
    for (int i = 0; i < n; i++)
        host[i] = make_int2(i * i, -i);
    int2 *dev, *out;
    OK(cudaMalloc(&dev, n * sizeof *dev));
    OK(cudaMalloc(&out, (n + outside) * sizeof *out));
    OK(cudaMemcpy(dev, host.data(), n * sizeof *dev, cudaMemcpyHostToDevice));
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = dev;
    r.res.linear.desc = cudaCreateChannelDesc<int2>();
    r.res.linear.sizeInBytes = n * sizeof *dev;
    cudaTextureDesc s = {};
    cudaTextureObject_t t;
    OK(cudaCreateTextureObject(&t, &r, &s, NULL));
    fetch_linear<<<1, n + outside>>>(t, out, n);
    OK_LAUNCH();
    OK(cudaMemcpy(got.data(), out, got.size() * sizeof(int2), cudaMemcpyDeviceToHost));
    for (int i = -4; i < n + 4; i++) {
        int2 want = i >= 0 && i < n ? host[i] : make_int2(0, 0);
        EXPECT(got[i + 4].x == want.x && got[i + 4].y == want.y, "texel %d of linear memory is %d %d", i, got[i + 4].x, got[i + 4].y);
    }
    OK(cudaDestroyTextureObject(t));
    OK(cudaFree(out));
    r.res.linear.devPtr = (char *)dev + 4;
    EXPECT_ERROR(cudaCreateTextureObject(&t, &r, &s, NULL), cudaErrorInvalidValue);
    (void)cudaGetLastError();
    OK(cudaFree(dev));
}

// ---- surfaces

__global__ void paint(cudaSurfaceObject_t s, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h)
        surf2Dwrite(make_float2(x + 100.0f * y, -x), s, x * (int)sizeof(float2), y);
}
__global__ void invert(cudaSurfaceObject_t s, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    float2 v = surf2Dread<float2>(s, x * (int)sizeof(float2), y);
    float2 zero = surf2Dread<float2>(s, (x + w) * (int)sizeof(float2), y, cudaBoundaryModeZero);
    float2 last = surf2Dread<float2>(s, (x + w) * (int)sizeof(float2), y, cudaBoundaryModeClamp);
    surf2Dwrite(make_float2(v.y + zero.x, v.x + last.y), s, x * (int)sizeof(float2), y);
    surf2Dwrite(make_float2(9, 9), s, -8, y, cudaBoundaryModeZero);
}
__global__ void look(cudaTextureObject_t t, float2 *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h)
        out[y * w + x] = tex2D<float2>(t, x + 0.5f, y + 0.5f);
}
__global__ void paint_layers(cudaSurfaceObject_t s)
{
    surf2DLayeredwrite((unsigned)(threadIdx.x + 16 * threadIdx.y + 256 * threadIdx.z), s, threadIdx.x * 4, threadIdx.y, threadIdx.z);
}
__global__ void paint_volume(cudaSurfaceObject_t s)
{
    unsigned short v;
    surf3Dwrite((unsigned short)(threadIdx.x * 100 + threadIdx.y * 10 + threadIdx.z), s, threadIdx.x * 2, threadIdx.y, threadIdx.z);
    surf3Dread(&v, s, threadIdx.x * 2, threadIdx.y, threadIdx.z);
    surf3Dwrite((unsigned short)(v + 1), s, threadIdx.x * 2, threadIdx.y, threadIdx.z);
}

static cudaSurfaceObject_t surface(cudaArray_t a)
{
    cudaSurfaceObject_t s;
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    OK(cudaCreateSurfaceObject(&s, &r));
    return s;
}

static void surfaces(void)
{
    const int w = 40, h = 21;
    cudaArray_t a = make_array(cudaCreateChannelDesc<float2>(), make_cudaExtent(w, h, 0), cudaArraySurfaceLoadStore, NULL, 8);
    cudaSurfaceObject_t s = surface(a);
    cudaTextureObject_t t = object(a, sampler(cudaFilterModePoint, cudaAddressModeClamp, false));
    float2 *out;
    std::vector<float2> got(w * h), copied(w * h);
    OK(cudaMalloc(&out, w * h * sizeof *out));
    dim3 grid((w + 7) / 8, (h + 7) / 8), block(8, 8);
    paint<<<grid, block>>>(s, w, h);
    invert<<<grid, block>>>(s, w, h);
    look<<<grid, block>>>(t, out, w, h);
    OK_LAUNCH();
    OK(cudaMemcpy(got.data(), out, w * h * sizeof *out, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy2DFromArray(copied.data(), w * 8, a, 0, 0, w * 8, h, cudaMemcpyDeviceToHost));
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float2 v = got[y * w + x], c = copied[y * w + x];
            // the last pair of a row may have been turned already when another thread looks at it
            float p = x + 100.0f * y - (w - 1), q = x + 100.0f * y + (w - 1 + 100.0f * y - (w - 1));
            EXPECT(v.x == -x && (v.y == p || v.y == q || x == w - 1), "surface at %d %d is %g %g", x, y, v.x, v.y);
            EXPECT(v.x == c.x && v.y == c.y, "a copy of the surface differs at %d %d", x, y);
        }
    OK(cudaDestroySurfaceObject(s));
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(a));
    OK(cudaFree(out));

    a = make_array(cudaCreateChannelDesc<unsigned>(), make_cudaExtent(16, 8, 3), cudaArrayLayered | cudaArraySurfaceLoadStore, NULL, 4);
    s = surface(a);
    paint_layers<<<1, dim3(16, 8, 3)>>>(s);
    OK_LAUNCH();
    std::vector<unsigned> flat(16 * 8 * 3);
    cudaMemcpy3DParms p = {};
    p.srcArray = a;
    p.dstPtr = make_cudaPitchedPtr(flat.data(), 64, 16, 8);
    p.extent = make_cudaExtent(16, 8, 3);
    p.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&p));
    for (int i = 0; i < 16 * 8 * 3; i++)
        EXPECT(flat[i] == (unsigned)(i % 16 + 16 * (i / 16 % 8) + 256 * (i / 128)), "layer texel %d is %u", i, flat[i]);
    OK(cudaDestroySurfaceObject(s));
    OK(cudaFreeArray(a));

    a = make_array(cudaCreateChannelDesc<unsigned short>(), make_cudaExtent(8, 8, 8), cudaArraySurfaceLoadStore, NULL, 2);
    s = surface(a);
    paint_volume<<<1, dim3(8, 8, 8)>>>(s);
    OK_LAUNCH();
    std::vector<unsigned short> volume(512);
    p.srcArray = a;
    p.dstPtr = make_cudaPitchedPtr(volume.data(), 16, 8, 8);
    p.extent = make_cudaExtent(8, 8, 8);
    OK(cudaMemcpy3D(&p));
    for (int i = 0; i < 512; i++)
        EXPECT(volume[i] == i % 8 * 100 + i / 8 % 8 * 10 + i / 64 + 1, "volume texel %d is %u", i, volume[i]);
    OK(cudaDestroySurfaceObject(s));
    OK(cudaFreeArray(a));
}

// ---- what is refused

static void errors(void)
{
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>(), u = cudaCreateChannelDesc<unsigned char>(), three = {8, 8, 8, 0, cudaChannelFormatKindUnsigned};
    cudaArray_t a, plain = make_array(f, make_cudaExtent(8, 8, 0), 0, NULL, 4), bytes = make_array(u, make_cudaExtent(8, 8, 0), 0, NULL, 1);
    cudaTextureObject_t t;
    cudaSurfaceObject_t s;
    cudaResourceDesc r = {};
    cudaTextureDesc d = sampler(cudaFilterModeLinear, cudaAddressModeClamp, false);
    EXPECT_ERROR(cudaMallocArray(&a, &three, 8, 8), cudaErrorInvalidChannelDescriptor);
    EXPECT_ERROR(cudaMalloc3DArray(&a, &f, make_cudaExtent(8, 7, 6), cudaArrayCubemap), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMalloc3DArray(&a, &f, make_cudaExtent(1 << 20, 8, 0), 0), cudaErrorInvalidValue);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = plain;
    OK(cudaCreateSurfaceObject(&s, &r)); // objects need no cudaArraySurfaceLoadStore: cuda-samples do without
    OK(cudaDestroySurfaceObject(s));
    EXPECT_ERROR(cudaCreateTextureObject(&t, &r, NULL, NULL), cudaErrorInvalidResourceHandle); // the one that NVIDIA's runtime gives
    r.res.array.array = bytes;
    EXPECT_ERROR(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidFilterSetting);
    d.filterMode = cudaFilterModePoint;
    d.readMode = cudaReadModeNormalizedFloat;
    r.res.array.array = plain;
    EXPECT_ERROR(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidNormSetting);
    EXPECT_ERROR(cudaFreeArray(NULL), cudaSuccess);
    EXPECT_ERROR(cudaDestroyTextureObject(0x12345), cudaErrorInvalidValue);
    (void)cudaGetLastError();
    OK(cudaFreeArray(plain));
    OK(cudaFreeArray(bytes));
}

int main()
{
    modes();
    layers();
    cube();
    mipmaps();
    texels();
    memory();
    surfaces();
    errors();
    return app_verdict();
}
