/* Texture fetches and surface accesses. Each lane reads the texel that emu says (the nearest one: the others of a filter's footprint lie beside it). Where L1 and
 * textures share a unified memory, texels come through the L1 data cache; otherwise through a texture cache, one of its lines a cycle. Writes and reductions go to L2. */
#include "timing/model.h"

enum status texture_create(struct sm *s, struct error *err)
{
    const struct timing_config *c = &s->gpu->config;
    if (c->lsu.unified || !c->l1t.present)
        return ST_OK;
    s->l1t.latency = c->lsu.l1_latency ? c->lsu.l1_latency : 1;
    return side_create(&s->l1t, &c->l1t, SOURCE_TEXTURE, TIMING_TEXTURE_ACC_R, &s->stats.l1t, err);
}

void texture_destroy(struct sm *s) { side_destroy(&s->l1t); }

static uint32_t lines(const struct side_cache *c, const struct lanes *in, struct access *out)
{
    uint32_t n = 0;
    for (uint32_t m = in->mask; m; m &= m - 1) {
        uint64_t atom = side_atom(c, in->address[__builtin_ctz(m)]);
        uint32_t k = 0;
        while (k < n && out[k].address != atom)
            k++;
        if (k == n)
            out[n++] = (struct access){.address = atom};
    }
    return n;
}

void texture_push(struct sm *s, struct mem_op *m, const struct emu_event *e)
{
    struct lanes in = {.address = e->address, .mask = 0, .bytes = e->bytes};
    for (uint32_t k = e->lanes; k; k &= k - 1)  /* outside of the image nothing is accessed */
        if (e->address[__builtin_ctz(k)])
            in.mask |= k & -k;
    m->kind = e->atomic ? REQUEST_ATOMIC : e->store ? REQUEST_WRITE : REQUEST_READ;
    m->bypass = m->kind != REQUEST_READ || !s->l1.ways;
    if (m->kind == REQUEST_READ && s->l1t.on) {
        m->side = &s->l1t;
        m->n = lines(&s->l1t, &in, m->at);
    } else {
        m->n = coalesce(&s->gpu->coalescer, &in, coalesce_by_sectors(&s->gpu->coalescer, m->bypass), m->at);
    }
}
