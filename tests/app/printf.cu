// printf: every conversion, flag, width, precision and size that CUDA documents, compared with the host's own printf; lines of
// many threads; what a kernel prints appears at the next synchronisation.
#include "app.h"
#include <algorithm>
#include <string>
#include <unistd.h>
#include <vector>

__device__ char device_text[16] = "from memory";

// One list of calls for both sides. P is printf on the device, and appends to a string on the host.
#define CALLS(P, text, pointer)                                                                                     \
    P("plain\n");                                                                                                   \
    P("%d %i %u\n", -42, 17, 4000000000u);                                                                          \
    P("%x %X %#x %#X %o %#o\n", 48879, 48879, 255, 255, 511, 511);                                                  \
    P("[%5d] [%-5d] [%05d] [%+d] [% d] [%+5d]\n", 42, 42, 42, 42, 42, -42);                                         \
    P("[%.3d] [%8.3d] [%-8.3d]\n", 7, 7, 7);                                                                        \
    P("[%*d] [%-*d] [%.*f] [%*.*f]\n", 6, 1, 6, 2, 2, 3.14159, 9, 3, 2.71828);                                      \
    P("%f %.0f %.1f %10.4f %-10.2f| %+.2f %#.0f\n", 1.5, 2.5, 0.25, 3.14159265, 1.0, 2.0, 3.0);                     \
    P("%e %.3e %E\n", 12345.678, 0.00012345, 1e100);                                                                \
    P("%g %g %g %G %#g\n", 0.0001, 1e-5, 123456789.0, 1e20, 1.0);                                                   \
    P("%a %A\n", 1.0, 0.15625);                                                                                     \
    P("%c%c%c [%3c] [%-3c]\n", 'a', 'b', 'c', 'd', 'e');                                                            \
    P("%s [%10s] [%-10s] [%.3s]\n", "text", "right", "left", "cut off");                                            \
    P("%s\n", text);                                                                                                \
    P("%ld %lu %lx %lld %llu %llx\n", -5000000000l, 5000000000ul, 0xdeadbeefcafel, -9000000000000000000ll,          \
      18000000000000000000ull, 0xfedcba9876543210ull);                                                              \
    P("%hd %hu\n", (short)-7, (unsigned short)65535);                                                               \
    P("%p\n", (void *)pointer);                                                                                     \
    P("100%% %d%%\n", 5);                                                                                           \
    P("%d %f %d %s %lld %c\n", 1, 2.0, 3, "four", 5ll, '6');                                                        \
    P("%f %f %f\n", INFINITY_VALUE, -INFINITY_VALUE, 0.0);                                                          \
    P("%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", 1, 2, 3, \
      4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,     \
      32)

#ifdef __CUDA_ARCH__
#define INFINITY_VALUE __longlong_as_double(0x7ff0000000000000ll)
#else
#define INFINITY_VALUE ((double)INFINITY)
#endif

__global__ void print_all(void)
{
    CALLS(printf, device_text, 0x12345678abull);
}

__global__ void print_threads(void)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t % 3)
        printf("thread %d of block %d\n", (int)threadIdx.x, (int)blockIdx.x);
    else
        printf("every third: %.2f\n", t / 3.0);
}

static std::string expected;

static void append(const char *fmt, ...)
{
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    expected += line;
}

// Runs launch() with stdout in a file and returns what arrived there.
template <typename F> static std::string captured(F launch)
{
    FILE *file = tmpfile();
    fflush(stdout);
    int keep = dup(1);
    dup2(fileno(file), 1);
    launch();
    cudaError_t err = cudaDeviceSynchronize();
    fflush(stdout);
    dup2(keep, 1);
    close(keep);
    OK(err);
    std::string text;
    rewind(file);
    for (int c; (c = fgetc(file)) != EOF;)
        text += (char)c;
    fclose(file);
    return text;
}

static std::vector<std::string> lines(const std::string &text)
{
    std::vector<std::string> all;
    size_t at = 0;
    for (size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
        all.push_back(text.substr(at, end - at));
    if (at < text.size())
        all.push_back(text.substr(at));
    return all;
}

static void compare(const char *what, const std::vector<std::string> &got, const std::vector<std::string> &want)
{
    EXPECT(got.size() == want.size(), "%s: %zu lines, not %zu", what, got.size(), want.size());
    for (size_t i = 0; i < got.size() && i < want.size(); i++)
        EXPECT(got[i] == want[i], "%s: `%s`, not `%s`", what, got[i].c_str(), want[i].c_str());
}

int main(void)
{
    CALLS(append, "from memory", 0x12345678abull);
    compare("one thread", lines(captured([] { print_all<<<1, 1>>>(); })), lines(expected));

    expected.clear();
    for (int t = 0; t < 120; t++)
        t % 3 ? append("thread %d of block %d\n", t % 40, t / 40) : append("every third: %.2f\n", t / 3.0);
    std::vector<std::string> got = lines(captured([] { print_threads<<<3, 40>>>(); })), want = lines(expected);
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    compare("many threads", got, want);

    size_t size;
    OK(cudaDeviceGetLimit(&size, cudaLimitPrintfFifoSize));
    EXPECT(size >= 1 << 20, "the buffer has %zu bytes", size);
    return app_verdict();
}
