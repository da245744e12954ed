/* Loads from constant memory: the words that a warp's lanes want are looked up in the constant cache one after the other, one a cycle. All lanes at one address are
 * one access. With fetch.perfect, or without the cache, every one is a hit and takes no longer than one. */
#include "timing/model.h"

enum status constant_create(struct sm *s, struct error *err)
{
    const struct timing_config *c = &s->gpu->config;
    if (c->fetch.perfect || !c->l1c.present)
        return ST_OK;
    return side_create(&s->l1c, &c->l1c, SOURCE_CONSTANT, TIMING_CONST_ACC_R, err);
}

void constant_destroy(struct sm *s) { side_destroy(&s->l1c); }

uint32_t constant_accesses(const struct lanes *in, struct access *out)
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

bool constant_access(struct sm *s, struct mem_op *m)
{
    switch (side_access(s, &s->l1c, &s->stats.l1c, m->at[m->next].address, m->load)) {
    case SIDE_HIT:
        lsu_access_done(s, m->load, s->now + CONSTANT_CYCLES - 1);
        break;
    case SIDE_WAITS:
        break;
    case SIDE_FULL:
        s->stats.stall_const++;
        return false;
    }
    m->next++;
    return true;
}

static void arrived(void *user, uint32_t load) { lsu_access_done(user, load, ((struct sm *)user)->now + 1); }

void constant_reply(struct sm *s, const struct reply *r) { side_fill(&s->l1c, r, arrived, s); }
