/* What checkpoints ask of the simulated GPU between two windows, besides its whole state (state_model.c). */
#include <stdlib.h>
#include <string.h>
#include <string.h>

#include "timing/model.h"

/* A cluster counts where its first CTA is that has not ended, by SM and place there: state_model.c puts them back in that order. */
static bool stands_for_all(const struct block *b)
{
    const struct block *first = b;
    for (uint32_t i = 0; b->cluster && i < b->cluster->n; i++)
        if (b->cluster->at[i].block && b->cluster->at[i].block < first)        /* SMs lie in one array */
            first = b->cluster->at[i].block;
    return first == b;
}

bool timing_kernel_progress(const struct timing_gpu *g, const void *user, struct timing_progress *out)
{
    const struct kernel *k = g->kernels;
    while (k && k->spec.user != user)
        k = k->next;
    if (!k)
        return false;
    *out = (struct timing_progress){k->next_cta / (k->spec.cluster > 1 ? k->spec.cluster : 1), 0, k->ended_ctas, k->thread_insns, k->warp_insns};
    for (uint32_t i = 0; i < g->n_sms; i++)
        for (uint32_t b = 0; b < MAX_WARPS; b++)
            if (g->sms[i].blocks[b].cta && g->sms[i].blocks[b].kernel == k) {
                out->residents += stands_for_all(&g->sms[i].blocks[b]);
                out->thread_insns += g->sms[i].blocks[b].thread_insns;
                out->warp_insns += g->sms[i].blocks[b].warp_insns;
            }
    return true;
}

struct emu_cta *timing_kernel_resident(const struct timing_gpu *g, const void *user, uint64_t number)
{
    for (uint32_t i = 0; i < g->n_sms; i++)
        for (uint32_t k = 0; k < MAX_WARPS; k++) {
            const struct block *b = &g->sms[i].blocks[k];
            if (b->cta && b->kernel->spec.user == user && stands_for_all(b) && number-- == 0)
                return b->cluster ? b->cluster->cta : b->cta;
        }
    return NULL;
}

void timing_gpu_residents(const struct timing_gpu *g, void (*fn)(void *user, const void *kernel, struct emu_cta *cta, struct emu_worker *w), void *user)
{
    for (uint32_t i = 0; i < g->n_sms; i++)
        for (uint32_t k = 0; k < MAX_WARPS; k++) {
            const struct block *b = &g->sms[i].blocks[k];
            if (b->cta && stands_for_all(b))
                fn(user, b->kernel->spec.user, b->cluster ? b->cluster->cta : b->cta, g->sms[i].worker);
        }
}

void kernels_free(struct kernel **list)
{
    for (struct kernel *k = *list, *next; k; k = next) {
        next = k->next;
        free(k);
    }
    *list = NULL;
}

/* What timing_gpu_load does not replace, since it is not saved. */
void timing_gpu_clear(struct timing_gpu *g)
{
    for (uint32_t i = 0; i < g->n_sms; i++)
        sm_clear(&g->sms[i]);
    for (uint32_t i = 0; i < g->n_channels; i++)
        for (uint32_t k = 0; k < g->config.mem.slices; k++)
            for (unsigned t = 0; t < MAX_THREADS; t++)
                g->channels[i].slices[k].out[t].n = g->channels[i].slices[k].far[t].n = 0;
    for (unsigned t = 0; t < g->n_threads; t++) {
        g->exchange[t].no_memory = false;
        memset(g->exchange[t].granted, 0, g->n_sms * sizeof *g->exchange[t].granted);
    }
    kernels_free(&g->kernels);
    kernels_free(&g->ended);
}

/* ---- accesses that were issued and not performed ---- */

/* Lanes that are left of each access of each SM. */
struct left { uint32_t *lanes; uint32_t per_sm; };

static void add(struct left *l, uint32_t sm, int32_t pending, uint32_t lanes)
{
    if (pending >= 0)
        l->lanes[(size_t)sm * l->per_sm + (uint32_t)pending] |= lanes;
}

/* What waits in the load/store unit. */
static void add_queue(struct left *l, const struct sm *s)
{
    for (uint32_t i = 0; i < s->queue_n; i++) {
        const struct mem_op *m = &s->queue[(s->queue_at + i) & (s->queue_room - 1)];
        for (uint32_t k = m->next; k < m->n; k++)
            add(l, s->number, m->pending, m->at[k].lanes);
    }
}

/* What is at its slice or on the way there: the reply is ready when the access is performed. */
static bool add_packets(struct left *l, const struct sm *s)
{
    char *is_free = calloc(s->pool_size + 1, 1);
    for (uint32_t i = 0; is_free && i < s->n_pool_free; i++)
        is_free[s->pool_free[i]] = 1;
    for (uint32_t i = 0; is_free && i < s->pool_size; i++)
        if (!is_free[i] && !s->pool[i].ready)
            add(l, s->number, s->pool[i].pending, s->pool[i].lanes);
    free(is_free);
    return is_free != NULL;
}

static bool find_left(struct left *l, const struct timing_gpu *g)
{
    bool good = true;
    for (uint32_t i = 0; i < g->n_sms && good; i++) {
        add_queue(l, &g->sms[i]);
        good = add_packets(l, &g->sms[i]);
    }
    return good;
}

static struct emu_cta *handle_of(const struct sm *s, const struct emu_cta *cta)
{
    for (uint32_t i = 0; i < MAX_WARPS; i++)
        if (s->blocks[i].cta == cta)
            return s->blocks[i].cluster ? s->blocks[i].cluster->cta : s->blocks[i].cta;
    return NULL;
}

/* The SM's, by their order of issue. */
static bool list_sm(const struct sm *s, const uint32_t *lanes, struct timing_pending **out, size_t *n)
{
    for (uint64_t from = 0;; from++) {
        uint32_t at = s->n_pending;
        for (uint32_t i = 0; i < s->n_pending; i++)
            if (lanes[i] && s->pending_order[i] >= from && (at == s->n_pending || s->pending_order[i] < s->pending_order[at]))
                at = i;
        if (at == s->n_pending)
            return true;
        from = s->pending_order[at];
        struct timing_pending *more = realloc(*out, (*n + 1) * sizeof *more);
        if (!more)
            return false;
        *out = more;
        more[*n] = (struct timing_pending){handle_of(s, s->pending[at].cta), s->pending[at]};
        more[(*n)++].access.mask &= lanes[at];
    }
}

enum status timing_gpu_pending(const struct timing_gpu *g, struct timing_pending **out, size_t *n, struct error *err)
{
    *out = NULL;
    *n = 0;
    struct left l = {.per_sm = g->n_sms ? g->sms[0].n_pending : 0};
    l.lanes = calloc((size_t)g->n_sms * l.per_sm + 1, sizeof *l.lanes);
    bool good = l.lanes && find_left(&l, g);
    for (uint32_t i = 0; i < g->n_sms && good; i++)
        good = list_sm(&g->sms[i], l.lanes + (size_t)i * l.per_sm, out, n);
    free(l.lanes);
    if (good)
        return ST_OK;
    free(*out);
    *out = NULL;
    *n = 0;
    return error_set(err, ST_OUT_OF_MEMORY, "no host memory for the accesses under way on the simulated GPU");
}
