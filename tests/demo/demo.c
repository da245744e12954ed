/* A CUDA program that needs no NVIDIA file: host code in C against the driver API, its prototypes declared by hand, its PTX inside.
 * It adds two vectors and draws the Mandelbrot set, and checks both against the CPU. Exit status 0 when they agree to the bit. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;

CUresult cuInit(unsigned flags);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDeviceGetName(char *name, int bytes, CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSynchronize(void);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared_bytes, CUstream stream, void **params, void **extra);
CUresult cuGetErrorString(CUresult error, const char **text);

__asm__(".section .rodata\n"
        ".global demo_ptx\n"
        "demo_ptx: .incbin \"tests/demo/demo.ptx\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char demo_ptx[];

static void check(CUresult result, const char *call)
{
    if (result == 0)
        return;
    const char *text = "unknown error";
    cuGetErrorString(result, &text);
    fprintf(stderr, "%s: error %d: %s\n", call, result, text);
    exit(1);
}
#define CHECK(call) check(call, #call)

static int vector_add(CUmodule module)
{
    enum { N = 1 << 20, BLOCK = 256 };
    const size_t bytes = N * sizeof(float);
    float *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
    CUdeviceptr da, db, dc;
    CUfunction kernel;
    int n = N, wrong = 0;
    if (!a || !b || !c)
        return 1;
    for (int i = 0; i < N; i++) {
        a[i] = (float)i * 0.25f;
        b[i] = (float)(N - i) / 3.0f;
    }
    CHECK(cuModuleGetFunction(&kernel, module, "vector_add"));
    CHECK(cuMemAlloc_v2(&da, bytes));
    CHECK(cuMemAlloc_v2(&db, bytes));
    CHECK(cuMemAlloc_v2(&dc, bytes));
    CHECK(cuMemcpyHtoD_v2(da, a, bytes));
    CHECK(cuMemcpyHtoD_v2(db, b, bytes));
    CHECK(cuLaunchKernel(kernel, (N + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, (void *[]){&da, &db, &dc, &n}, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH_v2(c, dc, bytes));
    for (int i = 0; i < N; i++)
        wrong += c[i] != a[i] + b[i];
    printf("vector_add: %d elements, %d wrong\n", N, wrong);
    CHECK(cuMemFree_v2(da));
    CHECK(cuMemFree_v2(db));
    CHECK(cuMemFree_v2(dc));
    free(a);
    free(b);
    free(c);
    return wrong != 0;
}

enum { WIDTH = 76, HEIGHT = 28, LIMIT = 2000 };
static const float x0 = -2.1f, y0 = -1.15f, dx = 2.9f / WIDTH, dy = 2.3f / HEIGHT;

static uint32_t steps_at(int column, int row)
{
    float cx = x0 + (float)column * dx, cy = y0 + (float)row * dy, x = 0, y = 0;
    for (uint32_t n = 0; n < LIMIT; n++) {
        float xx = x * x, yy = y * y, xy = x * y;
        if (xx + yy > 4)
            return n;
        y = xy + xy + cy;
        x = xx - yy + cx;
    }
    return LIMIT;
}

static int mandelbrot(CUmodule module)
{
    static const char shades[] = " .,:;+*%#";
    static uint32_t count[HEIGHT][WIDTH];
    CUdeviceptr d;
    CUfunction kernel;
    unsigned width = WIDTH, height = HEIGHT, limit = LIMIT;
    float a = x0, b = y0, c = dx, e = dy;
    int wrong = 0;
    CHECK(cuModuleGetFunction(&kernel, module, "mandelbrot"));
    CHECK(cuMemAlloc_v2(&d, sizeof count));
    CHECK(cuLaunchKernel(kernel, (WIDTH + 15) / 16, (HEIGHT + 7) / 8, 1, 16, 8, 1, 0, NULL,
                         (void *[]){&d, &width, &height, &a, &b, &c, &e, &limit}, NULL));
    CHECK(cuMemcpyDtoH_v2(count, d, sizeof count));
    CHECK(cuMemFree_v2(d));
    for (int row = 0; row < HEIGHT; row++) {
        char line[WIDTH + 1];
        for (int column = 0; column < WIDTH; column++) {
            uint32_t n = count[row][column];
            wrong += n != steps_at(column, row);
            unsigned shade = 0;
            for (uint32_t k = n; k > 1 && shade < 7; k /= 2)
                shade++;
            line[column] = n >= LIMIT ? shades[8] : shades[shade];
        }
        line[WIDTH] = 0;
        puts(line);
    }
    printf("mandelbrot: %d points, %d wrong\n", WIDTH * HEIGHT, wrong);
    return wrong != 0;
}

int main(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    char name[128];
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetName(name, sizeof name, device));
    printf("device: %s\n", name);
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, demo_ptx));
    int bad = vector_add(module) | mandelbrot(module);
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease_v2(device));
    puts(bad ? "FAIL" : "PASS");
    return bad;
}
