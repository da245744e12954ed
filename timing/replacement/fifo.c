/* First in, first out: the way that was allocated first goes, however often it was used since. */
#include "timing/cache.h"

static uint64_t allocation(const struct cache_line *l) { return l->filled; }

const struct replacement replacement_fifo = {"fifo", allocation};
