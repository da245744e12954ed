// sticky: kernels that break the context: out of bounds, NULL, misaligned, trap, freed memory; each in a child
// process: the code CUDA documents, which every later call repeats; another process is not affected.
#include "app.h"
#include <sys/wait.h>
#include <unistd.h>

enum { READ_PAST, WRITE_PAST, WRITE_BEFORE, NULL_WRITE, FREED, MISALIGNED_4, MISALIGNED_16, MISALIGNED_ATOMIC, TRAP, FAR_AWAY, CASES };
static const char *names[CASES] = {"read past", "write past", "write before", "null", "freed", "misaligned int", "misaligned int4",
                                   "misaligned atomic", "trap", "far away"};

__global__ void offend(int which, int *p, int n, int *out)
{
    if (threadIdx.x != 17)
        return;
    switch (which) {
    case READ_PAST: *out = p[n]; break;
    case WRITE_PAST: p[n] = 1; break;
    case WRITE_BEFORE: p[-1] = 1; break;
    case NULL_WRITE: *(volatile int *)nullptr = 1; break;
    case FREED: p[3] = 1; break;
    case MISALIGNED_4: *(int *)((char *)p + 1) = 1; break;
    case MISALIGNED_16: *(int4 *)(p + 1) = make_int4(1, 2, 3, 4); break;
    case MISALIGNED_ATOMIC: atomicAdd((int *)((char *)p + 2), 1); break;
    case TRAP: __trap(); break;
    case FAR_AWAY: p[(size_t)1 << 40] = 1; break;
    }
}

static int child(int which)
{
    const int n = 1000; // no multiple of any granule: the bounds must be exact to the byte
    cudaError_t want = which >= MISALIGNED_4 && which <= MISALIGNED_ATOMIC ? cudaErrorMisalignedAddress
                       : which == TRAP                                     ? cudaErrorLaunchFailure
                                                                           : cudaErrorIllegalAddress;
    int *p, *out, host;
    OK(cudaMalloc(&p, n * sizeof(int)));
    OK(cudaMalloc(&out, sizeof(int)));
    if (which == FREED)
        OK(cudaFree(p));
    offend<<<1, 32>>>(which, p, n, out);
    EXPECT_ERROR(cudaDeviceSynchronize(), want);
    EXPECT_ERROR(cudaGetLastError(), want);
    EXPECT_ERROR(cudaMemcpy(&host, out, sizeof(int), cudaMemcpyDeviceToHost), want);
    EXPECT_ERROR(cudaMalloc(&p, 16), want);
    offend<<<1, 32>>>(-1, p, n, out);
    EXPECT_ERROR(cudaGetLastError(), want);
    EXPECT_ERROR(cudaDeviceSynchronize(), want);
    if (app_failures)
        printf("FAIL: in case %s\n", names[which]);
    return app_failures != 0;
}

int main(void)
{
    for (int which = 0; which < CASES; which++) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            int rc = child(which);
            fflush(stdout);
            _exit(rc);
        }
        int status = -1;
        waitpid(pid, &status, 0);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: the child's status is %x", names[which], status);
    }
    int *p, host[32];
    OK(cudaMalloc(&p, sizeof(host)));
    offend<<<1, 32>>>(-1, p, 32, p);
    OK_LAUNCH();
    return app_verdict();
}
