/* Messages between the halves of a window: a packet goes to its slice, or comes back. Each sender writes a run of them, ascending in time; who receives them wants all
 * runs as one. Sorting counts times instead of comparing: there are about as many messages as cycles in a window. One thread at a time. */
#ifndef HEDDLE_TIMING_MAIL_H
#define HEDDLE_TIMING_MAIL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct message {
    uint64_t time;                             /* interconnect cycle at which it is at the SM's port, or reaches the SM */
    uint32_t packet;                           /* its handle */
    uint32_t slice;                            /* where it goes, or comes from */
};
struct mail {
    struct message *items, *spare; size_t n, room;       /* items: sorted after mail_sort */
    uint64_t least, most;
    struct message *scratch; size_t scratch_room;
};
void mail_free(struct mail *m);
void mail_begin(struct mail *m);               /* forgets all runs */
bool mail_add(struct mail *m, const struct message *run, size_t n);       /* false: no host memory */
/* Sorts by time; of equal times the run that was added first is first. */
void mail_sort(struct mail *m);
/* n messages whose first `old` are sorted, and the others too, become sorted by time, then slice; of equal ones the old go first. False: no host memory. */
bool mail_merge(struct mail *m, struct message *at, size_t old, size_t n);

#endif
