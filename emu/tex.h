/* Textures inside the engine: the table's entries, sampling, and what a tex, tld4, txq, suld, sust, sured or suq record points at. */
#ifndef HEDDLE_EMU_TEX_H
#define HEDDLE_EMU_TEX_H
#include "emu/engine.h"
#include "emu/texel.h"
#include "emu/texture.h"

/* ---- the table: emu/texture.c ---- */

struct texture {                               /* an entry */
    struct emu_texture d;
    uint32_t handle;
    uint32_t texel_bytes;                      /* of a block, when it is blocks */
    texel_load load;                           /* NULL: blocks */
    bool filters;                              /* its texels are floats */
    uint64_t checked;                          /* generation of the space at which its memory was last seen to be there */
};
/* NULL: no such handle. */
const struct texture *texture_find(uint64_t handle);
/* False: some of its memory was freed or never was there. */
bool texture_alive(const struct texture *t, const struct ctx *c);
/* The first address from the texture's first on that is no device memory, or one behind the texture's last when all is there. */
uint64_t texture_reach(const struct texture *t, const struct ctx *c);

/* ---- sampling: emu/tex_sample.c ---- */

struct tex_place {                             /* where a lane samples */
    double x[3];                               /* as the kernel gives them, or of the cube's face */
    uint32_t slice;                            /* layer, face */
    int32_t offset[3];                         /* texels */
    double lod;
    bool compare;
    float reference;
};
enum { TEX_MAX_DIMS = 3 };
/* dims: 1 to 3, coordinates beside the slice. */
void tex_sample(const struct texture *t, const struct emu_sampler *s, unsigned dims, const struct tex_place *q, uint32_t out[4]);
/* One channel of the four texels of a linear filter's footprint in two dimensions: counter-clockwise from the lower left. */
void tex_gather(const struct texture *t, const struct emu_sampler *s, unsigned channel, const struct tex_place *q, uint32_t out[4]);
/* One texel, without a sampler; zeros outside. */
void tex_texel(const struct texture *t, const int64_t at[3], uint64_t slice, int64_t level, uint32_t out[4]);
/* Direction to face and coordinates 0 to 1 in it. minor: the derivatives of the direction become those of the coordinates, or NULL. */
unsigned tex_cube_face(const float direction[3], double x[2], const float *const gradient[2], double scaled[2][3]);
/* Where the texel lies that a point filter takes (of the level that lod chooses), or of its block; 0: outside of the image. For who looks at accesses. */
uint64_t tex_sample_address(const struct texture *t, const struct emu_sampler *s, unsigned dims, const struct tex_place *q);
uint64_t tex_texel_address(const struct texture *t, const int64_t at[3], uint64_t slice, int64_t level);
/* log2 of the longer gradient, both in texels of level 0. */
double tex_gradient_lod(const struct texture *t, const struct emu_sampler *s, unsigned dims, double gradient[2][3]);

/* ---- records: emu/decode_tex.c, emu/tex.c, emu/surf.c ---- */

enum tex_result { TEX_WORDS, TEX_HALVES, TEX_HALF_PAIRS };
enum tex_lod { TEX_LOD_NONE, TEX_LOD_LEVEL, TEX_LOD_GRAD };
enum { TEX_NO_ROW = 0 };                       /* offset 0 of a frame is the mask that is always true: no row */
struct tex_op {
    uint32_t texture, sampler;                 /* rows of 8 bytes a lane; sampler TEX_NO_ROW: the texture's own */
    uint8_t dims;                              /* coordinates without layer and sample */
    bool layered, cube, samples, integer;      /* integer: .s32 coordinates */
    uint8_t result, lod, channel;              /* enum tex_result, enum tex_lod; tld4: channel */
    uint32_t layer, sample, coord[3], level, gradient[2][3], offset[3], reference;     /* rows of 4 bytes a lane, or TEX_NO_ROW */
    uint32_t d[4], resident;                   /* resident: a mask, or TEX_NO_ROW */
};
const struct insn *tex_run(const struct insn *in, struct warp *w, struct ctx *c);       /* imm points at a struct tex_op */
/* The same for what is most common, many lanes at a time: emu/isa_tex.c, one for each ISA level. */
const struct insn *tex_plain_base(const struct insn *in, struct warp *w, struct ctx *c);
const struct insn *tex_plain_avx2(const struct insn *in, struct warp *w, struct ctx *c);
const struct insn *tex_plain_avx512(const struct insn *in, struct warp *w, struct ctx *c);
const struct insn *tex_run_gather(const struct insn *in, struct warp *w, struct ctx *c);

enum tex_query { TEXQ_WIDTH, TEXQ_HEIGHT, TEXQ_DEPTH, TEXQ_DATA_TYPE, TEXQ_ORDER, TEXQ_NORMALIZED, TEXQ_ARRAY_SIZE, TEXQ_LEVELS, TEXQ_SAMPLES,
                 TEXQ_FORCE_UNNORMALIZED, TEXQ_FILTER, TEXQ_ADDRESS_0, TEXQ_ADDRESS_1, TEXQ_ADDRESS_2, TEXQ_MEMORY_LAYOUT };
const struct insn *tex_run_query(const struct insn *in, struct warp *w, struct ctx *c); /* d, a: handles; b: level or TEX_NO_ROW; extra: enum tex_query;
                                                                                            target: 1 for suq */

enum surf_action { SURF_LOAD, SURF_STORE, SURF_STORE_FORMATTED, SURF_REDUCE, SURF_REDUCE_FORMATTED };
enum surf_bound { SURF_TRAP, SURF_CLAMP, SURF_ZERO };
enum surf_reduce { SURF_ADD, SURF_MIN, SURF_MAX, SURF_AND, SURF_OR };
struct surf_op {
    uint32_t surface;                          /* row of 8 bytes a lane */
    uint8_t action, bound, reduce;
    uint8_t dims, bytes, n;                    /* bytes of an element, number of elements */
    bool layered, is_signed;
    uint32_t layer, coord[3];                  /* rows of 4 bytes a lane */
    uint32_t data[4];                          /* rows of 2, 4 or 8 bytes a lane */
};
const struct insn *surf_run(const struct insn *in, struct warp *w, struct ctx *c);      /* imm points at a struct surf_op */

/* What handle means as the record executes in lane: a handle, or the address of a variable that holds one. NULL: faulted. */
const struct texture *tex_resolve(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lane, uint64_t handle, enum emu_texture_kind kind);

#endif
