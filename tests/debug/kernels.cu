// The kernels of the debugger's tests. kernels.ptx is what `nvcc -ptx -lineinfo -arch=sm_75` makes of them, so that the tests need no nvcc.
__device__ int counter;

__device__ __noinline__ int twice(int x)
{
    return x + x;
}

__global__ void fill(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = twice(i) + 1;
}

__global__ void diverge(int *data, int n)
{
    int lane = threadIdx.x % 32;
    if (lane < 8)
        data[threadIdx.x] = twice(lane);
    else
        data[threadIdx.x] = -lane;
}

__global__ void tree(int *data, int n)
{
    __shared__ int part[64];
    part[threadIdx.x] = data[threadIdx.x];
#pragma unroll 1
    for (int half = 32; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        data[0] = part[0];
}

__global__ void count(int *data, int n)
{
    if (data[threadIdx.x] % 2)
        atomicAdd(&counter, 1);
    __syncthreads();
    if (threadIdx.x == 0)
        data[0] = counter;
}

__global__ void outside(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = n;                            // i < n was forgotten
}

__global__ void spin(int *data, int n)
{
    while (*(volatile int *)data != -1)     // nobody ever writes that
        ;
}

__global__ void race(int *data, int n)
{
    __shared__ int sum[64];
    int i = threadIdx.x;
    sum[i] = data[i];                       // __syncthreads() was forgotten
#pragma unroll 1
    for (int half = 32; half; half /= 2) {
        if (i < half)
            sum[i] += sum[i + half];
        __syncthreads();
    }
    if (i == 0)
        data[0] = sum[0];
}
