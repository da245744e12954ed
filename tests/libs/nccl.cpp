// NCCL over the simulated devices of one process, two or more: all-reduce of floats, halves and integers, broadcast, reduce, all-gather, reduce-scatter, send and
// receive. `nccl threads`: a thread for each rank; `nccl processes`: two processes, which see one device each.
#include <cuda_fp16.h>
#include <nccl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <cstring>

#include "check.h"

enum { RANKS = 16, COUNT = 6000 };               // at most; elements
static int ranks;
static ncclComm_t comm[RANKS];
static cudaStream_t stream[RANKS];

template <class F> static void each(F f)
{
    OK(ncclGroupStart());
    for (int r = 0; r < ranks; r++) OK(f(r));
    OK(ncclGroupEnd());
    for (int r = 0; r < ranks; r++) {
        OK(cudaSetDevice(r));
        OK(cudaStreamSynchronize(stream[r]));
    }
}

// All-reduce of whole numbers that every type holds exactly.
template <class T> static void sum_of(ncclDataType_t type, const char *what)
{
    Buffer<T> *in[RANKS], *out[RANKS];
    std::vector<double> sum(COUNT);
    for (int r = 0; r < ranks; r++) {
        OK(cudaSetDevice(r));
        in[r] = new Buffer<T>(COUNT);
        out[r] = new Buffer<T>(COUNT);
        for (int i = 0; i < COUNT; i++) {
            const int v = static_cast<int>(uniform() * 100);
            in[r]->host[i] = static_cast<T>(static_cast<float>(v));
            sum[i] += v;
        }
        in[r]->up();
    }
    each([&](int r) { return ncclAllReduce(*in[r], *out[r], COUNT, type, ncclSum, comm[r], stream[r]); });
    for (int r = 0; r < ranks; r++) {
        bool same = true;
        const std::vector<T> &got = out[r]->down();
        for (int i = 0; i < COUNT; i++) same = same && static_cast<double>(static_cast<float>(got[i])) == sum[i];
        check(same, what);
        delete in[r];
        delete out[r];
    }
}

static void collectives()
{
    Buffer<float> *in[RANKS], *out[RANKS];
    for (int r = 0; r < ranks; r++) {
        OK(cudaSetDevice(r));
        in[r] = new Buffer<float>(random_vector<float>(COUNT));
        out[r] = new Buffer<float>(ranks * COUNT);
    }
    std::vector<float> sum(COUNT), top(COUNT), all;
    for (int i = 0; i < COUNT; i++)
        for (int r = 0; r < ranks; r++) {
            sum[i] += in[r]->host[i];
            top[i] = r ? std::max(top[i], in[r]->host[i]) : in[r]->host[i];
        }
    for (int r = 0; r < ranks; r++) all.insert(all.end(), in[r]->host.begin(), in[r]->host.end());
    const double tolerance = ranks == 2 ? 0 : 1e-6;        // the order of additions is NCCL's
    auto first = [&](int r, size_t k) { auto &v = out[r]->down(); return std::vector<float>(v.begin(), v.begin() + k); };
    each([&](int r) { return ncclAllReduce(*in[r], *out[r], COUNT, ncclFloat, ncclSum, comm[r], stream[r]); });
    for (int r = 0; r < ranks; r++) close_to(first(r, COUNT), sum, tolerance, "all-reduce, sum");
    each([&](int r) { return ncclAllReduce(*in[r], *out[r], COUNT, ncclFloat, ncclMax, comm[r], stream[r]); });
    for (int r = 0; r < ranks; r++) close_to(first(r, COUNT), top, 0, "all-reduce, max");
    each([&](int r) { return ncclBroadcast(*in[r], *out[r], COUNT, ncclFloat, 1, comm[r], stream[r]); });
    for (int r = 0; r < ranks; r++) close_to(first(r, COUNT), in[1]->host, 0, "broadcast");
    each([&](int r) { return ncclReduce(*in[r], *out[r], COUNT, ncclFloat, ncclSum, 0, comm[r], stream[r]); });
    close_to(first(0, COUNT), sum, tolerance, "reduce");
    each([&](int r) { return ncclAllGather(*in[r], *out[r], COUNT, ncclFloat, comm[r], stream[r]); });
    for (int r = 0; r < ranks; r++) close_to(first(r, ranks * COUNT), all, 0, "all-gather");
    each([&](int r) { return ncclReduceScatter(*in[r], *out[r], COUNT / ranks, ncclFloat, ncclSum, comm[r], stream[r]); });
    for (int r = 0; r < ranks; r++) close_to(first(r, COUNT / ranks), std::vector<float>(sum.begin() + r * COUNT / ranks, sum.begin() + (r + 1) * COUNT / ranks), tolerance, "reduce-scatter");
    OK(ncclGroupStart());
    OK(ncclSend(*in[0], COUNT, ncclFloat, 1, comm[0], stream[0]));
    OK(ncclRecv(*out[1], COUNT, ncclFloat, 0, comm[1], stream[1]));
    OK(ncclGroupEnd());
    OK(cudaSetDevice(1));
    OK(cudaStreamSynchronize(stream[1]));
    close_to(first(1, COUNT), in[0]->host, 0, "send and receive");
    for (int r = 0; r < ranks; r++) {
        delete in[r];
        delete out[r];
    }
}

// One rank by itself: the sum of all ranks' numbers, which everybody can work out. Answers how many were wrong.
static int rank(int r, int device, ncclUniqueId id)
{
    int wrong = 0;
    float *data;
    cudaStream_t s;
    ncclComm_t c;
    std::vector<float> v(COUNT);
    OK(cudaSetDevice(device));
    OK(cudaStreamCreate(&s));
    OK(ncclCommInitRank(&c, ranks, id, r));
    OK(cudaMalloc(reinterpret_cast<void **>(&data), COUNT * sizeof(float)));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) v[i] = static_cast<float>(i * (r + 1) + round);
        OK(cudaMemcpyAsync(data, v.data(), COUNT * sizeof(float), cudaMemcpyHostToDevice, s));
        OK(ncclAllReduce(data, data, COUNT, ncclFloat, ncclSum, c, s));
        OK(cudaMemcpyAsync(v.data(), data, COUNT * sizeof(float), cudaMemcpyDeviceToHost, s));
        OK(cudaStreamSynchronize(s));
        for (int i = 0; i < COUNT; i++) wrong += v[i] != static_cast<float>(ranks * (ranks + 1) / 2 * i + ranks * round);
    }
    OK(ncclCommDestroy(c));
    OK(cudaFree(data));
    return wrong;
}

static int threads()
{
    ncclUniqueId id;
    int wrong[RANKS];
    OK(ncclGetUniqueId(&id));
    std::vector<std::thread> all;
    for (int r = 0; r < ranks; r++) all.emplace_back([&, r] { wrong[r] = rank(r, r, id); });
    for (auto &t : all) t.join();
    for (int r = 0; r < ranks; r++) check(wrong[r] == 0, "all-reduce of a thread's rank");
    return report();
}

static int processes()
{
    int way[2], status = 1;
    ranks = 2;
    OK(pipe(way));
    const pid_t child = fork();                // before anybody calls CUDA
    ncclUniqueId id;
    setenv("CUDA_VISIBLE_DEVICES", child ? "0" : "1", 1);
    if (!child) {
        if (read(way[0], &id, sizeof id) != sizeof id) _exit(2);
        const int wrong = rank(1, 0, id);
        _exit(wrong != 0);
    }
    OK(ncclGetUniqueId(&id));
    check(write(way[1], &id, sizeof id) == sizeof id, "the identifier is handed on");
    check(rank(0, 0, id) == 0, "all-reduce of the first process");
    check(waitpid(child, &status, 0) == child && status == 0, "all-reduce of the second process");
    return report();
}

int main(int n_args, char **args)
{
    if (n_args > 1 && std::strcmp(args[1], "threads") != 0) return processes();
    OK(cudaGetDeviceCount(&ranks));
    if (ranks < 2 || ranks > RANKS) {
        std::printf("%d devices\nFAIL\n", ranks);
        return 1;
    }
    if (n_args > 1) return threads();
    OK(ncclCommInitAll(comm, ranks, nullptr));
    for (int r = 0; r < ranks; r++) {
        OK(cudaSetDevice(r));
        OK(cudaStreamCreate(&stream[r]));
    }
    collectives();
    sum_of<__half>(ncclHalf, "all-reduce of halves");
    sum_of<int>(ncclInt, "all-reduce of integers");
    sum_of<double>(ncclDouble, "all-reduce of doubles");
    for (int r = 0; r < ranks; r++) OK(ncclCommDestroy(comm[r]));
    return report();
}
