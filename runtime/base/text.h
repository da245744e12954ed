/* Text that grows. Starts as {0}; after a failed allocation it takes nothing more and says so. Not thread-safe. */
#ifndef HEDDLE_BASE_TEXT_H
#define HEDDLE_BASE_TEXT_H
#include <stdbool.h>
#include <stddef.h>

struct text {
    char *at;                 /* n bytes and a NUL; NULL while empty */
    size_t n, cap;
    bool failed;              /* no host memory: at is cut */
};

void text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_add_bytes(struct text *t, const char *bytes, size_t n);
void text_free(struct text *t);

#endif
