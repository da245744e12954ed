/* tex, tld4, txq, suld, sust, sured, suq: to records for emu/tex.c and emu/surf.c. */
#include "emu/decoder.h"
#include "emu/isa.h"
#include "emu/tex.h"

/* ---- operands ---- */

static const struct { uint16_t mod; uint8_t dims; bool layered, cube, samples; } geometries[] = {
    { PTX_MOD_X1D, 1, false, false, false }, { PTX_MOD_X2D, 2, false, false, false }, { PTX_MOD_X3D, 3, false, false, false },
    { PTX_MOD_A1D, 1, true, false, false }, { PTX_MOD_A2D, 2, true, false, false }, { PTX_MOD_CUBE, 2, false, true, false },
    { PTX_MOD_ACUBE, 2, true, true, false }, { PTX_MOD_X2DMS, 2, false, false, true }, { PTX_MOD_A2DMS, 2, true, false, true },
};

static int geometry_of(const struct ptx_insn *in)
{
    for (size_t i = 0; i < sizeof geometries / sizeof geometries[0]; i++)
        if (ptx_insn_has(in, geometries[i].mod))
            return (int)i;
    return -1;
}

/* A texture, sampler or surface: a register; a variable; a parameter of the kernel, which holds a handle or a variable's address. */
static uint32_t handle_row(struct decoder *d, const struct ptx_operand *o)
{
    struct ptx_operand plain = *o;
    if (o->kind == PTX_OPERAND_MEM) {
        plain.kind = o->index >= 0 ? PTX_OPERAND_REG : o->sym >= 0 ? PTX_OPERAND_SYM : PTX_OPERAND_IMM;
        if (o->index >= 0)
            plain.bits = 0;
    }
    if (plain.kind == PTX_OPERAND_SYM) {
        const struct ptx_var *v = ptx_symbol_var(d->m, d->f, plain.sym);
        if (v && v->space == PTX_SPACE_PARAM && d->f->is_entry)
            return decode_const_row(d, &(struct const_desc){ .kind = CONST_PARAM, .bytes = 8, .bits = v->offset + plain.bits }, 8);
    }
    return decode_source(d, &plain, PTX_U64, 8);
}

/* Element k of a vector, or the operand itself when it is none. */
static const struct ptx_operand *element(const struct decoder *d, const struct ptx_operand *o, unsigned k)
{
    return o->kind == PTX_OPERAND_VEC ? decode_element(d, o, k) : o;
}
static unsigned elements(const struct ptx_operand *o) { return o->kind == PTX_OPERAND_VEC ? o->count : 1; }

static void words(struct decoder *d, const struct ptx_operand *o, unsigned from, unsigned n, enum ptx_type type, uint32_t rows[])
{
    for (unsigned i = 0; i < n; i++)
        rows[i] = decode_source(d, element(d, o, from + i), type, 4);
}

/* ---- tex and tld4 ---- */

/* The parts below answer why an instruction cannot be lowered, or NULL. */
static const uint16_t channel_mods[] = { PTX_MOD_R, PTX_MOD_G, PTX_MOD_B, PTX_MOD_A };

static const char *destinations(struct decoder *d, const struct ptx_insn *in, struct tex_op *op)
{
    const struct ptx_operand *to = &in->operands[0];
    unsigned n = op->result == TEX_HALF_PAIRS ? 2 : 4;
    if (to->kind != PTX_OPERAND_VEC || to->count != n)
        return "the destination does not have as many elements as the instruction says";
    for (unsigned i = 0; i < n; i++)
        op->d[i] = decode_dest(d, decode_element(d, to, i), op->result == TEX_HALVES ? 2 : 4, false);
    if (in->has_pair)
        op->resident = decode_dest_pred(d, &in->operands[1]);
    return NULL;
}

/* [texture, coordinates] or [texture, sampler, coordinates]. */
static const char *address(struct decoder *d, const struct ptx_operand *o, struct tex_op *op)
{
    if (o->kind != PTX_OPERAND_TEXMEM || o->count < 2 || o->count > 3)
        return "an address without coordinates";
    const struct ptx_operand *at = decode_element(d, o, o->count - 1u);
    unsigned lead = (unsigned)op->layered + op->samples, dims = op->cube ? 3 : op->dims;
    if (elements(at) < lead + dims)
        return "fewer coordinates than the texture has dimensions";
    op->texture = handle_row(d, decode_element(d, o, 0));
    if (o->count == 3)
        op->sampler = handle_row(d, decode_element(d, o, 1));
    if (op->layered)
        words(d, at, 0, 1, PTX_U32, &op->layer);
    if (op->samples)
        words(d, at, lead - 1, 1, PTX_U32, &op->sample);
    words(d, at, lead, dims, op->integer ? PTX_S32 : PTX_F32, op->coord);
    return NULL;
}

/* Behind the address: level or two gradients, an offset vector, a reference for a depth compare. The last two are told apart by how many there are and
 * whether they are vectors: an offset of one dimension may be written without braces, and then it has an integer type. */
static const char *rest(struct decoder *d, const struct ptx_insn *in, unsigned k, struct tex_op *op)
{
    if (ptx_insn_has(in, PTX_MOD_LEVEL)) {
        op->lod = TEX_LOD_LEVEL;
        words(d, &in->operands[k++], 0, 1, op->integer ? PTX_S32 : PTX_F32, &op->level);
    } else if (ptx_insn_has(in, PTX_MOD_GRAD)) {
        unsigned n = op->cube ? 3 : op->dims;
        op->lod = TEX_LOD_GRAD;
        if (elements(&in->operands[k]) < n || elements(&in->operands[k + 1]) < n)
            return "fewer gradients than the texture has dimensions";
        words(d, &in->operands[k], 0, n, PTX_F32, op->gradient[0]);
        words(d, &in->operands[k + 1], 0, n, PTX_F32, op->gradient[1]);
        k += 2;
    }
    for (; k < in->n_operands; k++) {
        const struct ptx_operand *o = &in->operands[k];
        bool real = o->kind == PTX_OPERAND_F32 || o->kind == PTX_OPERAND_F64 ||
                    (o->kind == PTX_OPERAND_REG && ptx_type_kind((enum ptx_type)d->f->regs[o->index].type) == PTX_KIND_FLOAT);
        bool offset = o->kind == PTX_OPERAND_VEC || (k + 1u < in->n_operands) || (op->dims == 1 && !real && !op->offset[0]);
        if (offset && elements(o) < op->dims)
            return "fewer offsets than the texture has dimensions";
        if (offset)
            words(d, o, 0, op->dims, PTX_S32, op->offset);
        else
            words(d, o, 0, 1, PTX_F32, &op->reference);
    }
    return NULL;
}

/* What emu/isa_tex.c knows. */
static bool is_plain(const struct tex_op *op)
{
    return op->result == TEX_WORDS && op->lod == TEX_LOD_NONE && !op->cube && !op->samples && !op->sampler && !op->offset[0] && !op->reference;
}

static enum status fetch(struct decoder *d, const struct ptx_insn *in, bool gather)
{
    static const handler plain[ISA_COUNT] = { tex_plain_base, tex_plain_avx2, tex_plain_avx512 };
    struct tex_op op = { 0 }, *keep;
    int g = geometry_of(in);
    enum ptx_type to = in->types[0], from = in->types[in->n_types - 1];
    if (g < 0)
        return decode_unsupported(d, in, "a texture of this shape");
    op.dims = geometries[g].dims;
    op.layered = geometries[g].layered;
    op.cube = geometries[g].cube;
    op.samples = geometries[g].samples;
    op.integer = from == PTX_S32 || op.samples;
    op.result = to == PTX_F16X2 ? TEX_HALF_PAIRS : to == PTX_F16 ? TEX_HALVES : TEX_WORDS;
    for (unsigned i = 0; gather && i < 4; i++)
        if (ptx_insn_has(in, channel_mods[i]))
            op.channel = (uint8_t)i;
    if (op.cube && op.integer)
        return decode_unsupported(d, in, "integer coordinates of a cube");
    if (op.integer && ptx_insn_has(in, PTX_MOD_GRAD))
        return decode_unsupported(d, in, "gradients beside integer coordinates");
    unsigned k = in->has_pair ? 2 : 1;
    const char *why = address(d, &in->operands[k], &op);
    if (!why)
        why = rest(d, in, k + 1, &op);
    if (!why)
        why = destinations(d, in, &op);
    if (why)
        return decode_unsupported(d, in, why);
    if (!(keep = decode_aux(d, sizeof *keep)))
        return ST_OUT_OF_MEMORY;
    *keep = op;
    handler h = gather ? tex_run_gather : is_plain(&op) ? plain[isa_level()] : tex_run;
    struct insn *r = decode_emit(d, h, h);
    if (!r)
        return ST_OUT_OF_MEMORY;
    r->imm = (uintptr_t)keep;
    return ST_OK;
}

enum status decode_tex(struct decoder *d, const struct ptx_insn *in) { return fetch(d, in, false); }
enum status decode_tld4(struct decoder *d, const struct ptx_insn *in) { return fetch(d, in, true); }

/* ---- surfaces ---- */

static const struct { uint16_t mod; uint8_t value; } bounds[] = { { PTX_MOD_TRAP, SURF_TRAP }, { PTX_MOD_CLAMP, SURF_CLAMP }, { PTX_MOD_ZERO, SURF_ZERO } };
static const struct { uint16_t mod; uint8_t value; } reductions[] = {
    { PTX_MOD_ADD, SURF_ADD }, { PTX_MOD_MIN, SURF_MIN }, { PTX_MOD_MAX, SURF_MAX }, { PTX_MOD_AND, SURF_AND }, { PTX_MOD_OR, SURF_OR } };

static const char *surface_place(struct decoder *d, const struct ptx_insn *in, const struct ptx_operand *o, struct surf_op *op)
{
    int g = geometry_of(in);
    if (g < 0 || o->kind != PTX_OPERAND_TEXMEM || o->count != 2)
        return "a surface of this shape";
    const struct ptx_operand *at = decode_element(d, o, 1);
    op->dims = geometries[g].dims;
    op->layered = geometries[g].layered;
    if (elements(at) < (unsigned)op->layered + op->dims)
        return "fewer coordinates than the surface has dimensions";
    op->surface = handle_row(d, decode_element(d, o, 0));
    if (op->layered)
        words(d, at, 0, 1, PTX_U32, &op->layer);
    words(d, at, op->layered, op->dims, PTX_S32, op->coord);
    return NULL;
}

static enum status surface(struct decoder *d, const struct ptx_insn *in, enum surf_action action)
{
    enum ptx_type type = in->types[in->n_types - 1];
    struct surf_op op = { .action = (uint8_t)action, .bytes = (uint8_t)ptx_type_bytes(type), .n = in->vec > 1 ? in->vec : 1,
                          .is_signed = ptx_type_kind(type) == PTX_KIND_SIGNED }, *keep;
    const struct ptx_operand *place = &in->operands[action == SURF_LOAD ? 1 : 0], *data = &in->operands[action == SURF_LOAD ? 0 : 1];
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
        if (ptx_insn_has(in, bounds[i].mod))
            op.bound = bounds[i].value;
    for (size_t i = 0; i < sizeof reductions / sizeof reductions[0]; i++)
        if (ptx_insn_has(in, reductions[i].mod))
            op.reduce = reductions[i].value;
    const char *why = elements(data) != op.n ? "the vector does not have as many elements as the instruction says" : surface_place(d, in, place, &op);
    if (!why && op.n * op.bytes > 16)
        why = "no access of a surface is wider than 16 bytes";
    if (why)
        return decode_unsupported(d, in, why);
    unsigned width = op.bytes < 2 ? 2 : op.bytes;
    for (unsigned i = 0; i < op.n; i++)
        op.data[i] = action == SURF_LOAD ? decode_dest(d, element(d, data, i), width, false) : decode_source(d, element(d, data, i), type, width);
    if (!(keep = decode_aux(d, sizeof *keep)))
        return ST_OUT_OF_MEMORY;
    *keep = op;
    struct insn *r = decode_emit(d, surf_run, surf_run);
    if (!r)
        return ST_OUT_OF_MEMORY;
    r->imm = (uintptr_t)keep;
    return ST_OK;
}

enum status decode_suld(struct decoder *d, const struct ptx_insn *in) { return surface(d, in, SURF_LOAD); }
enum status decode_sust(struct decoder *d, const struct ptx_insn *in)
{
    return surface(d, in, ptx_insn_has(in, PTX_MOD_P) ? SURF_STORE_FORMATTED : SURF_STORE);
}
enum status decode_sured(struct decoder *d, const struct ptx_insn *in)
{
    return surface(d, in, ptx_insn_has(in, PTX_MOD_P) ? SURF_REDUCE_FORMATTED : SURF_REDUCE);
}

/* ---- queries ---- */

enum status decode_txq(struct decoder *d, const struct ptx_insn *in)
{
    static const struct { uint16_t mod; uint8_t query; } queries[] = {
        { PTX_MOD_WIDTH, TEXQ_WIDTH }, { PTX_MOD_HEIGHT, TEXQ_HEIGHT }, { PTX_MOD_DEPTH, TEXQ_DEPTH }, { PTX_MOD_CHANNEL_DATA_TYPE, TEXQ_DATA_TYPE },
        { PTX_MOD_CHANNEL_ORDER, TEXQ_ORDER }, { PTX_MOD_NORMALIZED_COORDS, TEXQ_NORMALIZED }, { PTX_MOD_ARRAY_SIZE, TEXQ_ARRAY_SIZE },
        { PTX_MOD_NUM_MIPMAP_LEVELS, TEXQ_LEVELS }, { PTX_MOD_NUM_SAMPLES, TEXQ_SAMPLES },
        { PTX_MOD_FORCE_UNNORMALIZED_COORDS, TEXQ_FORCE_UNNORMALIZED }, { PTX_MOD_FILTER_MODE, TEXQ_FILTER }, { PTX_MOD_ADDR_MODE_0, TEXQ_ADDRESS_0 },
        { PTX_MOD_ADDR_MODE_1, TEXQ_ADDRESS_1 }, { PTX_MOD_ADDR_MODE_2, TEXQ_ADDRESS_2 }, { PTX_MOD_MEMORY_LAYOUT, TEXQ_MEMORY_LAYOUT } };
    size_t q = 0;
    while (q < sizeof queries / sizeof queries[0] && !ptx_insn_has(in, queries[q].mod))
        q++;
    if (q == sizeof queries / sizeof queries[0])
        return decode_unsupported(d, in, "this query");
    uint32_t handle = handle_row(d, &in->operands[1]), level = 0;
    if (in->n_operands > 2)
        level = decode_source(d, &in->operands[2], PTX_U32, 4);
    uint32_t to = decode_dest(d, &in->operands[0], 4, false);
    struct insn *r = decode_emit(d, tex_run_query, tex_run_query);
    if (!r)
        return ST_OUT_OF_MEMORY;
    r->d = to;
    r->a = handle;
    r->b = level;
    r->extra = queries[q].query;
    r->target = in->op == PTX_OP_SUQ;
    return ST_OK;
}
