/* Branches, ends, and instructions that only matter to the flow of control. */
#include "emu/debug.h"
#include "emu/decoder.h"

#include <stdlib.h>

/* ---- handlers ------------------------------------------------------------------------------------------------------ */

const struct insn *run_count(const struct insn *in, struct warp *w, struct ctx *c)
{
    flow_charge(in, w, c);
    return in + 1;
}

const struct insn *run_meet(const struct insn *in, struct warp *w, struct ctx *c)
{
    (void)c;
    return w->join_at == in ? flow_arrive(in, w) : in + 1;
}

static const struct insn *target_of(const struct insn *in) { return in + (int64_t)in->imm; }
static const struct insn *meet_of(const struct insn *in) { return in->extra ? in + (int32_t)in->extra : NULL; }

/* The budget is taken where a loop closes. A loop that may be waiting for another thread (target = 1) pays more: it shall not spin for long
 * while the one it waits for stands still. */
enum { SPIN_PRICE = 256 };

static const struct insn *loop_closes(const struct insn *in, struct warp *w, struct ctx *c, const struct insn *to)
{
    c->budget -= in->charge;
    if (in->target) {
        c->budget -= SPIN_PRICE;
        c->spun = true;
    }
    return c->budget > 0 ? to : flow_yield(w, to);
}

static const struct insn *run_jump(const struct insn *in, struct warp *w, struct ctx *c)
{
    flow_charge(in, w, c);
    return target_of(in);
}

static const struct insn *run_jump_back(const struct insn *in, struct warp *w, struct ctx *c)
{
    flow_charge(in, w, c);
    return loop_closes(in, w, c, target_of(in));
}

static const struct insn *run_branch(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t taken = insn_mask(in, w);
    flow_charge(in, w, c);
    if (!taken) return in + 1;
    if (taken == w->mask) return target_of(in);
    return flow_diverge(in, w, c, taken, target_of(in), meet_of(in));
}

static const struct insn *run_branch_back(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t taken = insn_mask(in, w);
    flow_charge(in, w, c);
    if (!taken) return in + 1;
    if (taken == w->mask) return loop_closes(in, w, c, target_of(in));
    if (in->target) c->spun = true;
    return flow_diverge(in, w, c, taken, target_of(in), meet_of(in));
}

/* Lanes with the index of the first one go; the others come to this record again. */
static const struct insn *run_branch_index(const struct insn *in, struct warp *w, struct ctx *c)
{
    const uint32_t *index = row(w, in->a);
    const int32_t *distance = (const int32_t *)(uintptr_t)in->imm;
    uint32_t active = insn_mask(in, w);
    if (active != w->mask) {                   /* guarded: lanes that do not jump fall through */
        if (!active) {
            flow_charge(in, w, c);
            return in + 1;
        }
        uint32_t stay = w->mask & ~active;
        if (!flow_part(in, w, stay, meet_of(in))) return insn_fault(in, w, c, 0, ST_OUT_OF_MEMORY, "the host has no memory left for control flow");
        flow_charge(in, w, c);
        w->next = in + 1;
        w->state = WARP_RUN;
        return NULL;
    }
    uint32_t first = (uint32_t)__builtin_ctz(active), same = 0;
    for (uint32_t l = 0; l < WARP_SIZE; l++) same |= (uint32_t)(index[l] == index[first]) << l;
    same &= active;
    if (index[first] >= in->target)
        return insn_fault(in, w, c, first, ST_INVALID_PC, "branch target %u of a list of %u", index[first], in->target);
    const struct insn *to = in + distance[index[first]];
    uint32_t was = w->mask;
    if (same != was && !flow_part(in, w, same, meet_of(in)))
        return insn_fault(in, w, c, first, ST_OUT_OF_MEMORY, "the host has no memory left for control flow");
    flow_charge(in, w, c);
    c->budget -= in->charge;
    if (c->budget <= 0) return flow_yield(w, to);
    if (same == was) return to;
    w->next = to;
    w->state = WARP_RUN;
    return NULL;
}

static const struct insn *run_exit(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t lanes = insn_mask(in, w);
    flow_charge(in, w, c);
    return lanes ? flow_exit(in, w, c, lanes) : in + 1;
}

static const struct insn *run_trap(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t lanes = insn_mask(in, w);
    if (!lanes) return in + 1;
    flow_charge(in, w, c);
    return insn_fault(in, w, c, (uint32_t)__builtin_ctz(lanes), ST_LAUNCH_FAILED, "trap");
}

/* Gives the turn to the other splits, warps and CTAs at once. */
static const struct insn *run_sleep(const struct insn *in, struct warp *w, struct ctx *c)
{
    flow_charge(in, w, c);
    c->spun = true;
    if (c->budget > 0) c->budget -= 1024;
    return flow_yield(w, in + 1);
}

static const struct insn *run_nothing_here(const struct insn *in, struct warp *w, struct ctx *c)
{
    (void)w, (void)c;
    return in + 1;
}

/* ---- decoding -------------------------------------------------------------------------------------------------------- */

/* Whether a loop that ends at instruction `at` and starts at `to` has something by which it may wait for other threads. A call may hide anything. */
static bool loop_may_wait(const struct decoder *d, uint32_t to, uint32_t at)
{
    for (uint32_t i = to; i <= at; i++)
        if (d->waits[i] || d->f->insns[i].op == PTX_OP_CALL || d->f->insns[i].op == PTX_OP_NANOSLEEP) return true;
    return false;
}

enum status decode_bra(struct decoder *d, const struct ptx_insn *in)
{
    uint32_t to = d->f->labels[in->operands[0].index].insn;
    if (to == d->index + 1) return ST_OK;      /* the next instruction, for whoever goes there: nobody parts, and no marker stands there */
    bool back = to <= d->index, guarded = in->guard >= 0;
    handler h = guarded ? (back ? run_branch_back : run_branch) : back ? run_jump_back : run_jump;
    struct insn *r = decode_emit_control(d, h, h);
    if (!r) return ST_OUT_OF_MEMORY;
    r->target = back && loop_may_wait(d, to, d->index);
    decode_jump(d, r, to);
    if (guarded) decode_meet(d, r);
    return d->st;
}

static const struct ptx_targets *targets_of(const struct decoder *d, const struct ptx_operand *o, bool calls)
{
    for (uint32_t i = 0; o->kind == PTX_OPERAND_LABEL && i < d->f->n_targets; i++)
        if (d->f->targets[i].at_label == (uint32_t)o->index && d->f->targets[i].calls == calls) return &d->f->targets[i];
    return NULL;
}

enum status decode_brx(struct decoder *d, const struct ptx_insn *in)
{
    const struct ptx_targets *t = targets_of(d, &in->operands[1], false);
    if (!t) return decode_unsupported(d, in, "a list of branch targets that is not in the function");
    uint32_t a = decode_source(d, &in->operands[0], PTX_U32, 4);
    int32_t *distance = decode_aux(d, (t->n + 1) * sizeof *distance);
    struct insn *r = decode_emit_control(d, run_branch_index, run_branch_index);
    if (!r || !distance) return ST_OUT_OF_MEMORY;
    r->a = a;
    r->target = t->n;
    r->imm = (uintptr_t)distance;
    uint32_t at = (uint32_t)(r - d->out.at);
    for (uint32_t i = 0; i < t->n; i++) {
        struct table_fix fix = { &distance[i], at, d->f->labels[t->index[i]].insn };
        if (!vec_push(&d->tables, fix)) return ST_OUT_OF_MEMORY;
    }
    decode_meet(d, r);
    return d->st;
}

enum status decode_exit(struct decoder *d, const struct ptx_insn *in)
{
    (void)in;
    return decode_emit_control(d, run_exit, run_exit) ? ST_OK : ST_OUT_OF_MEMORY;
}

/* The end of the text acts as ret. */
void decode_end(struct decoder *d)
{
    static const struct ptx_insn ret = { .op = PTX_OP_RET, .guard = -1 };
    enum status st = d->f->is_entry ? decode_exit(d, &ret) : decode_ret(d, &ret);
    if (st) d->st = st;
}

enum status decode_trap(struct decoder *d, const struct ptx_insn *in)
{
    handler h = in->op == PTX_OP_BRKPT ? debug_brkpt : run_trap;
    if (in->op == PTX_OP_BRKPT) d->k->brkpt = true;
    return decode_emit_control(d, h, h) ? ST_OK : ST_OUT_OF_MEMORY;
}

enum status decode_nanosleep(struct decoder *d, const struct ptx_insn *in)
{
    (void)in;
    decode_says_can_wait(d);
    return decode_emit_control(d, run_sleep, run_sleep) ? ST_OK : ST_OUT_OF_MEMORY;
}

/* pmevent, griddepcontrol, setmaxnreg: nothing that a program can see. */
enum status decode_nothing(struct decoder *d, const struct ptx_insn *in)
{
    (void)in;
    if (!d->k->image->keep_copies) return ST_OK;
    return decode_emit(d, run_nothing_here, run_nothing_here) ? ST_OK : ST_OUT_OF_MEMORY;
}

/* ---- the stack ---------------------------------------------------------------------------------------------------------- */

static uint32_t *lane_tops(struct warp *w)
{
    struct activation *a = w->flow->act;
    if (a->lane_top) return a->lane_top;
    a->lane_top = malloc(WARP_SIZE * sizeof *a->lane_top);
    for (uint32_t l = 0; a->lane_top && l < WARP_SIZE; l++) a->lane_top[l] = a->local_sp + a->code->local_bytes;
    return a->lane_top;
}

static void set_wide(struct warp *w, const struct insn *in, uint32_t lane, uint32_t value)
{
    if (in->extra == 8) ((uint64_t *)row(w, in->d))[lane] = value;
    else ((uint32_t *)row(w, in->d))[lane] = value;
}

static uint64_t get_wide(const struct warp *w, const struct insn *in, uint32_t lane)
{
    return in->extra == 8 ? ((const uint64_t *)row(w, in->a))[lane] : ((const uint32_t *)row(w, in->a))[lane];
}

static const struct insn *run_alloca(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t m = insn_mask(in, w), align = (uint32_t)in->imm, *top = lane_tops(w);
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        if (!(m >> l & 1)) continue;
        if (!top) return insn_fault(in, w, c, l, ST_OUT_OF_MEMORY, "the host has no memory left for the stack");
        uint64_t size = get_wide(w, in, l), at = ((uint64_t)top[l] + align - 1) & ~(uint64_t)(align - 1);
        if (size > w->local_stride || at + size > w->local_stride)
            return insn_fault(in, w, c, l, ST_HARDWARE_STACK_ERROR, "alloca of %llu bytes overflows the stack; cudaDeviceSetLimit(cudaLimitStackSize, ..) makes it larger",
                              (unsigned long long)size);
        set_wide(w, in, l, (uint32_t)at);
        top[l] = (uint32_t)(at + size);
    }
    return in + 1;
}

static const struct insn *run_stacksave(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t m = insn_mask(in, w), *top = lane_tops(w);
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        if (!(m >> l & 1)) continue;
        if (!top) return insn_fault(in, w, c, l, ST_OUT_OF_MEMORY, "the host has no memory left for the stack");
        set_wide(w, in, l, top[l]);
    }
    return in + 1;
}

static const struct insn *run_stackrestore(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t m = insn_mask(in, w), *top = lane_tops(w);
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        if (!(m >> l & 1)) continue;
        if (!top) return insn_fault(in, w, c, l, ST_OUT_OF_MEMORY, "the host has no memory left for the stack");
        uint64_t to = get_wide(w, in, l);
        if (to < w->local_sp || to > w->local_stride) return insn_fault(in, w, c, l, ST_HARDWARE_STACK_ERROR, "stackrestore to %llu, which stacksave did not give", (unsigned long long)to);
        top[l] = (uint32_t)to;
    }
    return in + 1;
}

enum status decode_stack(struct decoder *d, const struct ptx_insn *in)
{
    unsigned width = ptx_type_bytes((enum ptx_type)in->types[0]);
    decode_says_stacks(d);
    bool takes = in->op == PTX_OP_ALLOCA, gives = in->op == PTX_OP_STACKRESTORE;
    uint32_t a = takes || gives ? decode_source(d, &in->operands[takes ? 1 : 0], (enum ptx_type)in->types[0], width) : FRAME_TRUE;
    uint32_t to = gives ? FRAME_TRUE : decode_dest(d, &in->operands[0], width, false);
    handler h = takes ? run_alloca : gives ? run_stackrestore : run_stacksave;
    struct insn *r = decode_emit(d, h, h);
    if (!r) return ST_OUT_OF_MEMORY;
    r->a = a;
    r->d = to;
    r->extra = width;
    r->imm = takes && in->n_operands > 2 && in->operands[2].bits ? in->operands[2].bits : 8;
    return d->st;
}
