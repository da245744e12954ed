/* clusterlaunchcontrol.try_cancel and .query_cancel. */
#include "emu/decode_async.h"
#include "emu/launch_control.h"

static enum status emit(struct decoder *d, handler h, uint32_t dest, uint32_t answer, uint32_t extra)
{
    struct insn *r = decode_emit(d, h, h);
    if (!r) return ST_OUT_OF_MEMORY;
    r->d = dest;
    r->a = answer;
    r->extra = extra;
    return ST_OK;
}

static enum status try_cancel(struct decoder *d, const struct ptx_insn *in)
{
    struct launch_control *k = decode_aux(d, sizeof *k);
    if (!k) return ST_OUT_OF_MEMORY;
    k->to = decode_place(d, &in->operands[0], in->space, true);
    k->mbarrier = decode_place(d, &in->operands[1], in->space, true);
    k->all = ptx_insn_has(in, PTX_MOD_MULTICAST_CLUSTER_ALL);
    decode_says_can_wait(d);                   /* who takes over what must not depend on how blocks are spread over threads */
    decode_says_ordered(d);
    struct insn *r = decode_emit(d, launch_try_cancel, launch_try_cancel);
    if (!r) return ST_OUT_OF_MEMORY;
    r->imm = (uintptr_t)k;
    return ST_OK;
}

/* All three coordinates, and a fourth that means nothing. */
static enum status first_ctaid(struct decoder *d, const struct ptx_insn *in, uint32_t answer)
{
    const struct ptx_operand *o = &in->operands[0];
    if (o->kind != PTX_OPERAND_VEC || o->count != 4) return decode_unsupported(d, in, "the destination must have four elements");
    enum status st = ST_OK;
    for (unsigned k = 0; k < 4 && st == ST_OK; k++) {
        const struct ptx_operand *e = decode_element(d, o, k);
        if (e->kind != PTX_OPERAND_SINK) st = emit(d, launch_first_ctaid, decode_dest(d, e, 4, false), answer, k);
    }
    return st;
}

enum status decode_launch_control(struct decoder *d, const struct ptx_insn *in)
{
    if (ptx_insn_has(in, PTX_MOD_TRY_CANCEL)) return try_cancel(d, in);
    uint32_t answer = decode_source(d, &in->operands[1], PTX_B128, 16);
    if (ptx_insn_has(in, PTX_MOD_IS_CANCELED)) return emit(d, launch_is_canceled, decode_dest_pred(d, &in->operands[0]), answer, 0);
    if (ptx_insn_has(in, PTX_MOD_GET_FIRST_CTAID)) return first_ctaid(d, in, answer);
    uint32_t k = ptx_insn_has(in, PTX_MOD_GET_FIRST_CTAID_Z) ? 2 : ptx_insn_has(in, PTX_MOD_GET_FIRST_CTAID_Y) ? 1 : 0;
    return emit(d, launch_first_ctaid, decode_dest(d, &in->operands[0], 4, false), answer, k);
}
