/* Bulk and tensor copies, edits of tensor maps. */
#include "emu/bulk.h"
#include "emu/decode_async.h"
#include "emu/decoder.h"
#include "emu/tma.h"

static enum status emit(struct decoder *d, handler h, const void *what)
{
    struct insn *r = decode_emit(d, h, h);
    if (!r)
        return ST_OUT_OF_MEMORY;
    r->imm = (uintptr_t)what;
    return ST_OK;
}

/* ---- cp.async.bulk, cp.reduce.async.bulk, st.bulk ------------------------------------------------------------------------------ */

static enum status decode_bulk(struct decoder *d, const struct ptx_insn *in)
{
    const struct ptx_operand *o = in->operands;
    bool group = ptx_insn_has(in, PTX_MOD_BULK_GROUP), hint = ptx_insn_has(in, PTX_MOD_L2_CACHE_HINT);
    struct bulk *b = decode_aux(d, sizeof *b);
    if (!b)
        return ST_OUT_OF_MEMORY;
    *b = (struct bulk){ .done = group ? BULK_GROUP : BULK_MBARRIER };
    if (ptx_insn_has(in, PTX_MOD_REDUCE)) {
        enum ptx_type type = (enum ptx_type)in->types[0];
        b->element = ptx_type_bytes(type);
        if (!(b->combine = decode_combine(d, in, type, group)))
            return decode_unsupported(d, in, "no such reduction");
    }
    b->to = decode_place(d, &o[0], group ? PTX_SPACE_GLOBAL : PTX_SPACE_SHARED, true);
    b->from = decode_place(d, &o[1], !group && ptx_insn_has(in, PTX_MOD_GLOBAL) ? PTX_SPACE_GLOBAL : PTX_SPACE_SHARED, false);
    b->size = decode_source(d, &o[2], PTX_U32, 4);
    unsigned n = 3;
    if (!group)
        b->mbarrier = decode_place(d, &o[n++], PTX_SPACE_SHARED, true);
    if (ptx_insn_has(in, PTX_MOD_MULTICAST_CLUSTER))
        b->ctas = decode_source(d, &o[n++], PTX_U16, 4);
    if (ptx_insn_has(in, PTX_MOD_CP_MASK))     /* stands behind the policy */
        b->byte_mask = decode_source(d, &o[n + hint], PTX_U16, 4);
    return emit(d, bulk_copy, b);
}

enum status decode_bulk_zero(struct decoder *d, const struct ptx_insn *in)
{
    struct bulk *b = decode_aux(d, sizeof *b);
    if (!b)
        return ST_OUT_OF_MEMORY;
    if (in->operands[2].bits != 0)
        return decode_unsupported(d, in, "st.bulk stores zeros only");
    *b = (struct bulk){ .to = decode_place(d, &in->operands[0], (enum ptx_space)in->space, true) };
    b->size = decode_source(d, &in->operands[1], PTX_U64, 8);
    return emit(d, bulk_zero, b);
}

/* ---- cp.async.bulk.tensor ---------------------------------------------------------------------------------------------------------- */

static enum tma_mode mode_of(const struct ptx_insn *in)
{
    static const struct { uint16_t mod; uint8_t mode; } modes[] = {
        { PTX_MOD_TILE_GATHER4, TMA_ROWS }, { PTX_MOD_TILE_SCATTER4, TMA_ROWS }, { PTX_MOD_IM2COL, TMA_IM2COL }, { PTX_MOD_IM2COL_NO_OFFS, TMA_IM2COL },
        { PTX_MOD_IM2COL_W, TMA_IM2COL_W }, { PTX_MOD_IM2COL_W_128, TMA_IM2COL_W128 },
    };
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (ptx_insn_has(in, (enum ptx_mod)modes[i].mod))
            return (enum tma_mode)modes[i].mode;
    return TMA_TILE;
}

static unsigned dims_of(const struct ptx_insn *in)
{
    static const uint16_t dims[] = { PTX_MOD_X1D, PTX_MOD_X2D, PTX_MOD_X3D, PTX_MOD_X4D, PTX_MOD_X5D };
    for (unsigned i = 0; i < 5; i++)
        if (ptx_insn_has(in, (enum ptx_mod)dims[i]))
            return i + 1;
    return 0;
}

/* The elements of a vector operand, or the operand alone. -1: too many. */
static int vector_rows(struct decoder *d, const struct ptx_operand *o, uint32_t *rows, unsigned most, enum ptx_type type)
{
    unsigned n = o->kind == PTX_OPERAND_VEC ? o->count : 1;
    if (n > most)
        return -1;
    for (unsigned i = 0; i < n; i++)
        rows[i] = decode_source(d, o->kind == PTX_OPERAND_VEC ? decode_element(d, o, i) : o, type, 4);
    return (int)n;
}

/* [map, {coordinates}] */
static bool map_and_coords(struct decoder *d, const struct ptx_operand *o, struct tma *t)
{
    if (o->kind != PTX_OPERAND_TEXMEM || o->count != 2)
        return false;
    const struct ptx_operand *map = decode_element(d, o, 0);
    t->map = (struct mem_place){ .row = decode_source(d, map, PTX_U64, 8), .site = decode_site(d), .space = MEM_GENERIC, .form = MEM_ROW64 };
    int n = vector_rows(d, decode_element(d, o, 1), t->coords, 5, PTX_S32);
    t->n_coords = (uint8_t)(n < 0 ? 0 : n);
    return n == (t->mode == TMA_ROWS ? 5 : t->dims);
}

static enum status decode_tensor(struct decoder *d, const struct ptx_insn *in)
{
    struct tma *t = decode_aux(d, sizeof *t);
    if (!t)
        return ST_OUT_OF_MEMORY;
    bool load = !ptx_insn_has(in, PTX_MOD_BULK_GROUP);
    const struct ptx_operand *o = in->operands, *map = load ? &o[1] : &o[0];
    *t = (struct tma){ .direction = load ? TMA_LOAD : ptx_insn_has(in, PTX_MOD_REDUCE) ? TMA_REDUCE : TMA_STORE, .mode = (uint8_t)mode_of(in),
                       .dims = (uint8_t)dims_of(in), .pair = ptx_insn_has(in, PTX_MOD_CTA_GROUP_2) };
    if (t->direction == TMA_REDUCE) {
        t->op = (uint8_t)decode_atom_op(in);
        if (t->op == ATOM_ADD || t->op == ATOM_INC || t->op == ATOM_DEC)       /* the map alone knows whether additions commute */
            decode_says_ordered(d);
    }
    if (!map_and_coords(d, map, t))
        return decode_unsupported(d, in, "coordinates do not fit the dimensions");
    t->shared = decode_place(d, load ? &o[0] : &o[1], PTX_SPACE_SHARED, load);
    unsigned n = 2;
    if (load)
        t->mbarrier = decode_place(d, &o[n++], PTX_SPACE_SHARED, true);
    if (load && t->mode >= TMA_IM2COL) {
        int m = n < in->n_operands ? vector_rows(d, &o[n++], t->offsets, 3, PTX_U16) : -1;
        if (m != (t->mode == TMA_IM2COL ? t->dims - 2 : 2))
            return decode_unsupported(d, in, "im2col offsets do not fit the dimensions");
        t->n_offsets = (uint8_t)m;
    }
    if (ptx_insn_has(in, PTX_MOD_MULTICAST_CLUSTER))
        t->ctas = decode_source(d, &o[n], PTX_U16, 4);
    uint16_t site = decode_site(d);
    enum status st = emit(d, tma_copy, t);
    if (st == ST_OK)
        d->out.at[d->out.n - 1].site = site;
    return st;
}

enum status decode_cp_bulk(struct decoder *d, const struct ptx_insn *in)
{
    if (ptx_insn_has(in, PTX_MOD_COMMIT_GROUP) || ptx_insn_has(in, PTX_MOD_WAIT_GROUP) || ptx_insn_has(in, PTX_MOD_PREFETCH))
        return ST_OK;                          /* groups: see emu/async.h; prefetches: nothing that a program can see */
    return ptx_insn_has(in, PTX_MOD_TENSOR) ? decode_tensor(d, in) : decode_bulk(d, in);
}

/* ---- tensormap --------------------------------------------------------------------------------------------------------------------------- */

static const struct { uint16_t mod; uint8_t field, ordinals; } fields[] = {      /* ordinals: how many there are; 0: none is written */
    { PTX_MOD_GLOBAL_ADDRESS, FIELD_GLOBAL_ADDRESS, 0 }, { PTX_MOD_RANK, FIELD_RANK, 0 }, { PTX_MOD_BOX_DIM, FIELD_BOX_DIM, 5 },
    { PTX_MOD_GLOBAL_DIM, FIELD_GLOBAL_DIM, 5 }, { PTX_MOD_GLOBAL_STRIDE, FIELD_GLOBAL_STRIDE, 4 }, { PTX_MOD_ELEMENT_STRIDE, FIELD_ELEMENT_STRIDE, 5 },
    { PTX_MOD_ELEMTYPE, FIELD_ELEMTYPE, 0 }, { PTX_MOD_INTERLEAVE_LAYOUT, FIELD_INTERLEAVE, 0 }, { PTX_MOD_SWIZZLE_MODE, FIELD_SWIZZLE, 0 },
    { PTX_MOD_SWIZZLE_ATOMICITY, FIELD_ATOM, 0 }, { PTX_MOD_FILL_MODE, FIELD_FILL, 0 },
};

static enum status decode_replace(struct decoder *d, const struct ptx_insn *in)
{
    struct tensor_edit *e = decode_aux(d, sizeof *e);
    size_t i = 0, n = sizeof fields / sizeof fields[0];
    if (!e)
        return ST_OUT_OF_MEMORY;
    while (i < n && !ptx_insn_has(in, (enum ptx_mod)fields[i].mod))
        i++;
    if (i == n)
        return decode_unsupported(d, in, "no such field");
    const struct ptx_operand *o = in->operands, *value = &o[fields[i].ordinals ? 2 : 1];
    if (fields[i].ordinals && o[1].bits >= fields[i].ordinals)
        return decode_unsupported(d, in, "no such dimension");
    *e = (struct tensor_edit){ .map = decode_place(d, &o[0], (enum ptx_space)in->space, true), .field = fields[i].field,
                               .ordinal = (uint8_t)(fields[i].ordinals ? o[1].bits : 0) };
    bool wide = in->types[in->n_types - 1] == PTX_B64;
    uint32_t row = wide ? decode_source(d, value, PTX_B64, 8) : 0;
    if (!wide) {
        row = decode_scratch(d, 8);
        decode_convert(d, row, 8, decode_source(d, value, PTX_B32, 4), 4, false);
    }
    enum status st = emit(d, tensor_replace, e);
    if (st == ST_OK)
        d->out.at[d->out.n - 1].b = row;
    return st;
}

enum status decode_tensormap(struct decoder *d, const struct ptx_insn *in)
{
    if (ptx_insn_has(in, PTX_MOD_REPLACE))
        return decode_replace(d, in);
    struct tensor_move *v = decode_aux(d, sizeof *v);
    if (!v)
        return ST_OUT_OF_MEMORY;
    if (in->operands[2].bits != TENSOR_MAP_BYTES)
        return decode_unsupported(d, in, "a tensor map has 128 bytes");
    v->to = decode_place(d, &in->operands[0], PTX_SPACE_GLOBAL, true);
    v->from = decode_place(d, &in->operands[1], PTX_SPACE_SHARED, false);
    return emit(d, tensor_cp, v);
}
