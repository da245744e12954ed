#include "runtime/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct row { int cu, cuda; const char *cu_name, *cuda_name, *text; };

static const struct row rows[ST_COUNT] = {
#define STATUS(id, cu, cuda, cu_name, cuda_name, text) [ST_##id] = {cu, cuda, cu_name, cuda_name, text},
#include "runtime/base/status.def"
#undef STATUS
};

enum status error_set(struct error *err, enum status st, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        err->status = st;
        vsnprintf(err->text, sizeof err->text, fmt, ap);
        va_end(ap);
    }
    return st;
}

void error_hint(struct error *err, const char *fmt, ...)
{
    if (!err)
        return;
    size_t n = strlen(err->text);
    int head = snprintf(err->text + n, sizeof err->text - n, "\nhint: ");
    if (head < 0 || n + (size_t)head >= sizeof err->text)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->text + n + head, sizeof err->text - n - (size_t)head, fmt, ap);
    va_end(ap);
}

static const struct row *row_of(enum status st)
{
    return &rows[(unsigned)st < ST_COUNT ? st : ST_UNKNOWN];
}

const char *status_text(enum status st) { return row_of(st)->text; }
int status_cu(enum status st) { return row_of(st)->cu; }
int status_cuda(enum status st) { return row_of(st)->cuda; }
const char *status_cu_name(enum status st) { return row_of(st)->cu_name; }
const char *status_cuda_name(enum status st) { return row_of(st)->cuda_name; }

enum status status_from_cu(int cu)
{
    for (int i = 0; i < ST_COUNT; i++)
        if (rows[i].cu == cu)
            return (enum status)i;
    return ST_UNKNOWN;
}

enum status status_from_cuda(int cuda)
{
    for (int i = 0; i < ST_COUNT; i++)
        if (rows[i].cuda == cuda)
            return (enum status)i;
    return ST_UNKNOWN;
}
