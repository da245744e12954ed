/* Watchpoints on the simulated GPU. Warps of all SMs issue in turns and what they write may take effect later, so a change is found after the fact, and
 * told of the newest access that can have made it. */
#include <string.h>

#include "runtime/debug/watch.h"

enum { REMEMBERED = 256 };
struct access {
    const struct debug_run *run;
    uint64_t block, address[WARP_SIZE];
    uint32_t warp, mask, bytes;
    bool store, atomic;
    struct site site;
};
static struct access ring[REMEMBERED];         /* newest at ring[(n - 1) % REMEMBERED]; under big */
static size_t n_accesses;

/* What the warp's next instruction accesses, from its address operand. False: it is no plain access. */
static bool access_of(struct debug_run *r, struct emu_cta *cta, uint32_t warp, struct access *a)
{
    struct emu_spot s[EMU_SPOTS];
    struct emu_frame frame;
    if (!emu_warp_spots(cta, warp, s) || !emu_spot_frames(&s[0], &frame, 1))
        return false;
    *a = (struct access){.run = r, .block = emu_cta_index(cta), .warp = warp, .mask = s[0].active, .site = site_of_spot(r, &s[0])};
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
    return true;
}

/* The newest access that may have written there; NULL: none that is remembered. */
static const struct access *writer_of(const struct watch *w)
{
    size_t kept = n_accesses < REMEMBERED ? n_accesses : REMEMBERED;
    for (size_t i = 1; i <= kept; i++) {
        const struct access *a = &ring[(n_accesses - i) % REMEMBERED];
        for (uint32_t l = 0; a->store && l < WARP_SIZE; l++)
            if (a->mask >> l & 1 && a->address[l] < w->address + w->bytes && a->address[l] + a->bytes > w->address)
                return a;
    }
    return NULL;
}

static struct emu_event event_of(const struct access *a)
{
    return (struct emu_event){.mask = a->mask, .bytes = (uint8_t)a->bytes, .store = a->store, .atomic = a->atomic, .address = a->address};
}

static bool changed(struct debug_run *r, struct emu_cta *cta, uint32_t warp, struct breakpoint *b, struct watch_hit *hit)
{
    struct focus f = {.run = r, .cta = cta, .warp = warp};
    struct emu_event e = {.mask = 1};
    const struct access *writer = watch_changed(b->watch) ? writer_of(b->watch) : NULL;
    struct emu_cta *block = writer && writer->run == r ? run_block(r, writer->block) : NULL;
    if (!watch_changed(b->watch))
        return false;
    if (block) {
        f.cta = block;
        f.warp = writer->warp;
        hit->site = writer->site;
        e = event_of(writer);
    }
    return watch_check(b, &f, &e, hit);
}

static bool accesses(struct emu_cta *cta, struct breakpoint *b, const struct access *now, struct watch_hit *hit)
{
    struct focus f = {.run = run_of(cta), .cta = cta, .warp = now->warp};
    struct emu_event e = event_of(now);
    watch_take(b->watch);                      /* changes are not what it asks for */
    hit->site = now->site;
    return watch_check(b, &f, &e, hit);
}

struct breakpoint *watch_issue(struct debug_run *r, struct emu_cta *cta, uint32_t warp, struct watch_hit *hit)
{
    struct access now;
    bool plain = access_of(r, cta, warp, &now);
    struct breakpoint *found = NULL;
    *hit = (struct watch_hit){.site = now.site};
    for (size_t i = 0; i < dbg.breaks.n && !found; i++) {
        struct breakpoint *b = dbg.breaks.at[i];
        if (b->watch && b->enabled && (b->watch->mode == WATCH_CHANGE ? changed(r, cta, warp, b, hit) : plain && accesses(cta, b, &now, hit)))
            found = b;
    }
    if (plain)
        ring[n_accesses++ % REMEMBERED] = now;
    if (found)
        dbg.focus = hit->focus;
    return found;
}
