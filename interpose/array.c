/* Arrays and mipmapped arrays: the memory behind textures and surfaces, which hosts fill and read. */
#include "interpose/api.h"
#include "interpose/texture.h"

/* ---- what may be made ---- */

/* A GPU's greatest extents, by kind of array. */
struct extents { uint64_t width, height, depth; };

static bool within(const CUDA_ARRAY3D_DESCRIPTOR *d, struct extents most) { return d->width <= most.width && d->height <= most.height && d->depth <= most.depth; }

static bool texture_extents(const CUDA_ARRAY3D_DESCRIPTOR *d, const struct rt_device_facts *g)
{
    if (d->flags & RT_ARRAY_CUBE)
        return d->flags & RT_ARRAY_LAYERED ? within(d, (struct extents){g->texcube_layered_width, g->texcube_layered_width, g->texcube_layered_layers})
                                           : within(d, (struct extents){g->texcube_width, g->texcube_width, 6});
    if (d->flags & RT_ARRAY_LAYERED)
        return d->height ? within(d, (struct extents){g->tex2d_layered_width, g->tex2d_layered_height, g->tex2d_layered_layers})
                         : within(d, (struct extents){g->tex1d_layered_width, 0, g->tex1d_layered_layers});
    if (d->depth)
        return within(d, (struct extents){g->tex3d_width, g->tex3d_height, g->tex3d_depth}) ||
               within(d, (struct extents){g->tex3d_alternate_width, g->tex3d_alternate_height, g->tex3d_alternate_depth});
    if (d->flags & RT_ARRAY_GATHER)
        return within(d, (struct extents){g->tex2d_gather_width, g->tex2d_gather_height, 0});
    return d->height ? within(d, (struct extents){g->tex2d_width, g->tex2d_height, 0}) : within(d, (struct extents){g->tex1d_width, 0, 0});
}

static bool surface_extents(const CUDA_ARRAY3D_DESCRIPTOR *d, const struct rt_device_facts *g)
{
    if (d->flags & RT_ARRAY_CUBE)
        return d->flags & RT_ARRAY_LAYERED ? within(d, (struct extents){g->surfcube_layered_width, g->surfcube_layered_width, g->surfcube_layered_layers})
                                           : within(d, (struct extents){g->surfcube_width, g->surfcube_width, 6});
    if (d->flags & RT_ARRAY_LAYERED)
        return d->height ? within(d, (struct extents){g->surf2d_layered_width, g->surf2d_layered_height, g->surf2d_layered_layers})
                         : within(d, (struct extents){g->surf1d_layered_width, 0, g->surf1d_layered_layers});
    if (d->depth)
        return within(d, (struct extents){g->surf3d_width, g->surf3d_height, g->surf3d_depth});
    return d->height ? within(d, (struct extents){g->surf2d_width, g->surf2d_height, 0}) : within(d, (struct extents){g->surf1d_width, 0, 0});
}

static bool mip_extents(const CUDA_ARRAY3D_DESCRIPTOR *d, const struct rt_device_facts *g)
{
    if (d->depth || d->flags & (RT_ARRAY_CUBE | RT_ARRAY_LAYERED))
        return true;                           /* no limits of their own */
    return d->height ? within(d, (struct extents){g->tex2d_mipmapped_width, g->tex2d_mipmapped_height, 0}) : within(d, (struct extents){g->tex1d_mipmapped_width, 0, 0});
}

static bool cube_ok(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    return d->width == d->height && (d->flags & RT_ARRAY_LAYERED ? d->depth && d->depth % 6 == 0 : d->depth == 6);
}

static enum status shape_of(const CUDA_ARRAY3D_DESCRIPTOR *d, struct rt_context *c, struct rt_array_shape *out)
{
    const struct rt_device_facts *gpu = rt_device_facts(rt_context_device(c));
    struct rt_format f;
    if (d->flags & (RT_ARRAY_SPARSE | RT_ARRAY_DEFERRED))
        return ST_NOT_SUPPORTED;
    if (!rt_format_find(&f, d->format, d->channels)) {
        enum { BC6H = 0x9b, BC7_LAST = 0x9e, VIDEO = 0x9f, VIDEO_LAST = 0xb5 };
        bool known = (d->format >= BC6H && d->format <= VIDEO_LAST);           /* compression that is not decoded, planar video */
        return known ? ST_NOT_SUPPORTED : ST_INVALID_VALUE;
    }
    if (!d->width || (d->depth && !d->height && !(d->flags & RT_ARRAY_LAYERED)) || (d->flags & RT_ARRAY_LAYERED && !d->depth))
        return ST_INVALID_VALUE;
    if (d->flags & RT_ARRAY_CUBE && !cube_ok(d))
        return ST_INVALID_VALUE;
    if (d->flags & RT_ARRAY_GATHER && (!d->height || (d->depth && !(d->flags & (RT_ARRAY_LAYERED | RT_ARRAY_CUBE)))))
        return ST_INVALID_VALUE;
    if (!texture_extents(d, gpu) || (d->flags & RT_ARRAY_SURFACE && !surface_extents(d, gpu)))
        return ST_INVALID_VALUE;
    *out = (struct rt_array_shape){d->width, d->height, d->depth, f.texel_bytes, emu_texel_is_block(f.texel), d->format, f.channels, d->flags};
    return ST_OK;
}

/* ---- arrays ---- */

enum status cu_array_3d_create(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    struct rt_context *c;
    struct rt_array_shape shape;
    enum status st = api_context(&c);
    if (st == ST_OK)
        st = out && d ? shape_of(d, c, &shape) : ST_INVALID_VALUE;
    if (st != ST_OK)
        return st;
    struct error err = {0};
    st = rt_array_create(out, c, &shape, &err);
    return st == ST_OUT_OF_MEMORY ? st : api_report(st, &err);
}

enum status cu_array_create(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d)
{
    if (!d)
        return ST_INVALID_VALUE;
    return cu_array_3d_create(out, &(CUDA_ARRAY3D_DESCRIPTOR){d->width, d->height, 0, d->format, d->channels, 0});
}

enum status cu_array_destroy(CUarray array)
{
    enum status st = api_check(array, RT_ARRAY);
    return st == ST_OK ? rt_array_destroy(array) : st;
}

enum status cu_array_3d_get_descriptor(CUDA_ARRAY3D_DESCRIPTOR *d, CUarray array)
{
    enum status st = api_check(array, RT_ARRAY);
    if (st != ST_OK)
        return st;
    if (!d)
        return ST_INVALID_VALUE;
    const struct rt_array_shape *s = rt_array_shape(array);
    *d = (CUDA_ARRAY3D_DESCRIPTOR){s->width, s->height, s->depth, s->format, s->channels, s->flags};
    return ST_OK;
}

enum status cu_array_get_descriptor(CUDA_ARRAY_DESCRIPTOR *d, CUarray array)
{
    CUDA_ARRAY3D_DESCRIPTOR full;
    enum status st = cu_array_3d_get_descriptor(&full, array);
    if (st != ST_OK)
        return st;
    if (!d)
        return ST_INVALID_VALUE;
    *d = (CUDA_ARRAY_DESCRIPTOR){full.width, full.height, full.format, full.channels};
    return ST_OK;
}

/* Only arrays of planar video have planes, and there are none. */
enum status cu_array_get_plane(CUarray *plane_array, CUarray h_array, unsigned plane_idx)
{
    enum status st = api_check(h_array, RT_ARRAY);
    (void)plane_array, (void)plane_idx;
    return st == ST_OK ? ST_INVALID_VALUE : st;
}

/* Sparse and deferred-mapping arrays are refused when they are created. */
enum status cu_array_get_sparse_properties(CUDA_ARRAY_SPARSE_PROPERTIES *properties, CUarray array)
{
    enum status st = api_check(array, RT_ARRAY);
    (void)properties;
    return st == ST_OK ? ST_INVALID_VALUE : st;
}

enum status cu_array_get_memory_requirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *requirements, CUarray array, CUdevice device)
{
    enum status st = api_check(array, RT_ARRAY);
    if (st == ST_OK)
        st = api_device(device);
    if (st != ST_OK)
        return st;
    (void)requirements;
    return ST_INVALID_VALUE;                   /* they are asked of arrays with deferred mapping only */
}

/* ---- mipmapped arrays ---- */

static unsigned levels_of(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    bool layers = d->flags & (RT_ARRAY_LAYERED | RT_ARRAY_CUBE);
    size_t most = d->width > d->height ? d->width : d->height;
    most = !layers && d->depth > most ? d->depth : most;
    unsigned n = 1;
    while (most >>= 1)
        n++;
    return n;
}

enum status cu_mipmapped_array_create(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
    struct rt_context *c;
    struct rt_array_shape shape;
    enum status st = api_context(&c);
    if (st == ST_OK)
        st = out && d ? shape_of(d, c, &shape) : ST_INVALID_VALUE;
    if (st != ST_OK)
        return st;
    if (!mip_extents(d, rt_device_facts(rt_context_device(c))))
        return ST_INVALID_VALUE;
    unsigned most = levels_of(d);
    struct error err = {0};
    st = rt_mipmap_create(out, c, &shape, levels < 1 ? 1 : levels > most ? most : levels, &err);
    return st == ST_OUT_OF_MEMORY ? st : api_report(st, &err);
}

enum status cu_mipmapped_array_destroy(CUmipmappedArray array)
{
    enum status st = api_check(array, RT_MIPMAP);
    return st == ST_OK ? rt_mipmap_destroy(array) : st;
}

enum status cu_mipmapped_array_get_level(CUarray *level_array, CUmipmappedArray array, unsigned level)
{
    enum status st = api_check(array, RT_MIPMAP);
    if (st != ST_OK)
        return st;
    if (!level_array || level >= rt_mipmap_levels(array))
        return ST_INVALID_VALUE;
    *level_array = rt_mipmap_level(array, level);
    return ST_OK;
}

enum status cu_mipmapped_array_get_sparse_properties(CUDA_ARRAY_SPARSE_PROPERTIES *properties, CUmipmappedArray mipmap)
{
    enum status st = api_check(mipmap, RT_MIPMAP);
    (void)properties;
    return st == ST_OK ? ST_INVALID_VALUE : st;
}

enum status cu_mipmapped_array_get_memory_requirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *requirements, CUmipmappedArray mipmap, CUdevice device)
{
    enum status st = api_check(mipmap, RT_MIPMAP);
    if (st == ST_OK)
        st = api_device(device);
    (void)requirements;
    return st == ST_OK ? ST_INVALID_VALUE : st;
}
