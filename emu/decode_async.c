/* cp and its relatives: to records for emu/async.c, emu/mbarrier.c, emu/bulk.c and emu/tma.c. */
#include "emu/decode_async.h"

#include "emu/isa.h"

struct mem_place decode_place(struct decoder *d, const struct ptx_operand *o, enum ptx_space space, bool store)
{
    struct mem_address a = decode_mem_address(d, o, space);
    return (struct mem_place){ .offset = a.offset, .row = a.row, .site = decode_site(d), .space = (uint8_t)a.space, .form = (uint8_t)a.form, .store = store };
}

/* ---- cp.async ------------------------------------------------------------------------------------------------------------ */

static enum status decode_copy(struct decoder *d, const struct ptx_insn *in)
{
    const struct ptx_operand *o = in->operands;
    unsigned n = in->n_operands - ptx_insn_has(in, PTX_MOD_L2_CACHE_HINT);
    static const struct mem_handlers *const tables[] = { async_copy_base, async_copy_avx2, async_copy_avx512 };
    enum mem_kind kind = o[2].bits == 16 ? MEM_128 : o[2].bits == 8 ? MEM_64 : MEM_32;
    if (o[2].bits != mem_kind_bytes(kind) || (ptx_insn_has(in, PTX_MOD_CG) && o[2].bits != 16))
        return decode_unsupported(d, in, "cp.async copies 4, 8 or 16 bytes, .cg 16");
    struct mem_address to = decode_mem_address(d, &o[0], PTX_SPACE_SHARED), from = decode_mem_address(d, &o[1], PTX_SPACE_GLOBAL);
    uint32_t row = from.form == MEM_FIXED ? 0 : from.row, size = 0, flags = 0, flip = 0;
    if (n > 3 && o[3].kind == PTX_OPERAND_REG && decode_reg_width(d, o[3].index) == 0) {
        size = decode_pred_flip(d, &o[3], &flip);
        flags = ASYNC_IGNORE | (flip ? ASYNC_IGNORE_FLIP : 0);
    } else if (n > 3) {
        size = decode_source(d, &o[3], PTX_U32, 4);
    }
    uint16_t site = decode_site(d);
    struct mem_handlers h = { async_copy_lanes, async_copy_lanes };
    if (row && to.form == MEM_ROW32)
        h = tables[isa_level()][kind - MEM_32];
    struct insn *r = decode_emit(d, h.full, h.masked);
    if (!r)
        return ST_OUT_OF_MEMORY;
    r->a = to.row;
    r->target = (uint32_t)to.offset;
    r->b = row;
    r->imm = (uint64_t)from.offset;
    r->c = size;
    r->site = site;
    r->extra = MEM_EXTRA(kind, 0, MEM_SHARED, to.form, flags);
    return ST_OK;
}

/* Copies are done where they stand (emu/async.h). A timing model still wants to see where a program ends a group, and where it waits. */
static const struct insn *run_group(const struct insn *in, struct warp *w, struct ctx *c)
{
    (void)w, (void)c;
    return in + 1;
}

enum status decode_cp(struct decoder *d, const struct ptx_insn *in)
{
    if (ptx_insn_has(in, PTX_MOD_BULK))
        return decode_cp_bulk(d, in);
    if (ptx_insn_has(in, PTX_MOD_MBARRIER))
        return decode_copies_arrive(d, in);
    if (ptx_insn_has(in, PTX_MOD_COMMIT_GROUP) || ptx_insn_has(in, PTX_MOD_WAIT_GROUP) || ptx_insn_has(in, PTX_MOD_WAIT_ALL))
        return decode_emit(d, run_group, run_group) ? ST_OK : ST_OUT_OF_MEMORY;
    return decode_copy(d, in);
}

/* ---- st.async, red.async ----------------------------------------------------------------------------------------------------- */

enum status decode_async_store(struct decoder *d, const struct ptx_insn *in, bool red)
{
    struct async_store *s = decode_aux(d, sizeof *s);
    if (!s)
        return ST_OUT_OF_MEMORY;
    bool mbarrier = ptx_insn_has(in, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES);
    enum ptx_type type = (enum ptx_type)in->types[0];
    unsigned n = in->vec > 1 ? in->vec : 1, width = decode_type_width(type);
    *s = (struct async_store){ .n = n, .bytes = ptx_type_bytes(type), .has_mbarrier = mbarrier };
    if (red && !(s->combine = decode_combine(d, in, type, !mbarrier)))
        return decode_unsupported(d, in, "no such reduction");
    const struct ptx_operand *o = in->operands, *data = &o[1];
    if (n > 4 || (data->kind == PTX_OPERAND_VEC ? data->count != n : n > 1))
        return decode_unsupported(d, in, "the vector does not have as many elements as the instruction says");
    if (mbarrier && in->n_operands < 3)
        return decode_unsupported(d, in, "an mbarrier is missing");
    enum ptx_space space = mbarrier ? PTX_SPACE_SHARED : PTX_SPACE_GLOBAL;
    s->to = decode_place(d, &o[0], space, true);
    if (mbarrier)
        s->mbarrier = decode_place(d, &o[2], space, true);
    else
        decode_says_ordered(d);
    for (unsigned i = 0; i < n; i++)
        s->rows[i] = decode_source(d, data->kind == PTX_OPERAND_VEC ? decode_element(d, data, i) : data, type, width);
    struct insn *r = decode_emit(d, async_store, async_store);
    if (!r)
        return ST_OUT_OF_MEMORY;
    r->imm = (uintptr_t)s;
    return ST_OK;
}
