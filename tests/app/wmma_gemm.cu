// D = A * B + C with nvcuda::wmma, a warp a tile, for every type that wmma multiplies. Values are small integers (quarters for floats), so the CPU's
// sums are exact and the comparison is for equality.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "app.h"

using namespace nvcuda;

template <typename T> struct store { typedef T type; };
template <> struct store<wmma::precision::tf32> { typedef float type; };

// A is M x K, B is K x N; LA and LB say how they lie in memory. C and D are row-major.
template <int M, int N, int K, typename In, typename Acc, typename Out, typename LA, typename LB>
__global__ void gemm(const typename store<In>::type *a, const typename store<In>::type *b, const Acc *c, Out *d, int m, int n, int k)
{
    int row = blockIdx.y * M, col = blockIdx.x * N;
    constexpr bool a_row = std::is_same<LA, wmma::row_major>::value, b_row = std::is_same<LB, wmma::row_major>::value;
    wmma::fragment<wmma::accumulator, M, N, K, Acc> sum;
    wmma::load_matrix_sync(sum, c + row * n + col, n, wmma::mem_row_major);
    for (int i = 0; i < k; i += K) {
        wmma::fragment<wmma::matrix_a, M, N, K, In, LA> fa;
        wmma::fragment<wmma::matrix_b, M, N, K, In, LB> fb;
        wmma::load_matrix_sync(fa, a_row ? a + row * k + i : a + i * m + row, a_row ? k : m);
        wmma::load_matrix_sync(fb, b_row ? b + i * n + col : b + col * k + i, b_row ? n : k);
        wmma::mma_sync(sum, fa, fb, sum);
    }
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] = sum.x[i] * (Acc)2;       // as epilogues do
    wmma::store_matrix_sync(d + row * n + col, sum, n, wmma::mem_row_major);
}

static unsigned seed = 1;
static int next(int lo, int hi)
{
    seed = seed * 1664525 + 1013904223;
    return lo + (int)(seed >> 16) % (hi - lo + 1);
}

template <typename T> static void put(T &x, double v) { x = (T)(float)v; }
static void put(int &x, double v) { x = (int)v; }
static void put(double &x, double v) { x = v; }
static void put(signed char &x, double v) { x = (signed char)v; }
static void put(unsigned char &x, double v) { x = (unsigned char)v; }
template <typename T> static double get(T x) { return (double)(float)x; }
static double get(int x) { return x; }
static double get(double x) { return x; }

template <int M, int N, int K, typename In, typename Acc, typename LA, typename LB>
static void run(const char *name, int lo, int hi, double scale)
{
    typedef typename store<In>::type T;
    enum { m = 2 * M, n = 3 * N, k = 4 * K };
    const bool a_row = std::is_same<LA, wmma::row_major>::value, b_row = std::is_same<LB, wmma::row_major>::value;
    static double A[m][k], B[k][n], C[m][n];
    T *a, *b;
    Acc *c, *d;
    OK(cudaMallocManaged(&a, sizeof(T) * m * k));
    OK(cudaMallocManaged(&b, sizeof(T) * k * n));
    OK(cudaMallocManaged(&c, sizeof(Acc) * m * n));
    OK(cudaMallocManaged(&d, sizeof(Acc) * m * n));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < k; j++) put(a[a_row ? i * k + j : j * m + i], A[i][j] = next(lo, hi) * scale);
    for (int i = 0; i < k; i++)
        for (int j = 0; j < n; j++) put(b[b_row ? i * n + j : j * k + i], B[i][j] = next(lo, hi) * scale);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) put(c[i * n + j], C[i][j] = next(-8, 8));
    gemm<M, N, K, In, Acc, Acc, LA, LB><<<dim3(n / N, m / M), 32>>>(a, b, c, d, m, n, k);
    OK_LAUNCH();
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double want = C[i][j];
            for (int l = 0; l < k; l++) want += A[i][l] * B[l][j];
            EXPECT(get(d[i * n + j]) == 2 * want, "%s: (%d, %d) is %g, not %g", name, i, j, get(d[i * n + j]), 2 * want);
        }
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    cudaFree(d);
}

int main(void)
{
    typedef wmma::row_major row;
    typedef wmma::col_major col;
    run<16, 16, 16, half, float, row, col>("f16 f32", -3, 3, .25);
    run<16, 16, 16, half, half, row, row>("f16 f16", -3, 3, .5);
    run<32, 8, 16, half, float, col, row>("f16 f32 m32n8k16", -3, 3, .25);
    run<8, 32, 16, half, half, col, col>("f16 f16 m8n32k16", -3, 3, .5);
    run<16, 16, 16, __nv_bfloat16, float, row, col>("bf16", -3, 3, .25);
    run<32, 8, 16, __nv_bfloat16, float, row, row>("bf16 m32n8k16", -3, 3, .25);
    run<16, 16, 8, wmma::precision::tf32, float, row, col>("tf32", -5, 5, .25);
    run<16, 16, 8, wmma::precision::tf32, float, col, row>("tf32 col row", -5, 5, .25);
    run<16, 16, 16, signed char, int, row, col>("s8", -128, 127, 1);
    run<8, 32, 16, unsigned char, int, col, row>("u8 m8n32k16", 0, 255, 1);
    run<8, 8, 4, double, double, row, col>("f64", -1000, 1000, .125);
    return app_verdict();
}
