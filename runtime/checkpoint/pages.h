/* Memory of the process, of which most may never have been touched: whether a piece is zero, found out without touching it. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_PAGES_H
#define HEDDLE_RUNTIME_CHECKPOINT_PAGES_H
#include <stdbool.h>
#include <stdint.h>

enum { PAGE_BYTES = 4096, PAGES_AT_ONCE = 512 };
struct pages {
    int fd;                                    /* of /proc/self/pagemap */
    bool known;
    uint64_t from, n;                          /* what is known is of these pages */
    uint64_t map[PAGES_AT_ONCE];
    unsigned char core[PAGES_AT_ONCE];
};
void pages_open(struct pages *p);
void pages_close(struct pages *p);
bool pages_are_zero(struct pages *p, uint64_t lo, uint64_t hi);     /* within one page, which must be readable */

#endif
