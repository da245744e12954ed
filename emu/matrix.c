/* ldmatrix and stmatrix: addresses, checked one by one. */
#include "emu/matrix.h"

#include "emu/isa.h"

const struct matrix_table *matrix_handlers(void)
{
    static const struct matrix_table *const tables[] = { &matrix_table_base, &matrix_table_avx2, &matrix_table_avx512 };
    return tables[isa_level()];
}

bool matrix_addresses(const struct insn *in, struct warp *w, struct ctx *c, char *at[WARP_SIZE])
{
    const struct matrix *op = (const struct matrix *)(uintptr_t)in->imm;
    struct insn access = *in;                  /* as mem_resolve wants it */
    access.imm = (uint64_t)op->offset;
    access.site = (uint16_t)in->b;             /* the record's own names the kind of waiting */
    uint32_t lanes = op->n_rows == WARP_SIZE ? FULL_MASK : (1u << op->n_rows) - 1;
    for (unsigned i = 0; i < WARP_SIZE; i++)
        at[i] = NULL;
    return mem_resolve(&access, w, c, lanes & ~w->exited, 16, at);
}
