/* A sectored, set-associative tag array: L1 data, L2 slice, instruction, constant and texture caches all are one. It holds no data (values are
 * emu's); it knows which bytes it would hold. Queues, MSHRs and what follows a miss are the controller's (l1.c, slice.c).
 *
 * The unit of an access is an atom: a 32-byte sector of a sectored cache, otherwise a line. One thread at a time. */
#ifndef HEDDLE_TIMING_CACHE_H
#define HEDDLE_TIMING_CACHE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "timing/hash.h"

enum { SECTOR_BYTES = 32, LINE_SECTORS = 4 };

enum cache_write { CACHE_READ_ONLY, CACHE_WRITE_BACK, CACHE_WRITE_THROUGH, CACHE_WRITE_EVICT, CACHE_LOCAL_BACK };   /* R B T E L */
enum cache_alloc { CACHE_ON_MISS, CACHE_ON_FILL };                       /* m f; s is one or the other, by kernel */
enum cache_write_alloc { CACHE_NO_ALLOCATE, CACHE_ALLOCATE, CACHE_FETCH_ON_WRITE, CACHE_LAZY_FETCH };               /* N W F L */

struct replacement;
struct cache_spec {
    bool sectored;
    uint32_t sets, ways, line_bytes;
    enum set_hash set_hash;
    const struct replacement *replacement;     /* timing/replacement/ */
    enum cache_write write;
    enum cache_alloc alloc;
    enum cache_write_alloc write_alloc;
    uint32_t dirty_percent;                    /* a dirty line may be a victim only when at least so many of all lines are dirty */
};

struct cache_line {                            /* half of one of the host's cache lines */
    uint64_t tag;                              /* line number + 1, 0 = free */
    uint32_t set;
    uint8_t reserved, valid, modified;         /* sets of sectors, sector 0 alone when not sectored: being fetched; there; of these, dirty */
    uint32_t written[LINE_SECTORS];            /* bytes known by writes to a sector that was never fetched; all ones when it was */
};

struct addrmap;
struct cache {
    struct cache_spec spec;
    const struct addrmap *map;                 /* an L2 slice takes its sets from the address within the slice; NULL: from the address */
    uint32_t ways;                             /* in use; a carve-out may lower it: 0 = every access misses and nothing is kept */
    struct cache_line *lines;                  /* sets x spec.ways */
    struct cache_order { uint16_t first, last; } *order;       /* by set: the way to go first, the way to go last; free ways are in front */
    struct cache_link { uint16_t before, after; } *links;      /* of each line: its neighbours in that order */
    struct cache_index { uint32_t hash, place; } *index; uint32_t index_mask;  /* open addressing over line numbers: place + 1, 0 = free; lines are not looked at in passing */
    uint64_t last_number; size_t last_at;      /* what was looked up last, and what was found: one access looks several times */
    struct ipoly ipoly;
    uint32_t n_dirty;                          /* lines with a modified sector */
};

enum status cache_create(struct cache *c, const struct cache_spec *spec, struct error *err) MUST_CHECK;
void cache_destroy(struct cache *c);
void cache_set_ways(struct cache *c, uint32_t ways);         /* invalidates; between kernels */
void cache_invalidate(struct cache *c);                      /* drops everything, dirty lines too */

enum cache_result { CACHE_HIT, CACHE_HIT_RESERVED, CACHE_MISS, CACHE_SECTOR_MISS, CACHE_RESERVATION_FAIL };

/* The bytes of a line that an access touches: 128 bits, or those of the atom when it lies in one sector. */
struct line_mask { uint32_t sector[LINE_SECTORS]; };

/* What a dirty victim writes back: one write for each sector with bytes. */
struct cache_victim { bool dirty; uint64_t line_address; struct line_mask bytes; };

/* Looks up the atom at `address`, changing no line: HIT, HIT_RESERVED, SECTOR_MISS or MISS. */
enum cache_result cache_probe(struct cache *c, uint64_t address, const struct line_mask *bytes, bool write);

/* A read. HIT touches the line. MISS and SECTOR_MISS reserve (CACHE_ON_MISS) or do nothing (CACHE_ON_FILL); RESERVATION_FAIL: every way is reserved. */
enum cache_result cache_read(struct cache *c, uint64_t address, const struct line_mask *bytes, struct cache_victim *victim);
/* A write that the cache keeps: allocates without a fetch, marks bytes. modify: the sector becomes dirty (write back), else stays clean (write through). */
enum cache_result cache_write(struct cache *c, uint64_t address, const struct line_mask *bytes, bool modify, struct cache_victim *victim);
/* A write that hits what is there and allocates nothing; CACHE_MISS otherwise. */
enum cache_result cache_update(struct cache *c, uint64_t address, const struct line_mask *bytes, bool modify);
/* Data came back. With CACHE_ON_FILL allocates now: victim may be written. */
void cache_fill(struct cache *c, uint64_t address, struct cache_victim *victim);
void cache_evict(struct cache *c, uint64_t address);         /* drops the sector, dirty or not */

/* Hints to the host, whose own caches do not hold all of a GPU's tags: the address will be looked up soon; and a little later, for the line itself. */
void cache_expect(const struct cache *c, uint64_t address);
void cache_expect_line(const struct cache *c, uint64_t address);

/* Replacement: the order in which the ways of a set go. A policy is one file of timing/replacement/, and says what an event does to a way's place: cache_to_back
 * makes it the last to go, cache_to_front the first. A way whose line is being fetched, or is dirty and protected, is passed over. */
struct replacement {
    const char *name;
    void (*filled)(struct cache *c, uint32_t set, uint32_t way);          /* a new line was put there */
    void (*touched)(struct cache *c, uint32_t set, uint32_t way);         /* an access found it; NULL: means nothing */
};
void cache_to_back(struct cache *c, uint32_t set, uint32_t way);
void cache_to_front(struct cache *c, uint32_t set, uint32_t way);
extern const struct replacement replacement_lru, replacement_fifo;
const struct replacement *replacement_find(const char *name);           /* NULL: no such policy */

#endif
