/* Host memory for state that lives long and is visited all over: zeroed, at a line of the host's caches, close together and, where the host has them, in huge pages, so
 * that the host need not look up an address for every visit. Any thread. */
#ifndef HEDDLE_BASE_SLAB_H
#define HEDDLE_BASE_SLAB_H
#include <stddef.h>

enum { SLAB_LINE = 64 };                       /* bytes: what is given out begins at a multiple */
void *slab_alloc(size_t n, size_t bytes);      /* n elements; NULL: no host memory */
/* The first `had` elements of p, which is freed, and more; NULL: no host memory, and p is as it was. p may be NULL. */
void *slab_grow(void *p, size_t had, size_t n, size_t bytes);
void slab_free(void *p);                       /* the memory goes back to the host with the last of its neighbours */

#endif
