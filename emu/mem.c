/* Memory accesses lane by lane: every check, exact faults, stepping events. The fast handlers (emu/isa_mem.c) end here when
 * something is not as they hoped. */
#include <stdio.h>
#include <string.h>

#include "emu/cluster.h"
#include "emu/isa.h"
#include "emu/mem.h"
#include "emu/space.h"

static const char *const space_names[] = { "global", "shared", "local", "generic", "param" };
static const uint8_t space_ptx[] = { PTX_SPACE_GLOBAL, PTX_SPACE_SHARED, PTX_SPACE_LOCAL, PTX_SPACE_GENERIC, PTX_SPACE_PARAM };

/* ---- faults ---------------------------------------------------------------------------------------------------- */

static void describe_nearest(const struct ctx *c, uint64_t address, unsigned bytes, char *buf, size_t n)
{
    struct emu_range r;
    if (address < EMU_BASE || address - EMU_BASE >= EMU_SPAN) {
        if (!c->space || !emu_space_find(c->space, address, &r)) {
            snprintf(buf, n, address < 4096 ? "a null pointer, or an offset from one" : "not a device address");
            return;
        }
    }
    if (!c->space || !emu_space_nearest(c->space, address, &r)) {
        snprintf(buf, n, "there is no allocation at all");
        return;
    }
    unsigned long long lo = r.lo, hi = r.hi, size = hi - lo;
    if (address == r.hi)
        snprintf(buf, n, "right behind the end of %s [0x%llx, 0x%llx), %llu bytes", r.what, lo, hi, size);
    else if (address > r.hi)
        snprintf(buf, n, "0x%llx is %llu bytes after the end of %s [0x%llx, 0x%llx), %llu bytes", (unsigned long long)address,
                 (unsigned long long)(address - r.hi), r.what, lo, hi, size);
    else if (address < r.lo)
        snprintf(buf, n, "0x%llx is %llu bytes before the start of %s [0x%llx, 0x%llx), %llu bytes", (unsigned long long)address,
                 (unsigned long long)(r.lo - address), r.what, lo, hi, size);
    else
        snprintf(buf, n, "the last %llu bytes lie after the end of %s [0x%llx, 0x%llx), %llu bytes; hardware would not see that (--slack)",
                 (unsigned long long)(address + bytes - r.hi), r.what, lo, hi, size);
}

static const char *verb(uint32_t extra)
{
    return extra & MEM_ATOMIC ? "atomic on" : extra & MEM_STORE ? "store of" : "load of";
}

static void fault(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lane, enum status st, unsigned space, uint64_t address,
                  unsigned bytes, const char *why)
{
    insn_fault(in, w, c, lane, st, "%s %u bytes at %s address 0x%llx: %s", verb(in->extra), bytes, space_names[space],
               (unsigned long long)address, why);
}

/* ---- addresses -------------------------------------------------------------------------------------------------- */

void mem_sites_flush(struct ctx *c)
{
    for (uint32_t i = 0; i < c->n_sites; i++)
        c->sites[i] = (struct range_cache){ .lo = 1 };
}

static bool in_range(const struct range_cache *r, uint64_t address, unsigned bytes)
{
    return address >= r->lo && address < r->hi && r->hi - address >= bytes;
}

/* Finds the range of a device address through the site's cache. */
static bool lookup(const struct insn *in, struct ctx *c, uint64_t address, unsigned bytes, struct range_cache **out)
{
    struct range_cache *site = &c->sites[in->site];
    uint64_t generation = emu_space_generation(c->space);
    if (generation != c->space_generation) {
        mem_sites_flush(c);
        c->space_generation = generation;
    }
    *out = site;
    if (in_range(site, address, bytes))
        return true;
    return space_lookup(c->space, address, in->extra & (MEM_STORE | MEM_ATOMIC) ? bytes : 0, site) && in_range(site, address, bytes);
}

struct lane_access { const struct insn *in; struct warp *w; struct ctx *c; uint32_t lane; unsigned bytes; uint64_t address, generic; unsigned space; };

static char *at_shared(struct lane_access *a)
{
    struct cluster_place p;
    char *at = cluster_at(a->c->cta, (uint32_t)a->address, a->bytes, &p);
    a->generic = cluster_generic(p.rank, p.offset);
    if (!at)
        fault(a->in, a->w, a->c, a->lane, p.status, MEM_SHARED, (uint32_t)a->address, a->bytes, p.why);
    return at;
}

static char *at_local(struct lane_access *a)
{
    uint32_t off = (uint32_t)a->address;
    a->generic = EMU_LOCAL_WINDOW + off;
    if ((uint64_t)off + a->bytes <= a->w->local_stride)
        return a->w->local + (size_t)a->lane * a->w->local_stride + off;
    char why[100];
    snprintf(why, sizeof why, "the thread has %u bytes of local memory", a->w->local_stride);
    fault(a->in, a->w, a->c, a->lane, ST_ILLEGAL_ADDRESS, MEM_LOCAL, off, a->bytes, why);
    return NULL;
}

static char *at_global(struct lane_access *a)
{
    struct range_cache *r;
    a->generic = a->address;
    if (!lookup(a->in, a->c, a->address, a->bytes, &r)) {
        char why[400];
        describe_nearest(a->c, a->address, a->bytes, why, sizeof why);
        fault(a->in, a->w, a->c, a->lane, ST_ILLEGAL_ADDRESS, a->space, a->address, a->bytes, why);
        return NULL;
    }
    if ((a->in->extra & (MEM_STORE | MEM_ATOMIC)) && !r->writable) {
        fault(a->in, a->w, a->c, a->lane, ST_ILLEGAL_ADDRESS, a->space, a->address, a->bytes, "this memory is read-only for kernels");
        return NULL;
    }
    return (char *)(uintptr_t)a->address;
}

static char *at_generic(struct lane_access *a)
{
    if (a->address - EMU_SHARED_WINDOW < EMU_WINDOW_BYTES) {
        a->space = MEM_SHARED;
        a->address = cluster_of_generic(a->address, a->c->cta->cluster_rank);
        return at_shared(a);
    }
    if (a->address - EMU_LOCAL_WINDOW < EMU_WINDOW_BYTES) {
        a->space = MEM_LOCAL;
        if (!(a->in->extra & MEM_ATOMIC))
            return at_local(a);
        fault(a->in, a->w, a->c, a->lane, ST_INVALID_ADDRESS_SPACE, MEM_GENERIC, a->address, a->bytes, "atomics need global or shared memory, and this is local");
        return NULL;
    }
    char *p = at_global(a);
    a->space = MEM_GLOBAL;
    return p;
}

/* Parameters of the kernel with an address that is computed: an offset in the parameter block. */
static char *at_param(struct lane_access *a)
{
    const struct emu_launch *launch = &a->c->grid->launch;
    uint32_t n = launch->param_bytes;
    a->generic = launch->param_address ? launch->param_address + a->address : a->address;
    if (a->address < n && n - a->address >= a->bytes)
        return (char *)(uintptr_t)launch->params + a->address;      /* only ever loaded from: decode sees to it */
    if (a->address >= EMU_BASE)
        return at_global(a);
    char why[100];
    snprintf(why, sizeof why, "the kernel has %u bytes of parameters", n);
    fault(a->in, a->w, a->c, a->lane, ST_ILLEGAL_ADDRESS, MEM_PARAM, a->address, a->bytes, why);
    return NULL;
}

static char *(*const at_space[])(struct lane_access *) = { at_global, at_shared, at_local, at_generic, at_param };

static uint64_t lane_address(const struct insn *in, const struct warp *w, uint32_t lane, int64_t offset)
{
    switch (MEM_FORM(in->extra)) {
    case MEM_ROW64: return ((const uint64_t *)row(w, in->a))[lane] + (uint64_t)offset;
    case MEM_ROW32: return (uint32_t)(((const uint32_t *)row(w, in->a))[lane] + (uint64_t)offset);
    default: return (uint64_t)offset + (MEM_SPACE(in->extra) == MEM_LOCAL ? w->local_sp : 0);
    }
}

bool mem_resolve(const struct insn *in, struct warp *w, struct ctx *c, uint32_t mask, unsigned bytes, char *at[WARP_SIZE])
{
    bool wide = (in->extra & MEM_WIDE) != 0;
    int64_t offset = wide ? ((const struct mem_wide *)(uintptr_t)in->imm)->offset : (int64_t)in->imm;
    unsigned space = MEM_SPACE(in->extra);
    struct lane_access a = { .in = in, .w = w, .c = c, .bytes = bytes };
    for (uint32_t m = mask; m; m &= m - 1) {
        a.lane = (uint32_t)__builtin_ctz(m);
        a.address = lane_address(in, w, a.lane, offset);
        a.space = space;
        if (a.address & (bytes - 1)) {
            char why[64];
            snprintf(why, sizeof why, "not a multiple of %u", bytes);
            fault(in, w, c, a.lane, ST_MISALIGNED_ADDRESS, space, a.address, bytes, why);
            return false;
        }
        if (!(at[a.lane] = at_space[space](&a)))
            return false;
        if (c->event)
            c->event_address[a.lane] = a.generic;
    }
    if (c->event) {
        c->event->space = space_ptx[a.space];
        c->event->bytes = (uint8_t)bytes;
        c->event->lanes = mask;
        c->event->store = (in->extra & MEM_STORE) != 0;
        c->event->atomic = (in->extra & MEM_ATOMIC) != 0;
        c->event->address = c->event_address;
        c->event->strong = (in->extra & (MEM_STRONG | MEM_ATOMIC)) != 0 && a.space == MEM_GLOBAL && mask;
        if (c->defer && c->event->strong) {    /* the caller does it later: emu_warp_perform */
            c->deferred = in;
            return false;
        }
    }
    return true;
}

static struct insn place_record(const struct insn *in, const struct mem_place *p)
{
    return (struct insn){ .a = p->row, .imm = (uint64_t)p->offset, .site = p->site, .ptx = in->ptx,
                          .extra = MEM_EXTRA(0, 0, p->space, p->form, p->store ? MEM_STORE : 0) };
}

bool mem_place_resolve(const struct insn *in, const struct mem_place *p, struct warp *w, struct ctx *c, uint32_t mask, unsigned bytes, char *at[WARP_SIZE])
{
    struct insn r = place_record(in, p);
    if (mem_resolve(&r, w, c, mask, bytes, at))
        return true;
    w->next = in;                              /* not the passing record */
    return false;
}

uint64_t mem_place_address(const struct mem_place *p, const struct warp *w, uint32_t lane)
{
    struct insn r = { .a = p->row, .extra = MEM_EXTRA(0, 0, p->space, p->form, 0) };
    uint64_t x = lane_address(&r, w, lane, p->offset);
    return p->space == MEM_SHARED ? (uint32_t)x : x;
}

char *mem_span(const struct insn *in, const struct mem_place *p, struct warp *w, struct ctx *c, uint32_t lane, uint64_t address, uint32_t bytes, unsigned align)
{
    struct insn r = place_record(in, p);
    struct lane_access a = { .in = &r, .w = w, .c = c, .lane = lane, .bytes = bytes, .address = address, .space = p->space };
    char *at = NULL, why[64];
    if (address & (align - 1)) {
        snprintf(why, sizeof why, "not a multiple of %u", align);
        fault(&r, w, c, lane, ST_MISALIGNED_ADDRESS, p->space, address, bytes, why);
    } else {
        at = at_space[p->space](&a);
    }
    if (!at)
        w->next = in;
    return at;
}

char *mem_at(struct warp *w, struct ctx *c, uint32_t lane, uint64_t address, bool store, uint64_t *room)
{
    if (address - EMU_SHARED_WINDOW < EMU_WINDOW_BYTES) {
        struct cluster_place p;
        char *at = cluster_at(c->cta, cluster_of_generic(address, c->cta->cluster_rank), 1, &p);
        *room = at ? p.cta->shared_bytes - p.offset : 0;
        return at;
    }
    if (address - EMU_LOCAL_WINDOW < EMU_WINDOW_BYTES) {
        uint32_t off = (uint32_t)address;
        *room = off < w->local_stride ? w->local_stride - off : 0;
        return *room ? w->local + (size_t)lane * w->local_stride + off : NULL;
    }
    struct range_cache r;
    if (!space_lookup(c->space, address, store, &r) || (store && !r.writable))
        return NULL;
    *room = r.hi - address;
    return (char *)(uintptr_t)address;
}

/* ---- loads and stores -------------------------------------------------------------------------------------------- */

typedef uint8_t m8 __attribute__((may_alias));
typedef uint16_t m16 __attribute__((may_alias));
typedef uint32_t m32 __attribute__((may_alias));
typedef uint64_t m64 __attribute__((may_alias));
typedef long long m128 __attribute__((vector_size(16), may_alias));

/* One access of a lane. Up to 16 bytes move at once, so that other threads never see half of a value (programs
 * rely on that for ld.relaxed.v2.u64 and the like); 32 bytes in two halves. */
static void move(void *to, const void *from, unsigned bytes)
{
#define MOVE(T) __atomic_store_n((T *)to, __atomic_load_n((const T *)from, __ATOMIC_RELAXED), __ATOMIC_RELAXED)
    switch (bytes) {
    case 1: MOVE(m8); break;
    case 2: MOVE(m16); break;
    case 4: MOVE(m32); break;
    case 8: MOVE(m64); break;
    case 16: *(volatile m128 *)to = *(const volatile m128 *)from; break;
    default:
        for (unsigned i = 0; i < bytes; i += 16)
            ((volatile m128 *)to)[i / 16] = ((const volatile m128 *)from)[i / 16];
    }
#undef MOVE
}

static void rows_of(const struct insn *in, uint32_t rows[8])
{
    if (in->extra & MEM_WIDE) {
        memcpy(rows, ((const struct mem_wide *)(uintptr_t)in->imm)->rows, 8 * sizeof rows[0]);
    } else {
        rows[0] = in->d;
        rows[1] = in->b;
        rows[2] = in->c;
        rows[3] = in->target;
    }
}

static void load_lane(char *frame, const uint32_t *rows, uint32_t lane, unsigned kind, unsigned vec, const char *from)
{
    unsigned bytes = mem_kind_bytes(kind), width = mem_row_bytes(kind);
    _Alignas(16) char buf[128];
    move(buf, from, bytes * vec);
    for (unsigned v = 0; v < vec; v++) {
        char *to = frame + rows[v] + (size_t)lane * width;
        if (kind == MEM_U8 || kind == MEM_S8) {
            int16_t x = kind == MEM_S8 ? (int16_t)(int8_t)buf[v] : (int16_t)(uint8_t)buf[v];
            memcpy(to, &x, 2);
        } else {
            memcpy(to, buf + v * bytes, bytes);
        }
    }
}

static void store_lane(const char *frame, const uint32_t *rows, uint32_t lane, unsigned kind, unsigned vec, char *to)
{
    unsigned bytes = mem_kind_bytes(kind), width = mem_row_bytes(kind);
    _Alignas(16) char buf[128];
    for (unsigned v = 0; v < vec; v++)
        memcpy(buf + v * bytes, frame + rows[v] + (size_t)lane * width, bytes);
    move(to, buf, bytes * vec);
}

/* The addresses of all 32 lanes as the record's space counts them. */
static void addresses_of(const struct insn *in, const struct warp *w, uint64_t to[WARP_SIZE])
{
    uint64_t offset = in->imm, fixed = offset + (MEM_SPACE(in->extra) == MEM_LOCAL ? w->local_sp : 0);
    const uint64_t *r64 = row(w, in->a);
    const uint32_t *r32 = row(w, in->a);
    switch (MEM_FORM(in->extra)) {
    case MEM_ROW64:
        for (uint32_t l = 0; l < WARP_SIZE; l++)
            to[l] = r64[l] + offset;
        break;
    case MEM_ROW32:
        for (uint32_t l = 0; l < WARP_SIZE; l++)
            to[l] = r32[l] + (uint32_t)offset;
        break;
    default:
        for (uint32_t l = 0; l < WARP_SIZE; l++)
            to[l] = fixed;
    }
}

/* Makes them generic. False: some may be in other spaces, or in another block. */
static bool make_generic(const struct ctx *c, unsigned space, uint64_t x[WARP_SIZE])
{
    uint64_t strange = 0, window = space == MEM_SHARED ? cluster_generic(c->cta->cluster_rank, 0) : EMU_LOCAL_WINDOW;
    if (space == MEM_GENERIC) {
        for (uint32_t l = 0; l < WARP_SIZE; l++)       /* the windows of shared and local memory are neighbours */
            strange |= x[l] - EMU_SHARED_WINDOW < 2 * (uint64_t)EMU_WINDOW_BYTES;
    } else if (space != MEM_GLOBAL) {
        for (uint32_t l = 0; l < WARP_SIZE; l++) {
            uint32_t offset = (uint32_t)x[l];
            strange |= space == MEM_SHARED ? offset >> CLUSTER_SHIFT : 0;
            x[l] = window + offset;
        }
    }
    return !strange;
}

bool mem_describe(const struct insn *in, const struct warp *w, struct ctx *c)
{
    unsigned space = MEM_SPACE(in->extra);
    bool global = space == MEM_GLOBAL || space == MEM_GENERIC;
    if (in->extra & MEM_WIDE || space == MEM_PARAM || (global && in->extra & (MEM_STRONG | MEM_ATOMIC)))
        return false;
    addresses_of(in, w, c->event_address);
    if (!make_generic(c, space, c->event_address))
        return false;
    c->event->space = space_ptx[global ? MEM_GLOBAL : space];
    c->event->bytes = (uint8_t)mem_access_bytes(in->extra);
    c->event->store = (in->extra & MEM_STORE) != 0;
    c->event->address = c->event_address;
    return true;
}

const struct insn *mem_lanes(const struct insn *in, struct warp *w, struct ctx *c)
{
    char *at[WARP_SIZE];
    uint32_t mask = insn_mask(in, w), rows[8];
    unsigned kind = MEM_KIND(in->extra), vec = 1u << MEM_LOGVEC(in->extra);
    if (!mem_resolve(in, w, c, mask, mem_access_bytes(in->extra), at))
        return NULL;
    rows_of(in, rows);
    if (in->extra & MEM_STORE) {
        for (uint32_t m = mask; m; m &= m - 1)
            store_lane(w->frame, rows, (uint32_t)__builtin_ctz(m), kind, vec, at[__builtin_ctz(m)]);
    } else {
        for (uint32_t m = mask; m; m &= m - 1)
            load_lane(w->frame, rows, (uint32_t)__builtin_ctz(m), kind, vec, at[__builtin_ctz(m)]);
    }
    return in + 1;
}

const struct insn *mem_param(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct emu_launch *launch = &c->grid->launch;
    unsigned kind = MEM_KIND(in->extra), bytes = mem_kind_bytes(kind);
    if (c->event || in->imm >= launch->param_bytes || launch->param_bytes - in->imm < bytes || insn_mask(in, w) != FULL_MASK)
        return mem_lanes(in, w, c);
    char *to = row(w, in->d);
    load_lane(w->frame, &in->d, 0, kind, 1, (const char *)launch->params + in->imm);
    uint32_t *r4 = (uint32_t *)(void *)to, v4 = *r4;
    uint64_t *r8 = (uint64_t *)(void *)to;
    unsigned bytes_row = mem_row_bytes(kind);
    if (bytes_row == 4)
        for (unsigned l = 0; l < WARP_SIZE; l++) r4[l] = v4;
    else if (bytes_row == 8)
        for (uint64_t l = 0, v8 = *r8; l < WARP_SIZE; l++) r8[l] = v8;
    else
        for (unsigned have = bytes_row; have < WARP_SIZE * bytes_row; have *= 2) memcpy(to + have, to, have);
    return in + 1;
}

struct mem_handlers mem_handlers_of(uint32_t extra)
{
    static const mem_table *const tables[] = { &mem_table_base, &mem_table_avx2, &mem_table_avx512 };
    static const mem_known_table *const known[] = { &mem_known_base, &mem_known_avx2, &mem_known_avx512 };
    struct mem_handlers lanes = { mem_lanes, mem_lanes };
    unsigned space = MEM_SPACE(extra), logvec = MEM_LOGVEC(extra);
    if (space == MEM_PARAM && MEM_FORM(extra) == MEM_FIXED && !logvec)
        return (struct mem_handlers){ mem_param, mem_param };
    if (space == MEM_PARAM || logvec > 2)
        return lanes;
    if (logvec && (extra & MEM_STRONG))        /* a vector moves as one value: see move() */
        return lanes;
    if (space == MEM_GENERIC)                  /* no window is ever in a range cache, so the global handler misses and comes here */
        space = MEM_GLOBAL;
    if (extra & MEM_KNOWN && space <= MEM_SHARED && MEM_FORM(extra) != MEM_FIXED) {
        struct mem_handlers k = (*known[isa_level()])[(extra & MEM_STORE) != 0][space][MEM_FORM(extra)][MEM_KIND(extra)][logvec];
        if (k.full)
            return k;
    }
    struct mem_handlers h = (*tables[isa_level()])[(extra & MEM_STORE) != 0][space][MEM_FORM(extra)][MEM_KIND(extra)][logvec];
    return h.full ? h : lanes;
}

struct mem_handlers mem_shape_handlers(unsigned width)
{
    static const struct mem_handlers *const tables[] = { mem_shape_base, mem_shape_avx2, mem_shape_avx512 };
    return tables[isa_level()][width == 8];
}
