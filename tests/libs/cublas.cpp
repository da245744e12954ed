// cuBLAS, levels 1 to 3 in four types, mixed-precision GEMM, batched, solvers of batches; against plain loops.
// Not here: 8-bit integers with 32-bit integer sums. cuBLAS has machine code alone for them: CUBLAS_STATUS_NOT_SUPPORTED where PTX is to be had.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.h"

static cublasHandle_t h;
using c32 = std::complex<float>;
using c64 = std::complex<double>;

template <class T> struct Traits;
template <> struct Traits<float> { using D = float; using W = double; static constexpr double eps = 1e-5; static constexpr cudaDataType type = CUDA_R_32F; };
template <> struct Traits<double> { using D = double; using W = double; static constexpr double eps = 1e-12; static constexpr cudaDataType type = CUDA_R_64F; };
template <> struct Traits<c32> { using D = cuComplex; using W = c64; static constexpr double eps = 1e-5; static constexpr cudaDataType type = CUDA_C_32F; };
template <> struct Traits<c64> { using D = cuDoubleComplex; using W = c64; static constexpr double eps = 1e-12; static constexpr cudaDataType type = CUDA_C_64F; };

template <class T> typename Traits<T>::D *dev(Buffer<T> &b) { return reinterpret_cast<typename Traits<T>::D *>(b.device); }
template <class T> const typename Traits<T>::D *one(const T &x) { return reinterpret_cast<const typename Traits<T>::D *>(&x); }

template <class T> T conj_of(T x) { return x; }
template <> c32 conj_of(c32 x) { return std::conj(x); }
template <> c64 conj_of(c64 x) { return std::conj(x); }

// op(A)[i, j] of a column-major matrix
template <class T> T at(const std::vector<T> &a, int ld, cublasOperation_t op, int i, int j)
{
    return op == CUBLAS_OP_N ? a[i + size_t(j) * ld] : op == CUBLAS_OP_T ? a[j + size_t(i) * ld] : conj_of(a[j + size_t(i) * ld]);
}

template <class T> std::vector<T> gemm_reference(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, T alpha, const std::vector<T> &a, int lda,
                                                 const std::vector<T> &b, int ldb, T beta, const std::vector<T> &c)
{
    using W = typename Traits<T>::W;
    std::vector<T> out(c);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            W sum = 0;
            for (int p = 0; p < k; p++)
                sum += W(at(a, lda, ta, i, p)) * W(at(b, ldb, tb, p, j));
            out[i + size_t(j) * m] = T(W(alpha) * sum + W(beta) * W(c[i + size_t(j) * m]));
        }
    return out;
}

static cublasStatus_t gemm(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const float *al, const float *a, int lda, const float *b, int ldb, const float *be, float *c) { return cublasSgemm(h, ta, tb, m, n, k, al, a, lda, b, ldb, be, c, m); }
static cublasStatus_t gemm(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const double *al, const double *a, int lda, const double *b, int ldb, const double *be, double *c) { return cublasDgemm(h, ta, tb, m, n, k, al, a, lda, b, ldb, be, c, m); }
static cublasStatus_t gemm(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const cuComplex *al, const cuComplex *a, int lda, const cuComplex *b, int ldb, const cuComplex *be, cuComplex *c) { return cublasCgemm(h, ta, tb, m, n, k, al, a, lda, b, ldb, be, c, m); }
static cublasStatus_t gemm(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const cuDoubleComplex *al, const cuDoubleComplex *a, int lda, const cuDoubleComplex *b, int ldb, const cuDoubleComplex *be, cuDoubleComplex *c) { return cublasZgemm(h, ta, tb, m, n, k, al, a, lda, b, ldb, be, c, m); }

template <class T> static void gemms(const char *what)
{
    const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    const int shapes[][3] = {{64, 64, 64}, {33, 17, 21}, {1, 40, 8}};
    T alpha, beta;
    randomise(alpha);
    randomise(beta);
    for (const auto &s : shapes)
        for (int i = 0; i < 9; i++) {
            int m = s[0], n = s[1], k = s[2];
            cublasOperation_t ta = ops[i % 3], tb = ops[i / 3];
            int lda = ta == CUBLAS_OP_N ? m : k, ldb = tb == CUBLAS_OP_N ? k : n;
            Buffer<T> a(random_vector<T>(size_t(m) * k)), b(random_vector<T>(size_t(k) * n)), c(random_vector<T>(size_t(m) * n));
            auto want = gemm_reference(ta, tb, m, n, k, alpha, a.host, lda, b.host, ldb, beta, c.host);
            OK(gemm(ta, tb, m, n, k, one(alpha), dev(a), lda, dev(b), ldb, one(beta), dev(c)));
            close_to(c.down(), want, Traits<T>::eps, what);
        }
}

// ---- level 1
static void level1()
{
    const int n = 1000;
    Buffer<float> x(random_vector<float>(n)), y(random_vector<float>(n));
    Buffer<double> u(random_vector<double>(n)), v(random_vector<double>(n));
    Buffer<c32> z(random_vector<c32>(n)), w(random_vector<c32>(n));
    double dot = 0, norm = 0, sum = 0;
    c64 zdot = 0;
    int largest = 0, smallest = 0;
    for (int i = 0; i < n; i++) {
        dot += double(x.host[i]) * y.host[i];
        norm += u.host[i] * u.host[i];
        sum += std::fabs(x.host[i]);
        zdot += std::conj(c64(z.host[i])) * c64(w.host[i]);
        if (std::fabs(x.host[i]) > std::fabs(x.host[largest])) largest = i;
        if (std::fabs(x.host[i]) < std::fabs(x.host[smallest])) smallest = i;
    }
    float f = 0;
    double d = 0;
    c32 c;
    int at = 0;
    OK(cublasSdot(h, n, x, 1, y, 1, &f));
    check(std::fabs(f - dot) < 1e-3, "sdot");
    OK(cublasDnrm2(h, n, u, 1, &d));
    check(std::fabs(d - std::sqrt(norm)) < 1e-10, "dnrm2");
    OK(cublasSasum(h, n, x, 1, &f));
    check(std::fabs(f - sum) < 1e-2, "sasum");
    OK(cublasCdotc(h, n, dev(z), 1, dev(w), 1, reinterpret_cast<cuComplex *>(&c)));
    check(std::abs(c64(c) - zdot) < 1e-3, "cdotc");
    OK(cublasIsamax(h, n, x, 1, &at));
    check(at == largest + 1, "isamax");
    OK(cublasIsamin(h, n, x, 1, &at));
    check(at == smallest + 1, "isamin");
    std::vector<float> want(n);
    for (int i = 0; i < n; i++) want[i] = 0.5f * x.host[i] + y.host[i];
    f = 0.5f;
    OK(cublasSaxpy(h, n, &f, x, 1, y, 1));
    close_to(y.down(), want, 1e-6, "saxpy");
    std::vector<double> scaled(u.host);
    for (int i = 0; i < n; i += 2) scaled[i] *= 3;
    d = 3;
    OK(cublasDscal(h, n / 2, &d, u, 2));
    close_to(u.down(), scaled, 1e-15, "dscal with a stride");
    std::vector<double> su(u.host), sv(v.host);
    OK(cublasDswap(h, n, u, 1, v, 1));
    close_to(u.down(), sv, 0, "dswap");
    close_to(v.down(), su, 0, "dswap");
    double cs = 0.6, sn = 0.8;
    for (int i = 0; i < n; i++) { double p = u.host[i], q = v.host[i]; su[i] = cs * p + sn * q; sv[i] = cs * q - sn * p; }
    OK(cublasDrot(h, n, u, 1, v, 1, &cs, &sn));
    close_to(u.down(), su, 1e-14, "drot");
    close_to(v.down(), sv, 1e-14, "drot");
    OK(cublasDcopy(h, n, u, 1, v, 1));
    close_to(v.down(), su, 1e-14, "dcopy");
}

// ---- level 2
static void level2()
{
    const int m = 70, n = 45;
    Buffer<float> a(random_vector<float>(m * n)), x(random_vector<float>(n)), y(random_vector<float>(m));
    float al = 1.5f, be = -0.5f;
    std::vector<double> want(m);
    for (int i = 0; i < m; i++) {
        double s = 0;
        for (int j = 0; j < n; j++) s += double(a.host[i + j * m]) * x.host[j];
        want[i] = al * s + be * y.host[i];
    }
    OK(cublasSgemv(h, CUBLAS_OP_N, m, n, &al, a, m, x, 1, &be, y, 1));
    close_to(y.down(), want, 1e-5, "sgemv");
    std::vector<double> wt(n);
    for (int j = 0; j < n; j++) {
        double s = 0;
        for (int i = 0; i < m; i++) s += double(a.host[i + j * m]) * y.host[i];
        wt[j] = al * s + be * x.host[j];
    }
    OK(cublasSgemv(h, CUBLAS_OP_T, m, n, &al, a, m, y, 1, &be, x, 1));
    close_to(x.down(), wt, 1e-5, "sgemv transposed");
    std::vector<double> ger(m * n);
    for (int j = 0; j < n; j++) for (int i = 0; i < m; i++) ger[i + j * m] = a.host[i + j * m] + al * double(y.host[i]) * x.host[j];
    OK(cublasSger(h, m, n, &al, y, 1, x, 1, a, m));
    close_to(a.down(), ger, 1e-5, "sger");

    const int k = 50;
    Buffer<double> s(random_vector<double>(k * k)), b(random_vector<double>(k)), r(random_vector<double>(k));
    for (int i = 0; i < k; i++) s.host[i + i * k] += 10;
    s.up();
    std::vector<double> sy(k, 0.0), rhs(b.host);
    for (int i = 0; i < k; i++) for (int j = 0; j < k; j++) sy[i] += (i >= j ? s.host[i + j * k] : s.host[j + i * k]) * b.host[j];
    double one_ = 1, zero = 0;
    OK(cublasDsymv(h, CUBLAS_FILL_MODE_LOWER, k, &one_, s, k, b, 1, &zero, r, 1));
    close_to(r.down(), sy, 1e-12, "dsymv");
    std::vector<double> tr(k, 0.0);
    for (int i = 0; i < k; i++) for (int j = 0; j <= i; j++) tr[i] += s.host[i + j * k] * b.host[j];
    OK(cublasDtrmv(h, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, k, s, k, b, 1));
    close_to(b.down(), tr, 1e-12, "dtrmv");
    OK(cublasDtrsv(h, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, k, s, k, b, 1));
    close_to(b.down(), rhs, 1e-10, "dtrsv");
}

// ---- level 3 beside gemm
static void level3()
{
    const int n = 48, m = 30;
    double al = 0.75, be = 0.25;
    Buffer<double> a(random_vector<double>(n * n)), b(random_vector<double>(n * m)), c(random_vector<double>(n * n));
    for (int i = 0; i < n; i++) a.host[i + i * n] += 10;
    a.up();
    std::vector<double> want(c.host);
    for (int j = 0; j < n; j++) for (int i = j; i < n; i++) {
        double s = 0;
        for (int p = 0; p < m; p++) s += b.host[i + p * n] * b.host[j + p * n];
        want[i + j * n] = al * s + be * c.host[i + j * n];
    }
    OK(cublasDsyrk(h, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, m, &al, b, n, &be, c, n));
    close_to(c.down(), want, 1e-12, "dsyrk");
    std::vector<double> x(b.host), prod(n * m, 0.0);
    for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) for (int p = 0; p <= i; p++) prod[i + j * n] += a.host[i + p * n] * b.host[p + j * n];
    Buffer<double> out(n * m);
    double one_ = 1;
    OK(cublasDtrmm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, n, m, &one_, a, n, b, n, out, n));
    close_to(out.down(), prod, 1e-12, "dtrmm");
    OK(cublasDtrsm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, n, m, &one_, a, n, out, n));
    close_to(out.down(), x, 1e-10, "dtrsm");
    std::vector<double> sym(n * m, 0.0);
    for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) for (int p = 0; p < n; p++) sym[i + j * n] += (i >= p ? a.host[i + p * n] : a.host[p + i * n]) * b.host[p + j * n];
    double zero = 0;
    OK(cublasDsymm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, n, m, &one_, a, n, b, n, &zero, out, n));
    close_to(out.down(), sym, 1e-12, "dsymm");
    std::vector<double> tr(n * m);
    Buffer<double> t(n * m);
    for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) tr[j + i * m] = al * b.host[i + j * n];
    OK(cublasDgeam(h, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &al, b, n, &zero, t, m, t, m));
    close_to(t.down(), tr, 1e-15, "dgeam transposes");
    Buffer<c32> g(random_vector<c32>(n * m)), hc(n * n);
    std::vector<c64> her(n * n);
    for (int j = 0; j < n; j++) for (int i = j; i < n; i++) for (int p = 0; p < m; p++) her[i + j * n] += c64(g.host[i + p * n]) * std::conj(c64(g.host[j + p * n]));
    float f1 = 1, f0 = 0;
    OK(cublasCherk(h, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, m, &f1, dev(g), n, &f0, dev(hc), n));
    close_to(hc.down(), her, 1e-5, "cherk");
}

// ---- other types, through cublasGemmEx
template <class A, class C> static void gemm_ex(const char *what, cudaDataType ta, cudaDataType tc, cublasComputeType_t compute, double bound, int k = 80)
{
    const int m = 64, n = 48;
    std::vector<A> a(m * k), b(k * n);
    std::vector<double> want(m * n);
    for (auto &x : a) x = A(float(std::lround(uniform() * 8)) / 2);
    for (auto &x : b) x = A(float(std::lround(uniform() * 8)) / 2);
    for (int j = 0; j < n; j++) for (int i = 0; i < m; i++) for (int p = 0; p < k; p++) want[i + j * m] += double(float(a[i * k + p])) * double(float(b[p + j * k]));
    Buffer<A> da(a), db(b);
    Buffer<C> dc(m * n);
    float one_ = 1, zero = 0;
    __half hone = 1.0f, hzero = 0.0f;
    int ione = 1, izero = 0;
    const void *al = compute == CUBLAS_COMPUTE_16F ? (const void *)&hone : compute == CUBLAS_COMPUTE_32I ? (const void *)&ione : &one_;
    const void *be = compute == CUBLAS_COMPUTE_16F ? (const void *)&hzero : compute == CUBLAS_COMPUTE_32I ? (const void *)&izero : &zero;
    cublasStatus_t rc = cublasGemmEx(h, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, al, da, ta, k, db, ta, k, be, dc, tc, m, compute, CUBLAS_GEMM_DEFAULT);
    if (rc != CUBLAS_STATUS_SUCCESS) {
        std::printf("%s: cublasGemmEx gives %d\n", what, rc);
        check(false, what);
        return;
    }
    std::vector<double> got(m * n);
    dc.down();
    for (int i = 0; i < m * n; i++) got[i] = double(float(dc.host[i]));
    close_to(got, want, bound, what);
}

static void batched()
{
    const int m = 20, n = 24, k = 16, count = 7;
    float al = 1, be = 0;
    Buffer<float> a(random_vector<float>(m * k * count)), b(random_vector<float>(k * n * count)), c(m * n * count), c2(m * n * count);
    std::vector<double> want(m * n * count);
    for (int q = 0; q < count; q++) for (int j = 0; j < n; j++) for (int i = 0; i < m; i++) for (int p = 0; p < k; p++)
        want[q * m * n + i + j * m] += double(a.host[q * m * k + i + p * m]) * b.host[q * k * n + p + j * k];
    OK(cublasSgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &al, a, m, m * k, b, k, k * n, &be, c, m, m * n, count));
    close_to(c.down(), want, 1e-5, "sgemmStridedBatched");
    std::vector<float *> pa, pb, pc;
    for (int q = 0; q < count; q++) { pa.push_back(a.device + q * m * k); pb.push_back(b.device + q * k * n); pc.push_back(c2.device + q * m * n); }
    Buffer<float *> da(pa), db(pb), dc(pc);
    OK(cublasSgemmBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &al, da, m, db, k, &be, dc, m, count));
    close_to(c2.down(), want, 1e-5, "sgemmBatched");

    const int s = 12;
    std::vector<double> mats = random_vector<double>(s * s * count);
    for (int q = 0; q < count; q++) for (int i = 0; i < s; i++) mats[q * s * s + i * (s + 1)] += 5;
    Buffer<double> lu(mats), inv(s * s * count);
    Buffer<int> pivots(s * count), info(count);
    std::vector<double *> pl, pi;
    for (int q = 0; q < count; q++) { pl.push_back(lu.device + q * s * s); pi.push_back(inv.device + q * s * s); }
    Buffer<double *> dl(pl), di(pi);
    OK(cublasDgetrfBatched(h, s, dl, s, pivots, info, count));
    OK(cublasDgetriBatched(h, s, dl, s, pivots, di, s, info, count));
    inv.down();
    std::vector<double> id(s * s * count), prod(s * s * count);
    for (int q = 0; q < count; q++) for (int j = 0; j < s; j++) for (int i = 0; i < s; i++) {
        id[q * s * s + i + j * s] = i == j;
        for (int p = 0; p < s; p++) prod[q * s * s + i + j * s] += mats[q * s * s + i + p * s] * inv.host[q * s * s + p + j * s];
    }
    close_to(prod, id, 1e-10, "getrfBatched and getriBatched");
}

int main()
{
    OK(cublasCreate(&h));
    gemms<float>("sgemm");
    gemms<double>("dgemm");
    gemms<c32>("cgemm");
    gemms<c64>("zgemm");
    level1();
    level2();
    level3();
    gemm_ex<__half, __half>("f16 gemm", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 2e-3);
    gemm_ex<__half, __half>("f16 gemm, f16 sums", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, 2e-2);
    gemm_ex<__half, float>("f16 gemm to f32", CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-6);
    gemm_ex<__nv_bfloat16, __nv_bfloat16>("bf16 gemm", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 1e-2);
    gemm_ex<__nv_bfloat16, float>("bf16 gemm to f32", CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-6);
    gemm_ex<float, float>("tf32 gemm", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 1e-3);
    gemm_ex<int8_t, float>("s8 gemm to f32", CUDA_R_8I, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-6);
    gemm_ex<int8_t, int32_t>("s8 gemm to s32", CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, 0, 512);       /* shorter sums have machine code only */
    batched();
    OK(cublasDestroy(h));
    return report();
}
