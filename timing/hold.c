/* The simulated GPU at rest, for checkpoints. */
#include "timing/model.h"

static bool at_rest(const struct timing_gpu *g)
{
    for (uint32_t i = 0; i < g->n_sms; i++)
        if (g->sms[i].queue_n || g->sms[i].n_free_pending < g->sms[i].n_pending)
            return false;
    return true;
}

bool timing_hold(struct timing_gpu *g)
{
    enum { WINDOWS = 20000 };                  /* some million cycles: more than any queue holds */
    g->held = true;
    for (int i = 0; i < WINDOWS; i++) {
        if (at_rest(g))
            return true;
        gpu_window(g, g->now + g->window);
    }
    return false;
}

void timing_go_on(struct timing_gpu *g) { g->held = false; }

void timing_kernel_let(struct timing_gpu *g, const void *user, uint64_t starts)
{
    for (struct kernel *k = g->kernels; k; k = k->next)
        if (k->spec.user == user)
            k->let = starts < k->n_ctas / (k->spec.cluster > 1 ? k->spec.cluster : 1) ? starts * (k->spec.cluster > 1 ? k->spec.cluster : 1) : k->n_ctas;
}

bool timing_kernel_progress(const struct timing_gpu *g, const void *user, struct timing_progress *out)
{
    const struct kernel *k = g->kernels;
    while (k && k->spec.user != user)
        k = k->next;
    if (!k)
        return false;
    *out = (struct timing_progress){k->next_cta / (k->spec.cluster > 1 ? k->spec.cluster : 1), k->ended_ctas, k->thread_insns, k->warp_insns};
    for (uint32_t i = 0; i < g->n_sms; i++)
        for (uint32_t b = 0; b < MAX_WARPS; b++)
            if (g->sms[i].blocks[b].cta && g->sms[i].blocks[b].kernel == k) {
                out->thread_insns += g->sms[i].blocks[b].thread_insns;
                out->warp_insns += g->sms[i].blocks[b].warp_insns;
            }
    return true;
}

/* A cluster counts where its first CTA is that has not ended. */
static bool stands_for_all(const struct block *b)
{
    for (uint32_t i = 0; b->cluster && i < b->cluster->n; i++)
        if (b->cluster->at[i].block)
            return b->cluster->at[i].block == b;
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
