// preload: a program that already runs with a preloaded library keeps it under heddle.
#include "app.h"
#include <dlfcn.h>

__global__ void set(int *p) { *p = 5; }

int main(void)
{
    int (*marker)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "app_preloaded");
    EXPECT(marker && marker() == 4711, "the preloaded library is not there");
    int *p, host = 0;
    OK(cudaMalloc(&p, sizeof(int)));
    set<<<1, 1>>>(p);
    OK_LAUNCH();
    app_to_host(&host, p, 1);
    EXPECT(host == 5, "the kernel wrote %d", host);
    return app_verdict();
}
