/* The program of the debugger's tests: CUDA's driver API in plain C, prototypes declared by hand, so that no nvcc is needed.
 *   debug-host [-i | -a] FILE.ptx N KERNEL,BLOCKS,THREADS...      launches each kernel(int *data, int n) on N ints that are 0, 1, 2...
 * Prints their sum after each launch. -i: first prints each line of standard input. -a: each kernel in a stream of its own, and one sum at the end. Exit status 1 when a
 * call fails. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long CUdeviceptr;
int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);
int cuModuleLoad(void **module, const char *path);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
int cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                   unsigned shared_bytes, void *stream, void **params, void **extra);
int cuStreamCreate(void **stream, unsigned flags);
int cuGetErrorName(int error, const char **text);

static void check(int result, const char *call)
{
    const char *name = "?";
    if (result == 0)
        return;
    cuGetErrorName(result, &name);
    printf("%s: %s\n", call, name);
    exit(1);
}
#define CHECK(call) check(call, #call)

int main(int argc, char **argv)
{
    char line[256], name[64];
    void *context, *module, *function, *stream = NULL;
    CUdeviceptr data;
    int device, at = 1;
    unsigned blocks, threads;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1 && strcmp(argv[1], "-i") == 0) {
        at++;
        while (fgets(line, sizeof line, stdin))
            printf("read: %s", line);
    }
    bool all = argc > 1 && strcmp(argv[1], "-a") == 0;
    at += all;
    int n = argc > at + 1 ? atoi(argv[at + 1]) : 0;
    int *host = malloc((size_t)(n > 0 ? n : 1) * sizeof *host);
    if (n < 1 || !host)
        return 2;
    for (int i = 0; i < n; i++)
        host[i] = i;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoad(&module, argv[at]));
    CHECK(cuMemAlloc_v2(&data, (size_t)n * sizeof *host));
    CHECK(cuMemcpyHtoD_v2(data, host, (size_t)n * sizeof *host));
    for (at += 2; at < argc; at++) {
        long sum = 0;
        if (sscanf(argv[at], "%63[^,],%u,%u", name, &blocks, &threads) != 3)
            return 2;
        CHECK(cuModuleGetFunction(&function, module, name));
        if (all)
            CHECK(cuStreamCreate(&stream, 1));
        CHECK(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, (void *[]){&data, &n}, NULL));
        if (all && at + 1 < argc)
            continue;
        CHECK(cuCtxSynchronize());
        CHECK(cuMemcpyDtoH_v2(host, data, (size_t)n * sizeof *host));
        for (int i = 0; i < n; i++)
            sum += host[i];
        printf("%s: sum %ld\n", name, sum);
    }
    free(host);
    return 0;
}
