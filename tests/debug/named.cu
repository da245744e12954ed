// named.ptx is what `nvcc -ptx -G -arch=sm_75` makes of this, without what names a machine: variables of the source by their names.
__global__ void collatz(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = data[i] + 1, steps = 0;
    while (x != 1) {
        x = x % 2 ? 3 * x + 1 : x / 2;
        steps++;
    }
    data[i] = steps;
}
