/* mbarrier: arrivals, transactions, phases, waits. */
#include "emu/mbarrier.h"

#include <stdio.h>
#include <string.h>

#include "emu/cluster.h"
#include "emu/decode_async.h"
#include "emu/decoder.h"

/* ---- the object ---------------------------------------------------------------------------------------------------- */

struct object { uint32_t pending, expected, phase; int32_t tx; bool valid; };

static struct object unpack(uint64_t b)
{
    return (struct object){ .pending = b & MBARRIER_MOST, .expected = b >> 20 & MBARRIER_MOST, .tx = (int32_t)((int64_t)(b << 3) >> 43),
                            .phase = b >> 61 & 3, .valid = b >> 63 };
}

static uint64_t pack(const struct object *o)
{
    return o->pending | (uint64_t)o->expected << 20 | ((uint64_t)(uint32_t)o->tx & 0x1fffffu) << 40 | (uint64_t)(o->phase & 3) << 61 |
           (uint64_t)o->valid << 63;
}

static uint64_t load(const char *at) { uint64_t b; memcpy(&b, at, 8); return b; }
static void store(char *at, uint64_t b) { memcpy(at, &b, 8); }

static const char not_valid[] = "no mbarrier was initialised here (or it was invalidated)";

const struct insn *mbarrier_fault(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lane, const char *why)
{
    return insn_fault(in, w, c, lane, ST_LAUNCH_FAILED, "mbarrier: %s", why);
}

void mbarrier_describe(const char *at, char *buf, size_t n)
{
    struct object o = unpack(load(at));
    if (!o.valid)
        snprintf(buf, n, "%s", not_valid);
    else
        snprintf(buf, n, "phase %u (mod 4) waits for %u of %u arrivals and %d bytes", o.phase, o.pending, o.expected, o.tx);
}

/* ---- waits ----------------------------------------------------------------------------------------------------------- */

/* Record fields of a wait: address as in emu/mem.h; d: predicate; b: row of states (8 bytes a lane) or, WAIT_PARITY, of parities (4 bytes). */
#define WAIT_PARITY (1u << 16)

static bool is_over(const struct insn *in, const char *frame, uint32_t lane, const struct object *o)
{
    if (in->extra & WAIT_PARITY)
        return (o->phase & 1) != (((const uint32_t *)(const void *)(frame + in->b))[lane] & 1);
    return o->phase != unpack(((const uint64_t *)(const void *)(frame + in->b))[lane]).phase;
}

/* Where in the block's own shared memory the wait of a lane looks: it was checked when the wait began. */
static const char *wait_at(const struct emu_cta *cta, const struct insn *in, const char *frame, uint32_t lane)
{
    uint64_t x = in->imm;
    if (MEM_FORM(in->extra) == MEM_ROW64)
        x += ((const uint64_t *)(const void *)(frame + in->a))[lane];
    else if (MEM_FORM(in->extra) == MEM_ROW32)
        x += ((const uint32_t *)(const void *)(frame + in->a))[lane];
    return cta->shared + (x & CLUSTER_MASK);
}

static void set_pred(char *frame, uint32_t at, uint32_t lanes, uint32_t value)
{
    uint32_t *d = (uint32_t *)(void *)(frame + at);
    *d = (*d & ~lanes) | (value & lanes);
}

static void wait_ends(struct emu_cta *cta, struct split *s, uint32_t over)
{
    set_pred(s->act->frame, s->next->d, s->mask, over);
    s->next++;
    s->state = SPLIT_READY;
    cta->mbarrier_waits--;
}

/* A phase of some object of the block is complete. Who waited for it goes on now: later the object may be two phases ahead. */
static void wake(struct emu_cta *cta)
{
    for (uint32_t i = 0; i < cta->n_warps && cta->mbarrier_waits; i++) {
        struct warp_flow *f = cta->warps[i].flow;
        for (uint32_t k = 0; k < f->n; k++) {
            struct split *s = &f->waiting[k];
            uint32_t over = 0;
            for (uint32_t m = s->state == SPLIT_MBARRIER ? s->mask : 0; m; m &= m - 1) {
                uint32_t l = (uint32_t)__builtin_ctz(m);
                struct object o = unpack(load(wait_at(cta, s->next, s->act->frame, l)));
                over |= (uint32_t)is_over(s->next, s->act->frame, l, &o) << l;
            }
            if (over)
                wait_ends(cta, s, over);
        }
    }
}

/* Lets the waits of a warp fail that are `turns` old. Lanes that wait in joins may be what they wait for. */
static bool fail_old(struct emu_cta *cta, struct warp *w, struct ctx *c, unsigned turns)
{
    struct warp_flow *f = w->flow;
    bool any = false;
    for (uint32_t k = 0; k < f->n; k++) {
        struct split *s = &f->waiting[k];
        if (s->state != SPLIT_MBARRIER || s->age++ < turns)
            continue;
        wait_ends(cta, s, 0);
        any = true;
    }
    if (any && c->grid->launch.policy == EMU_ITS)
        flow_release(w);
    return any;
}

void mbarrier_turn(struct emu_cta *cta, struct ctx *c)
{
    enum { TURNS = 8 };                        /* of 8192 warp instructions at most: the time limit of try_wait */
    for (uint32_t i = 0; i < cta->n_warps && cta->mbarrier_waits; i++)
        fail_old(cta, &cta->warps[i], c, TURNS);
}

/* How often all waits of a block may fail in a row. A kernel with strong loads may be waiting for something else as well. */
enum { PATIENCE = 1 << 20, PATIENCE_STRONG = 1 << 24, BUSY_INSNS = 256 /* a warp, between two failures: not just waiting */ };

bool mbarrier_fail_all(struct emu_cta *cta, struct ctx *c)
{
    if (!cta->mbarrier_waits)
        return false;
    if (c->warp_insns - cta->failed_at > (uint64_t)BUSY_INSNS * cta->n_warps)
        cta->failures = 0;
    cta->failed_at = c->warp_insns;
    if (cta->failures++ >= PATIENCE) {
        struct emu_kernel_facts f;
        emu_kernel_facts(c->grid->kernel, &f);
        if (!f.ordered || cta->failures >= PATIENCE_STRONG)
            return false;
    }
    for (uint32_t i = 0; i < cta->n_warps; i++)
        fail_old(cta, &cta->warps[i], c, 0);
    return true;
}

void mbarrier_explain(const struct emu_cta *cta, const struct insn *in, const char *frame, uint32_t mask, char *buf, size_t n)
{
    const char *at = wait_at(cta, in, frame, (uint32_t)__builtin_ctz(mask | 1u << 31));
    char what[120];
    mbarrier_describe(at, what, sizeof what);
    snprintf(buf, n, "mbarrier at shared 0x%x: %s", (unsigned)(at - cta->shared), what);
}

/* ---- changes ----------------------------------------------------------------------------------------------------------- */

/* The block, of this one's cluster, in whose shared memory the object is. */
static struct emu_cta *owner_of(struct ctx *c, const char *at)
{
    const struct cluster *k = c->cta->cluster;
    if ((uintptr_t)at - (uintptr_t)c->shared < c->shared_bytes)
        return c->cta;
    for (uint32_t i = 0; k && i < k->n; i++)
        if ((uintptr_t)at - (uintptr_t)k->cta[i]->shared < k->cta[i]->shared_bytes)
            return k->cta[i];
    return NULL;
}

const char *mbarrier_update(struct ctx *c, char *at, int64_t tx, uint32_t arrivals, uint32_t drops, bool quiet)
{
    struct emu_cta *cta = owner_of(c, at);
    if (!cta)
        return "the address is not in shared memory";
    struct object o = unpack(load(at));
    if (!o.valid)
        return not_valid;
    tx += o.tx;
    if (tx > MBARRIER_MOST || tx < -MBARRIER_MOST)
        return "the bytes it waits for leave the range of 2^20 - 1 either way";
    if (arrivals > o.pending)
        return "more arrivals than the phase waits for";
    if (drops > o.expected)
        return "more dropped arrivals than there are left";
    o.tx = (int32_t)tx;
    o.pending -= arrivals;
    o.expected -= drops;
    bool complete = !o.pending && !o.tx;
    if (complete && quiet)
        return "this arrival is .noComplete, but nothing else is missing to complete the phase";
    if (complete) {
        o.pending = o.expected;
        o.phase++;
    }
    store(at, pack(&o));
    cta->failures = 0;
    if (complete && cta->mbarrier_waits)
        wake(cta);
    return NULL;
}

const char *mbarrier_arrive_for_copies(struct ctx *c, char *at, bool noinc)
{
    if (noinc)
        return mbarrier_update(c, at, 0, 1, 0, false);
    struct object o = unpack(load(at));
    if (!owner_of(c, at))
        return "the address is not in shared memory";
    return !o.valid ? not_valid : o.pending >= MBARRIER_MOST ? "the pending count leaves the range of 2^20 - 1" : NULL;     /* one more, one less */
}

/* ---- handlers ------------------------------------------------------------------------------------------------------------ */

/* Record fields: address as in emu/mem.h; b: row of counts (4 bytes a lane); d: row of states, 0 = not wanted. */
#define ARRIVE_DROP  (1u << 16)
#define ARRIVE_TX    (1u << 17)                /* the count is of bytes expected; one arrival */
#define ARRIVE_QUIET (1u << 18)
#define TX_COMPLETE  (1u << 16)
#define COPIES_NOINC (1u << 16)

typedef const char *(*each_fn)(const struct insn *in, struct ctx *c, char *at, uint32_t count);

/* Does it for one lane after the other. */
static const struct insn *each_lane(const struct insn *in, struct warp *w, struct ctx *c, each_fn fn)
{
    char *at[WARP_SIZE];
    uint32_t mask = insn_mask(in, w);
    if (!mask || !mem_resolve(in, w, c, mask, 8, at))
        return mask ? NULL : in + 1;
    const uint32_t *count = row(w, in->b);
    uint64_t *state = in->d ? row(w, in->d) : NULL;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        uint64_t before = load(at[l]);
        const char *why = fn(in, c, at[l], count[l]);
        if (why)
            return mbarrier_fault(in, w, c, l, why);
        if (state)
            state[l] = before;
    }
    return in + 1;
}

static const char *init_one(const struct insn *in, struct ctx *c, char *at, uint32_t count)
{
    (void)in;
    if (!owner_of(c, at))
        return "the address is not in shared memory";
    if (!count || count > MBARRIER_MOST)
        return "the expected arrivals must be 1 to 2^20 - 1";
    store(at, pack(&(struct object){ .pending = count, .expected = count, .valid = true }));
    return NULL;
}

static const char *inval_one(const struct insn *in, struct ctx *c, char *at, uint32_t count)
{
    (void)in;
    (void)count;
    if (!owner_of(c, at))
        return "the address is not in shared memory";
    if (!unpack(load(at)).valid)
        return not_valid;
    store(at, 0);
    return NULL;
}

static const char *arrive_one(const struct insn *in, struct ctx *c, char *at, uint32_t count)
{
    if (count > MBARRIER_MOST || (!count && !(in->extra & ARRIVE_TX)))
        return "the count must be 1 to 2^20 - 1";
    uint32_t n = in->extra & ARRIVE_TX ? 1 : count;
    return mbarrier_update(c, at, in->extra & ARRIVE_TX ? count : 0, n, in->extra & ARRIVE_DROP ? n : 0, in->extra & ARRIVE_QUIET);
}

static const char *tx_one(const struct insn *in, struct ctx *c, char *at, uint32_t count)
{
    if (count > MBARRIER_MOST)
        return "the bytes must be 0 to 2^20 - 1";
    return mbarrier_update(c, at, in->extra & TX_COMPLETE ? -(int64_t)count : count, 0, 0, false);
}

static const char *copies_one(const struct insn *in, struct ctx *c, char *at, uint32_t count)
{
    (void)count;
    return mbarrier_arrive_for_copies(c, at, in->extra & COPIES_NOINC);
}

#define EACH(name) \
    static const struct insn *run_##name(const struct insn *in, struct warp *w, struct ctx *c) { return each_lane(in, w, c, name##_one); }
EACH(init) EACH(inval) EACH(arrive) EACH(tx) EACH(copies)

static const struct insn *run_pending_count(const struct insn *in, struct warp *w, struct ctx *c)
{
    (void)c;
    uint32_t *d = row(w, in->d);
    const uint64_t *state = row(w, in->a);
    for (uint32_t m = insn_mask(in, w); m; m &= m - 1)
        d[__builtin_ctz(m)] = unpack(state[__builtin_ctz(m)]).pending;
    return in + 1;
}

/* The predicate of lanes, or they wait. Lanes whose waits end differently do not wait at all. */
static const struct insn *run_wait(const struct insn *in, struct warp *w, struct ctx *c)
{
    char *at[WARP_SIZE];
    uint32_t mask = insn_mask(in, w), over = 0;
    flow_charge(in, w, c);
    if (!mask)
        return in + 1;
    if (!mem_resolve(in, w, c, mask, 8, at))
        return NULL;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        struct object o = unpack(load(at[l]));
        const char *why = owner_of(c, at[l]) != c->cta ? "waits need an object in the shared memory of their own block" : !o.valid ? not_valid : NULL;
        if (why)
            return mbarrier_fault(in, w, c, l, why);
        over |= (uint32_t)is_over(in, w->frame, l, &o) << l;
    }
    if (over) {
        set_pred(w->frame, in->d, mask, over);
        return in + 1;
    }
    if (mask != w->mask) {                     /* guarded: the others go on */
        flow_part(in, w, w->mask & ~mask, NULL);
        w->next = in + 1;
        w->state = WARP_RUN;
        return NULL;
    }
    c->cta->mbarrier_waits++;
    return flow_block(w, in, SPLIT_MBARRIER, 0, false);
}

bool mbarrier_may_wait(const struct emu_cta *cta, const struct insn *in, const char *frame, uint32_t mask)
{
    if (in->masked != run_wait)
        return false;
    for (uint32_t m = mask; m; m &= m - 1) {
        size_t at = (size_t)(wait_at(cta, in, frame, (uint32_t)__builtin_ctz(m)) - cta->shared);
        if (at % 8 || at + 8 > cta->shared_bytes)
            return false;
    }
    return true;
}

/* ---- decoding ---------------------------------------------------------------------------------------------------------------- */

static enum status emit(struct decoder *d, handler h, bool control, const struct mem_address *a, uint32_t to, uint32_t operand, uint32_t flags)
{
    struct insn *r = control ? decode_emit_control(d, h, h) : decode_emit(d, h, h);
    if (!r)
        return ST_OUT_OF_MEMORY;
    r->a = a->row;
    r->imm = (uint64_t)a->offset;
    r->d = to;
    r->b = operand;
    r->extra = MEM_EXTRA(MEM_64, 0, a->space, a->form, MEM_STORE | flags);
    return ST_OK;
}

static enum status decode_wait(struct decoder *d, const struct ptx_insn *in)
{
    bool parity = ptx_insn_has(in, PTX_MOD_PARITY);
    struct mem_address a = decode_mem_address(d, &in->operands[1], (enum ptx_space)in->space);
    uint32_t state = parity ? decode_source(d, &in->operands[2], PTX_U32, 4) : decode_source(d, &in->operands[2], PTX_B64, 8);
    uint32_t to = decode_dest_pred(d, &in->operands[0]);
    decode_says_can_wait(d);
    return emit(d, run_wait, true, &a, to, state, parity ? WAIT_PARITY : 0);
}

static enum status decode_arrive(struct decoder *d, const struct ptx_insn *in)
{
    bool dest = in->operands[0].kind != PTX_OPERAND_MEM;
    const struct ptx_operand *o = &in->operands[dest];
    bool tx = ptx_insn_has(in, PTX_MOD_EXPECT_TX), only_tx = !ptx_insn_has(in, PTX_MOD_ARRIVE) && !ptx_insn_has(in, PTX_MOD_ARRIVE_DROP);
    struct mem_address a = decode_mem_address(d, &o[0], (enum ptx_space)in->space);
    uint32_t count = o + 1 < in->operands + in->n_operands ? decode_source(d, &o[1], PTX_U32, 4) : decode_const(d, 1, 4);
    if (only_tx)
        return emit(d, run_tx, false, &a, 0, count, tx ? 0 : TX_COMPLETE);
    uint32_t to = dest && in->operands[0].kind != PTX_OPERAND_SINK ? decode_dest(d, &in->operands[0], 8, false) : 0;
    return emit(d, run_arrive, false, &a, to, count, (ptx_insn_has(in, PTX_MOD_ARRIVE_DROP) ? ARRIVE_DROP : 0) | (tx ? ARRIVE_TX : 0) |
                                                     (ptx_insn_has(in, PTX_MOD_NOCOMPLETE) ? ARRIVE_QUIET : 0));
}

static enum status decode_pending_count(struct decoder *d, const struct ptx_insn *in)
{
    uint32_t state = decode_source(d, &in->operands[1], PTX_B64, 8), to = decode_dest(d, &in->operands[0], 4, false);
    struct insn *r = decode_emit(d, run_pending_count, run_pending_count);
    if (!r)
        return ST_OUT_OF_MEMORY;
    r->a = state;
    r->d = to;
    return ST_OK;
}

enum status decode_mbarrier(struct decoder *d, const struct ptx_insn *in)
{
    if (ptx_insn_has(in, PTX_MOD_PENDING_COUNT))
        return decode_pending_count(d, in);
    if (ptx_insn_has(in, PTX_MOD_TEST_WAIT) || ptx_insn_has(in, PTX_MOD_TRY_WAIT))
        return decode_wait(d, in);
    if (!ptx_insn_has(in, PTX_MOD_INIT) && !ptx_insn_has(in, PTX_MOD_INVAL))
        return decode_arrive(d, in);
    bool init = ptx_insn_has(in, PTX_MOD_INIT);
    struct mem_address a = decode_mem_address(d, &in->operands[0], (enum ptx_space)in->space);
    uint32_t count = init ? decode_source(d, &in->operands[1], PTX_U32, 4) : decode_const(d, 0, 4);
    return emit(d, init ? run_init : run_inval, false, &a, 0, count, 0);
}

enum status decode_copies_arrive(struct decoder *d, const struct ptx_insn *in)
{
    struct mem_address a = decode_mem_address(d, &in->operands[0], (enum ptx_space)in->space);
    return emit(d, run_copies, false, &a, 0, decode_const(d, 1, 4), ptx_insn_has(in, PTX_MOD_NOINC) ? COPIES_NOINC : 0);
}
