/* Texture and surface objects: what they were made of, and the descriptors that kernels see. */
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"
#include "runtime/texture.h"
#include "runtime/texture_shape.h"

struct object_record {                                  /* a live object */
    struct object_record *next, *prev;
    struct rt_context *context;
    uint64_t handle;
    enum emu_texture_kind kind;
    struct rt_resource resource;
    struct rt_sampling sampling;
    struct rt_view view;
    bool has_view;
};

static struct object_record *records;                   /* all of the process; under `lock` */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- formats ---- */

#define ID(texel) EMU_TEXEL_##texel
static const struct { struct rt_format f; bool fixed; } formats[] = {
#define PLAIN(cu, kind, bits, texel, normalized) {{cu, 0, 0, kind, {bits, 0, 0, 0}, ID(texel), ID(normalized)}, false},
#define FIXED(cu, kind, channels, x, y, z, w, texel) {{cu, channels, 0, kind, {x, y, z, w}, ID(texel), ID(texel)}, true},
#include "runtime/formats.def"
};
#undef ID
enum { FORMATS = sizeof formats / sizeof formats[0] };

static bool format_at(struct rt_format *out, size_t i, uint32_t channels)
{
    *out = formats[i].f;
    if (formats[i].fixed) {
        if (channels && channels != out->channels)
            return false;
    } else {
        if (channels != 1 && channels != 2 && channels != 4)
            return false;
        out->channels = channels;
        for (unsigned c = 1; c < channels; c++)
            out->bits[c] = out->bits[0];
    }
    out->texel_bytes = emu_texel_bytes(out->texel, out->channels);
    return true;
}

bool rt_format_find(struct rt_format *out, int cu, uint32_t channels)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (formats[i].f.cu == cu)
            return format_at(out, i, channels);
    return false;
}

bool rt_format_of_desc(struct rt_format *out, int kind, const int bits[4])
{
    uint32_t channels = 0;
    while (channels < 4 && bits[channels])
        channels++;
    for (size_t i = 0; i < FORMATS; i++)
        if (formats[i].f.kind == kind && formats[i].f.bits[0] == bits[0] && format_at(out, i, formats[i].fixed ? 0 : channels) &&
            !memcmp(out->bits, bits, sizeof out->bits))
            return true;
    return false;
}

/* Views are numbered by element type, 1, 2 and 4 channels of each, and then the block formats. */
bool rt_format_of_view(struct rt_format *out, int view)
{
    static const uint8_t plain[] = {0x01, 0x08, 0x02, 0x09, 0x03, 0x0a, 0x10, 0x20};
    static const uint8_t blocks[] = {0x91, 0x93, 0x95, 0x97, 0x98, 0x99, 0x9a};
    if (view >= 1 && view <= 24)
        return rt_format_find(out, plain[(view - 1) / 3], 1u << (view - 1) % 3);
    return view >= 25 && view < 25 + (int)sizeof blocks && rt_format_find(out, blocks[view - 25], 0);
}

/* ---- objects ---- */

static enum status object_make(uint64_t *handle, struct rt_context *c, const struct object_record *like, const struct emu_texture *t, struct error *err)
{
    struct object_record *o = malloc(sizeof *o);
    if (!o)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for a texture object");
    *o = *like;
    o->context = c;
    struct emu_texture own = *t;
    own.owner = o;
    enum status st = emu_texture_create(&o->handle, &own, err);
    if (st != ST_OK) {
        free(o);
        return st;
    }
    *handle = o->handle;
    pthread_mutex_lock(&lock);
    o->prev = NULL;
    o->next = records;
    if (records)
        records->prev = o;
    records = o;
    pthread_mutex_unlock(&lock);
    return ST_OK;
}

enum status rt_texture_create(uint64_t *handle, struct rt_context *c, const struct rt_resource *r, const struct rt_sampling *s, const struct rt_view *view,
                              struct error *err)
{
    struct emu_texture t;
    enum status st = context_status(c);
    if (st == ST_OK)
        st = texture_shape(&t, c->device->facts, r, s, view, err);
    if (st != ST_OK)
        return st;
    struct object_record like = {.kind = EMU_TEXTURE, .resource = *r, .sampling = *s, .has_view = view != NULL};
    if (view)
        like.view = *view;
    return object_make(handle, c, &like, &t, err);
}

enum status rt_surface_create(uint64_t *handle, struct rt_context *c, const struct rt_resource *r, struct error *err)
{
    struct emu_texture t;
    enum status st = context_status(c);
    if (st == ST_OK)
        st = surface_shape(&t, r, err);
    if (st != ST_OK)
        return st;
    struct object_record like = {.kind = EMU_SURFACE, .resource = *r};
    return object_make(handle, c, &like, &t, err);
}

/* Under the lock. */
static void drop(struct object_record *o)
{
    if (o->next)
        o->next->prev = o->prev;
    if (o->prev)
        o->prev->next = o->next;
    else
        records = o->next;
    emu_texture_destroy(o->handle, o->kind);
    free(o);
}

static struct object_record *find(uint64_t handle, enum emu_texture_kind kind)
{
    void *owner = NULL;
    return emu_texture_owner(handle, kind, &owner) ? owner : NULL;
}

enum status rt_texture_destroy(uint64_t handle, enum emu_texture_kind kind)
{
    pthread_mutex_lock(&lock);
    struct object_record *o = find(handle, kind);
    struct rt_context *c = o ? o->context : NULL;
    pthread_mutex_unlock(&lock);
    if (!o)
        return ST_INVALID_VALUE;
    enum status st = context_finish(c);         /* programs destroy what a queued kernel still reads */
    pthread_mutex_lock(&lock);
    if ((o = find(handle, kind)))
        drop(o);
    pthread_mutex_unlock(&lock);
    return st;
}

enum status rt_texture_info(uint64_t handle, enum emu_texture_kind kind, struct rt_resource *r, struct rt_sampling *s, struct rt_view *view, bool *has_view)
{
    pthread_mutex_lock(&lock);
    const struct object_record *o = find(handle, kind);
    if (o && r)
        *r = o->resource;
    if (o && s)
        *s = o->sampling;
    if (o && view)
        *view = o->view;
    if (o && has_view)
        *has_view = o->has_view;
    pthread_mutex_unlock(&lock);
    return o ? ST_OK : ST_INVALID_VALUE;
}

void context_free_textures(struct rt_context *c)
{
    pthread_mutex_lock(&lock);
    for (struct object_record *o = records, *next; o; o = next) {
        next = o->next;
        if (o->context == c)
            drop(o);
    }
    pthread_mutex_unlock(&lock);
}
