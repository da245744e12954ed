#include "timing/hash.h"

#include <pthread.h>

/* Primitive polynomials by degree, without the leading term. */
static const uint32_t poly[17] = {0, 1, 0x3, 0x3, 0x3, 0x5, 0x3, 0x3, 0x1d, 0x11, 0x9, 0x5, 0x53, 0x1b, 0x2b, 0x3, 0x2d};
/* How many upper bits take part; 64: all. */
static const uint8_t cut[17] = {64, 64, 64, 64, 13, 15, 19, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64};

uint32_t hash_ipoly(uint32_t index, uint64_t upper, unsigned k)
{
    if (k == 0 || k > 16)
        return 0;
    uint32_t top = 1u << k;
    uint32_t power = poly[k];                  /* x^k mod P, then x^(k+1) .. */
    for (unsigned i = 0; i < cut[k] && upper; i++, upper >>= 1) {
        if (upper & 1)
            index ^= power;
        power <<= 1;
        if (power & top)
            power = (power ^ top) ^ poly[k];
    }
    return index & (top - 1);
}

uint16_t ipoly_shares[IPOLY_MOST + 1][8][256];

static void fill_shares(void)
{
    for (unsigned k = 1; k <= IPOLY_MOST; k++)
        for (unsigned bit = 0; bit < 64; bit++) {              /* what each bit of the number does, by itself and beside lower ones of its byte */
            uint16_t share = (uint16_t)(bit < k ? 1u << bit : hash_ipoly(0, 1ull << (bit - k), k)), *of = ipoly_shares[k][bit / 8];
            for (unsigned lower = 0; lower < 1u << bit % 8; lower++)
                of[1u << bit % 8 | lower] = of[lower] ^ share;
        }
}

void ipoly_init(struct ipoly *p, unsigned k)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, fill_shares);
    p->k = k <= IPOLY_MOST ? k : 0;
}

/* 32 sets: bits 7..11 of the address XOR bits 13, 14, 15, 17, 19; 64 sets: bit 12 on top. Line numbers begin at bit 7. */
static uint32_t fermi(uint64_t line_number, uint32_t sets)
{
    uint64_t a = line_number << 7;
    uint32_t upper = (uint32_t)(a >> 13 & 7) | (uint32_t)(a >> 17 & 1) << 3 | (uint32_t)(a >> 19 & 1) << 4;
    uint32_t set = (uint32_t)(a >> 7 & 0x1f) ^ upper;
    return sets == 64 ? set | (uint32_t)(a >> 12 & 1) << 5 : set;
}

uint32_t hash_set(enum set_hash h, uint64_t line_number, uint32_t sets)
{
    unsigned k = log2_ceil(sets);
    uint32_t index = (uint32_t)(line_number & ((1u << k) - 1));
    uint64_t upper = line_number >> k;
    if (!is_power_of_2(sets) && h == SET_LINEAR)
        return (uint32_t)(line_number % sets);
    switch (h) {
    case SET_LINEAR: break;
    case SET_XOR:    index ^= (uint32_t)(upper & ((1u << k) - 1)); break;
    case SET_IPOLY:  index = hash_ipoly(index, upper, k); break;
    case SET_FERMI:  index = fermi(line_number, sets); break;
    }
    return index % sets;
}
