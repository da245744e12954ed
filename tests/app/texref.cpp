// texref: the driver API's side of textures: references that a module declares, bound to arrays, linear and pitched memory and mipmapped arrays and
// changed between launches; surface references; texture objects with resource views (format, levels, layers, block compression); copies of arrays.
#include "driver_app.h"
#include <math.h>
#include <string.h>

static const char ptx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .global .texref picture;
.visible .global .surfref canvas;

// out[i] = picture(x[i], y[i]), four floats; the texture is the reference, or an object when it is given
.visible .entry look(.param .u64 out, .param .u64 at, .param .u64 object, .param .f32 level)
{
    .reg .pred p;
    .reg .b32 r<9>;
    .reg .f32 f<9>;
    .reg .b64 d<9>;
    ld.param.u64 d0, [out];
    ld.param.u64 d1, [at];
    ld.param.u64 d2, [object];
    ld.param.f32 f6, [level];
    mov.u32 r0, %tid.x;
    mul.wide.u32 d3, r0, 8;
    add.s64 d3, d1, d3;
    ld.global.v2.f32 {f0, f1}, [d3];
    setp.ne.u64 p, d2, 0;
    @p bra OBJECT;
    tex.level.2d.v4.f32.f32 {f2, f3, f4, f5}, [picture, {f0, f1}], f6;
    bra STORE;
OBJECT:
    tex.level.2d.v4.f32.f32 {f2, f3, f4, f5}, [d2, {f0, f1}], f6;
STORE:
    mul.wide.u32 d3, r0, 16;
    add.s64 d3, d0, d3;
    st.global.v4.f32 [d3], {f2, f3, f4, f5};
    ret;
}
// out[i] = picture[i - 2] of linear memory
.visible .entry fetch(.param .u64 out)
{
    .reg .b32 r<9>;
    .reg .b64 d<4>;
    ld.param.u64 d0, [out];
    mov.u32 r0, %tid.x;
    add.s32 r1, r0, -2;
    tex.1d.v4.s32.s32 {r2, r3, r4, r5}, [picture, {r1}];
    mul.wide.u32 d1, r0, 4;
    add.s64 d1, d0, d1;
    st.global.u32 [d1], r2;
    ret;
}
// canvas(x, y) = x + 16 y
.visible .entry paint()
{
    .reg .b32 r<4>;
    mov.u32 r0, %tid.x;
    mov.u32 r1, %tid.y;
    mad.lo.u32 r2, r1, 16, r0;
    shl.b32 r3, r0, 2;
    sust.b.2d.b32.trap [canvas, {r3, r1}], r2;
    ret;
}
)";

enum { W = 8, H = 4, N = 64 };
static CUmodule module;
static CUfunction look, fetch, paint;
static float xy[N][2];
static CUdeviceptr device_xy, device_out;

static void see(float out[N][4], CUtexObject object, float level)
{
    void *params[] = {&device_out, &device_xy, &object, &level};
    OK(cuLaunchKernel(look, 1, 1, 1, N, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH(out, device_out, N * 16));
}

// The texel at (x, y), clamped or bordered; bilinear when asked. Unnormalized.
static float texel(const float *image, int w, int h, int x, int y, bool border)
{
    if (border && (x < 0 || x >= w || y < 0 || y >= h))
        return 0;
    x = x < 0 ? 0 : x >= w ? w - 1 : x;
    y = y < 0 ? 0 : y >= h ? h - 1 : y;
    return image[y * w + x];
}
static float point(const float *image, int w, int h, float x, float y, bool border) { return texel(image, w, h, (int)floorf(x), (int)floorf(y), border); }
static float bilinear(const float *image, int w, int h, float x, float y, bool border)
{
    double u = floor(((double)x - 0.5) * 256 + 0.5) / 256, v = floor(((double)y - 0.5) * 256 + 0.5) / 256, a = u - floor(u), b = v - floor(v);
    int i = (int)floor(u), j = (int)floor(v);
    return (float)((1 - a) * (1 - b) * texel(image, w, h, i, j, border) + a * (1 - b) * texel(image, w, h, i + 1, j, border) +
                   (1 - a) * b * texel(image, w, h, i, j + 1, border) + a * b * texel(image, w, h, i + 1, j + 1, border));
}

static CUarray array_of(CUarray_format format, unsigned channels, size_t w, size_t h, size_t d, unsigned flags, const void *data, size_t texel_bytes)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = {w, h, d, format, channels, flags};
    CUDA_MEMCPY3D copy;
    CUarray a;
    OK(cuArray3DCreate(&a, &desc));
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = data;
    copy.srcPitch = w * texel_bytes;
    copy.srcHeight = h;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = a;
    copy.WidthInBytes = w * texel_bytes;
    copy.Height = h ? h : 1;
    copy.Depth = d ? d : 1;
    if (data)
        OK(cuMemcpy3D(&copy));
    return a;
}

static void references(const float *image)
{
    CUtexref t, again, none;
    CUarray a = array_of(CU_AD_FORMAT_FLOAT, 1, W, H, 0, 0, image, 4), got;
    float out[N][4];
    OK(cuModuleGetTexRef(&t, module, "picture"));
    OK(cuModuleGetTexRef(&again, module, "picture"));
    EXPECT(t == again, "two objects of one reference");
    EXPECT(cuModuleGetTexRef(&none, module, "canvas") == CUDA_ERROR_NOT_FOUND, "a surface is no texture");
    EXPECT(cuModuleGetTexRef(&none, module, "look") == CUDA_ERROR_NOT_FOUND, "a kernel is no texture");
    EXPECT(cuTexRefGetArray(&got, t) == CUDA_ERROR_INVALID_VALUE, "an array before one is bound");
    for (int i = 0; i < 3; i++)
        OK(cuTexRefSetAddressMode(t, i, CU_TR_ADDRESS_MODE_CLAMP));
    OK(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_POINT));
    OK(cuTexRefSetArray(t, a, CU_TRSA_OVERRIDE_FORMAT));
    OK(cuTexRefGetArray(&got, t));
    EXPECT(got == a, "another array than the one that was bound");
    see(out, 0, 0);
    for (int i = 0; i < N; i++)
        EXPECT(out[i][0] == point(image, W, H, xy[i][0], xy[i][1], false), "point %d is %g", i, out[i][0]);
    OK(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_LINEAR)); // what is bound changes
    OK(cuTexRefSetAddressMode(t, 0, CU_TR_ADDRESS_MODE_BORDER));
    OK(cuTexRefSetAddressMode(t, 1, CU_TR_ADDRESS_MODE_BORDER));
    CUaddress_mode mode;
    CUfilter_mode filter;
    OK(cuTexRefGetAddressMode(&mode, t, 1));
    OK(cuTexRefGetFilterMode(&filter, t));
    EXPECT(mode == CU_TR_ADDRESS_MODE_BORDER && filter == CU_TR_FILTER_MODE_LINEAR, "modes %d %d", mode, filter);
    see(out, 0, 0);
    for (int i = 0; i < N; i++)
        EXPECT(fabsf(out[i][0] - bilinear(image, W, H, xy[i][0], xy[i][1], true)) < 1e-6f, "linear %d is %g", i, out[i][0]);

    // pitched memory
    CUdeviceptr rows;
    size_t pitch;
    OK(cuMemAllocPitch(&rows, &pitch, W * 4, H, 4));
    for (int y = 0; y < H; y++)
        OK(cuMemcpyHtoD(rows + y * pitch, image + y * W, W * 4));
    CUDA_ARRAY_DESCRIPTOR desc = {W, H, CU_AD_FORMAT_FLOAT, 1};
    OK(cuTexRefSetAddress2D(t, &desc, rows, pitch));
    see(out, 0, 0);
    for (int i = 0; i < N; i++)
        EXPECT(fabsf(out[i][0] - bilinear(image, W, H, xy[i][0], xy[i][1], true)) < 1e-6f, "pitched %d is %g", i, out[i][0]);

    // linear memory, at an address that is not aligned
    int numbers[W * H], seen[16];
    size_t offset = 77;
    for (int i = 0; i < W * H; i++)
        numbers[i] = 1000 - 3 * i;
    OK(cuMemcpyHtoD(rows, numbers, sizeof numbers));
    OK(cuTexRefSetFormat(t, CU_AD_FORMAT_SIGNED_INT32, 1));
    OK(cuTexRefSetFlags(t, CU_TRSF_READ_AS_INTEGER));
    OK(cuTexRefSetAddress(&offset, t, rows, 12 * 4));
    EXPECT(offset == 0, "the offset of an aligned address is %zu", offset);
    void *params[] = {&device_out};
    OK(cuLaunchKernel(fetch, 1, 1, 1, 16, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH(seen, device_out, sizeof seen));
    for (int i = 0; i < 16; i++)
        EXPECT(seen[i] == (i >= 2 && i < 14 ? numbers[i - 2] : 0), "texel %d of linear memory is %d", i - 2, seen[i]);
    OK(cuTexRefSetAddress(&offset, t, rows + 16, 8 * 4));
    EXPECT(offset == 16, "the offset is %zu", offset);
    OK(cuLaunchKernel(fetch, 1, 1, 1, 16, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH(seen, device_out, sizeof seen));
    EXPECT(seen[2 + 4] == numbers[4], "the texel behind the offset is %d", seen[6]);
    OK(cuMemFree(rows));
    OK(cuArrayDestroy(a));
}

static void surface_reference(void)
{
    CUsurfref s;
    CUarray plain = array_of(CU_AD_FORMAT_UNSIGNED_INT32, 1, 16, 8, 0, 0, NULL, 4),
            a = array_of(CU_AD_FORMAT_UNSIGNED_INT32, 1, 16, 8, 0, CUDA_ARRAY3D_SURFACE_LDST, NULL, 4), got;
    unsigned out[8][16];
    OK(cuModuleGetSurfRef(&s, module, "canvas"));
    EXPECT(cuSurfRefSetArray(s, plain, 0) == CUDA_ERROR_INVALID_VALUE, "a surface of an array that was not made for it");
    OK(cuSurfRefSetArray(s, a, 0));
    OK(cuSurfRefGetArray(&got, s));
    EXPECT(got == a, "another array than the one that was bound");
    OK(cuLaunchKernel(paint, 1, 1, 1, 16, 8, 1, 0, NULL, NULL, NULL));
    for (int y = 0; y < 8; y++) {
        CUDA_MEMCPY2D c;
        memset(&c, 0, sizeof c);
        c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        c.srcArray = a;
        c.srcY = y;
        c.dstMemoryType = CU_MEMORYTYPE_HOST;
        c.dstHost = out[y];
        c.WidthInBytes = 64;
        c.Height = 1;
        OK(cuMemcpy2D(&c));
    }
    for (int i = 0; i < 128; i++)
        EXPECT(out[i / 16][i % 16] == (unsigned)i, "canvas %d is %u", i, out[i / 16][i % 16]);
    OK(cuArrayDestroy(a));
    OK(cuArrayDestroy(plain));
}

static CUtexObject object_of(CUarray a, CUmipmappedArray m, unsigned flags, CUfilter_mode filter, const CUDA_RESOURCE_VIEW_DESC *view, CUresult want)
{
    CUDA_RESOURCE_DESC r;
    CUDA_TEXTURE_DESC t;
    CUtexObject o = 0;
    memset(&r, 0, sizeof r);
    memset(&t, 0, sizeof t);
    r.resType = m ? CU_RESOURCE_TYPE_MIPMAPPED_ARRAY : CU_RESOURCE_TYPE_ARRAY;
    if (m)
        r.res.mipmap.hMipmappedArray = m;
    else
        r.res.array.hArray = a;
    t.addressMode[0] = t.addressMode[1] = t.addressMode[2] = CU_TR_ADDRESS_MODE_CLAMP;
    t.filterMode = filter;
    t.flags = flags;
    t.maxMipmapLevelClamp = 10;
    CUresult e = cuTexObjectCreate(&o, &r, &t, view);
    EXPECT(e == want, "cuTexObjectCreate gave %d, not %d", e, want);
    return o;
}

static void views(void)
{
    // four bytes as one integer, and as four bytes
    unsigned char bytes[H][W][4];
    float out[N][4];
    for (int i = 0; i < W * H * 4; i++)
        bytes[i / 4 / W][i / 4 % W][i % 4] = (unsigned char)(i * 7);
    CUarray a = array_of(CU_AD_FORMAT_UNSIGNED_INT32, 1, W, H, 0, 0, bytes, 4);
    CUDA_RESOURCE_VIEW_DESC v, told;
    memset(&v, 0, sizeof v);
    v.format = CU_RES_VIEW_FORMAT_UINT_4X8;
    v.width = W;
    v.height = H;
    CUtexObject t = object_of(a, NULL, 0, CU_TR_FILTER_MODE_POINT, &v, CUDA_SUCCESS);
    OK(cuTexObjectGetResourceViewDesc(&told, t));
    EXPECT(told.format == v.format && told.width == W && told.height == H, "the description of a view");
    see(out, t, 0);
    for (int i = 0; i < N; i++) {
        int x = (int)fminf(fmaxf(floorf(xy[i][0]), 0), W - 1), y = (int)fminf(fmaxf(floorf(xy[i][1]), 0), H - 1);
        for (int c = 0; c < 4; c++)
            EXPECT(out[i][c] == (float)bytes[y][x][c] / 255, "byte %d of %d %d is %g", c, x, y, out[i][c]);
    }
    OK(cuTexObjectDestroy(t));
    v.format = CU_RES_VIEW_FORMAT_UINT_4X16; // of another size
    object_of(a, NULL, 0, CU_TR_FILTER_MODE_POINT, &v, CUDA_ERROR_INVALID_VALUE);
    OK(cuArrayDestroy(a));

    // BC1: a block of red and blue with what lies between, and one with transparent black
    unsigned blocks[2][2] = {{0x001ff800u, 0xe4e4e4e4u}, {0xf800001fu, 0xffffffffu}};
    a = array_of(CU_AD_FORMAT_UNSIGNED_INT32, 2, 2, 1, 0, 0, blocks, 8);
    v.format = CU_RES_VIEW_FORMAT_UNSIGNED_BC1;
    v.width = 8;
    v.height = 4;
    t = object_of(a, NULL, 0, CU_TR_FILTER_MODE_POINT, &v, CUDA_SUCCESS);
    see(out, t, 0);
    static const float row[4][4] = {{1, 0, 0, 1}, {0, 0, 1, 1}, {2 / 3.0f, 0, 1 / 3.0f, 1}, {1 / 3.0f, 0, 2 / 3.0f, 1}};
    for (int i = 0; i < N; i++) {
        int x = (int)fminf(fmaxf(floorf(xy[i][0]), 0), 7);
        for (int c = 0; c < 4; c++)
            EXPECT(fabsf(out[i][c] - (x < 4 ? row[x][c] : 0)) < 1e-6f, "channel %d of block texel %d is %g", c, x, out[i][c]);
    }
    OK(cuTexObjectDestroy(t));
    OK(cuArrayDestroy(a));

    // levels 1 and 2 of a mipmapped array, whose texels say their level
    CUDA_ARRAY3D_DESCRIPTOR d = {W, W, 0, CU_AD_FORMAT_FLOAT, 1, 0};
    CUmipmappedArray m;
    OK(cuMipmappedArrayCreate(&m, &d, 100)); // at most 4
    for (unsigned l = 0; l < 4; l++) {
        CUarray level;
        float same[W * W];
        for (int i = 0; i < W * W; i++)
            same[i] = (float)l;
        OK(cuMipmappedArrayGetLevel(&level, m, l));
        for (unsigned y = 0; y < (unsigned)W >> l; y++) {
            CUDA_MEMCPY2D c;
            memset(&c, 0, sizeof c);
            c.srcMemoryType = CU_MEMORYTYPE_HOST;
            c.srcHost = same;
            c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
            c.dstArray = level;
            c.dstY = y;
            c.WidthInBytes = (W >> l) * 4;
            c.Height = 1;
            OK(cuMemcpy2D(&c));
        }
    }
    CUarray none;
    EXPECT(cuMipmappedArrayGetLevel(&none, m, 4) == CUDA_ERROR_INVALID_VALUE, "a fifth level of 8 x 8");
    v.format = CU_RES_VIEW_FORMAT_NONE;
    v.width = v.height = W;
    v.firstMipmapLevel = 1;
    v.lastMipmapLevel = 2;
    t = object_of(NULL, m, CU_TRSF_NORMALIZED_COORDINATES, CU_TR_FILTER_MODE_POINT, &v, CUDA_SUCCESS);
    object_of(NULL, m, 0, CU_TR_FILTER_MODE_POINT, &v, CUDA_ERROR_INVALID_VALUE); // coordinates must be normalized
    for (int l = 0; l < 4; l++) {
        see(out, t, (float)l);
        EXPECT(out[5][0] == (l < 1 ? 1.0f : 2.0f), "level %d of the view is %g", l, out[5][0]);
    }
    OK(cuTexObjectDestroy(t));
    OK(cuMipmappedArrayDestroy(m));
}

static void copies(void)
{
    enum { BYTES = 64 };
    unsigned char host[BYTES], back[BYTES];
    for (int i = 0; i < BYTES; i++)
        host[i] = (unsigned char)(i * 5);
    CUarray a, b;
    CUDA_ARRAY_DESCRIPTOR d = {BYTES, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1}, told;
    CUdeviceptr p;
    OK(cuArrayCreate(&a, &d));
    OK(cuArrayCreate(&b, &d));
    OK(cuArrayGetDescriptor(&told, a));
    EXPECT(told.Width == BYTES && told.Height == 0 && told.Format == CU_AD_FORMAT_UNSIGNED_INT8 && told.NumChannels == 1, "the description of an array");
    OK(cuMemAlloc(&p, BYTES));
    OK(cuMemcpyHtoA(a, 0, host, BYTES));
    OK(cuMemcpyAtoA(b, 16, a, 0, 32));
    OK(cuMemcpyAtoD(p, b, 16, 32));
    OK(cuMemcpyDtoA(b, 0, p, 16));
    OK(cuMemcpyAtoH(back, b, 0, 48));
    EXPECT(!memcmp(back, host, 16) && !memcmp(back + 16, host, 32), "copies of arrays");
    EXPECT(cuMemcpyHtoA(a, 60, host, 8) == CUDA_ERROR_INVALID_VALUE, "a copy beyond an array");
    OK(cuMemFree(p));
    OK(cuArrayDestroy(a));
    OK(cuArrayDestroy(b));
    EXPECT(cuArrayDestroy(b) == CUDA_ERROR_INVALID_HANDLE, "an array that was destroyed");
    EXPECT(cuTexObjectDestroy(0x777) == CUDA_ERROR_INVALID_VALUE, "an object that never was");
}

int main()
{
    CUcontext context;
    CUdevice device;
    float image[W * H];
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, ptx));
    OK(cuModuleGetFunction(&look, module, "look"));
    OK(cuModuleGetFunction(&fetch, module, "fetch"));
    OK(cuModuleGetFunction(&paint, module, "paint"));
    for (int i = 0; i < W * H; i++)
        image[i] = (float)(i * i % 37) / 4;
    for (int i = 0; i < N; i++) {
        xy[i][0] = (float)(i * 29 % 97) / 8 - 1.5f;
        xy[i][1] = (float)(i * 13 % 53) / 8 - 1.25f;
    }
    OK(cuMemAlloc(&device_xy, sizeof xy));
    OK(cuMemAlloc(&device_out, N * 16));
    OK(cuMemcpyHtoD(device_xy, xy, sizeof xy));
    references(image);
    surface_reference();
    views();
    copies();
    OK(cuModuleUnload(module));
    printf(failures ? "FAIL: %d expectations\n" : "PASS\n", failures);
    return failures != 0;
}
