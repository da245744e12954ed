/* runtime: textures and surfaces. Channel formats, mipmapped arrays, texture and surface objects, and the references that modules declare.
 *
 * Rules are those of runtime.h. Objects are handles of emu/texture.h: numbers, not pointers, and what makes one is remembered with it. Whoever changes or
 * destroys an object or a reference waits for the context's work first, so that no kernel sees it half done. */
#ifndef HEDDLE_RUNTIME_TEXTURE_H
#define HEDDLE_RUNTIME_TEXTURE_H
#include "emu/texture.h"
#include "runtime/runtime.h"

struct rt_mipmap; struct rt_texref;

/* ---- channel formats (runtime/formats.def) ---- */

struct rt_format {
    int cu;                                    /* CUarray_format */
    uint32_t channels, texel_bytes;            /* bytes of a texel, or of a block of 4 x 4 */
    int kind, bits[4];                         /* cudaChannelFormatDesc */
    enum emu_texel texel, normalized;
};
bool rt_format_find(struct rt_format *out, int cu, uint32_t channels);             /* channels: 1, 2 or 4; a fixed format must have just these, or 0 */
bool rt_format_of_desc(struct rt_format *out, int kind, const int bits[4]);
bool rt_format_of_view(struct rt_format *out, int view);                           /* CUresourceViewFormat, not NONE */

/* ---- arrays ---- */

enum { RT_ARRAY_LAYERED = 1, RT_ARRAY_SURFACE = 2, RT_ARRAY_CUBE = 4, RT_ARRAY_GATHER = 8, RT_ARRAY_DEPTH = 16, RT_ARRAY_SPARSE = 64, RT_ARRAY_DEFERRED = 128 };
/* The rows that memory has: texel rows, or rows of blocks. */
uint64_t rt_array_rows(const struct rt_array *a);
uint64_t rt_array_row_bytes(const struct rt_array *a);
uint64_t rt_array_bytes(const struct rt_array *a);
struct rt_context *rt_array_context(const struct rt_array *a);

enum status rt_mipmap_create(struct rt_mipmap **out, struct rt_context *c, const struct rt_array_shape *shape, uint32_t levels, struct error *err) MUST_CHECK;
enum status rt_mipmap_destroy(struct rt_mipmap *m);        /* and its levels */
uint32_t rt_mipmap_levels(const struct rt_mipmap *m);
struct rt_array *rt_mipmap_level(struct rt_mipmap *m, uint32_t level);             /* NULL: no such level */
bool rt_array_is_level(const struct rt_array *a);          /* it goes with its mipmapped array */

/* ---- objects ---- */

enum rt_resource_kind { RT_RESOURCE_ARRAY, RT_RESOURCE_MIPMAP, RT_RESOURCE_LINEAR, RT_RESOURCE_PITCH2D };      /* the numbers of CUresourcetype */
struct rt_resource {
    enum rt_resource_kind kind;
    struct rt_array *array;
    struct rt_mipmap *mipmap;
    uint64_t address;                          /* LINEAR, PITCH2D */
    int format; uint32_t channels;
    uint64_t bytes;                            /* LINEAR */
    uint64_t width, height, pitch;             /* PITCH2D: texels, bytes */
};
enum { RT_TEXTURE_READ_AS_INTEGER = 1, RT_TEXTURE_NORMALIZED = 2, RT_TEXTURE_SRGB = 0x10, RT_TEXTURE_SEAMLESS_CUBE = 0x40 };   /* CU_TRSF_ */
struct rt_sampling { int address[3], filter; uint32_t flags, anisotropy; int mip_filter; float bias, min_lod, max_lod, border[4]; };
struct rt_view { int format; uint64_t width, height, depth; uint32_t first_level, last_level, first_layer, last_layer; };

/* ST_INVALID_VALUE with the reason; ST_NOT_SUPPORTED. view: NULL for none. */
enum status rt_texture_create(uint64_t *handle, struct rt_context *c, const struct rt_resource *r, const struct rt_sampling *s, const struct rt_view *view,
                              struct error *err) MUST_CHECK;
enum status rt_surface_create(uint64_t *handle, struct rt_context *c, const struct rt_resource *r, struct error *err) MUST_CHECK;
enum status rt_texture_destroy(uint64_t handle, enum emu_texture_kind kind);       /* ST_INVALID_VALUE: no such object */
/* What it was made of; any of them may be NULL. has_view: whether there was a view. ST_INVALID_VALUE. */
enum status rt_texture_info(uint64_t handle, enum emu_texture_kind kind, struct rt_resource *r, struct rt_sampling *s, struct rt_view *view, bool *has_view);

/* ---- references: .texref and .surfref variables of modules ---- */

/* The reference object of a module's variable, always the same one. ST_NOT_FOUND. m NULL: one that belongs to no variable (cuTexRefCreate). */
enum status rt_texref_get(struct rt_texref **out, struct rt_module *m, const char *name, enum emu_texture_kind kind, struct error *err) MUST_CHECK;
enum status rt_texref_destroy(struct rt_texref *t);        /* only of one without a variable: ST_INVALID_VALUE */
void rt_texref_state(const struct rt_texref *t, struct rt_resource *r, struct rt_sampling *s, bool *bound);
/* Changes what is given (NULL: stays) and makes it what kernels see from now on. bound false: nothing is bound any more. */
enum status rt_texref_set(struct rt_texref *t, const struct rt_resource *r, const struct rt_sampling *s, bool bound, struct error *err);

#endif
