/* Descriptors of textures and surfaces: resources, views, samplers. */
#include <math.h>
#include <string.h>

#include "runtime/internal.h"
#include "runtime/texture_shape.h"

static enum status invalid(struct error *err, const char *why) { return error_set(err, ST_INVALID_VALUE, "%s", why); }

/* ---- resources ---- */

static uint32_t at_least_1(uint64_t n) { return n ? (uint32_t)n : 1; }

static struct emu_level level_of(const struct rt_array *a)
{
    const struct rt_array_shape *s = rt_array_shape(a);
    struct emu_level l = {.width = (uint32_t)s->width, .height = at_least_1(s->height), .depth = at_least_1(s->depth)};
    rt_array_storage(a, &l.base, &l.pitch);
    l.slice = l.pitch * rt_array_rows(a);
    if (s->flags & (RT_ARRAY_LAYERED | RT_ARRAY_CUBE))
        l.depth = 1;
    return l;
}

static enum status from_array(struct emu_texture *t, const struct rt_array *a, struct rt_format *f, struct error *err)
{
    const struct rt_array_shape *s = rt_array_shape(a);
    bool sliced = s->flags & (RT_ARRAY_LAYERED | RT_ARRAY_CUBE);
    if (!rt_format_find(f, s->format, s->channels))
        return error_set(err, ST_NOT_SUPPORTED, "textures of array format 0x%x", (unsigned)s->format);
    t->layered = s->flags & RT_ARRAY_LAYERED;
    t->cube = s->flags & RT_ARRAY_CUBE;
    t->width = (uint32_t)s->width;
    t->height = (uint32_t)s->height;
    t->depth = sliced ? 0 : (uint32_t)s->depth;
    t->layers = sliced ? (uint32_t)s->depth : 0;
    t->n_levels = 1;
    t->level[0] = level_of(a);
    t->lo = t->level[0].base;
    t->hi = t->lo + rt_array_bytes(a);
    return ST_OK;
}

static enum status from_mipmap(struct emu_texture *t, struct rt_mipmap *m, struct rt_format *f, struct error *err)
{
    enum status st = from_array(t, rt_mipmap_level(m, 0), f, err);
    if (st != ST_OK)
        return st;
    t->n_levels = (uint8_t)rt_mipmap_levels(m);
    for (uint32_t i = 0; i < t->n_levels; i++)
        t->level[i] = level_of(rt_mipmap_level(m, i));
    const struct rt_array *last = rt_mipmap_level(m, t->n_levels - 1u);
    t->hi = t->level[t->n_levels - 1].base + rt_array_bytes(last);
    return ST_OK;
}

static enum status from_memory(struct emu_texture *t, const struct rt_device_facts *gpu, const struct rt_resource *r, struct rt_format *f, struct error *err)
{
    bool linear = r->kind == RT_RESOURCE_LINEAR;
    if (!rt_format_find(f, r->format, r->channels) || emu_texel_is_block(f->texel))
        return invalid(err, "a texture of linear memory needs 1, 2 or 4 channels of a plain format");
    uint64_t width = linear ? r->bytes / f->texel_bytes : r->width, height = linear ? 1 : r->height;
    if (r->address % gpu->texture_align_bytes)
        return error_set(err, ST_INVALID_VALUE, "the memory of a texture starts at 0x%llx, which is no multiple of %llu", (unsigned long long)r->address,
                         (unsigned long long)gpu->texture_align_bytes);
    if (!r->address || !width || !height)
        return invalid(err, "a texture of no memory");
    if (linear ? width > gpu->tex1d_linear_width : width > gpu->tex2d_linear_width || height > gpu->tex2d_linear_height || r->pitch > gpu->tex2d_linear_pitch)
        return invalid(err, "the texture is larger than the GPU's limits for linear memory");
    if (!linear && (r->pitch % gpu->texture_pitch_align_bytes || r->pitch < width * f->texel_bytes))
        return error_set(err, ST_INVALID_VALUE, "a pitch of %llu bytes for rows of %llu: it must be a multiple of %llu and hold a row", (unsigned long long)r->pitch,
                         (unsigned long long)(width * f->texel_bytes), (unsigned long long)gpu->texture_pitch_align_bytes);
    t->linear_memory = linear;
    t->width = (uint32_t)width;
    t->height = linear ? 0 : (uint32_t)height;
    t->n_levels = 1;
    t->level[0] = (struct emu_level){r->address, linear ? 0 : r->pitch, 0, (uint32_t)width, (uint32_t)height, 1};
    t->lo = r->address;
    t->hi = r->address + (linear ? r->bytes : r->pitch * (height - 1) + width * f->texel_bytes);
    return ST_OK;
}

static enum status from_resource(struct emu_texture *t, const struct rt_device_facts *gpu, const struct rt_resource *r, struct rt_format *f, struct error *err)
{
    switch (r->kind) {
    case RT_RESOURCE_ARRAY: return from_array(t, r->array, f, err);
    case RT_RESOURCE_MIPMAP: return from_mipmap(t, r->mipmap, f, err);
    case RT_RESOURCE_LINEAR: case RT_RESOURCE_PITCH2D: return from_memory(t, gpu, r, f, err);
    }
    return invalid(err, "no such kind of resource");
}

/* ---- views ---- */

/* Another format of the same size per texel; an array of integers as blocks, each texel of it a block. */
static enum status view_format(struct emu_texture *t, struct rt_format *f, int format, struct error *err)
{
    struct rt_format seen;
    if (!rt_format_of_view(&seen, format))
        return error_set(err, format > 0 && format <= 34 ? ST_NOT_SUPPORTED : ST_INVALID_VALUE, "a view of format 0x%x", (unsigned)format);
    if (seen.texel_bytes != f->texel_bytes)
        return invalid(err, "a view whose texels have another size than the array's");
    if (emu_texel_is_block(seen.texel) && !emu_texel_is_block(f->texel)) {
        for (unsigned i = 0; i < t->n_levels; i++)
            t->level[i].width *= 4, t->level[i].height *= 4;
        t->width *= 4, t->height *= 4;
    } else if (emu_texel_is_block(f->texel) != emu_texel_is_block(seen.texel)) {
        return invalid(err, "a view that takes blocks apart");
    }
    *f = seen;
    return ST_OK;
}

static enum status view_levels(struct emu_texture *t, const struct rt_view *v, struct error *err)
{
    if (v->first_level > v->last_level || v->last_level >= t->n_levels)
        return invalid(err, "a view of levels that are not there");
    t->n_levels = (uint8_t)(v->last_level - v->first_level + 1);
    memmove(t->level, t->level + v->first_level, t->n_levels * sizeof t->level[0]);
    if (v->first_level) {
        t->width = t->level[0].width;
        t->height = t->height ? t->level[0].height : 0;
        t->depth = t->depth ? t->level[0].depth : 0;
    }
    return ST_OK;
}

static enum status view_layers(struct emu_texture *t, const struct rt_view *v, struct error *err)
{
    if (!t->layers) {
        if (v->first_layer || v->last_layer)
            return invalid(err, "a view of layers of an array that has none");
        return ST_OK;
    }
    if (v->first_layer > v->last_layer || v->last_layer >= t->layers || (t->cube && (v->first_layer % 6 || (v->last_layer + 1) % 6)))
        return invalid(err, "a view of layers that are not there");
    for (unsigned i = 0; i < t->n_levels; i++)
        t->level[i].base += v->first_layer * t->level[i].slice;
    t->layers = v->last_layer - v->first_layer + 1;
    return ST_OK;
}

static enum status view_apply(struct emu_texture *t, struct rt_format *f, const struct rt_view *v, struct error *err)
{
    enum status st = v->format ? view_format(t, f, v->format, err) : ST_OK;
    if (st == ST_OK && (v->width != t->width || v->height != t->height || v->depth != (t->layers ? t->layers : t->depth)))
        st = invalid(err, "a view whose size is not the array's");
    if (st == ST_OK)
        st = view_levels(t, v, err);
    return st == ST_OK ? view_layers(t, v, err) : st;
}

/* ---- samplers ---- */

static enum status sampler_of(struct emu_texture *t, const struct rt_sampling *s, struct error *err)
{
    struct emu_sampler *to = &t->sampler;
    for (unsigned i = 0; i < 3; i++) {
        if (s->address[i] < 0 || s->address[i] > EMU_ADDRESS_BORDER)
            return invalid(err, "no such address mode");
        to->address[i] = (uint8_t)s->address[i];
    }
    if ((s->filter != 0 && s->filter != 1) || (s->mip_filter != 0 && s->mip_filter != 1))
        return invalid(err, "no such filter mode");
    to->linear = s->filter;
    to->mip_linear = s->mip_filter;
    to->normalized = s->flags & RT_TEXTURE_NORMALIZED;
    to->seamless = s->flags & RT_TEXTURE_SEAMLESS_CUBE;
    if (to->seamless && !t->cube)
        return invalid(err, "only cube maps are seamless");
    for (unsigned i = 0; to->seamless && i < 3; i++)
        to->address[i] = EMU_ADDRESS_CLAMP;
    to->bias = s->bias;
    to->min_lod = s->min_lod;
    to->max_lod = s->max_lod;
    memcpy(to->border, s->border, sizeof to->border);  /* a program passes integer colours as the bits of floats */
    if (t->linear_memory) {                            /* neither filtered nor addressed: outside there are zeros */
        to->linear = false;
        to->address[0] = to->address[1] = to->address[2] = EMU_ADDRESS_BORDER;
        memset(to->border, 0, sizeof to->border);
    }
    return ST_OK;
}

static enum emu_texel texel_of(const struct rt_format *f, uint32_t flags)
{
    if (flags & RT_TEXTURE_READ_AS_INTEGER)
        return f->texel;
    return f->normalized == EMU_TEXEL_UN8 && flags & RT_TEXTURE_SRGB ? EMU_TEXEL_SRGB8 : f->normalized;
}

enum status texture_shape(struct emu_texture *t, const struct rt_device_facts *gpu, const struct rt_resource *r, const struct rt_sampling *s,
                          const struct rt_view *view, struct error *err)
{
    struct rt_format f;
    *t = (struct emu_texture){.kind = EMU_TEXTURE};
    enum status st = from_resource(t, gpu, r, &f, err);
    if (st == ST_OK && view)
        st = r->kind == RT_RESOURCE_ARRAY || r->kind == RT_RESOURCE_MIPMAP ? view_apply(t, &f, view, err) : invalid(err, "only arrays have views");
    if (st != ST_OK)
        return st;
    if (r->kind == RT_RESOURCE_MIPMAP && !(s->flags & RT_TEXTURE_NORMALIZED))
        return invalid(err, "textures of mipmapped arrays have normalized coordinates");
    t->texel = (uint8_t)texel_of(&f, s->flags);
    t->channels = (uint8_t)f.channels;
    return sampler_of(t, s, err);
}

enum status surface_shape(struct emu_texture *t, const struct rt_resource *r, struct error *err)
{
    struct rt_format f;
    *t = (struct emu_texture){.kind = EMU_SURFACE};
    if (r->kind != RT_RESOURCE_ARRAY)
        return invalid(err, "surfaces are made of arrays alone");
    enum status st = from_array(t, r->array, &f, err);
    if (st != ST_OK)
        return st;
    if (emu_texel_is_block(f.texel))
        return invalid(err, "no surface of compressed blocks");
    t->texel = (uint8_t)f.texel;
    t->channels = (uint8_t)f.channels;
    return ST_OK;
}
