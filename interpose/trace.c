/* The API trace: one line a call, `cuMemAlloc_v2(out=0x7ffd..., bytes=4096) = CUDA_SUCCESS`. */
#include <stdio.h>
#include <string.h>

#include "interpose/api.h"
#include "runtime/base/log.h"

bool api_tracing;

static bool ends_with(const char *s, char c)
{
    size_t n = strlen(s);
    return n && s[n - 1] == c;
}

/* The type's own words decide: the table has no other description of an argument. */
static int print_value(char *buf, size_t n, const struct api_arg *a)
{
    uint64_t v = 0;
    if (a->bytes > sizeof v) {
        int at = snprintf(buf, n, "{");        /* a struct of words, such as an extent or a dim3 */
        for (size_t i = 0; i + 4 <= a->bytes && at > 0 && (size_t)at < n; i += a->bytes % 8 ? 4 : 8) {
            size_t word = a->bytes % 8 ? 4 : 8;
            v = 0;
            memcpy(&v, (const char *)a->at + i, word);
            at += snprintf(buf + at, n - (size_t)at, "%s%llu", i ? ", " : "", (unsigned long long)v);
        }
        return at < 0 || (size_t)at >= n ? at : at + snprintf(buf + at, n - (size_t)at, "}");
    }
    memcpy(&v, a->at, a->bytes);
    if (strcmp(a->type, "const char *") == 0)
        return v ? snprintf(buf, n, "\"%.80s\"", (const char *)(uintptr_t)v) : snprintf(buf, n, "NULL");
    if (strcmp(a->type, "float") == 0) {
        float f;
        memcpy(&f, a->at, sizeof f);
        return snprintf(buf, n, "%g", (double)f);
    }
    if (ends_with(a->type, '*') || (a->type[0] == 'C' && strcmp(a->type, "CUdevice") != 0))
        return snprintf(buf, n, v ? "0x%llx" : "%llu", (unsigned long long)v);
    if (strcmp(a->type, "int") == 0 || strcmp(a->type, "CUdevice") == 0)
        return snprintf(buf, n, "%d", (int)v);
    return snprintf(buf, n, "%llu", (unsigned long long)v);
}

/* What a successful call gave through its first argument: " -> 0x201000000000". */
static int print_output(char *buf, size_t n, const struct api_arg *a)
{
    static const struct { const char *type; size_t bytes; bool number; } outputs[] = {
        {"int *", 4, true}, {"unsigned *", 4, true}, {"CUdevice *", 4, true}, {"size_t *", 8, true}, {"uint64_t *", 8, true},
        {"CUdeviceptr *", 8, false}, {"CUcontext *", 8, false}, {"CUmodule *", 8, false}, {"CUlibrary *", 8, false}, {"CUkernel *", 8, false},
        {"CUfunction *", 8, false}, {"CUstream *", 8, false}, {"CUevent *", 8, false},
    };
    for (size_t i = 0; a->name && i < sizeof outputs / sizeof outputs[0]; i++) {
        void *out;
        uint64_t v = 0;
        if (strcmp(a->type, outputs[i].type) != 0)
            continue;
        memcpy(&out, a->at, sizeof out);
        if (!out)
            return 0;
        memcpy(&v, out, outputs[i].bytes);
        if (!outputs[i].number)
            return snprintf(buf, n, " -> 0x%llx", (unsigned long long)v);
        return snprintf(buf, n, " -> %lld", outputs[i].bytes == 4 ? (int32_t)v : (long long)v);
    }
    return 0;
}

void api_trace(const char *symbol, const struct api_arg *args, const char *result)
{
    char line[1024];
    int at = snprintf(line, sizeof line, "heddle: api: %s(", symbol);
    for (const struct api_arg *a = args; a->name && at > 0 && (size_t)at < sizeof line; a++) {
        at += snprintf(line + at, sizeof line - (size_t)at, "%s%s=", a == args ? "" : ", ", a->name);
        if ((size_t)at < sizeof line)
            at += print_value(line + at, sizeof line - (size_t)at, a);
    }
    if (at > 0 && (size_t)at < sizeof line)
        at += snprintf(line + at, sizeof line - (size_t)at, ") = %s", result ? result : "?");
    if (at > 0 && (size_t)at < sizeof line && result && (strcmp(result, "CUDA_SUCCESS") == 0 || strcmp(result, "cudaSuccess") == 0))
        at += print_output(line + at, sizeof line - (size_t)at, args);
    if (at > 0 && (size_t)at < sizeof line - 1)
        memcpy(line + at, "\n", 2);
    else
        memcpy(line + sizeof line - 2, "\n", 2);
    log_text(line);
}

enum status api_unsupported(const char *symbol, bool *told)
{
    if (log_first(told))
        log_warn("%s is not supported: it answers \"operation not supported\"", symbol);
    return ST_NOT_SUPPORTED;
}
