// memcpy2d: pitched and 3-D memory: cudaMallocPitch, cudaMemcpy2D in every direction, cudaMemset2D, cudaMalloc3D,
// cudaMemcpy3D of a box inside a box, cudaMemset3D; kernels that use the pitch.
#include "app.h"
#include <vector>

__global__ void add_rows(char *base, size_t pitch, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h)
        ((int *)(base + y * pitch))[x] += x + 1000 * y;
}

__global__ void volume(cudaPitchedPtr p, cudaExtent e)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < e.width * e.height * e.depth; i += gridDim.x * blockDim.x) {
        int x = i % e.width, y = i / e.width % e.height, z = i / (e.width * e.height);
        unsigned char *row = (unsigned char *)p.ptr + z * p.pitch * e.height + y * p.pitch;
        row[x] = (unsigned char)(row[x] + x + 3 * y + 7 * z);
    }
}

static void planes(void)
{
    const int w = 37, h = 11, hw = 50; // the host's rows are wider than the data
    std::vector<int> host(hw * h), back(hw * h, -1);
    for (int i = 0; i < hw * h; i++)
        host[i] = i;
    char *dev, *dev2;
    size_t pitch, pitch2;
    OK(cudaMallocPitch(&dev, &pitch, w * sizeof(int), h));
    OK(cudaMallocPitch(&dev2, &pitch2, 2 * w * sizeof(int), h));
    EXPECT(pitch >= w * sizeof(int) && pitch % 32 == 0, "the pitch is %zu", pitch);
    OK(cudaMemcpy2D(dev, pitch, host.data(), hw * sizeof(int), w * sizeof(int), h, cudaMemcpyHostToDevice));
    add_rows<<<dim3(2, 3), dim3(32, 4)>>>(dev, pitch, w, h);
    OK(cudaMemcpy2DAsync(dev2 + w * sizeof(int), pitch2, dev, pitch, w * sizeof(int), h, cudaMemcpyDeviceToDevice, 0));
    OK(cudaMemcpy2D(back.data(), hw * sizeof(int), dev2 + w * sizeof(int), pitch2, w * sizeof(int), h,
                    cudaMemcpyDeviceToHost));
    for (int y = 0; y < h; y++)
        for (int x = 0; x < hw; x++) {
            int want = x < w ? y * hw + x + x + 1000 * y : -1;
            EXPECT(back[y * hw + x] == want, "(%d,%d) is %d, not %d", x, y, back[y * hw + x], want);
        }
    OK(cudaMemset2D(dev, pitch, 0x22, 10, 4)); // ten bytes of each of four rows
    OK(cudaMemcpy2D(back.data(), hw * sizeof(int), dev, pitch, w * sizeof(int), h, cudaMemcpyDefault));
    EXPECT(back[0] == 0x22222222 && back[3 * hw + 1] == 0x22222222, "memset2D: %x %x", back[0], back[3 * hw + 1]);
    EXPECT((back[3 * hw + 2] & 0xffff) == 0x2222 && back[3 * hw + 3] == 3 * hw + 3 + 3 + 3000 && back[4 * hw] == 4 * hw + 4000,
           "memset2D wrote too much: %x %d %d", back[3 * hw + 2], back[3 * hw + 3], back[4 * hw]);
    EXPECT_ERROR(cudaMemcpy2D(dev, pitch, host.data(), w, w * sizeof(int), h, cudaMemcpyHostToDevice),
                 cudaErrorInvalidPitchValue);
    (void)cudaGetLastError();
    OK(cudaFree(dev));
    OK(cudaFree(dev2));
}

static void boxes(void)
{
    const int w = 20, h = 6, d = 5;
    const cudaExtent extent = make_cudaExtent(w, h, d);
    cudaPitchedPtr p;
    OK(cudaMalloc3D(&p, extent));
    EXPECT(p.xsize == w && p.ysize == h && p.pitch >= w, "malloc3D: %zu x %zu, pitch %zu", p.xsize, p.ysize, p.pitch);
    OK(cudaMemset3D(p, 100, extent));
    volume<<<3, 64>>>(p, extent);
    OK_LAUNCH();

    // A box of 8 x 3 x 2 at (5, 2, 1) goes to (1, 1, 1) of a host volume of 12 x 5 x 4.
    const int hw = 12, hh = 5, hd = 4;
    std::vector<unsigned char> host(hw * hh * hd, 9);
    cudaMemcpy3DParms m = {};
    m.srcPtr = p;
    m.srcPos = make_cudaPos(5, 2, 1);
    m.dstPtr = make_cudaPitchedPtr(host.data(), hw, hw, hh);
    m.dstPos = make_cudaPos(1, 1, 1);
    m.extent = make_cudaExtent(8, 3, 2);
    m.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&m));
    for (int z = 0; z < hd; z++)
        for (int y = 0; y < hh; y++)
            for (int x = 0; x < hw; x++) {
                bool inside = x >= 1 && x < 9 && y >= 1 && y < 4 && z >= 1 && z < 3;
                int want = inside ? 100 + (x + 4) + 3 * (y + 1) + 7 * z : 9;
                EXPECT(host[(z * hh + y) * hw + x] == want, "(%d,%d,%d) is %d, not %d", x, y, z,
                       host[(z * hh + y) * hw + x], want);
            }
    // And back to another place.
    std::vector<unsigned char> all(w * h * d);
    cudaMemcpy3DParms up = {};
    up.srcPtr = m.dstPtr;
    up.dstPtr = p;
    up.dstPos = make_cudaPos(8, 1, 0);
    up.extent = make_cudaExtent(hw, hh, hd);
    up.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3DAsync(&up, 0));
    OK(cudaMemcpy2D(all.data(), w, p.ptr, p.pitch, w, h * d, cudaMemcpyDeviceToHost));
    EXPECT(all[(0 * h + 1) * w + 8] == 9, "the copy's first byte is %d", all[(0 * h + 1) * w + 8]);
    EXPECT(all[(1 * h + 2) * w + 9] == 100 + 5 + 6 + 7, "the box's first byte is %d", all[(1 * h + 2) * w + 9]);
    EXPECT(all[(4 * h + 1) * w + 8] == 100 + 8 + 3 + 28, "a byte behind the copy is %d", all[(4 * h + 1) * w + 8]);
    OK(cudaFree(p.ptr));
}

int main(void)
{
    planes();
    boxes();
    return app_verdict();
}
