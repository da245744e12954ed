/* Texture and surface references: .texref and .surfref variables of modules, whose eight bytes hold the handle of what is bound to them. */
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"
#include "runtime/texture.h"
#include "runtime/texture_shape.h"

struct rt_texref {
    struct object object;
    struct rt_texref *next, *prev;                      /* all that belong to modules */
    struct rt_context *context;
    struct rt_module *module;                           /* NULL: belongs to no variable */
    uint64_t variable;                                  /* address of its eight bytes */
    enum emu_texture_kind kind;
    struct rt_resource resource;
    struct rt_sampling sampling;
    bool bound;
    uint64_t handle;                                    /* 0: nothing bound yet */
};
_Static_assert(sizeof(struct rt_texref) <= 384, "object_bytes in process.c");

static struct rt_texref *refs;                          /* under `lock` */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const struct rt_sampling defaults = {.address = {EMU_ADDRESS_CLAMP, EMU_ADDRESS_CLAMP, EMU_ADDRESS_CLAMP}};

static enum status make(struct rt_texref **out, struct rt_context *c, struct rt_module *m, uint64_t variable, enum emu_texture_kind kind, struct error *err)
{
    struct rt_texref *t = object_new(kind == EMU_TEXTURE ? RT_TEXREF : RT_SURFREF);
    if (!t)
        return error_set(err, ST_OUT_OF_MEMORY, "no memory for a reference");
    t->context = c;
    t->module = m;
    t->variable = variable;
    t->kind = kind;
    t->sampling = defaults;
    *out = t;
    return ST_OK;
}

enum status rt_texref_get(struct rt_texref **out, struct rt_module *m, const char *name, enum emu_texture_kind kind, struct error *err)
{
    *out = NULL;
    if (!m)
        return make(out, rt_current(), NULL, 0, kind, err);
    const struct ptx_module *ptx = emu_image_module(m->image);
    int32_t sym = ptx_symbol_find(ptx, name);
    const struct ptx_var *v = sym < 0 ? NULL : ptx_symbol_var(ptx, NULL, sym);
    uint64_t address, bytes;
    if (!v || v->type != (kind == EMU_TEXTURE ? PTX_TEXREF : PTX_SURFREF) || !emu_image_symbol(m->image, name, &address, &bytes))
        return error_set(err, ST_NOT_FOUND, "no %s reference '%s' in %s", kind == EMU_TEXTURE ? "texture" : "surface", name, ptx->name);
    pthread_mutex_lock(&lock);
    struct rt_texref *t = refs;
    while (t && (t->module != m || t->variable != address))
        t = t->next;
    enum status st = t ? ST_OK : make(&t, m->context, m, address, kind, err);
    if (st == ST_OK && t != refs && !t->prev) {         /* a new one */
        t->next = refs;
        if (refs)
            refs->prev = t;
        refs = t;
    }
    pthread_mutex_unlock(&lock);
    if (st == ST_OK)
        *out = t;
    return st;
}

enum status rt_texref_destroy(struct rt_texref *t)
{
    if (t->module)
        return ST_INVALID_VALUE;
    if (t->handle)
        emu_texture_destroy(t->handle, t->kind);
    object_free(t);
    return ST_OK;
}

void rt_texref_state(const struct rt_texref *t, struct rt_resource *r, struct rt_sampling *s, bool *bound)
{
    if (r)
        *r = t->resource;
    if (s)
        *s = t->sampling;
    if (bound)
        *bound = t->bound;
}

/* Makes the state so far what kernels see. */
static enum status apply(struct rt_texref *t, struct error *err)
{
    struct emu_texture d;
    enum status st = ST_OK;
    if (t->bound) {
        if (t->kind == EMU_SURFACE && !(rt_array_shape(t->resource.array)->flags & RT_ARRAY_SURFACE))
            return error_set(err, ST_INVALID_VALUE, "the array was not made for surfaces: pass CUDA_ARRAY3D_SURFACE_LDST when allocating it");
        st = t->kind == EMU_TEXTURE ? texture_shape(&d, t->context->device->facts, &t->resource, &t->sampling, NULL, err) : surface_shape(&d, &t->resource, err);
        if (st == ST_OK)
            st = t->handle ? emu_texture_change(t->handle, &d, err) : emu_texture_create(&t->handle, &d, err);
    }
    uint64_t bits = t->bound && st == ST_OK ? t->handle : 0;
    if (t->variable)
        memcpy((void *)(uintptr_t)t->variable, &bits, sizeof bits);
    return st;
}

enum status rt_texref_set(struct rt_texref *t, const struct rt_resource *r, const struct rt_sampling *s, bool bound, struct error *err)
{
    enum status st = t->context && (bound || t->bound) ? context_finish(t->context) : ST_OK;
    if (st != ST_OK)
        return st;
    struct rt_texref was = *t;
    if (r)
        t->resource = *r;
    if (s)
        t->sampling = *s;
    t->bound = bound;
    st = apply(t, err);
    if (st != ST_OK) {                                  /* as it was */
        t->resource = was.resource;
        t->sampling = was.sampling;
        t->bound = was.bound;
        if (apply(t, NULL) != ST_OK)
            t->bound = false;
    }
    return st;
}

void texref_forget_module(struct rt_module *m)
{
    pthread_mutex_lock(&lock);
    for (struct rt_texref *t = refs, *next; t; t = next) {
        next = t->next;
        if (t->module != m)
            continue;
        if (t->next)
            t->next->prev = t->prev;
        if (t->prev)
            t->prev->next = t->next;
        else
            refs = t->next;
        if (t->handle)
            emu_texture_destroy(t->handle, t->kind);
        object_free(t);
    }
    pthread_mutex_unlock(&lock);
}
