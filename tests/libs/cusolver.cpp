// cuSOLVER: getrf/getrs, potrf/potrs, geqrf/ormqr, syevd, heevd, gesvd, gesvdj, in float, double and complex; what they give must be what they claim.
#include <cublas_v2.h>
#include <cusolverDn.h>

#include "check.h"

static cusolverDnHandle_t h;
using c64 = std::complex<double>;

// C = A * B, column-major
template <class T> static std::vector<T> times(const std::vector<T> &a, const std::vector<T> &b, int m, int k, int n)
{
    std::vector<T> c(size_t(m) * n);
    for (int j = 0; j < n; j++) for (int p = 0; p < k; p++) for (int i = 0; i < m; i++) c[i + size_t(j) * m] += a[i + size_t(p) * m] * b[p + size_t(j) * k];
    return c;
}
template <class T> static std::vector<T> transposed(const std::vector<T> &a, int m, int n)
{
    std::vector<T> t(a.size());
    for (int j = 0; j < n; j++) for (int i = 0; i < m; i++) t[j + size_t(i) * n] = a[i + size_t(j) * m];
    return t;
}
template <class T> static std::vector<double> wide(const std::vector<T> &v) { return {v.begin(), v.end()}; }
static std::vector<double> identity(int n)
{
    std::vector<double> e(size_t(n) * n);
    for (int i = 0; i < n; i++) e[i * size_t(n + 1)] = 1;
    return e;
}

template <class T> struct S;
template <> struct S<float> {
    static constexpr double eps = 2e-4;
    static constexpr auto getrf_n = cusolverDnSgetrf_bufferSize; static constexpr auto getrf = cusolverDnSgetrf; static constexpr auto getrs = cusolverDnSgetrs;
    static constexpr auto potrf_n = cusolverDnSpotrf_bufferSize; static constexpr auto potrf = cusolverDnSpotrf; static constexpr auto potrs = cusolverDnSpotrs;
    static constexpr auto geqrf_n = cusolverDnSgeqrf_bufferSize; static constexpr auto geqrf = cusolverDnSgeqrf;
    static constexpr auto orgqr_n = cusolverDnSorgqr_bufferSize; static constexpr auto orgqr = cusolverDnSorgqr;
    static constexpr auto syevd_n = cusolverDnSsyevd_bufferSize; static constexpr auto syevd = cusolverDnSsyevd;
    static constexpr auto gesvd_n = cusolverDnSgesvd_bufferSize; static constexpr auto gesvd = cusolverDnSgesvd;
    static constexpr auto gesvdj_n = cusolverDnSgesvdj_bufferSize; static constexpr auto gesvdj = cusolverDnSgesvdj;
};
template <> struct S<double> {
    static constexpr double eps = 1e-10;
    static constexpr auto getrf_n = cusolverDnDgetrf_bufferSize; static constexpr auto getrf = cusolverDnDgetrf; static constexpr auto getrs = cusolverDnDgetrs;
    static constexpr auto potrf_n = cusolverDnDpotrf_bufferSize; static constexpr auto potrf = cusolverDnDpotrf; static constexpr auto potrs = cusolverDnDpotrs;
    static constexpr auto geqrf_n = cusolverDnDgeqrf_bufferSize; static constexpr auto geqrf = cusolverDnDgeqrf;
    static constexpr auto orgqr_n = cusolverDnDorgqr_bufferSize; static constexpr auto orgqr = cusolverDnDorgqr;
    static constexpr auto syevd_n = cusolverDnDsyevd_bufferSize; static constexpr auto syevd = cusolverDnDsyevd;
    static constexpr auto gesvd_n = cusolverDnDgesvd_bufferSize; static constexpr auto gesvd = cusolverDnDgesvd;
    static constexpr auto gesvdj_n = cusolverDnDgesvdj_bufferSize; static constexpr auto gesvdj = cusolverDnDgesvdj;
};

static void info_is_zero(Buffer<int> &info, const char *what) { check(info.down()[0] == 0, what); }

template <class T> static void solve(int n)
{
    const int rhs = 3;
    Buffer<T> a(random_vector<T>(size_t(n) * n)), x(random_vector<T>(size_t(n) * rhs));
    std::vector<double> a0 = wide(a.host), b0 = wide(x.host);
    Buffer<int> pivots(n), info(1);
    int room = 0;
    OK(S<T>::getrf_n(h, n, n, a, n, &room));
    Buffer<T> work(room);
    OK(S<T>::getrf(h, n, n, a, n, work, pivots, info));
    info_is_zero(info, "getrf info");
    OK(S<T>::getrs(h, CUBLAS_OP_N, n, rhs, a, n, pivots, x, n, info));
    close_to(times(a0, wide(x.down()), n, n, rhs), b0, S<T>::eps * 10, "getrf, getrs");

    std::vector<double> spd = times(a0, transposed(a0, n, n), n, n, n);
    for (int i = 0; i < n; i++) spd[i * size_t(n + 1)] += 1;
    Buffer<T> s(std::vector<T>(spd.begin(), spd.end())), y(std::vector<T>(b0.begin(), b0.end()));
    OK(S<T>::potrf_n(h, CUBLAS_FILL_MODE_LOWER, n, s, n, &room));
    Buffer<T> w2(room);
    OK(S<T>::potrf(h, CUBLAS_FILL_MODE_LOWER, n, s, n, w2, room, info));
    info_is_zero(info, "potrf info");
    OK(S<T>::potrs(h, CUBLAS_FILL_MODE_LOWER, n, rhs, s, n, y, n, info));
    close_to(times(spd, wide(y.down()), n, n, rhs), b0, S<T>::eps * 10, "potrf, potrs");
}

template <class T> static void qr(int m, int n)
{
    Buffer<T> a(random_vector<T>(size_t(m) * n)), tau(n);
    std::vector<double> a0 = wide(a.host), r(size_t(n) * n);
    Buffer<int> info(1);
    int n1 = 0, n2 = 0;
    OK(S<T>::geqrf_n(h, m, n, a, m, &n1));
    OK(S<T>::orgqr_n(h, m, n, n, a, m, tau, &n2));
    Buffer<T> work(std::max(n1, n2));
    OK(S<T>::geqrf(h, m, n, a, m, tau, work, n1, info));
    info_is_zero(info, "geqrf info");
    a.down();
    for (int j = 0; j < n; j++) for (int i = 0; i <= j; i++) r[i + size_t(j) * n] = double(a.host[i + size_t(j) * m]);
    OK(S<T>::orgqr(h, m, n, n, a, m, tau, work, n2, info));
    std::vector<double> q = wide(a.down());
    close_to(times(q, r, m, n, n), a0, S<T>::eps, "geqrf: Q R");
    close_to(times(transposed(q, m, n), q, n, m, n), identity(n), S<T>::eps, "orgqr: Q'Q");
}

template <class T> static void eigen(int n)
{
    std::vector<T> a0 = random_vector<T>(size_t(n) * n);
    for (int j = 0; j < n; j++) for (int i = 0; i < j; i++) a0[i + size_t(j) * n] = a0[j + size_t(i) * n];
    Buffer<T> a(a0), w(n);
    Buffer<int> info(1);
    int room = 0;
    OK(S<T>::syevd_n(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, n, a, n, w, &room));
    Buffer<T> work(room);
    OK(S<T>::syevd(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, n, a, n, w, work, room, info));
    info_is_zero(info, "syevd info");
    std::vector<double> v = wide(a.down()), scaled(v);
    w.down();
    for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) scaled[i + size_t(j) * n] *= double(w.host[j]);
    close_to(times(wide(a0), v, n, n, n), scaled, S<T>::eps, "syevd: A V");
    close_to(times(transposed(v, n, n), v, n, n, n), identity(n), S<T>::eps, "syevd: V'V");
}

template <class T> static std::vector<double> usv(const std::vector<T> &u, const std::vector<T> &s, const std::vector<double> &vt, int m, int n)
{
    std::vector<double> us(size_t(m) * n);
    for (int j = 0; j < n; j++) for (int i = 0; i < m; i++) us[i + size_t(j) * m] = double(u[i + size_t(j) * m]) * double(s[j]);
    return times(us, vt, m, n, n);
}

template <class T> static void svd(int m, int n)
{
    std::vector<T> a0 = random_vector<T>(size_t(m) * n);
    Buffer<T> a(a0), s(n), u(size_t(m) * m), vt(size_t(n) * n), rwork(n);
    Buffer<int> info(1);
    int room = 0;
    OK(S<T>::gesvd_n(h, m, n, &room));
    Buffer<T> work(room);
    OK(S<T>::gesvd(h, 'A', 'A', m, n, a, m, s, u, m, vt, n, work, room, rwork, info));
    info_is_zero(info, "gesvd info");
    close_to(usv(u.down(), s.down(), wide(vt.down()), m, n), wide(a0), S<T>::eps, "gesvd: U S V'");
    gesvdjInfo_t params;
    Buffer<T> b(a0), v(size_t(n) * n);
    OK(cusolverDnCreateGesvdjInfo(&params));
    OK(S<T>::gesvdj_n(h, CUSOLVER_EIG_MODE_VECTOR, 1, m, n, b, m, s, u, m, v, n, &room, params));
    Buffer<T> w2(room);
    OK(S<T>::gesvdj(h, CUSOLVER_EIG_MODE_VECTOR, 1, m, n, b, m, s, u, m, v, n, w2, room, info, params));
    info_is_zero(info, "gesvdj info");
    close_to(usv(u.down(), s.down(), transposed(wide(v.down()), n, n), m, n), wide(a0), S<T>::eps, "gesvdj: U S V'");
    cusolverDnDestroyGesvdjInfo(params);
}

static void hermitian(int n)
{
    std::vector<c64> a0 = random_vector<c64>(size_t(n) * n);
    for (int j = 0; j < n; j++) {
        a0[j * size_t(n + 1)] = a0[j * size_t(n + 1)].real();
        for (int i = 0; i < j; i++) a0[i + size_t(j) * n] = std::conj(a0[j + size_t(i) * n]);
    }
    Buffer<c64> a(a0);
    Buffer<double> w(n);
    Buffer<int> info(1);
    int room = 0;
    auto p = reinterpret_cast<cuDoubleComplex *>(a.device);
    OK(cusolverDnZheevd_bufferSize(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, n, p, n, w, &room));
    Buffer<c64> work(room);
    OK(cusolverDnZheevd(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, n, p, n, w, reinterpret_cast<cuDoubleComplex *>(work.device), room, info));
    info_is_zero(info, "heevd info");
    std::vector<c64> v(a.down()), scaled(v);
    w.down();
    for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) scaled[i + size_t(j) * n] *= w.host[j];
    close_to(times(a0, v, n, n, n), scaled, 1e-10, "heevd: A V");
}

int main()
{
    OK(cusolverDnCreate(&h));
    solve<float>(40);
    solve<double>(65);
    qr<float>(50, 30);
    qr<double>(70, 44);
    eigen<float>(24);
    eigen<double>(48);
    svd<float>(30, 20);
    svd<double>(40, 33);
    hermitian(20);
    OK(cusolverDnDestroy(h));
    return report();
}
