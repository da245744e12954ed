#include "timing/addrmap.h"

#include "timing/hash.h"

/* Gathers the bits of v that the runs select, lowest first. */
static uint64_t gather(uint64_t v, const struct bit_runs *runs)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < runs->n; i++)
        r |= (v & runs->at[i].mask) >> runs->at[i].shift;
    return r;
}

static struct bit_runs runs_of(uint64_t mask)
{
    struct bit_runs r = {.n = 0};
    unsigned below = 0;                        /* bits gathered so far */
    while (mask && r.n < 16) {
        unsigned first = (unsigned)__builtin_ctzll(mask);
        uint64_t from = mask >> first;
        unsigned length = ~from ? (unsigned)__builtin_ctzll(~from) : 64;
        uint64_t run = (length == 64 ? ~0ull : (1ull << length) - 1) << first;
        r.at[r.n].mask = run;
        r.at[r.n++].shift = first - below;
        below += length;
        mask &= ~run;
    }
    return r;
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

enum status addrmap_create(struct addrmap *m, const struct timing_address_map *bits, uint32_t channels, uint32_t slices_per_channel, enum partition_indexing indexing,
                           struct error *err)
{
    *m = (struct addrmap){.channels = channels, .slices_per_channel = slices_per_channel, .indexing = indexing, .channel_at = bits->channel_bit, .bank = bits->bank,
                          .row = bits->row, .column = bits->column, .burst = bits->burst, .channel = bits->channel};
    if (!channels || !is_power_of_2(slices_per_channel))
        return error_set(err, ST_INVALID_VALUE, "%u memory channels with %u sub-partitions each: at least one channel, and a power of two of sub-partitions, are needed", channels,
                         slices_per_channel);
    m->gap = !is_power_of_2(channels) || indexing == PARTITION_ROTATE;
    m->channel_bits = m->gap ? 0 : log2_ceil(channels);
    m->sub_bits = log2_ceil(slices_per_channel);
    if (m->channel_at < 0 && m->gap)
        return error_set(err, ST_INVALID_VALUE, "the address mapping has D letters, which need a power of two of channels and another hash than rotate: there are %u; use dramid@N", channels);
    if (m->channel_at >= 0 && !m->gap) {
        m->channel = ((1ull << m->channel_bits) - 1) << m->channel_at;
        m->bank = spread(m->bank, m->channel_at, m->channel_bits);
        m->row = spread(m->row, m->channel_at, m->channel_bits);
        m->column = spread(m->column, m->channel_at, m->channel_bits);
        m->burst = spread(m->burst, m->channel_at, m->channel_bits);
    }
    m->squeeze = ~((m->gap ? 0 : m->channel) | low_bits(m->bank, m->sub_bits));
    m->bank_runs = runs_of(m->bank);
    m->row_runs = runs_of(m->row);
    m->column_runs = runs_of(m->column);
    m->burst_runs = runs_of(m->burst);
    m->channel_runs = runs_of(m->channel);
    m->squeeze_runs = runs_of(m->squeeze);
    ipoly_init(&m->ipoly, log2_ceil((uint64_t)channels * slices_per_channel));
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

/* Block `address` of a round of one block for each slice. */
static uint32_t rotated(const struct addrmap *m, uint64_t address, uint64_t *round)
{
    uint32_t n = m->channels * m->slices_per_channel;
    uint64_t block = address >> m->channel_at;
    *round = block / n;
    return (uint32_t)((block % n + scramble(*round, n)) % n);
}

/* A channel's slices have their blocks of a round one after the other. */
static struct dram_place place_rotated(const struct addrmap *m, uint64_t address)
{
    uint64_t round, low = address & ((1ull << m->channel_at) - 1);
    uint32_t slice = rotated(m, address, &round), sub = slice % m->slices_per_channel;
    uint64_t rest = (round * m->slices_per_channel + sub) << m->channel_at | low;
    return (struct dram_place){.channel = slice / m->slices_per_channel, .slice = slice, .bank = (uint32_t)gather(rest, &m->bank_runs), .row = (uint32_t)gather(rest, &m->row_runs),
                               .column = (uint32_t)(gather(rest, &m->column_runs) << __builtin_popcountll(m->burst) | gather(rest, &m->burst_runs))};
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
        return ipoly_apply(&m->ipoly, (uint64_t)plain | upper << m->ipoly.k) % n;
    case PARTITION_RANDOM:
        return scramble(address >> 8, n);
    case PARTITION_ROTATE:                     /* place_rotated */
        break;
    }
    return plain;
}

/* The address without its channel, which is no part of bank, row and column. */
static uint64_t without_channel(const struct addrmap *m, uint64_t address, uint32_t *channel)
{
    if (m->gap)
        return rest_of(m, address, channel);
    *channel = (uint32_t)gather(address, &m->channel_runs);
    return address;
}

struct dram_place addrmap_place(const struct addrmap *m, uint64_t address)
{
    struct dram_place p = {0};
    if (m->indexing == PARTITION_ROTATE)
        return place_rotated(m, address);
    uint64_t rest = without_channel(m, address, &p.channel);
    p.bank = (uint32_t)gather(rest, &m->bank_runs);
    p.row = (uint32_t)gather(rest, &m->row_runs);
    p.column = (uint32_t)(gather(rest, &m->column_runs) << __builtin_popcountll(m->burst) | gather(rest, &m->burst_runs));
    p.slice = slice_of(m, address, rest, p.channel, p.bank & (m->slices_per_channel - 1));
    p.channel = p.slice / m->slices_per_channel;
    return p;
}

uint32_t addrmap_slice(const struct addrmap *m, uint64_t address)
{
    uint64_t round;
    uint32_t channel;
    if (m->indexing == PARTITION_ROTATE)
        return rotated(m, address, &round);
    uint64_t rest = without_channel(m, address, &channel);
    return slice_of(m, address, rest, channel, m->sub_bits ? (uint32_t)gather(rest, &m->bank_runs) & (m->slices_per_channel - 1) : 0);
}

void addrmap_bank(const struct addrmap *m, uint64_t address, uint32_t *bank, uint32_t *row)
{
    uint32_t channel;
    if (m->indexing == PARTITION_ROTATE) {
        struct dram_place p = place_rotated(m, address);
        *bank = p.bank;
        *row = p.row;
        return;
    }
    uint64_t rest = m->gap ? rest_of(m, address, &channel) : address;
    *bank = (uint32_t)gather(rest, &m->bank_runs);
    *row = (uint32_t)gather(rest, &m->row_runs);
}

uint64_t addrmap_local(const struct addrmap *m, uint64_t address)
{
    uint32_t channel;
    if (m->indexing == PARTITION_ROTATE)
        return (address >> m->channel_at) / ((uint64_t)m->channels * m->slices_per_channel) << m->channel_at | (address & ((1ull << m->channel_at) - 1));
    uint64_t rest = m->gap ? rest_of(m, address, &channel) : address;
    return gather(rest, &m->squeeze_runs);
}
