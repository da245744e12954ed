// A wait that can never end is told, with what the mbarrier still misses; the copy that was announced never comes.
#include "app.h"

__global__ void stuck(void)
{
    __shared__ unsigned long long barrier;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 640;" ::"r"(bar) : "memory");
    __syncthreads();
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @p bra D; bra W; D: }" ::"r"(bar) : "memory");
}

int main(void)
{
    stuck<<<2, 64>>>();
    cudaError_t e = cudaDeviceSynchronize();
    EXPECT(e == cudaErrorLaunchFailure || e == cudaErrorLaunchTimeout, "a wait for nothing gave %s", cudaGetErrorName(e));
    return app_verdict();
}
