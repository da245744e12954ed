/* Set-index and partition hashes. Pure functions; tests/unit/test_timing_hash.c states their properties. */
#ifndef HEDDLE_TIMING_HASH_H
#define HEDDLE_TIMING_HASH_H
#include <stdbool.h>
#include <stdint.h>

/* IPOLY (Rau, ISCA'91): index XOR (upper * x^k mod P) over GF(2) for 2^k buckets, P primitive of degree k.
 * upper: the address bits above the index, lowest first. For k = 4, 5, 6 only the lowest 13, 15, 19 upper bits take part, as in the
 * tables that published results were made with. k <= 16; k = 0 gives 0. */
uint32_t hash_ipoly(uint32_t index, uint64_t upper, unsigned k);

/* The same, prepared: the hash is linear over GF(2), so that each byte of the number gives its share, which a table has for every k. ipoly_init: any thread, once before
 * ipoly_apply. */
enum { IPOLY_MOST = 16 };
struct ipoly { unsigned k; };
extern uint16_t ipoly_shares[IPOLY_MOST + 1][8][256];
void ipoly_init(struct ipoly *p, unsigned k);
/* number: index and upper bits together, index lowest. */
static inline uint32_t ipoly_apply(const struct ipoly *p, uint64_t number)
{
    uint32_t index = 0;
    for (const uint16_t (*of)[256] = (const uint16_t (*)[256])ipoly_shares[p->k]; number; number >>= 8, of++)
        index ^= (*of)[number & 0xff];
    return index;
}

enum set_hash { SET_LINEAR, SET_XOR, SET_IPOLY, SET_FERMI };
/* The set of a line. line_number = address / line bytes. Any number of sets: one that is no power of two takes the next power modulo. */
uint32_t hash_set(enum set_hash h, uint64_t line_number, uint32_t sets);

/* ceil(log2(n)), 0 for n <= 1 */
static inline unsigned log2_ceil(uint64_t n) { return n <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(n - 1); }
static inline bool is_power_of_2(uint64_t n) { return n && !(n & (n - 1)); }

#endif
