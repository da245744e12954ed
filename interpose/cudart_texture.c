/* Runtime API: arrays, texture and surface objects, and the texture references of programs of CUDA 11. */
#include <string.h>

#include "interpose/cudart.h"
#include "interpose/texture.h"

/* ---- channels and arrays ---- */

enum { KIND_SIGNED, KIND_UNSIGNED, KIND_FLOAT };

static bool format_of(const struct cudaChannelFormatDesc *d, struct rt_format *f) { return rt_format_of_desc(f, d->f, (const int[4]){d->x, d->y, d->z, d->w}); }

static struct cudaChannelFormatDesc channels_of(int format, uint32_t channels)
{
    struct rt_format f;
    if (!rt_format_find(&f, format, channels))
        return (struct cudaChannelFormatDesc){0};
    return (struct cudaChannelFormatDesc){f.bits[0], f.bits[1], f.bits[2], f.bits[3], f.kind};
}

/* ST_NOT_SUPPORTED for what Heddle has no arrays of: some block compression, planar video. */
static enum status array_desc(CUDA_ARRAY3D_DESCRIPTOR *d, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent, unsigned flags)
{
    enum { KIND_NV12 = 4, KIND_BC6H = 27, KIND_LAST = 64 };
    struct rt_format f;
    if (!format_of(desc, &f))
        return desc->f == KIND_NV12 || (desc->f >= KIND_BC6H && desc->f < KIND_LAST) ? ST_NOT_SUPPORTED : ST_INVALID_CHANNEL_DESCRIPTOR;
    *d = (CUDA_ARRAY3D_DESCRIPTOR){extent.width, extent.height, extent.depth, f.cu, f.channels, flags};
    return ST_OK;
}

enum status cuda_malloc_3d_array(CUarray *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    if (!array || !desc)
        return ST_INVALID_VALUE;
    enum status st = array_desc(&d, desc, extent, flags);
    return st == ST_OK ? cu_array_3d_create(array, &d) : st;
}

enum status cuda_malloc_array(CUarray *array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height, unsigned flags)
{
    return cuda_malloc_3d_array(array, desc, (struct cudaExtent){width, height, 0}, flags);
}

enum status cuda_malloc_mipmapped_array(CUmipmappedArray *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent, unsigned levels, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    if (!array || !desc)
        return ST_INVALID_VALUE;
    enum status st = array_desc(&d, desc, extent, flags);
    return st == ST_OK ? cu_mipmapped_array_create(array, &d, levels) : st;
}

/* The runtime lets go of nothing without complaint; the driver does not. */
enum status cuda_free_array(CUarray array) { return array ? cu_array_destroy(array) : ST_OK; }
enum status cuda_free_mipmapped_array(CUmipmappedArray array) { return array ? cu_mipmapped_array_destroy(array) : ST_OK; }

enum status cuda_array_get_info(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned *flags, CUarray array)
{
    enum status st = api_check(array, RT_ARRAY);
    if (st != ST_OK)
        return st;
    const struct rt_array_shape *s = rt_array_shape(array);
    if (desc)
        *desc = channels_of(s->format, s->channels);
    if (extent)
        *extent = (struct cudaExtent){s->width, s->height, s->depth};
    if (flags)
        *flags = s->flags;
    return ST_OK;
}

enum status cuda_get_channel_desc(struct cudaChannelFormatDesc *desc, CUarray array)
{
    return desc ? cuda_array_get_info(desc, NULL, NULL, array) : ST_INVALID_VALUE;
}

enum status cuda_device_get_texture_1d_linear_max_width(size_t *max_width_in_elements, const struct cudaChannelFormatDesc *fmt_desc, int device)
{
    struct rt_format f;
    if (!fmt_desc)
        return ST_INVALID_VALUE;
    return format_of(fmt_desc, &f) ? cu_device_get_texture_1d_linear_max_width(max_width_in_elements, f.cu, f.channels, device) : ST_INVALID_CHANNEL_DESCRIPTOR;
}

__attribute__((visibility("default"))) struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int f);
struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int f) { return (struct cudaChannelFormatDesc){x, y, z, w, f}; }

/* ---- structs ---- */

/* To the driver's form. */
static enum status resource_of(const struct cudaResourceDesc *d, CUDA_RESOURCE_DESC *out)
{
    struct rt_format f;
    if (!d)
        return ST_INVALID_VALUE;
    *out = (CUDA_RESOURCE_DESC){.type = d->type, .flags = d->flags};
    switch (d->type) {
    case RT_RESOURCE_ARRAY: out->res.array = d->res.array; return ST_OK;
    case RT_RESOURCE_MIPMAP: out->res.mipmap = d->res.mipmap; return ST_OK;
    case RT_RESOURCE_LINEAR:
        if (!format_of(&d->res.linear.desc, &f))
            return ST_INVALID_CHANNEL_DESCRIPTOR;
        out->res.linear.address = d->res.linear.address;
        out->res.linear.format = f.cu;
        out->res.linear.channels = f.channels;
        out->res.linear.bytes = d->res.linear.bytes;
        return ST_OK;
    case RT_RESOURCE_PITCH2D:
        if (!format_of(&d->res.pitch2d.desc, &f))
            return ST_INVALID_CHANNEL_DESCRIPTOR;
        out->res.pitch2d.address = d->res.pitch2d.address;
        out->res.pitch2d.format = f.cu;
        out->res.pitch2d.channels = f.channels;
        out->res.pitch2d.width = d->res.pitch2d.width;
        out->res.pitch2d.height = d->res.pitch2d.height;
        out->res.pitch2d.pitch = d->res.pitch2d.pitch;
        return ST_OK;
    default: return ST_INVALID_VALUE;
    }
}

static void resource_desc(const CUDA_RESOURCE_DESC *d, struct cudaResourceDesc *out)
{
    memset(out, 0, sizeof *out);
    out->type = d->type;
    switch (d->type) {
    case RT_RESOURCE_ARRAY: out->res.array = d->res.array; break;
    case RT_RESOURCE_MIPMAP: out->res.mipmap = d->res.mipmap; break;
    case RT_RESOURCE_LINEAR:
        out->res.linear.address = d->res.linear.address;
        out->res.linear.desc = channels_of(d->res.linear.format, d->res.linear.channels);
        out->res.linear.bytes = d->res.linear.bytes;
        break;
    default:
        out->res.pitch2d.address = d->res.pitch2d.address;
        out->res.pitch2d.desc = channels_of(d->res.pitch2d.format, d->res.pitch2d.channels);
        out->res.pitch2d.width = d->res.pitch2d.width;
        out->res.pitch2d.height = d->res.pitch2d.height;
        out->res.pitch2d.pitch = d->res.pitch2d.pitch;
        break;
    }
}

/* The texels of a resource in the driver's form; false: an array that is none. */
static bool texels_of(const CUDA_RESOURCE_DESC *r, struct rt_format *f)
{
    CUarray a = r->type == RT_RESOURCE_ARRAY ? r->res.array : r->type == RT_RESOURCE_MIPMAP && rt_is(r->res.mipmap, RT_MIPMAP) ? rt_mipmap_level(r->res.mipmap, 0) : NULL;
    if (r->type == RT_RESOURCE_LINEAR)
        return rt_format_find(f, r->res.linear.format, r->res.linear.channels);
    if (r->type == RT_RESOURCE_PITCH2D)
        return rt_format_find(f, r->res.pitch2d.format, r->res.pitch2d.channels);
    return rt_is(a, RT_ARRAY) && rt_format_find(f, rt_array_shape(a)->format, rt_array_shape(a)->channels);
}

enum { READ_ELEMENT, READ_NORMALIZED_FLOAT, DISABLE_TRILINEAR = 0x20 };

static CUDA_TEXTURE_DESC sampling_of(const struct cudaTextureDesc *d, bool seamless)
{
    CUDA_TEXTURE_DESC t = {.filter = d->filter, .anisotropy = d->anisotropy, .mip_filter = d->mip_filter, .bias = d->bias, .min_lod = d->min_lod, .max_lod = d->max_lod};
    memcpy(t.address, d->address, sizeof t.address);
    memcpy(t.border, d->border, sizeof t.border);
    t.flags = (d->read_mode == READ_ELEMENT ? RT_TEXTURE_READ_AS_INTEGER : 0u) | (d->normalized ? RT_TEXTURE_NORMALIZED : 0u) | (d->srgb ? RT_TEXTURE_SRGB : 0u) |
              (d->disable_trilinear_optimization ? DISABLE_TRILINEAR : 0u) | (seamless && d->seamless_cubemap ? RT_TEXTURE_SEAMLESS_CUBE : 0u);
    return t;
}

/* What only the runtime refuses: a linear filter of integers, and reading as floats what is not an integer of 8 or 16 bits. */
static enum status settings_ok(const CUDA_RESOURCE_DESC *r, const CUDA_TEXTURE_DESC *t, const CUDA_RESOURCE_VIEW_DESC *view)
{
    struct rt_format f;
    bool known = view && view->format ? rt_format_of_view(&f, view->format) : texels_of(r, &f), as_float = !(t->flags & RT_TEXTURE_READ_AS_INTEGER);
    if (!known)
        return ST_OK;
    if (t->filter && emu_texel_facts[as_float ? f.normalized : f.texel].class < EMU_CLASS_FLOAT)
        return ST_INVALID_FILTER_SETTING;
    bool plain = f.kind <= KIND_FLOAT;
    return plain && as_float && f.normalized == f.texel ? ST_INVALID_NORM_SETTING : ST_OK;
}

/* ---- objects ---- */

static enum status create(CUtexObject *tex_object, const struct cudaResourceDesc *res_desc, const struct cudaTextureDesc *tex_desc, const CUDA_RESOURCE_VIEW_DESC *view_desc,
                          bool seamless)
{
    CUDA_RESOURCE_DESC r;
    if (!tex_object || !res_desc)
        return ST_INVALID_VALUE;
    if (!tex_desc)
        return ST_INVALID_HANDLE;              /* which NVIDIA's runtime answers, and here alone */
    enum status st = resource_of(res_desc, &r);
    if (st != ST_OK)
        return st;
    CUDA_TEXTURE_DESC t = sampling_of(tex_desc, seamless);
    st = settings_ok(&r, &t, view_desc);
    return st == ST_OK ? cu_tex_object_create(tex_object, &r, &t, view_desc) : st;
}

/* Programs of 11.x pass a shorter struct to the old name. */
enum status cuda_create_texture_object(CUtexObject *tex_object, const struct cudaResourceDesc *res_desc, const struct cudaTextureDesc *tex_desc,
                                       const CUDA_RESOURCE_VIEW_DESC *view_desc)
{
    return create(tex_object, res_desc, tex_desc, view_desc, cudart_major() >= 12);
}

enum status cuda_create_texture_object_v2(CUtexObject *tex_object, const struct cudaResourceDesc *res_desc, const struct cudaTextureDesc *tex_desc,
                                          const CUDA_RESOURCE_VIEW_DESC *view_desc)
{
    return create(tex_object, res_desc, tex_desc, view_desc, true);
}

enum status cuda_get_texture_object_resource_desc(struct cudaResourceDesc *res_desc, CUtexObject tex_object)
{
    CUDA_RESOURCE_DESC d;
    enum status st = res_desc ? cu_tex_object_get_resource_desc(&d, tex_object) : ST_INVALID_VALUE;
    if (st == ST_OK)
        resource_desc(&d, res_desc);
    return st;
}

static enum status texture_desc(struct cudaTextureDesc *out, CUtexObject tex_object, bool seamless)
{
    CUDA_TEXTURE_DESC d;
    enum status st = out ? cu_tex_object_get_texture_desc(&d, tex_object) : ST_INVALID_HANDLE;
    if (st != ST_OK)
        return st;
    struct cudaTextureDesc t = {.filter = d.filter, .anisotropy = d.anisotropy, .mip_filter = d.mip_filter, .bias = d.bias, .min_lod = d.min_lod, .max_lod = d.max_lod};
    memcpy(t.address, d.address, sizeof t.address);
    memcpy(t.border, d.border, sizeof t.border);
    t.read_mode = d.flags & RT_TEXTURE_READ_AS_INTEGER ? READ_ELEMENT : READ_NORMALIZED_FLOAT;
    t.normalized = (d.flags & RT_TEXTURE_NORMALIZED) != 0;
    t.srgb = (d.flags & RT_TEXTURE_SRGB) != 0;
    t.disable_trilinear_optimization = (d.flags & DISABLE_TRILINEAR) != 0;
    t.seamless_cubemap = (d.flags & RT_TEXTURE_SEAMLESS_CUBE) != 0;
    memcpy(out, &t, seamless ? sizeof t : offsetof(struct cudaTextureDesc, seamless_cubemap));
    return ST_OK;
}

enum status cuda_get_texture_object_texture_desc(struct cudaTextureDesc *tex_desc, CUtexObject tex_object) { return texture_desc(tex_desc, tex_object, cudart_major() >= 12); }
enum status cuda_get_texture_object_texture_desc_v2(struct cudaTextureDesc *tex_desc, CUtexObject tex_object) { return texture_desc(tex_desc, tex_object, true); }

enum status cuda_create_surface_object(CUsurfObject *surf_object, const struct cudaResourceDesc *res_desc)
{
    CUDA_RESOURCE_DESC r;
    enum status st = resource_of(res_desc, &r);
    return st == ST_OK ? cu_surf_object_create(surf_object, &r) : st;
}

enum status cuda_get_surface_object_resource_desc(struct cudaResourceDesc *res_desc, CUsurfObject surf_object)
{
    CUDA_RESOURCE_DESC d;
    enum status st = res_desc ? cu_surf_object_get_resource_desc(&d, surf_object) : ST_INVALID_VALUE;
    if (st == ST_OK)
        resource_desc(&d, res_desc);
    return st;
}
