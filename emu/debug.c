/* Breaks and the hook: see emu/debug.h. */
#include "emu/debug.h"

#include <stdatomic.h>
#include <string.h>

#include "emu/decoder.h"

void emu_worker_hook(struct emu_worker *w, const struct emu_hook *hook)
{
    struct ctx *c = (struct ctx *)(void *)w;   /* its first member */
    c->hook = hook;
    c->pass = NULL;
    c->let = false;
}

uint64_t emu_debug_cycle(const struct emu_worker *w) { return ((const struct ctx *)(const void *)w)->cycle; }

/* ---- breaks ---------------------------------------------------------------------------------------------------------- */

static const struct insn *plain_of(const struct insn *in, const struct code *code) { return &code->plain[in - code->insns]; }

/* Whether the hook need not be asked at this break: it was, or there is none to ask. */
static bool passes(const struct insn *in, const struct warp *w, struct ctx *c)
{
    bool told = c->pass == in && c->pass_warp == w;
    if (told) c->pass = NULL;
    return told || c->quiet || !c->hook;
}

static const struct insn *stop_at(const struct insn *in, struct warp *w)
{
    w->next = in;
    w->state = (enum warp_state)WARP_BREAK;
    return NULL;
}

const struct insn *debug_break(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct insn *plain = plain_of(in, w->code);
    if (!passes(in, w, c)) return stop_at(in, w);
    return w->mask == FULL_MASK ? plain->full(in, w, c) : plain->masked(in, w, c);
}

const struct insn *debug_brkpt(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t lanes = insn_mask(in, w);
    if (!passes(in, w, c) && lanes) return stop_at(in, w);
    flow_charge(in, w, c);
    if (lanes && !c->hook) return insn_fault(in, w, c, (uint32_t)__builtin_ctz(lanes), ST_LAUNCH_FAILED, "brkpt: a breakpoint, and no debugger is attached");
    return in + 1;
}

static struct code *code_at(struct emu_kernel *k, uint32_t function)
{
    if (function >= k->image->m->n_functions) return NULL;
    return (struct code *)(uintptr_t)atomic_load(&k->codes[function]);     /* the kernel's own, made in its arena */
}

enum status emu_break_put(struct emu_kernel *k, uint32_t function, uint32_t insn, bool on)
{
    struct code *c = code_at(k, function);
    if (!c || !c->names || insn >= c->function->n_insns) return ST_NOT_FOUND;
    if (!c->plain && on) c->plain = arena_dup(&k->arena, c->insns, c->n_insns * sizeof *c->plain);
    if (!c->plain) return on ? ST_OUT_OF_MEMORY : ST_OK;
    uint32_t at = c->names->first[insn];
    if (c->insns[at].full == debug_brkpt) return ST_OK;
    c->insns[at].full = on ? debug_break : c->plain[at].full;
    c->insns[at].masked = on ? debug_break : c->plain[at].masked;
    return ST_OK;
}

void emu_breaks_clear(struct emu_kernel *k)
{
    for (uint32_t i = 0; i < k->image->m->n_functions; i++) {
        struct code *c = code_at(k, i);
        if (c && c->plain) memcpy(c->insns, c->plain, c->n_insns * sizeof *c->insns);
    }
}

bool emu_kernel_brkpt(const struct emu_kernel *k) { return k->brkpt; }

/* The record at which a break on the next instruction would be: a function's parameters may still be on their way. */
static const struct insn *first_of(const struct insn *in, const struct code *code)
{
    return code->names && in->ptx < code->function->n_insns ? &code->insns[code->names->first[in->ptx]] : in;
}

bool debug_at_break(const struct warp *w)
{
    const struct insn *first = first_of(w->next, w->code);
    return debug_is_break(first) && w->next <= first;
}

bool emu_break_here(const struct emu_cta *cta, uint32_t warp) { return cta->warps[warp].mask && debug_at_break(&cta->warps[warp]); }

/* ---- asking ---------------------------------------------------------------------------------------------------------------- */

bool debug_every(const struct ctx *c) { return atomic_load_explicit(&c->hook->every, memory_order_relaxed); }

void debug_walk(struct warp *w, struct ctx *c)
{
    const struct insn *in = w->next;
    w->state = WARP_RUN;
    while (in) {
        const struct insn *first = first_of(in, w->code);
        if (in == first) {
            if (!c->let) {
                w->next = in;
                w->state = (enum warp_state)WARP_BREAK;
                return;
            }
            c->let = false;
            c->pass = in;
            c->pass_warp = w;
        }
        in = w->mask == FULL_MASK ? in->full(in, w, c) : in->masked(in, w, c);
    }
}

bool debug_ask(struct warp *w, struct ctx *c)
{
    struct emu_cta *cta = c->cta;
    int64_t budget = c->budget;
    bool spun = c->spun, defer = c->defer;
    uint64_t cycle = c->cycle;
    w->state = WARP_RUN;
    c->defer = false;
    bool go = c->hook->fn(c->hook->user, (struct emu_worker *)(void *)c, cta, w->number);
    struct emu_fault fault = c->fault;         /* of a step in between */
    bool bound = cta_bind(cta, c);
    if (w->state == WARP_FAULT) c->fault = fault;
    c->budget = budget;
    c->spun = spun;
    c->defer = defer;
    c->cycle = cycle;
    c->let = w->state == WARP_RUN && debug_every(c);
    c->pass = w->state == WARP_RUN ? first_of(w->next, w->code) : NULL;
    c->pass_warp = w;
    if (!go) c->fault = (struct emu_fault){ .status = ST_LAUNCH_FAILED, .report = "the debugger ended the kernel" };
    return go && bound;
}
