/* The address space: one reserved range of host addresses, and the table of allocations in it.
 *
 * Writers, reports and the runtime's own look-ups take one lock. A kernel's look-up (space_lookup) takes none: entries lie in a
 * sorted array that is read under a sequence number which is odd while somebody changes it. An array that was outgrown
 * is kept until the space goes, because a reader may still be looking at it. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/snapshot.h"
#include "emu/space.h"

struct entry {                                 /* what a reader without the lock sees of a range */
    uint64_t lo, hi;
    struct emu_range *range;                   /* only under the lock */
    struct pieces *pieces;                     /* of a watched range; NULL: it is not */
    bool writable;
};

/* Which pieces of a watched range were written. Kept until the space goes: a reader without the lock may hold on to it. */
struct pieces {
    struct pieces *older;
    uint64_t first, n;                         /* in pieces, from address 0 */
    uint64_t bits[];
};

struct table {
    struct table *older;                       /* outgrown, freed with the space */
    size_t cap, n;
    struct entry at[];
};

struct replica { uint64_t lo, hi, bases[EMU_REPLICAS]; uint32_t n; };

struct emu_space {
    struct table *table;
    struct replica *replicas; size_t n_replicas;           /* only under the lock */
    uint64_t sequence;                         /* odd while the table changes */
    uint64_t generation;
    struct pieces *all_pieces;
    bool written;                              /* some bit is set */
};

/* One lock for all spaces of the process, so that fork can hold it: the child finds the tables whole. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool reserved;

static void fork_prepare(void) { pthread_mutex_lock(&lock); }
static void fork_done(void) { pthread_mutex_unlock(&lock); }

static enum status reserve(struct error *err)
{
    if (reserved)
        return ST_OK;
    void *want = (void *)(uintptr_t)EMU_BASE;
    void *got = mmap(want, EMU_SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != want) {
        if (got != MAP_FAILED)
            munmap(got, EMU_SPAN);
        error_set(err, ST_OUT_OF_MEMORY, "cannot reserve the device address range [0x%llx, 0x%llx)", (unsigned long long)EMU_BASE,
                  (unsigned long long)(EMU_BASE + EMU_SPAN));
        error_hint(err, "lift the limit on virtual memory (ulimit -v unlimited); only addresses are reserved, no memory");
        return ST_OUT_OF_MEMORY;
    }
    pthread_atfork(fork_prepare, fork_done, fork_done);
    reserved = true;
    return ST_OK;
}

static struct table *table_new(size_t cap)
{
    struct table *t = calloc(1, sizeof *t + cap * sizeof t->at[0]);
    if (t)
        t->cap = cap;
    return t;
}

enum status emu_space_reserve(struct error *err)
{
    pthread_mutex_lock(&lock);
    enum status st = reserve(err);
    pthread_mutex_unlock(&lock);
    return st;
}

enum status emu_space_create(struct emu_space **out, struct error *err)
{
    *out = NULL;
    enum status st = emu_space_reserve(err);
    if (st != ST_OK)
        return st;
    struct emu_space *s = calloc(1, sizeof *s);
    if (s)
        s->table = table_new(64);
    if (!s || !s->table) {
        free(s);
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for the allocation table");
    }
    s->generation = 1;
    *out = s;
    return ST_OK;
}

void emu_space_free(struct emu_space *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->table->n; i++)
        free(s->table->at[i].range);
    for (struct table *t = s->table, *older; t; t = older) {
        older = t->older;
        free(t);
    }
    for (struct pieces *p = s->all_pieces, *older; p; p = older) {
        older = p->older;
        free(p);
    }
    free(s->replicas);
    free(s);
}

/* ---- addresses of several devices ---- */

enum status emu_space_replicate(struct emu_space *s, uint64_t lo, uint64_t hi, const uint64_t *bases, uint32_t n, struct error *err)
{
    if (n > EMU_REPLICAS || lo >= hi)
        return error_set(err, ST_INVALID_VALUE, "an address of %u devices", n);
    pthread_mutex_lock(&lock);
    struct replica *more = realloc(s->replicas, (s->n_replicas + 1) * sizeof *more), r = { .lo = lo, .hi = hi, .n = n };
    if (more) {
        memcpy(r.bases, bases, n * sizeof *bases);
        more[s->n_replicas++] = r;
        s->replicas = more;
    }
    pthread_mutex_unlock(&lock);
    return more ? ST_OK : error_set(err, ST_OUT_OF_MEMORY, "no host memory for an address of several devices");
}

void emu_space_replicate_end(struct emu_space *s, uint64_t lo)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < s->n_replicas; i++)
        if (s->replicas[i].lo == lo)
            s->replicas[i] = s->replicas[--s->n_replicas];
    pthread_mutex_unlock(&lock);
}

uint32_t space_replicas(const struct emu_space *s, uint64_t address, uint64_t at[EMU_REPLICAS])
{
    uint32_t n = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < s->n_replicas && !n; i++) {
        const struct replica *r = &s->replicas[i];
        if (address < r->lo || address >= r->hi)
            continue;
        for (n = 0; n < r->n; n++)
            at[n] = r->bases[n] + (address - r->lo);
    }
    pthread_mutex_unlock(&lock);
    return n;
}

/* Index of the first entry that ends after address, n when none does. Under the lock. */
static size_t place_of(const struct table *t, uint64_t address)
{
    size_t lo = 0, hi = t->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (t->at[mid].hi > address)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* Every field that a reader may see is an atomic: a torn look is only ever a look to be repeated. Release here and acquire there make who
 * saw a new field see the odd sequence too. */
static void entry_store(struct entry *to, const struct entry *from)
{
    __atomic_store_n(&to->lo, from->lo, __ATOMIC_RELEASE);
    __atomic_store_n(&to->hi, from->hi, __ATOMIC_RELEASE);
    __atomic_store_n(&to->writable, from->writable, __ATOMIC_RELEASE);
    __atomic_store_n(&to->pieces, from->pieces, __ATOMIC_RELEASE);
    to->range = from->range;
}

static void change_begin(struct emu_space *s) { __atomic_store_n(&s->sequence, s->sequence + 1, __ATOMIC_RELAXED); }

static void change_end(struct emu_space *s)
{
    __atomic_store_n(&s->sequence, s->sequence + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&s->generation, s->generation + 1, __ATOMIC_RELEASE);
}

/* Makes room for one more entry. The old array stays readable. */
static bool grow(struct emu_space *s)
{
    struct table *old = s->table;
    if (old->n < old->cap)
        return true;
    struct table *t = table_new(2 * old->cap);
    if (!t)
        return false;
    memcpy(t->at, old->at, old->n * sizeof old->at[0]);
    t->n = old->n;
    t->older = old;
    __atomic_store_n(&s->table, t, __ATOMIC_RELEASE);
    return true;
}

static struct pieces *pieces_new(struct emu_space *s, uint64_t lo, uint64_t hi)
{
    uint64_t first = lo / EMU_PIECE_BYTES, n = (hi - 1) / EMU_PIECE_BYTES - first + 1;
    struct pieces *p = calloc(1, sizeof *p + (n + 63) / 64 * sizeof p->bits[0]);
    if (!p)
        return NULL;
    p->first = first;
    p->n = n;
    p->older = s->all_pieces;
    s->all_pieces = p;
    return p;
}

static enum status add_locked(struct emu_space *s, const struct emu_range *r, struct error *err)
{
    size_t i = place_of(s->table, r->lo);
    if (i < s->table->n && s->table->at[i].lo < r->hi) {
        const struct emu_range *o = s->table->at[i].range;
        return error_set(err, ST_INVALID_VALUE, "range [0x%llx, 0x%llx) overlaps %s [0x%llx, 0x%llx)", (unsigned long long)r->lo,
                         (unsigned long long)r->hi, o->what, (unsigned long long)o->lo, (unsigned long long)o->hi);
    }
    struct emu_range *copy = malloc(sizeof *copy);
    struct pieces *pieces = copy && r->watched ? pieces_new(s, r->lo, r->hi) : NULL;
    if (!copy || (r->watched && !pieces) || !grow(s)) {
        free(copy);
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for the allocation table");
    }
    *copy = *r;
    copy->what[sizeof copy->what - 1] = 0;
    struct table *t = s->table;
    change_begin(s);
    for (size_t k = t->n; k > i; k--)
        entry_store(&t->at[k], &t->at[k - 1]);
    entry_store(&t->at[i], &(struct entry){ r->lo, r->hi, copy, pieces, !r->read_only });
    __atomic_store_n(&t->n, t->n + 1, __ATOMIC_RELEASE);
    change_end(s);
    return ST_OK;
}

enum status emu_space_add(struct emu_space *s, const struct emu_range *r, struct error *err)
{
    if (r->lo >= r->hi)
        return error_set(err, ST_INVALID_VALUE, "empty range [0x%llx, 0x%llx)", (unsigned long long)r->lo, (unsigned long long)r->hi);
    pthread_mutex_lock(&lock);
    enum status st = add_locked(s, r, err);
    pthread_mutex_unlock(&lock);
    return st;
}

bool emu_space_remove(struct emu_space *s, uint64_t lo, struct emu_range *was)
{
    pthread_mutex_lock(&lock);
    struct table *t = s->table;
    size_t i = place_of(t, lo);
    bool there = i < t->n && t->at[i].lo == lo;
    if (there) {
        struct emu_range *r = t->at[i].range;
        change_begin(s);
        for (size_t k = i; k + 1 < t->n; k++)
            entry_store(&t->at[k], &t->at[k + 1]);
        __atomic_store_n(&t->n, t->n - 1, __ATOMIC_RELEASE);
        change_end(s);
        if (was)
            *was = *r;
        free(r);
    }
    pthread_mutex_unlock(&lock);
    return there;
}

bool emu_space_find(const struct emu_space *s, uint64_t address, struct emu_range *out)
{
    pthread_mutex_lock(&lock);
    const struct table *t = s->table;
    size_t i = place_of(t, address);
    bool there = i < t->n && t->at[i].lo <= address;
    if (there && out)
        *out = *t->at[i].range;
    pthread_mutex_unlock(&lock);
    return there;
}

bool emu_space_nearest(const struct emu_space *s, uint64_t address, struct emu_range *out)
{
    pthread_mutex_lock(&lock);
    const struct table *t = s->table;
    size_t i = place_of(t, address), best = i;
    if (i == t->n || (i > 0 && t->at[i].lo > address && address - (t->at[i - 1].hi - 1) <= t->at[i].lo - address))
        best = i - 1;                          /* wraps when the table is empty, and is not used then */
    bool any = t->n > 0;
    if (any)
        *out = *t->at[best].range;
    pthread_mutex_unlock(&lock);
    return any;
}

bool emu_space_after(const struct emu_space *s, uint64_t address, struct emu_range *out)
{
    pthread_mutex_lock(&lock);
    const struct table *t = s->table;
    size_t i = place_of(t, address);
    bool any = i < t->n;
    if (any)
        *out = *t->at[i].range;
    pthread_mutex_unlock(&lock);
    return any;
}

uint64_t emu_space_generation(const struct emu_space *s) { return __atomic_load_n(&s->generation, __ATOMIC_ACQUIRE); }

/* ---- what kernels wrote ---- */

static bool piece_set(const struct pieces *p, uint64_t i) { return __atomic_load_n(&p->bits[i / 64], __ATOMIC_RELAXED) >> i % 64 & 1; }

bool emu_space_any_written(const struct emu_space *s) { return __atomic_load_n(&s->written, __ATOMIC_ACQUIRE); }

static void stretches(const struct entry *e, emu_written_fn fn, void *user)
{
    const struct pieces *p = e->pieces;
    for (uint64_t i = 0, end; i < p->n; i = end) {
        end = i + 1;
        if (!piece_set(p, i))
            continue;
        while (end < p->n && piece_set(p, end))
            end++;
        uint64_t lo = (p->first + i) * EMU_PIECE_BYTES, hi = (p->first + end) * EMU_PIECE_BYTES;
        fn(user, lo > e->lo ? lo : e->lo, hi < e->hi ? hi : e->hi);
    }
}

void emu_space_written(struct emu_space *s, bool forget, emu_written_fn fn, void *user)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < s->table->n; i++)
        if (s->table->at[i].pieces)
            stretches(&s->table->at[i], fn, user);
    if (forget) {
        change_begin(s);                       /* what kernels have found before has to be found again */
        for (size_t i = 0; i < s->table->n; i++)
            if (s->table->at[i].pieces)
                memset(s->table->at[i].pieces->bits, 0, (s->table->at[i].pieces->n + 63) / 64 * 8);
        __atomic_store_n(&s->written, false, __ATOMIC_RELEASE);
        change_end(s);
    }
    pthread_mutex_unlock(&lock);
}

/* Marks what is stored and makes *r the run of written pieces around it: the more a kernel has written, the less often it comes here. */
static void note_store(struct emu_space *s, struct pieces *p, uint64_t address, uint32_t bytes, struct range_cache *r)
{
    uint64_t i = address / EMU_PIECE_BYTES - p->first, end = (address + bytes - 1) / EMU_PIECE_BYTES - p->first + 1;
    if (end > p->n)                            /* it goes beyond the range: the caller refuses it */
        end = p->n;
    for (uint64_t k = i; k < end; k++)
        if (!piece_set(p, k)) {
            __atomic_fetch_or(&p->bits[k / 64], (uint64_t)1 << k % 64, __ATOMIC_RELAXED);
            __atomic_store_n(&s->written, true, __ATOMIC_RELEASE);
        }
    while (i > 0 && piece_set(p, i - 1))
        i--;
    while (end < p->n && piece_set(p, end))
        end++;
    uint64_t lo = (p->first + i) * EMU_PIECE_BYTES, hi = (p->first + end) * EMU_PIECE_BYTES;
    r->lo = lo > r->lo ? lo : r->lo;
    r->hi = hi < r->hi ? hi : r->hi;
}

void emu_space_mark_written(struct emu_space *s, uint64_t lo, uint64_t hi)
{
    pthread_mutex_lock(&lock);
    size_t i = place_of(s->table, lo);
    const struct entry *e = i < s->table->n ? &s->table->at[i] : NULL;
    for (uint64_t at = lo; e && e->pieces && at >= e->lo && at < hi && at < e->hi; at += EMU_PIECE_BYTES) {
        struct range_cache r = {.lo = e->lo, .hi = e->hi};
        note_store(s, e->pieces, at, 1, &r);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- look-ups of kernels ---- */

bool space_lookup(const struct emu_space *s, uint64_t address, uint32_t stored_bytes, struct range_cache *out)
{
    for (;;) {
        uint64_t seq = __atomic_load_n(&s->sequence, __ATOMIC_ACQUIRE);
        if (seq & 1) {
            sched_yield();
            continue;
        }
        const struct table *t = __atomic_load_n(&s->table, __ATOMIC_ACQUIRE);
        size_t lo = 0, hi = __atomic_load_n(&t->n, __ATOMIC_ACQUIRE), n = hi;
        while (lo < hi) {
            size_t mid = (lo + hi) / 2;
            if (__atomic_load_n(&t->at[mid].hi, __ATOMIC_ACQUIRE) > address)
                hi = mid;
            else
                lo = mid + 1;
        }
        struct range_cache r = { .lo = 1 };
        struct pieces *pieces = NULL;
        if (lo < n) {
            const struct entry *e = &t->at[lo];
            r = (struct range_cache){ .lo = __atomic_load_n(&e->lo, __ATOMIC_ACQUIRE), .hi = __atomic_load_n(&e->hi, __ATOMIC_ACQUIRE),
                                      .writable = __atomic_load_n(&e->writable, __ATOMIC_ACQUIRE) };
            pieces = __atomic_load_n(&e->pieces, __ATOMIC_ACQUIRE);
        }
        if (__atomic_load_n(&s->sequence, __ATOMIC_ACQUIRE) != seq)
            continue;
        bool there = r.lo <= address && address < r.hi;
        if (there && stored_bytes && pieces)
            note_store((struct emu_space *)(uintptr_t)s, pieces, address, stored_bytes, &r);
        if (there)
            *out = r;
        return there;
    }
}
