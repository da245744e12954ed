/* Tensor copies: emu/tma.c; tensormap.replace and tensormap.cp_fenceproxy: emu/tensormap_edit.c. Decoded by emu/decode_bulk.c. */
#ifndef HEDDLE_EMU_TMA_H
#define HEDDLE_EMU_TMA_H
#include "emu/async.h"
#include "emu/mem_atom.h"
#include "emu/tensormap.h"

enum tma_direction { TMA_LOAD, TMA_STORE, TMA_REDUCE };
enum tma_mode { TMA_TILE, TMA_ROWS /* tile::gather4, tile::scatter4 */, TMA_IM2COL, TMA_IM2COL_W, TMA_IM2COL_W128 };

/* The record's imm points at one. Rows: 8 bytes a lane for the map's generic address, otherwise 4. */
struct tma {
    struct mem_place map, shared, mbarrier;
    uint8_t direction, mode, dims, n_coords, n_offsets;
    uint8_t op;                                /* enum atom_op, for TMA_REDUCE */
    bool pair;                                 /* .cta_group::2: the mbarrier may be in the other block of the pair */
    uint32_t coords[5], offsets[3];
    uint32_t ctas;                             /* .multicast::cluster: row of the destination blocks; 0 = one copy */
};
const struct insn *tma_copy(const struct insn *in, struct warp *w, struct ctx *c);

enum tensor_field { FIELD_GLOBAL_ADDRESS, FIELD_RANK, FIELD_BOX_DIM, FIELD_GLOBAL_DIM, FIELD_GLOBAL_STRIDE, FIELD_ELEMENT_STRIDE, FIELD_ELEMTYPE,
                    FIELD_INTERLEAVE, FIELD_SWIZZLE, FIELD_ATOM, FIELD_FILL };
/* tensormap.replace. Record: imm points at one; b: row of new values (8 bytes a lane). */
struct tensor_edit { struct mem_place map; uint8_t field, ordinal; };
const struct insn *tensor_replace(const struct insn *in, struct warp *w, struct ctx *c);
/* tensormap.cp_fenceproxy: places of 128 bytes; the lanes of the warp copy the same. */
struct tensor_move { struct mem_place to, from; };
const struct insn *tensor_cp(const struct insn *in, struct warp *w, struct ctx *c);

#endif
