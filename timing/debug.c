/* What a debugger sees of the simulated GPU. */
#include <inttypes.h>
#include <stdio.h>

#include "emu/debug.h"
#include "runtime/base/textbuf.h"
#include "timing/model.h"
#include "timing/team.h"

void timing_debug_hook(struct timing_gpu *g, const struct emu_hook *hook)
{
    for (uint32_t i = 0; i < g->n_sms; i++)
        emu_worker_hook(team_worker(g->team, i), hook);
}

size_t timing_debug_blocks(const struct timing_gpu *g, uint64_t grid_id, struct emu_cta **out, size_t n)
{
    size_t count = 0;
    for (uint32_t i = 0; i < g->n_sms; i++)
        for (uint32_t k = 0; k < MAX_WARPS; k++) {
            struct emu_cta *cta = g->sms[i].blocks[k].cta;
            if (cta && emu_cta_launch(cta)->grid_id == grid_id && count++ < n)
                out[count - 1] = cta;
        }
    return count;
}

static void say_warp(struct textbuf *t, const struct sm *s, uint32_t slot)
{
    static const char *const waits[] = {[WAIT_NONE] = "", [WAIT_REGISTER] = "waits for a load", [WAIT_BLOCKED] = "waits for others", [WAIT_FENCE] = "waits at a fence",
                                        [WAIT_FETCH] = "waits for its instruction", [WAIT_DRAIN] = "ended, accesses under way", [WAIT_ENDED] = "ended"};
    const struct warp_slot *w = &s->warps[slot];
    uint32_t id[3];
    char where[96] = "";
    emu_cta_id(w->block->cta, id);
    if (w->peeked && w->code)
        snprintf(where, sizeof where, "%s+%u", ptx_op_text((enum ptx_op)w->code->function->insns[w->insn].op), w->insn);
    const char *state = w->wait != WAIT_NONE ? waits[w->wait] : s->ready >> slot & 1 ? "ready" : w->from > s->now ? "not before a later cycle" : "waits for registers or a unit";
    textbuf_add(t, "slot %2u  block %u,%u,%u warp %2u  %-14s  %s", slot, id[0], id[1], id[2], w->number, where, state);
    if (w->from > s->now)
        textbuf_add(t, " (from cycle %" PRIu64 ")", w->from);
    if (w->n_flight)
        textbuf_add(t, ", %u registers in flight", w->n_flight);
    if (w->loads || w->stores)
        textbuf_add(t, ", %u loads and %u stores under way", w->loads, w->stores);
    textbuf_add(t, "\n");
}

uint64_t timing_debug_issued(const struct timing_gpu *g)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < g->n_sms; i++)
        n += g->sms[i].stats.warp_instructions;
    return n;
}

char *timing_debug_sm(const struct timing_gpu *g, uint32_t number)
{
    struct textbuf t = {0};
    if (number >= g->n_sms)
        return NULL;
    const struct sm *s = &g->sms[number];
    textbuf_add(&t, "SM %u at cycle %" PRIu64 ": %u blocks, %u threads, %u registers, %u bytes of shared memory in use\n", number, s->now, s->n_blocks, s->threads, s->regs, s->shared_bytes);
    textbuf_add(&t, "load/store unit: %u of %u instructions queued, free from cycle %" PRIu64 "; %u packets in the network\n", s->queue_n, s->queue_room, s->lsu_from, s->in_network);
    for (uint32_t i = 0; i < g->config.issue.schedulers; i++)
        textbuf_add(&t, "scheduler %u: slots 0x%016" PRIx64 " ready 0x%016" PRIx64 ", last issued slot %d\n", i, s->schedulers[i].owned & s->taken_slots, s->schedulers[i].owned & s->ready,
                    s->schedulers[i].last);
    for (uint32_t slot = 0; slot < MAX_WARPS; slot++)
        if (s->warps[slot].block)
            say_warp(&t, s, slot);
    return t.at;
}
