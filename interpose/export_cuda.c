/* The exported symbols of the runtime API that come out of api.def; those written by hand are in cudart_register.c and cudart_error.c. */
#include "interpose/api.h"
#include "interpose/cudart.h"
#include "runtime/base/hello.h"

#define EXPORT __attribute__((visibility("default")))

static int leave(enum status st)
{
    hello_cuda_called();
    if (st != ST_OK)
        api_thread.last_error = status_cuda(st);
    return status_cuda(st);
}

static void trace(enum status st, const char *symbol, const struct api_arg *args)
{
    api_trace(symbol, args, status_cuda_name(st) ? status_cuda_name(st) : status_cu_name(st));
}

#define TRACE(symbol, params) \
    if (__builtin_expect(api_tracing, 0)) trace(st, #symbol, (const struct api_arg[]){TRACED params {0}})

#define BEFORE_ctx cudart_context()
#define BEFORE_any cudart_start()
#define DEFINE(symbol, context, handler, params)                              \
    EXPORT int symbol(PARAMS params);                                         \
    EXPORT int symbol(PARAMS params)                                          \
    {                                                                         \
        ENTER(symbol, params);                                                \
        if (st == ST_OK)                                                      \
            st = BEFORE_##context;                                            \
        if (st == ST_OK)                                                      \
            st = handler(NAMES params);                                       \
        LEAVE();                                                              \
        TRACE(symbol, params);                                                \
        return leave(st);                                                     \
    }
#define DEFINE_PER_THREAD(symbol, context, handler, params)                   \
    EXPORT int symbol(PARAMS params);                                         \
    EXPORT int symbol(PARAMS params)                                          \
    {                                                                         \
        bool outer = api_thread.per_thread_stream;                            \
        api_thread.per_thread_stream = true;                                  \
        ENTER(symbol, params);                                                \
        if (st == ST_OK)                                                      \
            st = BEFORE_##context;                                            \
        if (st == ST_OK)                                                      \
            st = handler(NAMES params);                                       \
        LEAVE();                                                              \
        api_thread.per_thread_stream = outer;                                 \
        TRACE(symbol, params);                                                \
        return leave(st);                                                     \
    }
#define DEFINE_NO(symbol)                                                     \
    EXPORT int symbol(void);                                                  \
    EXPORT int symbol(void)                                                   \
    {                                                                         \
        static bool told;                                                     \
        enum status st = api_unsupported(#symbol, &told);                     \
        TRACE(symbol, (void));                                                \
        return leave(st);                                                     \
    }

#define CUDA_NONE(symbol, context, handler, params) DEFINE(symbol, context, handler, params)
#define CUDA_PTSZ(symbol, context, handler, params) \
    DEFINE(symbol, context, handler, params) DEFINE_PER_THREAD(symbol##_ptsz, context, handler, params)
#define CUDA_PTDS(symbol, context, handler, params) \
    DEFINE(symbol, context, handler, params) DEFINE_PER_THREAD(symbol##_ptds, context, handler, params)
#define CUDA_NO_NONE(symbol) DEFINE_NO(symbol)
#define CUDA_NO_PTSZ(symbol) DEFINE_NO(symbol) DEFINE_NO(symbol##_ptsz)
#define CUDA_NO_PTDS(symbol) DEFINE_NO(symbol) DEFINE_NO(symbol##_ptds)

#define CUDA(symbol, variant, context, handler, params) CUDA_##variant(symbol, context, handler, params)
#define CUDA_NO(symbol, variant) CUDA_NO_##variant(symbol)
#include "interpose/api.def"
