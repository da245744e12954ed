/* The front end: every warp has a buffer of two machine instructions, which fetches of 16 bytes fill through the SM's instruction cache.
 *
 * A machine instruction has 8 bytes, so that a fetch brings two; with sub-cores, as hardware has it since Volta, 16 bytes, so that it brings one. Code lies in a segment
 * of its own, functions at places that follow from their names: addresses are the same in every run. A warp asks for a fetch when its buffer has room for one;
 * fetch.per_cycle of those that ask are served a cycle, in turn. What a fetch brings can issue in the next cycle; a warp without its next instruction waits. A miss keeps
 * the warp from fetching until the line is there, unless it branches elsewhere meanwhile, and asks for fetch.prefetch lines more. Past the last instruction nothing
 * is fetched. With fetch.perfect, or no instruction cache, all this is left out. */
#include "timing/model.h"

#include <string.h>

enum { SEGMENT_PLACES = 1 << 23 };             /* of 256 bytes: the upper half of the window */
enum { FETCH_BYTES = 16, BUFFER_INSNS = 2, FETCH_NOBODY = MAX_WARPS };
#define CODE_SEGMENT (EMU_CODE_WINDOW + EMU_WINDOW_BYTES / 2)

static uint32_t insn_bytes(const struct timing_config *c) { return c->issue.sub_cores ? 16 : 8; }

void fetch_place(struct timing_code *c, const struct timing_config *config)
{
    uint64_t hash = 14695981039346656037u;
    for (const char *p = c->function->name; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 1099511628211u;
    c->base = CODE_SEGMENT + (hash >> 16) % SEGMENT_PLACES * 256;
    uint32_t at = 0;
    for (uint32_t i = 0; i < c->function->n_insns; i++) {
        c->ops[i].place = at;
        at += c->ops[i].count * insn_bytes(config);
    }
    c->bytes = at;
}

enum status fetch_create(struct sm *s, struct error *err)
{
    const struct timing_config *c = &s->gpu->config;
    if (c->fetch.perfect || !c->l1i.present)
        return ST_OK;
    return side_create(&s->fetch.l1i, &c->l1i, SOURCE_INSTRUCTION, TIMING_INST_ACC_R, &s->stats.l1i, err);
}

void fetch_destroy(struct sm *s) { side_destroy(&s->fetch.l1i); }

/* ---- a warp's buffer ---------------------------------------------------------------------------------------------------------------- */

/* Asks for a fetch where there is room for one and something to fetch. */
static void ask(struct sm *s, uint32_t slot)
{
    const struct fetch_buffer *b = &s->fetch.buffers[slot];
    uint32_t room = BUFFER_INSNS * insn_bytes(&s->gpu->config) - (uint32_t)(b->to - b->from);
    if (!b->waits && room >= FETCH_BYTES && b->to < b->end)
        s->fetch.wanted |= 1ull << slot;
}

bool fetch_has(struct sm *s, uint32_t slot)
{
    struct warp_slot *w = &s->warps[slot];
    struct fetch_buffer *b = &s->fetch.buffers[slot];
    uint64_t pc = w->code->base + w->code->ops[w->insn].place + w->micro * insn_bytes(&s->gpu->config), last = w->code->base + w->code->bytes - insn_bytes(&s->gpu->config);
    pc = pc < last ? pc : last;
    if (pc < b->from || pc > b->to) {          /* it went elsewhere */
        *b = (struct fetch_buffer){.from = pc, .to = pc, .end = w->code->base + w->code->bytes};
        s->fetch.wanted &= ~(1ull << slot);
    }
    b->from = pc;
    ask(s, slot);
    if (pc >= b->to) {
        w->wait = WAIT_FETCH;
        return false;
    }
    if (pc >= b->fresh && w->from < b->ready)
        w->from = b->ready;
    return true;
}

void fetch_forget(struct sm *s, uint64_t slots)
{
    s->fetch.wanted &= ~slots;
    for (; slots; slots &= slots - 1)
        s->fetch.buffers[__builtin_ctzll(slots)] = (struct fetch_buffer){.waits = false};
}

/* 16 bytes, not beyond the cache line. */
static void deliver(struct sm *s, uint32_t slot)
{
    struct fetch_buffer *b = &s->fetch.buffers[slot];
    uint64_t next = (b->to | (FETCH_BYTES - 1)) + 1;
    b->fresh = b->to;
    b->to = next < b->end ? next : b->end;
    b->ready = s->now + 1;
    b->waits = false;
    ask(s, slot);
    if (s->warps[slot].wait == WAIT_FETCH)
        sm_wake_at(s, slot, b->ready);
}

/* ---- the cache ------------------------------------------------------------------------------------------------------------------------- */

static void prefetch(struct sm *s, uint64_t address, uint64_t end)
{
    struct side_cache *c = &s->fetch.l1i;
    static const struct line_mask whole = {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}};
    for (uint32_t k = 0; k < s->gpu->config.fetch.prefetch; k++) {
        address = side_atom(c, address) + (c->tags.spec.sectored ? SECTOR_BYTES : c->tags.spec.line_bytes);
        if (address >= end)
            return;
        if (cache_probe(&c->tags, address, &whole, false) == CACHE_MISS && mshr_check(&c->mshr, side_atom(c, address)) == MSHR_NEW &&
            side_access(s, c, address, FETCH_NOBODY) == SIDE_FULL)
            return;
    }
}

/* The slots that ask, from the one behind the last that was served. */
static uint32_t pick(const struct sm *s, uint64_t asking)
{
    uint64_t later = asking & ~((2ull << s->fetch.last) - 1);
    return (uint32_t)__builtin_ctzll(later ? later : asking);
}

void fetch_cycle(struct sm *s)
{
    uint64_t asking = s->fetch.wanted;
    for (uint32_t n = s->gpu->config.fetch.per_cycle; n && asking; n--) {
        uint32_t slot = pick(s, asking);
        struct fetch_buffer *b = &s->fetch.buffers[slot];
        asking &= ~(1ull << slot);
        s->fetch.last = slot;
        switch (side_access(s, &s->fetch.l1i, b->to, slot)) {
        case SIDE_HIT:
            s->fetch.wanted &= ~(1ull << slot);
            deliver(s, slot);
            break;
        case SIDE_WAITS:
            s->fetch.wanted &= ~(1ull << slot);
            b->waits = true;
            prefetch(s, b->to, b->end);
            break;
        case SIDE_FULL:                        /* again, when something came back or the port has room */
            if (s->fetch.l1i.mshr.used) {
                s->fetch.wanted &= ~(1ull << slot);
                s->fetch.full |= 1ull << slot;
            }
            break;
        }
    }
}

struct filled { struct sm *s; uint64_t atom; };

static void arrived(void *user, uint32_t slot)
{
    const struct filled *f = user;
    if (slot == FETCH_NOBODY)
        return;
    const struct fetch_buffer *b = &f->s->fetch.buffers[slot];
    if (b->waits && side_atom(&f->s->fetch.l1i, b->to) == f->atom)     /* else it went elsewhere meanwhile */
        deliver(f->s, slot);
}

void fetch_reply(struct sm *s, uint64_t address)
{
    struct filled f = {s, side_atom(&s->fetch.l1i, address)};
    side_fill(&s->fetch.l1i, address, arrived, &f);
    uint64_t full = s->fetch.full & s->taken_slots;
    s->fetch.full = 0;
    for (; full; full &= full - 1)
        ask(s, (uint32_t)__builtin_ctzll(full));
}
