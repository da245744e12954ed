#include "runtime/base/arena.h"

#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *next;
    size_t used, cap;
    _Alignas(16) char data[];
};

enum { BLOCK_BYTES = 64 * 1024 };

void *arena_alloc(struct arena *a, size_t bytes)
{
    if (bytes > (size_t)1 << 46)
        return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    struct arena_block *b = a->head;
    if (!b || b->cap - b->used < bytes) {
        size_t cap = bytes > BLOCK_BYTES / 4 ? bytes : BLOCK_BYTES;
        struct arena_block *fresh = calloc(1, sizeof *fresh + cap);
        if (!fresh)
            return NULL;
        fresh->cap = cap;
        a->total_bytes += cap;
        if (b && cap == bytes) {              /* a large one goes behind the head, which keeps its room */
            fresh->next = b->next;
            b->next = fresh;
        } else {
            fresh->next = b;
            a->head = fresh;
        }
        b = fresh;
    }
    void *p = b->data + b->used;
    b->used += bytes;
    return p;
}

void *arena_dup(struct arena *a, const void *src, size_t bytes)
{
    void *p = arena_alloc(a, bytes);
    if (p && bytes)
        memcpy(p, src, bytes);
    return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *p = arena_alloc(a, n + 1);
    if (p)
        memcpy(p, s, n);
    return p;
}

void arena_free(struct arena *a)
{
    for (struct arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *a = (struct arena){0};
}
