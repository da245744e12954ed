/* What programs advise about managed memory, and where they prefetched it to. It has no effect, since host memory is device memory; it is kept for the questions
 * that CUDA answers about it. An allocation has a list of stretches, in order and without gaps, from its first advice on. */
#include <stdlib.h>

#include "runtime/internal.h"

enum { PAGE = 4096 };

struct stretch { uint64_t lo, hi; struct rt_advice advice; };
struct advice_list { VEC(struct stretch) of; };

static const struct rt_advice none;

static bool same_place(struct rt_place a, struct rt_place b) { return a.type == b.type && a.id == b.id; }

static struct advice_list *list_new(const struct allocation *a)
{
    struct advice_list *l = calloc(1, sizeof *l);
    if (l && vec_push(&l->of, ((struct stretch){a->base, a->base + a->bytes, none})))
        return l;
    free(l);
    return NULL;
}

void advice_drop(struct advice_list *l)
{
    if (l)
        vec_free(&l->of);
    free(l);
}

/* A stretch begins at `at`. */
static bool cut(struct advice_list *l, uint64_t at)
{
    for (size_t i = 0; i < l->of.n; i++) {
        struct stretch s = l->of.at[i];
        if (at <= s.lo || at >= s.hi)
            continue;
        if (!vec_push(&l->of, s))
            return false;
        for (size_t k = l->of.n - 1; k > i; k--)
            l->of.at[k] = l->of.at[k - 1];
        l->of.at[i].hi = l->of.at[i + 1].lo = at;
        return true;
    }
    return true;
}

static void apply(struct rt_advice *to, enum rt_advise what, struct rt_place place)
{
    uint64_t bit = place.type == RT_PLACE_DEVICE ? 1ull << (place.id & 31) : RT_ACCESSED_BY_HOST;
    switch (what) {
    case RT_ADVISE_READ_MOSTLY: to->read_mostly = true; break;
    case RT_ADVISE_NOT_READ_MOSTLY: to->read_mostly = false; break;
    case RT_ADVISE_PREFERRED: to->preferred = place; break;
    case RT_ADVISE_NOT_PREFERRED: to->preferred = none.preferred; break;
    case RT_ADVISE_ACCESSED_BY: to->accessed_by |= bit; break;
    case RT_ADVISE_NOT_ACCESSED_BY: to->accessed_by &= ~bit; break;
    case RT_ADVISE_PREFETCHED: to->prefetched = place; break;
    }
}

/* Under the.memory. */
static struct allocation *managed_at(uint64_t address, uint64_t bytes)
{
    struct emu_range r;
    struct allocation *a = emu_space_find(the.space, address, &r) ? r.owner : NULL;
    return a && a->kind == RT_MEMORY_MANAGED && bytes && bytes <= a->base + a->bytes - address ? a : NULL;
}

enum status rt_advise(uint64_t address, uint64_t bytes, enum rt_advise what, struct rt_place place)
{
    enum status st = ST_OK;
    pthread_mutex_lock(&the.memory);
    struct allocation *a = managed_at(address, bytes);
    if (a && !a->advice)
        a->advice = list_new(a);
    uint64_t lo = address / PAGE * PAGE, hi = (address + bytes + PAGE - 1) / PAGE * PAGE;
    if (!a)
        st = ST_INVALID_VALUE;
    else if (!a->advice || !cut(a->advice, lo) || !cut(a->advice, hi))
        st = ST_OUT_OF_MEMORY;
    for (size_t i = 0; st == ST_OK && i < a->advice->of.n; i++)
        if (a->advice->of.at[i].lo < hi && a->advice->of.at[i].hi > lo)
            apply(&a->advice->of.at[i].advice, what, place);
    pthread_mutex_unlock(&the.memory);
    return st;
}

/* What holds for every page. */
static void intersect(struct rt_advice *all, const struct rt_advice *one)
{
    all->read_mostly &= one->read_mostly;
    all->accessed_by &= one->accessed_by;
    if (!same_place(all->preferred, one->preferred))
        all->preferred = none.preferred;
    if (!same_place(all->prefetched, one->prefetched))
        all->prefetched = none.prefetched;
}

enum status rt_advice(uint64_t address, uint64_t bytes, struct rt_advice *out)
{
    pthread_mutex_lock(&the.memory);
    const struct allocation *a = managed_at(address, bytes);
    bool first = true;
    *out = none;
    for (size_t i = 0; a && a->advice && i < a->advice->of.n; i++) {
        const struct stretch *s = &a->advice->of.at[i];
        if (s->lo >= address + bytes || s->hi <= address)
            continue;
        if (first)
            *out = s->advice;
        else
            intersect(out, &s->advice);
        first = false;
    }
    pthread_mutex_unlock(&the.memory);
    return a ? ST_OK : ST_INVALID_VALUE;
}
