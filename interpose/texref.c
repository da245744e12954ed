/* Driver API: texture and surface references of modules. */
#include <string.h>

#include "interpose/texture.h"

struct state { struct rt_resource r; struct rt_sampling s; bool bound; };

static enum status state_of(CUtexref t, struct state *out)
{
    enum status st = api_check(t, RT_TEXREF);
    if (st == ST_OK)
        rt_texref_state(t, &out->r, &out->s, &out->bound);
    return st;
}

static enum status change(CUtexref t, const struct state *to, bool bound)
{
    struct error err = {0};
    return api_report(rt_texref_set(t, &to->r, &to->s, bound, &err), &err);
}

/* ---- where they come from ---- */

static enum status reference(struct rt_texref **out, CUmodule module, const char *name, enum emu_texture_kind kind)
{
    enum status st = api_check(module, RT_MODULE);
    if (st != ST_OK)
        return st;
    return out && name ? rt_texref_get(out, module, name, kind, NULL) : ST_INVALID_VALUE;
}

enum status cu_module_get_tex_ref(CUtexref *tex_ref, CUmodule module, const char *name) { return reference(tex_ref, module, name, EMU_TEXTURE); }
enum status cu_module_get_surf_ref(CUsurfref *surf_ref, CUmodule module, const char *name) { return reference(surf_ref, module, name, EMU_SURFACE); }

enum status cu_tex_ref_create(CUtexref *tex_ref)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    return tex_ref ? rt_texref_get(tex_ref, NULL, NULL, EMU_TEXTURE, NULL) : ST_INVALID_VALUE;
}

enum status cu_tex_ref_destroy(CUtexref tex_ref)
{
    enum status st = api_check(tex_ref, RT_TEXREF);
    return st == ST_OK ? rt_texref_destroy(tex_ref) : st;
}

/* What cuParamSetTexRef made known is known here from the module. */
enum status cu_param_set_tex_ref(CUfunction function, int unit, CUtexref tex_ref)
{
    struct rt_function *f;
    enum { DEFAULT = -1 };
    enum status st = api_function(function, &f);
    if (st == ST_OK)
        st = api_check(tex_ref, RT_TEXREF);
    return st == ST_OK && unit != DEFAULT ? ST_INVALID_VALUE : st;
}

/* ---- what is bound ---- */

enum status cu_tex_ref_set_array(CUtexref tex_ref, CUarray array, unsigned flags)
{
    enum { OVERRIDE_FORMAT = 1 };
    struct state s;
    enum status st = state_of(tex_ref, &s);
    if (st == ST_OK && array)
        st = api_check(array, RT_ARRAY);
    if (st != ST_OK)
        return st;
    if (flags & ~(unsigned)OVERRIDE_FORMAT)
        return ST_INVALID_VALUE;
    s.r = (struct rt_resource){.kind = RT_RESOURCE_ARRAY, .array = array};
    return change(tex_ref, &s, array != NULL);
}

enum status cu_tex_ref_set_mipmapped_array(CUtexref tex_ref, CUmipmappedArray array, unsigned flags)
{
    struct state s;
    enum status st = state_of(tex_ref, &s);
    if (st == ST_OK && array)
        st = api_check(array, RT_MIPMAP);
    if (st != ST_OK)
        return st;
    (void)flags;
    s.r = (struct rt_resource){.kind = RT_RESOURCE_MIPMAP, .mipmap = array};
    s.s.flags |= RT_TEXTURE_NORMALIZED;
    return change(tex_ref, &s, array != NULL);
}

/* An address that is not aligned is rounded down, and the program adds *byte_offset to what it fetches. */
enum status cu_tex_ref_set_address(size_t *byte_offset, CUtexref tex_ref, CUdeviceptr address, size_t bytes)
{
    struct rt_context *c;
    struct state s;
    enum status st = api_context(&c);
    if (st == ST_OK)
        st = state_of(tex_ref, &s);
    if (st != ST_OK)
        return st;
    uint64_t off = address % rt_device_facts(rt_context_device(c))->texture_align_bytes;
    if (off && !byte_offset)
        return ST_INVALID_VALUE;
    if (byte_offset)
        *byte_offset = off;
    s.r = (struct rt_resource){.kind = RT_RESOURCE_LINEAR, .address = address - off, .format = s.r.format, .channels = s.r.channels, .bytes = bytes + off};
    return change(tex_ref, &s, address != 0);
}

enum status cu_tex_ref_set_address_2d(CUtexref tex_ref, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr address, size_t pitch)
{
    struct state s;
    enum status st = state_of(tex_ref, &s);
    if (st != ST_OK)
        return st;
    if (!desc)
        return ST_INVALID_VALUE;
    s.r = (struct rt_resource){.kind = RT_RESOURCE_PITCH2D, .address = address, .format = desc->format, .channels = desc->channels, .width = desc->width,
                               .height = desc->height, .pitch = pitch};
    return change(tex_ref, &s, address != 0);
}

enum status cu_surf_ref_set_array(CUsurfref surf_ref, CUarray array, unsigned flags)
{
    enum status st = api_check(surf_ref, RT_SURFREF);
    if (st == ST_OK)
        st = api_check(array, RT_ARRAY);
    if (st != ST_OK)
        return st;
    struct rt_resource r = {.kind = RT_RESOURCE_ARRAY, .array = array};
    struct error err = {0};
    return flags ? ST_INVALID_VALUE : api_report(rt_texref_set(surf_ref, &r, NULL, true, &err), &err);
}

enum status cu_surf_ref_get_array(CUarray *array, CUsurfref surf_ref)
{
    struct rt_resource r;
    bool bound;
    enum status st = api_check(surf_ref, RT_SURFREF);
    if (st != ST_OK)
        return st;
    rt_texref_state(surf_ref, &r, NULL, &bound);
    if (!array || !bound)
        return ST_INVALID_VALUE;
    *array = r.array;
    return ST_OK;
}

/* ---- how it is read ---- */

/* A setter: name, parameter, what it does to s; ok says whether the value is one. */
#define SET(name, type, value, ok, action)                                              \
    enum status cu_tex_ref_set_##name(CUtexref tex_ref, type value)                     \
    {                                                                                   \
        struct state s;                                                                 \
        enum status st = state_of(tex_ref, &s);                                         \
        if (st != ST_OK)                                                                \
            return st;                                                                  \
        if (!(ok))                                                                      \
            return ST_INVALID_VALUE;                                                    \
        action;                                                                         \
        return change(tex_ref, &s, s.bound);                                            \
    }
SET(filter_mode, int, mode, mode == 0 || mode == 1, s.s.filter = mode)
SET(flags, unsigned, flags, true, s.s.flags = flags)
SET(border_color, const float *, color, color != NULL, memcpy(s.s.border, color, sizeof s.s.border))
SET(max_anisotropy, unsigned, anisotropy, true, s.s.anisotropy = anisotropy)
SET(mipmap_filter_mode, int, mode, mode == 0 || mode == 1, s.s.mip_filter = mode)
SET(mipmap_level_bias, float, bias, true, s.s.bias = bias)

enum status cu_tex_ref_set_mipmap_level_clamp(CUtexref tex_ref, float min, float max)
{
    struct state s;
    enum status st = state_of(tex_ref, &s);
    if (st != ST_OK)
        return st;
    s.s.min_lod = min;
    s.s.max_lod = max;
    return change(tex_ref, &s, s.bound);
}

enum status cu_tex_ref_set_address_mode(CUtexref tex_ref, int dim, int mode)
{
    struct state s;
    enum status st = state_of(tex_ref, &s);
    if (st != ST_OK)
        return st;
    if (dim < 0 || dim > 2 || mode < EMU_ADDRESS_WRAP || mode > EMU_ADDRESS_BORDER)
        return ST_INVALID_VALUE;
    s.s.address[dim] = mode;
    return change(tex_ref, &s, s.bound);
}

/* Of linear memory; an array has its own. */
enum status cu_tex_ref_set_format(CUtexref tex_ref, int format, int channels)
{
    struct state s;
    struct rt_format f;
    enum status st = state_of(tex_ref, &s);
    if (st != ST_OK)
        return st;
    if (channels < 1 || !rt_format_find(&f, format, (uint32_t)channels))
        return ST_INVALID_VALUE;
    s.r.format = format;
    s.r.channels = (uint32_t)channels;
    return change(tex_ref, &s, s.bound);
}

#define GET(name, type, value)                                                          \
    enum status cu_tex_ref_get_##name(type *out, CUtexref tex_ref)                      \
    {                                                                                   \
        struct state s;                                                                 \
        enum status st = state_of(tex_ref, &s);                                         \
        if (st == ST_OK && out)                                                         \
            *out = (value);                                                             \
        return st == ST_OK && !out ? ST_INVALID_VALUE : st;                             \
    }
GET(filter_mode, int, s.s.filter)
GET(flags, unsigned, s.s.flags)
GET(max_anisotropy, int, (int)s.s.anisotropy)
GET(mipmap_filter_mode, int, s.s.mip_filter)
GET(mipmap_level_bias, float, s.s.bias)

#define GET_BOUND(name, type, which, value)                                             \
    enum status cu_tex_ref_get_##name(type *out, CUtexref tex_ref)                      \
    {                                                                                   \
        struct state s;                                                                 \
        enum status st = state_of(tex_ref, &s);                                         \
        if (st != ST_OK)                                                                \
            return st;                                                                  \
        if (!out || !s.bound || !(which))                                               \
            return ST_INVALID_VALUE;                                                    \
        *out = (value);                                                                 \
        return ST_OK;                                                                   \
    }
GET_BOUND(array, CUarray, s.r.kind == RT_RESOURCE_ARRAY, s.r.array)
GET_BOUND(mipmapped_array, CUmipmappedArray, s.r.kind == RT_RESOURCE_MIPMAP, s.r.mipmap)
GET_BOUND(address, CUdeviceptr, s.r.kind >= RT_RESOURCE_LINEAR, s.r.address)

enum status cu_tex_ref_get_border_color(float *color, CUtexref tex_ref)
{
    struct state s;
    enum status st = state_of(tex_ref, &s);
    if (st == ST_OK && color)
        memcpy(color, s.s.border, sizeof s.s.border);
    return st == ST_OK && !color ? ST_INVALID_VALUE : st;
}

enum status cu_tex_ref_get_address_mode(int *mode, CUtexref tex_ref, int dim)
{
    struct state s;
    enum status st = state_of(tex_ref, &s);
    if (st != ST_OK)
        return st;
    if (!mode || dim < 0 || dim > 2)
        return ST_INVALID_VALUE;
    *mode = s.s.address[dim];
    return ST_OK;
}

enum status cu_tex_ref_get_mipmap_level_clamp(float *min, float *max, CUtexref tex_ref)
{
    struct state s;
    enum status st = state_of(tex_ref, &s);
    if (st != ST_OK)
        return st;
    if (!min || !max)
        return ST_INVALID_VALUE;
    *min = s.s.min_lod;
    *max = s.s.max_lod;
    return ST_OK;
}

enum status cu_tex_ref_get_format(int *format, int *channels, CUtexref tex_ref)
{
    struct state s;
    enum status st = state_of(tex_ref, &s);
    if (st != ST_OK)
        return st;
    if (!format || !channels)
        return ST_INVALID_VALUE;
    bool array = s.bound && s.r.kind <= RT_RESOURCE_MIPMAP;
    const struct rt_array_shape *shape = !array ? NULL : rt_array_shape(s.r.kind == RT_RESOURCE_ARRAY ? s.r.array : rt_mipmap_level(s.r.mipmap, 0));
    *format = shape ? shape->format : s.r.format;
    *channels = (int)(shape ? shape->channels : s.r.channels);
    return ST_OK;
}
