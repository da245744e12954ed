/* Text that grows. Starts as {0}; after a failed allocation it takes nothing more and says so. Not thread-safe. */
#ifndef HEDDLE_BASE_TEXTBUF_H
#define HEDDLE_BASE_TEXTBUF_H
#include <stdbool.h>
#include <stddef.h>

struct textbuf {
    char *at;                 /* n bytes and a NUL; NULL while empty */
    size_t n, cap;
    bool failed;              /* no host memory: at is cut */
};

void textbuf_add(struct textbuf *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void textbuf_add_bytes(struct textbuf *t, const char *bytes, size_t n);
void textbuf_free(struct textbuf *t);

#endif
