/* Least recently used: the way whose last access is oldest goes. */
#include "timing/cache.h"

static uint64_t last_access(const struct cache_line *l) { return l->touched; }

const struct replacement replacement_lru = {"lru", last_access};
