#include "timing/state.h"

#include <stdlib.h>
#include <string.h>

static bool failed(const struct state *s) { return s->to ? s->to->failed : s->from->failed; }

static bool fail(struct state *s)
{
    *(s->to ? &s->to->failed : &s->from->failed) = true;
    return false;
}

static void look(const struct state *s, const char *type, const char *p, size_t n)
{
    uint64_t word;
    for (size_t i = 0; s->suspect && i + sizeof word <= n; i += sizeof word) {
        memcpy(&word, p + i, sizeof word);
        s->suspect(s->suspect_user, type, i, word);
    }
}

bool state_bytes(struct state *s, void *p, size_t n)
{
    if (s->to)
        put(s->to, p, n);
    else if (!failed(s))                       /* what there is stays as it is */
        get(s->from, p, n);
    return !failed(s);
}

bool state_u32(struct state *s, uint32_t *v) { return state_bytes(s, v, sizeof *v); }

/* ---- members ---- */

/* The struct without what its table names. */
static bool plain(struct state *s, const struct state_type *t, char *p)
{
    char *room = s->room;
    if (state_loads(s)) {
        if (!state_bytes(s, room, t->bytes))
            return false;
        for (size_t i = 0; i < t->n; i++)
            memcpy(room + t->fields[i].offset, p + t->fields[i].offset, t->fields[i].bytes);
        memcpy(p, room, t->bytes);
        return true;
    }
    memcpy(room, p, t->bytes);
    for (size_t i = 0; i < t->n; i++)
        memset(room + t->fields[i].offset, 0, t->fields[i].bytes);
    look(s, t->name, room, t->bytes);
    return state_bytes(s, room, t->bytes);
}

static bool elements(struct state *s, const struct state_field *f, const char *name, char *at, size_t n)
{
    if (!f->type) {
        if (!state_loads(s))
            look(s, name, at, n * f->element);
        return state_bytes(s, at, n * f->element);
    }
    for (size_t i = 0; i < n; i++)
        if (!state_struct(s, f->type, at + i * f->element))
            return false;
    return true;
}

static char **pointer(const struct state_field *f, char *p) { return (char **)(void *)(p + f->offset); }

static bool grown(struct state *s, const struct state_field *f, const char *name, char *p)
{
    size_t n = f->count(s, p);
    if (state_loads(s)) {
        char *more = slab_alloc(n, f->element);
        if (!more)
            return fail(s);
        slab_free(*pointer(f, p));
        *pointer(f, p) = more;
    }
    return elements(s, f, name, *pointer(f, p), n);
}

static bool vector(struct state *s, const struct state_field *f, const char *name, char *p)
{
    VEC(char) *v = (void *)(p + f->offset);
    uint64_t n = v->n;
    if (!state_bytes(s, &n, sizeof n) || n > UINT32_MAX)
        return fail(s);
    if (n && state_loads(s) && !vec_grow_((void **)&v->at, &v->cap, n - 1, f->element))
        return fail(s);
    v->n = n;
    return elements(s, f, name, v->at, n);
}

static bool member(struct state *s, const struct state_field *f, const char *name, char *p)
{
    switch (f->kind) {
    case STATE_HOST:   return true;
    case STATE_ARRAY:  return elements(s, f, name, *pointer(f, p), f->count(s, p));
    case STATE_GROWN:  return grown(s, f, name, p);
    case STATE_VECTOR: return vector(s, f, name, p);
    case STATE_PART:   return elements(s, f, name, p + f->offset, f->bytes / f->element);
    case STATE_CALL:   return f->call(s, p, p + f->offset) || fail(s);
    }
    return fail(s);
}

bool state_struct(struct state *s, const struct state_type *t, void *p)
{
    size_t counts[32] = {0};
    for (size_t i = 0; i < t->n && i < sizeof counts / sizeof *counts; i++)
        counts[i] = t->fields[i].kind == STATE_ARRAY ? t->fields[i].count(s, p) : 0;
    if (!plain(s, t, p))
        return false;
    for (size_t i = 0; i < t->n; i++) {
        const struct state_field *f = &t->fields[i];
        if (f->kind == STATE_ARRAY && (i >= sizeof counts / sizeof *counts || f->count(s, p) != counts[i]))
            return fail(s);                    /* it was of another size */
        if (!member(s, f, t->name, p))
            return false;
    }
    return true;
}

/* ---- layout ---- */

static uint64_t mix(uint64_t hash, uint64_t v) { return (hash ^ v) * 0x9e3779b97f4a7c15u ^ hash >> 29; }

uint64_t state_layout(const struct state_type *t, uint64_t hash)
{
    hash = mix(hash, t->bytes);
    for (size_t i = 0; i < t->n; i++) {
        const struct state_field *f = &t->fields[i];
        hash = mix(mix(mix(mix(hash, f->kind), f->offset), f->bytes), f->element);
        if (f->type)
            hash = state_layout(f->type, hash);
    }
    return hash;
}
