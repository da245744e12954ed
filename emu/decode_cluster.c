/* mapa, getctarank. The barrier's decoder is with the barrier, emu/cluster_barrier.c. */
#include "emu/cluster.h"
#include "emu/decode.h"

static enum status emit(struct decoder *d, handler h, uint32_t to, uint32_t address, unsigned width, uint32_t rank, bool generic)
{
    struct insn *r = decode_emit(d, h, h);
    if (!r) return ST_OUT_OF_MEMORY;
    r->d = to;
    r->a = address;
    r->b = rank;
    r->extra = width;
    r->imm = generic;
    return ST_OK;
}

static uint32_t address_of(struct decoder *d, const struct ptx_insn *in, unsigned width)
{
    return decode_source(d, &in->operands[1], (enum ptx_type)in->types[0], width);
}

enum status decode_mapa(struct decoder *d, const struct ptx_insn *in)
{
    unsigned width = ptx_type_bytes((enum ptx_type)in->types[0]);
    uint32_t a = address_of(d, in, width), rank = decode_source(d, &in->operands[2], PTX_U32, 4);
    return emit(d, cluster_mapa, decode_dest(d, &in->operands[0], width, false), a, width, rank, in->space == PTX_SPACE_GENERIC);
}

enum status decode_getctarank(struct decoder *d, const struct ptx_insn *in)
{
    unsigned width = ptx_type_bytes((enum ptx_type)in->types[0]);
    uint32_t a = address_of(d, in, width);
    /* The name of a shared variable stands for its shared address, also where the instruction takes generic ones. */
    bool generic = in->space == PTX_SPACE_GENERIC && in->operands[1].kind != PTX_OPERAND_SYM;
    return emit(d, cluster_rank, decode_dest(d, &in->operands[0], 4, false), a, width, 0, generic);
}
