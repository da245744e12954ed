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

enum status cache_create(struct cache *c, const struct cache_spec *spec, struct error *err)
{
    size_t n = (size_t)spec->sets * spec->ways;
    *c = (struct cache){.spec = *spec, .ways = spec->ways};
    c->tags = calloc(n ? n : 1, sizeof *c->tags);
    c->lines = calloc(n ? n : 1, sizeof *c->lines);
    if (c->tags && c->lines)
        return ST_OK;
    cache_destroy(c);
    return error_set(err, ST_OUT_OF_MEMORY, "no host memory for a cache of %zu lines", n);
}

void cache_destroy(struct cache *c)
{
    free(c->tags);
    free(c->lines);
    c->tags = NULL;
    c->lines = NULL;
}

void cache_invalidate(struct cache *c)
{
    size_t n = (size_t)c->spec.sets * c->spec.ways;
    memset(c->tags, 0, n * sizeof *c->tags);
    memset(c->lines, 0, n * sizeof *c->lines);
    c->n_dirty = 0;
}

void cache_set_ways(struct cache *c, uint32_t ways)
{
    cache_invalidate(c);
    c->ways = ways < c->spec.ways ? ways : c->spec.ways;
}

static unsigned sectors(const struct cache *c) { return c->spec.sectored ? LINE_SECTORS : 1; }
static unsigned sector_of(const struct cache *c, uint64_t address) { return c->spec.sectored ? (unsigned)(address / SECTOR_BYTES) % LINE_SECTORS : 0; }

static size_t set_at(const struct cache *c, uint64_t number)
{
    if (c->map)
        number = addrmap_local(c->map, number * c->spec.line_bytes) / c->spec.line_bytes;
    return (size_t)hash_set(c->spec.set_hash, number, c->spec.sets) * c->spec.ways;
}

/* Index of the line, or SIZE_MAX. */
static size_t find(const struct cache *c, size_t set, uint64_t number)
{
    for (uint32_t w = 0; w < c->ways; w++)
        if (c->tags[set + w] == number + 1)
            return set + w;
    return SIZE_MAX;
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

/* The way to replace: a free one, else the policy's among those without a reserved sector. SIZE_MAX: none. */
static size_t victim_at(const struct cache *c, size_t set)
{
    size_t best = SIZE_MAX;
    uint64_t least = UINT64_MAX;
    bool dirty_ok = (uint64_t)c->n_dirty * 100 >= (uint64_t)c->spec.dirty_percent * c->spec.sets * c->ways;
    for (size_t at = set; at < set + c->ways; at++) {
        if (!c->tags[at])
            return at;
        const struct cache_line *l = &c->lines[at];
        if (any_state(c, l, SECTOR_RESERVED) || (!dirty_ok && any_state(c, l, SECTOR_MODIFIED)))
            continue;
        uint64_t order = c->spec.replacement->order(l);
        if (order < least) {
            least = order;
            best = at;
        }
    }
    return best;
}

enum cache_result cache_probe(const struct cache *c, uint64_t address, const struct line_mask *bytes, bool write, uint32_t *way)
{
    uint64_t number = address / c->spec.line_bytes;
    size_t set = set_at(c, number), at = find(c, set, number);
    if (way)
        *way = at == SIZE_MAX ? UINT32_MAX : (uint32_t)(at - set);
    if (at != SIZE_MAX)
        return look(c, at, sector_of(c, address), bytes, write);
    return victim_at(c, set) == SIZE_MAX ? CACHE_RESERVATION_FAIL : CACHE_MISS;
}

static void drop(struct cache *c, size_t at, struct cache_victim *victim)
{
    struct cache_line *l = &c->lines[at];
    if (victim)
        *victim = (struct cache_victim){.line_address = (c->tags[at] - 1) * c->spec.line_bytes};
    if (c->tags[at] && any_state(c, l, SECTOR_MODIFIED)) {
        c->n_dirty--;
        if (victim) {
            victim->dirty = true;
            for (unsigned i = 0; i < LINE_SECTORS; i++)
                victim->bytes.sector[i] = l->state[c->spec.sectored ? i : 0] == SECTOR_MODIFIED ? l->written[i] : 0;
        }
    }
    c->tags[at] = 0;
    *l = (struct cache_line){.touched = 0};
}

/* A place for a new line; SIZE_MAX: none. */
static size_t allocate(struct cache *c, size_t set, uint64_t number, struct cache_victim *victim)
{
    size_t at = victim_at(c, set);
    if (at == SIZE_MAX)
        return at;
    if (c->tags[at])
        drop(c, at, victim);
    c->tags[at] = number + 1;
    c->lines[at] = (struct cache_line){.filled = ++c->serial};
    return at;
}

static void touch(struct cache *c, size_t at) { c->lines[at].touched = ++c->serial; }

enum cache_result cache_read(struct cache *c, uint64_t address, const struct line_mask *bytes, struct cache_victim *victim)
{
    uint64_t number = address / c->spec.line_bytes;
    size_t set = set_at(c, number), at = find(c, set, number);
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
    at = allocate(c, set, number, victim);
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
    size_t at = find(c, set_at(c, number), number);
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
    size_t set = set_at(c, number), at = find(c, set, number);
    unsigned s = sector_of(c, address);
    victim->dirty = false;
    enum cache_result r = CACHE_MISS;
    if (at != SIZE_MAX) {
        r = look(c, at, s, bytes, true);
        if (r == CACHE_HIT_RESERVED)
            return r;
    } else {
        at = allocate(c, set, number, victim);
        if (at == SIZE_MAX)
            return CACHE_RESERVATION_FAIL;
    }
    mark(c, at, s, bytes, modify);
    return r;
}

void cache_fill(struct cache *c, uint64_t address, struct cache_victim *victim)
{
    uint64_t number = address / c->spec.line_bytes;
    size_t set = set_at(c, number), at = find(c, set, number);
    unsigned s = sector_of(c, address);
    victim->dirty = false;
    if (at == SIZE_MAX) {                      /* on fill, or invalidated meanwhile */
        at = allocate(c, set, number, victim);
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
    size_t at = find(c, set_at(c, number), number);
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
