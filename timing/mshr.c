#include "timing/mshr.h"

#include "runtime/base/slab.h"

enum status mshr_create(struct mshr *m, uint32_t entries, uint32_t merge, struct error *err)
{
    uint32_t size = 4;
    if (merge >= 1u << 12)                     /* the count has 13 bits */
        merge = (1u << 12) - 1;
    while (size < entries * 2)
        size *= 2;
    uint32_t n = entries * merge;
    *m = (struct mshr){.entries = entries, .merge = merge, .mask = size - 1, .free_node = n ? 0 : MSHR_NONE};
    m->table = slab_alloc(size, sizeof *m->table);
    m->nodes = slab_alloc(n, sizeof *m->nodes);
    if (!m->table || !m->nodes) {
        mshr_destroy(m);
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for %u MSHR entries", entries);
    }
    for (uint32_t i = 0; i < n; i++)
        m->nodes[i].next = i + 1 < n ? i + 1 : MSHR_NONE;
    return ST_OK;
}

void mshr_destroy(struct mshr *m)
{
    slab_free(m->table);
    slab_free(m->nodes);
    m->table = NULL;
    m->nodes = NULL;
}

enum { COUNT_BITS = 13 };                      /* atoms are multiples of 32: with the shift by 8, so many low bits are free */
static uint64_t key(uint64_t atom) { return atom << 8; }
static uint32_t waiters(const struct mshr_entry *e) { return e->atom & ((1u << COUNT_BITS) - 1); }
static uint64_t key_of(const struct mshr_entry *e) { return e->atom >> COUNT_BITS << COUNT_BITS; }

static uint32_t home(const struct mshr *m, uint64_t k) { return (uint32_t)((k >> COUNT_BITS) * 0x9e3779b97f4a7c15u >> 40) & m->mask; }

/* The entry of the atom, or the free place where it would go. */
static struct mshr_entry *find(const struct mshr *m, uint64_t atom)
{
    uint32_t i = home(m, key(atom));
    while (m->table[i].atom && key_of(&m->table[i]) != key(atom))
        i = (i + 1) & m->mask;
    return &m->table[i];
}

void mshr_expect(const struct mshr *m, uint64_t atom) { __builtin_prefetch(&m->table[home(m, key(atom))], 1); }

uint32_t mshr_first(const struct mshr *m, uint64_t atom)
{
    const struct mshr_entry *e = find(m, atom);
    return e->atom ? e->first : MSHR_NONE;
}

static enum mshr_result room(const struct mshr *m, const struct mshr_entry *e)
{
    if (e->atom)
        return waiters(e) < m->merge ? MSHR_MERGED : MSHR_MERGE_FULL;
    return m->used < m->entries ? MSHR_NEW : MSHR_ENTRIES_FULL;
}

enum mshr_result mshr_check(const struct mshr *m, uint64_t atom) { return room(m, find(m, atom)); }

enum mshr_result mshr_add(struct mshr *m, uint64_t atom, uint32_t request)
{
    struct mshr_entry *e = find(m, atom);
    enum mshr_result r = room(m, e);
    if (r == MSHR_ENTRIES_FULL || r == MSHR_MERGE_FULL)
        return r;
    if (r == MSHR_NEW) {
        *e = (struct mshr_entry){.atom = key(atom) + 1, .first = request};
        m->used++;
        return r;
    }
    uint32_t at = m->free_node, second = at;
    m->free_node = m->nodes[at].next;
    if (waiters(e) > 1) {
        second = m->nodes[e->last].next;
        m->nodes[e->last].next = at;
    }
    m->nodes[at] = (struct mshr_node){.request = request, .next = second};
    e->last = at;
    e->atom++;
    return r;
}

/* Open addressing without tombstones: what follows in the run moves up. */
static void remove_at(struct mshr *m, uint32_t i)
{
    uint32_t hole = i;
    for (uint32_t j = (i + 1) & m->mask; m->table[j].atom; j = (j + 1) & m->mask) {
        uint32_t want = home(m, key_of(&m->table[j]));
        if (((j - want) & m->mask) >= ((j - hole) & m->mask)) {
            m->table[hole] = m->table[j];
            hole = j;
        }
    }
    m->table[hole] = (struct mshr_entry){0};
    m->used--;
}

bool mshr_fill(struct mshr *m, uint64_t atom, void (*fn)(void *user, uint32_t request), void *user)
{
    struct mshr_entry *e = find(m, atom);
    if (!e->atom)
        return false;
    struct mshr_entry was = *e;
    remove_at(m, (uint32_t)(e - m->table));
    fn(user, was.first);
    uint32_t others = waiters(&was) - 1;
    if (!others)
        return true;
    uint32_t second = m->nodes[was.last].next;
    for (uint32_t i = second; others--; i = m->nodes[i].next)
        fn(user, m->nodes[i].request);
    m->nodes[was.last].next = m->free_node;
    m->free_node = second;
    return true;
}
