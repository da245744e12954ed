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
    enum { MOST = 64 };
    static struct launch { char name[64]; unsigned blocks, threads; void *function, *stream; } launches[MOST];
    char line[256];
    void *context, *module;
    CUdeviceptr data;
    int device, at = 1;
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
    at += 2;
    for (int i = at; i < argc && i - at < MOST; i++) {         /* all before the first launch: simulated time goes on when the host takes long */
        struct launch *l = &launches[i - at];
        if (sscanf(argv[i], "%63[^,],%u,%u", l->name, &l->blocks, &l->threads) != 3)
            return 2;
        CHECK(cuModuleGetFunction(&l->function, module, l->name));
        if (all)
            CHECK(cuStreamCreate(&l->stream, 1));
    }
    for (int i = at; i < argc && i - at < MOST; i++) {
        const struct launch *l = &launches[i - at];
        long sum = 0;
        CHECK(cuLaunchKernel(l->function, l->blocks, 1, 1, l->threads, 1, 1, 0, l->stream, (void *[]){&data, &n}, NULL));
        if (all && i + 1 < argc)
            continue;
        CHECK(cuCtxSynchronize());
        CHECK(cuMemcpyDtoH_v2(host, data, (size_t)n * sizeof *host));
        for (int k = 0; k < n; k++)
            sum += host[k];
        printf("%s: sum %ld\n", l->name, sum);
    }
    free(host);
    return 0;
}
