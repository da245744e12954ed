// Clusters of four that hand a number round. ring.ptx is what `nvcc -ptx -lineinfo -arch=sm_90` makes of it.
#include <cooperative_groups.h>

__global__ void __cluster_dims__(4) ring(int *data, int n)
{
    __shared__ int mine;
    auto cluster = cooperative_groups::this_cluster();
    if (threadIdx.x == 0)
        mine = blockIdx.x + 1;
#pragma unroll 1
    for (int round = 0; round < 6; round++) {
        cluster.sync();
        int theirs = *cluster.map_shared_rank(&mine, (cluster.block_rank() + 1) % 4);
        cluster.sync();
        if (threadIdx.x == 0)
            mine = theirs * 2 + round;
        data[(blockIdx.x * blockDim.x + threadIdx.x) % n] += theirs;
    }
}
