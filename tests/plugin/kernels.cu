// Device code that calls the host functions of example.c. kernels.ptx is made from it, for machines without nvcc:
//     nvcc -rdc=true -ptx kernels.cu
struct vec2 { float x, y; };
extern "C" __device__ void trace(const char *what, float value);
extern "C" __device__ vec2 turned(vec2 v, double degrees);
extern "C" __device__ int sum_of(const int *values, int n);
extern "C" __device__ void expect(int got, int wanted);
extern "C" __device__ int nowhere(int x);

extern "C" __global__ void traced(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 2)
        trace("odd, half of it is", i / 2.0f);
}

extern "C" __global__ void summed(int *data, int n)
{
    __shared__ int part[64];
    int i = threadIdx.x;
    vec2 v = turned({float(data[i]), 0}, 90);
    part[i] = int(v.y + 0.5f);
    __syncthreads();
    if (i == 0)
        data[blockIdx.x] = sum_of(part, blockDim.x);
}

extern "C" __global__ void checked(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    expect(data[i], i < 5 ? i : 0);
}

extern "C" __global__ void lost(int *data, int n) { data[threadIdx.x] = threadIdx.x < 3 ? nowhere(data[threadIdx.x]) : 0; }
