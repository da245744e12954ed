/* Arena: memory that is freed all at once. Not thread-safe: one owner at a time. */
#ifndef HEDDLE_BASE_ARENA_H
#define HEDDLE_BASE_ARENA_H
#include <stddef.h>

struct arena_block;
struct arena {
    struct arena_block *head;
    size_t total_bytes;       /* what was asked of malloc, for statistics */
};

/* An arena starts as {0}. Memory is zeroed and 16-byte aligned. NULL when the host has none left. */
void *arena_alloc(struct arena *a, size_t bytes);
void *arena_dup(struct arena *a, const void *src, size_t bytes);
char *arena_strndup(struct arena *a, const char *s, size_t n);
void arena_free(struct arena *a);              /* frees everything, leaves {0} */

#endif
