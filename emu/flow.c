/* Divergence. One structure for both policies: the running split lives in struct warp, the others in flow->waiting, and joins collect
 * lanes at post-dominators. The post-dominator stack is the case that the last split put aside always runs next and no join
 * is left early; independent thread scheduling rotates, and lets lanes leave a join when the others may be waiting for them.
 *
 * A lane is in exactly one place: the running split, a waiting one, `arrived` of one join, or exited. */
#include "emu/flow.h"

#include <stdlib.h>
#include <string.h>

static void set_join(struct warp *w, struct join *j)
{
    w->flow->join = j;
    w->join_at = j ? j->at : NULL;
}

static void enter(struct warp *w, struct activation *a)
{
    w->flow->act = a;
    w->frame = a->frame;
    w->code = a->code;
    w->local_sp = a->local_sp;
}

static void load_split(struct warp *w, const struct split *s)
{
    w->mask = s->mask;
    w->next = s->next;
    w->state = WARP_RUN;
    enter(w, s->act);
    set_join(w, s->join);
}

static struct split *push_split(struct warp *w, const struct insn *next, uint32_t mask, struct join *j, struct activation *a, bool first)
{
    struct warp_flow *f = w->flow;
    struct split *s = &f->waiting[f->n++];     /* splits hold disjoint lanes, one of them runs: never more than 31 wait */
    if (first && f->n > 1) {
        memmove(&f->waiting[1], &f->waiting[0], (f->n - 1) * sizeof *s);
        s = &f->waiting[0];
    }
    *s = (struct split){ .next = next, .mask = mask, .state = SPLIT_READY, .join = j, .act = a };
    return s;
}

/* ---- joins ------------------------------------------------------------------------------------------------------- */

static void free_activation(struct warp *w, struct activation *a)
{
    free(a->lane_top);
    a->lane_top = NULL;
    a->parent = w->flow->free_acts;
    w->flow->free_acts = a;
}

static void free_join(struct warp *w, struct join *j)
{
    if (!j->at) {
        free_activation(w, j->act);
        return;
    }
    j->parent = w->flow->free_joins;
    w->flow->free_joins = j;
}

/* The join of the running split at `at`: the one it has, one that lanes released early left behind, or a new one. NULL: no memory. */
static struct join *join_for(struct warp *w, const struct insn *at)
{
    struct warp_flow *f = w->flow;
    if (w->join_at == at) return f->join;
    for (uint32_t i = 0; i < f->n; i++)
        for (struct join *j = f->waiting[i].join; j && j->act == f->act; j = j->parent)
            if (j->at == at && j->parent == f->join) {
                j->expected |= w->mask;
                set_join(w, j);
                return j;
            }
    struct join *j = f->free_joins;
    if (j) f->free_joins = j->parent;
    else if (!(j = malloc(sizeof *j))) return NULL;
    *j = (struct join){ .at = at, .expected = w->mask, .parent = f->join, .act = f->act };
    set_join(w, j);
    return j;
}

/* Where the lanes of a join go on, as a ready split. */
static void push_arrived(struct warp *w, const struct join *j, uint32_t lanes)
{
    const struct activation *a = j->act;
    if (j->at) push_split(w, j->at + 1, lanes, j->parent, j->act, false);
    else push_split(w, a->back, lanes, j->parent, a->parent, false);
}

/* Takes lanes out of the joins from j up to, not including, stop. Joins that then are complete let their lanes go. */
static void leave_joins(struct warp *w, struct join *j, uint32_t lanes, const struct join *stop)
{
    while (j && j != stop) {
        struct join *parent = j->parent;
        j->expected &= ~lanes;
        if (j->expected == j->arrived) {
            if (j->arrived) push_arrived(w, j, j->arrived);
            free_join(w, j);
        }
        j = parent;
    }
}

static const struct insn *out_of_memory(const struct insn *in, struct warp *w, struct ctx *c)
{
    return insn_fault(in, w, c, (uint32_t)__builtin_ctz(w->mask | 1u << 31), ST_OUT_OF_MEMORY, "the host has no memory left for the warp's control flow");
}

const struct insn *flow_diverge(const struct insn *in, struct warp *w, struct ctx *c, uint32_t taken, const struct insn *target,
                                const struct insn *meet)
{
    uint32_t rest = w->mask & ~taken;
    const struct insn *fall = in + 1;
    struct join *j = NULL;
    if (meet && !(j = join_for(w, meet))) return out_of_memory(in, w, c);
    w->state = WARP_RUN;
    if (target == meet) {
        j->arrived |= taken;
        w->mask = rest;
        w->next = fall;
    } else if (fall == meet) {
        j->arrived |= rest;
        w->mask = taken;
        w->next = target;
    } else {
        push_split(w, target, taken, w->flow->join, w->flow->act, false);
        w->mask = rest;
        w->next = fall;
    }
    return NULL;
}

bool flow_part(const struct insn *in, struct warp *w, uint32_t mask, const struct insn *meet)
{
    if (meet && !join_for(w, meet)) return false;
    push_split(w, in, w->mask & ~mask, w->flow->join, w->flow->act, false);
    w->mask = mask;
    return true;
}

const struct insn *flow_arrive(const struct insn *in, struct warp *w)
{
    struct join *j = w->flow->join;
    uint32_t was = w->mask;
    j->arrived |= was;
    if (j->arrived != j->expected) {
        w->mask = 0;
        w->state = WARP_SWITCH;
        return NULL;
    }
    w->mask = j->arrived;
    set_join(w, j->parent);
    free_join(w, j);
    if (w->mask == was) return in;             /* the marker again: the parent may be at the same place */
    w->next = in;
    w->state = WARP_RUN;
    return NULL;
}

/* ---- ends and calls ------------------------------------------------------------------------------------------------ */

static const struct insn *lanes_gone(const struct insn *in, struct warp *w, uint32_t lanes)
{
    w->mask &= ~lanes;
    w->next = in + 1;
    w->state = w->mask ? WARP_RUN : WARP_SWITCH;
    return NULL;
}

const struct insn *flow_exit(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lanes)
{
    (void)c;
    w->exited |= lanes;
    w->cta->live_threads -= mask_count(lanes);
    leave_joins(w, w->flow->join, lanes, NULL);
    if (w->cta->barriers_open) cta_barrier_check(w->cta);
    if (w->cta->cluster) cluster_exit(w, lanes);
    if (w->exited == FULL_MASK) {
        w->mask = 0;
        w->state = WARP_DONE;
        return NULL;
    }
    return lanes_gone(in, w, lanes);
}

const struct insn *flow_return(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lanes)
{
    (void)c;
    struct activation *a = w->flow->act;
    struct join *j = &a->join;
    if (w->flow->join != j) leave_joins(w, w->flow->join, lanes, j);
    j->arrived |= lanes;
    if (j->arrived != j->expected) return lanes_gone(in, w, lanes);
    uint32_t was = w->mask;
    w->mask = j->arrived;
    w->next = a->back;
    set_join(w, j->parent);
    enter(w, a->parent);
    free_activation(w, a);
    if (w->mask == was) return w->next;
    w->state = WARP_RUN;
    return NULL;
}

static struct activation *take_activation(struct warp_flow *f, size_t bytes)
{
    struct activation **at = &f->free_acts, *a;
    while (*at && (*at)->room < bytes) at = &(*at)->parent;
    a = *at;
    if (a) {
        *at = a->parent;
        return a;
    }
    a = calloc(1, sizeof *a);
    if (!a) return NULL;
    a->room = (bytes + 4095) & ~(size_t)4095;
    a->frame = aligned_alloc(64, a->room);
    if (!a->frame) {
        free(a);
        return NULL;
    }
    *(uint32_t *)(void *)(a->frame + FRAME_TRUE) = FULL_MASK;
    return a;
}

static uint32_t local_top(const struct activation *a, uint32_t mask)
{
    if (!a->lane_top) return a->local_sp + a->code->local_bytes;
    uint32_t top = 0;
    for (uint32_t l = 0; l < WARP_SIZE; l++)
        if (mask >> l & 1 && a->lane_top[l] > top) top = a->lane_top[l];
    return (top + 15) & ~15u;
}

uint32_t flow_local_top(const struct warp *w) { return local_top(w->flow->act, w->mask); }

struct activation *flow_call(struct warp *w, const struct code *code, const struct call_site *site, const struct insn *back)
{
    struct warp_flow *f = w->flow;
    struct activation *a = take_activation(f, code->frame_bytes);
    if (!a) return NULL;
    a->join = (struct join){ .expected = w->mask, .parent = f->join, .act = a };
    a->parent = f->act;
    a->code = code;
    a->site = site;
    a->back = back;
    a->local_sp = local_top(f->act, w->mask) + CALL_LOCAL_BYTES;
    memcpy(a->frame + code->const_at, code->const_image, code->const_bytes);
    fill_rows(code, a->frame, w, w->cta->grid, a->local_sp);
    enter(w, a);
    set_join(w, &a->join);
    return a;
}

/* ---- splits --------------------------------------------------------------------------------------------------------- */

const struct insn *flow_block(struct warp *w, const struct insn *next, enum split_state state, uint32_t sync_mask, bool first)
{
    struct split *s = push_split(w, next, w->mask, w->flow->join, w->flow->act, first);
    s->state = (uint8_t)state;
    s->sync_mask = sync_mask;
    w->mask = 0;
    w->state = WARP_SWITCH;
    return NULL;
}

bool flow_has_ready(const struct warp *w)
{
    for (uint32_t i = 0; i < w->flow->n; i++)
        if (w->flow->waiting[i].state == SPLIT_READY) return true;
    return false;
}

bool flow_pick(struct warp *w)
{
    struct warp_flow *f = w->flow;
    uint32_t i = f->n;
    if (i == 1) {                              /* a whole warp that comes out of a barrier: most often there is nothing else */
        if (f->waiting[0].state != SPLIT_READY) return false;
        f->n = 0;
        load_split(w, &f->waiting[0]);
        return true;
    }
    while (i-- > 0)
        if (f->waiting[i].state == SPLIT_READY) break;
    if (i == UINT32_MAX) return false;
    struct split s = f->waiting[i];
    f->n--;
    memmove(&f->waiting[i], &f->waiting[i + 1], (f->n - i) * sizeof s);
    for (i = 0; i < f->n;) {                   /* lanes at the same place with the same future go on together */
        struct split *o = &f->waiting[i];
        if (o->state != SPLIT_READY || o->next != s.next || o->join != s.join || o->act != s.act) {
            i++;
            continue;
        }
        s.mask |= o->mask;
        f->n--;
        memmove(o, o + 1, (f->n - i) * sizeof s);
    }
    load_split(w, &s);
    return true;
}

/* The lanes that wait in joins above j. */
static bool release_chain(struct warp *w, struct join *j)
{
    bool any = false;
    for (; j; j = j->parent)
        if (j->arrived) {
            push_arrived(w, j, j->arrived);
            j->expected &= ~j->arrived;
            j->arrived = 0;
            any = true;
        }
    return any;
}

bool flow_release(struct warp *w)
{
    bool any = false;
    uint32_t n = w->flow->n;                   /* those that are pushed meanwhile hold parents of the same chains */
    for (uint32_t i = 0; i < n; i++) any |= release_chain(w, w->flow->waiting[i].join);
    return any;
}

void flow_give_up(struct warp *w)
{
    struct warp_flow *f = w->flow;
    if (w->mask && f->join) push_split(w, NULL, w->mask, f->join, f->act, false);
    for (uint32_t i = 0; i < f->n; i++) {      /* joins and activations are found through the splits */
        uint32_t gone = f->waiting[i].mask;
        for (struct join *j = f->waiting[i].join; j;) {
            struct join *parent = j->parent;
            gone |= j->arrived;
            j->expected &= ~gone;
            if (!j->expected) free_join(w, j);
            j = parent;
        }
    }
    f->n = 0;
    f->join = NULL;
    w->mask = 0;
}

void flow_reset(struct warp *w, const struct code *code, uint32_t mask)
{
    struct warp_flow *f = w->flow;
    f->n = 0;
    f->barrier = 0;
    f->act = &f->base;
    f->join = NULL;
    f->base.code = code;
    if (f->base.lane_top) {
        free(f->base.lane_top);
        f->base.lane_top = NULL;
    }
    w->mask = mask;
    w->exited = ~mask;
    w->next = code->insns;
    w->state = WARP_RUN;
    w->code = code;
    w->frame = f->base.frame;
    w->local_sp = 0;
    w->join_at = NULL;
    w->carry = 0;
}

void flow_free(struct warp *w)
{
    struct warp_flow *f = w->flow;
    if (!f) return;
    for (struct join *j = f->free_joins, *next; j; j = next) {
        next = j->parent;
        free(j);
    }
    for (struct activation *a = f->free_acts, *next; a; a = next) {
        next = a->parent;
        free(a->frame);
        free(a);
    }
    free(f->base.lane_top);
    f->free_joins = NULL;
    f->free_acts = NULL;
}
