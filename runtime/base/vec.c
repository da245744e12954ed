#include "runtime/base/vec.h"

#include <stdlib.h>

bool vec_grow_(void **at, size_t *cap, size_t n, size_t elem_bytes)
{
    if (n < *cap)
        return true;
    size_t want = *cap ? *cap * 2 : 8;
    if (want <= n)
        want = n + 1;
    void *p = realloc(*at, want * elem_bytes);
    if (!p)
        return false;
    *at = p;
    *cap = want;
    return true;
}

void vec_free_(void *at) { free(at); }
