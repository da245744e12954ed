// cuBLASLt: matrix products in the types of cublasLtMatmul, with bias, activation and batches as epilogues.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "check.h"

static cublasLtHandle_t lt;
enum { M = 64, N = 48, K = 96 };

template <class T> static double value(T x) { return static_cast<double>(static_cast<float>(x)); }
template <> double value(double x) { return x; }

template <class S, class A, class C>
static void matmul(const char *what, cudaDataType ta, cudaDataType tc, cublasComputeType_t compute, cudaDataType ts, double bound, cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT, int batch = 1)
{
    std::vector<A> a(M * K * batch), b(K * N * batch);
    std::vector<C> bias(M);
    for (auto &x : a) x = A(static_cast<float>(std::lround(uniform() * 4)));
    for (auto &x : b) x = A(static_cast<float>(std::lround(uniform() * 4)));
    for (auto &x : bias) x = C(static_cast<float>(std::lround(uniform() * 8)));
    Buffer<A> da(a), db(b);
    Buffer<C> dc(M * N * batch), dbias(bias);
    std::vector<double> want(M * N * batch), got(M * N * batch);
    bool with_bias = epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS || epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
    for (int q = 0; q < batch; q++) for (int j = 0; j < N; j++) for (int i = 0; i < M; i++) {
        double s = 0;
        for (int p = 0; p < K; p++) s += value(a[q * M * K + i * K + p]) * value(b[q * K * N + p + j * K]);
        if (with_bias) s += value(bias[i]);
        if (epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS) s = s > 0 ? s : 0;
        if (epilogue == CUBLASLT_EPILOGUE_GELU_BIAS) s = 0.5 * s * (1 + std::tanh(0.7978845608028654 * (s + 0.044715 * s * s * s)));
        want[q * M * N + i + j * M] = s;
    }
    cublasLtMatmulDesc_t op;
    cublasLtMatrixLayout_t la, lb, lc;
    cublasLtMatmulPreference_t pref;
    cublasOperation_t t = CUBLAS_OP_T;
    OK(cublasLtMatmulDescCreate(&op, compute, ts));
    OK(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSA, &t, sizeof t));
    OK(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    C *pbias = dbias.device;
    if (with_bias) OK(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &pbias, sizeof pbias));
    OK(cublasLtMatrixLayoutCreate(&la, ta, K, M, K));
    OK(cublasLtMatrixLayoutCreate(&lb, ta, K, N, K));
    OK(cublasLtMatrixLayoutCreate(&lc, tc, M, N, M));
    const int64_t strides[] = {M * K, K * N, M * N};
    cublasLtMatrixLayout_t layouts[] = {la, lb, lc};
    for (int i = 0; i < 3 && batch > 1; i++) {
        OK(cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
        OK(cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &strides[i], sizeof strides[i]));
    }
    size_t room = 4 << 20;
    Buffer<char> workspace(room);
    OK(cublasLtMatmulPreferenceCreate(&pref));
    OK(cublasLtMatmulPreferenceSetAttribute(pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room));
    cublasLtMatmulHeuristicResult_t found;
    int n = 0;
    int rc = cublasLtMatmulAlgoGetHeuristic(lt, op, la, lb, lc, lc, pref, 1, &found, &n);
    if (rc || !n) {
        std::printf("%s: cublasLtMatmulAlgoGetHeuristic gives %d, %d algorithms\n", what, rc, n);
        check(false, what);
        return;
    }
    S one = S(1), zero = S(0);
    rc = cublasLtMatmul(lt, op, &one, da, la, db, lb, &zero, dc, lc, dc, lc, &found.algo, workspace, room, nullptr);
    if (rc) {
        std::printf("%s: cublasLtMatmul gives %d\n", what, rc);
        check(false, what);
        return;
    }
    dc.down();
    for (size_t i = 0; i < got.size(); i++) got[i] = value(dc.host[i]);
    close_to(got, want, bound, what);
    cublasLtMatmulPreferenceDestroy(pref);
    for (auto l : layouts) cublasLtMatrixLayoutDestroy(l);
    cublasLtMatmulDescDestroy(op);
}

int main()
{
    OK(cublasLtCreate(&lt));
    matmul<float, float, float>("f32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 1e-6);
    matmul<double, double, double>("f64", CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F, 1e-12);
    matmul<float, float, float>("tf32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, 1e-6);
    matmul<float, __half, __half>("f16", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 2e-3);
    matmul<float, __half, float>("f16 to f32", CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 1e-6);
    matmul<float, __nv_bfloat16, __nv_bfloat16>("bf16", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, 1e-2);
    matmul<float, __half, __half>("f16 relu", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 2e-3, CUBLASLT_EPILOGUE_RELU);
    matmul<float, __half, __half>("f16 bias", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 2e-3, CUBLASLT_EPILOGUE_BIAS);
    matmul<float, float, float>("f32 relu bias", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 1e-6, CUBLASLT_EPILOGUE_RELU_BIAS);
    matmul<float, float, float>("f32 gelu bias", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 1e-4, CUBLASLT_EPILOGUE_GELU_BIAS);
    matmul<float, __half, __half>("f16 batched", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 2e-3, CUBLASLT_EPILOGUE_DEFAULT, 3);
    matmul<float, __nv_fp8_e4m3, __nv_bfloat16>("e4m3 to bf16", CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, 1e-2);
    matmul<float, __nv_fp8_e4m3, float>("e4m3 to f32", CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 1e-6);
    OK(cublasLtDestroy(lt));
    return report();
}
