/* Clock domains. Every domain counts its own cycles from 0; messages between domains carry the sender's cycle and are converted on arrival.
 * Exact: a cycle of one domain begins at a rational time, and the receiver sees it at its first cycle that begins no earlier. */
#ifndef HEDDLE_TIMING_CLOCK_H
#define HEDDLE_TIMING_CLOCK_H
#include <stdint.h>

enum clock_domain { CLOCK_CORE, CLOCK_ICNT, CLOCK_L2, CLOCK_DRAM, CLOCK_DOMAINS };
struct clocks { uint64_t hz[CLOCK_DOMAINS]; };

/* The first cycle of `to` that begins at or after the beginning of cycle n of `from`. */
static inline uint64_t clock_convert(const struct clocks *c, enum clock_domain from, enum clock_domain to, uint64_t n)
{
    uint64_t a = c->hz[from], b = c->hz[to];
    if (a == b)
        return n;
    uint64_t product;
    if (!__builtin_mul_overflow(n, b, &product) && !__builtin_add_overflow(product, a - 1, &product))      /* for hours of simulated time */
        return product / a;
    __extension__ typedef unsigned __int128 u128;
    return (uint64_t)(((u128)n * b + a - 1) / a);
}

/* The first cycle of `to` that begins after the beginning of cycle n of `from`. */
static inline uint64_t clock_after(const struct clocks *c, enum clock_domain from, enum clock_domain to, uint64_t n)
{
    uint64_t a = c->hz[from], b = c->hz[to];
    if (a == b)
        return n + 1;
    uint64_t product;
    if (!__builtin_mul_overflow(n, b, &product))
        return product / a + 1;
    __extension__ typedef unsigned __int128 u128;
    return (uint64_t)((u128)n * b / a) + 1;
}

#endif
