#include "runtime/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Atomic int the_level = LOG_WARN;
static _Atomic int the_fd = 2;
static atomic_ulong warnings;

void log_set(enum log_level level, int fd)
{
    atomic_store(&the_level, (int)level);
    if (fd >= 0)
        atomic_store(&the_fd, fd);
}

enum log_level log_level(void) { return (enum log_level)atomic_load(&the_level); }
unsigned long log_warnings(void) { return atomic_load(&warnings); }

static void put(const char *s, size_t n)
{
    while (n) {
        ssize_t k = write(atomic_load(&the_fd), s, n);
        if (k <= 0)
            return;                            /* nowhere to complain */
        s += k;
        n -= (size_t)k;
    }
}

void log_text(const char *text) { put(text, strlen(text)); }

static void (*_Atomic the_listener)(enum log_level, const char *);

void log_listen(void (*listener)(enum log_level, const char *)) { atomic_store(&the_listener, listener); }

void log_line(enum log_level level, const char *fmt, ...)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    if (level == LOG_WARN)
        atomic_fetch_add(&warnings, 1);
    void (*listener)(enum log_level, const char *) = atomic_load(&the_listener);
    bool shown = (int)level <= atomic_load(&the_level);
    if (!shown && !listener)
        return;
    char line[2048];
    int head = snprintf(line, sizeof line, "heddle: %s: ", names[level]);
    va_list ap;
    va_start(ap, fmt);
    int body = vsnprintf(line + head, sizeof line - (size_t)head - 1, fmt, ap);
    va_end(ap);
    size_t n = (size_t)head + (body > 0 ? (size_t)body : 0);
    if (n > sizeof line - 2)
        n = sizeof line - 2;
    line[n] = '\0';
    if (listener)
        listener(level, line + head);
    line[n++] = '\n';
    if (shown)
        put(line, n);
}

bool log_first(bool *flag)
{
    return !__atomic_exchange_n(flag, true, __ATOMIC_RELAXED);
}
