/* Clusters: CTAs that start together, wait for each other and see each other's shared memory.
 *
 * All CTAs of a cluster are on SMs of one group of CLUSTER_GROUP neighbours, which one host thread runs, one SM after the other: as long as a kernel with
 * clusters is resident, groups are what is spread over threads. So what CTAs do to each other comes out the same for any number of threads. It is seen up to a
 * window late: an SM that has run this window already learns of a barrier's completion at its end. Shared memory of another SM costs as much as one's own. */
#include "timing/model.h"

#include <stdlib.h>

static uint32_t group_of(const struct sm *s, struct sm **first)
{
    struct timing_gpu *g = s->gpu;
    uint32_t at = s->number / CLUSTER_GROUP * CLUSTER_GROUP;
    *first = &g->sms[at];
    return g->n_sms - at < CLUSTER_GROUP ? g->n_sms - at : CLUSTER_GROUP;
}

uint32_t cluster_most(const struct timing_gpu *g, uint32_t per_sm) { return per_sm * (g->n_sms < CLUSTER_GROUP ? g->n_sms : CLUSTER_GROUP); }

/* How many CTAs each SM of the group has room for. 0: not enough for a cluster, or an SM with fewer CTAs than s should take it. */
static uint32_t rooms(const struct sm *s, const struct kernel *k, const struct sm *first, uint32_t n, uint32_t room[CLUSTER_GROUP])
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        total += room[i] = sm_room(&first[i], k);
        if (room[i] && first[i].n_blocks < s->n_blocks)
            return 0;
    }
    return room[s - first] && total >= k->spec.cluster ? total : 0;
}

enum status cluster_take(struct sm *s, struct kernel *k, bool *taken, struct error *err)
{
    struct sm *first;
    uint32_t n = group_of(s, &first), room[CLUSTER_GROUP];
    *taken = false;
    for (uint32_t i = 0; i < n; i++)
        first[i].cta_from = 0;
    if (!rooms(s, k, first, n, room))
        return ST_OK;
    struct cluster_run *c = calloc(1, sizeof *c);
    if (!c)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory to start a cluster of %s", k->spec.name);
    enum status st = kernel_cta_start(&c->cta, k, s->worker, k->next_cta / k->spec.cluster, s->number, err);
    if (st != ST_OK) {
        free(c);
        return st;
    }
    for (uint32_t i = (uint32_t)(s - first); c->n < k->spec.cluster; i = (i + 1) % n) {
        if (!room[i])
            continue;
        room[i]--;
        c->at[c->n] = (struct cluster_place){&first[i], sm_place(&first[i], k, emu_cta_of_rank(c->cta, c->n))};
        c->at[c->n++].block->cluster = c;
    }
    c->left = c->n;
    *taken = true;
    return ST_OK;
}

void cluster_wake(const struct cluster_run *c, uint64_t cycle)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->at[i].block)
            sm_block_wake(c->at[i].sm, c->at[i].block, cycle);
}

/* The CTAs' memory goes with the last of them. */
void cluster_leave(struct cluster_run *c, const struct block *b, struct emu_worker *w)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->at[i].block == b)
            c->at[i].block = NULL;
    if (--c->left)
        return;
    emu_cta_free(c->cta, w);
    free(c);
}
