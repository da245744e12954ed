/* Plain accesses of a warp, as its instruction says them before it is executed: where each lane accesses memory and what it will write; and which lane's
 * value stays where several write to one place. */
#include <string.h>

#include "runtime/debug/watch.h"

static bool read_operand(const struct ptx_operand *o, const struct emu_frame *frame, uint64_t out[WARP_SIZE])
{
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        uint64_t bits[2] = {o->bits, 0};
        if (o->negated || (o->kind != PTX_OPERAND_IMM && (o->kind != PTX_OPERAND_REG || !emu_reg_read(frame, l, (uint32_t)o->index, bits))))
            return false;
        out[l] = bits[0];
    }
    return true;
}

/* What a store writes, and an atomic whose result is one of the lanes' operands. */
static enum access_writes writes_of(struct access *a, const struct ptx_insn *in, const struct emu_frame *frame)
{
    static const enum ptx_mod one_of[] = {PTX_MOD_EXCH, PTX_MOD_MIN, PTX_MOD_MAX, PTX_MOD_CAS};
    unsigned at = in->op == PTX_OP_ATOM ? 2 : 1;
    bool cas = ptx_insn_has(in, PTX_MOD_CAS), known = !a->atomic;
    for (size_t i = 0; i < sizeof one_of / sizeof *one_of; i++)
        known = known || ptx_insn_has(in, one_of[i]);
    if (!a->store || !known || a->bytes > sizeof *a->value || in->vec > 1 || at + cas >= in->n_operands)
        return ACCESS_UNKNOWN;
    if (cas && !read_operand(&in->operands[at], frame, a->compare))
        return ACCESS_UNKNOWN;
    return !read_operand(&in->operands[at + cas], frame, a->value) ? ACCESS_UNKNOWN : cas ? ACCESS_SWAPS : ACCESS_VALUES;
}

bool access_of(struct debug_run *r, struct emu_cta *cta, uint32_t warp, struct access *a)
{
    struct emu_spot s[EMU_SPOTS];
    struct emu_frame frame;
    if (!emu_warp_spots(cta, warp, s) || !emu_spot_frames(&s[0], &frame, 1))
        return false;
    *a = (struct access){.launch = r->launch, .block = emu_cta_index(cta), .warp = warp, .mask = s[0].active, .site = site_of_spot(r, &s[0])};
    const struct ptx_function *f = site_function(&a->site);
    const struct ptx_insn *in = a->site.insn < f->n_insns ? &f->insns[a->site.insn] : NULL;
    bool plain = in && (in->op == PTX_OP_LD || in->op == PTX_OP_ST || in->op == PTX_OP_ATOM || in->op == PTX_OP_RED);
    const struct ptx_operand *o = plain ? &in->operands[in->op == PTX_OP_LD || in->op == PTX_OP_ATOM] : NULL;
    if (!o || o->kind != PTX_OPERAND_MEM || !in->n_types)
        return false;
    a->store = in->op != PTX_OP_LD;
    a->atomic = in->op == PTX_OP_ATOM || in->op == PTX_OP_RED;
    a->bytes = ptx_type_bytes((enum ptx_type)in->types[in->n_types - 1]) * (in->vec ? in->vec : 1);
    uint64_t base = 0, bits[2] = {0, 0};
    enum emu_var_space space = o->sym >= 0 ? emu_var_find(cta, &frame, o->sym, &base) : EMU_VAR_NONE;
    if (in->space == PTX_SPACE_SHARED || space == EMU_VAR_SHARED)
        base += emu_shared_address(cta);
    else if (in->space == PTX_SPACE_LOCAL || space == EMU_VAR_LOCAL)
        base += EMU_LOCAL_WINDOW;
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        if (o->index >= 0 && !emu_reg_read(&frame, l, (uint32_t)o->index, bits))
            return false;
        a->address[l] = base + bits[0] + o->bits;
    }
    a->writes = writes_of(a, in, &frame);
    return true;
}

/* ---- whose value stays ---- */

/* Whether the lane's value is what the bytes of both ranges are now. now: at `address`, n bytes. */
static bool is_value_of(const struct access *a, uint32_t lane, uint64_t address, const char *now, uint64_t n)
{
    const char *value = (const char *)&a->value[lane];
    for (uint64_t i = 0; i < a->bytes; i++) {
        uint64_t at = a->address[lane] + i - address;           /* outside: wraps around, too */
        if (at < n && now[at] != value[i])
            return false;
    }
    return true;
}

bool access_writes_now(const struct access *a, uint32_t lanes, uint64_t address, const char *now, uint64_t n)
{
    bool any = false;
    for (; lanes && a->writes != ACCESS_UNKNOWN; lanes &= lanes - 1)
        any = any || is_value_of(a, (uint32_t)__builtin_ctz(lanes), address, now, n);
    return any;
}

/* Lanes swap one after the other. */
static uint32_t last_swap(const struct access *a, uint32_t lanes, uint64_t address, const char *before, uint64_t n)
{
    uint64_t now[WARP_SIZE];
    uint32_t found = WARP_SIZE;
    for (uint32_t m = lanes; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m), first = l;
        if (a->address[l] < address || a->address[l] - address + a->bytes > n)
            return WARP_SIZE;
        for (uint32_t k = lanes & ((1u << l) - 1); k && first == l; k &= k - 1)         /* who has that place, too */
            first = a->address[__builtin_ctz(k)] == a->address[l] ? (uint32_t)__builtin_ctz(k) : l;
        if (first == l) {
            now[l] = 0;
            memcpy(&now[l], before + (a->address[l] - address), a->bytes);
        }
        if (memcmp(&now[first], &a->compare[l], a->bytes) == 0) {
            now[first] = a->value[l];
            found = l;
        }
    }
    return found;
}

uint32_t access_last(const struct access *a, uint32_t lanes, uint64_t address, const char *before, const char *now, uint64_t n)
{
    uint32_t swapped = a->writes == ACCESS_SWAPS ? last_swap(a, lanes, address, before, n) : WARP_SIZE, changed = 0;
    if (swapped < WARP_SIZE)
        return swapped;
    for (uint32_t m = lanes; m; m &= m - 1)
        for (uint64_t i = 0; i < a->bytes; i++) {
            uint64_t at = a->address[__builtin_ctz(m)] + i - address;
            changed |= at < n && before[at] != now[at] ? m & -m : 0;
        }
    for (uint32_t m = changed ? changed : lanes; m && a->writes != ACCESS_UNKNOWN; m &= ~(1u << (31 - __builtin_clz(m))))
        if (is_value_of(a, 31 - (uint32_t)__builtin_clz(m), address, now, n))
            return 31 - (uint32_t)__builtin_clz(m);
    return 31 - (uint32_t)__builtin_clz(changed ? changed : lanes);
}
