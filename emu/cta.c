/* CTAs on a worker: recycled memory, round robin over warps, CTA barriers.
 *
 * A CTA's memory (frames, flow, shared, local) stays with the worker when it ends. The next CTA of the same launch finds all constant rows
 * in place but those that name the CTA itself, so starting one costs little more than a reset of its warps. Shared memory is cleared for each CTA,
 * so that what a program reads before writing it does not depend on which host thread ran what before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cluster.h"
#include "emu/debug.h"
#include "emu/flow.h"
#include "emu/mbarrier.h"

enum {
    SLICE = 8192,                              /* warp instructions that a warp may run before the next one's turn */
    WORKER_ALIGN = 128 };                      /* what one host thread counts lies on no line, nor in the pair of one, that another uses */

struct emu_worker {
    struct ctx c;                              /* first: worker_clock finds the worker by it */
    struct worker_clock clock;
    struct emu_cta *free;
    uint64_t ctas;
};

enum status emu_worker_create(struct emu_worker **out, struct error *err)
{
    size_t bytes = (sizeof **out + WORKER_ALIGN - 1) / WORKER_ALIGN * WORKER_ALIGN;
    *out = aligned_alloc(WORKER_ALIGN, bytes);
    if (!*out) return error_set(err, ST_OUT_OF_MEMORY, "the host has no memory left for a worker");
    memset(*out, 0, bytes);
    return ST_OK;
}

static void cta_destroy(struct emu_cta *cta)
{
    for (uint32_t i = 0; i < cta->warps_room; i++) flow_free(&cta->warps[i]);
    free(cta->warps);
    free(cta->flows);
    free(cta->frames);
    free(cta->shared);
    free(cta->local);
    free(cta->cluster_room);
    free(cta);
}

void emu_worker_free(struct emu_worker *w)
{
    if (!w) return;
    for (struct emu_cta *cta = w->free, *next; cta; cta = next) {
        next = cta->next_free;
        cta_destroy(cta);
    }
    free(w->c.sites);
    free(w);
}

void emu_worker_counters(const struct emu_worker *w, struct emu_counters *out)
{
    *out = (struct emu_counters){ w->c.thread_insns, w->c.warp_insns, w->ctas };
}

struct worker_clock *worker_clock(struct ctx *c) { return &((struct emu_worker *)(void *)c)->clock; }

const struct emu_fault *emu_worker_fault(const struct emu_worker *w) { return &w->c.fault; }

/* ---- start ------------------------------------------------------------------------------------------------------- */

static size_t frame_stride(const struct emu_grid *g)
{
    size_t n = g->code->frame_bytes;
    return n % 1024 ? n : n + 192;             /* keeps the rows of neighbouring warps out of the same cache sets */
}

/* Memory from the worker's list: one that served this launch before, or the first there is. */
static struct emu_cta *cta_take(struct emu_worker *w, const struct emu_grid *g)
{
    struct emu_cta **at = &w->free;
    while (*at && (*at)->grid_serial != g->serial) at = &(*at)->next_free;
    if (!*at) at = &w->free;
    struct emu_cta *cta = *at;
    if (cta) *at = cta->next_free;
    else cta = calloc(1, sizeof *cta);
    return cta;
}

static bool room(void *at, size_t *have, size_t want, bool zeroed)
{
    if (*have >= want) return true;
    void **p = at;
    free(*p);
    *p = zeroed ? calloc(1, want) : aligned_alloc(64, (want + 63) & ~(size_t)63);
    *have = *p ? want : 0;
    return *p != NULL;
}

static bool cta_rooms(struct emu_cta *cta, const struct emu_grid *g)
{
    if (cta->warps_room < g->warps) {
        for (uint32_t i = 0; i < cta->warps_room; i++) flow_free(&cta->warps[i]);
        free(cta->warps);
        free(cta->flows);
        cta->warps = calloc(g->warps, sizeof *cta->warps);
        cta->flows = calloc(g->warps, sizeof *cta->flows);
        cta->warps_room = cta->warps && cta->flows ? g->warps : 0;
        if (!cta->warps_room) return false;
        for (uint32_t i = 0; i < g->warps; i++) cta->warps[i].flow = &cta->flows[i];
    }
    return room(&cta->frames, &cta->frames_bytes, frame_stride(g) * g->warps, false) &&
           room(&cta->shared, &cta->shared_room, (size_t)g->shared_bytes + 64, false) &&
           room(&cta->local, &cta->local_bytes, (size_t)g->local_stride * WARP_SIZE * g->warps, true);
}

/* Everything in the frames that is the same for all CTAs of the launch. */
static void cta_prepare(struct emu_cta *cta, struct emu_grid *g)
{
    const struct code *code = g->code;
    cta->grid = g;
    cta->n_warps = g->warps;
    cta->shared_bytes = g->shared_bytes;
    cta->barriers = cta->barrier_room;
    for (uint32_t i = 0; i < g->warps; i++) {
        struct warp *w = &cta->warps[i];
        w->number = i;
        w->cta = cta;
        w->local_stride = g->local_stride;
        w->local = cta->local ? cta->local + (size_t)i * g->local_stride * WARP_SIZE : NULL;
        w->flow->base.frame = cta->frames + frame_stride(g) * i;
        char *frame = w->flow->base.frame;
        *(uint32_t *)(void *)(frame + FRAME_TRUE) = FULL_MASK;
        memcpy(frame + code->const_at, code->const_image, code->const_bytes);
        fill_rows(code, frame, w, g, 0);
    }
    cta->grid_serial = g->serial;
}

enum status cta_start(struct emu_cta **out, struct emu_grid *g, struct emu_worker *wk, uint64_t index, uint32_t smid, struct error *err)
{
    struct emu_cta *cta = cta_take(wk, g);
    *out = cta;
    if (!cta || (cta->grid_serial != g->serial && !cta_rooms(cta, g))) {
        if (cta) cta_destroy(cta);
        *out = NULL;
        return error_set(err, ST_OUT_OF_MEMORY, "the host has no memory left for the registers and local memory of a block of %u threads", g->threads);
    }
    cta->index = index;
    cta->smid = smid;
    cta->ctaid[0] = (uint32_t)(index % g->launch.grid[0]);
    cta->ctaid[1] = (uint32_t)(index / g->launch.grid[0] % g->launch.grid[1]);
    cta->ctaid[2] = (uint32_t)(index / g->launch.grid[0] / g->launch.grid[1]);
    if (cta->grid_serial != g->serial) cta_prepare(cta, g);
    cta->live_threads = g->threads;
    cta->cluster = NULL;
    cta->cluster_rank = 0;
    cta->next_warp = 0;
    cta->barriers_open = cta->mbarrier_waits = cta->failures = 0;
    memset(cta->barrier_room, 0, sizeof cta->barrier_room);
    if (g->shared_bytes) memset(cta->shared, 0, g->shared_bytes);
    for (uint32_t i = 0; i < g->warps; i++) {
        struct warp *w = &cta->warps[i];
        uint32_t left = g->threads - i * WARP_SIZE;
        flow_reset(w, g->code, left >= WARP_SIZE ? FULL_MASK : (1u << left) - 1);
    }
    fill_cta_rows(g->code, cta);
    return ST_OK;
}

enum status emu_cta_start(struct emu_cta **out, struct emu_grid *g, struct emu_worker *wk, uint64_t index, uint32_t smid, struct error *err)
{
    return g->cluster_ctas > 1 ? cluster_start(out, g, wk, index, smid, err) : cta_start(out, g, wk, index, smid, err);
}

static void cta_free(struct emu_cta *cta, struct emu_worker *w)
{
    for (uint32_t i = 0; i < cta->n_warps; i++)
        if (cta->warps[i].state != WARP_DONE) flow_give_up(&cta->warps[i]);
    cta->next_free = w->free;
    w->free = cta;
}

void emu_cta_free(struct emu_cta *cta, struct emu_worker *w)
{
    if (!cta) return;
    uint32_t n = cta->cluster ? cta->cluster->n : 1;
    for (uint32_t i = n; i-- > 1;) cta_free(cta->cluster->cta[i], w);
    cta_free(cta, w);
}

/* ---- barriers ------------------------------------------------------------------------------------------------------ */

/* Everybody who waits at barrier id goes on behind it. The record of a split that waits says whether a reduction is wanted. */
static void barrier_complete(struct emu_cta *cta, uint32_t id)
{
    for (uint32_t i = 0; i < cta->n_warps; i++) {
        struct warp *w = &cta->warps[i];
        struct warp_flow *f = w->flow;
        if (f->barrier == id + 1) {
            f->barrier = 0;
            sync_barrier_result(w->next, w->frame, w->mask, &cta->barriers[id]);
            w->state = WARP_RUN;
            w->next++;
        }
        for (uint32_t k = 0; k < f->n; k++) {
            struct split *s = &f->waiting[k];
            if (s->state != SPLIT_BARRIER || s->sync_mask != id) continue;
            sync_barrier_result(s->next, s->act->frame, s->mask, &cta->barriers[id]);
            s->state = SPLIT_READY;
            s->next++;
        }
    }
    cta->barriers[id] = (struct cta_barrier){ 0 };
    cta->barriers_open &= ~(1u << id);
}

bool cta_barrier_arrive(struct emu_cta *cta, uint32_t id, uint32_t count, uint32_t threads)
{
    struct cta_barrier *b = &cta->barriers[id];
    cta->barriers_open |= 1u << id;
    b->arrived += threads;
    if (count) b->need = count;
    return b->arrived >= (b->need ? b->need : cta->live_threads);
}

/* Most often no lane of the warp is anywhere else. Then the warp stays as it is. */
const struct insn *cta_barrier_wait(const struct insn *in, struct warp *w, uint32_t id)
{
    if (w->flow->n || w->flow->join) return flow_block(w, in, SPLIT_BARRIER, id, false);
    w->next = in;
    w->flow->barrier = id + 1;
    w->state = WARP_SWITCH;
    return NULL;
}

void cta_barrier_finish(struct emu_cta *cta, uint32_t id) { barrier_complete(cta, id); }

void cta_barrier_check(struct emu_cta *cta)
{
    for (uint32_t open = cta->barriers_open; open; open &= open - 1) {
        uint32_t id = (uint32_t)__builtin_ctz(open);
        const struct cta_barrier *b = &cta->barriers[id];
        if (!b->need && b->arrived >= cta->live_threads) barrier_complete(cta, id);
    }
}

/* ---- running --------------------------------------------------------------------------------------------------------- */

/* False: a debugger gave the run up. */
static bool run_warp(struct warp *w, struct ctx *c)
{
    do {
        const struct insn *in = w->next;
        if (c->hook && debug_every(c)) debug_walk(w, c);
        else if (w->mask == FULL_MASK)
            do in = in->full(in, w, c);
            while (in);
        else
            do in = in->masked(in, w, c);
            while (in);
        if ((int)w->state == WARP_BREAK && !debug_ask(w, c)) return false;
    } while (w->state == WARP_RUN || (w->state == WARP_SWITCH && flow_pick(w)));
    return true;
}

/* The slice is over: the split goes to the end of the row. Lanes that wait in joins may be what it waits for. */
void warp_yield(struct warp *w, struct ctx *c)
{
    bool its = c->grid->launch.policy == EMU_ITS;
    flow_block(w, w->next, SPLIT_READY, 0, its);
    if (its && c->spun) flow_release(w);
}

/* Nothing in the CTA is ready: lanes that wait in joins go on without the others, if there are such. */
static bool cta_unblock(struct emu_cta *cta, struct ctx *c)
{
    bool any = false;
    for (uint32_t i = 0; i < cta->n_warps; i++) {
        struct warp *w = &cta->warps[i];
        if (w->state == WARP_DONE) continue;
        if (flow_sync_retry(w, c) || flow_release(w)) any = true;
    }
    return any;
}

bool ctx_sites(struct ctx *c, uint32_t n)
{
    if (c->n_sites >= n) return true;
    struct range_cache *sites = realloc(c->sites, n * sizeof *sites);
    if (!sites) return false;
    for (uint32_t i = c->n_sites; i < n; i++) sites[i] = (struct range_cache){ .lo = 1 };
    c->sites = sites;
    c->n_sites = n;
    return true;
}

bool cta_bind(struct emu_cta *cta, struct ctx *c)
{
    struct emu_kernel *k = cta->grid->kernel;
    c->grid = cta->grid;
    c->cta = cta;
    c->space = kernel_space(k);
    c->shared = cta->shared;
    c->shared_bytes = cta->shared_bytes;
    c->parallel = cta->grid->launch.parallel;
    c->fault.status = ST_OK;
    uint64_t generation = c->space ? emu_space_generation(c->space) : 0;
    uint32_t sites = kernel_sites(k);
    if (c->sites_kernel == k && c->n_sites >= sites && c->space_generation == generation) return true;
    if (!ctx_sites(c, sites)) return false;
    for (uint32_t i = 0; i < c->n_sites; i++) c->sites[i] = (struct range_cache){ .lo = 1 };
    c->sites_kernel = k;
    c->space_generation = generation;
    return true;
}

enum emu_result cta_no_memory(struct ctx *c)
{
    c->fault = (struct emu_fault){ .status = ST_OUT_OF_MEMORY, .report = "the host has no memory left to run a block" };
    return EMU_FAULT;
}

enum emu_result cta_run(struct emu_cta *cta, struct emu_worker *wk, int64_t quantum)
{
    struct ctx *c = &wk->c;
    if (!cta_bind(cta, c)) return cta_no_memory(c);
    for (;;) {
        bool whole = cta->next_warp == 0, ran = false, live = false;
        for (; cta->next_warp < cta->n_warps; cta->next_warp++) {
            struct warp *w = &cta->warps[cta->next_warp];
            if (w->state == WARP_DONE) continue;
            live = true;
            if (quantum <= 0) return EMU_YIELD;
            if (w->state == WARP_SWITCH && (w->flow->barrier || !flow_pick(w))) continue;
            ran = true;
            int64_t slice = quantum < SLICE ? quantum : SLICE;
            c->budget = slice;
            c->spun = false;
            if (!run_warp(w, c)) return EMU_BREAK;
            quantum -= slice - c->budget;
            if (w->state == WARP_FAULT) return EMU_FAULT;
            if (w->state == WARP_YIELD) warp_yield(w, c);
        }
        cta->next_warp = 0;
        if (!whole) continue;                  /* the rest of a round that a yield cut: the warps before have not had their turn */
        if (!live) {
            wk->ctas++;
            return EMU_DONE;
        }
        if (cta->mbarrier_waits && ran) mbarrier_turn(cta, c);
        if (!ran && !cta_unblock(cta, c) && !mbarrier_fail_all(cta, c)) return EMU_BLOCKED;
    }
}

enum emu_result emu_cta_run(struct emu_cta *cta, struct emu_worker *wk, int64_t quantum)
{
    return cta->cluster && cta->cluster->n > 1 ? cluster_run(cta->cluster, wk, quantum) : cta_run(cta, wk, quantum);
}

struct emu_cta *emu_cta_of_rank(struct emu_cta *cta, uint32_t rank)
{
    return !cta->cluster ? rank == 0 ? cta : NULL : rank < cta->cluster->n ? cta->cluster->cta[rank] : NULL;
}

/* ---- explaining ------------------------------------------------------------------------------------------------------------ */

static const char *const waits_for[] = { "ready", "reconvergence", "barrier", "lanes of mask", "sleep", "barrier of the cluster", "mbarrier" };

static void explain_split(const struct emu_cta *cta, const struct split *s, uint32_t warp, char *buf, size_t n)
{
    char what[160];
    const struct ptx_function *f = s->act->code->function;
    const struct ptx_insn *in = &f->insns[s->next->ptx];
    if (s->state == SPLIT_BARRIER)
        snprintf(buf, n, "warp %u lanes 0x%08x: barrier %u, %s line %u\n", warp, s->mask, s->sync_mask, f->name, in->line);
    else if (s->state == SPLIT_SYNC)
        snprintf(buf, n, "warp %u lanes 0x%08x: waits for lanes 0x%08x, %s line %u\n", warp, s->mask, s->sync_mask & ~s->mask, f->name, in->line);
    else if (s->state == SPLIT_MBARRIER) {
        mbarrier_explain(cta, s->next, s->act->frame, s->mask, what, sizeof what);
        snprintf(buf, n, "warp %u lanes 0x%08x: %s, %s line %u\n", warp, s->mask, what, f->name, in->line);
    } else
        snprintf(buf, n, "warp %u lanes 0x%08x: %s, %s line %u\n", warp, s->mask, waits_for[s->state], f->name, in->line);
}

static size_t explain_block(const struct emu_cta *cta, char *buf, size_t n)
{
    size_t at = 0;
    for (uint32_t i = 0; i < cta->n_warps; i++) {
        const struct warp *w = &cta->warps[i];
        const struct warp_flow *f = w->flow;
        struct split whole = { .next = w->next, .mask = w->mask, .sync_mask = f->barrier - 1, .state = SPLIT_BARRIER, .act = f->act };
        bool waits = f->barrier != 0;
        for (uint32_t k = 0; k < f->n + waits && at + 1 < n; k++) {
            explain_split(cta, k < f->n ? &f->waiting[k] : &whole, i, buf + at, n - at);
            at += strlen(buf + at);
        }
    }
    return at;
}

void emu_cta_explain(const struct emu_cta *cta, char *buf, size_t n)
{
    const struct cluster *k = cta->cluster;
    if (n) buf[0] = 0;
    size_t at = k ? 0 : explain_block(cta, buf, n);
    for (uint32_t r = 0; k && r < k->n && at + 1 < n; r++) {
        if (k->done >> r & 1) continue;
        if (k->n > 1) snprintf(buf + at, n - at, "block of rank %u in the cluster:\n", r);
        at += strlen(buf + at);
        at += explain_block(k->cta[r], buf + at, n - at);
    }
}
