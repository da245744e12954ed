/* Runtime API up to CUDA 11: texture<> and surface<> variables, which the host knows by the address of its own copy. The copy says how to read. */
#include <string.h>

#include "interpose/cudart.h"
#include "interpose/texture.h"

static enum status find(const void *host, CUtexref *out)
{
    enum status st = host ? cudart_reference(host, EMU_TEXTURE, out) : ST_INVALID_TEXTURE;
    return st == ST_INVALID_SYMBOL || st == ST_NOT_FOUND ? ST_INVALID_TEXTURE : st;
}

/* Takes over what the program's variable says, and binds. */
static enum status bind(const struct textureReference *texref, const CUDA_RESOURCE_DESC *d, bool as_integer)
{
    CUtexref t;
    struct rt_resource r;
    enum status st = find(texref, &t);
    if (st == ST_OK)
        st = api_resource(d, &r);
    if (st != ST_OK)
        return st;
    struct rt_sampling s = {.filter = texref->filter, .anisotropy = texref->anisotropy, .mip_filter = texref->mip_filter, .bias = texref->bias,
                            .min_lod = texref->min_lod, .max_lod = texref->max_lod};
    memcpy(s.address, texref->address, sizeof s.address);
    s.flags = (as_integer ? RT_TEXTURE_READ_AS_INTEGER : 0u) | (texref->normalized ? RT_TEXTURE_NORMALIZED : 0u) | (texref->srgb ? RT_TEXTURE_SRGB : 0u);
    struct error err = {0};
    return api_report(rt_texref_set(t, &r, &s, true, &err), &err);
}

static bool format_of(const struct cudaChannelFormatDesc *d, struct rt_format *f) { return rt_format_of_desc(f, d->f, (const int[4]){d->x, d->y, d->z, d->w}); }

/* The read mode is in the variable's registration alone. */
static bool reads_integer(const struct textureReference *texref) { return !cudart_reference_is_normalized(texref); }

static size_t misalignment(CUdeviceptr address)
{
    struct rt_context *c;
    return api_context(&c) == ST_OK ? address % rt_device_facts(rt_context_device(c))->texture_align_bytes : 0;
}

enum status cuda_bind_texture(size_t *offset, const struct textureReference *texref, CUdeviceptr address, const struct cudaChannelFormatDesc *desc, size_t size)
{
    struct rt_format f;
    struct rt_memory m;
    if (!texref || !desc)
        return ST_INVALID_VALUE;
    if (!format_of(desc, &f))
        return ST_INVALID_CHANNEL_DESCRIPTOR;
    if (!rt_memory_find(address, &m))
        return ST_INVALID_VALUE;
    size_t off = misalignment(address), most = (size_t)(m.base + m.bytes - address);
    if (off && !offset)
        return ST_INVALID_VALUE;
    if (offset)
        *offset = off;
    CUDA_RESOURCE_DESC d = {.type = RT_RESOURCE_LINEAR};           /* the size is often said to be endless */
    d.res.linear.address = address - off;
    d.res.linear.format = f.cu;
    d.res.linear.channels = f.channels;
    d.res.linear.bytes = (size < most ? size : most) + off;
    return bind(texref, &d, reads_integer(texref));
}

enum status cuda_bind_texture_2d(size_t *offset, const struct textureReference *texref, CUdeviceptr address, const struct cudaChannelFormatDesc *desc, size_t width,
                                 size_t height, size_t pitch)
{
    struct rt_format f;
    if (!texref || !desc)
        return ST_INVALID_VALUE;
    if (!format_of(desc, &f))
        return ST_INVALID_CHANNEL_DESCRIPTOR;
    size_t off = misalignment(address);
    if (off && !offset)
        return ST_INVALID_VALUE;
    if (offset)
        *offset = off;
    CUDA_RESOURCE_DESC d = {.type = RT_RESOURCE_PITCH2D};
    d.res.pitch2d.address = address - off;
    d.res.pitch2d.format = f.cu;
    d.res.pitch2d.channels = f.channels;
    d.res.pitch2d.width = width + off / f.texel_bytes;
    d.res.pitch2d.height = height;
    d.res.pitch2d.pitch = pitch;
    return bind(texref, &d, reads_integer(texref));
}

enum status cuda_bind_texture_to_array(const struct textureReference *texref, CUarray array, const struct cudaChannelFormatDesc *desc)
{
    (void)desc;                                /* the array knows */
    if (!texref)
        return ST_INVALID_VALUE;
    CUDA_RESOURCE_DESC d = {.type = RT_RESOURCE_ARRAY};
    d.res.array = array;
    return bind(texref, &d, reads_integer(texref));
}

enum status cuda_bind_texture_to_mipmapped_array(const struct textureReference *texref, CUmipmappedArray array, const struct cudaChannelFormatDesc *desc)
{
    (void)desc;
    if (!texref)
        return ST_INVALID_VALUE;
    CUDA_RESOURCE_DESC d = {.type = RT_RESOURCE_MIPMAP};
    d.res.mipmap = array;
    return bind(texref, &d, reads_integer(texref));
}

enum status cuda_unbind_texture(const struct textureReference *texref)
{
    CUtexref t;
    enum status st = find(texref, &t);
    return st == ST_OK ? rt_texref_set(t, NULL, NULL, false, NULL) : st;
}

enum status cuda_get_texture_reference(const struct textureReference **texref, const void *symbol)
{
    CUtexref t;
    if (!texref)
        return ST_INVALID_VALUE;
    enum status st = find(symbol, &t);
    if (st == ST_OK)
        *texref = symbol;
    return st;
}

enum status cuda_get_texture_alignment_offset(size_t *offset, const struct textureReference *texref)
{
    CUtexref t;
    bool bound;
    if (!offset)
        return ST_INVALID_VALUE;
    enum status st = find(texref, &t);
    if (st != ST_OK)
        return st;
    rt_texref_state(t, NULL, NULL, &bound);
    *offset = 0;                               /* what is bound was aligned, and the offset told, when it was bound */
    return bound ? ST_OK : ST_INVALID_TEXTURE_BINDING;
}

enum status cuda_bind_surface_to_array(const struct surfaceReference *surfref, CUarray array, const struct cudaChannelFormatDesc *desc)
{
    CUsurfref s;
    (void)desc;
    enum status st = surfref ? cudart_reference(surfref, EMU_SURFACE, &s) : ST_INVALID_VALUE;
    if (st != ST_OK)
        return st == ST_INVALID_SYMBOL || st == ST_NOT_FOUND ? ST_INVALID_SURFACE : st;
    return cu_surf_ref_set_array(s, array, 0);
}

enum status cuda_get_surface_reference(const struct surfaceReference **surfref, const void *symbol)
{
    CUsurfref s;
    if (!surfref)
        return ST_INVALID_VALUE;
    enum status st = symbol ? cudart_reference(symbol, EMU_SURFACE, &s) : ST_INVALID_SURFACE;
    if (st == ST_OK)
        *surfref = symbol;
    return st == ST_INVALID_SYMBOL || st == ST_NOT_FOUND ? ST_INVALID_SURFACE : st;
}
