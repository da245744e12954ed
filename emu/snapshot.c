/* Blocks as bytes.
 *
 * Joins and activations of a warp form a tree with the kernel's own activation at its root: a split's place in it says in which frame it is and where its lanes
 * will meet others. They are numbered, parents first; everything else refers to them by number. What follows from other things is not saved but derived: frames of
 * constants from the launch, counts of live threads and of waits from the splits.
 *
 * A lane is in one place: running, in one waiting split, arrived in one join, or exited. A join expects, besides those that arrived, the lanes that are somewhere below
 * it. Restoring checks both, so that no join is left or freed twice later, whatever the bytes were. */
#include "emu/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "emu/cluster.h"
#include "emu/decode.h"
#include "emu/flow.h"
#include "emu/mbarrier.h"
#include "runtime/base/map.h"
#include "runtime/base/vec.h"

enum { MAGIC = 0x314b4342, PAGE = 4096 };

static const struct ctx *ctx_of(const struct emu_worker *w) { return (const struct ctx *)(const void *)w; }    /* its first member */

/* ---- memory, of which much is zero ---- */

static bool is_zero(const char *p, size_t n)
{
    uint64_t any = 0, x;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        memcpy(&x, p + i, 8);
        any |= x;
    }
    for (; i < n; i++) any |= (uint8_t)p[i];
    return !any;
}

static void put_pages(struct sink *to, const char *p, size_t n)
{
    for (size_t at = 0; at < n; at += PAGE) {
        size_t k = n - at < PAGE ? n - at : PAGE;
        bool zero = is_zero(p + at, k);
        put_u8(to, !zero);
        if (!zero) put(to, p + at, k);
    }
}

static void get_pages(struct source *from, char *p, size_t n)
{
    for (size_t at = 0; at < n; at += PAGE) {
        size_t k = n - at < PAGE ? n - at : PAGE;
        if (get_u8(from)) get(from, p + at, k);
        else memset(p + at, 0, k);
    }
}

/* Rows of a frame without its constants. */
static void put_frame(struct sink *to, const struct code *code, const char *frame)
{
    put(to, frame + 4, code->const_at - 4);
    put(to, frame + code->const_at + code->const_bytes, code->frame_bytes - code->const_at - code->const_bytes);
}

static void get_frame(struct source *from, const struct code *code, char *frame)
{
    get(from, frame + 4, code->const_at - 4);
    get(from, frame + code->const_at + code->const_bytes, code->frame_bytes - code->const_at - code->const_bytes);
}

static void put_lane_top(struct sink *to, const struct activation *a)
{
    put_u8(to, a->lane_top != NULL);
    if (a->lane_top) put(to, a->lane_top, WARP_SIZE * sizeof *a->lane_top);
}

static void get_lane_top(struct source *from, struct activation *a, uint32_t most)
{
    if (!get_u8(from)) return;
    if (!a->lane_top && !(a->lane_top = malloc(WARP_SIZE * sizeof *a->lane_top))) from->failed = true;
    if (from->failed) return;
    get(from, a->lane_top, WARP_SIZE * sizeof *a->lane_top);
    for (uint32_t l = 0; l < WARP_SIZE; l++)
        if (a->lane_top[l] > most) from->failed = true;
}

/* ---- the tree ---- */

struct nodes { VEC(struct join *) at; struct map numbers; bool failed; };

/* 0: the kernel itself, outside all joins. */
static uint32_t number_of(const struct nodes *n, const struct join *j)
{
    uintptr_t number = 0;
    if (j) (void)map_get_int(&n->numbers, (uint64_t)(uintptr_t)j, &number);
    return (uint32_t)number;
}

/* Numbers j and all above it. */
static void note(struct nodes *n, struct join *j)
{
    size_t first = n->at.n;
    for (; j && !number_of(n, j) && !n->failed; j = j->parent)
        if (!vec_push(&n->at, j)) n->failed = true;
    for (size_t a = first, b = n->at.n; a + 1 < b; a++) {          /* parents first */
        struct join *x = n->at.at[a];
        n->at.at[a] = n->at.at[--b];
        n->at.at[b] = x;
    }
    for (size_t i = first; i < n->at.n && !n->failed; i++)
        if (!map_put_int(&n->numbers, (uint64_t)(uintptr_t)n->at.at[i], (uintptr_t)i + 1)) n->failed = true;
}

static void note_all(struct nodes *n, const struct warp *w)
{
    const struct warp_flow *f = w->flow;
    for (uint32_t i = 0; i < f->n; i++) note(n, f->waiting[i].join);
    if (w->mask) note(n, f->join);
}

static void put_node(struct sink *to, const struct nodes *n, const struct join *j)
{
    const struct activation *a = j->act;
    put_u32(to, number_of(n, j->parent));
    put_u32(to, j->expected);
    put_u32(to, j->arrived);
    put_u8(to, j->at == NULL);
    put_u32(to, (uint32_t)(j->at ? j->at - a->code->insns : a->back - a->parent->code->insns));
    if (j->at) return;
    put_u32(to, a->code->number);
    put_u64(to, a->code->fingerprint);
    put_u32(to, a->local_sp);
    put_lane_top(to, a);
    put_frame(to, a->code, a->frame);
}

static void put_split(struct sink *to, const struct nodes *n, const struct split *s)
{
    put_u32(to, s->mask);
    put_u32(to, number_of(n, s->join));
    put_u32(to, (uint32_t)(s->next - s->act->code->insns));
    put_u32(to, s->sync_mask);
    put_u8(to, s->state);
    put_u8(to, s->age);
}

static void put_warp(struct sink *to, const struct warp *w)
{
    const struct warp_flow *f = w->flow;
    struct nodes n = { .failed = w->state == WARP_YIELD };
    put_u32(to, w->exited);
    put_u8(to, (uint8_t)w->state);
    if (w->state == WARP_DONE) return;
    note_all(&n, w);
    put_u32(to, w->carry);
    put_lane_top(to, &f->base);
    put_frame(to, f->base.code, f->base.frame);
    put_u32(to, (uint32_t)n.at.n);
    for (size_t i = 0; i < n.at.n && !n.failed; i++) put_node(to, &n, n.at.at[i]);
    put_u32(to, f->n);
    for (uint32_t i = 0; i < f->n; i++) put_split(to, &n, &f->waiting[i]);
    put_u32(to, f->barrier);
    put_u8(to, w->mask != 0);
    struct split running = { .next = w->next, .mask = w->mask, .join = f->join, .act = f->act };
    if (w->mask) put_split(to, &n, &running);
    put_pages(to, w->local, (size_t)w->local_stride * WARP_SIZE);
    to->failed |= n.failed;
    vec_free(&n.at);
    map_free(&n.numbers);
}

static void put_block(struct sink *to, const struct emu_cta *cta, const struct ctx *c)
{
    put_u32(to, cta->next_warp);
    put_u32(to, cta->barriers_open);
    put_u32(to, cta->failures);
    put_u64(to, c->warp_insns - cta->failed_at);
    put(to, cta->barrier_room, sizeof cta->barrier_room);
    put_pages(to, cta->shared, cta->shared_bytes);
    for (uint32_t i = 0; i < cta->n_warps; i++) put_warp(to, &cta->warps[i]);
}

uint64_t emu_cta_number(const struct emu_cta *cta)
{
    const struct emu_launch *l = &cta->grid->launch;
    uint64_t number = 0;
    for (int i = 3; i-- > 0;) number = number * (l->grid[i] / l->cluster[i]) + cta->ctaid[i] / l->cluster[i];
    return number;
}

/* What a grid must have in common with the one whose block it was. */
static void put_grid(struct sink *to, const struct emu_grid *g)
{
    const uint32_t facts[] = { g->threads, g->shared_bytes, g->local_stride, g->cluster_ctas, g->code->frame_bytes, g->code->number };
    put(to, facts, sizeof facts);
    put_u64(to, g->code->fingerprint);
}

void emu_cta_save(const struct emu_cta *cta, const struct emu_worker *w, struct sink *to)
{
    const struct cluster *k = cta->cluster;
    put_u32(to, MAGIC);
    put_grid(to, cta->grid);
    put_u64(to, emu_cta_number(cta));
    put_u32(to, cta->smid);
    put_u8(to, k != NULL);
    if (k) {
        put_u32(to, k->next);
        put_u32(to, k->done);
        put(to, k->lanes, k->n * sizeof k->lanes[0]);
    }
    for (uint32_t r = 0; r < (k ? k->n : 1); r++) put_block(to, k ? k->cta[r] : cta, ctx_of(w));
}

/* ---- back ---- */

struct node { struct join *j; uint32_t above, below; };    /* number of its parent; lanes that are below it */
struct tree { struct warp *w; VEC(struct node) at; uint32_t lanes /* that have a place */; };

static bool refuse(struct source *from) { from->failed = true; return false; }

static struct join *join_of(const struct tree *t, uint32_t number) { return number ? t->at.at[number - 1].j : NULL; }
static struct activation *act_of(const struct tree *t, uint32_t number) { return number ? join_of(t, number)->act : &t->w->flow->base; }

static bool take_lanes(struct tree *t, uint32_t lanes, struct source *from)
{
    if (t->lanes & lanes) return refuse(from);
    t->lanes |= lanes;
    return true;
}

static struct join *get_call(struct tree *t, struct activation *parent, struct join *above, const struct insn *back, struct source *from)
{
    struct warp *w = t->w;
    struct emu_kernel *k = w->cta->grid->kernel;
    uint32_t number = get_below(from, kernel_module(k)->n_functions);
    uint64_t fingerprint = get_u64(from);
    uint32_t local_sp = get_u32(from);
    const struct code *code = from->failed ? NULL : kernel_code(k, number, NULL);
    const struct call_site *site = back > parent->code->insns ? call_site_at(back - 1) : NULL;
    if (!code || !site || code->fingerprint != fingerprint || site->n_params != code->param_words || site->n_returns != code->return_words || local_sp % 16
        || (uint64_t)local_sp + code->local_bytes > w->local_stride)
        return NULL;
    w->flow->act = parent;
    w->flow->join = above;
    w->mask = 0;
    struct activation *a = flow_call(w, code, site, back);
    if (!a) return NULL;
    a->local_sp = local_sp;
    fill_rows(code, a->frame, w, w->cta->grid, local_sp);
    get_lane_top(from, a, w->local_stride);
    get_frame(from, code, a->frame);
    return &a->join;
}

static struct join *get_join(struct activation *act, struct join *above, const struct insn *at)
{
    struct join *j = at->full == run_meet ? malloc(sizeof *j) : NULL;
    if (j) *j = (struct join){ .at = at, .parent = above, .act = act };
    return j;
}

static bool get_node(struct tree *t, struct source *from)
{
    struct node n = { .above = get_below(from, (uint32_t)t->at.n + 1) };
    uint32_t expected = get_u32(from), arrived = get_u32(from);
    struct activation *act = act_of(t, n.above);
    bool call = get_u8(from);
    const struct insn *at = act->code->insns + get_below(from, act->code->n_insns);
    if (from->failed || (arrived & ~expected) || arrived == expected || !take_lanes(t, arrived, from) || !vec_reserve(&t->at, t->at.n + 1)) return refuse(from);
    n.j = call ? get_call(t, act, join_of(t, n.above), at, from) : get_join(act, join_of(t, n.above), at);
    if (!n.j) return refuse(from);
    n.j->expected = expected;
    n.j->arrived = arrived;
    (void)vec_push(&t->at, n);
    return !from->failed;
}

static bool may_wait(const struct emu_cta *cta, const struct split *s)
{
    switch (s->state) {
    case SPLIT_READY:    return true;
    case SPLIT_BARRIER:  return s->sync_mask < 16 && sync_may_wait(s->next, SPLIT_BARRIER);
    case SPLIT_SYNC:     return sync_may_wait(s->next, SPLIT_SYNC);
    case SPLIT_CLUSTER:  return cta->cluster && cluster_may_wait(s->next);
    case SPLIT_MBARRIER: return mbarrier_may_wait(cta, s->next, s->act->frame, s->mask);
    default:             return false;
    }
}

static bool get_split(struct tree *t, struct source *from, struct split *s)
{
    *s = (struct split){ .mask = get_u32(from) };
    uint32_t node = get_below(from, (uint32_t)t->at.n + 1);
    s->act = act_of(t, node);
    s->join = join_of(t, node);
    s->next = s->act->code->insns + get_below(from, s->act->code->n_insns);
    s->sync_mask = get_u32(from);
    s->state = get_u8(from);
    s->age = get_u8(from);
    if (from->failed || !s->mask || !take_lanes(t, s->mask, from) || !may_wait(t->w->cta, s)) return refuse(from);
    if (node) t->at.at[node - 1].below |= s->mask;
    t->w->cta->mbarrier_waits += s->state == SPLIT_MBARRIER;
    return true;
}

/* Every join waits for just the lanes that are below it. */
static bool joins_agree(struct tree *t)
{
    for (size_t i = t->at.n; i-- > 0;) {
        const struct node *n = &t->at.at[i];
        if ((n->j->expected & ~n->j->arrived) != n->below) return false;
        if (n->above) t->at.at[n->above - 1].below |= n->j->expected;
    }
    return true;
}

static bool get_running(struct tree *t, struct source *from, uint8_t state)
{
    struct warp *w = t->w;
    struct warp_flow *f = w->flow;
    struct split s = { .act = &f->base, .next = f->base.code->insns };
    f->barrier = get_below(from, 17);
    bool runs = get_u8(from);
    if (runs && !get_split(t, from, &s)) return false;
    bool waits = state == WARP_SWITCH;
    if (waits ? runs != (f->barrier != 0) : !runs || f->barrier || s.state != SPLIT_READY) return refuse(from);
    if (f->barrier && (f->n || s.join || !sync_may_wait(s.next, SPLIT_BARRIER))) return refuse(from);
    f->act = s.act;
    f->join = s.join;
    w->mask = s.mask;
    w->next = s.next;
    w->state = (enum warp_state)state;
    w->code = s.act->code;
    w->frame = s.act->frame;
    w->local_sp = s.act->local_sp;
    w->join_at = s.join ? s.join->at : NULL;
    return true;
}

static bool get_flow(struct tree *t, struct source *from, uint8_t state)
{
    struct warp *w = t->w;
    struct warp_flow *f = w->flow;
    w->carry = get_u32(from);
    get_lane_top(from, &f->base, w->local_stride);
    get_frame(from, f->base.code, f->base.frame);
    for (uint32_t n = get_u32(from); n && !from->failed; n--)
        if (!get_node(t, from)) return false;
    for (uint32_t n = get_below(from, WARP_SIZE); n && !from->failed; n--)
        if (!get_split(t, from, &f->waiting[f->n++])) return false;
    if (from->failed || !get_running(t, from, state)) return refuse(from);
    get_pages(from, w->local, (size_t)w->local_stride * WARP_SIZE);
    return t->lanes == FULL_MASK && joins_agree(t) ? !from->failed : refuse(from);
}

/* The warp as it was when it started, and everything made for it on its lists. */
static void undo(struct tree *t)
{
    struct warp_flow *f = t->w->flow;
    for (size_t i = 0; i < t->at.n; i++) {
        struct join *j = t->at.at[i].j;
        if (j->at) {
            j->parent = f->free_joins;
            f->free_joins = j;
            continue;
        }
        free(j->act->lane_top);
        j->act->lane_top = NULL;
        j->act->parent = f->free_acts;
        f->free_acts = j->act;
    }
    flow_reset(t->w, f->base.code, 0);
}

static bool get_warp(struct warp *w, struct source *from)
{
    uint32_t never = w->exited, exited = get_u32(from);
    uint8_t state = get_u8(from);
    if (from->failed || (never & ~exited) || state > WARP_FAULT || (state == WARP_DONE) != (exited == FULL_MASK)) return refuse(from);
    w->cta->live_threads -= mask_count(exited & ~never);
    struct tree t = { .w = w, .lanes = exited };
    bool ok = true;
    if (state == WARP_DONE) {
        w->mask = 0;
        w->state = WARP_DONE;
    } else if (!(ok = get_flow(&t, from, state))) {
        undo(&t);
    }
    w->exited = exited;
    vec_free(&t.at);
    return ok;
}

static bool get_block(struct emu_cta *cta, struct ctx *c, struct source *from)
{
    cta->next_warp = get_below(from, cta->n_warps + 1);
    cta->barriers_open = get_u32(from) & 0xffff;
    cta->failures = get_u32(from);
    cta->failed_at = c->warp_insns - get_u64(from);
    get(from, cta->barrier_room, sizeof cta->barrier_room);
    for (int i = 0; i < 16; i++) {
        uint8_t all, any;                      /* whatever the bytes are */
        memcpy(&all, &cta->barrier_room[i].all, 1);
        memcpy(&any, &cta->barrier_room[i].any, 1);
        if (all > 1 || any > 1) return refuse(from);
    }
    get_pages(from, cta->shared, cta->shared_bytes);
    for (uint32_t i = 0; i < cta->n_warps; i++)
        if (!get_warp(&cta->warps[i], from)) return false;
    return !from->failed;
}

static bool get_cluster(struct emu_cta *cta, struct source *from)
{
    if (!cta->cluster) {                       /* a block of its own that asked for the barrier */
        if (!cta->cluster_room && !(cta->cluster_room = malloc(sizeof *cta->cluster_room))) return refuse(from);
        *cta->cluster_room = (struct cluster){ .n = 1, .cta = { cta } };
        cta->cluster = cta->cluster_room;
    }
    struct cluster *k = cta->cluster;
    k->next = get_below(from, k->n);
    k->done = get_below(from, 1u << k->n);
    get(from, k->lanes, k->n * sizeof k->lanes[0]);
    for (uint32_t r = 0; r < k->n; r++)
        for (uint32_t i = 0; i < WARP_SIZE; i++) {
            if ((k->lanes[r][i].pending & k->lanes[r][i].passed) || (i >= cta->n_warps && k->lanes[r][i].pending)) return refuse(from);
            k->arrived += mask_count(k->lanes[r][i].pending);
        }
    return !from->failed;
}

/* Blocks that have ended are those that say so. */
static bool cluster_agrees(const struct emu_cta *cta)
{
    const struct cluster *k = cta->cluster;
    for (uint32_t r = 0; k && r < k->n; r++)
        if ((k->done >> r & 1) && k->cta[r]->live_threads) return false;
    return true;
}

static bool grid_agrees(const struct emu_grid *g, struct source *from)
{
    uint32_t facts[6];
    get(from, facts, sizeof facts);
    uint64_t fingerprint = get_u64(from);
    return facts[0] == g->threads && facts[1] == g->shared_bytes && facts[2] == g->local_stride && facts[3] == g->cluster_ctas && facts[4] == g->code->frame_bytes &&
           facts[5] == g->code->number && fingerprint == g->code->fingerprint;
}

enum status emu_cta_restore(struct emu_cta **out, struct emu_grid *g, struct emu_worker *w, uint32_t smid, struct source *from, struct error *err)
{
    static const char nonsense[] = "a saved block makes no sense: its bytes are damaged";
    *out = NULL;
    if (get_u32(from) != MAGIC) return error_set(err, ST_INVALID_IMAGE, nonsense);
    if (!grid_agrees(g, from))
        return error_set(err, ST_INVALID_IMAGE, from->failed ? nonsense : "a saved block belongs to another kernel or launch, or the kernel is decoded in another way");
    uint64_t number = get_u64(from);
    uint32_t was_on = get_u32(from);
    bool cluster = get_u8(from);
    if (from->failed || number >= emu_grid_clusters(g) || (g->cluster_ctas > 1 && !cluster)) return error_set(err, ST_INVALID_IMAGE, nonsense);
    enum status st = emu_cta_start(out, g, w, number, smid == UINT32_MAX ? was_on : smid, err);
    if (st != ST_OK) return st;
    struct emu_cta *cta = *out;
    bool ok = !cluster || get_cluster(cta, from);
    for (uint32_t r = 0; ok && r < g->cluster_ctas; r++)
        ok = get_block(g->cluster_ctas > 1 ? cta->cluster->cta[r] : cta, (struct ctx *)(void *)w, from);
    if (ok && cluster_agrees(cta)) return ST_OK;
    from->failed = true;
    emu_cta_free(cta, w);
    *out = NULL;
    return error_set(err, ST_INVALID_IMAGE, nonsense);
}

/* ---- accesses under way ---- */

/* The activation whose frame it is, and which of the nodes that is, 0: the kernel's own; NULL: none. A warp that is done has that alone. */
static const struct activation *act_of_frame(const struct warp *w, const char *frame, uint32_t *number)
{
    const struct activation *found = w->flow->base.frame == frame ? &w->flow->base : NULL;
    struct nodes n = { .failed = false };
    *number = 0;
    if (!found && w->state != WARP_DONE) note_all(&n, w);
    for (size_t i = 0; i < n.at.n && !n.failed && !found; i++)
        if (!n.at.at[i]->at && n.at.at[i]->act->frame == frame) {
            found = n.at.at[i]->act;
            *number = (uint32_t)i + 1;
        }
    vec_free(&n.at);
    map_free(&n.numbers);
    return found;
}

static const struct activation *act_of_number(const struct warp *w, uint32_t number)
{
    struct nodes n = { .failed = false };
    if (number && w->state != WARP_DONE) note_all(&n, w);
    const struct join *j = number && number <= n.at.n && !n.failed ? n.at.at[number - 1] : NULL;
    vec_free(&n.at);
    map_free(&n.numbers);
    return !number ? &w->flow->base : j && !j->at ? j->act : NULL;
}

void emu_pending_save(const struct emu_pending *p, uint32_t lanes, struct sink *to)
{
    const struct warp *w = &p->cta->warps[p->warp];
    uint32_t node;
    const struct activation *a = act_of_frame(w, p->frame, &node);
    const struct insn *in = p->record;
    if (!a || in < a->code->insns || in >= a->code->insns + a->code->n_insns) {
        to->failed = true;
        return;
    }
    const uint32_t facts[] = { p->cta->cluster_rank, p->warp, p->mask & lanes, node, (uint32_t)(in - a->code->insns) };
    put(to, facts, sizeof facts);
    put_u8(to, w->state == WARP_DONE);         /* its registers are not with the block */
    if (w->state == WARP_DONE) put_frame(to, a->code, a->frame);
}

bool emu_pending_restore(struct emu_pending *out, struct emu_cta *cta, struct source *from)
{
    uint32_t facts[5];
    get(from, facts, sizeof facts);
    bool done = get_u8(from);
    struct emu_cta *own = cta->cluster && cta->cluster->n > 1 ? facts[0] < cta->cluster->n ? cta->cluster->cta[facts[0]] : NULL : cta;
    if (from->failed || !own || facts[1] >= own->n_warps || (own->warps[facts[1]].state == WARP_DONE) != done) return refuse(from);
    const struct warp *w = &own->warps[facts[1]];
    const struct activation *a = act_of_number(w, facts[3]);
    if (!a || facts[4] >= a->code->n_insns || !decode_is_late(&a->code->function->insns[a->code->insns[facts[4]].ptx])) return refuse(from);
    if (done) get_frame(from, a->code, a->frame);
    *out = (struct emu_pending){ own, &a->code->insns[facts[4]], a->frame, facts[1], facts[2] };
    return !from->failed;
}

/* ---- the worker's clock, kernels ---- */

void emu_worker_save(const struct emu_worker *w, struct sink *to)
{
    const struct worker_clock *k = worker_clock((struct ctx *)(uintptr_t)w);
    put_u64(to, ctx_of(w)->warp_insns - k->read_at);
    put_u64(to, k->readings);
    put_u64(to, k->ahead);
}

bool emu_worker_restore(struct emu_worker *w, struct source *from)
{
    struct worker_clock *k = worker_clock((struct ctx *)(void *)w);
    uint64_t since = get_u64(from), readings = get_u64(from), ahead = get_u64(from);
    if (!from->failed) *k = (struct worker_clock){ ctx_of(w)->warp_insns - since, readings, ahead };
    return !from->failed;
}
