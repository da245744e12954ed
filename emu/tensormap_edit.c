/* tensormap.replace, tensormap.cp_fenceproxy. */
#include <string.h>

#include "emu/tma.h"

/* Each writes its field of the map; the map is checked when it is used. */
static void replace(struct tensor_map *m, const struct tensor_edit *e, uint64_t value)
{
    unsigned i = e->ordinal;
    switch ((enum tensor_field)e->field) {
    case FIELD_GLOBAL_ADDRESS: m->address = value; break;
    case FIELD_RANK: m->rank = (uint8_t)(value + 1); break;
    case FIELD_BOX_DIM: m->box[i] = (uint16_t)value; break;
    case FIELD_GLOBAL_DIM: m->last[i] = (uint32_t)value - 1; break;
    case FIELD_GLOBAL_STRIDE: m->stride[i] = value; break;
    case FIELD_ELEMENT_STRIDE: m->step[i] = (uint8_t)value; break;
    case FIELD_ELEMTYPE: m->type = (uint8_t)value; break;
    case FIELD_INTERLEAVE: m->interleave = (uint8_t)value; break;
    case FIELD_SWIZZLE: m->swizzle = (uint8_t)value; break;
    case FIELD_ATOM: m->atom = (uint8_t)value; break;
    case FIELD_FILL: m->fill = (uint8_t)value; break;
    }
}

const struct insn *tensor_replace(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct tensor_edit *e = (const struct tensor_edit *)(uintptr_t)in->imm;
    const uint64_t *value = row(w, in->b);
    for (uint32_t mask = insn_mask(in, w); mask; mask &= mask - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(mask);
        char *at = mem_span(in, &e->map, w, c, l, mem_place_address(&e->map, w, l), TENSOR_MAP_BYTES, TENSOR_MAP_ALIGN);
        struct tensor_map m;
        if (!at)
            return NULL;
        memcpy(&m, at, sizeof m);
        if (m.magic != TENSOR_MAP_MAGIC)
            return insn_fault(in, w, c, l, ST_ILLEGAL_INSTRUCTION, "tensormap.replace: there is no tensor map");
        replace(&m, e, value[l]);
        memcpy(at, &m, sizeof m);
    }
    return in + 1;
}

const struct insn *tensor_cp(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct tensor_move *v = (const struct tensor_move *)(uintptr_t)in->imm;
    for (uint32_t mask = insn_mask(in, w); mask; mask &= mask - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(mask);
        char *from = mem_span(in, &v->from, w, c, l, mem_place_address(&v->from, w, l), TENSOR_MAP_BYTES, TENSOR_MAP_ALIGN);
        char *to = from ? mem_span(in, &v->to, w, c, l, mem_place_address(&v->to, w, l), TENSOR_MAP_BYTES, TENSOR_MAP_ALIGN) : NULL;
        if (!to)
            return NULL;
        memmove(to, from, TENSOR_MAP_BYTES);
    }
    return in + 1;
}
