#include "timing/cache.h"

#include "runtime/base/slab.h"
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
        size_t base = (size_t)set * c->spec.ways;
        c->order[set] = (struct cache_order){0, (uint16_t)(c->ways - 1)};
        for (uint32_t w = 0; w < c->ways; w++) {
            c->lines[base + w].set = set;
            c->links[base + w] = (struct cache_link){(uint16_t)(w - 1), (uint16_t)(w + 1)};
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
    c->lines = slab_alloc(n, sizeof *c->lines);
    c->order = slab_alloc(spec->sets, sizeof *c->order);
    c->links = slab_alloc(n, sizeof *c->links);
    c->index = slab_alloc(size, sizeof *c->index);
    if (c->lines && c->order && c->links && c->index) {
        clear(c);
        return ST_OK;
    }
    cache_destroy(c);
    return error_set(err, ST_OUT_OF_MEMORY, "no host memory for a cache of %zu lines", n);
}

void cache_destroy(struct cache *c)
{
    slab_free(c->lines);
    slab_free(c->order);
    slab_free(c->links);
    slab_free(c->index);
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

static void unlink_way(struct cache_order *o, struct cache_link *links, uint32_t way)
{
    uint16_t before = links[way].before, after = links[way].after;
    if (o->first == way)
        o->first = after;
    else
        links[before].after = after;
    if (o->last == way)
        o->last = before;
    else
        links[after].before = before;
}

void cache_to_back(struct cache *c, uint32_t set, uint32_t way)
{
    struct cache_link *links = &c->links[(size_t)set * c->spec.ways];
    struct cache_order *o = &c->order[set];
    if (o->last == way)
        return;
    unlink_way(o, links, way);
    links[way].before = o->last;
    links[o->last].after = (uint16_t)way;
    o->last = (uint16_t)way;
}

void cache_to_front(struct cache *c, uint32_t set, uint32_t way)
{
    struct cache_link *links = &c->links[(size_t)set * c->spec.ways];
    struct cache_order *o = &c->order[set];
    if (o->first == way)
        return;
    unlink_way(o, links, way);
    links[way].after = o->first;
    links[o->first].before = (uint16_t)way;
    o->first = (uint16_t)way;
}

/* ---- index ---- */

static uint32_t set_of(const struct cache *c, uint64_t number)
{
    if (c->map)
        number = addrmap_local(c->map, number * c->spec.line_bytes) / c->spec.line_bytes;
    if (c->spec.set_hash == SET_IPOLY)
        return ipoly_apply(&c->ipoly, number) % c->spec.sets;
    return hash_set(c->spec.set_hash, number, c->spec.sets);
}

static uint32_t hash_of(uint64_t number) { return (uint32_t)(number * 0x9e3779b97f4a7c15u >> 32); }

/* Place of the line, or SIZE_MAX. */
static size_t find(struct cache *c, uint64_t number)
{
    if (number == c->last_number)
        return c->last_at;
    uint32_t hash = hash_of(number), i = hash & c->index_mask;
    while (c->index[i].place && !(c->index[i].hash == hash && c->lines[c->index[i].place - 1].tag == number + 1))
        i = (i + 1) & c->index_mask;
    c->last_number = number;
    c->last_at = c->index[i].place ? c->index[i].place - 1 : SIZE_MAX;
    return c->last_at;
}

static struct cache_index *home(const struct cache *c, uint64_t address) { return &c->index[hash_of(address / c->spec.line_bytes) & c->index_mask]; }

void cache_expect(const struct cache *c, uint64_t address) { __builtin_prefetch(home(c, address)); }

void cache_expect_line(const struct cache *c, uint64_t address)
{
    uint32_t place = home(c, address)->place;
    if (place) {                               /* most probably its own */
        __builtin_prefetch(&c->lines[place - 1]);
        return;
    }
    uint32_t set = set_of(c, address / c->spec.line_bytes);            /* it will take another's place */
    size_t victim = (size_t)set * c->spec.ways + c->order[set].first;
    __builtin_prefetch(&c->lines[victim], 1);
    __builtin_prefetch(&c->links[victim], 1);
}

static void index_add(struct cache *c, uint64_t number, size_t place)
{
    uint32_t hash = hash_of(number), i = hash & c->index_mask;
    while (c->index[i].place)
        i = (i + 1) & c->index_mask;
    c->index[i] = (struct cache_index){hash, (uint32_t)place + 1};
    c->last_number = number;
    c->last_at = place;
}

/* Without tombstones: what follows in the run moves up. */
static void index_remove(struct cache *c, uint64_t number, size_t place)
{
    uint32_t hole = hash_of(number) & c->index_mask;
    while (c->index[hole].place != place + 1)
        hole = (hole + 1) & c->index_mask;
    for (uint32_t j = (hole + 1) & c->index_mask; c->index[j].place; j = (j + 1) & c->index_mask)
        if (((j - c->index[j].hash) & c->index_mask) >= ((j - hole) & c->index_mask)) {
            c->index[hole] = c->index[j];
            hole = j;
        }
    c->index[hole].place = 0;
    if (number == c->last_number)
        c->last_number = NO_NUMBER;
}

/* ---- lines ---- */

static unsigned sector_of(const struct cache *c, uint64_t address) { return c->spec.sectored ? (unsigned)(address / SECTOR_BYTES) % LINE_SECTORS : 0; }

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
    if (l->reserved >> s & 1)
        return CACHE_HIT_RESERVED;
    return l->valid >> s & 1 && (write || readable(c, l, s, bytes)) ? CACHE_HIT : CACHE_SECTOR_MISS;
}

/* The way to replace: the first in order that is free or may go. SIZE_MAX: none. */
static size_t victim_at(const struct cache *c, uint32_t set)
{
    if (!c->ways)
        return SIZE_MAX;
    bool dirty_ok = (uint64_t)c->n_dirty * 100 >= (uint64_t)c->spec.dirty_percent * c->spec.sets * c->ways;
    size_t base = (size_t)set * c->spec.ways;
    for (uint32_t way = c->order[set].first;; way = c->links[base + way].after) {
        const struct cache_line *l = &c->lines[base + way];
        if (!l->tag || !(l->reserved || (!dirty_ok && l->modified)))
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
    *victim = (struct cache_victim){.dirty = l->modified, .line_address = (l->tag - 1) * c->spec.line_bytes};
    for (unsigned i = 0; l->modified && i < LINE_SECTORS; i++)
        victim->bytes.sector[i] = l->modified >> (c->spec.sectored ? i : 0) & 1 ? l->written[i] : 0;
    c->n_dirty -= l->modified != 0;
    index_remove(c, l->tag - 1, at);
    *l = (struct cache_line){.set = l->set};
}

static uint32_t way_of(const struct cache *c, size_t at) { return (uint32_t)at - c->lines[at].set * c->spec.ways; }

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
    c->spec.replacement->filled(c, set, way_of(c, at));
    return at;
}

static void touch(struct cache *c, size_t at)
{
    if (c->spec.replacement->touched)
        c->spec.replacement->touched(c, c->lines[at].set, way_of(c, at));
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
        if (r == CACHE_SECTOR_MISS && c->spec.alloc == CACHE_ON_MISS && !(c->lines[at].valid >> s & 1))
            c->lines[at].reserved |= (uint8_t)(1 << s);
        return r;
    }
    if (c->spec.alloc == CACHE_ON_FILL)
        return CACHE_MISS;
    at = allocate(c, number, victim);
    if (at == SIZE_MAX)
        return CACHE_RESERVATION_FAIL;
    c->lines[at].reserved = (uint8_t)(1 << s);
    touch(c, at);
    return CACHE_MISS;
}

static void mark(struct cache *c, size_t at, unsigned s, const struct line_mask *bytes, bool modify)
{
    struct cache_line *l = &c->lines[at];
    c->n_dirty += modify && !l->modified;
    for (unsigned i = 0; i < LINE_SECTORS; i++)
        if (!c->spec.sectored || i == s)
            l->written[i] |= bytes->sector[i];
    l->valid |= (uint8_t)(1 << s);
    l->modified |= (uint8_t)(modify << s);
    touch(c, at);
}

enum cache_result cache_update(struct cache *c, uint64_t address, const struct line_mask *bytes, bool modify)
{
    uint64_t number = address / c->spec.line_bytes;
    size_t at = find(c, number);
    unsigned s = sector_of(c, address);
    if (at == SIZE_MAX || !((c->lines[at].reserved | c->lines[at].valid) >> s & 1))
        return CACHE_MISS;
    if (c->lines[at].reserved >> s & 1)
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
    l->reserved &= (uint8_t)~(1 << s);
    l->valid |= (uint8_t)(1 << s);
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
    bool was_dirty = l->modified;
    uint8_t rest = (uint8_t)~(1 << s);
    l->reserved &= rest;
    l->valid &= rest;
    l->modified &= rest;
    l->written[s] = 0;
    if (!c->spec.sectored)
        memset(l->written, 0, sizeof l->written);
    c->n_dirty -= was_dirty && !l->modified;
}
