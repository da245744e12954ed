// mandelbrot: escape counts in float and double, bit for bit as on the CPU (built with -fmad=false: nothing is fused).
#include "app.h"
#include <vector>

template <typename T> __host__ __device__ int escape(T cx, T cy, int limit)
{
    T x = 0, y = 0;
    int i = 0;
    while (i < limit && x * x + y * y <= (T)4) {
        T t = x * x - y * y + cx;
        y = (T)2 * x * y + cy;
        x = t;
        i++;
    }
    return i;
}

template <typename T> __global__ void mandelbrot(int *out, int w, int h, int limit)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px < w && py < h)
        out[py * w + px] = escape<T>((T)-2.25 + (T)3 * px / w, (T)-1.25 + (T)2.5 * py / h, limit);
}

template <typename T> static void check(const char *type, int w, int h, int limit)
{
    std::vector<int> out(w * h);
    int *dout;
    long long total = 0;
    OK(cudaMalloc(&dout, out.size() * sizeof(int)));
    mandelbrot<T><<<dim3((w + 15) / 16, (h + 7) / 8), dim3(16, 8)>>>(dout, w, h, limit);
    OK_LAUNCH();
    app_to_host(out.data(), dout, out.size());
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int want = escape<T>((T)-2.25 + (T)3 * x / w, (T)-1.25 + (T)2.5 * y / h, limit);
            EXPECT(out[y * w + x] == want, "%s: pixel %d,%d is %d, not %d", type, x, y, out[y * w + x], want);
            total += want;
        }
    printf("%s %lld iterations\n", type, total);
}

int main(void)
{
    check<float>("float", 200, 150, 200);
    check<double>("double", 90, 70, 150);
    return app_verdict();
}
