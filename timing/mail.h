/* Messages between the halves of a window. Each sender writes a run of them, ascending in time; who receives them wants all runs as one. Sorting counts times instead
 * of comparing: there are about as many messages as cycles in a window. Messages begin with their time, a uint64_t. One thread at a time. */
#ifndef HEDDLE_TIMING_MAIL_H
#define HEDDLE_TIMING_MAIL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mail_item { uint64_t time; const void *message; };
struct mail {
    struct mail_item *items, *spare; size_t n, room;     /* items: sorted after mail_sort */
    uint64_t least, most;
    void *scratch; size_t scratch_bytes;
};
void mail_free(struct mail *m);
void mail_begin(struct mail *m);               /* forgets all runs */
/* Adds a run of n messages of `bytes` each, which must stay where they are until the items were read. False: no host memory. */
bool mail_add(struct mail *m, const void *run, size_t n, size_t bytes);
/* Sorts by time; of equal times the run that was added first is first. */
void mail_sort(struct mail *m);
/* An array of n elements whose first `old` are sorted, and the others too, becomes sorted. before(a, b): a goes in front of b. False: no host memory. */
bool mail_merge(struct mail *m, void *at, size_t old, size_t n, size_t bytes, bool (*before)(const void *a, const void *b));

#endif
