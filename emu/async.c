/* cp.async, st.async, red.async. */
#include "emu/async.h"

#include <string.h>

#include "emu/mbarrier.h"

/* ---- cp.async --------------------------------------------------------------------------------------------------------- */

typedef uint64_t u64_any __attribute__((may_alias));
typedef uint32_t u32_any __attribute__((may_alias));
typedef struct { uint64_t x[2]; } __attribute__((may_alias)) u128_any;

static inline __attribute__((always_inline)) void move(char *to, const char *from, unsigned bytes)
{
    if (bytes == 4)
        *(u32_any *)to = *(const u32_any *)from;
    else if (bytes == 8)
        *(u64_any *)to = *(const u64_any *)from;
    else
        *(u128_any *)to = *(const u128_any *)from;
}

/* Bytes that lane copies; the rest is filled with zeros. */
static uint32_t copied(const struct insn *in, const struct warp *w, uint32_t lane, unsigned bytes)
{
    if (!in->c)
        return bytes;
    if (in->extra & ASYNC_IGNORE)
        return (mask_at(w, in->c) ^ (in->extra & ASYNC_IGNORE_FLIP ? FULL_MASK : 0)) >> lane & 1 ? 0 : bytes;
    return ((const uint32_t *)row(w, in->c))[lane];
}

/* Lane by lane, with exact faults: what the loop below does not like. */
static __attribute__((noinline)) const struct insn *copy_lanes(const struct insn *in, struct warp *w, struct ctx *c, unsigned bytes)
{
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

/* The common case: every lane copies all of its bytes from the range that the site hit last. */
static inline __attribute__((always_inline)) const struct insn *copy(const struct insn *in, struct warp *w, struct ctx *c, unsigned bytes)
{
    uint32_t mask = insn_mask(in, w);
    const struct range_cache *r = &c->sites[in->site];
    if (!mask)
        return in + 1;
    if (__builtin_expect(in->c || !in->b || c->event || MEM_FORM(in->extra) != MEM_ROW32 || c->shared_bytes < bytes || r->hi <= r->lo || r->hi - r->lo < bytes, 0))
        return copy_lanes(in, w, c, bytes);
    const uint32_t *a = row(w, in->a);
    const uint64_t *b = row(w, in->b);
    uint64_t lo = r->lo, limit = r->hi - r->lo - bytes, imm = in->imm, bad = 0;
    uint32_t most = c->shared_bytes - bytes, offset = in->target;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m), to = a[l] + offset;
        uint64_t from = b[l] + imm;
        bad |= (uint64_t)(to > most) | (uint64_t)(from - lo > limit) | ((to | from) & (bytes - 1));
    }
    if (__builtin_expect(bad != 0, 0))
        return copy_lanes(in, w, c, bytes);
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        move(c->shared + (a[l] + offset), (const char *)(uintptr_t)(b[l] + imm), bytes);
    }
    return in + 1;
}

const struct insn *async_copy_4(const struct insn *in, struct warp *w, struct ctx *c) { return copy(in, w, c, 4); }
const struct insn *async_copy_8(const struct insn *in, struct warp *w, struct ctx *c) { return copy(in, w, c, 8); }
const struct insn *async_copy_16(const struct insn *in, struct warp *w, struct ctx *c) { return copy(in, w, c, 16); }

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
