/* Least recently used: every access makes a way the last to go. */
#include "timing/cache.h"

const struct replacement replacement_lru = {"lru", cache_to_back, cache_to_back};
