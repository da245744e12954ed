/* One instruction of one warp at a time, for timing models, debuggers and traces. The handlers are the run loop's own; c->event makes memory
 * handlers take their exact path, which fills the event. */
#include "emu/debug.h"
#include "emu/flow.h"
#include "emu/mbarrier.h"

enum { PATIENCE = 64, UNLIMITED = 1 << 20 };

static struct ctx *ctx_of(struct emu_worker *w) { return (struct ctx *)(void *)w; }     /* its first member */

static const struct insn *step_record(struct warp *w, struct ctx *c, const struct insn *in)
{
    w->state = WARP_RUN;
    in = w->mask == FULL_MASK ? in->full(in, w, c) : in->masked(in, w, c);
    if (in) w->next = in;
    return in;
}

/* Makes w->next the first record of an instruction: picks a split, passes markers. False: nothing is ready. */
static bool step_ready(struct warp *w, struct ctx *c)
{
    for (;;) {
        if (w->state == WARP_SWITCH && !flow_pick(w)) {
            if (!flow_sync_retry(w, c) && !flow_release(w) && !mbarrier_fail_all(w->cta, c)) return false;
            continue;
        }
        if (w->next->full != run_meet && w->next->full != run_count) return true;
        step_record(w, c, w->next);
    }
}

static enum emu_result ready(struct emu_cta *cta, struct ctx *c, struct warp *w)
{
    if (!cta_bind(cta, c)) return cta_no_memory(c);
    if (w->state == WARP_DONE) return EMU_DONE;
    c->budget = UNLIMITED;
    return step_ready(w, c) ? EMU_YIELD : EMU_BLOCKED;
}

enum emu_result emu_warp_peek(struct emu_cta *cta, struct emu_worker *wk, uint32_t warp, struct emu_next *out)
{
    struct warp *w = &cta->warps[warp];
    enum emu_result r = ready(cta, ctx_of(wk), w);
    if (r == EMU_YIELD)
        *out = (struct emu_next){ w->code->function, w->next->ptx, insn_mask(w->next, w) };
    return r;
}

/* Runs the records of one instruction. */
static enum emu_result step(struct emu_cta *cta, struct ctx *c, uint32_t warp, int64_t budget, struct emu_event *out, const struct insn **first)
{
    struct warp *w = &cta->warps[warp];
    *out = (struct emu_event){ 0 };
    enum emu_result r = ready(cta, c, w);
    if (r != EMU_YIELD) return r;
    if (c->hook && !c->quiet && (debug_every(c) || debug_at_break(w)) && !debug_ask(w, c)) return EMU_BREAK;
    const struct insn *in = w->next;
    const struct code *code = w->code;
    uint32_t ptx = in->ptx;
    *first = in;
    c->event = out;
    c->budget = budget;
    out->function = code->function;
    out->insn = &code->function->insns[ptx];
    out->mask = insn_mask(in, w);
    do in = step_record(w, c, in);
    while (in && w->code == code && in->ptx == ptx);
    c->event = NULL;
    if (!out->lanes) out->lanes = out->mask;
    if (w->state == WARP_FAULT) return EMU_FAULT;
    if (w->state == WARP_YIELD) warp_yield(w, c);
    return w->state == WARP_DONE ? EMU_DONE : EMU_YIELD;
}

enum emu_result emu_warp_step(struct emu_cta *cta, struct emu_worker *wk, uint32_t warp, struct emu_event *out)
{
    const struct insn *first;
    return step(cta, ctx_of(wk), warp, UNLIMITED, out, &first);
}

enum emu_result emu_debug_step(struct emu_cta *cta, struct emu_worker *wk, uint32_t warp, int32_t *patience, struct emu_event *out)
{
    struct ctx *c = ctx_of(wk);
    const struct insn *first;
    if (*patience <= 0) *patience = PATIENCE;
    c->quiet = true;
    c->spun = true;
    enum emu_result r = step(cta, c, warp, *patience, out, &first);
    *patience = (int32_t)c->budget;
    c->quiet = false;
    return r;
}

enum emu_result emu_warp_issue(struct emu_cta *cta, struct emu_worker *wk, uint32_t warp, uint64_t cycle, int32_t *patience, struct emu_event *out,
                               struct emu_pending *pending)
{
    struct ctx *c = ctx_of(wk);
    struct warp *w = &cta->warps[warp];
    if (*patience <= 0) *patience = PATIENCE;
    c->defer = true;
    c->deferred = NULL;
    c->cycle = cycle;
    c->spun = true;                            /* whoever loops may be waiting for lanes in joins */
    const struct insn *first = NULL;
    enum emu_result r = step(cta, c, warp, *patience, out, &first);
    *patience = (int32_t)c->budget;
    c->defer = false;
    if (r == EMU_FAULT && c->hook) c->hook->fault(c->hook->user, wk, cta, warp);
    c->cycle = 0;
    if (c->deferred) {
        const struct insn *in = c->deferred;
        *pending = (struct emu_pending){ cta, first, w->frame, warp, out->mask };    /* from its first record on: what they computed may be gone by then */
        uint32_t ptx = in->ptx;
        while (in->ptx == ptx) in++;
        w->next = in;
    }
    return r;
}

enum emu_result emu_warp_perform(const struct emu_pending *p, struct emu_worker *wk, uint32_t lanes)
{
    struct ctx *c = ctx_of(wk);
    if (!cta_bind(p->cta, c)) return cta_no_memory(c);
    struct warp w = p->cta->warps[p->warp];    /* a copy: the warp itself is elsewhere by now */
    const struct insn *in = p->record;
    uint32_t ptx = in->ptx;
    w.frame = p->frame;
    w.mask = p->mask & lanes;
    c->quiet = true;                           /* the debugger was told when it issued */
    do in = in->masked(in, &w, c);
    while (in && in->ptx == ptx);
    c->quiet = false;
    return in ? EMU_YIELD : EMU_FAULT;
}
