/* multimem: what is done at an address of a multicast object is done on each of its devices. At any other address there is one device, the address's own. */
#include <string.h>

#include "emu/decode_async.h"
#include "emu/decode_mem.h"
#include "emu/decoder.h"
#include "emu/mem_atom.h"
#include "emu/space.h"

enum what { LOAD_REDUCE, STORE, REDUCE };
enum { MOST_BYTES = 32 };

struct multimem {
    struct mem_place place;
    uint8_t what, n, bytes, row_bytes;         /* n elements of so many bytes, in rows of so many a lane */
    uint32_t rows[8];
    atom_span combine;                         /* NULL: stores; loads of types that cannot be combined */
};

static bool combine_all(const struct multimem *x, char *const at[], uint32_t n, char value[MOST_BYTES], struct ctx *c)
{
    unsigned all = (unsigned)x->n * x->bytes;
    switch (x->what) {
    case STORE:
        for (uint32_t k = 0; k < n; k++) memcpy(at[k], value, all);
        return true;
    case REDUCE:
        for (uint32_t k = 0; k < n; k++) x->combine(at[k], value, x->n, c->parallel);
        return true;
    default:
        memcpy(value, at[0], all);
        for (uint32_t k = 1; k < n && x->combine; k++) x->combine(value, at[k], x->n, false);
        return n == 1 || x->combine;
    }
}

static bool run_lane(const struct insn *in, const struct multimem *x, struct warp *w, struct ctx *c, uint32_t l)
{
    unsigned all = (unsigned)x->n * x->bytes;
    uint64_t address = mem_place_address(&x->place, w, l), bases[EMU_REPLICAS];
    char *at[EMU_REPLICAS], value[MOST_BYTES];
    uint32_t n = space_replicas(c->space, address, bases);
    if (!n) bases[n++] = address;
    if (c->event) c->event_address[l] = address;
    for (uint32_t k = 0; k < n; k++)
        if (!(at[k] = mem_span(in, &x->place, w, c, l, bases[k], all, all))) return false;
    for (unsigned i = 0; i < x->n && x->what != LOAD_REDUCE; i++) memcpy(value + i * x->bytes, w->frame + x->rows[i] + l * x->row_bytes, x->bytes);
    if (!combine_all(x, at, n, value, c)) {
        insn_fault(in, w, c, l, ST_NOT_SUPPORTED, "not emulated yet: values of this type on several devices");
        return false;
    }
    for (unsigned i = 0; i < x->n && x->what == LOAD_REDUCE; i++) {
        char *to = w->frame + x->rows[i] + l * x->row_bytes;
        memset(to, 0, x->row_bytes);
        memcpy(to, value + i * x->bytes, x->bytes);
    }
    return true;
}

static const struct insn *run_multimem(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct multimem *x = (const struct multimem *)(uintptr_t)in->imm;
    for (uint32_t m = insn_mask(in, w); m; m &= m - 1)
        if (!run_lane(in, x, w, c, (uint32_t)__builtin_ctz(m))) return NULL;
    if (c->event) {
        c->event->space = PTX_SPACE_GLOBAL;
        c->event->store = x->what != LOAD_REDUCE;
        c->event->bytes = (uint8_t)(x->n * x->bytes);
    }
    return in + 1;
}

enum status decode_multimem(struct decoder *d, const struct ptx_insn *in)
{
    enum what what = ptx_insn_has(in, PTX_MOD_LD_REDUCE) ? LOAD_REDUCE : ptx_insn_has(in, PTX_MOD_ST) ? STORE : REDUCE;
    const struct ptx_operand *mem = &in->operands[what == LOAD_REDUCE ? 1 : 0], *data = &in->operands[what == LOAD_REDUCE ? 0 : 1];
    enum ptx_type type = (enum ptx_type)in->types[in->n_types - 1];
    unsigned n = in->vec > 1 ? in->vec : 1, width = mem_row_bytes(decode_mem_kind(type));
    if (data->kind == PTX_OPERAND_VEC ? data->count != n : n > 1)
        return decode_unsupported(d, in, "the vector does not have as many elements as the instruction says");
    if (ptx_type_bytes(type) * n > MOST_BYTES) return decode_unsupported(d, in, "no access is wider than 32 bytes");
    struct multimem *x = decode_aux(d, sizeof *x);
    if (!x) return ST_OUT_OF_MEMORY;
    *x = (struct multimem){ .what = (uint8_t)what, .n = (uint8_t)n, .bytes = (uint8_t)ptx_type_bytes(type), .row_bytes = (uint8_t)width };
    if (what != STORE) x->combine = decode_combine(d, in, type, true);
    if (what == REDUCE && !x->combine) return decode_unsupported(d, in, "no such reduction");
    if (decode_is_strong(in)) {
        decode_says_can_wait(d);
        decode_says_ordered(d);
    }
    x->place = decode_place(d, mem, PTX_SPACE_GLOBAL, what != LOAD_REDUCE);
    for (unsigned i = 0; i < n; i++) {
        const struct ptx_operand *e = data->kind == PTX_OPERAND_VEC ? decode_element(d, data, i) : data;
        x->rows[i] = what == LOAD_REDUCE ? decode_dest(d, e, width, ptx_type_kind(type) == PTX_KIND_SIGNED) : decode_source(d, e, type, width);
    }
    struct insn *r = decode_emit(d, run_multimem, run_multimem);
    if (!r) return ST_OUT_OF_MEMORY;
    r->imm = (uintptr_t)x;
    return ST_OK;
}
