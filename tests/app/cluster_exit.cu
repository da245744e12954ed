// cluster_exit: a block that reads the shared memory of one that has ended: the launch fails, and the report says whose memory it was.
#include "app.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2) run(unsigned *out)
{
    __shared__ unsigned x;
    cg::cluster_group c = cg::this_cluster();
    x = blockIdx.x;
    if (c.block_rank() == 1)
        return;
    volatile int wait = 0;
    while (wait < 100000)
        wait = wait + 1;
    *out = *c.map_shared_rank(&x, 1);
}

int main()
{
    unsigned *out;
    OK(cudaMalloc(&out, sizeof *out));
    run<<<2, 32>>>(out);
    OK(cudaGetLastError());
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    return app_verdict();
}
