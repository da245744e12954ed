/* Clusters: addresses, and blocks in turns. The barrier is in cluster_barrier.c. */
#include "emu/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/flow.h"

/* ---- addresses ---- */

static struct emu_cta *block_of(struct emu_cta *self, uint32_t rank)
{
    if (rank == self->cluster_rank) return self;
    return self->cluster && rank < self->cluster->n ? self->cluster->cta[rank] : NULL;
}

static char *refuse(struct cluster_place *p, enum status st, const struct emu_cta *self)
{
    p->status = st;
    if (!p->cta)
        snprintf(p->why, sizeof p->why, "rank %u does not exist, the cluster has %u blocks", p->rank, self->cluster ? self->cluster->n : 1);
    else if (st == ST_LAUNCH_FAILED)
        snprintf(p->why, sizeof p->why, "all threads of the block of rank %u have exited, its shared memory is gone", p->rank);
    else if (p->cta == self)
        snprintf(p->why, sizeof p->why, "the block has %u bytes of shared memory", self->shared_bytes);
    else
        snprintf(p->why, sizeof p->why, "the block of rank %u has %u bytes of shared memory", p->rank, p->cta->shared_bytes);
    return NULL;
}

char *cluster_at(struct emu_cta *self, uint32_t address, uint32_t bytes, struct cluster_place *out)
{
    out->rank = cluster_rank_of(address, self->cluster_rank);
    out->offset = address & CLUSTER_MASK;
    out->cta = block_of(self, out->rank);
    if (!out->cta || (uint64_t)out->offset + bytes > out->cta->shared_bytes) return refuse(out, ST_ILLEGAL_ADDRESS, self);
    if (!out->cta->live_threads) return refuse(out, ST_LAUNCH_FAILED, self);
    return out->cta->shared + out->offset;
}

bool cluster_has(const struct emu_cta *self, const char *p)
{
    const struct cluster *k = self->cluster;
    if ((uintptr_t)p - (uintptr_t)self->shared < self->shared_bytes) return true;
    for (uint32_t i = 0; k && i < k->n; i++)
        if ((uintptr_t)p - (uintptr_t)k->cta[i]->shared < k->cta[i]->shared_bytes) return true;
    return false;
}

static uint64_t address_at(const struct insn *in, const struct warp *w, uint32_t lane)
{
    return in->extra == 8 ? ((const uint64_t *)row(w, in->a))[lane] : ((const uint32_t *)row(w, in->a))[lane];
}

const struct insn *cluster_mapa(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t own = c->cta->cluster_rank, *d = row(w, in->d);
    const uint32_t *rank = row(w, in->b);
    uint64_t *wide = row(w, in->d);
    for (uint32_t m = insn_mask(in, w); m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        uint64_t x = address_at(in, w, l);
        uint32_t offset = (uint32_t)x & CLUSTER_MASK, high = rank[l] < CLUSTER_MAX ? rank[l] : CLUSTER_NOBODY;
        x = in->imm ? cluster_generic(high, offset) : cluster_address(rank[l], offset, own);
        if (in->extra == 8) wide[l] = x;
        else d[l] = (uint32_t)x;
    }
    return in + 1;
}

const struct insn *cluster_rank(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t *d = row(w, in->d);
    for (uint32_t m = insn_mask(in, w); m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        uint64_t x = address_at(in, w, l);
        d[l] = in->imm ? (uint32_t)x >> CLUSTER_SHIFT : cluster_rank_of((uint32_t)x, c->cta->cluster_rank);
    }
    return in + 1;
}

/* ---- blocks in turns ---- */

enum { TURN = 2048 };                          /* warp instructions of a block before the next one's turn */

/* The place in the grid of rank `rank` of cluster `index`: clusters are numbered as blocks are, x fastest, and so are the ranks in them. */
static uint64_t block_index(const struct emu_launch *l, uint64_t index, uint32_t rank)
{
    uint64_t at[3], n[3];
    for (int i = 0; i < 3; i++) {
        n[i] = l->grid[i] / l->cluster[i];
        at[i] = index % n[i] * l->cluster[i] + rank % l->cluster[i];
        index /= n[i];
        rank /= l->cluster[i];
    }
    return at[0] + l->grid[0] * (at[1] + l->grid[1] * at[2]);
}

enum status cluster_start(struct emu_cta **out, struct emu_grid *g, struct emu_worker *w, uint64_t index, uint32_t smid, struct error *err)
{
    struct cluster *k = NULL;
    *out = NULL;
    for (uint32_t r = 0; r < g->cluster_ctas; r++) {
        struct emu_cta *cta;
        enum status st = cta_start(&cta, g, w, block_index(&g->launch, index, r), (smid + r) % (g->launch.n_sm ? g->launch.n_sm : 1), err);
        if (st == ST_OK && r == 0 && !cta->cluster_room && !(cta->cluster_room = malloc(sizeof *k))) {
            emu_cta_free(cta, w);
            st = error_set(err, ST_OUT_OF_MEMORY, "the host has no memory left for a cluster");
        }
        if (st != ST_OK) {
            emu_cta_free(*out, w);
            *out = NULL;
            return st;
        }
        if (r == 0) {
            *out = cta;
            k = cta->cluster_room;
            memset(k, 0, sizeof *k);
        }
        k->cta[k->n++] = cta;
        cta->cluster = k;
        cta->cluster_rank = r;
    }
    return ST_OK;
}

/* One block's turn. */
static enum emu_result turn(struct cluster *k, uint32_t rank, struct emu_worker *w, int64_t *quantum, bool *ran)
{
    struct emu_counters before, after;
    emu_worker_counters(w, &before);
    enum emu_result how = cta_run(k->cta[rank], w, *quantum < TURN ? *quantum : TURN);
    emu_worker_counters(w, &after);
    int64_t used = (int64_t)(after.warp_insns - before.warp_insns);
    *quantum -= used ? used : 1;
    *ran |= used || how != EMU_BLOCKED;
    if (how == EMU_DONE) k->done |= 1u << rank;
    return how;
}

enum emu_result cluster_run(struct cluster *k, struct emu_worker *w, int64_t quantum)
{
    for (uint32_t idle = 0; idle < k->n;) {    /* idle: blocks in a row that could do nothing */
        uint32_t rank = k->next;
        bool ran = false;
        if (quantum <= 0) return EMU_YIELD;
        enum emu_result how = k->done >> rank & 1 ? EMU_DONE : turn(k, rank, w, &quantum, &ran);
        if (how == EMU_FAULT || how == EMU_BREAK) return how;
        if (k->done == (1u << k->n) - 1) return EMU_DONE;
        idle = ran ? 0 : idle + 1;
        k->next = (rank + 1) % k->n;
    }
    return EMU_BLOCKED;
}
