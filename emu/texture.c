/* The table of textures and surfaces. A kernel's look-up takes no lock: an entry never changes while a kernel may use it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "emu/space.h"
#include "emu/tex.h"
#include "runtime/base/vec.h"

/* A handle is its slot and, above, how often that slot was given away, so that a stale handle is most often nobody's. */
enum { SLOT_BITS = 20, SLOTS = 1 << SLOT_BITS, TURNS = 1 << 12 };

static struct texture *slots[SLOTS];           /* [0] is never used; pages nobody touches take no memory */
static uint16_t turns[SLOTS];
static uint32_t used = 1;                      /* slots below were given away at least once */
static VEC(uint32_t) freed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const struct texture *texture_find(uint64_t handle)
{
    if (handle >> 32)
        return NULL;
    const struct texture *t = __atomic_load_n(&slots[handle & (SLOTS - 1)], __ATOMIC_ACQUIRE);
    return t && t->handle == handle ? t : NULL;
}

uint64_t texture_reach(const struct texture *t, const struct ctx *c)
{
    struct range_cache r;
    uint64_t at = t->d.lo;
    while (at < t->d.hi && space_lookup(c->space, at, 0, &r))     /* mappings (cuMemMap) may lie side by side */
        at = r.hi;
    return at < t->d.hi ? at : t->d.hi;
}

bool texture_alive(const struct texture *t, const struct ctx *c)
{
    uint64_t generation = emu_space_generation(c->space);
    uint64_t *checked = &((struct texture *)(uintptr_t)t)->checked;    /* a note, not part of what the entry says */
    if (__atomic_load_n(checked, __ATOMIC_RELAXED) == generation)
        return true;
    if (texture_reach(t, c) < t->d.hi)
        return false;
    __atomic_store_n(checked, generation, __ATOMIC_RELAXED);
    return true;
}

/* ---- making entries ---- */

static unsigned rows_of(const struct emu_texture *d, uint32_t texels) { return emu_texel_is_block(d->texel) ? (texels + 3) / 4 : texels; }

static bool level_fits(const struct emu_texture *d, const struct emu_level *l, uint32_t slices)
{
    if (!l->width || !l->height || !l->depth || l->base < d->lo)
        return false;
    uint64_t row = (uint64_t)rows_of(d, l->width) * emu_texel_bytes(d->texel, d->channels);
    uint64_t last = (uint64_t)(slices - 1) * l->slice + (uint64_t)(rows_of(d, l->height) - 1) * l->pitch + row;
    return last <= d->hi - l->base;
}

static enum status entry_make(struct texture **out, const struct emu_texture *d, struct error *err)
{
    if (d->texel >= EMU_TEXELS || (d->channels != 1 && d->channels != 2 && d->channels != 4) || !d->n_levels || d->n_levels > EMU_LEVELS || d->hi < d->lo)
        return error_set(err, ST_INVALID_VALUE, "a texture of no known shape");
    for (unsigned i = 0; i < d->n_levels; i++)
        if (!level_fits(d, &d->level[i], d->layered || d->cube ? d->layers : d->level[i].depth))
            return error_set(err, ST_INVALID_VALUE, "level %u of a texture leaves the memory that it is in", i);
    struct texture *t = calloc(1, sizeof *t);
    if (!t)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for a texture");
    t->d = *d;
    for (unsigned i = 0; i < 3 && !d->sampler.normalized; i++)
        if (d->sampler.address[i] != EMU_ADDRESS_BORDER)
            t->d.sampler.address[i] = EMU_ADDRESS_CLAMP;
    t->texel_bytes = emu_texel_bytes(d->texel, d->channels);
    t->load = texel_loader(d->texel, d->channels);
    t->filters = emu_texel_facts[d->texel].class >= EMU_CLASS_FLOAT;
    *out = t;
    return ST_OK;
}

enum status emu_texture_create(uint64_t *handle, const struct emu_texture *d, struct error *err)
{
    struct texture *t;
    enum status st = entry_make(&t, d, err);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&lock);
    uint32_t slot = freed.n ? freed.at[--freed.n] : used < SLOTS ? used++ : 0;
    if (slot) {
        t->handle = (uint32_t)turns[slot] << SLOT_BITS | slot;
        __atomic_store_n(&slots[slot], t, __ATOMIC_RELEASE);
        *handle = t->handle;
    }
    pthread_mutex_unlock(&lock);
    if (slot)
        return ST_OK;
    free(t);
    return error_set(err, ST_OUT_OF_MEMORY, "%d textures and surfaces exist already", SLOTS - 1);
}

enum status emu_texture_change(uint64_t handle, const struct emu_texture *d, struct error *err)
{
    struct texture *t;
    enum status st = entry_make(&t, d, err);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&lock);
    struct texture *was = (struct texture *)(uintptr_t)texture_find(handle);
    if (was) {
        t->handle = was->handle;
        __atomic_store_n(&slots[was->handle & (SLOTS - 1)], t, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    free(was ? was : t);
    return was ? ST_OK : error_set(err, ST_INVALID_HANDLE, "0x%llx is no texture", (unsigned long long)handle);
}

bool emu_texture_destroy(uint64_t handle, enum emu_texture_kind kind)
{
    pthread_mutex_lock(&lock);
    struct texture *t = (struct texture *)(uintptr_t)texture_find(handle);
    if (t && t->d.kind != kind)
        t = NULL;
    if (t) {
        uint32_t slot = t->handle & (SLOTS - 1);
        __atomic_store_n(&slots[slot], NULL, __ATOMIC_RELEASE);
        turns[slot] = (uint16_t)((turns[slot] + 1) % TURNS);
        if (!vec_push(&freed, slot))
            turns[slot] = 0;                   /* the slot is lost; nothing else is */
    }
    pthread_mutex_unlock(&lock);
    free(t);
    return t != NULL;
}

bool emu_texture_next(uint32_t *cursor, uint64_t *handle, struct emu_texture *out)
{
    pthread_mutex_lock(&lock);
    while (*cursor < used && !slots[*cursor])
        ++*cursor;
    const struct texture *t = *cursor < used ? slots[*cursor] : NULL;
    if (t) {
        ++*cursor;
        *handle = t->handle;
        *out = t->d;
    }
    pthread_mutex_unlock(&lock);
    return t;
}

enum status emu_texture_put(uint64_t handle, const struct emu_texture *d, struct error *err)
{
    struct texture *t;
    uint32_t slot = (uint32_t)handle & (SLOTS - 1);
    if (handle >> 32 || !slot)
        return error_set(err, ST_INVALID_VALUE, "0x%llx is no handle of a texture", (unsigned long long)handle);
    enum status st = entry_make(&t, d, err);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&lock);
    for (; used <= slot; used++)
        if (used < slot)
            (void)vec_push(&freed, used);
    bool taken = slots[slot];
    if (!taken) {
        for (size_t i = 0; i < freed.n; i++)
            if (freed.at[i] == slot)
                freed.at[i--] = freed.at[--freed.n];
        t->handle = (uint32_t)handle;
        turns[slot] = (uint16_t)(handle >> SLOT_BITS);
        __atomic_store_n(&slots[slot], t, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    if (taken)
        free(t);
    return taken ? error_set(err, ST_INVALID_VALUE, "the handle 0x%llx is a texture already", (unsigned long long)handle) : ST_OK;
}

bool emu_texture_owner(uint64_t handle, enum emu_texture_kind kind, void **owner)
{
    pthread_mutex_lock(&lock);
    const struct texture *t = texture_find(handle);
    bool there = t && t->d.kind == kind;
    if (there)
        *owner = t->d.owner;
    pthread_mutex_unlock(&lock);
    return there;
}
