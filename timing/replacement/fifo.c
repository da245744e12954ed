/* First in, first out: ways go in the order in which they were filled, however often they were used since. */
#include "timing/cache.h"

const struct replacement replacement_fifo = {"fifo", cache_to_back, NULL};
