/* Address blocks for allocations: which part of the emulator's range is free, and the system memory behind it.
 *
 * Small blocks (below 1 MiB) are powers of two, cut from 2 MiB chunks that stay mapped, one chunk one size; a recycled block is zeroed when it
 * is handed out again, so that programs see the same contents in every run. Large blocks are whole 2 MiB units, first fit by
 * address; their memory goes back to the system when they are freed and comes as zero pages when touched. Records are kept outside
 * the blocks, so that untouched memory stays untouched. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/base/bytes.h"
#include "runtime/checkpoint/host.h"
#include "runtime/internal.h"

enum { SMALL_MIN_SHIFT = 9, SMALL_MAX_SHIFT = 19, SMALL_CLASSES = SMALL_MAX_SHIFT - SMALL_MIN_SHIFT + 1 };
#define UNIT ((uint64_t)RT_GRANULARITY)
#define RANGE_END (EMU_BASE + EMU_SPAN)
#define HUGE_FROM (1 * UNIT)                   /* ask for huge pages from here: waste stays below an eighth */

struct small_class { VEC(uint64_t) used_before; uint64_t fresh, fresh_end; };
static struct small_class small[2][SMALL_CLASSES];      /* by enum block_side */

struct extent { uint64_t at, bytes; };
typedef VEC(struct extent) extent_list;
static extent_list freed;                      /* of large blocks: sorted by address, never touching each other */
static uint64_t frontier = EMU_HEAP;           /* nothing from here to the ceiling was ever used */
static uint64_t ceiling = RANGE_END;

static uint64_t frontier_take(uint64_t bytes)
{
    if (bytes > ceiling - frontier)
        return 0;
    uint64_t at = frontier;
    frontier += bytes;
    return at;
}

static bool commit(uint64_t at, uint64_t bytes)
{
    void *p = mmap((void *)(uintptr_t)at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (p == MAP_FAILED)
        return false;
    if (bytes >= HUGE_FROM)
        madvise(p, bytes, MADV_HUGEPAGE);
    return true;
}

static uint64_t large_get(uint64_t bytes)
{
    uint64_t at = 0;
    for (size_t i = 0; i < freed.n && !at; i++) {
        struct extent *e = &freed.at[i];
        if (e->bytes < bytes)
            continue;
        at = e->at;
        e->at += bytes;
        e->bytes -= bytes;
        if (!e->bytes)
            memmove(e, e + 1, (--freed.n - i) * sizeof *e);
    }
    if (!at)
        at = frontier_take(bytes);
    if (at && !commit(at, bytes)) {
        block_put(at, BLOCK_DEVICE, bytes);
        at = 0;
    }
    return at;
}

static void large_put(uint64_t at, uint64_t bytes)
{
    share_forget(at, bytes);
    mmap((void *)(uintptr_t)at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    size_t i = 0;
    while (i < freed.n && freed.at[i].at < at)
        i++;
    bool joins_before = i > 0 && freed.at[i - 1].at + freed.at[i - 1].bytes == at;
    bool joins_after = i < freed.n && at + bytes == freed.at[i].at;
    if (joins_before) {
        freed.at[i - 1].bytes += bytes;
        if (joins_after) {
            freed.at[i - 1].bytes += freed.at[i].bytes;
            memmove(&freed.at[i], &freed.at[i + 1], (--freed.n - i) * sizeof freed.at[0]);
        }
    } else if (joins_after) {
        freed.at[i].at = at;
        freed.at[i].bytes += bytes;
    } else if (vec_push(&freed, ((struct extent){0, 0}))) {    /* without memory for the record the addresses are lost; nothing else is */
        memmove(&freed.at[i + 1], &freed.at[i], (freed.n - 1 - i) * sizeof freed.at[0]);
        freed.at[i] = (struct extent){at, bytes};
    }
}

static uint64_t small_get(unsigned class, enum block_side side)
{
    struct small_class *c = &small[side][class];
    uint64_t bytes = 1ull << (class + SMALL_MIN_SHIFT);
    if (c->used_before.n) {
        uint64_t at = c->used_before.at[--c->used_before.n];
        memset((void *)(uintptr_t)at, 0, bytes);
        return at;
    }
    if (c->fresh == c->fresh_end) {
        uint64_t chunk = large_get(UNIT);
        if (!chunk)
            return 0;
        c->fresh = chunk;
        c->fresh_end = chunk + UNIT;
    }
    uint64_t at = c->fresh;
    c->fresh += bytes;
    return at;
}

/* ---- a certain block, of a replay or a checkpoint ---- */

static bool large_take(uint64_t at, uint64_t bytes)
{
    if (at >= frontier) {
        if (at > ceiling || bytes > ceiling - at)
            return false;
        uint64_t gap = at - frontier, from = frontier;
        frontier = at + bytes;
        if (gap)
            large_put(from, gap);
        return commit(at, bytes);
    }
    for (size_t i = 0; i < freed.n; i++) {
        struct extent e = freed.at[i];
        if (at < e.at || at - e.at > e.bytes || e.bytes - (at - e.at) < bytes)
            continue;
        freed.at[i].bytes = at - e.at;
        if (!freed.at[i].bytes)
            memmove(&freed.at[i], &freed.at[i + 1], (--freed.n - i) * sizeof freed.at[0]);
        uint64_t behind = e.at + e.bytes - (at + bytes);
        if (behind)
            large_put(at + bytes, behind);
        return commit(at, bytes);
    }
    return false;
}

/* The fresh blocks up to `end` become free ones. */
static void leave_fresh(struct small_class *c, uint64_t end, uint64_t bytes)
{
    for (; c->fresh < end; c->fresh += bytes)
        (void)vec_push(&c->used_before, c->fresh);
}

static bool small_take(uint64_t at, unsigned class, enum block_side side)
{
    struct small_class *c = &small[side][class];
    uint64_t bytes = 1ull << (class + SMALL_MIN_SHIFT), chunk = at / UNIT * UNIT;
    if (at % bytes)
        return false;
    for (size_t i = c->used_before.n; i-- > 0;)
        if (c->used_before.at[i] == at) {
            memmove(&c->used_before.at[i], &c->used_before.at[i + 1], (--c->used_before.n - i) * sizeof c->used_before.at[0]);
            memset((void *)(uintptr_t)at, 0, bytes);
            return true;
        }
    if (at < c->fresh || at >= c->fresh_end) {
        if (!large_take(chunk, UNIT))
            return false;
        leave_fresh(c, c->fresh_end, bytes);
        c->fresh = chunk;
        c->fresh_end = chunk + UNIT;
    }
    leave_fresh(c, at, bytes);
    c->fresh = at + bytes;
    return true;
}

static bool is_large(uint64_t bytes) { return bytes > 1ull << SMALL_MAX_SHIFT; }

static unsigned class_of(uint64_t bytes)
{
    unsigned class = 0;
    while ((1ull << (class + SMALL_MIN_SHIFT)) < bytes)
        class++;
    return class;
}

bool block_take(uint64_t block, enum block_side side, uint64_t block_bytes)
{
    if (block < EMU_HEAP || block >= RANGE_END || block_bytes > RANGE_END - block || (is_large(block_bytes) && (block | block_bytes) % UNIT))
        return false;
    return is_large(block_bytes) ? large_take(block, block_bytes) : small_take(block, class_of(block_bytes), side);
}

uint64_t block_get_high(uint64_t bytes)
{
    bytes = (bytes + UNIT - 1) / UNIT * UNIT;
    if (bytes > ceiling - frontier || !commit(ceiling - bytes, bytes))
        return 0;
    return ceiling -= bytes;
}

/* ---- any block ---- */

static uint64_t any_block(uint64_t bytes, enum block_side side, uint64_t *got_bytes)
{
    if (bytes > RANGE_END - EMU_HEAP)
        return 0;
    if (is_large(bytes)) {
        *got_bytes = (bytes + UNIT - 1) / UNIT * UNIT;
        return large_get(*got_bytes);
    }
    unsigned class = class_of(bytes);
    *got_bytes = 1ull << (class + SMALL_MIN_SHIFT);
    return small_get(class, side);
}

/* Where it was in the recorded run. What a stream or another thread frees goes when it gets there, so that what was free then may yet have to become so. */
static uint64_t block_again(uint64_t bytes, enum block_side side, uint64_t *got_bytes)
{
    enum { TRIES = 2000 };                     /* of some ms */
    struct { uint64_t at, bytes; } was = {0, bytes};
    host_answer(&was, sizeof was);
    *got_bytes = was.bytes;
    for (int i = 0; was.at && i < TRIES; i++) {
        if (block_take(was.at, side, was.bytes))
            return was.at;
        pthread_mutex_unlock(&the.memory);
        host_lets_others();
        pthread_mutex_lock(&the.memory);
    }
    return 0;
}

uint64_t block_get(uint64_t bytes, enum block_side side, uint64_t *got_bytes)
{
    if (host_replayed() && host_inside())
        return block_again(bytes, side, got_bytes);
    struct { uint64_t at, bytes; } got = {.bytes = bytes};
    got.at = any_block(bytes, side, &got.bytes);
    if (host_watched())
        host_answer(&got, sizeof got);
    *got_bytes = got.bytes;
    return got.at;
}

void block_put(uint64_t block, enum block_side side, uint64_t block_bytes)
{
    if (is_large(block_bytes))
        large_put(block, block_bytes);
    else
        (void)vec_push(&small[side][class_of(block_bytes)].used_before, block);
}

/* ---- checkpoints ---- */

static void put_class(struct sink *to, const struct small_class *c)
{
    put_u64(to, c->fresh);
    put_u64(to, c->fresh_end);
    put_u64(to, c->used_before.n);
    put(to, c->used_before.at, c->used_before.n * sizeof *c->used_before.at);
}

void block_save(struct sink *to)
{
    put_u64(to, frontier);
    put_u64(to, ceiling);
    put_u64(to, freed.n);
    put(to, freed.at, freed.n * sizeof *freed.at);
    for (unsigned i = 0; i < 2 * SMALL_CLASSES; i++)
        put_class(to, &small[i / SMALL_CLASSES][i % SMALL_CLASSES]);
}

static bool is_free(uint64_t lo, uint64_t hi, uint64_t last)
{
    struct emu_range r;
    return lo >= EMU_HEAP && lo <= hi && hi <= last && (lo == hi || !emu_space_after(the.space, lo, &r) || r.lo >= hi);
}

/* The chunk may be one that this process had no use for yet. */
static bool opened(uint64_t at) { return mprotect((void *)(uintptr_t)(at / UNIT * UNIT), UNIT, PROT_READ | PROT_WRITE) == 0; }

static bool get_class(struct source *from, struct small_class *c, uint64_t bytes, uint64_t last)
{
    *c = (struct small_class){.fresh = get_u64(from), .fresh_end = get_u64(from)};
    bool good = c->fresh == c->fresh_end || (is_free(c->fresh, c->fresh_end, last) && c->fresh_end - c->fresh <= UNIT && opened(c->fresh));
    uint64_t chunk = 0;
    for (uint64_t n = get_u64(from); n && good && !from->failed; n--) {
        uint64_t at = get_u64(from);
        good = at % bytes == 0 && is_free(at, at + bytes, last) && (at / UNIT == chunk || opened(at)) && vec_push(&c->used_before, at);
        chunk = at / UNIT;
    }
    return good && !from->failed;
}

bool block_load(struct source *from)
{
    struct small_class now[2 * SMALL_CLASSES] = {{.fresh = 0}};
    extent_list extents = {0};
    uint64_t first = get_u64(from), last = get_u64(from), before = 0;
    bool good = !from->failed && first % UNIT == 0 && last % UNIT == 0 && last <= RANGE_END && is_free(first, last, last);
    for (uint64_t n = get_u64(from); n && good && !from->failed; n--) {
        struct extent e = {get_u64(from), get_u64(from)};
        good = e.at >= before && e.bytes && e.bytes <= RANGE_END && (e.at | e.bytes) % UNIT == 0 && is_free(e.at, e.at + e.bytes, first) && vec_push(&extents, e);
        before = e.at + e.bytes + 1;           /* they do not touch */
    }
    for (unsigned i = 0; i < 2 * SMALL_CLASSES && good; i++)
        good = get_class(from, &now[i], 1ull << (i % SMALL_CLASSES + SMALL_MIN_SHIFT), first);
    good = good && !from->failed;
    struct small_class *all = &small[0][0];
    for (unsigned i = 0; i < 2 * SMALL_CLASSES; i++) {
        vec_free(&(good ? &all[i] : &now[i])->used_before);
        if (good)
            all[i] = now[i];
    }
    if (!good) {
        vec_free(&extents);
        return false;
    }
    vec_free(&freed);
    freed = extents;
    frontier = first;
    ceiling = last;
    return true;
}

bool block_take_high(uint64_t block, uint64_t bytes)
{
    return block % UNIT == 0 && block >= ceiling && block < RANGE_END && bytes <= RANGE_END - block && commit(block, (bytes + UNIT - 1) / UNIT * UNIT);
}
