/* What of the model is not plain bytes: a table for each struct that has pointers, and how those are named that lead from one part to another.
 *
 * Saved is a GPU between two windows, with the mail of the last one delivered (exchange_replies, which the next window would do first): then nothing lies in a
 * queue that belongs to a host thread, so that their number may be another one afterwards. */
#include <stdlib.h>
#include <string.h>

#include "emu/snapshot.h"
#include "timing/state.h"

#define MEMBER(T, m) .offset = offsetof(T, m), .bytes = sizeof(((T *)0)->m)
#define ELEMENT(T, m) .element = sizeof(*((T *)0)->m)
#define HOST(T, m) {.kind = STATE_HOST, MEMBER(T, m)}
#define ARRAY(T, m, n, t) {.kind = STATE_ARRAY, MEMBER(T, m), ELEMENT(T, m), .count = n, .type = t}
#define GROWN(T, m, n) {.kind = STATE_GROWN, MEMBER(T, m), ELEMENT(T, m), .count = n}
#define VECTOR(T, m) {.kind = STATE_VECTOR, MEMBER(T, m), .element = sizeof(*((T *)0)->m.at)}
#define PART(T, m, t) {.kind = STATE_PART, MEMBER(T, m), .element = sizeof(((T *)0)->m), .type = t}
#define PARTS(T, m, t) {.kind = STATE_PART, MEMBER(T, m), ELEMENT(T, m), .type = t}
#define CALL(T, m, fn) {.kind = STATE_CALL, MEMBER(T, m), .call = fn}
#define COUNT(name, T, expression) \
    static size_t name(const struct state *s, const void *owner) { const struct timing_gpu *g = s->gpu; const T *o = owner; (void)g, (void)o; return expression; }
#define TYPE(T, fields) {#T, sizeof(T), fields, sizeof(fields) / sizeof *(fields)}

enum { NONE = UINT32_MAX };

static bool refuse(struct state *s, const char *text)
{
    if (s->err->status == ST_OK)
        error_set(s->err, ST_INVALID_IMAGE, "%s", text);
    return false;
}

/* ---- parts ---- */

COUNT(n_lines, struct cache, o->lines ? (size_t)o->spec.sets * o->spec.ways : 0)
COUNT(n_orders, struct cache, o->order ? o->spec.sets : 0)
COUNT(n_index, struct cache, o->index ? (size_t)o->index_mask + 1 : 0)
static const struct state_field cache_spec_fields[] = {HOST(struct cache_spec, replacement)};
static const struct state_type cache_spec = TYPE(struct cache_spec, cache_spec_fields);
static const struct state_field cache_fields[] = {PART(struct cache, spec, &cache_spec), HOST(struct cache, map), ARRAY(struct cache, lines, n_lines, NULL),
                                                  ARRAY(struct cache, order, n_orders, NULL),
                                                  ARRAY(struct cache, links, n_lines, NULL), ARRAY(struct cache, index, n_index, NULL)};
static const struct state_type cache = TYPE(struct cache, cache_fields);

COUNT(n_table, struct mshr, o->table ? (size_t)o->mask + 1 : 0)
COUNT(n_mshr_nodes, struct mshr, o->nodes ? (size_t)o->entries * o->merge : 0)
static const struct state_field mshr_fields[] = {ARRAY(struct mshr, table, n_table, NULL), ARRAY(struct mshr, nodes, n_mshr_nodes, NULL)};
static const struct state_type mshr = TYPE(struct mshr, mshr_fields);

static const struct state_field side_fields[] = {HOST(struct side_cache, stats), PART(struct side_cache, tags, &cache), PART(struct side_cache, mshr, &mshr)};
static const struct state_type side = TYPE(struct side_cache, side_fields);

/* ---- memory ---- */

COUNT(n_ring, struct ring, o->room)
static const struct state_field ring_fields[] = {ARRAY(struct ring, at, n_ring, NULL)};
static const struct state_type ring = TYPE(struct ring, ring_fields);

COUNT(n_sms, struct slice, g->n_sms)
COUNT(n_present, struct slice, (g->n_sms + 63) / 64)
COUNT(n_rop, struct slice, o->rop_room)
COUNT(n_nodes, struct slice, o->n_nodes)
static const struct state_field slice_fields[] = {
    PART(struct slice, l2, &cache), PART(struct slice, mshr, &mshr), VECTOR(struct slice, arrivals), ARRAY(struct slice, by_sm, n_sms, NULL), GROWN(struct slice, nodes, n_nodes),
    ARRAY(struct slice, present, n_present, NULL), ARRAY(struct slice, rop, n_rop, NULL), PART(struct slice, to_dram, &ring), PART(struct slice, from_dram, &ring),
    HOST(struct slice, out), HOST(struct slice, far), PARTS(struct slice, near, &cache)};
static const struct state_type slice = TYPE(struct slice, slice_fields);

COUNT(n_dram_nodes, struct dram, o->n_nodes)
COUNT(n_back, struct dram, o->spec.return_queue)
static const struct state_field dram_spec_fields[] = {HOST(struct dram_spec, order)};
static const struct state_type dram_spec = TYPE(struct dram_spec, dram_spec_fields);
static const struct state_field dram_fields[] = {PART(struct dram, spec, &dram_spec), ARRAY(struct dram, nodes, n_dram_nodes, NULL),
                                                 ARRAY(struct dram, queued, n_dram_nodes, NULL), ARRAY(struct dram, back, n_back, NULL)};
static const struct state_type dram = TYPE(struct dram, dram_fields);

COUNT(n_slices, struct channel, g->config.mem.slices)
COUNT(n_delay, struct channel, o->delay_room)
static const struct state_field channel_fields[] = {HOST(struct channel, gpu), HOST(struct channel, granted), HOST(struct channel, worker), PART(struct channel, dram, &dram),
                                                    ARRAY(struct channel, slices, n_slices, &slice), ARRAY(struct channel, delay, n_delay, NULL)};
static const struct state_type channel = TYPE(struct channel, channel_fields);

/* ---- kernels, by their place in the list ---- */

static const struct state_field spec_fields[] = {HOST(struct timing_kernel_spec, grid), HOST(struct timing_kernel_spec, name), HOST(struct timing_kernel_spec, start),
                                                 HOST(struct timing_kernel_spec, start_user), HOST(struct timing_kernel_spec, user), HOST(struct timing_kernel_spec, sms)};
static const struct state_type spec = TYPE(struct timing_kernel_spec, spec_fields);
static const struct state_field kernel_fields[] = {HOST(struct kernel, next), PART(struct kernel, spec, &spec)};
static const struct state_type kernel = TYPE(struct kernel, kernel_fields);

static bool one_kernel(struct state *s, struct kernel *k)
{
    uint32_t number = state_loads(s) ? 0 : s->links->kernel_number(s->links->user, k->spec.user);
    if (!state_u32(s, &number) || !state_struct(s, &kernel, k))
        return false;
    return !state_loads(s) || s->links->kernel(s->links->user, number, &k->spec) || refuse(s, "a kernel of the simulated GPU in the checkpoint is not there now");
}

static bool kernel_list(struct state *s, void *owner, void *member)
{
    (void)owner;
    struct kernel **at = member;
    uint32_t n = 0;
    for (const struct kernel *k = *at; k; k = k->next)
        n++;
    if (state_loads(s) && n)
        return refuse(s, "kernels are resident on the simulated GPU already");
    if (!state_u32(s, &n))
        return false;
    for (; n; n--, at = &(*at)->next)
        if ((state_loads(s) && !(*at = calloc(1, sizeof **at))) || !one_kernel(s, *at))
            return false;
    return true;
}

static bool kernel_ref(struct state *s, struct kernel **at)
{
    uint32_t n = 0;
    struct kernel *k = s->gpu->kernels;
    for (; !state_loads(s) && k && k != *at; k = k->next)
        n++;
    if (!state_u32(s, &n))
        return false;
    if (state_loads(s))
        for (k = s->gpu->kernels; k && n; k = k->next)
            n--;
    *at = k;
    return k != NULL;
}

/* ---- code, by its place in a list ---- */

static bool function_noted(struct state *s, const struct ptx_function *f)
{
    for (size_t i = 0; i < s->n_functions; i++)
        if (s->functions[i] == f)
            return true;
    const struct ptx_function **more = realloc(s->functions, (s->n_functions + 1) * sizeof *more);
    if (!more)
        return false;
    s->functions = more;
    more[s->n_functions++] = f;
    return true;
}

static bool note_functions(struct state *s)
{
    for (uint32_t i = 0; i < s->gpu->n_sms; i++)
        for (uint32_t k = 0; k < MAX_WARPS; k++) {
            const struct warp_slot *w = &s->gpu->sms[i].warps[k];
            if (w->block && w->code && !function_noted(s, w->code->function))
                return false;
        }
    return true;
}

static bool functions(struct state *s, void *owner, void *member)
{
    (void)owner, (void)member;
    if (!state_loads(s) && !note_functions(s))
        return refuse(s, "no host memory to save the simulated GPU");
    uint32_t n = (uint32_t)s->n_functions;
    if (!state_u32(s, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t number[2] = {0, 0};
        if (!state_loads(s) && !s->links->function_number(s->links->user, s->functions[i], number))
            return refuse(s, "a warp executes code of no module");
        if (!state_bytes(s, number, sizeof number))
            return false;
        const struct ptx_function *f = state_loads(s) ? s->links->function(s->links->user, number) : NULL;
        if (state_loads(s) && (!f || !function_noted(s, f) || s->n_functions != i + 1))
            return refuse(s, "a function of the checkpoint is not there now");
    }
    return true;
}

static bool code_ref(struct state *s, void *owner, void *member)
{
    const struct warp_slot *w = owner;
    const struct timing_code **at = member;
    uint32_t n = NONE;
    for (uint32_t i = 0; !state_loads(s) && w->block && w->code && i < s->n_functions; i++)
        if (s->functions[i] == w->code->function)
            n = i;
    if (!state_u32(s, &n))
        return false;
    if (state_loads(s))
        *at = n < s->n_functions ? code_of(&s->gpu->codes, s->functions[n]) : NULL;
    return !state_loads(s) || n == NONE || (*at && w->insn < (*at)->function->n_insns);
}

/* ---- clusters, by their place in a list ---- */

static bool cluster_noted(struct state *s, struct cluster_run *c)
{
    for (size_t i = 0; i < s->n_clusters; i++)
        if (s->clusters[i] == c)
            return true;
    struct cluster_run **more = realloc(s->clusters, (s->n_clusters + 1) * sizeof *more);
    if (!more)
        return false;
    s->clusters = more;
    more[s->n_clusters++] = c;
    return true;
}

static bool note_clusters(struct state *s)
{
    for (uint32_t i = 0; i < s->gpu->n_sms; i++)
        for (uint32_t k = 0; k < MAX_WARPS; k++) {
            const struct block *b = &s->gpu->sms[i].blocks[k];
            if (b->cta && b->cluster && !cluster_noted(s, b->cluster))
                return false;
        }
    return true;
}

static bool one_cluster(struct state *s, struct cluster_run *c)
{
    if (!state_u32(s, &c->n) || !state_u32(s, &c->left) || c->n > CLUSTER_GROUP)
        return false;
    for (uint32_t i = 0; i < c->n; i++) {
        struct cluster_place *p = &c->at[i];
        uint32_t where[2] = {0, NONE};
        if (!state_loads(s)) {
            where[0] = p->sm->number;
            where[1] = p->block ? (uint32_t)(p->block - p->sm->blocks) : NONE;
        }
        if (!state_bytes(s, where, sizeof where) || where[0] >= s->gpu->n_sms || (where[1] >= MAX_WARPS && where[1] != NONE))
            return false;
        p->sm = &s->gpu->sms[where[0]];
        p->block = where[1] == NONE ? NULL : &p->sm->blocks[where[1]];
    }
    return true;
}

static bool clusters(struct state *s, void *owner, void *member)
{
    (void)owner, (void)member;
    if (!state_loads(s) && !note_clusters(s))
        return refuse(s, "no host memory to save the simulated GPU");
    uint32_t n = (uint32_t)s->n_clusters;
    if (!state_u32(s, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        struct cluster_run *c = state_loads(s) ? calloc(1, sizeof *c) : s->clusters[i];
        if (!c || (state_loads(s) && !cluster_noted(s, c))) {
            free(c);
            return refuse(s, "no host memory to load the simulated GPU");
        }
        if (!one_cluster(s, c))
            return false;
    }
    return true;
}

/* ---- SMs ---- */

static bool resident(struct state *s, struct kernel *k, struct emu_cta **out)
{
    *out = s->links->resident(s->links->user, k->spec.user, s->sm->worker);
    return *out || refuse(s, "a block of the simulated GPU in the checkpoint cannot be put back");
}

static bool cluster_block(struct state *s, struct block *b, struct cluster_run *c)
{
    if (!c->cta && !resident(s, b->kernel, &c->cta))
        return false;
    for (uint32_t i = 0; i < c->n; i++)
        if (c->at[i].block == b)
            b->cta = emu_cta_of_rank(c->cta, i);
    b->cluster = c;
    return b->cta != NULL;
}

/* A CTA, its kernel and its cluster. Those that had started come in the order in which timing_kernel_resident names them. */
static bool block_links(struct state *s, void *owner, void *member)
{
    (void)member;
    struct block *b = owner;
    uint32_t there = b->cta != NULL, n = 0;
    while (!state_loads(s) && n < s->n_clusters && s->clusters[n] != b->cluster)
        n++;
    if (!state_u32(s, &there) || !state_u32(s, &n) || !there)
        return !(s->to ? s->to->failed : s->from->failed);
    if (!kernel_ref(s, &b->kernel))
        return false;
    if (!state_loads(s))
        return true;
    return n < s->n_clusters ? cluster_block(s, b, s->clusters[n]) : resident(s, b->kernel, &b->cta);
}

/* cta, kernel and cluster are neighbours, and one affair. */
static const struct state_field block_fields[] = {{.kind = STATE_CALL, .offset = offsetof(struct block, cta), .bytes = offsetof(struct block, warps), .call = block_links}};
_Static_assert(offsetof(struct block, cta) == 0 && offsetof(struct block, warps) == 3 * sizeof(void *), "cta, kernel, cluster come first");
static const struct state_type block = TYPE(struct block, block_fields);

static bool block_ref(struct state *s, void *owner, void *member)
{
    (void)owner;
    struct block **at = member;
    uint32_t n = !state_loads(s) && *at ? (uint32_t)(*at - s->sm->blocks) : NONE;
    if (!state_u32(s, &n))
        return false;
    *at = n < MAX_WARPS ? &s->sm->blocks[n] : NULL;
    return !state_loads(s) || n == NONE || (*at && (*at)->cta);
}

static const struct state_field warp_fields[] = {CALL(struct warp_slot, block, block_ref), CALL(struct warp_slot, code, code_ref)};
static const struct state_type warp = TYPE(struct warp_slot, warp_fields);

static bool side_ref(struct state *s, void *owner, void *member)
{
    (void)owner;
    struct side_cache **at = member, *const all[] = {NULL, &s->sm->l1c, &s->sm->l1t};
    uint32_t n = 0;
    while (!state_loads(s) && n < 3 && all[n] != *at)
        n++;
    if (!state_u32(s, &n) || n >= 3)
        return false;
    *at = all[n];
    return true;
}

static const struct state_field op_fields[] = {CALL(struct mem_op, side, side_ref)};
static const struct state_type op = TYPE(struct mem_op, op_fields);

static const struct state_field scheduler_fields[] = {HOST(struct scheduler, policy)};
static const struct state_type scheduler = TYPE(struct scheduler, scheduler_fields);
static const struct state_field fetch_fields[] = {PART(struct fetch, l1i, &side)};
static const struct state_type fetch = TYPE(struct fetch, fetch_fields);

/* One that is under way, and the CTA whose it is. */
static bool one_pending(struct state *s, struct emu_pending *p)
{
    struct block *blocks = s->sm->blocks;
    uint32_t b = 0;
    while (!state_loads(s) && b < MAX_WARPS && blocks[b].cta != p->cta)
        b++;
    if (!state_u32(s, &b) || b >= MAX_WARPS || !blocks[b].cta)
        return refuse(s, "an access of the simulated GPU is of no block");
    if (state_loads(s))
        return emu_pending_restore(p, blocks[b].cta, s->from);
    emu_pending_save(p, p->mask, s->to);
    return !s->to->failed;
}

/* Where there is none the table has what the last one left. */
static bool pending(struct state *s, void *owner, void *member)
{
    (void)member;
    struct sm *m = owner;
    char *is_free = calloc(m->n_pending, 1);
    bool good = is_free && m->n_free_pending <= m->n_pending;
    for (uint32_t i = 0; good && i < m->n_free_pending; i++) {
        good = m->free_pending[i] < m->n_pending;
        if (good)
            is_free[m->free_pending[i]] = 1;
    }
    for (uint32_t i = 0; good && i < m->n_pending; i++)
        good = is_free[i] || one_pending(s, &m->pending[i]);
    free(is_free);
    return good;
}

COUNT(n_collect, struct sm, o->collect ? collect_bytes() : 0)
COUNT(n_loads, struct sm, o->n_loads)
COUNT(n_pending, struct sm, o->n_pending)
COUNT(n_pool, struct sm, o->pool_size)
static const struct state_field sm_fields[] = {
    HOST(struct sm, gpu), HOST(struct sm, worker), HOST(struct sm, out), HOST(struct sm, ended),
    PARTS(struct sm, blocks, &block), PARTS(struct sm, warps, &warp), PARTS(struct sm, schedulers, &scheduler), PARTS(struct sm, queue, &op),
    {.kind = STATE_ARRAY, MEMBER(struct sm, collect), .element = 1, .count = n_collect}, ARRAY(struct sm, loads, n_loads, NULL), ARRAY(struct sm, free_pending, n_pending, NULL), ARRAY(struct sm, pending_order, n_pending, NULL), CALL(struct sm, pending, pending),
    PART(struct sm, l1, &cache), PART(struct sm, l1_mshr, &mshr), PART(struct sm, l1c, &side), PART(struct sm, l1t, &side), PART(struct sm, fetch, &fetch),
    GROWN(struct sm, pool, n_pool), GROWN(struct sm, pool_free, n_pool), VECTOR(struct sm, inbox)};
static const struct state_type sm = TYPE(struct sm, sm_fields);

static bool each_sm(struct state *s, void *owner, void *member)
{
    (void)owner, (void)member;
    for (uint32_t i = 0; i < s->gpu->n_sms; i++) {
        s->sm = &s->gpu->sms[i];
        s->sm->worker = team_worker(s->gpu->team, i / s->gpu->group);
        if (!state_struct(s, &sm, s->sm))
            return false;
    }
    return true;
}

/* ---- the GPU ---- */

COUNT(n_channels, struct timing_gpu, o->n_channels)
/* In the order in which things refer to each other. What is named once more below `codes` to be an order of its own has no bytes. */
static const struct state_field gpu_fields[] = {
    HOST(struct timing_gpu, config), HOST(struct timing_gpu, map), HOST(struct timing_gpu, stopped), HOST(struct timing_gpu, n_threads), HOST(struct timing_gpu, exchange),
    HOST(struct timing_gpu, team), HOST(struct timing_gpu, ended), HOST(struct timing_gpu, halt), HOST(struct timing_gpu, halt_user),
    CALL(struct timing_gpu, codes, functions), CALL(struct timing_gpu, kernels, kernel_list),
    {.kind = STATE_CALL, .offset = offsetof(struct timing_gpu, sms), .call = clusters}, CALL(struct timing_gpu, sms, each_sm),
    ARRAY(struct timing_gpu, channels, n_channels, &channel)};
const struct state_type state_gpu = TYPE(struct timing_gpu, gpu_fields);

static uint64_t layout(void)
{
    const struct state_type *const others[] = {&sm, &kernel};      /* of calls */
    uint64_t hash = state_layout(&state_gpu, sizeof(struct cluster_run));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        hash = state_layout(others[i], hash);
    return hash;
}

static bool all(struct state *s)
{
    size_t most = 0;
    const struct state_type *const types[] = {&state_gpu, &sm, &channel, &slice, &dram, &op, &kernel};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        most = types[i]->bytes > most ? types[i]->bytes : most;
    s->room = malloc(most);
    bool good = s->room && state_struct(s, &state_gpu, s->gpu);
    free(s->room);
    return good;
}

enum status state_save(struct state *s)
{
    struct timing_gpu *g = s->gpu;
    for (unsigned t = 0; t < g->n_threads; t++)
        exchange_replies(g, t);
    put_u64(s->to, layout());
    bool good = all(s);
    free(s->functions);
    free(s->clusters);
    if (good || s->err->status != ST_OK)
        return good ? ST_OK : s->err->status;
    return error_set(s->err, ST_UNKNOWN, "the state of the simulated GPU cannot be saved");
}

enum status timing_gpu_save(struct timing_gpu *g, const struct timing_links *links, struct sink *to, struct error *err)
{
    struct error own = {0};
    enum status st = state_save(&(struct state){.gpu = g, .links = links, .to = to, .err = &own});
    if (st != ST_OK && err)
        *err = own;
    return st;
}

enum status timing_gpu_load(struct timing_gpu *g, const struct timing_links *links, struct source *from, struct error *err)
{
    struct error own = {0};
    struct state s = {.gpu = g, .links = links, .from = from, .err = &own};
    if (get_u64(from) != layout() && !from->failed)
        return error_set(err, ST_NOT_SUPPORTED, "the timing state in the checkpoint is of another build of the simulated GPU");
    bool good = !from->failed && all(&s);
    free(s.functions);
    free(s.clusters);
    if (!good)
        return error_set(err, own.status != ST_OK ? own.status : ST_INVALID_IMAGE, "%s", own.status != ST_OK ? own.text : "the timing state in the checkpoint makes no sense");
    g->replies_taken = true;
    return ST_OK;
}
