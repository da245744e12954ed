/* Runtime API: the thread's last error, and what errors are called. Exported by hand: these return no status of their own. */
#include "interpose/cudart.h"
#include "runtime/base/hello.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int cudaGetLastError(void);
EXPORT int cudaPeekAtLastError(void);
EXPORT const char *cudaGetErrorName(int error);
EXPORT const char *cudaGetErrorString(int error);

static void trace_error(const char *symbol, int error)
{
    if (__builtin_expect(api_tracing, 0))
        api_trace(symbol, (const struct api_arg[]){{0}}, status_cuda_name(status_from_cuda(error)));
}

/* An error that poisoned the context is not cleared by asking. */
static int sticky(void)
{
    struct rt_context *c = rt_started() ? rt_current() : NULL;
    return rt_is(c, RT_CONTEXT) && rt_context_error(c) != ST_OK ? api_thread.last_error : 0;
}

int cudaGetLastError(void)
{
    hello_cuda_called();
    int error = api_thread.last_error;
    if (error)
        api_thread.last_error = sticky();
    trace_error("cudaGetLastError", error);
    return error;
}

int cudaPeekAtLastError(void)
{
    hello_cuda_called();
    trace_error("cudaPeekAtLastError", api_thread.last_error);
    return api_thread.last_error;
}

static bool known(int error, enum status *st)
{
    *st = status_from_cuda(error);
    return status_cuda(*st) == error && (status_cuda_name(*st) || status_cu_name(*st));
}

const char *cudaGetErrorName(int error)
{
    enum status st;
    if (!known(error, &st))
        return "unrecognized error code";
    return status_cuda_name(st) ? status_cuda_name(st) : status_cu_name(st);
}

const char *cudaGetErrorString(int error)
{
    enum status st;
    return known(error, &st) ? status_text(st) : "unrecognized error code";
}
