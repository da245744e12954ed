/* Miss status holding registers: one entry for each atom under way, each with a list of requests that wait for it. Keyed by atom address.
 * One thread at a time. */
#ifndef HEDDLE_TIMING_MSHR_H
#define HEDDLE_TIMING_MSHR_H
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"

/* atom << 8 | number of waiters: 0 = free. The request that came first, mostly the only one; the node of the last. */
struct mshr_entry { uint64_t atom; uint32_t first, last; };
struct mshr_node { uint32_t request, next; };   /* of the second and later ones: a ring, so that the last leads to the second */
struct mshr {
    uint32_t entries, merge;                   /* limits */
    uint32_t used;                             /* entries in use */
    struct mshr_entry *table; uint32_t mask;   /* open addressing */
    struct mshr_node *nodes; uint32_t free_node;
};
enum { MSHR_NONE = UINT32_MAX };
enum mshr_result { MSHR_NEW, MSHR_MERGED, MSHR_ENTRIES_FULL, MSHR_MERGE_FULL };

enum status mshr_create(struct mshr *m, uint32_t entries, uint32_t merge, struct error *err) MUST_CHECK;
void mshr_destroy(struct mshr *m);
/* What mshr_add would answer. */
enum mshr_result mshr_check(const struct mshr *m, uint64_t atom);
void mshr_expect(const struct mshr *m, uint64_t atom);       /* a hint to the host: it will be looked up soon */
uint32_t mshr_first(const struct mshr *m, uint64_t atom);    /* who waits for it first; MSHR_NONE: nobody */
enum mshr_result mshr_add(struct mshr *m, uint64_t atom, uint32_t request);
/* The data is here: calls fn for each request in the order of their arrival and frees the entry. False: no such entry. */
bool mshr_fill(struct mshr *m, uint64_t atom, void (*fn)(void *user, uint32_t request), void *user);

#endif
