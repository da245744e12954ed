// cluster_errors: what launches with clusters refuse and with which code, attributes of functions and launches, occupancy of clusters.
#include "app.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void plain(unsigned *out)
{
    if (threadIdx.x == 0)
        out[blockIdx.x] = cg::this_cluster().num_blocks();
}

__global__ void __cluster_dims__(2, 1, 1) fixed(unsigned *out)
{
    if (threadIdx.x == 0)
        out[blockIdx.x] = cg::this_cluster().num_blocks();
}

__global__ void __launch_bounds__(128, 1, 4) at_most_four(unsigned *out)
{
    if (threadIdx.x == 0)
        out[blockIdx.x] = cg::this_cluster().num_blocks();
}


struct request {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attrs[8];
    request(dim3 grid, dim3 block) { config.gridDim = grid, config.blockDim = block, config.attrs = attrs; }
    cudaLaunchAttribute &add(cudaLaunchAttributeID id)
    {
        cudaLaunchAttribute &a = attrs[config.numAttrs++];
        memset(&a, 0, sizeof a);
        a.id = id;
        return a;
    }
    request &cluster(unsigned x, unsigned y = 1, unsigned z = 1)
    {
        cudaLaunchAttribute &a = add(cudaLaunchAttributeClusterDimension);
        a.val.clusterDim.x = x, a.val.clusterDim.y = y, a.val.clusterDim.z = z;
        return *this;
    }
};

static unsigned *out, got[64];

template <typename K> static cudaError_t launch(K kernel, request r)
{
    OK(cudaMemset(out, 0, sizeof got));
    cudaError_t e = cudaLaunchKernelEx(&r.config, kernel, out);
    cudaGetLastError();                        // not sticky: a launch that was refused leaves nothing behind
    if (e == cudaSuccess)
        OK_LAUNCH();
    app_to_host(got, out, 64);
    return e;
}

static void launches()
{
    EXPECT_ERROR(launch(plain, request(8, 32).cluster(8)), cudaSuccess);
    EXPECT(got[7] == 8, "cluster of 8: %u", got[7]);
    EXPECT_ERROR(launch(plain, request(16, 32).cluster(16)), cudaErrorInvalidClusterSize);
    EXPECT_ERROR(launch(plain, request(6, 32).cluster(4)), cudaErrorInvalidClusterSize);
    EXPECT_ERROR(launch(plain, request(dim3(4, 3), 32).cluster(2, 2)), cudaErrorInvalidClusterSize);
    OK(cudaFuncSetAttribute(plain, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    EXPECT_ERROR(launch(plain, request(16, 32).cluster(16)), cudaSuccess);
    EXPECT(got[15] == 16, "cluster of 16: %u", got[15]);
    EXPECT_ERROR(launch(plain, request(32, 32).cluster(32)), cudaErrorInvalidClusterSize);
    OK(cudaFuncSetAttribute(plain, cudaFuncAttributeNonPortableClusterSizeAllowed, 0));

    EXPECT_ERROR(launch(fixed, request(4, 32)), cudaSuccess);
    EXPECT(got[3] == 2, "compiled for 2: %u", got[3]);
    EXPECT_ERROR(launch(fixed, request(4, 32).cluster(2)), cudaSuccess);
    EXPECT_ERROR(launch(fixed, request(4, 32).cluster(4)), cudaErrorInvalidClusterSize);
    EXPECT_ERROR(launch(fixed, request(3, 32)), cudaErrorInvalidClusterSize);

    EXPECT_ERROR(launch(at_most_four, request(8, 32).cluster(4)), cudaSuccess);
    EXPECT_ERROR(launch(at_most_four, request(8, 32).cluster(8)), cudaErrorInvalidClusterSize);
    EXPECT_ERROR(launch(plain, request(3, 32)), cudaSuccess);
    EXPECT(got[2] == 1, "no cluster: %u", got[2]);
}

static void other_attributes()
{
    cudaStream_t s;
    cudaEvent_t e;
    OK(cudaStreamCreate(&s));
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    request r(4, 32);
    r.config.stream = s;
    r.cluster(2);
    r.add(cudaLaunchAttributeClusterSchedulingPolicyPreference).val.clusterSchedulingPolicyPreference = cudaClusterSchedulingPolicySpread;
    r.add(cudaLaunchAttributePriority).val.priority = 0;
    r.add(cudaLaunchAttributeProgrammaticStreamSerialization).val.programmaticStreamSerializationAllowed = 1;
    r.add(cudaLaunchAttributeMemSyncDomain).val.memSyncDomain = cudaLaunchMemSyncDomainDefault;
    cudaLaunchAttribute &p = r.add(cudaLaunchAttributeProgrammaticEvent);
    p.val.programmaticEvent.event = e;
    EXPECT_ERROR(launch(plain, r), cudaSuccess);
    EXPECT(got[3] == 2, "with all attributes: %u", got[3]);
    OK(cudaEventSynchronize(e));
    request bad(4, 32);
    bad.add(cudaLaunchAttributeClusterSchedulingPolicyPreference).val.clusterSchedulingPolicyPreference = (cudaClusterSchedulingPolicy)7;
    EXPECT_ERROR(launch(plain, bad), cudaErrorInvalidValue);
    OK(cudaEventDestroy(e));
    OK(cudaStreamDestroy(s));
}

static void function_attributes()
{
    cudaFuncAttributes a;
    OK(cudaFuncGetAttributes(&a, fixed));
    EXPECT(a.clusterDimMustBeSet && a.requiredClusterWidth == 2 && a.requiredClusterHeight == 1 && a.requiredClusterDepth == 1, "fixed: %d, %d x %d x %d",
           a.clusterDimMustBeSet, a.requiredClusterWidth, a.requiredClusterHeight, a.requiredClusterDepth);
    EXPECT_ERROR(cudaFuncSetAttribute(fixed, cudaFuncAttributeRequiredClusterWidth, 4), cudaErrorNotPermitted);
    cudaGetLastError();
    OK(cudaFuncSetAttribute(plain, cudaFuncAttributeRequiredClusterHeight, 1));
    OK(cudaFuncSetAttribute(plain, cudaFuncAttributeRequiredClusterDepth, 1));
    OK(cudaFuncSetAttribute(plain, cudaFuncAttributeRequiredClusterWidth, 4));
    OK(cudaFuncSetAttribute(plain, cudaFuncAttributeClusterSchedulingPolicyPreference, cudaClusterSchedulingPolicyLoadBalancing));
    OK(cudaFuncGetAttributes(&a, plain));
    EXPECT(a.requiredClusterWidth == 4 && !a.clusterDimMustBeSet && a.clusterSchedulingPolicyPreference == cudaClusterSchedulingPolicyLoadBalancing, "plain: %d, %d",
           a.requiredClusterWidth, a.clusterSchedulingPolicyPreference);
    EXPECT_ERROR(launch(plain, request(8, 32)), cudaSuccess);
    EXPECT(got[7] == 4, "required by attribute: %u", got[7]);
    OK(cudaFuncSetAttribute(plain, cudaFuncAttributeRequiredClusterHeight, 0));
    EXPECT_ERROR(launch(plain, request(8, 32)), cudaErrorInvalidClusterSize);
    OK(cudaFuncSetAttribute(plain, cudaFuncAttributeRequiredClusterWidth, 0));
    OK(cudaFuncSetAttribute(plain, cudaFuncAttributeRequiredClusterDepth, 0));
    EXPECT_ERROR(launch(plain, request(8, 32)), cudaSuccess);
}

static void occupancy()
{
    cudaDeviceProp p;
    OK(cudaGetDeviceProperties(&p, 0));
    int n = -1, last = 1 << 30;
    for (unsigned size = 1; size <= 8; size *= 2) {
        request r(64, 1024);
        r.cluster(size);
        OK(cudaOccupancyMaxActiveClusters(&n, plain, &r.config));
        EXPECT(n > 0 && n <= last && n * (int)size <= 2 * p.multiProcessorCount, "%d clusters of %u", n, size);
        last = n;
    }
    request one(64, 1024);
    EXPECT_ERROR(cudaOccupancyMaxActiveClusters(&n, plain, &one.config), cudaErrorInvalidClusterSize);
    cudaGetLastError();
    OK(cudaOccupancyMaxActiveClusters(&n, fixed, &one.config));
    OK(cudaOccupancyMaxPotentialClusterSize(&n, plain, &one.config));
    EXPECT(n == 8, "largest cluster %d", n);
    OK(cudaOccupancyMaxPotentialClusterSize(&n, fixed, &one.config));
    EXPECT(n == 2, "largest cluster of fixed %d", n);
    one.config.blockDim = 128;
    OK(cudaOccupancyMaxPotentialClusterSize(&n, at_most_four, &one.config));
    EXPECT(n == 4, "largest cluster of at_most_four %d", n);
}

int main()
{
    cudaDeviceProp p;
    OK(cudaGetDeviceProperties(&p, 0));
    if (!p.clusterLaunch) {
        printf("SKIP: %s has no clusters\n", p.name);
        return 0;
    }
    OK(cudaMalloc(&out, sizeof got));
    launches();
    other_attributes();
    function_attributes();
    occupancy();
    OK(cudaFree(out));
    return app_verdict();
}
