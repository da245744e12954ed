/* suld, sust, sured: bytes and samples of a surface, lane by lane. */
#include <string.h>

#include "emu/tex.h"

typedef uint32_t word32 __attribute__((may_alias));
typedef uint64_t word64 __attribute__((may_alias));

struct access {                                /* what a lane touches */
    int64_t x, y, z;                           /* byte, row, slice */
    unsigned bytes;
};

/* ---- where ---- */

static int64_t clamp(int64_t v, int64_t top) { return v < 0 ? 0 : v > top ? top : v; }

static bool faults(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lane, const struct texture *t, const struct access *a, enum status st, const char *why)
{
    insn_fault(in, w, c, lane, st, "%u bytes at byte %lld, row %lld, slice %lld of surface 0x%x (%u x %u x %u texels of %u bytes, %u layers): %s", a->bytes,
               (long long)a->x, (long long)a->y, (long long)a->z, t->handle, t->d.width, t->d.height, t->d.depth, t->texel_bytes, t->d.layers, why);
    return false;
}

/* The memory of a lane's access; *at NULL where .zero finds nothing. False: faulted. */
static bool find(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lane, const struct texture *t, const struct surf_op *op, struct access *a, char **at)
{
    const struct emu_level *l = &t->d.level[0];
    int64_t last[3] = { (int64_t)l->width * t->texel_bytes - a->bytes, (int64_t)l->height - 1,
                        (int64_t)(t->d.layered || t->d.cube ? t->d.layers : l->depth) - 1 };
    bool out = a->x < 0 || a->x > last[0] || a->y < 0 || a->y > last[1] || a->z < 0 || a->z > last[2];
    *at = NULL;
    if (out && op->bound == SURF_ZERO)
        return true;
    if (out && (op->bound == SURF_TRAP || last[0] < 0))
        return faults(in, w, c, lane, t, a, ST_ILLEGAL_ADDRESS, "out of bounds");
    a->x = clamp(a->x, last[0]);
    a->y = clamp(a->y, last[1]);
    a->z = clamp(a->z, last[2]);
    if (out)
        a->x -= a->x % a->bytes;
    if (a->x % a->bytes)
        return faults(in, w, c, lane, t, a, ST_MISALIGNED_ADDRESS, "not a multiple of the size of the access");
    *at = (char *)(uintptr_t)(l->base + (uint64_t)a->z * l->slice + (uint64_t)a->y * l->pitch + (uint64_t)a->x);
    return true;
}

/* ---- what ---- */

/* Rows hold 2 bytes a lane at least: 8-bit elements are zero-extended. */
static unsigned row_bytes(unsigned bytes) { return bytes < 2 ? 2 : bytes; }

static void load(const struct surf_op *op, struct warp *w, uint32_t lane, const char *at)
{
    for (unsigned i = 0; i < op->n; i++) {
        uint64_t v = 0;
        if (at)
            memcpy(&v, at + i * op->bytes, op->bytes);
        memcpy((char *)row(w, op->data[i]) + (size_t)lane * row_bytes(op->bytes), &v, row_bytes(op->bytes));
    }
}

static void store(const struct surf_op *op, struct warp *w, uint32_t lane, char *at)
{
    for (unsigned i = 0; i < op->n && at; i++)
        memcpy(at + i * op->bytes, (const char *)row(w, op->data[i]) + (size_t)lane * row_bytes(op->bytes), op->bytes);
}

static void store_formatted(const struct surf_op *op, struct warp *w, uint32_t lane, const struct texture *t, char *at)
{
    uint32_t v[4];
    for (unsigned i = 0; i < op->n; i++)
        v[i] = ((const uint32_t *)row(w, op->data[i]))[lane];
    if (at)
        texel_store(t->d.texel, t->d.channels, at, v, op->n);
}

static uint64_t combined(enum surf_reduce how, bool is_signed, unsigned bytes, uint64_t a, uint64_t b)
{
    int64_t x = bytes == 4 ? (int32_t)a : (int64_t)a, y = bytes == 4 ? (int32_t)b : (int64_t)b;
    switch (how) {
    case SURF_ADD: return a + b;
    case SURF_AND: return a & b;
    case SURF_OR: return a | b;
    case SURF_MIN: return (is_signed ? x < y : a < b) ? a : b;
    case SURF_MAX: break;
    }
    return (is_signed ? x > y : a > b) ? a : b;
}

#define REDUCE(bits)                                                                                                                    \
    static void reduce##bits(char *at, enum surf_reduce how, bool is_signed, uint64_t v)                                                \
    {                                                                                                                                   \
        word##bits *p = (word##bits *)(void *)at, old = __atomic_load_n(p, __ATOMIC_RELAXED);                                           \
        while (!__atomic_compare_exchange_n(p, &old, (word##bits)combined(how, is_signed, bits / 8, old, v), false, __ATOMIC_SEQ_CST,   \
                                            __ATOMIC_SEQ_CST))                                                                          \
            ;                                                                                                                           \
    }
REDUCE(32)
REDUCE(64)

static void reduce(const struct surf_op *op, struct warp *w, uint32_t lane, const struct texture *t, char *at)
{
    bool is_signed = op->action == SURF_REDUCE_FORMATTED ? emu_texel_facts[t->d.texel].class == EMU_CLASS_SINT : op->is_signed;
    if (!at)
        return;
    if (op->bytes == 8)
        reduce64(at, (enum surf_reduce)op->reduce, is_signed, ((const uint64_t *)row(w, op->data[0]))[lane]);
    else
        reduce32(at, (enum surf_reduce)op->reduce, is_signed, ((const uint32_t *)row(w, op->data[0]))[lane]);
}

static void act(const struct surf_op *op, struct warp *w, uint32_t lane, const struct texture *t, char *at)
{
    switch ((enum surf_action)op->action) {
    case SURF_LOAD: load(op, w, lane, at); break;
    case SURF_STORE: store(op, w, lane, at); break;
    case SURF_STORE_FORMATTED: store_formatted(op, w, lane, t, at); break;
    case SURF_REDUCE: case SURF_REDUCE_FORMATTED: reduce(op, w, lane, t, at); break;
    }
}

static void note(struct ctx *c, uint32_t lane, const struct surf_op *op, const struct access *a, const char *at)
{
    c->event->space = PTX_SPACE_TEX;
    c->event->bytes = (uint8_t)a->bytes;
    c->event->store = op->action != SURF_LOAD;
    c->event->atomic = op->action >= SURF_REDUCE;
    c->event->address = c->event_address;
    c->event_address[lane] = (uintptr_t)at;
}

static inline int64_t coordinate(const struct warp *w, uint32_t at, uint32_t lane) { return ((const int32_t *)(const void *)(w->frame + at))[lane]; }

const struct insn *surf_run(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct surf_op *op = (const struct surf_op *)(uintptr_t)in->imm;
    const uint64_t *handle = row(w, op->surface);
    const struct texture *t = NULL;
    uint64_t resolved = 0;
    bool samples = op->action == SURF_STORE_FORMATTED || op->action == SURF_REDUCE_FORMATTED;
    for (uint32_t m = insn_mask(in, w); m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        if (!t || handle[lane] != resolved) {
            resolved = handle[lane];
            if (!(t = tex_resolve(in, w, c, lane, resolved, EMU_SURFACE)))
                return NULL;
        }
        struct access a = { .bytes = op->action == SURF_STORE_FORMATTED ? t->texel_bytes : (unsigned)op->bytes * op->n };
        char *at;
        a.x = coordinate(w, op->coord[0], lane) * (samples ? t->texel_bytes : 1);
        a.y = op->dims > 1 ? coordinate(w, op->coord[1], lane) : 0;
        a.z = op->dims > 2 ? coordinate(w, op->coord[2], lane) : op->layered ? (int64_t)(uint32_t)coordinate(w, op->layer, lane) : 0;
        if (!find(in, w, c, lane, t, op, &a, &at))
            return NULL;
        act(op, w, lane, t, at);
        if (c->event)
            note(c, lane, op, &a, at);
    }
    return in + 1;
}
