/* The read-only caches beside the L1 data cache: instructions, constants, textures. A look-up hits, or joins or starts a miss, or finds something full and must be tried
 * again. A miss asks L2 for the 128-byte line of memory that is wanted now; of a longer cache line the others follow, and nobody waits for them. */
#include "timing/model.h"

enum { MEMORY_LINE = 128 };

enum status side_create(struct side_cache *c, const struct timing_cache *spec, enum request_source source, enum timing_access_type type, struct timing_cache_stats *stats, struct error *err)
{
    struct cache_spec tags = cache_spec_of(spec);
    enum status st = cache_create(&c->tags, &tags, err);
    c->source = (uint8_t)source;
    c->type = (uint8_t)type;
    c->stats = stats;
    c->on = st == ST_OK;
    return st == ST_OK ? mshr_create(&c->mshr, spec->mshrs, spec->merge, err) : st;
}

void side_destroy(struct side_cache *c)
{
    cache_destroy(&c->tags);
    mshr_destroy(&c->mshr);
    c->on = false;
}

uint64_t side_atom(const struct side_cache *c, uint64_t address)
{
    return address & ~(uint64_t)(c->tags.spec.sectored ? SECTOR_BYTES - 1 : c->tags.spec.line_bytes - 1);
}

static void ask(struct sm *s, const struct side_cache *c, uint64_t address, uint64_t ready)
{
    uint32_t atom = c->tags.spec.sectored ? SECTOR_BYTES : c->tags.spec.line_bytes, piece = atom < MEMORY_LINE ? atom : MEMORY_LINE;
    uint64_t first = side_atom(c, address), wanted = address & ~(uint64_t)(piece - 1);
    struct packet r = {.tag = TAG_FILL, .pending = -1, .kind = REQUEST_READ, .source = c->source, .type = c->type, .sectors = (uint8_t)(piece / SECTOR_BYTES),
                        .bytes = {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}}};
    for (uint32_t k = 0; k < atom / piece; k++) {
        r.address = first + (wanted - first + k * piece) % atom;       /* the wanted one goes first */
        r.tag = k ? TAG_NOBODY : TAG_FILL;
        lsu_send(s, &r, ready);
    }
}

void side_count_refused(const struct side_cache *c, enum timing_fail why, uint64_t times)
{
    c->stats->access[c->type][TIMING_RESERVATION_FAIL] += times;
    c->stats->fail[c->type][why] += times;
}

static enum side_result full(struct side_cache *c, enum timing_fail why)
{
    side_count_refused(c, why, 1);
    c->refused = (uint8_t)why;
    return SIDE_FULL;
}

enum side_result side_access(struct sm *s, struct side_cache *c, uint64_t address, uint32_t id)
{
    static const struct line_mask whole = {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}};
    uint64_t atom = side_atom(c, address);
    struct cache_victim v;
    if (cache_probe(&c->tags, address, &whole, false) == CACHE_HIT) {
        cache_read(&c->tags, address, &whole, &v);
        c->stats->access[c->type][TIMING_HIT]++;
        return SIDE_HIT;
    }
    enum mshr_result k = mshr_check(&c->mshr, atom);
    if (k == MSHR_ENTRIES_FULL || k == MSHR_MERGE_FULL)
        return full(c, k == MSHR_ENTRIES_FULL ? TIMING_MSHR_ENRTY_FAIL : TIMING_MSHR_MERGE_ENRTY_FAIL);
    if (k == MSHR_MERGED) {
        mshr_add(&c->mshr, atom, id);
        c->stats->access[c->type][TIMING_HIT_RESERVED]++;
        return SIDE_WAITS;
    }
    if (!lsu_port_room(s))
        return full(c, TIMING_MISS_QUEUE_FULL);
    enum cache_result r = cache_read(&c->tags, address, &whole, &v);
    if (r == CACHE_RESERVATION_FAIL)
        return full(c, TIMING_LINE_ALLOC_FAIL);
    c->stats->access[c->type][r == CACHE_SECTOR_MISS ? TIMING_SECTOR_MISS : TIMING_MISS]++;
    mshr_add(&c->mshr, atom, id);
    ask(s, c, address, s->now + 1);
    return SIDE_WAITS;
}

void side_fill(struct side_cache *c, uint64_t address, void (*fn)(void *user, uint32_t id), void *user)
{
    struct cache_victim v;
    cache_fill(&c->tags, address, &v);
    mshr_fill(&c->mshr, side_atom(c, address), fn, user);
}

/* ---- for the load/store unit ------------------------------------------------------------------------------------------------------------- */

bool side_serve(struct sm *s, struct mem_op *m)
{
    switch (side_access(s, m->side, m->at[m->next].address, m->load)) {
    case SIDE_HIT:
        lsu_access_done(s, m->load, s->now + m->side->latency - 1);
        break;
    case SIDE_WAITS:
        break;
    case SIDE_FULL:
        s->lsu_stuck = (uint8_t)(1 + m->side->refused);
        return false;
    }
    m->next++;
    return true;
}

static void arrived(void *user, uint32_t load) { lsu_access_done(user, load, ((struct sm *)user)->now + 1); }

void side_reply(struct sm *s, struct side_cache *c, uint64_t address) { side_fill(c, address, arrived, s); }
