/* The exported symbols of the driver API, and the table that cuGetProcAddress searches. All of it comes out of api.def. */
#include "interpose/api.h"
#include "runtime/base/hello.h"

#define EXPORT __attribute__((visibility("default")))

static int leave(enum status st)
{
    hello_cuda_called();
    return status_cu(st);
}

static void trace(enum status st, const char *symbol, const struct api_arg *args)
{
    api_trace(symbol, args, status_cu_name(st) ? status_cu_name(st) : status_cuda_name(st));
}

/* The list of arguments is only made when somebody wants to see it. */
#define TRACE(symbol, params) \
    if (__builtin_expect(api_tracing, 0)) trace(st, #symbol, (const struct api_arg[]){TRACED params {0}})

#define DEFINE(symbol, handler, params)                                       \
    EXPORT int symbol(PARAMS params);                                         \
    EXPORT int symbol(PARAMS params)                                          \
    {                                                                         \
        api_thread.caller = __builtin_return_address(0);                      \
        ENTER(symbol, params);                                                \
        if (st == ST_OK)                                                      \
            st = handler(NAMES params);                                       \
        LEAVE();                                                              \
        TRACE(symbol, params);                                                \
        return leave(st);                                                     \
    }
#define DEFINE_PER_THREAD(symbol, handler, params)                            \
    EXPORT int symbol(PARAMS params);                                         \
    EXPORT int symbol(PARAMS params)                                          \
    {                                                                         \
        bool outer = api_thread.per_thread_stream;                            \
        api_thread.per_thread_stream = true;                                  \
        ENTER(symbol, params);                                                \
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

#define CU_NONE(symbol, handler, params) DEFINE(symbol, handler, params)
#define CU_PTSZ(symbol, handler, params) DEFINE(symbol, handler, params) DEFINE_PER_THREAD(symbol##_ptsz, handler, params)
#define CU_PTDS(symbol, handler, params) DEFINE(symbol, handler, params) DEFINE_PER_THREAD(symbol##_ptds, handler, params)
#define CU_NO_NONE(symbol) DEFINE_NO(symbol)
#define CU_NO_PTSZ(symbol) DEFINE_NO(symbol) DEFINE_NO(symbol##_ptsz)
#define CU_NO_PTDS(symbol) DEFINE_NO(symbol) DEFINE_NO(symbol##_ptds)

#define CU(name, suffix, since, variant, handler, params) CU_##variant(name##suffix, handler, params)
#define CU_NO(name, suffix, since, variant) CU_NO_##variant(name##suffix)
#include "interpose/api.def"

/* Entry points are looked up as untyped addresses: that is what cuGetProcAddress gives. */
#define LATER(since) ((since) > 7000 ? (since) : 7000)
#define ROW(name, symbol, since) {#name, #symbol, since, false, (void *)(uintptr_t)symbol},
#define ROW_PER_THREAD(name, symbol, since) {#name, #symbol, LATER(since), true, (void *)(uintptr_t)symbol},
#define ROWS_NONE(name, symbol, since) ROW(name, symbol, since)
#define ROWS_PTSZ(name, symbol, since) ROW(name, symbol, since) ROW_PER_THREAD(name, symbol##_ptsz, since)
#define ROWS_PTDS(name, symbol, since) ROW(name, symbol, since) ROW_PER_THREAD(name, symbol##_ptds, since)

const struct proc_row proc_rows[] = {
#define CU(name, suffix, since, variant, handler, params) ROWS_##variant(name, name##suffix, since)
#define CU_NO(name, suffix, since, variant) ROWS_##variant(name, name##suffix, since)
#include "interpose/api.def"
};
const size_t proc_count = sizeof proc_rows / sizeof proc_rows[0];
