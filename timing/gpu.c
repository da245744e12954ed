/* The GPU: windows, CTA dispatch, host threads, kernels.
 *
 * A window is as long as the way to an L2 slice and back takes at least. In it all SMs run, then all channels: what an SM sends in a window cannot be
 * answered before the next, so neither half needs to know what the other does meanwhile. An SM that could take a CTA stops; when all have stopped or are at
 * the window's end, CTAs are given out in the order of the cycles at which they stopped. */
#include "timing/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- from the configuration ---------------------------------------------------------------------------------------------------------------------------- */

struct cache_spec cache_spec_of(const struct timing_cache *c)
{
    static const enum set_hash hashes[] = {SET_LINEAR, SET_XOR, SET_IPOLY, SET_FERMI};
    static const enum cache_write writes[] = {CACHE_READ_ONLY, CACHE_WRITE_BACK, CACHE_WRITE_THROUGH, CACHE_WRITE_EVICT, CACHE_LOCAL_BACK};
    static const enum cache_write_alloc allocs[] = {CACHE_NO_ALLOCATE, CACHE_ALLOCATE, CACHE_FETCH_ON_WRITE, CACHE_LAZY_FETCH};
    return (struct cache_spec){.sectored = c->kind == TIMING_CACHE_SECTORED, .sets = c->sets, .ways = c->assoc, .line_bytes = c->line, .set_hash = hashes[c->index],
                               .replacement = c->replace == TIMING_REPLACE_FIFO ? &replacement_fifo : &replacement_lru, .write = writes[c->write],
                               .alloc = c->allocate == TIMING_ON_MISS ? CACHE_ON_MISS : CACHE_ON_FILL, .write_alloc = allocs[c->write_allocate]};
}

enum timing_outcome outcome_of(enum cache_result r)
{
    static const enum timing_outcome outcomes[] = {[CACHE_HIT] = TIMING_HIT, [CACHE_HIT_RESERVED] = TIMING_HIT_RESERVED, [CACHE_MISS] = TIMING_MISS,
                                                   [CACHE_SECTOR_MISS] = TIMING_SECTOR_MISS, [CACHE_RESERVATION_FAIL] = TIMING_RESERVATION_FAIL};
    return outcomes[r];
}

static uint64_t hz(double mhz) { return (uint64_t)llround(mhz * 1e6); }

static uint64_t window_of(const struct timing_config *c)
{
    uint64_t w = c->mem.l2_latency;
    return w < 1 ? 1 : w > 256 ? 256 : w;
}

enum status timing_gpu_create(struct timing_gpu **out, const struct timing_config *config, unsigned threads, struct error *err)
{
    struct timing_gpu *g = *out = calloc(1, sizeof *g);
    if (!g)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for a simulated GPU");
    g->config = *config;
    g->clocks = (struct clocks){{hz(config->clock.core), hz(config->clock.noc), hz(config->clock.l2), hz(config->clock.dram)}};
    g->coalescer = (struct coalescer){config->lsu.coalesce_arch, config->smem.warp_parts > 2 ? 2 : config->smem.warp_parts};
    g->window = window_of(config);
    g->n_sms = config->derived.sms;
    g->n_channels = config->mem.channels;
    g->n_slices = config->derived.slices;
    code_table_init(&g->codes, &g->config);
    g->group = 1;
    g->judged = true;
    enum status st = team_create(&g->team, threads, err);
    g->n_threads = st == ST_OK ? team_size(g->team) : 0;
    for (unsigned t = 0; t < g->n_threads && st == ST_OK; t++)
        if (!(g->exchange[t].granted = calloc(g->n_sms, sizeof *g->exchange[t].granted)))
            st = error_set(err, ST_OUT_OF_MEMORY, "no host memory for %u SMs", g->n_sms);
    if (st == ST_OK && (config->derived.warps_per_sm > MAX_WARPS || config->issue.schedulers > MAX_SCHEDULERS))
        st = error_set(err, ST_NOT_SUPPORTED, "%u warps and %u schedulers an SM: at most %d and %d are modelled", config->derived.warps_per_sm, config->issue.schedulers,
                       MAX_WARPS, MAX_SCHEDULERS);
    if (st == ST_OK)
        st = addrmap_create(&g->map, &config->mem.map, config->mem.channels, config->mem.slices, (enum partition_indexing)config->mem.hash, err);
    g->sms = slab_alloc(g->n_sms, sizeof *g->sms);
    g->channels = slab_alloc(g->n_channels, sizeof *g->channels);
    g->stopped = calloc(g->n_sms, sizeof *g->stopped);
    if (st == ST_OK && (!g->sms || !g->channels || !g->stopped))
        st = error_set(err, ST_OUT_OF_MEMORY, "no host memory for %u SMs and %u memory channels", g->n_sms, g->n_channels);
    for (uint32_t i = 0; st == ST_OK && i < g->n_sms; i++)
        st = sm_create(&g->sms[i], g, i, err);
    for (uint32_t i = 0; st == ST_OK && i < g->n_channels; i++)
        st = channel_create(&g->channels[i], g, i, err);
    for (uint32_t i = 0; st == ST_OK && i < g->n_sms; i++)
        g->sms[i].worker = team_worker(g->team, i);
    for (uint32_t i = 0; st == ST_OK && i < g->n_channels; i++)
        g->channels[i].worker = team_worker(g->team, i);
    if (st != ST_OK) {
        timing_gpu_free(g);
        *out = NULL;
    }
    return st;
}

void timing_gpu_free(struct timing_gpu *g)
{
    if (!g)
        return;
    for (uint32_t i = 0; g->sms && i < g->n_sms; i++)
        if (g->sms[i].gpu)
            sm_destroy(&g->sms[i]);
    for (uint32_t i = 0; g->channels && i < g->n_channels; i++)
        if (g->channels[i].gpu)
            channel_destroy(&g->channels[i]);
    team_free(g->team);
    kernels_free(&g->kernels);
    kernels_free(&g->ended);
    for (unsigned t = 0; t < g->n_threads; t++) {
        mail_free(&g->exchange[t].mail);
        free(g->exchange[t].granted);
    }
    code_table_free(&g->codes);
    free(g->stopped);
    slab_free(g->sms);
    slab_free(g->channels);
    free(g);
}

void timing_gpu_lowering(struct timing_gpu *g, timing_lower_fn *lower, void *user)
{
    g->codes.lower = lower;
    g->codes.user = user;
}

const struct timing_config *timing_gpu_config(const struct timing_gpu *g) { return &g->config; }

uint64_t timing_gpu_cycle(const struct timing_gpu *g) { return g->now; }

/* ---- kernels --------------------------------------------------------------------------------------------------------------------------------------------- */

enum status timing_kernel_start(struct timing_gpu *g, const struct timing_kernel_spec *spec, struct error *err)
{
    uint32_t per_sm = timing_ctas_per_sm(g, spec);
    if (!per_sm)
        return error_set(err, ST_LAUNCH_OUT_OF_RESOURCES, "%s: a CTA of %u threads with %u registers each and %u bytes of shared memory does not fit an SM of the simulated GPU", spec->name,
                         spec->threads, spec->regs, spec->shared_bytes);
    if (spec->cluster > 1 && cluster_most(g, per_sm) < spec->cluster)
        return error_set(err, ST_LAUNCH_OUT_OF_RESOURCES, "%s: a cluster of %u CTAs does not fit: %d neighbouring SMs of the simulated GPU hold %u", spec->name, spec->cluster,
                         CLUSTER_GROUP, cluster_most(g, per_sm));
    struct kernel *k = calloc(1, sizeof *k);
    if (!k)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory to start %s", spec->name);
    const struct timing_config *c = &g->config;
    k->spec = *spec;
    k->n_ctas = (uint64_t)spec->grid_dim[0] * spec->grid_dim[1] * spec->grid_dim[2];
    if (spec->start)
        k->n_ctas = spec->n_starts * (spec->cluster > 1 ? spec->cluster : 1);
    k->shared_limit = fit_shared(c, spec->shared_bytes + c->smem.reserved, per_sm);
    if (k->n_ctas < (uint64_t)per_sm * g->n_sms)
        per_sm = (uint32_t)((k->n_ctas + g->n_sms - 1) / g->n_sms);
    while (cluster_most(g, per_sm) < spec->cluster)
        per_sm++;
    k->per_sm = per_sm;
    k->l1_ways = fit_l1_ways(c, k->shared_limit);
    uint64_t from = spec->ready_cycle > g->now ? spec->ready_cycle : g->now;
    k->visible = from + c->launch.kernel_latency + k->n_ctas * c->launch.cta_latency;
    k->started = k->visible;
    struct kernel **at = &g->kernels;
    while (*at)
        at = &(*at)->next;
    *at = k;
    return ST_OK;
}

bool timing_kernel_take(struct timing_gpu *g, struct timing_kernel_result *out)
{
    struct kernel *k = g->ended;
    if (!k)
        return false;
    g->ended = k->next;
    *out = (struct timing_kernel_result){k->spec.user, k->started, k->ended, k->thread_insns, k->warp_insns, k->n_ctas};
    free(k);
    return true;
}

/* ---- giving out CTAs ------------------------------------------------------------------------------------------------------------------------------------------ */

static bool ctas_left(const struct timing_gpu *g, uint64_t now)
{
    uint32_t most = g->config.launch.kernels;
    for (const struct kernel *k = g->kernels; k && most; k = k->next, most--)
        if (k->next_cta < k->n_ctas && k->visible <= now)
            return true;
    return false;
}

static bool may_run(const struct kernel *k, const struct sm *s) { return !k->spec.sms || k->spec.sms[s->number / 64] >> s->number % 64 & 1; }

/* Gives SM s a CTA of the first kernel that has one which fits. */
static bool give(struct timing_gpu *g, struct sm *s)
{
    uint32_t most = g->config.launch.kernels;
    for (struct kernel *k = g->kernels; k && most; k = k->next, most--) {
        if (k->next_cta >= k->n_ctas || k->visible > s->now || !may_run(k, s) || !sm_fits(s, k))
            continue;
        struct error err = {0};
        bool cluster = k->spec.cluster > 1, taken = true;
        if ((cluster ? cluster_take(s, k, &taken, &err) : sm_take(s, k, k->next_cta, &err)) != ST_OK) {
            s->faulted = true;
            s->fault = (struct emu_fault){.status = err.status};
            snprintf(s->fault.report, sizeof s->fault.report, "%s", err.text);
            return false;
        }
        if (!taken)
            continue;
        k->next_cta += cluster ? k->spec.cluster : 1;
        g->stats.ctas += cluster ? k->spec.cluster : 1;
        return true;
    }
    return false;
}

/* One CTA for every SM in turn, until none takes one: as hardware spreads them. */
static void give_all(struct timing_gpu *g)
{
    for (bool any = ctas_left(g, g->now); any;) {
        any = false;
        for (uint32_t i = 0; i < g->n_sms; i++) {
            g->sms[i].cta_from = 0;
            any = give(g, &g->sms[i]) || any;
        }
    }
}

static int by_stop(const void *a, const void *b)
{
    const struct sm *x = *(struct sm *const *)a, *y = *(struct sm *const *)b;
    if (x->now != y->now)
        return x->now < y->now ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* SMs that stopped for a CTA get one each, in the order of their cycles. False: none had stopped. */
static bool give_stopped(struct timing_gpu *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_sms; i++)
        if (g->sms[i].wants_cta)
            g->stopped[n++] = &g->sms[i];
    if (n > 1)
        qsort(g->stopped, n, sizeof *g->stopped, by_stop);
    for (uint32_t i = 0; i < n; i++) {
        struct sm *s = g->stopped[i];
        s->wants_cta = false;
        s->cta_from = 0;
        while (give(g, s))
            ;
    }
    return n != 0;
}

/* ---- a window ------------------------------------------------------------------------------------------------------------------------------------------------- */

static void run_sm(struct timing_gpu *g, struct sm *s)
{
    if (sm_idle(s) && !s->wants_cta && !s->faulted) {
        s->now = g->until;
        s->resume = false;
        return;
    }
    s->lsu_retry = true;
    lsu_expect(s, g->until);
    if (s->resume)
        sm_advance(s, g->until);
    sm_run(s, g->until);
    s->resume = s->now < g->until;
}

static void run_group(void *user, uint32_t i)
{
    struct timing_gpu *g = user;
    if (i < g->n_threads && !g->replies_taken) /* each thread's first */
        exchange_replies(g, i);
    for (uint32_t k = i * g->group; k < (i + 1) * g->group && k < g->n_sms; k++) {
        g->sms[k].worker = team_worker(g->team, i);
        run_sm(g, &g->sms[k]);
    }
}

static void run_channel(void *user, uint32_t i)
{
    struct timing_gpu *g = user;
    if (i < g->n_threads)
        exchange_requests(g, i);
    channel_run(&g->channels[i], g->until);
}

/* Clusters run on one host thread: other SMs belong to other threads than before. */
static void regroup(struct timing_gpu *g, uint32_t group)
{
    for (unsigned t = 0; t < g->n_threads && group != g->group; t++)
        exchange_replies(g, t);
    g->replies_taken = group != g->group;
    g->group = group;
}

/* SMs in their order, as long as somebody asks the host for something. */
static void run_groups(struct timing_gpu *g, bool in_order)
{
    uint32_t n = (g->n_sms + g->group - 1) / g->group;
    if (!in_order)
        team_run(g->team, n, run_group, g);
    for (uint32_t i = 0; in_order && i < n; i++)
        run_group(g, i);
}

static void window(struct timing_gpu *g, uint64_t until)
{
    g->until = until;
    bool more = false, in_order = false;
    uint32_t group = 1;
    for (const struct kernel *k = g->kernels; k; k = k->next) {
        more = more || k->next_cta < k->n_ctas;
        in_order = in_order || k->spec.calls_host;
        if (k->spec.cluster > 1)
            group = CLUSTER_GROUP;
    }
    regroup(g, group);
    for (uint32_t i = 0; i < g->n_sms; i++)
        g->sms[i].more_ctas = more;
    give_all(g);
    do {
        run_groups(g, in_order);
        g->replies_taken = true;
    } while (give_stopped(g));
    team_run(g->team, g->n_channels, run_channel, g);
    g->now = until;
}

/* ---- running --------------------------------------------------------------------------------------------------------------------------------------------------- */

static void sum_ended(struct timing_gpu *g)
{
    for (uint32_t i = 0; i < g->n_sms; i++) {
        struct sm *s = &g->sms[i];
        for (size_t k = 0; k < s->ended.n; k++) {
            const struct ended_cta *e = &s->ended.at[k];
            e->kernel->ended_ctas++;
            e->kernel->thread_insns += e->thread_insns;
            e->kernel->warp_insns += e->warp_insns;
            e->kernel->ended = e->cycle > e->kernel->ended ? e->cycle : e->kernel->ended;
        }
        s->ended.n = 0;
    }
}

void gpu_window(struct timing_gpu *g, uint64_t until)
{
    window(g, until);
    sum_ended(g);
}

static bool move_ended(struct timing_gpu *g)
{
    bool any = false;
    for (struct kernel **at = &g->kernels; *at;) {
        struct kernel *k = *at;
        if (k->ended_ctas < k->n_ctas) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        k->next = NULL;
        struct kernel **end = &g->ended;
        while (*end)
            end = &(*end)->next;
        *end = k;
        g->stats.kernels++;
        any = true;
    }
    if (any && !g->kernels && g->config.mem.flush_l2)
        for (uint32_t i = 0; i < g->n_slices; i++)
            slice_flush(&g->channels[i / g->config.mem.slices].slices[i % g->config.mem.slices]);
    return any;
}

static bool any_fault(struct timing_gpu *g)
{
    for (unsigned t = 0; t < g->n_threads; t++)
        if (g->exchange[t].no_memory) {
            g->fault = (struct emu_fault){.status = ST_OUT_OF_MEMORY};
            snprintf(g->fault.report, sizeof g->fault.report, "no host memory for messages between the SMs and the memory channels of the simulated GPU");
            return g->faulted = true;
        }
    for (uint32_t i = 0; i < g->n_sms; i++)
        if (g->sms[i].faulted) {
            g->fault = g->sms[i].fault;
            return g->faulted = true;
        }
    return false;
}

/* Nothing is under way anywhere, nothing will wake by itself, and no kernel waits for its launch latency. A warp that could issue and may not, by the policy of its
 * scheduler, is no sign of life. */
static bool stuck(struct timing_gpu *g)
{
    for (const struct kernel *k = g->kernels; k; k = k->next)
        if (k->visible >= g->now)
            return false;
    for (uint32_t i = 0; i < g->n_sms; i++) {
        struct sm *s = &g->sms[i];
        bool issued = s->ready && s->issued_before != s->stats.machine_instructions;
        s->issued_before = s->stats.machine_instructions;
        if (issued || s->fetch.wanted || s->queue_n || s->inbox.n > s->inbox_at)
            return false;
        for (uint32_t w = 0; w < NEVER_SOON / 64; w++)
            if (s->wheel_bits[w])
                return false;
    }
    for (uint32_t i = 0; i < g->n_channels; i++)
        if (!channel_idle(&g->channels[i]))
            return false;
    return true;
}

/* The end of the next window: not beyond the cycle at which a kernel's CTAs may start; a GPU with nothing to do jumps there. */
static uint64_t window_end(const struct timing_gpu *g, uint64_t until)
{
    uint64_t end = g->now + g->window, visible = NEVER;
    bool idle = true;
    for (const struct kernel *k = g->kernels; k; k = k->next) {
        if (k->visible > g->now)
            visible = k->visible < visible ? k->visible : visible;
        else
            idle = false;
    }
    if (idle || visible < end)
        end = visible;
    if (g->config.stop.cycles && g->config.stop.cycles < end)
        end = g->config.stop.cycles;
    return end < until ? end : until;
}

/* The limit of group stop that was reached; NULL: none. */
static const char *limit_reached(const struct timing_gpu *g, uint64_t *limit)
{
    const struct timing_config *c = &g->config;
    uint64_t instructions = 0, completed = 0;
    if (!(c->stop.cycles | c->stop.instructions | c->stop.ctas | c->stop.completed_ctas))
        return NULL;
    for (uint32_t i = 0; i < g->n_sms; i++) {
        instructions += g->sms[i].stats.instructions;
        completed += g->sms[i].stats.ctas;
    }
    const struct { const char *name; uint64_t limit, count; } limits[] = {{"stop.cycles", c->stop.cycles, g->now}, {"stop.instructions", c->stop.instructions, instructions},
                                                                          {"stop.ctas", c->stop.ctas, g->stats.ctas}, {"stop.completed_ctas", c->stop.completed_ctas, completed}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].limit && limits[i].count >= limits[i].limit) {
            *limit = limits[i].limit;
            return limits[i].name;
        }
    return NULL;
}

void timing_stopped(const struct timing_gpu *g, char *buf, size_t n)
{
    uint64_t limit = 0;
    const char *name = limit_reached(g, &limit);
    snprintf(buf, n, "the simulation ends here, as %s = %llu says: kernels that had not ended by now are given up", name ? name : "stop", (unsigned long long)limit);
}

/* What the last window has led to; LIMIT: nothing. */
static enum timing_stop judge(struct timing_gpu *g)
{
    if (any_fault(g))
        return TIMING_FAULT;
    if (g->halt && g->halt(g->halt_user))
        return TIMING_HALTED;
    g->judged = true;
    return move_ended(g) ? TIMING_KERNEL_ENDED : stuck(g) ? TIMING_DEADLOCK : TIMING_LIMIT;
}

enum timing_stop timing_gpu_run(struct timing_gpu *g, uint64_t until)
{
    for (;;) {
        if (!g->kernels)
            return TIMING_IDLE;
        enum timing_stop stop = g->judged ? TIMING_LIMIT : judge(g);
        if (stop != TIMING_LIMIT)
            return stop;
        uint64_t limit;
        if (limit_reached(g, &limit))
            return TIMING_STOPPED;
        if (g->now >= until || g->returns) {
            g->returns = false;
            return TIMING_LIMIT;
        }
        gpu_window(g, window_end(g, until));
        g->judged = false;
    }
}

void timing_gpu_return(struct timing_gpu *g) { g->returns = true; }

void timing_gpu_halt(struct timing_gpu *g, bool (*halt)(void *user), void *user)
{
    g->halt = halt;
    g->halt_user = user;
}

void timing_gpu_pass(struct timing_gpu *g, uint64_t until)
{
    if (!g->kernels && until > g->now)
        window(g, until);
}

void timing_gpu_stats(const struct timing_gpu *g, struct timing_stats *out)
{
    memset(out, 0, sizeof *out);
    out->gpu = g->stats;
    out->gpu.cycles = g->now;
    out->gpu.time_ps = (uint64_t)((double)g->now * 1e6 / g->config.clock.core);
    for (uint32_t i = 0; i < g->n_sms; i++)
        out->noc.request.packets += g->sms[i].packets;
    for (uint32_t i = 0; i < g->n_channels; i++)
        out->noc.reply.packets += g->channels[i].packets;
    for (uint32_t i = 0; i < g->n_sms; i++)
        timing_stats_add(TIMING_STATS_sm, &out->sm, &g->sms[i].stats);
    for (uint32_t i = 0; i < g->n_channels; i++) {
        const struct channel *c = &g->channels[i];
        struct timing_channel_stats dram = c->dram.stats;
        dram.clocks = clock_convert(&g->clocks, CLOCK_CORE, CLOCK_DRAM, g->now);
        timing_stats_add(TIMING_STATS_channel, &out->channel, &dram);
        for (uint32_t k = 0; k < g->config.mem.slices; k++)
            timing_stats_add(TIMING_STATS_slice, &out->slice, &c->slices[k].stats);
    }
}

const struct emu_fault *timing_fault(const struct timing_gpu *g) { return &g->fault; }

void timing_explain(const struct timing_gpu *g, char *buf, size_t n)
{
    size_t at = 0;
    if (n)
        buf[0] = 0;
    for (uint32_t i = 0; i < g->n_sms; i++)
        for (uint32_t k = 0; k < MAX_WARPS && at + 1 < n; k++) {
            const struct block *b = &g->sms[i].blocks[k];
            if (!b->cta)
                continue;
            emu_cta_explain(b->cta, buf + at, n - at);
            at += strlen(buf + at);
        }
}

void timing_copy_to_device(struct timing_gpu *g, uint64_t address, uint64_t bytes)
{
    if (!g->config.mem.copy_fills_l2)
        return;
    uint64_t most = g->config.derived.l2_bytes, first = bytes > most ? address + bytes - most : address;
    for (uint64_t a = first & ~(uint64_t)(SECTOR_BYTES - 1); a < address + bytes; a += SECTOR_BYTES) {
        struct dram_place p = addrmap_place(&g->map, a);
        struct slice *l = &g->channels[p.channel].slices[p.slice % g->config.mem.slices];
        struct cache_victim v;
        cache_fill(&l->l2, a, &v);
    }
}

void timing_touch(struct timing_gpu *g, uint64_t sector)
{
    static const struct line_mask whole = {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}};
    struct dram_place p = addrmap_place(&g->map, sector);
    struct cache *l2 = &g->channels[p.channel].slices[p.slice % g->config.mem.slices].l2;
    struct cache_victim v;
    if (cache_probe(l2, sector, &whole, false) == CACHE_HIT)
        cache_read(l2, sector, &whole, &v);
    else
        cache_fill(l2, sector, &v);
}
