#include "timing/addrmap.h"

#include <stdlib.h>
#include <string.h>

#include "timing/hash.h"

/* Gathers the bits of v that mask selects, lowest first. */
static uint64_t gather(uint64_t v, uint64_t mask)
{
    uint64_t r = 0;
    for (unsigned k = 0; mask; mask &= mask - 1, k++)
        r |= (v >> __builtin_ctzll(mask) & 1) << k;
    return r;
}

static uint64_t *mask_of(struct addrmap *m, char letter)
{
    switch (letter) {
    case 'B': case 'b': return &m->bank;
    case 'R': case 'r': return &m->row;
    case 'C': case 'c': return &m->column;
    case 'S': case 's': return &m->burst;
    case 'D': case 'd': return &m->channel;
    default: return NULL;
    }
}

static enum status parse(struct addrmap *m, const char *text, struct error *err)
{
    const char *p = text;
    m->channel_at = -1;
    if (strncmp(p, "dramid@", 7) == 0) {
        char *end;
        long n = strtol(p + 7, &end, 10);
        if (*end != ';' || n < 0 || n > 63)
            return error_set(err, ST_INVALID_VALUE, "address mapping \"%s\": dramid@N needs a bit number from 0 to 63 and a semicolon", text);
        m->channel_at = (int)n;
        p = end + 1;
    }
    int bit = 63;
    for (; *p; p++) {
        if (*p == '.' || *p == ' ')
            continue;
        uint64_t *mask = mask_of(m, *p);
        if (!mask && *p != '0')
            return error_set(err, ST_INVALID_VALUE, "address mapping \"%s\": '%c' at position %d is none of B R C S D 0", text, *p, (int)(p - text) + 1);
        if (bit < 0)
            return error_set(err, ST_INVALID_VALUE, "address mapping \"%s\": more than 64 letters", text);
        if (mask)
            *mask |= 1ull << bit;
        bit--;
    }
    if (bit != -1)
        return error_set(err, ST_INVALID_VALUE, "address mapping \"%s\": %d letters, 64 are needed", text, 63 - bit);
    return ST_OK;
}

/* Makes room for the channel bits: what stands at or above bit `at` moves up by n. */
static uint64_t spread(uint64_t mask, int at, unsigned n)
{
    uint64_t low = mask & ((1ull << at) - 1);
    return low | (mask & ~((1ull << at) - 1)) << n;
}

static uint64_t low_bits(uint64_t mask, unsigned n)
{
    uint64_t r = 0;
    for (; n && mask; n--, mask &= mask - 1)
        r |= mask & -mask;
    return r;
}

enum status addrmap_create(struct addrmap *m, const char *text, uint32_t channels, uint32_t slices_per_channel, enum partition_indexing indexing, struct error *err)
{
    static const char usual[] = "dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS";
    *m = (struct addrmap){.channels = channels, .slices_per_channel = slices_per_channel, .indexing = indexing};
    if (!channels || !is_power_of_2(slices_per_channel))
        return error_set(err, ST_INVALID_VALUE, "%u memory channels with %u sub-partitions each: at least one channel, and a power of two of sub-partitions, are needed", channels, slices_per_channel);
    enum status st = parse(m, text ? text : usual, err);
    if (st != ST_OK)
        return st;
    m->gap = !is_power_of_2(channels);
    m->channel_bits = m->gap ? 0 : log2_ceil(channels);
    m->sub_bits = log2_ceil(slices_per_channel);
    if (m->channel_at < 0 && m->gap)
        return error_set(err, ST_INVALID_VALUE, "address mapping \"%s\": D letters need a power of two of channels, there are %u: use dramid@N", text, channels);
    if (m->channel_at >= 0 && !m->gap) {
        m->channel = ((1ull << m->channel_bits) - 1) << m->channel_at;
        m->bank = spread(m->bank, m->channel_at, m->channel_bits);
        m->row = spread(m->row, m->channel_at, m->channel_bits);
        m->column = spread(m->column, m->channel_at, m->channel_bits);
        m->burst = spread(m->burst, m->channel_at, m->channel_bits);
    }
    m->squeeze = ~(m->channel | low_bits(m->bank, m->sub_bits));
    return ST_OK;
}

/* Takes the channel out of an address whose channels are no power of two. */
static uint64_t rest_of(const struct addrmap *m, uint64_t address, uint32_t *channel)
{
    uint64_t upper = address >> m->channel_at, low = address & ((1ull << m->channel_at) - 1);
    *channel = (uint32_t)(upper % m->channels);
    return upper / m->channels << m->channel_at | low;
}

/* The lowest address bit above channel and slice bits: where hashes take their upper bits from. */
static uint64_t above(const struct addrmap *m, uint64_t address, uint64_t rest)
{
    if (m->gap)
        return rest >> m->channel_at;
    uint64_t used = m->channel | (m->channel_at >= 0 ? low_bits(m->bank, m->sub_bits) & ((m->channel << 1) | m->channel) : 0);
    return used ? address >> (64 - __builtin_clzll(used)) : address >> 8;
}

/* A fixed scramble of a block number: the "random" table, without a table. */
static uint32_t scramble(uint64_t block, uint32_t n)
{
    block ^= block >> 31;
    block *= 0x7fb5d329728ea185u;
    block ^= block >> 27;
    block *= 0x81dadef4bc2dd44du;
    block ^= block >> 33;
    return (uint32_t)(block % n);
}

/* Slice number by the configured hash. sub: as the bank bits say. */
static uint32_t slice_of(const struct addrmap *m, uint64_t address, uint64_t rest, uint32_t channel, uint32_t sub)
{
    uint32_t n = m->channels * m->slices_per_channel, plain = channel * m->slices_per_channel + sub;
    uint64_t upper = above(m, address, rest);
    switch (m->indexing) {
    case PARTITION_CONSECUTIVE:
    case PARTITION_NONE:
        break;
    case PARTITION_XOR:
        channel ^= (uint32_t)(upper & ((1u << m->channel_bits) - 1));
        return (m->gap ? channel % m->channels : channel) * m->slices_per_channel + sub;
    case PARTITION_IPOLY:
    case PARTITION_IPOLY_MODULO:
        return hash_ipoly(plain, upper, log2_ceil(n)) % n;
    case PARTITION_RANDOM:
        return scramble(address >> 8, n);
    }
    return plain;
}

struct dram_place addrmap_place(const struct addrmap *m, uint64_t address)
{
    struct dram_place p = {0};
    uint64_t rest = address;
    if (m->gap)
        rest = rest_of(m, address, &p.channel);
    else
        p.channel = (uint32_t)gather(address, m->channel);
    p.bank = (uint32_t)gather(rest, m->bank);
    p.row = (uint32_t)gather(rest, m->row);
    p.column = (uint32_t)(gather(rest, m->column) << __builtin_popcountll(m->burst) | gather(rest, m->burst));
    p.slice = slice_of(m, address, rest, p.channel, p.bank & (m->slices_per_channel - 1));
    p.channel = p.slice / m->slices_per_channel;
    return p;
}

uint64_t addrmap_local(const struct addrmap *m, uint64_t address)
{
    uint32_t channel;
    uint64_t rest = m->gap ? rest_of(m, address, &channel) : address;
    uint64_t keep = m->gap ? ~low_bits(m->bank, m->sub_bits) : m->squeeze;
    /* All keeps but a few bits: shift what is above each dropped bit down, highest first. */
    for (uint64_t drop = ~keep; drop;) {
        unsigned bit = 63 - (unsigned)__builtin_clzll(drop);
        rest = (rest & ((1ull << bit) - 1)) | (bit == 63 ? 0 : rest >> (bit + 1) << bit);
        drop &= ~(1ull << bit);
    }
    return rest;
}
