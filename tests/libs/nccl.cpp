// NCCL over two simulated devices of one process: all-reduce, broadcast, reduce, all-gather, reduce-scatter, send and receive.
#include <nccl.h>

#include "check.h"

enum { RANKS = 2, COUNT = 5000 };
static ncclComm_t comm[RANKS];
static cudaStream_t stream[RANKS];

template <class F> static void each(F f)
{
    OK(ncclGroupStart());
    for (int r = 0; r < RANKS; r++) OK(f(r));
    OK(ncclGroupEnd());
    for (int r = 0; r < RANKS; r++) {
        OK(cudaSetDevice(r));
        OK(cudaStreamSynchronize(stream[r]));
    }
}

int main()
{
    const int devices[RANKS] = {0, 1};
    int n = 0;
    OK(cudaGetDeviceCount(&n));
    if (n < RANKS) {
        std::printf("%d devices\nFAIL\n", n);
        return 1;
    }
    OK(ncclCommInitAll(comm, RANKS, devices));
    Buffer<float> *in[RANKS], *out[RANKS];
    for (int r = 0; r < RANKS; r++) {
        OK(cudaSetDevice(r));
        OK(cudaStreamCreate(&stream[r]));
        in[r] = new Buffer<float>(random_vector<float>(COUNT));
        out[r] = new Buffer<float>(RANKS * COUNT);
    }
    std::vector<float> sum(COUNT), top(COUNT), both;
    for (int i = 0; i < COUNT; i++) {
        sum[i] = in[0]->host[i] + in[1]->host[i];
        top[i] = std::max(in[0]->host[i], in[1]->host[i]);
    }
    for (auto b : in) both.insert(both.end(), b->host.begin(), b->host.end());
    auto first = [&](int r, size_t k) { auto &v = out[r]->down(); return std::vector<float>(v.begin(), v.begin() + k); };
    each([&](int r) { return ncclAllReduce(*in[r], *out[r], COUNT, ncclFloat, ncclSum, comm[r], stream[r]); });
    for (int r = 0; r < RANKS; r++) close_to(first(r, COUNT), sum, 0, "all-reduce, sum");
    each([&](int r) { return ncclAllReduce(*in[r], *out[r], COUNT, ncclFloat, ncclMax, comm[r], stream[r]); });
    for (int r = 0; r < RANKS; r++) close_to(first(r, COUNT), top, 0, "all-reduce, max");
    each([&](int r) { return ncclBroadcast(*in[r], *out[r], COUNT, ncclFloat, 1, comm[r], stream[r]); });
    for (int r = 0; r < RANKS; r++) close_to(first(r, COUNT), in[1]->host, 0, "broadcast");
    each([&](int r) { return ncclReduce(*in[r], *out[r], COUNT, ncclFloat, ncclSum, 0, comm[r], stream[r]); });
    close_to(first(0, COUNT), sum, 0, "reduce");
    each([&](int r) { return ncclAllGather(*in[r], *out[r], COUNT, ncclFloat, comm[r], stream[r]); });
    for (int r = 0; r < RANKS; r++) close_to(first(r, RANKS * COUNT), both, 0, "all-gather");
    each([&](int r) { return ncclReduceScatter(*in[r], *out[r], COUNT / RANKS, ncclFloat, ncclSum, comm[r], stream[r]); });
    for (int r = 0; r < RANKS; r++) close_to(first(r, COUNT / RANKS), std::vector<float>(sum.begin() + r * COUNT / RANKS, sum.begin() + (r + 1) * COUNT / RANKS), 0, "reduce-scatter");
    OK(ncclGroupStart());
    OK(ncclSend(*in[0], COUNT, ncclFloat, 1, comm[0], stream[0]));
    OK(ncclRecv(*out[1], COUNT, ncclFloat, 0, comm[1], stream[1]));
    OK(ncclGroupEnd());
    OK(cudaSetDevice(1));
    OK(cudaStreamSynchronize(stream[1]));
    close_to(first(1, COUNT), in[0]->host, 0, "send and receive");
    for (auto c : comm) OK(ncclCommDestroy(c));
    return report();
}
