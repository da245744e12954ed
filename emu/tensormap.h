/* Tensor maps: what a CUtensorMap holds, and what cp.async.bulk.tensor reads. Opaque to programs, so the layout is our own; made by
 * cuTensorMapEncode* (interpose/tensormap.c) and changed by tensormap.replace. Values count as the tables of tensormap.replace in the PTX ISA do. */
#ifndef HEDDLE_EMU_TENSORMAP_H
#define HEDDLE_EMU_TENSORMAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tensor_type { TENSOR_U8, TENSOR_U16, TENSOR_U32, TENSOR_S32, TENSOR_U64, TENSOR_S64, TENSOR_F16, TENSOR_F32, TENSOR_F32_FTZ, TENSOR_F64, TENSOR_BF16,
                   TENSOR_TF32, TENSOR_TF32_FTZ, TENSOR_B4X16, TENSOR_B4X16_P64, TENSOR_B6X16_P32 /* stores: b6p2x16 */, TENSOR_TYPES };
enum tensor_interleave { TENSOR_FLAT, TENSOR_INTERLEAVE_16B, TENSOR_INTERLEAVE_32B };
enum tensor_swizzle { TENSOR_SWIZZLE_NONE, TENSOR_SWIZZLE_32B, TENSOR_SWIZZLE_64B, TENSOR_SWIZZLE_128B, TENSOR_SWIZZLE_96B };
enum tensor_atom { TENSOR_ATOM_16B, TENSOR_ATOM_32B, TENSOR_ATOM_32B_FLIP_8B, TENSOR_ATOM_64B };
enum tensor_fill { TENSOR_FILL_ZERO, TENSOR_FILL_NAN };
enum tensor_mode { TENSOR_TILED, TENSOR_IM2COL, TENSOR_IM2COL_WIDE };

enum { TENSOR_MAP_BYTES = 128, TENSOR_MAP_ALIGN = 64, TENSOR_RANK_MOST = 5 };
#define TENSOR_MAP_MAGIC 0x48544d31u           /* what is not a tensor map is noticed */

struct tensor_map {
    uint64_t address;                          /* of the element at coordinates 0 */
    uint64_t stride[4];                        /* bytes from one to the next along dimensions 1 .. rank - 1 */
    uint32_t last[5];                          /* number of elements along each dimension, less one */
    uint32_t magic;
    uint16_t box[5];                           /* tiled: elements along each dimension of the box, 1 .. 256 */
    int16_t lower[3], upper[3];                /* im2col: corners of the bounding box in W, H, D */
    uint16_t channels, pixels;                 /* im2col: elements of a pixel, pixels of a column */
    uint8_t step[5];                           /* element strides, 1 .. 8 */
    uint8_t rank, type, interleave, swizzle, atom, fill, mode;
};
_Static_assert(sizeof(struct tensor_map) <= TENSOR_MAP_BYTES, "a CUtensorMap has 128 bytes");

/* `n` elements take `global` bytes in global memory and `shared` bytes in shared memory: 1 element but for the types that are packed. */
struct tensor_unit { uint8_t n, global, shared; };
struct tensor_unit tensor_unit(enum tensor_type type);
bool tensor_type_is_float(enum tensor_type type);       /* types whose outside elements may be NaN */
unsigned tensor_swizzle_span(enum tensor_swizzle s);    /* bytes of a row of the pattern; 0: none */

/* NULL, or which of the documented rules the map breaks. */
const char *tensor_map_check(const struct tensor_map *m);

/* Where the byte that belongs at shared address `at` is put. */
static inline uint32_t tensor_swizzled(const struct tensor_map *m, uint32_t at)
{
    uint32_t line = at >> 7;                   /* of 128 bytes */
    switch (m->swizzle) {
    case TENSOR_SWIZZLE_32B:
    case TENSOR_SWIZZLE_96B: return at ^ (line & 1) << 4;
    case TENSOR_SWIZZLE_64B: return at ^ (line & 3) << 4;
    case TENSOR_SWIZZLE_128B: break;
    default: return at;
    }
    switch (m->atom) {
    case TENSOR_ATOM_16B: return at ^ (line & 7) << 4;
    case TENSOR_ATOM_32B: return at ^ (line & 3) << 5;
    case TENSOR_ATOM_32B_FLIP_8B: return at ^ (line & 3) << 5 ^ (line & 1) << 3;
    default: return at ^ (line & 1) << 6;
    }
}

#endif
