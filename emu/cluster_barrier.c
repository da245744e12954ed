/* The barrier of a cluster: arrive and wait, by threads. A phase is complete when all threads of the cluster that have not exited have arrived in it; who
 * waits then goes on, who has not come to its wait yet will pass it. */
#include <stdlib.h>

#include "emu/cluster.h"
#include "emu/decoder.h"

static struct cluster_lanes *lanes_of(const struct cluster *k, const struct warp *w)
{
    return (struct cluster_lanes *)&k->lanes[w->cta->cluster_rank][w->number];
}

/* Everybody who waits in this block goes on; who arrived and does not wait yet may pass. */
static void release_block(struct cluster *k, struct emu_cta *cta)
{
    for (uint32_t i = 0; i < cta->n_warps; i++) {
        struct cluster_lanes *lanes = lanes_of(k, &cta->warps[i]);
        struct warp_flow *f = cta->warps[i].flow;
        lanes->passed |= lanes->pending;
        lanes->pending = 0;
        for (uint32_t s = 0; s < f->n; s++) {
            if (f->waiting[s].state != SPLIT_CLUSTER) continue;
            lanes->passed &= ~f->waiting[s].mask;
            f->waiting[s].state = SPLIT_READY;
            f->waiting[s].next++;
        }
    }
}

static void check(struct cluster *k)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < k->n; i++) live += k->cta[i]->live_threads;
    if (!k->arrived || k->arrived < live) return;
    k->arrived = 0;
    for (uint32_t i = 0; i < k->n; i++) release_block(k, k->cta[i]);
}

void cluster_exit(struct warp *w, uint32_t lanes)
{
    struct cluster *k = w->cta->cluster;
    struct cluster_lanes *l = lanes_of(k, w);
    k->arrived -= mask_count(l->pending & lanes);
    l->pending &= ~lanes;
    check(k);
}

/* A block outside any cluster is a cluster of one, made when somebody asks for its barrier. */
static struct cluster *cluster_here(struct emu_cta *cta)
{
    if (cta->cluster) return cta->cluster;
    if (!cta->cluster_room && !(cta->cluster_room = malloc(sizeof *cta->cluster_room))) return NULL;
    *cta->cluster_room = (struct cluster){ .n = 1, .cta = { cta } };
    return cta->cluster = cta->cluster_room;
}

static const struct insn *run_arrive(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t m = insn_mask(in, w);
    struct cluster *k = cluster_here(w->cta);
    if (!m) return in + 1;
    uint32_t first = (uint32_t)__builtin_ctz(m);
    if (!k) return insn_fault(in, w, c, first, ST_OUT_OF_MEMORY, "the host has no memory left for a cluster");
    struct cluster_lanes *lanes = lanes_of(k, w);
    uint32_t twice = m & (lanes->pending | lanes->passed);
    if (twice)
        return insn_fault(in, w, c, (uint32_t)__builtin_ctz(twice), ST_LAUNCH_FAILED, "barrier.cluster.arrive a second time, without barrier.cluster.wait in between");
    lanes->pending |= m;
    k->arrived += mask_count(m);
    check(k);
    return in + 1;
}

/* Lanes that have to wait part from those that need not, and come to this record again. */
static const struct insn *run_wait(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t m = insn_mask(in, w);
    struct cluster *k = cluster_here(w->cta);
    if (!m) {
        flow_charge(in, w, c);
        return in + 1;
    }
    struct cluster_lanes *lanes = k ? lanes_of(k, w) : NULL;
    uint32_t never = lanes ? m & ~(lanes->pending | lanes->passed) : m;
    if (never)
        return insn_fault(in, w, c, (uint32_t)__builtin_ctz(never), ST_LAUNCH_FAILED, "barrier.cluster.wait without barrier.cluster.arrive before it");
    uint32_t pass = m & lanes->passed, go_on = (w->mask & ~m) | pass;
    lanes->passed &= ~pass;
    if (go_on && go_on != w->mask) flow_part(in, w, go_on, NULL);
    flow_charge(in, w, c);
    if (pass == m) return in + 1;
    if (!go_on) return flow_block(w, in, SPLIT_CLUSTER, 0, false);
    w->next = in + 1;
    w->state = WARP_RUN;
    return NULL;
}

bool cluster_may_wait(const struct insn *in) { return in->masked == run_wait; }

/* Memory is ordered as it is: all who meet here run on one host thread. */
enum status decode_cluster_barrier(struct decoder *d, const struct ptx_insn *in)
{
    bool waits = ptx_insn_has(in, PTX_MOD_WAIT);
    struct insn *r = waits ? decode_emit_control(d, run_wait, run_wait) : decode_emit(d, run_arrive, run_arrive);
    return r ? ST_OK : ST_OUT_OF_MEMORY;
}
