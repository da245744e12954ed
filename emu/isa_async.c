/* cp.async of whole warps: compiled once per ISA level of the host (LANE_ISA). What these handlers do not like goes to async_copy_lanes. */
#include "emu/async.h"
#include "emu/isa_mem.h"

INLINE void move(char *to, const char *from, unsigned bytes)
{
    if (bytes == 4)
        *(m32 *)(void *)to = *(const m32 *)(const void *)from;
    else if (bytes == 8)
        *(m64 *)(void *)to = *(const m64 *)(const void *)from;
    else
        *(m128 *)(void *)to = *(const m128 *)(const void *)from;
}

/* Every lane's source lies in the site's last range and its destination in the block's memory, and both are aligned. */
INLINE bool all_inside(const struct insn *in, const struct range_cache *r, const struct ctx *c, const uint32_t *a, const uint64_t *b, unsigned bytes)
{
    const uint64_t sign = (uint64_t)1 << 63;
    v64 bad = { 0 }, zero = { 0 }, lo = zero + r->lo, limit = zero + (r->hi - r->lo - bytes);
    v32 wrong = { 0 }, most = wrong + (c->shared_bytes - bytes);
    for (uint32_t l = 0; l < WARP_SIZE; l += N64) {
        v64 x = *(const v64 *)(const void *)&b[l] + in->imm, y = x - lo;
        bad |= ((y | (limit - y)) & sign) | (x & (uint64_t)(bytes - 1));
    }
    for (uint32_t l = 0; l < WARP_SIZE; l += N32) {
        v32 x = *(const v32 *)(const void *)&a[l] + in->target;
        wrong |= (v32)(x > most) | (x & (uint32_t)(bytes - 1));
    }
    return !any64(bad) && !any64((v64)wrong);
}

/* No lane has a shorter source, or ignores it. */
INLINE bool all_whole(const struct insn *in, const struct warp *w, unsigned bytes)
{
    if (in->extra & ASYNC_IGNORE)
        return mask_at(w, in->c) == (in->extra & ASYNC_IGNORE_FLIP ? FULL_MASK : 0);
    const uint32_t *n = row(w, in->c);
    return n[0] == bytes && affine32(n, 0, WARP_SIZE);
}

INLINE const struct insn *copy_full(const struct insn *in, struct warp *w, struct ctx *c, unsigned bytes)
{
    const struct range_cache *r = &c->sites[in->site];
    if (UNLIKELY(c->event != NULL || c->shared_bytes < bytes * WARP_SIZE || r->hi <= r->lo || r->hi - r->lo < bytes * WARP_SIZE) ||
        (in->c && !all_whole(in, w, bytes)))
        return async_copy_lanes(in, w, c);
    const uint32_t *a = row(w, in->a);
    const uint64_t *b = row(w, in->b);
    if (b[1] - b[0] == bytes && a[1] - a[0] == bytes && affine64(b, bytes, WARP_SIZE) && affine32(a, bytes, WARP_SIZE)) {
        uint64_t from = b[0] + in->imm, n = (uint64_t)bytes * WARP_SIZE;
        uint32_t to = a[0] + in->target;
        if (UNLIKELY(from - r->lo > r->hi - r->lo - n || to > c->shared_bytes - n || ((from | to) & (bytes - 1))))
            return async_copy_lanes(in, w, c);
        __builtin_memmove(c->shared + to, (const char *)(uintptr_t)from, n);
        return in + 1;
    }
    if (UNLIKELY(!all_inside(in, r, c, a, b, bytes)))
        return async_copy_lanes(in, w, c);
    for (uint32_t l = 0; l < WARP_SIZE; l++)
        move(c->shared + (a[l] + in->target), (const char *)(uintptr_t)(b[l] + in->imm), bytes);
    return in + 1;
}

INLINE const struct insn *copy_masked(const struct insn *in, struct warp *w, struct ctx *c, handler full)
{
    uint32_t mask = insn_mask(in, w);
    return mask == FULL_MASK ? full(in, w, c) : mask ? async_copy_lanes(in, w, c) : in + 1;
}

#define COPY(bytes)                                                                                                       \
    static const struct insn *full_##bytes(const struct insn *in, struct warp *w, struct ctx *c)                          \
    { return copy_full(in, w, c, bytes); }                                                                                \
    static const struct insn *masked_##bytes(const struct insn *in, struct warp *w, struct ctx *c)                        \
    { return copy_masked(in, w, c, full_##bytes); }
COPY(4) COPY(8) COPY(16)

extern const struct mem_handlers PASTE(async_copy, LANE_ISA)[3];
const struct mem_handlers PASTE(async_copy, LANE_ISA)[3] = { { full_4, masked_4 }, { full_8, masked_8 }, { full_16, masked_16 } };
