/* Textures and surfaces as kernels see them: descriptors, and the table from which a kernel's handles lead to them.
 *
 * The runtime describes an image in device memory (struct emu_texture) and gets a handle: never 0, below 2^32, good until it is destroyed.
 * A kernel holds a handle in a 64-bit register (bindless), or names a .texref or .surfref variable, whose eight bytes hold the handle of what is
 * bound to it (0: nothing). A handle that names nothing, or the wrong thing, faults where it is used.
 *
 * Sampling (emu/tex_sample.c) follows the CUDA guide's "Texture Fetching". What that leaves open is decided so:
 *   - Coordinates are made texels exactly; a linear filter rounds them to 1/256 texel (1.8 fixed point) first, halves up. NaN counts as 0.
 *   - The weighted sum of texels is taken in double and rounded to f32 once. Texels are f32 values (v / 255 and so on, rounded) before.
 *   - Integer coordinates (.s32) load a texel without the sampler, as the hardware's TLD does: outside the image, or at a level or layer
 *     that is not there, all channels are 0. With float coordinates layers are clamped.
 *   - A cube's face is that of the largest magnitude, of equal ones z before y before x. Filters stay in the face unless it is seamless.
 *   - Level of detail: .level, or log2 of the longer of the two gradients in texels of level 0; nothing given: 0. The bias is added, the sampler's
 *     clamp applied. A point mip filter takes the nearest level, halves up; a linear one blends in 1/256. Anisotropy is filtered like isotropy.
 *   - Channels that a texture lacks read as 0, alpha as 1. Depth compare: 1 where reference <= texel. One sample per texel: other samples read as 0.
 * Surfaces out of bounds with .trap end the kernel with ST_ILLEGAL_ADDRESS.
 *
 * Threads: all of it may be called by any thread; who destroys or changes an entry has waited for the kernels that use it. Errors: struct error. */
#ifndef HEDDLE_EMU_TEXTURE_H
#define HEDDLE_EMU_TEXTURE_H
#include "emu/emu.h"

enum emu_texel {
#define TEXEL(id, ...) EMU_TEXEL_##id,
#include "emu/texel.def"
#undef TEXEL
    EMU_TEXELS
};
enum emu_texel_class { EMU_CLASS_UINT, EMU_CLASS_SINT, EMU_CLASS_FLOAT, EMU_CLASS_UNORM, EMU_CLASS_SNORM };
struct emu_texel_facts { uint8_t bytes, channels, class; uint16_t cl; const char *text; };       /* a row of texel.def */
extern const struct emu_texel_facts emu_texel_facts[EMU_TEXELS];
static inline bool emu_texel_is_block(enum emu_texel t) { return t >= EMU_TEXEL_BC1; }
unsigned emu_texel_bytes(enum emu_texel t, unsigned channels);  /* of a texel; of a block where it is one */

enum emu_address { EMU_ADDRESS_WRAP, EMU_ADDRESS_CLAMP, EMU_ADDRESS_MIRROR, EMU_ADDRESS_BORDER };    /* the order of CUaddress_mode */

struct emu_sampler {
    uint8_t address[3];                        /* enum emu_address; wrap and mirror count as clamp without normalized */
    bool linear, mip_linear, normalized, seamless;
    float bias, min_lod, max_lod;
    uint32_t border[4];                        /* channels as they come out: floats or integers */
};

struct emu_level { uint64_t base, pitch, slice; uint32_t width, height, depth; };    /* bytes; texels, at least 1 */
enum { EMU_LEVELS = 18 };                      /* 131072 texels and down */

enum emu_texture_kind { EMU_TEXTURE, EMU_SURFACE };
struct emu_texture {
    uint8_t kind, texel, channels;             /* enum emu_texture_kind, enum emu_texel */
    bool linear_memory;                        /* a row of texels: point filter, 0 outside */
    bool layered, cube;
    uint8_t n_levels;
    uint32_t width, height, depth, layers;     /* as queries answer them: 0 where the dimension is absent. A cube has layers, 6 a cube */
    struct emu_level level[EMU_LEVELS];
    struct emu_sampler sampler;
    uint64_t lo, hi;                           /* the device memory that all of it lies in: it must be one live range whenever a kernel uses the handle */
    void *owner;                               /* the runtime's, never looked at here */
};

/* t is copied. ST_INVALID_VALUE: a level leaves [lo, hi). ST_OUT_OF_MEMORY: 2^20 - 1 are alive already. */
enum status emu_texture_create(uint64_t *handle, const struct emu_texture *t, struct error *err) MUST_CHECK;
enum status emu_texture_change(uint64_t handle, const struct emu_texture *t, struct error *err) MUST_CHECK;    /* the handle stays; ST_INVALID_HANDLE */
bool emu_texture_destroy(uint64_t handle, enum emu_texture_kind kind);     /* false: no such handle */
/* For checkpoints: the first entry at or behind slot *cursor, which moves on (0 at first); false: no more. And an entry put where it was, its handle kept:
 * ST_INVALID_VALUE: a level leaves its memory, or there is another entry. */
bool emu_texture_next(uint32_t *cursor, uint64_t *handle, struct emu_texture *out);
enum status emu_texture_put(uint64_t handle, const struct emu_texture *t, struct error *err) MUST_CHECK;
bool emu_texture_owner(uint64_t handle, enum emu_texture_kind kind, void **owner);     /* false: no such handle */

#endif
