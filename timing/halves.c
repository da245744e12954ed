/* An L2 in two halves (mem.partitions = 2): what comes from the far one takes longer, mem.partition_latency each way.
 *
 * As GPGPU-Sim's configurations of such parts mean it, memory belongs to one half or the other, by mem.partition_stride, and an SM crosses for what is not its half's. As
 * A100 and later are measured (mem.partition_copies), a half keeps what its SMs read, up to half of the whole L2; a pointer chase then has a first plateau of near hits and,
 * from there to the size of L2, a second one. Those copies are tags beside the slice's own, which are the second plateau: what hits there only is far, and near from then
 * on. What comes from DRAM is on its way long enough. A write takes the sector out of the other half. */
#include "timing/model.h"

static const struct line_mask whole = {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}};

enum status halves_create(struct slice *l, const struct timing_gpu *g, struct error *err)
{
    const struct timing_config *c = &g->config;
    l->halved = c->mem.partitions > 1;
    if (!l->halved || !c->mem.partition_copies)
        return ST_OK;
    struct cache_spec spec = cache_spec_of(&c->l2);
    spec.ways = spec.ways > 1 ? spec.ways / 2 : 1;
    spec.alloc = CACHE_ON_FILL;
    spec.write = CACHE_READ_ONLY;
    enum status st = ST_OK;
    for (unsigned h = 0; h < HALVES && st == ST_OK; h++) {
        st = cache_create(&l->near[h], &spec, err);
        l->near[h].map = &g->map;
    }
    return st;
}

void halves_destroy(struct slice *l)
{
    for (unsigned h = 0; h < HALVES; h++)
        cache_destroy(&l->near[h]);
}

static unsigned half_of(const struct timing_gpu *g, uint32_t sm)
{
    return g->config.mem.partition_interleave == TIMING_HALVES_ALTERNATE ? sm & 1 : sm >= (g->n_sms + 1) / 2;
}

void halves_arrive(const struct timing_gpu *g, const struct slice *l, uint32_t handle, struct packet *p)
{
    p->far = !l->near[0].lines && p->address / g->config.mem.partition_stride % HALVES != half_of(g, packet_sm(handle));
}

void halves_hit(const struct timing_gpu *g, struct slice *l, uint32_t handle, struct packet *p, uint64_t sector)
{
    struct cache *near = &l->near[half_of(g, packet_sm(handle))];
    struct cache_victim none;
    if (!near->lines)
        return;
    if (cache_probe(near, sector, &whole, false) == CACHE_HIT) {
        cache_read(near, sector, &whole, &none);
        return;
    }
    cache_fill(near, sector, &none);
    p->far = 1;
    l->stats.far_hits++;
}

void halves_filled(const struct timing_gpu *g, struct slice *l, uint32_t handle, uint64_t sector)
{
    struct cache *near = &l->near[half_of(g, packet_sm(handle))];
    struct cache_victim none;
    if (near->lines)
        cache_fill(near, sector, &none);
}

void halves_written(const struct timing_gpu *g, struct slice *l, uint32_t handle, uint64_t sector)
{
    struct cache *other = &l->near[!half_of(g, packet_sm(handle))];
    if (other->lines)
        cache_evict(other, sector);
}
