/* Matrix products: how long one holds a tensor unit. */
#include <stdio.h>

#include "ptx/isa.h"
#include "timing/code.h"

static uint32_t bits_of(enum ptx_type t)
{
    switch (t) {
    case PTX_B1: return 1;
    case PTX_U2:
    case PTX_S2: return 2;
    case PTX_U4:
    case PTX_S4:
    case PTX_E2M1: return 4;
    default: return 8 * ptx_type_bytes(t);
    }
}

/* Of half-precision products that take as long as one of these factors. Small ones go several at once; of tf32 half as many, of f64 a sixteenth, as GA100 has it. */
static uint64_t as_halves(uint64_t n, enum ptx_type factor)
{
    uint32_t bits = bits_of(factor);
    return factor == PTX_F64 ? 16 * n : factor == PTX_TF32 ? 2 * n : bits < 16 ? (n * bits + 15) / 16 : n;
}

uint32_t tensor_cycles(const struct timing_config *c, const struct ptx_insn *in)
{
    unsigned m = 0, n = 0, k = 0;
    for (unsigned i = 0; i < in->n_mods && !k; i++)
        if (ptx_mod_category((enum ptx_mod)in->mods[i]) == PTX_CAT_SHAPE && sscanf(ptx_mod_text((enum ptx_mod)in->mods[i]), "m%un%uk%u", &m, &n, &k) != 3)
            k = 0;
    if (!k || !c->sass.tensor_rate)
        return 0;
    bool four_warps = in->op == PTX_OP_WGMMA, sums_alone = in->n_types == 2;   /* wmma on halves names only the types of the sums */
    uint64_t products = as_halves((uint64_t)m * n * k, sums_alone ? PTX_F16 : (enum ptx_type)in->types[1]) / (four_warps ? 4 : 1);
    uint64_t cycles = (products + c->sass.tensor_rate - 1) / c->sass.tensor_rate;
    return cycles > UINT16_MAX ? UINT16_MAX : (uint32_t)cycles;
}
