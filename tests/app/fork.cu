// fork: children made before CUDA is used run kernels of their own, at the same time, then the parent does; an exec'ed copy too.
#include "app.h"
#include <sys/wait.h>
#include <unistd.h>

__global__ void square(int *p, int base) { p[threadIdx.x] = (base + threadIdx.x) * (base + threadIdx.x); }

static int use_device(int base)
{
    int host[64], *dev;
    OK(cudaMalloc(&dev, sizeof(host)));
    for (int round = 0; round < 5; round++) {
        square<<<1, 64>>>(dev, base + round);
        OK_LAUNCH();
        app_to_host(host, dev, 64);
        for (int i = 0; i < 64; i++)
            EXPECT(host[i] == (base + round + i) * (base + round + i), "process %d, element %d is %d", base, i, host[i]);
    }
    OK(cudaFree(dev));
    return app_failures != 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return use_device(atoi(argv[1]));
    const int children = 3;
    pid_t pids[children + 1];
    for (int c = 0; c <= children; c++) {
        pids[c] = fork();
        if (pids[c] == 0) {
            if (c == children) {
                execl("/proc/self/exe", argv[0], "500", (char *)nullptr);
                _exit(99);
            }
            int rc = use_device(100 * c);
            fflush(stdout);
            _exit(rc);
        }
    }
    for (int c = 0; c <= children; c++) {
        int status = -1;
        waitpid(pids[c], &status, 0);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child %d: status %x", c, status);
    }
    use_device(1000);
    return app_verdict();
}
