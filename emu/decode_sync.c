/* Cooperation: barriers of the CTA, and instructions in which the lanes of a warp see each other.
 *
 * A `.sync` instruction names its members. When the running split holds all of them that have not exited, it executes at once. Otherwise the split waits, and the
 * last one to come executes for all: values are gathered from the splits, each of which may be at another instruction and in another frame, and
 * every split gets its results by its own record. */
#include "emu/decoder.h"
#include "emu/whole.h"

#include <string.h>

struct lanes_in { uint32_t value[WARP_SIZE]; uint32_t high[WARP_SIZE]; uint32_t mask; };   /* what the members bring: words, or a predicate in mask */

struct sync_op {
    /* Puts what lanes of frame bring into `all`. */
    void (*gather)(const struct insn *in, const char *frame, uint32_t lanes, struct lanes_in *all);
    /* Gives the lanes their results. members: all who take part. */
    void (*give)(const struct insn *in, char *frame, uint32_t lanes, uint32_t members, const struct lanes_in *all);
};

/* Record fields: d, target: destinations (second one 0 = none); a: value; b, c: shfl operands; extra: operation; guard as always.
 * imm: low half offset of the member mask row (0 = all active lanes), high half: flip of a predicate source. */
static uint32_t members_row(const struct insn *in) { return (uint32_t)in->imm; }
static uint32_t source_flip(const struct insn *in) { return (uint32_t)(in->imm >> 32); }

static uint32_t *words(char *frame, uint32_t off) { return (uint32_t *)(void *)(frame + off); }
static const uint32_t *cwords(const char *frame, uint32_t off) { return (const uint32_t *)(const void *)(frame + off); }

static void set_mask(char *frame, uint32_t off, uint32_t lanes, uint32_t value)
{
    uint32_t *d = words(frame, off);
    *d = (*d & ~lanes) | (value & lanes);
}

#define EACH_LANE(l, m) for (uint32_t l = 0; l < WARP_SIZE; l++) if ((m) >> l & 1)

static void set_words(char *frame, uint32_t off, uint32_t lanes, uint32_t value)
{
    uint32_t *d = words(frame, off);
    EACH_LANE(l, lanes) d[l] = value;
}

/* ---- what each brings ---- */

static void gather_none(const struct insn *in, const char *frame, uint32_t lanes, struct lanes_in *all) { (void)in, (void)frame, (void)lanes, (void)all; }

static void gather_pred(const struct insn *in, const char *frame, uint32_t lanes, struct lanes_in *all)
{
    all->mask = (all->mask & ~lanes) | ((*cwords(frame, in->a) ^ source_flip(in)) & lanes);
}

static void gather_word(const struct insn *in, const char *frame, uint32_t lanes, struct lanes_in *all)
{
    const uint32_t *a = cwords(frame, in->a);
    if (lanes == FULL_MASK) memcpy(all->value, a, sizeof all->value);
    else EACH_LANE(l, lanes) all->value[l] = a[l];
}

static void gather_wide(const struct insn *in, const char *frame, uint32_t lanes, struct lanes_in *all)
{
    const uint32_t *a = cwords(frame, in->a);
    EACH_LANE(l, lanes) {
        all->value[l] = a[2 * l];
        all->high[l] = a[2 * l + 1];
    }
}

/* ---- vote ---- */

enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };

static void give_vote(const struct insn *in, char *frame, uint32_t lanes, uint32_t members, const struct lanes_in *all)
{
    uint32_t yes = all->mask & members;
    switch (in->extra) {
    case VOTE_ALL: set_mask(frame, in->d, lanes, yes == members ? FULL_MASK : 0); break;
    case VOTE_ANY: set_mask(frame, in->d, lanes, yes ? FULL_MASK : 0); break;
    case VOTE_UNI: set_mask(frame, in->d, lanes, yes == members || !yes ? FULL_MASK : 0); break;
    default: set_words(frame, in->d, lanes, yes); break;
    }
}

/* ---- match ---- */

enum { MATCH_ANY, MATCH_ALL };

static void give_match(const struct insn *in, char *frame, uint32_t lanes, uint32_t members, const struct lanes_in *all)
{
    uint32_t same_as[WARP_SIZE] = { 0 };
    for (uint32_t left = members; left;) {
        uint32_t f = (uint32_t)__builtin_ctz(left), same = 0;
        EACH_LANE(l, left) if (all->value[l] == all->value[f] && all->high[l] == all->high[f]) same |= 1u << l;
        EACH_LANE(l, same) same_as[l] = same;
        left &= ~same;
    }
    uint32_t *d = words(frame, in->d);
    if (in->extra == MATCH_ANY) {
        EACH_LANE(l, lanes) d[l] = same_as[l];
        return;
    }
    bool one = members && same_as[__builtin_ctz(members)] == members;
    set_words(frame, in->d, lanes, one ? members : 0);
    if (in->target) set_mask(frame, in->target, lanes, one ? FULL_MASK : 0);
}

/* ---- shfl ---- */

enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };

static inline __attribute__((always_inline)) uint32_t shfl_lanes(unsigned mode, const uint32_t *b, const uint32_t *c, const uint32_t *value, uint32_t *result)
{
    uint32_t in_range = 0;
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        int32_t lane = (int32_t)(b[l] & 31), clamp = (int32_t)(c[l] & 31), segment = (int32_t)(c[l] >> 8 & 31), self = (int32_t)l;
        int32_t most = (self & segment) | (clamp & ~segment), least = self & segment;
        int32_t j = mode == SHFL_UP ? self - lane : mode == SHFL_DOWN ? self + lane : mode == SHFL_BFLY ? self ^ lane : least | (lane & ~segment);
        bool ok = mode == SHFL_UP ? j >= most : j <= most;
        result[l] = value[(ok ? j : self) & 31];
        in_range |= (uint32_t)ok << l;
    }
    return in_range;
}

static void give_shfl(const struct insn *in, char *frame, uint32_t lanes, uint32_t members, const struct lanes_in *all)
{
    const uint32_t *b = cwords(frame, in->b), *c = cwords(frame, in->c);
    uint32_t *d = words(frame, in->d), in_range, result[WARP_SIZE];
    (void)members;
    switch (in->extra) {
    case SHFL_UP: in_range = shfl_lanes(SHFL_UP, b, c, all->value, result); break;
    case SHFL_DOWN: in_range = shfl_lanes(SHFL_DOWN, b, c, all->value, result); break;
    case SHFL_BFLY: in_range = shfl_lanes(SHFL_BFLY, b, c, all->value, result); break;
    default: in_range = shfl_lanes(SHFL_IDX, b, c, all->value, result); break;
    }
    if (lanes == FULL_MASK) memcpy(d, result, sizeof result);
    else EACH_LANE(l, lanes) d[l] = result[l];
    if (in->target) set_mask(frame, in->target, lanes, in_range);
}

/* ---- redux ---- */

enum { REDUX_ADD, REDUX_AND, REDUX_OR, REDUX_XOR, REDUX_MIN_S, REDUX_MAX_S, REDUX_MIN_U, REDUX_MAX_U, REDUX_MIN_F, REDUX_MAX_F, REDUX_ABS = 16, REDUX_NAN = 32 };

static uint32_t redux_float(uint32_t x, uint32_t y, bool max, bool nan)
{
    float a, b;
    memcpy(&a, &x, 4);
    memcpy(&b, &y, 4);
    if (a != a || b != b) return nan || (a != a && b != b) ? 0x7fffffff : a != a ? y : x;
    if (a == b) return max ? (x & y) : (x | y);    /* only zeros of different sign differ */
    return (a < b) != max ? x : y;
}

static uint32_t redux2(uint32_t op, uint32_t x, uint32_t y)
{
    switch (op & 15) {
    case REDUX_ADD: return x + y;
    case REDUX_AND: return x & y;
    case REDUX_OR: return x | y;
    case REDUX_XOR: return x ^ y;
    case REDUX_MIN_S: return (int32_t)x < (int32_t)y ? x : y;
    case REDUX_MAX_S: return (int32_t)x > (int32_t)y ? x : y;
    case REDUX_MIN_U: return x < y ? x : y;
    case REDUX_MAX_U: return x > y ? x : y;
    default: return redux_float(x, y, (op & 15) == REDUX_MAX_F, op & REDUX_NAN);
    }
}

static void give_redux(const struct insn *in, char *frame, uint32_t lanes, uint32_t members, const struct lanes_in *all)
{
    uint32_t clear = in->extra & REDUX_ABS ? 0x80000000u : 0, first = (uint32_t)__builtin_ctz(members), r = all->value[first] & ~clear;
    for (uint32_t m = members & (members - 1); m; m &= m - 1) r = redux2(in->extra, r, all->value[__builtin_ctz(m)] & ~clear);
    set_words(frame, in->d, lanes, r);
}

/* ---- elect, bar.warp.sync ---- */

static void give_elect(const struct insn *in, char *frame, uint32_t lanes, uint32_t members, const struct lanes_in *all)
{
    (void)all;
    uint32_t leader = (uint32_t)__builtin_ctz(members);
    set_words(frame, in->d, lanes, leader);
    if (in->target) set_mask(frame, in->target, lanes, 1u << leader);
}

static void give_nothing(const struct insn *in, char *frame, uint32_t lanes, uint32_t members, const struct lanes_in *all) { (void)in, (void)frame, (void)lanes, (void)members, (void)all; }

enum { SYNC_VOTE, SYNC_MATCH, SYNC_MATCH_WIDE, SYNC_SHFL, SYNC_REDUX, SYNC_ELECT, SYNC_WARP, SYNC_WHOLE };
static const struct sync_op sync_ops[] = {
    [SYNC_VOTE] = { gather_pred, give_vote },     [SYNC_MATCH] = { gather_word, give_match }, [SYNC_MATCH_WIDE] = { gather_wide, give_match },
    [SYNC_SHFL] = { gather_word, give_shfl },     [SYNC_REDUX] = { gather_word, give_redux }, [SYNC_ELECT] = { gather_none, give_elect },
    [SYNC_WARP] = { gather_none, give_nothing },  [SYNC_WHOLE] = { gather_none, give_nothing },
};

/* ---- meeting ------------------------------------------------------------------------------------------------------------ */

static const struct sync_op *op_of(const struct insn *in) { return &sync_ops[in->site]; }

/* Executes for the splits of one member mask that wait, and for the running lanes when in is not NULL. */
static void complete(struct warp *w, uint32_t members, const struct insn *in, uint32_t running)
{
    struct warp_flow *f = w->flow;
    struct lanes_in all;
    memset(&all, 0, sizeof all);
    if (in) op_of(in)->gather(in, w->frame, running, &all);
    uint32_t present = running;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct split *s = &f->waiting[i];
        if (s->state != SPLIT_SYNC || s->sync_mask != members) continue;
        op_of(s->next)->gather(s->next, s->act->frame, s->mask, &all);
        present |= s->mask;
    }
    if (in) op_of(in)->give(in, w->frame, running, present, &all);
    for (uint32_t i = 0; i < f->n; i++) {
        struct split *s = &f->waiting[i];
        if (s->state != SPLIT_SYNC || s->sync_mask != members) continue;
        op_of(s->next)->give(s->next, s->act->frame, s->mask, present, &all);
        s->next++;
        s->state = SPLIT_READY;
    }
}

static uint32_t waiting_for(const struct warp *w, uint32_t members)
{
    uint32_t m = 0;
    for (uint32_t i = 0; i < w->flow->n; i++)
        if (w->flow->waiting[i].state == SPLIT_SYNC && w->flow->waiting[i].sync_mask == members) m |= w->flow->waiting[i].mask;
    return m;
}

bool flow_sync_retry(struct warp *w, struct ctx *c)
{
    (void)c;
    bool any = false;
    for (uint32_t i = 0; i < w->flow->n; i++) {
        const struct split *s = &w->flow->waiting[i];
        if (s->state != SPLIT_SYNC || (s->sync_mask & ~w->exited & ~waiting_for(w, s->sync_mask))) continue;
        if (s->next->site == SYNC_WHOLE) w->flow->waiting[i].state = SPLIT_READY;      /* it will find the others there */
        else complete(w, s->sync_mask, NULL, 0);
        any = true;
    }
    return any;
}

static uint32_t lanes_naming(const uint32_t *named, uint32_t lanes, uint32_t members)
{
    uint32_t m = 0;
    for (uint32_t left = lanes; left; left &= left - 1)
        if (named[__builtin_ctz(left)] == members) m |= left & -left;
    return m;
}

/* Lanes that run together may name different members (a labelled partition of the warp): each group acts by itself. False, and nothing
 * done, when a group is not complete here. */
static bool run_groups(const struct insn *in, struct warp *w, uint32_t m)
{
    const uint32_t *named = cwords(w->frame, members_row(in));
    uint32_t group;
    for (uint32_t left = m; left; left &= ~group) {
        uint32_t members = named[__builtin_ctz(left)];
        group = lanes_naming(named, left, members);
        if (members & ~w->exited & ~group) return false;
    }
    for (uint32_t left = m; left; left &= ~group) {
        struct lanes_in here;
        memset(&here, 0, sizeof here);
        group = lanes_naming(named, left, named[__builtin_ctz(left)]);
        op_of(in)->gather(in, w->frame, group, &here);
        op_of(in)->give(in, w->frame, group, group, &here);
    }
    return true;
}

static const struct insn *run_sync(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t m = insn_mask(in, w);
    (void)c;
    if (!m) return in + 1;
    if (!members_row(in)) {                    /* the old forms: whoever is here */
        struct lanes_in here;
        here.mask = 0;
        memset(here.high, 0, sizeof here.high);
        op_of(in)->gather(in, w->frame, m, &here);
        op_of(in)->give(in, w->frame, m, m, &here);
        return in + 1;
    }
    uint32_t members = cwords(w->frame, members_row(in))[__builtin_ctz(m)];
    uint32_t missing = members & ~w->exited & ~m;
    if (m & ~members) {
        uint32_t same = lanes_naming(cwords(w->frame, members_row(in)), m, members);
        if (run_groups(in, w, m)) return in + 1;
        if (same != w->mask) {                 /* some group waits for lanes that are elsewhere: each waits for its own */
            flow_part(in, w, same, NULL);
            w->next = in;
            w->state = WARP_RUN;
            return NULL;
        }
    }
    if (!missing) {
        struct lanes_in here;
        here.mask = 0;
        if (in->site == SYNC_MATCH) memset(here.high, 0, sizeof here.high);
        if (m != FULL_MASK) memset(here.value, 0, sizeof here.value);
        op_of(in)->gather(in, w->frame, m, &here);
        op_of(in)->give(in, w->frame, m, m, &here);
        return in + 1;
    }
    if (m != w->mask) {                        /* guarded: the lanes that do not take part go on, the others wait */
        flow_part(in, w, w->mask & ~m, NULL);
        w->next = in + 1;
        w->state = WARP_RUN;
        return NULL;
    }
    if (missing & ~waiting_for(w, members)) return flow_block(w, in, SPLIT_SYNC, members, false);
    complete(w, members, in, m);
    return in + 1;
}

/* ---- aligned instructions ---------------------------------------------------------------------------------------------------- */

const struct insn *run_whole(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t m = insn_mask(in, w), missing = ~w->exited & ~m;
    if (!m) return in + 1;
    if (m != w->mask) {                        /* guarded: the lanes that do not take part go on, the others wait */
        flow_part(in, w, w->mask & ~m, NULL);
        w->next = in + 1;
        w->state = WARP_RUN;
        return NULL;
    }
    for (uint32_t i = 0; i < w->flow->n && missing; i++) {
        const struct split *s = &w->flow->waiting[i];
        if (s->state == SPLIT_SYNC && s->next == in && s->act == w->flow->act) missing &= ~s->mask;
    }
    if (missing) return flow_block(w, in, SPLIT_SYNC, FULL_MASK, false);
    if (w->flow->n) complete(w, FULL_MASK, in, m);
    return ((const struct whole *)(uintptr_t)in->imm)->run(in, w, c);
}

struct insn *decode_emit_whole(struct decoder *d, struct whole *work, handler full)
{
    struct insn *r = decode_emit(d, full, run_whole);
    if (!r) {
        d->st = ST_OUT_OF_MEMORY;
        return NULL;
    }
    r->site = SYNC_WHOLE;
    r->imm = (uintptr_t)work;
    return r;
}

static struct insn *emit_sync(struct decoder *d, unsigned op, uint32_t to, uint32_t a, const struct ptx_operand *members, uint32_t flip)
{
    uint32_t row_ = members ? decode_source(d, members, PTX_B32, 4) : 0;
    struct insn *r = decode_emit(d, run_sync, run_sync);
    if (!r) {
        d->st = ST_OUT_OF_MEMORY;
        return NULL;
    }
    r->site = (uint16_t)op;
    r->d = to;
    r->a = a;
    r->imm = row_ | (uint64_t)flip << 32;
    return r;
}

/* ---- decoding ------------------------------------------------------------------------------------------------------------ */

static unsigned index_of(const struct ptx_insn *in, const uint16_t *mods, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (ptx_insn_has(in, (enum ptx_mod)mods[i])) return i;
    return 0;
}

enum status decode_vote(struct decoder *d, const struct ptx_insn *in)
{
    static const uint16_t ops[] = { PTX_MOD_ALL, PTX_MOD_ANY, PTX_MOD_UNI, PTX_MOD_BALLOT };
    unsigned op = index_of(in, ops, 4);
    uint32_t flip, a = decode_pred_flip(d, &in->operands[1], &flip);
    uint32_t to = op == VOTE_BALLOT ? decode_dest(d, &in->operands[0], 4, false) : decode_dest_pred(d, &in->operands[0]);
    struct insn *r = emit_sync(d, SYNC_VOTE, to, a, ptx_insn_has(in, PTX_MOD_SYNC) ? &in->operands[2] : NULL, flip);
    if (r) r->extra = op;
    return d->st;
}

enum status decode_shfl(struct decoder *d, const struct ptx_insn *in)
{
    static const uint16_t ops[] = { PTX_MOD_UP, PTX_MOD_DOWN, PTX_MOD_BFLY, PTX_MOD_IDX };
    const struct ptx_operand *o = &in->operands[in->has_pair ? 2 : 1];
    uint32_t a = decode_source(d, &o[0], PTX_B32, 4), b = decode_source(d, &o[1], PTX_B32, 4), c = decode_source(d, &o[2], PTX_B32, 4);
    uint32_t to = decode_dest(d, &in->operands[0], 4, false), p = in->has_pair ? decode_dest_pred(d, &in->operands[1]) : 0;
    struct insn *r = emit_sync(d, SYNC_SHFL, to, a, ptx_insn_has(in, PTX_MOD_SYNC) ? &o[3] : NULL, 0);
    if (!r) return d->st;
    r->b = b;
    r->c = c;
    r->target = p;
    r->extra = index_of(in, ops, 4);
    return d->st;
}

enum status decode_match(struct decoder *d, const struct ptx_insn *in)
{
    const struct ptx_operand *o = &in->operands[in->has_pair ? 2 : 1];
    unsigned width = decode_type_width((enum ptx_type)in->types[0]);
    uint32_t a = decode_source(d, &o[0], (enum ptx_type)in->types[0], width);
    uint32_t to = decode_dest(d, &in->operands[0], 4, false), p = in->has_pair ? decode_dest_pred(d, &in->operands[1]) : 0;
    struct insn *r = emit_sync(d, width == 8 ? SYNC_MATCH_WIDE : SYNC_MATCH, to, a, &o[1], 0);
    if (!r) return d->st;
    r->target = p;
    r->extra = ptx_insn_has(in, PTX_MOD_ALL) ? MATCH_ALL : MATCH_ANY;
    return d->st;
}

enum status decode_redux(struct decoder *d, const struct ptx_insn *in)
{
    static const uint16_t ops[] = { PTX_MOD_ADD, PTX_MOD_AND, PTX_MOD_OR, PTX_MOD_XOR, PTX_MOD_MIN, PTX_MOD_MAX };
    unsigned op = index_of(in, ops, 6);
    enum ptx_type t = (enum ptx_type)in->types[0];
    if (op >= 4) op = (t == PTX_F32 ? REDUX_MIN_F : t == PTX_S32 ? REDUX_MIN_S : REDUX_MIN_U) + (op - 4);
    if (ptx_insn_has(in, PTX_MOD_ABS)) op |= REDUX_ABS;
    if (ptx_insn_has(in, PTX_MOD_PROPNAN)) op |= REDUX_NAN;
    uint32_t a = decode_source(d, &in->operands[1], t, 4);
    struct insn *r = emit_sync(d, SYNC_REDUX, decode_dest(d, &in->operands[0], 4, false), a, &in->operands[2], 0);
    if (r) r->extra = op;
    return d->st;
}

enum status decode_elect(struct decoder *d, const struct ptx_insn *in)
{
    uint32_t to = decode_dest(d, &in->operands[0], 4, false), p = in->has_pair ? decode_dest_pred(d, &in->operands[1]) : 0;
    struct insn *r = emit_sync(d, SYNC_ELECT, to, FRAME_TRUE, &in->operands[in->has_pair ? 2 : 1], 0);
    if (r) r->target = p;
    return d->st;
}

static const struct insn *run_activemask(const struct insn *in, struct warp *w, struct ctx *c)
{
    (void)c;
    set_words(w->frame, in->d, insn_mask(in, w), insn_mask(in, w));
    return in + 1;
}

enum status decode_activemask(struct decoder *d, const struct ptx_insn *in)
{
    uint32_t to = decode_dest(d, &in->operands[0], 4, false);
    struct insn *r = decode_emit(d, run_activemask, run_activemask);
    if (!r) return ST_OUT_OF_MEMORY;
    r->d = to;
    return d->st;
}

/* ---- barriers of the CTA ---------------------------------------------------------------------------------------------------- */

enum { BAR_SYNC, BAR_ARRIVE, BAR_POPC, BAR_AND, BAR_OR };
/* Record fields: a: row of barrier numbers; b: row of counts, 0 = none; c: predicate source, imm its flip; d: destination. extra: operation. */

void sync_barrier_result(const struct insn *in, char *frame, uint32_t mask, const struct cta_barrier *b)
{
    switch (in->extra) {
    case BAR_POPC: set_words(frame, in->d, mask, b->popc); break;
    case BAR_AND: set_mask(frame, in->d, mask, b->all ? FULL_MASK : 0); break;
    case BAR_OR: set_mask(frame, in->d, mask, b->any ? FULL_MASK : 0); break;
    default: break;
    }
}

static void contribute(struct cta_barrier *b, const struct insn *in, const struct warp *w, uint32_t m)
{
    uint32_t yes = (mask_at(w, in->c) ^ (uint32_t)in->imm) & m;
    if (!b->arrived) b->all = true;
    b->popc += mask_count(yes);
    b->any |= yes != 0;
    b->all &= yes == m;
}

/* With a count, warps count whole, as long as all lanes that are left come together. */
static uint32_t threads_of(const struct warp *w, uint32_t m, uint32_t count)
{
    return count && m == (uint32_t)~w->exited ? WARP_SIZE : mask_count(m);
}

static const struct insn *run_barrier(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t m = insn_mask(in, w);
    if (!m) {
        flow_charge(in, w, c);
        return in + 1;
    }
    uint32_t first = (uint32_t)__builtin_ctz(m), id = ((const uint32_t *)row(w, in->a))[first];
    uint32_t count = in->b ? ((const uint32_t *)row(w, in->b))[first] : 0;
    if (id >= 16) return insn_fault(in, w, c, first, ST_ILLEGAL_INSTRUCTION, "barrier %u: there are 16", id);
    if (m != w->mask && in->extra != BAR_ARRIVE) {         /* guarded: the others go on */
        flow_part(in, w, w->mask & ~m, NULL);
        flow_charge(in, w, c);
        w->next = in + 1;
        w->state = WARP_RUN;
        return NULL;
    }
    flow_charge(in, w, c);
    struct emu_cta *cta = w->cta;
    if (in->extra >= BAR_POPC) contribute(&cta->barriers[id], in, w, m);
    bool done = cta_barrier_arrive(cta, id, count, threads_of(w, m, count));
    if (done) {
        sync_barrier_result(in, w->frame, m, &cta->barriers[id]);
        cta_barrier_finish(cta, id);
    }
    return done || in->extra == BAR_ARRIVE ? in + 1 : cta_barrier_wait(in, w, id);
}

bool sync_may_wait(const struct insn *in, enum split_state state)
{
    if (state == SPLIT_BARRIER) return in->masked == run_barrier;
    return in->masked == run_whole || (in->masked == run_sync && members_row(in));
}

static enum status decode_warp_barrier(struct decoder *d, const struct ptx_insn *in)
{
    emit_sync(d, SYNC_WARP, FRAME_TRUE, FRAME_TRUE, &in->operands[0], 0);
    return d->st;
}

enum status decode_bar(struct decoder *d, const struct ptx_insn *in)
{
    static const uint16_t ops[] = { PTX_MOD_SYNC, PTX_MOD_ARRIVE, PTX_MOD_POPC, PTX_MOD_AND, PTX_MOD_OR };
    if (ptx_insn_has(in, PTX_MOD_WARP)) return decode_warp_barrier(d, in);
    if (ptx_insn_has(in, PTX_MOD_CLUSTER)) return decode_cluster_barrier(d, in);
    unsigned op = index_of(in, ops, 5), n = in->n_operands, i = 0;
    uint32_t to = FRAME_TRUE, p = FRAME_TRUE, flip = 0, count = 0;
    if (op >= BAR_POPC) {
        to = op == BAR_POPC ? decode_dest(d, &in->operands[i], 4, false) : decode_dest_pred(d, &in->operands[i]);
        i++;
        p = decode_pred_flip(d, &in->operands[--n], &flip);
    }
    uint32_t id = decode_source(d, &in->operands[i++], PTX_U32, 4);
    if (i < n) count = decode_source(d, &in->operands[i], PTX_U32, 4);
    struct insn *r = decode_emit_control(d, run_barrier, run_barrier);
    if (!r) return ST_OUT_OF_MEMORY;
    r->d = to;
    r->a = id;
    r->b = count;
    r->c = p;
    r->imm = flip;
    r->extra = op;
    return d->st;
}
