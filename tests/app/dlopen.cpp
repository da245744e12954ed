// dlopen: a program that is linked with nothing of CUDA and finds the driver itself, by either name, as many libraries do.
#include <dlfcn.h>
#include <stdio.h>

static int try_driver(const char *file)
{
    void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        printf("FAIL: %s\n", dlerror());
        return 1;
    }
    auto init = (int (*)(unsigned))dlsym(lib, "cuInit");
    auto count = (int (*)(int *))dlsym(lib, "cuDeviceGetCount");
    auto find = (int (*)(const char *, void **, int, unsigned long long, int *))dlsym(lib, "cuGetProcAddress_v2");
    auto find_11 = (int (*)(const char *, void **, int, unsigned long long))dlsym(lib, "cuGetProcAddress");
    int n = 0, found = -1;
    void *entry = nullptr, *entry_11 = nullptr;
    if (!init || !count || !find || !find_11 || init(0) || count(&n) || n < 1) {
        printf("FAIL: %s: %d devices\n", file, n);
        return 1;
    }
    // what a name means depends on the version that is asked for
    if (find("cuCtxSynchronize", &entry, 13000, 0, &found) || found != 0 || !entry || entry != dlsym(lib, "cuCtxSynchronize_v2") ||
        find_11("cuCtxSynchronize", &entry_11, 11030, 0) || entry_11 != dlsym(lib, "cuCtxSynchronize") || find("cuNothing", &entry, 13000, 0, &found) != 500) {
        printf("FAIL: %s: entry points\n", file);
        return 1;
    }
    return dlclose(lib) != 0;
}

int main(void)
{
    if (try_driver("libcuda.so.1") || try_driver("libcuda.so"))
        return 1;
    printf("PASS\n");
    return 0;
}
