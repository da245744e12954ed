#include "timing/cache.h"

#include "timing/addrmap.h"

#include <stdlib.h>
#include <string.h>

static const struct replacement *const policies[] = {&replacement_lru, &replacement_fifo};

const struct replacement *replacement_find(const char *name)
{
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (strcmp(policies[i]->name, name) == 0)
            return policies[i];
    return NULL;
}

#define NO_NUMBER UINT64_MAX

static void clear(struct cache *c)
{
    size_t n = (size_t)c->spec.sets * c->spec.ways;
    memset(c->lines, 0, n * sizeof *c->lines);
    memset(c->index, 0, ((size_t)c->index_mask + 1) * sizeof *c->index);
    c->n_dirty = 0;
    c->last_number = NO_NUMBER;
    for (uint32_t set = 0; c->ways && set < c->spec.sets; set++) {
        c->order[set] = (struct cache_order){0, (uint16_t)(c->ways - 1)};
        for (uint32_t w = 0; w < c->ways; w++) {
            struct cache_line *l = &c->lines[(size_t)set * c->spec.ways + w];
            l->before = (uint16_t)(w - 1);
            l->after = (uint16_t)(w + 1);
        }
    }
}

enum status cache_create(struct cache *c, const struct cache_spec *spec, struct error *err)
{
    size_t n = (size_t)spec->sets * spec->ways, size = 4;
    if (spec->ways > UINT16_MAX)
        return error_set(err, ST_INVALID_VALUE, "a cache of %u ways: at most %d can be modelled", spec->ways, UINT16_MAX);
    while (size < 2 * n)
        size *= 2;
    *c = (struct cache){.spec = *spec, .ways = spec->ways, .index_mask = (uint32_t)size - 1};
    ipoly_init(&c->ipoly, log2_ceil(spec->sets));
    c->lines = calloc(n ? n : 1, sizeof *c->lines);
    c->order = calloc(spec->sets ? spec->sets : 1, sizeof *c->order);
    c->index = calloc(size, sizeof *c->index);
    if (c->lines && c->order && c->index) {
        clear(c);
        return ST_OK;
    }
    cache_destroy(c);
    return error_set(err, ST_OUT_OF_MEMORY, "no host memory for a cache of %zu lines", n);
}

void cache_destroy(struct cache *c)
{
    free(c->lines);
    free(c->order);
    free(c->index);
    *c = (struct cache){.ways = 0};
}

void cache_invalidate(struct cache *c)
{
    if (c->lines)
        clear(c);
}

void cache_set_ways(struct cache *c, uint32_t ways)
{
    c->ways = ways < c->spec.ways ? ways : c->spec.ways;
    cache_invalidate(c);
}

/* ---- order ---- */

static void unlink_way(struct cache *c, uint32_t set, uint32_t way)
{
    struct cache_line *lines = &c->lines[(size_t)set * c->spec.ways];
    struct cache_order *o = &c->order[set];
    uint16_t before = lines[way].before, after = lines[way].after;
    if (o->first == way)
        o->first = after;
    else
        lines[before].after = after;
    if (o->last == way)
        o->last = before;
    else
        lines[after].before = before;
}

void cache_to_back(struct cache *c, uint32_t set, uint32_t way)
{
    struct cache_line *lines = &c->lines[(size_t)set * c->spec.ways];
    struct cache_order *o = &c->order[set];
    if (o->last == way)
        return;
    unlink_way(c, set, way);
    lines[way].before = o->last;
    lines[o->last].after = (uint16_t)way;
    o->last = (uint16_t)way;
}

void cache_to_front(struct cache *c, uint32_t set, uint32_t way)
{
    struct cache_line *lines = &c->lines[(size_t)set * c->spec.ways];
    struct cache_order *o = &c->order[set];
    if (o->first == way)
        return;
    unlink_way(c, set, way);
    lines[way].after = o->first;
    lines[o->first].before = (uint16_t)way;
    o->first = (uint16_t)way;
}

/* ---- index ---- */

static uint32_t home(const struct cache *c, uint64_t number) { return (uint32_t)(number * 0x9e3779b97f4a7c15u >> 32) & c->index_mask; }

/* Place of the line, or SIZE_MAX. */
static size_t find(struct cache *c, uint64_t number)
{
    if (number == c->last_number)
        return c->last_at;
    size_t at = SIZE_MAX;
    for (uint32_t i = home(c, number); c->index[i] && at == SIZE_MAX; i = (i + 1) & c->index_mask)
        if (c->lines[c->index[i] - 1].tag == number + 1)
            at = c->index[i] - 1;
    c->last_number = number;
    c->last_at = at;
    return at;
}

void cache_expect(const struct cache *c, uint64_t address) { __builtin_prefetch(&c->index[home(c, address / c->spec.line_bytes)]); }

void cache_expect_line(const struct cache *c, uint64_t address)
{
    uint32_t place = c->index[home(c, address / c->spec.line_bytes)];
    if (place)                                 /* most probably its own */
        __builtin_prefetch(&c->lines[place - 1]);
}

static void index_add(struct cache *c, uint64_t number, size_t place)
{
    uint32_t i = home(c, number);
    while (c->index[i])
        i = (i + 1) & c->index_mask;
    c->index[i] = (uint32_t)place + 1;
    c->last_number = number;
    c->last_at = place;
}

/* Without tombstones: what follows in the run moves up. */
static void index_remove(struct cache *c, uint64_t number, size_t place)
{
    uint32_t hole = home(c, number);
    while (c->index[hole] != place + 1)
        hole = (hole + 1) & c->index_mask;
    for (uint32_t j = (hole + 1) & c->index_mask; c->index[j]; j = (j + 1) & c->index_mask) {
        uint32_t want = home(c, c->lines[c->index[j] - 1].tag - 1);
        if (((j - want) & c->index_mask) >= ((j - hole) & c->index_mask)) {
            c->index[hole] = c->index[j];
            hole = j;
        }
    }
    c->index[hole] = 0;
    if (number == c->last_number)
        c->last_number = NO_NUMBER;
}

/* ---- lines ---- */

static unsigned sectors(const struct cache *c) { return c->spec.sectored ? LINE_SECTORS : 1; }
static unsigned sector_of(const struct cache *c, uint64_t address) { return c->spec.sectored ? (unsigned)(address / SECTOR_BYTES) % LINE_SECTORS : 0; }

static uint32_t set_of(const struct cache *c, uint64_t number)
{
    if (c->map)
        number = addrmap_local(c->map, number * c->spec.line_bytes) / c->spec.line_bytes;
    if (c->spec.set_hash == SET_IPOLY)
        return ipoly_apply(&c->ipoly, number) % c->spec.sets;
    return hash_set(c->spec.set_hash, number, c->spec.sets);
}

static bool any_state(const struct cache *c, const struct cache_line *l, enum sector_state s)
{
    for (unsigned i = 0; i < sectors(c); i++)
        if (l->state[i] == s)
            return true;
    return false;
}

/* A modified sector that was never fetched gives only the bytes that were written. */
static bool readable(const struct cache *c, const struct cache_line *l, unsigned s, const struct line_mask *bytes)
{
    if (c->spec.sectored)
        return !(bytes->sector[s] & ~l->written[s]);
    for (unsigned i = 0; i < LINE_SECTORS; i++)
        if (bytes->sector[i] & ~l->written[i])
            return false;
    return true;
}

static enum cache_result look(const struct cache *c, size_t at, unsigned s, const struct line_mask *bytes, bool write)
{
    const struct cache_line *l = &c->lines[at];
    switch ((enum sector_state)l->state[s]) {
    case SECTOR_RESERVED: return CACHE_HIT_RESERVED;
    case SECTOR_VALID:
    case SECTOR_MODIFIED: return write || readable(c, l, s, bytes) ? CACHE_HIT : CACHE_SECTOR_MISS;
    case SECTOR_INVALID:  break;
    }
    return CACHE_SECTOR_MISS;
}

/* The way to replace: the first in order that is free or may go. SIZE_MAX: none. */
static size_t victim_at(const struct cache *c, uint32_t set)
{
    if (!c->ways)
        return SIZE_MAX;
    bool dirty_ok = (uint64_t)c->n_dirty * 100 >= (uint64_t)c->spec.dirty_percent * c->spec.sets * c->ways;
    size_t base = (size_t)set * c->spec.ways;
    for (uint32_t way = c->order[set].first;; way = c->lines[base + way].after) {
        const struct cache_line *l = &c->lines[base + way];
        if (!c->lines[base + way].tag || !(any_state(c, l, SECTOR_RESERVED) || (!dirty_ok && any_state(c, l, SECTOR_MODIFIED))))
            return base + way;
        if (way == c->order[set].last)
            return SIZE_MAX;
    }
}

enum cache_result cache_probe(struct cache *c, uint64_t address, const struct line_mask *bytes, bool write)
{
    uint64_t number = address / c->spec.line_bytes;
    size_t at = find(c, number);
    return at == SIZE_MAX ? CACHE_MISS : look(c, at, sector_of(c, address), bytes, write);
}

static void drop(struct cache *c, size_t at, struct cache_victim *victim)
{
    struct cache_line *l = &c->lines[at];
    if (victim)
        *victim = (struct cache_victim){.line_address = (c->lines[at].tag - 1) * c->spec.line_bytes};
    if (c->lines[at].tag && any_state(c, l, SECTOR_MODIFIED)) {
        c->n_dirty--;
        if (victim) {
            victim->dirty = true;
            for (unsigned i = 0; i < LINE_SECTORS; i++)
                victim->bytes.sector[i] = l->state[c->spec.sectored ? i : 0] == SECTOR_MODIFIED ? l->written[i] : 0;
        }
    }
    index_remove(c, c->lines[at].tag - 1, at);
    c->lines[at].tag = 0;
    memset(l->state, 0, sizeof l->state);
    memset(l->written, 0, sizeof l->written);
}

/* A place for a new line; SIZE_MAX: none. */
static size_t allocate(struct cache *c, uint64_t number, struct cache_victim *victim)
{
    uint32_t set = set_of(c, number);
    size_t at = victim_at(c, set);
    if (at == SIZE_MAX)
        return at;
    if (c->lines[at].tag)
        drop(c, at, victim);
    c->lines[at].tag = number + 1;
    index_add(c, number, at);
    c->spec.replacement->filled(c, set, (uint32_t)(at % c->spec.ways));
    return at;
}

static void touch(struct cache *c, size_t at)
{
    if (c->spec.replacement->touched)
        c->spec.replacement->touched(c, (uint32_t)(at / c->spec.ways), (uint32_t)(at % c->spec.ways));
}

enum cache_result cache_read(struct cache *c, uint64_t address, const struct line_mask *bytes, struct cache_victim *victim)
{
    uint64_t number = address / c->spec.line_bytes;
    size_t at = find(c, number);
    unsigned s = sector_of(c, address);
    victim->dirty = false;
    if (at != SIZE_MAX) {
        enum cache_result r = look(c, at, s, bytes, false);
        touch(c, at);
        if (r == CACHE_SECTOR_MISS && c->spec.alloc == CACHE_ON_MISS && c->lines[at].state[s] == SECTOR_INVALID)
            c->lines[at].state[s] = SECTOR_RESERVED;
        return r;
    }
    if (c->spec.alloc == CACHE_ON_FILL)
        return CACHE_MISS;
    at = allocate(c, number, victim);
    if (at == SIZE_MAX)
        return CACHE_RESERVATION_FAIL;
    c->lines[at].state[s] = SECTOR_RESERVED;
    touch(c, at);
    return CACHE_MISS;
}

static void mark(struct cache *c, size_t at, unsigned s, const struct line_mask *bytes, bool modify)
{
    struct cache_line *l = &c->lines[at];
    if (modify && !any_state(c, l, SECTOR_MODIFIED))
        c->n_dirty++;
    for (unsigned i = 0; i < LINE_SECTORS; i++)
        if (!c->spec.sectored || i == s)
            l->written[i] |= bytes->sector[i];
    if (modify)
        l->state[s] = SECTOR_MODIFIED;
    else if (l->state[s] == SECTOR_INVALID)
        l->state[s] = SECTOR_VALID;
    touch(c, at);
}

enum cache_result cache_update(struct cache *c, uint64_t address, const struct line_mask *bytes, bool modify)
{
    uint64_t number = address / c->spec.line_bytes;
    size_t at = find(c, number);
    unsigned s = sector_of(c, address);
    if (at == SIZE_MAX || c->lines[at].state[s] == SECTOR_INVALID)
        return CACHE_MISS;
    if (c->lines[at].state[s] == SECTOR_RESERVED)
        return CACHE_HIT_RESERVED;
    mark(c, at, s, bytes, modify);
    return CACHE_HIT;
}

enum cache_result cache_write(struct cache *c, uint64_t address, const struct line_mask *bytes, bool modify, struct cache_victim *victim)
{
    uint64_t number = address / c->spec.line_bytes;
    size_t at = find(c, number);
    unsigned s = sector_of(c, address);
    victim->dirty = false;
    enum cache_result r = CACHE_MISS;
    if (at != SIZE_MAX) {
        r = look(c, at, s, bytes, true);
        if (r == CACHE_HIT_RESERVED)
            return r;
    } else {
        at = allocate(c, number, victim);
        if (at == SIZE_MAX)
            return CACHE_RESERVATION_FAIL;
    }
    mark(c, at, s, bytes, modify);
    return r;
}

void cache_fill(struct cache *c, uint64_t address, struct cache_victim *victim)
{
    uint64_t number = address / c->spec.line_bytes;
    size_t at = find(c, number);
    unsigned s = sector_of(c, address);
    victim->dirty = false;
    if (at == SIZE_MAX) {                      /* on fill, or invalidated meanwhile */
        at = allocate(c, number, victim);
        if (at == SIZE_MAX)
            return;
        touch(c, at);
    }
    struct cache_line *l = &c->lines[at];
    if (l->state[s] != SECTOR_MODIFIED)
        l->state[s] = SECTOR_VALID;
    for (unsigned i = 0; i < LINE_SECTORS; i++)
        if (!c->spec.sectored || i == s)
            l->written[i] = UINT32_MAX;
}

void cache_evict(struct cache *c, uint64_t address)
{
    uint64_t number = address / c->spec.line_bytes;
    size_t at = find(c, number);
    if (at == SIZE_MAX)
        return;
    struct cache_line *l = &c->lines[at];
    unsigned s = sector_of(c, address);
    bool was_dirty = any_state(c, l, SECTOR_MODIFIED);
    l->state[s] = SECTOR_INVALID;
    l->written[s] = 0;
    if (!c->spec.sectored)
        memset(l->written, 0, sizeof l->written);
    if (was_dirty && !any_state(c, l, SECTOR_MODIFIED))
        c->n_dirty--;
}
