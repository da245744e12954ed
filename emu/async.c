/* cp.async, st.async, red.async. */
#include "emu/async.h"

#include <string.h>

#include "emu/mbarrier.h"

/* ---- cp.async --------------------------------------------------------------------------------------------------------- */

/* Bytes that lane copies; the rest is filled with zeros. */
static uint32_t copied(const struct insn *in, const struct warp *w, uint32_t lane, unsigned bytes)
{
    if (!in->c)
        return bytes;
    if (in->extra & ASYNC_IGNORE)
        return (mask_at(w, in->c) ^ (in->extra & ASYNC_IGNORE_FLIP ? FULL_MASK : 0)) >> lane & 1 ? 0 : bytes;
    return ((const uint32_t *)row(w, in->c))[lane];
}

const struct insn *async_copy_lanes(const struct insn *in, struct warp *w, struct ctx *c)
{
    unsigned bytes = mem_kind_bytes(MEM_KIND(in->extra));
    char *to[WARP_SIZE];
    struct mem_place source = { .offset = (int64_t)in->imm, .row = in->b, .site = in->site, .space = MEM_GLOBAL, .form = in->b ? MEM_ROW64 : MEM_FIXED };
    struct mem_place dest = { .offset = in->target, .row = in->a, .site = in->site, .space = MEM_SHARED, .form = (uint8_t)MEM_FORM(in->extra), .store = true };
    uint32_t mask = insn_mask(in, w);
    if (!mem_place_resolve(in, &dest, w, c, mask, bytes, to))
        return NULL;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m), n = copied(in, w, l, bytes);
        if (n > bytes)
            return insn_fault(in, w, c, l, ST_LAUNCH_FAILED, "cp.async of %u bytes with a source of %u", bytes, n);
        uint64_t address = mem_place_address(&source, w, l);
        char *from = n ? mem_span(in, &source, w, c, l, address, n, bytes) : NULL;
        if (n && !from)
            return NULL;
        if (c->event)
            c->event_address[l] = address;
        if (n)
            memmove(to[l], from, n);
        memset(to[l] + n, 0, bytes - n);
    }
    if (c->event) {
        c->event->space = PTX_SPACE_GLOBAL;
        c->event->store = false;
        c->event->bytes = (uint8_t)bytes;
    }
    return in + 1;
}

/* ---- st.async, red.async -------------------------------------------------------------------------------------------------- */

const struct insn *async_store(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct async_store *s = (const struct async_store *)(uintptr_t)in->imm;
    char *to[WARP_SIZE], *barrier[WARP_SIZE];
    uint32_t mask = insn_mask(in, w);
    unsigned all = s->n * s->bytes;
    if (!mask)
        return in + 1;
    if (s->has_mbarrier && !mem_place_resolve(in, &s->mbarrier, w, c, mask, 8, barrier))
        return NULL;
    if (!mem_place_resolve(in, &s->to, w, c, mask, all, to))
        return NULL;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        for (unsigned i = 0; i < s->n; i++) {
            const char *value = (const char *)row(w, s->rows[i]) + (size_t)l * (s->bytes < 2 ? 2 : s->bytes);
            if (s->combine)
                s->combine(to[l] + i * s->bytes, value, 1, !s->has_mbarrier);
            else
                memcpy(to[l] + i * s->bytes, value, s->bytes);
        }
        const char *why = s->has_mbarrier ? mbarrier_update(c, barrier[l], -(int64_t)all, 0, 0, false) : NULL;
        if (why)
            return mbarrier_fault(in, w, c, l, why);
    }
    return in + 1;
}
