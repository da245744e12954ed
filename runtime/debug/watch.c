/* Watchpoints: see watch.h. While one is enabled, every instruction that may touch memory stops its warp for a look (breaks.c puts the breaks). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/debug/watch.h"

void watch_free(struct watch *w)
{
    if (w)
        free(w->copy);
    free(w);
}

void watch_hit_free(struct watch_hit *hit)
{
    free(hit->old);
    free(hit->now);
    hit->old = hit->now = NULL;
}

bool watch_any(void)
{
    for (size_t i = 0; i < dbg.breaks.n; i++)
        if (dbg.breaks.at[i]->watch && dbg.breaks.at[i]->enabled)
            return true;
    return false;
}

bool watch_insn(const struct ptx_insn *in)
{
    if (in->op == PTX_OP_CALL || in->op == PTX_OP_CP)
        return true;                           /* built-in functions; copies that come in later */
    if (in->space == PTX_SPACE_PARAM || in->space == PTX_SPACE_CONST)
        return false;
    for (unsigned i = 0; i < in->n_operands; i++)
        if (in->operands[i].kind == PTX_OPERAND_MEM || in->operands[i].kind == PTX_OPERAND_TEXMEM)
            return true;
    return false;
}

/* ---- bytes ---- */

/* Whose memory it is; false: that block is not there (any more). */
static bool owner(const struct watch *w, struct focus *f)
{
    *f = (struct focus){.run = dbg.runs, .warp = w->warp, .lane = w->lane};
    if (w->space == WATCH_GLOBAL) {
        f->run = NULL;
        return true;
    }
    while (f->run && f->run->launch != w->launch)
        f->run = f->run->next;
    f->cta = f->run ? run_block(f->run, w->block) : NULL;
    return f->cta != NULL;
}

static const char *bytes_of(const struct watch *w)
{
    struct focus f;
    struct error err;
    return owner(w, &f) ? memory_at(&f, w->address, w->bytes, false, &err) : NULL;
}

static char *shown(const struct watch *w, const char *bytes)
{
    struct textbuf t = {0};
    struct value v = w->lvalue;
    struct focus none = {0};
    uint64_t n = type_bytes(&v.type);
    v.home = HOME_NONE;
    if (!v.type.count && !type_is_record(&v.type) && n <= sizeof v.bits && n <= w->bytes) {
        memcpy(v.bits, bytes, n);
        value_print(&t, &v, 0, &none);
    } else {
        struct type e = type_element(&v.type);
        uint64_t one = v.type.count && e.kind != TYPE_RECORD ? type_bytes(&e) : 1, most = 16;
        struct type byte = {.kind = TYPE_INT, .bytes = 1, .lanes = 1};
        textbuf_add(&t, "{");
        for (uint64_t i = 0; i < most && (i + 1) * one <= w->bytes; i++) {
            textbuf_add(&t, "%s", i ? ", " : "");
            scalar_print(&t, v.type.count && e.lanes == 1 && e.kind != TYPE_RECORD ? &e : &byte, bytes + i * one, 0);
        }
        textbuf_add(&t, most * one < w->bytes ? ", ..}" : "}");
    }
    return t.at;
}

/* ---- looks ---- */

static uint32_t touching(const struct watch *w, const struct focus *f, const struct access *e)
{
    uint32_t lanes = 0;
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        bool mine = w->space != WATCH_LOCAL || (w->warp == f->warp && w->lane == l);
        if (e->bytes && e->mask >> l & 1 && mine && e->address[l] < w->address + w->bytes && e->address[l] + e->bytes > w->address)
            lanes |= 1u << l;
    }
    return lanes;
}

static bool fits(enum watch_mode mode, bool changed, bool read, bool write)
{
    switch (mode) {
    case WATCH_CHANGE: return changed;
    case WATCH_WRITE: return write || changed;
    case WATCH_READ: return read;
    default: return read || write || changed;
    }
}

bool watch_check(struct breakpoint *b, struct focus *f, const struct access *a, struct watch_hit *hit)
{
    struct watch *w = b->watch;
    struct error why;
    const char *now = bytes_of(w);
    bool same_block = w->space == WATCH_GLOBAL || (w->launch == f->run->launch && w->block == emu_cta_index(f->cta));
    uint32_t lanes = same_block ? touching(w, f, a) : 0;
    if (!now)
        return false;
    bool changed = memcmp(now, w->copy, w->bytes) != 0, reads = lanes && (!a->store || a->atomic), writes = lanes && a->store;
    uint32_t who = lanes ? lanes : a->mask ? a->mask : 1;
    if (writes && w->mode != WATCH_READ)
        who = 1u << access_last(a, lanes, w->address, w->copy, now, w->bytes);
    bool stops = fits(w->mode, changed, reads, writes) && break_counts(b, f, who, &why);
    if (stops) {
        hit->access = changed ? "change" : a->store ? "write" : "read";
        hit->old = shown(w, w->copy);
        hit->now = shown(w, now);
        hit->focus = *f;
    }
    if (changed)
        memcpy(w->copy, now, w->bytes);
    return stops;
}

/* The engine knows more kinds of access than access_of, and which lanes took part. */
static void take_event(struct access *a, const struct emu_event *e)
{
    a->mask = e->mask;
    a->bytes = e->address ? e->bytes : 0;
    a->store = e->store || e->atomic;
    a->atomic = e->atomic;
    if (a->bytes)
        memcpy(a->address, e->address, sizeof a->address);
}

struct breakpoint *watch_step(struct debug_run *r, struct emu_cta *cta, uint32_t warp, int32_t *patience, struct watch_hit *hit, enum emu_result *result)
{
    struct emu_spot s[EMU_SPOTS];
    struct emu_event e = {0};
    struct breakpoint *found = NULL;
    struct access a;
    *hit = (struct watch_hit){0};
    if (emu_warp_spots(cta, warp, s))
        hit->site = site_of_spot(r, &s[0]);
    if (!access_of(r, cta, warp, &a))
        a.writes = ACCESS_UNKNOWN;
    *result = emu_debug_step(cta, dbg.worker, warp, patience, &e);
    take_event(&a, &e);
    for (size_t i = 0; i < dbg.breaks.n; i++) {
        struct breakpoint *b = dbg.breaks.at[i];
        struct focus f = {.run = r, .cta = cta, .warp = warp};
        struct watch_hit other = {.site = hit->site};
        if (!b->watch || !b->enabled || !watch_check(b, &f, &a, found ? &other : hit))
            continue;
        watch_hit_free(&other);
        found = found ? found : b;
    }
    if (found)
        dbg.focus = hit->focus;
    return found;
}

struct breakpoint *watch_next(struct watch_hit *hit, const char *by, struct debug_run *r)
{
    *hit = (struct watch_hit){.access = "change", .by = by};
    for (size_t i = 0; i < dbg.breaks.n; i++) {
        struct breakpoint *b = dbg.breaks.at[i];
        struct watch *w = b->watch;
        const char *now = w && b->enabled && w->mode != WATCH_READ ? watch_changed(w) : NULL;
        if (!now)
            continue;
        const char *writer = r ? watch_writer(r, w, now) : NULL;
        hit->by = writer ? writer : by;
        hit->old = shown(w, w->copy);
        hit->now = shown(w, now);
        b->hits++;
        watch_take(w);
        return b;
    }
    return NULL;
}

struct breakpoint *watch_look(struct watch_hit *hit, const char *by)
{
    struct breakpoint *b = watch_next(hit, by, NULL);
    watch_refresh();
    return b;
}

const char *watch_changed(const struct watch *w)
{
    const char *now = bytes_of(w);
    return now && memcmp(now, w->copy, w->bytes) != 0 ? now : NULL;
}

void watch_take(struct watch *w)
{
    const char *now = bytes_of(w);
    if (now)
        memcpy(w->copy, now, w->bytes);
}

void watch_refresh(void)
{
    for (size_t i = 0; i < dbg.breaks.n; i++)
        if (dbg.breaks.at[i]->watch)
            watch_take(dbg.breaks.at[i]->watch);
}

/* ---- telling ---- */

static const char *const spaces[] = {"global", "shared", "local"};
static const char *const modes[] = {"change", "write", "read", "access"};

void watch_list(struct out *o, const struct breakpoint *b)
{
    const struct watch *w = b->watch;
    out_str(o, "expression", b->at);
    out_str(o, "mode", modes[w->mode]);
    out_hex(o, "address", w->address);
    out_u64(o, "bytes", w->bytes);
    out_str(o, "space", spaces[w->space]);
}

void watch_say(struct out *o, const struct breakpoint *b, const struct watch_hit *hit)
{
    struct emu_spot s;
    watch_list(o, b);
    out_str(o, "access", hit->access);
    if (hit->old && hit->now) {
        out_str(o, "old", hit->old);
        out_str(o, "new", hit->now);
    }
    if (hit->by) {
        out_str(o, "by", hit->by);
        focus_say(o, &dbg.focus);
        return;
    }
    if (focus_spot(&dbg.focus, &s)) {          /* the place is that of the access */
        out_u64(o, "next_insn", s.insn);
        s.function = hit->site.function;
        s.insn = hit->site.insn;
        spot_say(o, &dbg.focus, &s);
    } else {
        focus_say(o, &dbg.focus);
        site_say(o, &hit->site);
    }
}
