/* Fast loads and stores: compiled once per ISA level of the host (LANE_ISA).
 *
 * A handler is a load or store with a constant space, address form, element kind and vector length. It tries, in this order: lanes side by
 * side in memory, one address for all lanes, any addresses inside the range that this site hit last. Everything else, and every
 * access that mem_describe cannot describe while stepping, goes to mem_lanes. The functions below are always inlined into the handlers, so that their parameters are constants;
 * the third case is a function of its own, so that the first two need no stack frame. */
#include "emu/isa_mem.h"

/* ---- handlers ------------------------------------------------------------------------------------------------------ */

/* All ones in the lanes of mask. */
INLINE v64 lanes64(uint32_t mask, uint32_t first)
{
    v64 bit;
    for (int i = 0; i < N64; i++)
        bit[i] = (uint64_t)1 << i;
    return (v64)((bit & ((uint64_t)mask >> first)) != 0);
}

/* Pointers of all lanes; true when those of mask lie in the window and are aligned. */
INLINE bool locate(const struct warp *w, const struct insn *in, const struct window *o, uint32_t mask, unsigned space, unsigned form, unsigned bytes,
                   char *at[WARP_SIZE])
{
    uint64_t x[WARP_SIZE] __attribute__((aligned(64)));
    uint64_t imm = in->imm;
    if (o->bytes < bytes)
        return false;
    if (form == MEM_ROW32) {
        const uint32_t *a = row(w, in->a);
        for (uint32_t l = 0; l < WARP_SIZE; l++)
            x[l] = a[l] + (uint32_t)imm;
    } else {
        const uint64_t *a = row(w, in->a);
        for (uint32_t l = 0; l < WARP_SIZE; l++)
            x[l] = space == MEM_GLOBAL ? a[l] + imm : (uint32_t)(a[l] + imm);
    }
    /* y is out of the window when its sign bit or that of limit - y is set: no window is half the address space long */
    v64 bad = { 0 }, limit = bad + (o->bytes - bytes), lo = bad + o->lo;
    const uint64_t sign = (uint64_t)1 << 63;
    for (uint32_t l = 0; l < WARP_SIZE; l += N64) {
        v64 *v = (v64 *)(void *)&x[l], y = *v - lo, wrong = ((y | (limit - y)) & sign) | (*v & (uint64_t)(bytes - 1));
        if (mask != FULL_MASK)
            wrong &= lanes64(mask, l);
        bad |= wrong;
        *v += (uint64_t)(uintptr_t)o->base;
    }
    if (any64(bad))
        return false;
    for (uint32_t l = 0; l < WARP_SIZE; l++)
        at[l] = (char *)(uintptr_t)(x[l] + l * o->lane_stride);
    return true;
}

/* Groups of 8 lanes, each side by side or the same: what the threads of a 16 x 16 or 8 x 8 block do all the time. False: nothing was done. */
typedef uint16_t group16 __attribute__((vector_size(2 * SHAPE_GROUP), aligned(2), may_alias));
typedef uint32_t group32 __attribute__((vector_size(4 * SHAPE_GROUP), aligned(4), may_alias));
typedef uint64_t group64 __attribute__((vector_size(8 * SHAPE_GROUP), aligned(8), may_alias));

INLINE void copy_group(void *to, const void *from, unsigned kind)
{
    if (kind == MEM_16)
        *(group16 *)to = *(const group16 *)from;
    else if (kind == MEM_32)
        *(group32 *)to = *(const group32 *)from;
    else
        *(group64 *)to = *(const group64 *)from;
}

INLINE void spread_group(void *to, const void *from, unsigned kind)
{
    if (kind == MEM_16)
        *(group16 *)to = (group16){ 0 } + *(const m16 *)from;
    else if (kind == MEM_32)
        *(group32 *)to = (group32){ 0 } + *(const m32 *)from;
    else
        *(group64 *)to = (group64){ 0 } + *(const m64 *)from;
}

/* Warps and loops walk through memory in equal steps, often too long or too many at a time for the host's own prefetching: the lines of a later
 * round are asked for. The warps of a block take turns, but all go the way of the one with the lowest number: its steps count. Returns how far away the
 * lines are: two rounds when these are far apart, about a kilobyte when they are near, 0 for no step. A wrong guess costs a little bandwidth. */
INLINE int64_t look_ahead(const struct insn *in, const struct warp *w, struct ctx *c, uint64_t address)
{
    enum { NEAR = 512, FAR_ROUNDS = 2, NEAR_ROUNDS = 8 };
    struct range_cache *r = &c->sites[in->site];
    if (w->number < r->leader || r->leader == 0) {
        r->step = (int32_t)((uint32_t)address - r->last);
        r->last = (uint32_t)address;
        r->leader = (uint16_t)(w->number + 1);
    }
    return (int64_t)r->step * (r->step < -NEAR || r->step > NEAR ? FAR_ROUNDS : NEAR_ROUNDS);
}

INLINE void fetch_ahead(const struct insn *in, const struct warp *w, struct ctx *c, uint64_t address, unsigned bytes, bool store)
{
    enum { LINE = 64 };
    int64_t ahead = look_ahead(in, w, c, address);
    const char *p = (const char *)(uintptr_t)(address + (uint64_t)ahead);
    for (unsigned at = 0; ahead && at < bytes; at += LINE)
        store ? __builtin_prefetch(p + at, 1) : __builtin_prefetch(p + at, 0);
}

INLINE bool move_groups(struct warp *w, struct ctx *c, const struct insn *in, const struct window *o, unsigned space, unsigned form, unsigned kind, bool store)
{
    enum shape shape[WARP_SIZE / SHAPE_GROUP];
    char *at[WARP_SIZE / SHAPE_GROUP], *r = row(w, in->d);
    unsigned bytes = mem_kind_bytes(kind);
    for (uint32_t g = 0; g < WARP_SIZE / SHAPE_GROUP; g++) {
        shape[g] = shape_of(w, in, form, bytes, g * SHAPE_GROUP, SHAPE_GROUP);
        uint64_t x = address_of(w, in, space, form, g * SHAPE_GROUP);
        if (shape[g] == SHAPE_ANY || (x & (bytes - 1)) || !holds(o, x, shape[g] == SHAPE_DENSE ? (uint64_t)bytes * SHAPE_GROUP : bytes))
            return false;
        at[g] = pointer(o, x, 0);
    }
    int64_t ahead = space == MEM_GLOBAL && !store ? look_ahead(in, w, c, (uint64_t)(uintptr_t)at[0]) : 0;
    for (uint32_t g = 0; ahead && g < WARP_SIZE / SHAPE_GROUP; g++)
        __builtin_prefetch((const void *)((uintptr_t)at[g] + (uintptr_t)ahead));
    for (uint32_t g = 0; g < WARP_SIZE / SHAPE_GROUP; g++, r += SHAPE_GROUP * mem_row_bytes(kind)) {
        if (store && shape[g] == SHAPE_SAME)
            put_element(at[g], 0, r, SHAPE_GROUP - 1, kind);
        else if (shape[g] == SHAPE_DENSE)
            copy_group(store ? at[g] : r, store ? r : at[g], kind);
        else
            spread_group(r, at[g], kind);
    }
    return true;
}

INLINE const struct insn *run_any(const struct insn *in, struct warp *w, struct ctx *c, unsigned space, unsigned form, unsigned kind, unsigned vec, bool store)
{
    char *rows[4], *at[WARP_SIZE];
    struct window o = window_of(w, c, in, space, store);
    if (vec == 1 && kind >= MEM_16 && kind <= MEM_64 && space != MEM_LOCAL && form != MEM_FIXED && move_groups(w, c, in, &o, space, form, kind, store))
        return in + 1;
    if (UNLIKELY(!locate(w, in, &o, FULL_MASK, space, form, mem_kind_bytes(kind) * vec, at)))
        return mem_lanes(in, w, c);
    rows_of(w, in, vec, rows);
    if (store)
        put_lanes(rows, at, kind, vec);
    else
        get_lanes(rows, at, kind, vec);
    return in + 1;
}

/* Local memory, the same address in all lanes: one element every local_stride bytes. */
INLINE void move_local(struct warp *w, char *const rows[4], uint64_t address, unsigned kind, unsigned vec, bool store)
{
    char *at[WARP_SIZE], *p = w->local + address;
    for (uint32_t l = 0; l < WARP_SIZE; l++)
        at[l] = p + (size_t)l * w->local_stride;
    if (store)
        put_lanes(rows, at, kind, vec);
    else
        get_lanes(rows, at, kind, vec);
}

INLINE const struct insn *run_full(const struct insn *in, struct warp *w, struct ctx *c, handler any, unsigned space, unsigned form, unsigned kind,
                                   unsigned vec, bool store)
{
    unsigned bytes = mem_kind_bytes(kind) * vec;
    if (UNLIKELY(c->event != NULL) && !mem_describe(in, w, c))
        return mem_lanes(in, w, c);
    struct window o = window_of(w, c, in, space, store);
    enum shape shape = shape_of(w, in, form, bytes, 0, WARP_SIZE);
    uint64_t first = address_of(w, in, space, form, 0);
    char *rows[4];
    rows_of(w, in, vec, rows);
    if (space != MEM_LOCAL && shape == SHAPE_DENSE) {
        if (UNLIKELY(!holds(&o, first, (uint64_t)bytes * WARP_SIZE) || (first & (bytes - 1))))
            return mem_lanes(in, w, c);
        if (space == MEM_GLOBAL)
            fetch_ahead(in, w, c, first, bytes * WARP_SIZE, store);
        if (store)
            put_dense(rows, pointer(&o, first, 0), kind, vec);
        else
            get_dense(rows, pointer(&o, first, 0), kind, vec);
        return in + 1;
    }
    if (shape != SHAPE_SAME)
        return any(in, w, c);
    if (UNLIKELY(!holds(&o, first, bytes) || (first & (bytes - 1))))
        return mem_lanes(in, w, c);
    if (space == MEM_LOCAL)
        move_local(w, rows, first, kind, vec, store);
    else if (store)                            /* the highest lane wins */
        for (unsigned v = 0; v < vec; v++)
            put_element(pointer(&o, first, 0), v, rows[v], WARP_SIZE - 1, kind);
    else
        get_same(rows, pointer(&o, first, 0), kind, vec);
    return in + 1;
}

/* ---- addresses whose shape is known ---------------------------------------------------------------------------------- */

INLINE bool affine_group(const struct warp *w, const struct insn *in, unsigned form, uint32_t lane, uint64_t step)
{
    return form == MEM_ROW32 ? affine32((const uint32_t *)row(w, in->a) + lane, (uint32_t)step, SHAPE_GROUP)
                             : affine64((const uint64_t *)row(w, in->a) + lane, step, SHAPE_GROUP);
}

INLINE const struct insn *shape_full(const struct insn *in, struct warp *w, unsigned form)
{
    enum { WIDEST = 16 };                      /* access */
    struct mem_shape *s = row(w, in->d);
    const uint32_t *r32 = row(w, in->a);
    const uint64_t *r64 = row(w, in->a);
    uint64_t first[4], lo = UINT64_MAX, hi = 0, bits = WIDEST;
    uint64_t step = form == MEM_ROW32 ? r32[1] - r32[0] : r64[1] - r64[0];
    bool whole = true;
    s->dense = s->same = 0;
    if (step > WIDEST || (step & (step - 1)))
        return in + 1;
    for (uint32_t g = 0; g < 4; g++) {
        uint32_t l = g * SHAPE_GROUP;
        if (!affine_group(w, in, form, l, step))
            return in + 1;
        first[g] = form == MEM_ROW32 ? r32[l] : r64[l];
        lo = first[g] < lo ? first[g] : lo;
        hi = first[g] > hi ? first[g] : hi;
        bits |= first[g];
        whole &= first[g] == first[0] + step * l;
    }
    if (hi - lo > INT32_MAX)
        return in + 1;
    for (uint32_t g = 0; g < 4; g++)
        s->at[g] = (uint32_t)(first[g] - lo);
    s->lo = lo;
    s->span = (uint32_t)(hi - lo + step * (SHAPE_GROUP - 1));
    s->whole = whole;
    uint8_t aligned = (uint8_t)(2 * (bits & -bits) - 1);
    if (step)
        s->dense = aligned & (uint8_t)step;
    else
        s->same = aligned;
    return in + 1;
}

INLINE const struct insn *shape_masked(const struct insn *in, struct warp *w, unsigned form)
{
    uint32_t mask = insn_mask(in, w);
    struct mem_shape *s = row(w, in->d);
    if (mask == FULL_MASK)
        return shape_full(in, w, form);
    if (mask)
        s->dense = s->same = 0;
    return in + 1;
}

/* Four groups of 8 lanes; p: where the lowest address is. */
INLINE void move_known(const struct mem_shape *s, char *p, char *r, unsigned kind, bool dense, bool store)
{
    unsigned row_bytes = mem_row_bytes(kind) * SHAPE_GROUP;
    for (uint32_t g = 0; g < 4; g++, r += row_bytes)
        if (dense)
            copy_group(store ? p + s->at[g] : r, store ? r : p + s->at[g], kind);
        else if (store)                        /* the highest lane wins */
            put_element(p + s->at[g], 0, r, SHAPE_GROUP - 1, kind);
        else
            spread_group(r, p + s->at[g], kind);
}

INLINE void move_known_vector(char *const rows[4], char *p, unsigned kind, unsigned vec, bool dense, bool store)
{
    if (dense && store)
        put_dense(rows, p, kind, vec);
    else if (dense)
        get_dense(rows, p, kind, vec);
    else if (!store)
        get_same(rows, p, kind, vec);
    else
        for (unsigned v = 0; v < vec; v++)
            put_element(p, v, rows[v], WARP_SIZE - 1, kind);
}

INLINE const struct insn *run_known(const struct insn *in, struct warp *w, struct ctx *c, handler any, unsigned space, unsigned kind, unsigned vec,
                                    bool store)
{
    unsigned bytes = mem_kind_bytes(kind) * vec;
    const struct mem_shape *s = row(w, in->charge * 64u);
    bool dense = s->dense & bytes;
    if (UNLIKELY(c->event != NULL || !(dense || s->same & bytes) || (vec > 1 && !s->whole)))
        return any(in, w, c);
    struct window o = window_of(w, c, in, space, store);
    uint64_t lo = s->lo + in->imm;
    if (space != MEM_GLOBAL)
        lo = (uint32_t)lo;
    if (UNLIKELY(!holds(&o, lo, (uint64_t)s->span + bytes)))
        return mem_lanes(in, w, c);
    char *p = pointer(&o, lo, 0);
    if (space == MEM_GLOBAL && dense && s->whole)
        fetch_ahead(in, w, c, lo, bytes * WARP_SIZE, store);
    if (vec == 1 && dense) {
        move_known(s, p, row(w, in->d), kind, true, store);
    } else if (vec == 1) {
        move_known(s, p, row(w, in->d), kind, false, store);
    } else {
        char *rows[4];
        rows_of(w, in, vec, rows);
        move_known_vector(rows, p, kind, vec, dense, store);
    }
    return in + 1;
}

/* Fixed addresses in some lanes: local and shared variables under a guard. */
INLINE bool locate_fixed(const struct warp *w, const struct insn *in, const struct window *o, unsigned space, unsigned bytes, char *at[WARP_SIZE])
{
    uint64_t x = address_of(w, in, space, MEM_FIXED, 0);
    if (!holds(o, x, bytes) || (x & (bytes - 1)))
        return false;
    for (uint32_t l = 0; l < WARP_SIZE; l++)
        at[l] = pointer(o, x, l);
    return true;
}

INLINE const struct insn *run_masked(const struct insn *in, struct warp *w, struct ctx *c, handler full, unsigned space, unsigned form, unsigned kind,
                                     unsigned vec, bool store)
{
    unsigned bytes = mem_kind_bytes(kind) * vec;
    uint32_t mask = insn_mask(in, w);
    char *rows[4], *at[WARP_SIZE];
    if (mask == FULL_MASK)
        return full(in, w, c);
    if (UNLIKELY(c->event != NULL) && !mem_describe(in, w, c))
        return mem_lanes(in, w, c);
    struct window o = window_of(w, c, in, space, store);
    if (UNLIKELY(!(form == MEM_FIXED ? locate_fixed(w, in, &o, space, bytes, at) : locate(w, in, &o, mask, space, form, bytes, at))))
        return mem_lanes(in, w, c);            /* also for an empty mask at a fixed address that is bad: nothing happens there */
    rows_of(w, in, vec, rows);
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        for (unsigned v = 0; v < vec; v++)
            if (store)
                put_element(at[lane], v, rows[v], lane, kind);
            else
                get_element(rows[v], lane, at[lane], v, kind);
    }
    return in + 1;
}

/* ---- the table ------------------------------------------------------------------------------------------------------ */

/* Everything that has a fast handler: X(load or store, space, form, kind, vector length, log2 of it). */
#define VECTORS(X, s, sp, f)  X(s, sp, f, MEM_32, 2, 1) X(s, sp, f, MEM_32, 4, 2) X(s, sp, f, MEM_64, 2, 1)
#define SCALARS(X, s, sp, f)  X(s, sp, f, MEM_U8, 1, 0) X(s, sp, f, MEM_16, 1, 0) X(s, sp, f, MEM_32, 1, 0) X(s, sp, f, MEM_64, 1, 0)
#define ROWS(X, s, sp, f)     SCALARS(X, s, sp, f) VECTORS(X, s, sp, f)
#define SPACES(X, s)                                                                                                     \
    ROWS(X, s, MEM_GLOBAL, MEM_ROW64) SCALARS(X, s, MEM_GLOBAL, MEM_FIXED)                                               \
    ROWS(X, s, MEM_SHARED, MEM_ROW64) ROWS(X, s, MEM_SHARED, MEM_ROW32) ROWS(X, s, MEM_SHARED, MEM_FIXED)                \
    ROWS(X, s, MEM_LOCAL, MEM_ROW64) SCALARS(X, s, MEM_LOCAL, MEM_FIXED)
#define ALL(X) SPACES(X, 0) SPACES(X, 1) \
    X(0, MEM_GLOBAL, MEM_ROW64, MEM_S8, 1, 0) X(0, MEM_SHARED, MEM_ROW64, MEM_S8, 1, 0) X(0, MEM_SHARED, MEM_ROW32, MEM_S8, 1, 0)

#define ARGS const struct insn *in, struct warp *w, struct ctx *c
#define DEFINE(s, sp, f, k, v, lv)                                                                                       \
    static __attribute__((noinline)) const struct insn *any_##s##_##sp##_##f##_##k##_##v(ARGS)                           \
    { return run_any(in, w, c, sp, f, k, v, s); }                                                                        \
    static const struct insn *full_##s##_##sp##_##f##_##k##_##v(ARGS)                                                    \
    { return run_full(in, w, c, any_##s##_##sp##_##f##_##k##_##v, sp, f, k, v, s); }                                     \
    static const struct insn *masked_##s##_##sp##_##f##_##k##_##v(ARGS)                                                  \
    { return run_masked(in, w, c, full_##s##_##sp##_##f##_##k##_##v, sp, f, k, v, s); }
ALL(DEFINE)

#define ENTRY(s, sp, f, k, v, lv) \
    [s][sp][f][k][lv] = { full_##s##_##sp##_##f##_##k##_##v, masked_##s##_##sp##_##f##_##k##_##v },
#define KNOWN_SPACES(X, s) \
    KNOWN(X, s, MEM_GLOBAL, MEM_ROW64) KNOWN(X, s, MEM_SHARED, MEM_ROW64) KNOWN(X, s, MEM_SHARED, MEM_ROW32)
#define KNOWN(X, s, sp, f) X(s, sp, f, MEM_16, 1, 0) X(s, sp, f, MEM_32, 1, 0) X(s, sp, f, MEM_64, 1, 0) VECTORS(X, s, sp, f)
#define DEFINE_KNOWN(s, sp, f, k, v, lv)                                                                                 \
    static const struct insn *known_##s##_##sp##_##f##_##k##_##v(ARGS)                                                   \
    { return run_known(in, w, c, full_##s##_##sp##_##f##_##k##_##v, sp, k, v, s); }
KNOWN_SPACES(DEFINE_KNOWN, 0) KNOWN_SPACES(DEFINE_KNOWN, 1)

#define ENTRY_KNOWN(s, sp, f, k, v, lv) \
    [s][sp][f][k][lv] = { known_##s##_##sp##_##f##_##k##_##v, masked_##s##_##sp##_##f##_##k##_##v },
extern const mem_known_table PASTE(mem_known, LANE_ISA);
const mem_known_table PASTE(mem_known, LANE_ISA) = { KNOWN_SPACES(ENTRY_KNOWN, 0) KNOWN_SPACES(ENTRY_KNOWN, 1) };

static const struct insn *shape32_full(ARGS) { (void)c; return shape_full(in, w, MEM_ROW32); }
static const struct insn *shape32_masked(ARGS) { (void)c; return shape_masked(in, w, MEM_ROW32); }
static const struct insn *shape64_full(ARGS) { (void)c; return shape_full(in, w, MEM_ROW64); }
static const struct insn *shape64_masked(ARGS) { (void)c; return shape_masked(in, w, MEM_ROW64); }
extern const struct mem_handlers PASTE(mem_shape, LANE_ISA)[2];
const struct mem_handlers PASTE(mem_shape, LANE_ISA)[2] = { { shape32_full, shape32_masked }, { shape64_full, shape64_masked } };

extern const mem_table PASTE(mem_table, LANE_ISA);
const mem_table PASTE(mem_table, LANE_ISA) = { ALL(ENTRY) };
