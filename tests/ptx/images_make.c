/* Textures and surfaces of a case through the driver API; see images.h. The structs are those of the public interface, written by hand as in run.c. */
#include <string.h>

#include "tests/ptx/images.h"

typedef int CUresult;
typedef unsigned long long CUdeviceptr;
typedef void *CUarray, *CUmipmappedArray, *CUmodule, *CUtexref, *CUsurfref;

struct array_desc { size_t width, height, depth; int format; unsigned channels, flags; };
struct array_desc_2d { size_t width, height; int format; unsigned channels; };
struct copy {
    size_t src_x, src_y, src_z, src_level; int src_type; const void *src_host; CUdeviceptr src_device; CUarray src_array; void *src_reserved; size_t src_pitch, src_height;
    size_t dst_x, dst_y, dst_z, dst_level; int dst_type; void *dst_host; CUdeviceptr dst_device; CUarray dst_array; void *dst_reserved; size_t dst_pitch, dst_height;
    size_t width, height, depth;
};
struct resource {
    int type;
    union {
        void *array;
        struct { CUdeviceptr at; int format; unsigned channels; size_t bytes; } linear;
        struct { CUdeviceptr at; int format; unsigned channels; size_t width, height, pitch; } pitch;
        int reserved[32];
    } res;
    unsigned flags;
};
struct sampling { int address[3], filter; unsigned flags, anisotropy; int mip_filter; float bias, min, max; uint32_t border[4]; int reserved[12]; };
struct view { int format; size_t width, height, depth; unsigned first_level, last_level, first_layer, last_layer, reserved[16]; };

CUresult cuArray3DCreate_v2(CUarray *array, const struct array_desc *desc);
CUresult cuArrayDestroy(CUarray array);
CUresult cuMipmappedArrayCreate(CUmipmappedArray *array, const struct array_desc *desc, unsigned levels);
CUresult cuMipmappedArrayDestroy(CUmipmappedArray array);
CUresult cuMipmappedArrayGetLevel(CUarray *level, CUmipmappedArray array, unsigned number);
CUresult cuMemcpy3D_v2(const struct copy *copy);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuTexObjectCreate(unsigned long long *object, const struct resource *resource, const struct sampling *sampling, const struct view *view);
CUresult cuTexObjectDestroy(unsigned long long object);
CUresult cuSurfObjectCreate(unsigned long long *object, const struct resource *resource);
CUresult cuSurfObjectDestroy(unsigned long long object);
CUresult cuModuleGetTexRef(CUtexref *ref, CUmodule module, const char *name);
CUresult cuModuleGetSurfRef(CUsurfref *ref, CUmodule module, const char *name);
CUresult cuSurfRefSetArray(CUsurfref ref, CUarray array, unsigned flags);
CUresult cuTexRefSetArray(CUtexref ref, CUarray array, unsigned flags);
CUresult cuTexRefSetMipmappedArray(CUtexref ref, CUmipmappedArray array, unsigned flags);
CUresult cuTexRefSetAddress_v2(size_t *offset, CUtexref ref, CUdeviceptr address, size_t bytes);
CUresult cuTexRefSetAddress2D_v3(CUtexref ref, const struct array_desc_2d *desc, CUdeviceptr address, size_t pitch);
CUresult cuTexRefSetFormat(CUtexref ref, int format, int channels);
CUresult cuTexRefSetAddressMode(CUtexref ref, int dim, int mode);
CUresult cuTexRefSetFilterMode(CUtexref ref, int mode);
CUresult cuTexRefSetMipmapFilterMode(CUtexref ref, int mode);
CUresult cuTexRefSetMipmapLevelBias(CUtexref ref, float bias);
CUresult cuTexRefSetMipmapLevelClamp(CUtexref ref, float min, float max);
CUresult cuTexRefSetBorderColor(CUtexref ref, float *color);
CUresult cuTexRefSetFlags(CUtexref ref, unsigned flags);

enum { HOST = 1, ARRAY = 3, RESOURCE_ARRAY = 0, RESOURCE_MIPMAP = 1, RESOURCE_LINEAR = 2, RESOURCE_PITCH = 3, PITCH_GRAIN = 512 };

/* Remembers the first call that failed. */
#define TRY(call)                          \
    do {                                   \
        if (!e && (e = (call)) != 0)       \
            *what = #call;                 \
    } while (0)

static CUresult copy_level(const struct image *im, unsigned level, CUarray array, uint8_t *host, bool to_array)
{
    unsigned n[3];
    image_level(im, level, n);
    struct copy c = {.width = (size_t)n[0] * im->texel_bytes, .height = n[1], .depth = n[2]};
    if (to_array) {
        c.src_type = HOST, c.src_host = host, c.src_pitch = c.width, c.src_height = n[1];
        c.dst_type = ARRAY, c.dst_array = array;
    } else {
        c.dst_type = HOST, c.dst_host = host, c.dst_pitch = c.width, c.dst_height = n[1];
        c.src_type = ARRAY, c.src_array = array;
    }
    return cuMemcpy3D_v2(&c);
}

static CUresult make_arrays(const struct image *im, struct made *m, struct resource *r, const char **what)
{
    struct array_desc d = {im->width, im->height, im->depth, im->format, im->channels, im->flags};
    uint8_t *data = im->data;
    CUresult e = 0;
    if (im->levels == 1) {
        TRY(cuArray3DCreate_v2(&m->array, &d));
        TRY(copy_level(im, 0, m->array, data, true));
        r->type = RESOURCE_ARRAY;
        r->res.array = m->array;
        return e;
    }
    TRY(cuMipmappedArrayCreate(&m->mipmap, &d, im->levels));
    for (unsigned l = 0; l < im->levels && !e; l++) {
        CUarray level;
        unsigned n[3];
        TRY(cuMipmappedArrayGetLevel(&level, m->mipmap, l));
        TRY(copy_level(im, l, level, data, true));
        image_level(im, l, n);
        data += (size_t)n[0] * n[1] * n[2] * im->texel_bytes;
    }
    r->type = RESOURCE_MIPMAP;
    r->res.array = m->mipmap;
    return e;
}

static CUresult make_memory(const struct image *im, struct made *m, struct resource *r, const char **what)
{
    size_t row = (size_t)im->width * im->texel_bytes, pitch = (row + PITCH_GRAIN - 1) / PITCH_GRAIN * PITCH_GRAIN, rows = im->height ? im->height : 1;
    CUresult e = 0;
    if (im->memory == IMAGE_LINEAR)
        pitch = row;
    TRY(cuMemAlloc_v2(&m->memory, pitch * rows));
    for (size_t y = 0; y < rows && !e; y++)
        TRY(cuMemcpyHtoD_v2(m->memory + y * pitch, im->data + y * row, row));
    r->type = im->memory == IMAGE_LINEAR ? RESOURCE_LINEAR : RESOURCE_PITCH;
    r->res.pitch.at = m->memory;
    r->res.pitch.format = im->format;
    r->res.pitch.channels = im->channels;
    if (im->memory == IMAGE_LINEAR) {
        r->res.linear.bytes = row;
    } else {
        r->res.pitch.width = im->width;
        r->res.pitch.height = im->height;
        r->res.pitch.pitch = pitch;
    }
    return e;
}

static CUresult bind_texture(const struct image *im, CUmodule module, const struct made *m, const struct resource *r, const char **what)
{
    CUtexref t = NULL;
    CUresult e = 0;
    float border[4];
    memcpy(border, im->border, sizeof border);
    TRY(cuModuleGetTexRef(&t, module, im->name));
    TRY(cuTexRefSetFormat(t, im->format, (int)im->channels));
    for (int i = 0; i < 3; i++)
        TRY(cuTexRefSetAddressMode(t, i, im->address[i]));
    TRY(cuTexRefSetFilterMode(t, im->filter));
    TRY(cuTexRefSetFlags(t, im->texture_flags));
    TRY(cuTexRefSetBorderColor(t, border));
    TRY(cuTexRefSetMipmapFilterMode(t, im->mip_filter));
    TRY(cuTexRefSetMipmapLevelBias(t, im->bias));
    TRY(cuTexRefSetMipmapLevelClamp(t, im->min_lod, im->max_lod));
    if (im->memory == IMAGE_LINEAR)
        TRY(cuTexRefSetAddress_v2(NULL, t, m->memory, r->res.linear.bytes));
    else if (im->memory == IMAGE_PITCH)
        TRY(cuTexRefSetAddress2D_v3(t, &(struct array_desc_2d){im->width, im->height, im->format, im->channels}, m->memory, r->res.pitch.pitch));
    else if (m->mipmap)
        TRY(cuTexRefSetMipmappedArray(t, m->mipmap, 1));
    else
        TRY(cuTexRefSetArray(t, m->array, 1));
    return e;
}

static CUresult make_texture(const struct image *im, struct made *m, const struct resource *r, const char **what)
{
    struct sampling s = {.filter = im->filter, .flags = im->texture_flags, .mip_filter = im->mip_filter, .bias = im->bias, .min = im->min_lod, .max = im->max_lod};
    struct view v = {im->view, 4 * (size_t)im->width, 4 * (size_t)im->height, im->depth, 0, 0, 0, 0, {0}};
    CUresult e = 0;
    memcpy(s.address, im->address, sizeof s.address);
    memcpy(s.border, im->border, sizeof s.border);
    TRY(cuTexObjectCreate(&m->handle, r, &s, im->view ? &v : NULL));
    return e;
}

int image_make(const struct image *im, void *module, struct made *m, const char **what)
{
    struct resource r;
    CUsurfref ref = NULL;
    memset(&r, 0, sizeof r);
    memset(m, 0, sizeof *m);
    CUresult e = im->memory == IMAGE_ARRAY ? make_arrays(im, m, &r, what) : make_memory(im, m, &r, what);
    if (e)
        return e;
    if (!im->surface)
        return im->reference ? bind_texture(im, module, m, &r, what) : make_texture(im, m, &r, what);
    if (!im->reference) {
        TRY(cuSurfObjectCreate(&m->handle, &r));
        return e;
    }
    TRY(cuModuleGetSurfRef(&ref, module, im->name));
    TRY(cuSurfRefSetArray(ref, m->array, 0));
    return e;
}

int image_fetch(const struct image *im, const struct made *m, uint8_t *to) { return copy_level(im, 0, m->array, to, false); }

void image_free(const struct image *im, const struct made *m)
{
    if (m->handle && im->surface)
        cuSurfObjectDestroy(m->handle);
    else if (m->handle)
        cuTexObjectDestroy(m->handle);
    if (m->array)
        cuArrayDestroy(m->array);
    if (m->mipmap)
        cuMipmappedArrayDestroy(m->mipmap);
    if (m->memory)
        cuMemFree_v2(m->memory);
}
