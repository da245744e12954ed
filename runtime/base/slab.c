#include "runtime/base/slab.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/base/sanitized.h"

/* A chunk begins at a multiple of CHUNK bytes, and what it gives out begins in the first so many, by which slab_free finds it. What is larger has a chunk of its own. */
enum { CHUNK = 4 << 20 };
struct chunk { size_t bytes, used, live; };

/* Whole lines, at least one; 0: there is no such size. */
static size_t lines_of(size_t n, size_t bytes)
{
    size_t all;
    return __builtin_mul_overflow(n, bytes, &all) || all > SIZE_MAX / 2 ? 0 : (all + SLAB_LINE) / SLAB_LINE * SLAB_LINE;
}

#ifdef SANITIZED                               /* which watches the ends of what malloc gives out */
void *slab_alloc(size_t n, size_t bytes)
{
    size_t all = lines_of(n, bytes);
    void *p = all ? aligned_alloc(SLAB_LINE, all) : NULL;
    return p ? memset(p, 0, all) : NULL;
}

void slab_free(void *p) { free(p); }
#else

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct chunk *current;                  /* the one with room left */

static struct chunk *chunk_new(size_t bytes)
{
    char *p = mmap(NULL, bytes + CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)p % CHUNK;
    if (before)
        munmap(p, before);
    munmap(p + before + bytes, CHUNK - before);
    struct chunk *c = (void *)(p + before);
    (void)madvise(c, bytes, MADV_HUGEPAGE);
    *c = (struct chunk){.bytes = bytes, .used = SLAB_LINE};
    return c;
}

void *slab_alloc(size_t n, size_t bytes)
{
    size_t all = lines_of(n, bytes);
    if (!all)
        return NULL;
    pthread_mutex_lock(&lock);
    struct chunk *c = current;
    if (!c || c->used + all > c->bytes) {
        c = chunk_new((all + SLAB_LINE + CHUNK - 1) / CHUNK * CHUNK);
        if (c && c->bytes == CHUNK)
            current = c;
    }
    void *p = c ? (char *)c + c->used : NULL;
    if (c) {
        c->used += all;
        c->live++;
    }
    pthread_mutex_unlock(&lock);
    return p;
}

void slab_free(void *p)
{
    struct chunk *c = (void *)((uintptr_t)p & ~(uintptr_t)(CHUNK - 1));
    if (!p)
        return;
    pthread_mutex_lock(&lock);
    if (--c->live == 0) {
        current = current == c ? NULL : current;
        munmap(c, c->bytes);
    }
    pthread_mutex_unlock(&lock);
}
#endif

void *slab_grow(void *p, size_t had, size_t n, size_t bytes)
{
    void *more = slab_alloc(n, bytes);
    if (more && had)
        memcpy(more, p, had * bytes);
    if (more)
        slab_free(p);
    return more;
}
