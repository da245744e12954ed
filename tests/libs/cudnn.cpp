// cuDNN: convolution (every forward algorithm that offers itself, backward data and filter), pooling, softmax, activations, batch and layer
// normalisation; against plain loops. NCHW, float.
#include <cudnn.h>

#include "check.h"

static cudnnHandle_t h;
enum { N = 2, C = 3, H = 10, W = 9, K = 4, R = 3, S = 3, P = H, Q = W }; // padding 1, stride 1
static const float one = 1, zero = 0;

static cudnnTensorDescriptor_t tensor(int n, int c, int y, int x)
{
    cudnnTensorDescriptor_t d;
    OK(cudnnCreateTensorDescriptor(&d));
    OK(cudnnSetTensor4dDescriptor(d, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n, c, y, x));
    return d;
}

static size_t at(int n, int c, int y, int x, int nc, int ny, int nx) { return ((size_t(n) * nc + c) * ny + y) * nx + x; }

static void convolution()
{
    Buffer<float> x(random_vector<float>(N * C * H * W)), w(random_vector<float>(K * C * R * S)), y(N * K * P * Q), dx(x.host.size()), dw(w.host.size());
    std::vector<double> fy(y.host.size()), fdx(x.host.size()), fdw(w.host.size());
    std::vector<float> dy = random_vector<float>(y.host.size());
    Buffer<float> ddy(dy);
    for (int n = 0; n < N; n++) for (int k = 0; k < K; k++) for (int p = 0; p < P; p++) for (int q = 0; q < Q; q++)
        for (int c = 0; c < C; c++) for (int r = 0; r < R; r++) for (int s = 0; s < S; s++) {
            int yy = p + r - 1, xx = q + s - 1;
            if (yy < 0 || yy >= H || xx < 0 || xx >= W) continue;
            size_t ix = at(n, c, yy, xx, C, H, W), iw = at(k, c, r, s, C, R, S), iy = at(n, k, p, q, K, P, Q);
            fy[iy] += double(x.host[ix]) * w.host[iw];
            fdx[ix] += double(dy[iy]) * w.host[iw];
            fdw[iw] += double(dy[iy]) * x.host[ix];
        }
    auto tx = tensor(N, C, H, W), ty = tensor(N, K, P, Q);
    cudnnFilterDescriptor_t tw;
    cudnnConvolutionDescriptor_t conv;
    OK(cudnnCreateFilterDescriptor(&tw));
    OK(cudnnSetFilter4dDescriptor(tw, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, K, C, R, S));
    OK(cudnnCreateConvolutionDescriptor(&conv));
    OK(cudnnSetConvolution2dDescriptor(conv, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    int tried = 0;
    char what[80];
    for (int a = 0; a < CUDNN_CONVOLUTION_FWD_ALGO_COUNT; a++) {
        auto algo = cudnnConvolutionFwdAlgo_t(a);
        size_t room = 0;
        if (cudnnGetConvolutionForwardWorkspaceSize(h, tx, tw, conv, ty, algo, &room)) continue;
        Buffer<char> work(room);
        std::snprintf(what, sizeof what, "convolution, algorithm %d", a);
        int rc = cudnnConvolutionForward(h, &one, tx, x, tw, w, conv, algo, work, room, &zero, ty, y);
        if (rc) { std::printf("%s gives %d\n", what, rc); check(false, what); continue; }
        close_to(y.down(), fy, 1e-4, what);
        tried++;
    }
    check(tried >= 3, "at least three algorithms forward");
    tried = 0;
    for (int a = 0; a < CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT; a++) {
        auto algo = cudnnConvolutionBwdDataAlgo_t(a);
        size_t room = 0;
        if (cudnnGetConvolutionBackwardDataWorkspaceSize(h, tw, ty, conv, tx, algo, &room)) continue;
        Buffer<char> work(room);
        std::snprintf(what, sizeof what, "backward data, algorithm %d", a);
        int rc = cudnnConvolutionBackwardData(h, &one, tw, w, ty, ddy, conv, algo, work, room, &zero, tx, dx);
        if (rc) { std::printf("%s gives %d\n", what, rc); check(false, what); continue; }
        close_to(dx.down(), fdx, 1e-4, what);
        tried++;
    }
    check(tried >= 2, "at least two algorithms backward data");
    tried = 0;
    for (int a = 0; a < CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT; a++) {
        auto algo = cudnnConvolutionBwdFilterAlgo_t(a);
        size_t room = 0;
        if (cudnnGetConvolutionBackwardFilterWorkspaceSize(h, tx, ty, conv, tw, algo, &room)) continue;
        Buffer<char> work(room);
        std::snprintf(what, sizeof what, "backward filter, algorithm %d", a);
        int rc = cudnnConvolutionBackwardFilter(h, &one, tx, x, ty, ddy, conv, algo, work, room, &zero, tw, dw);
        if (rc) { std::printf("%s gives %d\n", what, rc); check(false, what); continue; }
        close_to(dw.down(), fdw, 1e-4, what);
        tried++;
    }
    check(tried >= 2, "at least two algorithms backward filter");
}

static void pooling()
{
    Buffer<float> x(random_vector<float>(N * C * H * W)), y(N * C * 5 * 4), dx(N * C * H * W);
    auto tx = tensor(N, C, H, W), ty = tensor(N, C, 5, 4);
    Buffer<float> dy(random_vector<float>(y.host.size()));
    for (int average = 0; average < 2; average++) {
        cudnnPoolingDescriptor_t pool;
        OK(cudnnCreatePoolingDescriptor(&pool));
        OK(cudnnSetPooling2dDescriptor(pool, average ? CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING : CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, 2, 2, 0, 0, 2, 2));
        std::vector<float> want(y.host.size()), back(x.host.size());
        for (int n = 0; n < N * C; n++) for (int p = 0; p < 5; p++) for (int q = 0; q < 4; q++) {
            size_t best = 0, o = (size_t(n) * 5 + p) * 4 + q;
            double sum = 0;
            for (int i = 0; i < 4; i++) {
                size_t k = (size_t(n) * H + 2 * p + i / 2) * W + 2 * q + i % 2;
                sum += x.host[k];
                if (!i || x.host[k] > x.host[best]) best = k;
                if (average) back[k] += dy.host[o] / 4;
            }
            want[o] = average ? float(sum / 4) : x.host[best];
            if (!average) back[best] += dy.host[o];
        }
        OK(cudnnPoolingForward(h, pool, &one, tx, x, &zero, ty, y));
        close_to(y.down(), want, 1e-6, average ? "average pooling" : "max pooling");
        OK(cudnnPoolingBackward(h, pool, &one, ty, y, ty, dy, tx, x, &zero, tx, dx));
        close_to(dx.down(), back, 1e-6, average ? "average pooling backward" : "max pooling backward");
    }
}

static void softmax_and_activation()
{
    Buffer<float> x(random_vector<float>(N * 50)), y(N * 50), dx(N * 50), dy(random_vector<float>(N * 50));
    auto t = tensor(N, 50, 1, 1);
    std::vector<double> want(N * 50), back(N * 50);
    for (int n = 0; n < N; n++) {
        double sum = 0, dot = 0;
        for (int i = 0; i < 50; i++) sum += std::exp(double(x.host[n * 50 + i]));
        for (int i = 0; i < 50; i++) { want[n * 50 + i] = std::exp(double(x.host[n * 50 + i])) / sum; dot += want[n * 50 + i] * dy.host[n * 50 + i]; }
        for (int i = 0; i < 50; i++) back[n * 50 + i] = want[n * 50 + i] * (dy.host[n * 50 + i] - dot);
    }
    OK(cudnnSoftmaxForward(h, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE, &one, t, x, &zero, t, y));
    close_to(y.down(), want, 1e-5, "softmax");
    OK(cudnnSoftmaxBackward(h, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE, &one, t, y, t, dy, &zero, t, dx));
    close_to(dx.down(), back, 1e-5, "softmax backward");
    for (auto &v : want) v = std::log(v);
    OK(cudnnSoftmaxForward(h, CUDNN_SOFTMAX_LOG, CUDNN_SOFTMAX_MODE_INSTANCE, &one, t, x, &zero, t, y));
    close_to(y.down(), want, 1e-5, "log softmax");
    const struct { cudnnActivationMode_t mode; const char *name; double (*f)(double); } modes[] = {
        {CUDNN_ACTIVATION_RELU, "relu", [](double v) { return v > 0 ? v : 0; }},
        {CUDNN_ACTIVATION_SIGMOID, "sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }},
        {CUDNN_ACTIVATION_TANH, "tanh", [](double v) { return std::tanh(v); }},
    };
    for (const auto &m : modes) {
        cudnnActivationDescriptor_t act;
        OK(cudnnCreateActivationDescriptor(&act));
        OK(cudnnSetActivationDescriptor(act, m.mode, CUDNN_NOT_PROPAGATE_NAN, 0));
        OK(cudnnActivationForward(h, act, &one, t, x, &zero, t, y));
        for (int i = 0; i < N * 50; i++) want[i] = m.f(x.host[i]);
        close_to(y.down(), want, 1e-5, m.name);
    }
}

static void batch_normalisation()
{
    const int count = N * H * W;
    Buffer<float> x(random_vector<float>(N * C * H * W)), y(x.host.size()), scale(random_vector<float>(C)), bias(random_vector<float>(C)), mean(C), var(C), smean(C), sinv(C);
    auto t = tensor(N, C, H, W), s = tensor(1, C, 1, 1);
    std::vector<double> want(x.host.size()), means(C);
    for (int c = 0; c < C; c++) {
        double m = 0, v = 0;
        for (int n = 0; n < N; n++) for (int i = 0; i < H * W; i++) m += x.host[(n * C + c) * H * W + i];
        m /= count;
        for (int n = 0; n < N; n++) for (int i = 0; i < H * W; i++) { double d = x.host[(n * C + c) * H * W + i] - m; v += d * d; }
        v /= count;
        means[c] = m;
        for (int n = 0; n < N; n++) for (int i = 0; i < H * W; i++) { size_t k = (n * C + c) * H * W + i; want[k] = scale.host[c] * (x.host[k] - m) / std::sqrt(v + 1e-5) + bias.host[c]; }
    }
    OK(cudnnBatchNormalizationForwardTraining(h, CUDNN_BATCHNORM_SPATIAL, &one, &zero, t, x, t, y, s, scale, bias, 1.0, mean, var, 1e-5, smean, sinv));
    close_to(y.down(), want, 1e-4, "batch normalisation, training");
    close_to(smean.down(), means, 1e-4, "batch normalisation, means");
    for (int c = 0; c < C; c++) { // inference uses the given variance
        var.host[c] = 0.5f + float(c);
        for (int n = 0; n < N; n++) for (int i = 0; i < H * W; i++) { size_t k = (n * C + c) * H * W + i; want[k] = scale.host[c] * (x.host[k] - means[c]) / std::sqrt(var.host[c] + 1e-5) + bias.host[c]; }
    }
    var.up();
    OK(cudnnBatchNormalizationForwardInference(h, CUDNN_BATCHNORM_SPATIAL, &one, &zero, t, x, t, y, s, scale, bias, smean, var, 1e-5));
    close_to(y.down(), want, 1e-4, "batch normalisation, inference");
}

static void tensors()
{
    Buffer<float> x(random_vector<float>(N * C * H * W)), b(random_vector<float>(C)), r(N * C);
    auto t = tensor(N, C, H, W), tb = tensor(1, C, 1, 1), tr = tensor(N, C, 1, 1);
    std::vector<double> want(x.host.size()), sums(N * C);
    for (size_t i = 0; i < want.size(); i++) { want[i] = double(x.host[i]) + b.host[i / (H * W) % C]; sums[i / (H * W)] += want[i]; }
    OK(cudnnAddTensor(h, &one, tb, b, &one, t, x));
    close_to(x.down(), want, 1e-6, "AddTensor");
    cudnnReduceTensorDescriptor_t d;
    OK(cudnnCreateReduceTensorDescriptor(&d));
    OK(cudnnSetReduceTensorDescriptor(d, CUDNN_REDUCE_TENSOR_ADD, CUDNN_DATA_FLOAT, CUDNN_NOT_PROPAGATE_NAN, CUDNN_REDUCE_TENSOR_NO_INDICES, CUDNN_32BIT_INDICES));
    size_t room = 0;
    OK(cudnnGetReductionWorkspaceSize(h, d, t, tr, &room));
    Buffer<char> work(room);
    OK(cudnnReduceTensor(h, d, nullptr, 0, work, room, &one, t, x, &zero, tr, r));
    close_to(r.down(), sums, 1e-5, "ReduceTensor");
}

int main()
{
    OK(cudnnCreate(&h));
    convolution();
    pooling();
    softmax_and_activation();
    batch_normalisation();
    tensors();
    OK(cudnnDestroy(h));
    return report();
}
