// cuSPARSE: conversion, SpMV in three formats, SpMM, SDDMM, SpGEMM, SpSV; against dense loops.
#include <cusparse.h>

#include "check.h"

static cusparseHandle_t h;

template <class T> struct Csr { int rows, cols; std::vector<int> row, col; std::vector<T> val; };

template <class T> static Csr<T> sparse(int rows, int cols, double density)
{
    Csr<T> m{rows, cols, {0}, {}, {}};
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < cols; j++) if (uniform() < 2 * density - 1) { m.col.push_back(j); m.val.push_back(T(uniform())); }
        m.row.push_back(int(m.col.size()));
    }
    return m;
}

template <class T> static std::vector<double> dense(const Csr<T> &m) // row-major
{
    std::vector<double> d(size_t(m.rows) * m.cols);
    for (int i = 0; i < m.rows; i++) for (int p = m.row[i]; p < m.row[i + 1]; p++) d[size_t(i) * m.cols + m.col[p]] += double(m.val[p]);
    return d;
}

template <class T> constexpr cudaDataType type_of() { return sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F; }
template <class T> constexpr double eps() { return sizeof(T) == 4 ? 1e-5 : 1e-13; }

template <class T> struct DeviceCsr {
    Buffer<int> row, col;
    Buffer<T> val;
    cusparseSpMatDescr_t d;
    explicit DeviceCsr(const Csr<T> &m) : row(m.row), col(m.col), val(m.val)
    {
        OK(cusparseCreateCsr(&d, m.rows, m.cols, m.col.size(), row, col, val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type_of<T>()));
    }
    ~DeviceCsr() { cusparseDestroySpMat(d); }
};

template <class T> static void spmv(cusparseSpMatDescr_t a, const std::vector<double> &d, int rows, int cols, cusparseOperation_t op, cusparseSpMVAlg_t alg, const char *what)
{
    int nx = op == CUSPARSE_OPERATION_NON_TRANSPOSE ? cols : rows, ny = rows + cols - nx;
    Buffer<T> x(random_vector<T>(nx)), y(random_vector<T>(ny));
    T al = T(1.5), be = T(0.5);
    std::vector<double> want(ny);
    for (int i = 0; i < ny; i++) {
        for (int j = 0; j < nx; j++) want[i] += (op == CUSPARSE_OPERATION_NON_TRANSPOSE ? d[size_t(i) * cols + j] : d[size_t(j) * cols + i]) * x.host[j];
        want[i] = al * want[i] + be * y.host[i];
    }
    cusparseDnVecDescr_t vx, vy;
    OK(cusparseCreateDnVec(&vx, nx, x, type_of<T>()));
    OK(cusparseCreateDnVec(&vy, ny, y, type_of<T>()));
    size_t room = 0;
    OK(cusparseSpMV_bufferSize(h, op, &al, a, vx, &be, vy, type_of<T>(), alg, &room));
    Buffer<char> work(room);
    OK(cusparseSpMV(h, op, &al, a, vx, &be, vy, type_of<T>(), alg, work));
    close_to(y.down(), want, eps<T>(), what);
    cusparseDestroyDnVec(vx);
    cusparseDestroyDnVec(vy);
}

template <class T> static void products()
{
    const int m = 120, n = 90, k = 33;
    Csr<T> a = sparse<T>(m, n, 0.1);
    std::vector<double> d = dense(a);
    DeviceCsr<T> da(a);
    spmv<T>(da.d, d, m, n, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_SPMV_ALG_DEFAULT, "SpMV CSR");
    spmv<T>(da.d, d, m, n, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_SPMV_CSR_ALG2, "SpMV CSR, algorithm 2");
    spmv<T>(da.d, d, m, n, CUSPARSE_OPERATION_TRANSPOSE, CUSPARSE_SPMV_ALG_DEFAULT, "SpMV CSR transposed");
    std::vector<int> rows;
    for (int i = 0; i < m; i++) for (int p = a.row[i]; p < a.row[i + 1]; p++) rows.push_back(i);
    Buffer<int> drows(rows);
    cusparseSpMatDescr_t coo, csc;
    OK(cusparseCreateCoo(&coo, m, n, a.col.size(), drows, da.col, da.val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type_of<T>()));
    spmv<T>(coo, d, m, n, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_SPMV_ALG_DEFAULT, "SpMV COO");
    Buffer<int> crow(a.col.size()), ccol(n + 1);
    Buffer<T> cval(a.col.size());
    size_t room = 0;
    OK(cusparseCsr2cscEx2_bufferSize(h, m, n, int(a.col.size()), da.val, da.row, da.col, cval, ccol, crow, type_of<T>(), CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, &room));
    Buffer<char> work(room);
    OK(cusparseCsr2cscEx2(h, m, n, int(a.col.size()), da.val, da.row, da.col, cval, ccol, crow, type_of<T>(), CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, work));
    OK(cusparseCreateCsc(&csc, m, n, a.col.size(), ccol, crow, cval, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type_of<T>()));
    spmv<T>(csc, d, m, n, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_SPMV_ALG_DEFAULT, "SpMV CSC");

    // SpMM, column-major B and C
    Buffer<T> b(random_vector<T>(size_t(n) * k)), c(size_t(m) * k);
    std::vector<double> want(size_t(m) * k);
    for (int j = 0; j < k; j++) for (int i = 0; i < m; i++) for (int p = 0; p < n; p++) want[i + size_t(j) * m] += d[size_t(i) * n + p] * b.host[p + size_t(j) * n];
    cusparseDnMatDescr_t db, dc;
    T one = 1, zero = 0;
    OK(cusparseCreateDnMat(&db, n, k, n, b, type_of<T>(), CUSPARSE_ORDER_COL));
    OK(cusparseCreateDnMat(&dc, m, k, m, c, type_of<T>(), CUSPARSE_ORDER_COL));
    for (cusparseSpMatDescr_t mat : {da.d, coo}) {
        OK(cusparseSpMM_bufferSize(h, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, mat, db, &zero, dc, type_of<T>(), CUSPARSE_SPMM_ALG_DEFAULT, &room));
        Buffer<char> w(room);
        OK(cusparseSpMM(h, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, mat, db, &zero, dc, type_of<T>(), CUSPARSE_SPMM_ALG_DEFAULT, w));
        close_to(c.down(), want, eps<T>(), mat == coo ? "SpMM COO" : "SpMM CSR");
    }

    // Dense to sparse and back
    Buffer<T> full(std::vector<T>(d.begin(), d.end())), again(d.size());
    cusparseDnMatDescr_t dd, dr;
    cusparseSpMatDescr_t made;
    Buffer<int> mrow(m + 1);
    OK(cusparseCreateDnMat(&dd, m, n, n, full, type_of<T>(), CUSPARSE_ORDER_ROW));
    OK(cusparseCreateDnMat(&dr, m, n, n, again, type_of<T>(), CUSPARSE_ORDER_ROW));
    OK(cusparseCreateCsr(&made, m, n, 0, mrow, nullptr, nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type_of<T>()));
    OK(cusparseDenseToSparse_bufferSize(h, dd, made, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, &room));
    Buffer<char> w2(room);
    OK(cusparseDenseToSparse_analysis(h, dd, made, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, w2));
    int64_t r_, c_, nnz;
    OK(cusparseSpMatGetSize(made, &r_, &c_, &nnz));
    check(nnz == int64_t(a.col.size()), "DenseToSparse counts");
    Buffer<int> mcol(nnz);
    Buffer<T> mval(nnz);
    OK(cusparseCsrSetPointers(made, mrow, mcol, mval));
    OK(cusparseDenseToSparse_convert(h, dd, made, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, w2));
    check(mcol.down() == a.col && mrow.down() == a.row, "DenseToSparse");
    OK(cusparseSparseToDense_bufferSize(h, made, dr, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, &room));
    Buffer<char> w3(room);
    OK(cusparseSparseToDense(h, made, dr, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, w3));
    close_to(again.down(), d, 0, "SparseToDense");
}

template <class T> static void spgemm()
{
    const int m = 60, k = 50, n = 70;
    Csr<T> a = sparse<T>(m, k, 0.1), b = sparse<T>(k, n, 0.1);
    std::vector<double> x = dense(a), y = dense(b), want(size_t(m) * n);
    for (int i = 0; i < m; i++) for (int p = 0; p < k; p++) for (int j = 0; j < n; j++) want[size_t(i) * n + j] += x[size_t(i) * k + p] * y[size_t(p) * n + j];
    DeviceCsr<T> da(a), db(b);
    cusparseSpMatDescr_t dc;
    cusparseSpGEMMDescr_t g;
    T one = 1, zero = 0;
    auto N = CUSPARSE_OPERATION_NON_TRANSPOSE;
    auto alg = CUSPARSE_SPGEMM_DEFAULT;
    OK(cusparseCreateCsr(&dc, m, n, 0, nullptr, nullptr, nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type_of<T>()));
    OK(cusparseSpGEMM_createDescr(&g));
    size_t n1 = 0, n2 = 0;
    OK(cusparseSpGEMM_workEstimation(h, N, N, &one, da.d, db.d, &zero, dc, type_of<T>(), alg, g, &n1, nullptr));
    Buffer<char> w1(n1);
    OK(cusparseSpGEMM_workEstimation(h, N, N, &one, da.d, db.d, &zero, dc, type_of<T>(), alg, g, &n1, w1));
    OK(cusparseSpGEMM_compute(h, N, N, &one, da.d, db.d, &zero, dc, type_of<T>(), alg, g, &n2, nullptr));
    Buffer<char> w2(n2);
    OK(cusparseSpGEMM_compute(h, N, N, &one, da.d, db.d, &zero, dc, type_of<T>(), alg, g, &n2, w2));
    int64_t rows, cols, nnz;
    OK(cusparseSpMatGetSize(dc, &rows, &cols, &nnz));
    Csr<T> c{m, n, std::vector<int>(m + 1), std::vector<int>(nnz), std::vector<T>(nnz)};
    Buffer<int> row(m + 1), col(nnz);
    Buffer<T> val(nnz);
    OK(cusparseCsrSetPointers(dc, row, col, val));
    OK(cusparseSpGEMM_copy(h, N, N, &one, da.d, db.d, &zero, dc, type_of<T>(), alg, g));
    c.row = row.down();
    c.col = col.down();
    c.val = val.down();
    close_to(dense(c), want, eps<T>(), "SpGEMM");
    cusparseSpGEMM_destroyDescr(g);
}

template <class T> static void triangular()
{
    const int n = 80;
    Csr<T> a{n, n, {0}, {}, {}};
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) if (uniform() < -0.8) { a.col.push_back(j); a.val.push_back(T(uniform())); }
        a.col.push_back(i);
        a.val.push_back(T(4 + uniform()));
        a.row.push_back(int(a.col.size()));
    }
    std::vector<double> d = dense(a), want(n);
    DeviceCsr<T> da(a);
    Buffer<T> x(random_vector<T>(n)), y(n);
    for (int i = 0; i < n; i++) {
        double s = x.host[i];
        for (int j = 0; j < i; j++) s -= d[size_t(i) * n + j] * want[j];
        want[i] = s / d[size_t(i) * n + i];
    }
    cusparseFillMode_t lower = CUSPARSE_FILL_MODE_LOWER;
    cusparseDiagType_t diag = CUSPARSE_DIAG_TYPE_NON_UNIT;
    OK(cusparseSpMatSetAttribute(da.d, CUSPARSE_SPMAT_FILL_MODE, &lower, sizeof lower));
    OK(cusparseSpMatSetAttribute(da.d, CUSPARSE_SPMAT_DIAG_TYPE, &diag, sizeof diag));
    cusparseDnVecDescr_t vx, vy;
    cusparseSpSVDescr_t s;
    T one = 1;
    size_t room = 0;
    auto N = CUSPARSE_OPERATION_NON_TRANSPOSE;
    OK(cusparseCreateDnVec(&vx, n, x, type_of<T>()));
    OK(cusparseCreateDnVec(&vy, n, y, type_of<T>()));
    OK(cusparseSpSV_createDescr(&s));
    OK(cusparseSpSV_bufferSize(h, N, &one, da.d, vx, vy, type_of<T>(), CUSPARSE_SPSV_ALG_DEFAULT, s, &room));
    Buffer<char> work(room);
    OK(cusparseSpSV_analysis(h, N, &one, da.d, vx, vy, type_of<T>(), CUSPARSE_SPSV_ALG_DEFAULT, s, work));
    OK(cusparseSpSV_solve(h, N, &one, da.d, vx, vy, type_of<T>(), CUSPARSE_SPSV_ALG_DEFAULT, s));
    close_to(y.down(), want, eps<T>() * 10, "SpSV");
}

int main()
{
    OK(cusparseCreate(&h));
    products<float>();
    products<double>();
    spgemm<float>();
    spgemm<double>();
    triangular<float>();
    triangular<double>();
    OK(cusparseDestroy(h));
    return report();
}
