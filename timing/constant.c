/* Loads from constant memory: the words that a warp's lanes want are looked up in the constant cache one after the other, one a cycle. All lanes at one address are
 * one access. With fetch.perfect, or without the cache, every one is a hit and takes no longer than one. */
#include "timing/model.h"

enum status constant_create(struct sm *s, struct error *err)
{
    const struct timing_config *c = &s->gpu->config;
    if (c->fetch.perfect || !c->l1c.present)
        return ST_OK;
    s->l1c.latency = CONSTANT_CYCLES;
    return side_create(&s->l1c, &c->l1c, SOURCE_CONSTANT, TIMING_CONST_ACC_R, &s->stats.l1c, err);
}

void constant_destroy(struct sm *s) { side_destroy(&s->l1c); }

static uint32_t accesses(const struct lanes *in, struct access *out)
{
    uint32_t n = 0;
    for (uint32_t m = in->mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m), k = 0;
        while (k < n && out[k].address != in->address[lane])
            k++;
        if (k == n)
            out[n++] = (struct access){.address = in->address[lane], .bytes = in->bytes};
        out[k].lanes |= 1u << lane;
    }
    return n;
}

void constant_push(struct sm *s, struct mem_op *m, const struct lanes *in)
{
    if (!s->l1c.on)
        return;
    m->side = &s->l1c;
    m->n = accesses(in, m->at);
    s->stats.const_port_conflicts += m->n - 1;
}
