/* Driver API: texture and surface objects. */
#include <string.h>

#include "interpose/texture.h"

/* ---- structs ---- */

enum status api_resource(const CUDA_RESOURCE_DESC *d, struct rt_resource *out)
{
    enum status st = ST_OK;
    if (!d || d->flags)
        return ST_INVALID_VALUE;
    *out = (struct rt_resource){.kind = (enum rt_resource_kind)d->type};
    switch (d->type) {
    case RT_RESOURCE_ARRAY:
        st = api_check(d->res.array, RT_ARRAY);
        out->array = d->res.array;
        return st;
    case RT_RESOURCE_MIPMAP:
        st = api_check(d->res.mipmap, RT_MIPMAP);
        out->mipmap = d->res.mipmap;
        return st;
    case RT_RESOURCE_LINEAR:
        out->address = d->res.linear.address;
        out->format = d->res.linear.format;
        out->channels = d->res.linear.channels;
        out->bytes = d->res.linear.bytes;
        return ST_OK;
    case RT_RESOURCE_PITCH2D:
        out->address = d->res.pitch2d.address;
        out->format = d->res.pitch2d.format;
        out->channels = d->res.pitch2d.channels;
        out->width = d->res.pitch2d.width;
        out->height = d->res.pitch2d.height;
        out->pitch = d->res.pitch2d.pitch;
        return ST_OK;
    default: return ST_INVALID_VALUE;
    }
}

void api_resource_desc(const struct rt_resource *r, CUDA_RESOURCE_DESC *out)
{
    memset(out, 0, sizeof *out);
    out->type = (int)r->kind;
    switch (r->kind) {
    case RT_RESOURCE_ARRAY: out->res.array = r->array; break;
    case RT_RESOURCE_MIPMAP: out->res.mipmap = r->mipmap; break;
    case RT_RESOURCE_LINEAR:
        out->res.linear.address = r->address;
        out->res.linear.format = r->format;
        out->res.linear.channels = r->channels;
        out->res.linear.bytes = r->bytes;
        break;
    case RT_RESOURCE_PITCH2D:
        out->res.pitch2d.address = r->address;
        out->res.pitch2d.format = r->format;
        out->res.pitch2d.channels = r->channels;
        out->res.pitch2d.width = r->width;
        out->res.pitch2d.height = r->height;
        out->res.pitch2d.pitch = r->pitch;
        break;
    }
}

static struct rt_sampling sampling_of(const CUDA_TEXTURE_DESC *d)
{
    struct rt_sampling s = {.filter = d->filter, .flags = d->flags, .anisotropy = d->anisotropy, .mip_filter = d->mip_filter, .bias = d->bias,
                            .min_lod = d->min_lod, .max_lod = d->max_lod};
    memcpy(s.address, d->address, sizeof s.address);
    memcpy(s.border, d->border, sizeof s.border);
    return s;
}

static void texture_desc(const struct rt_sampling *s, CUDA_TEXTURE_DESC *d)
{
    *d = (CUDA_TEXTURE_DESC){.filter = s->filter, .flags = s->flags, .anisotropy = s->anisotropy, .mip_filter = s->mip_filter, .bias = s->bias,
                             .min_lod = s->min_lod, .max_lod = s->max_lod};
    memcpy(d->address, s->address, sizeof d->address);
    memcpy(d->border, s->border, sizeof d->border);
}

static struct rt_view view_of(const CUDA_RESOURCE_VIEW_DESC *d)
{
    return (struct rt_view){d->format, d->width, d->height, d->depth, d->first_level, d->last_level, d->first_layer, d->last_layer};
}

/* ---- textures ---- */

enum status cu_tex_object_create(CUtexObject *tex_object, const CUDA_RESOURCE_DESC *res_desc, const CUDA_TEXTURE_DESC *tex_desc, const CUDA_RESOURCE_VIEW_DESC *view_desc)
{
    struct rt_context *c;
    struct rt_resource r;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (!tex_object || !tex_desc)
        return ST_INVALID_VALUE;
    st = api_resource(res_desc, &r);
    if (st != ST_OK)
        return st;
    struct rt_sampling s = sampling_of(tex_desc);
    struct rt_view view = view_desc ? view_of(view_desc) : (struct rt_view){0};
    struct error err = {0};
    return api_report(rt_texture_create(tex_object, c, &r, &s, view_desc ? &view : NULL, &err), &err);
}

static enum status destroy(uint64_t handle, enum emu_texture_kind kind)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    return handle ? rt_texture_destroy(handle, kind) : ST_OK;          /* as with null pointers: nothing to do */
}

enum status cu_tex_object_destroy(CUtexObject tex_object) { return destroy(tex_object, EMU_TEXTURE); }

static enum status resource_desc(CUDA_RESOURCE_DESC *out, uint64_t handle, enum emu_texture_kind kind)
{
    struct rt_resource r;
    if (!out)
        return ST_INVALID_VALUE;
    enum status st = rt_texture_info(handle, kind, &r, NULL, NULL, NULL);
    if (st == ST_OK)
        api_resource_desc(&r, out);
    return st;
}

enum status cu_tex_object_get_resource_desc(CUDA_RESOURCE_DESC *res_desc, CUtexObject tex_object) { return resource_desc(res_desc, tex_object, EMU_TEXTURE); }

enum status cu_tex_object_get_texture_desc(CUDA_TEXTURE_DESC *tex_desc, CUtexObject tex_object)
{
    struct rt_sampling s;
    if (!tex_desc)
        return ST_INVALID_VALUE;
    enum status st = rt_texture_info(tex_object, EMU_TEXTURE, NULL, &s, NULL, NULL);
    if (st == ST_OK)
        texture_desc(&s, tex_desc);
    return st;
}

enum status cu_tex_object_get_resource_view_desc(CUDA_RESOURCE_VIEW_DESC *view_desc, CUtexObject tex_object)
{
    struct rt_view v;
    bool there;
    if (!view_desc)
        return ST_INVALID_VALUE;
    enum status st = rt_texture_info(tex_object, EMU_TEXTURE, NULL, NULL, &v, &there);
    if (st != ST_OK || !there)
        return st == ST_OK ? ST_INVALID_VALUE : st;
    *view_desc = (CUDA_RESOURCE_VIEW_DESC){v.format, v.width, v.height, v.depth, v.first_level, v.last_level, v.first_layer, v.last_layer, {0}};
    return ST_OK;
}

/* ---- surfaces ---- */

enum status cu_surf_object_create(CUsurfObject *surf_object, const CUDA_RESOURCE_DESC *res_desc)
{
    struct rt_context *c;
    struct rt_resource r;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    st = surf_object ? api_resource(res_desc, &r) : ST_INVALID_VALUE;
    if (st != ST_OK)
        return st;
    struct error err = {0};
    return api_report(rt_surface_create(surf_object, c, &r, &err), &err);
}

enum status cu_surf_object_destroy(CUsurfObject surf_object) { return destroy(surf_object, EMU_SURFACE); }
enum status cu_surf_object_get_resource_desc(CUDA_RESOURCE_DESC *res_desc, CUsurfObject surf_object) { return resource_desc(res_desc, surf_object, EMU_SURFACE); }
