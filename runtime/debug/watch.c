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

static uint32_t touching(const struct watch *w, const struct focus *f, const struct emu_event *e)
{
    uint32_t lanes = 0;
    if (!e->bytes || !e->address)
        return 0;
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        bool mine = w->space != WATCH_LOCAL || (w->warp == f->warp && w->lane == l);
        if (e->mask >> l & 1 && mine && e->address[l] < w->address + w->bytes && e->address[l] + e->bytes > w->address)
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

bool watch_check(struct breakpoint *b, struct focus *f, const struct emu_event *e, struct watch_hit *hit)
{
    struct watch *w = b->watch;
    struct error why;
    const char *now = bytes_of(w);
    bool same_block = w->space == WATCH_GLOBAL || (w->launch == f->run->launch && w->block == emu_cta_index(f->cta));
    uint32_t lanes = same_block ? touching(w, f, e) : 0;
    if (!now)
        return false;
    bool changed = memcmp(now, w->copy, w->bytes) != 0;
    bool stops = fits(w->mode, changed, lanes && (!e->store || e->atomic), lanes && (e->store || e->atomic)) &&
                 break_counts(b, f, lanes ? lanes : e->mask ? e->mask : 1, &why);
    if (stops) {
        hit->access = changed ? "change" : e->store || e->atomic ? "write" : "read";
        hit->old = shown(w, w->copy);
        hit->now = shown(w, now);
        hit->focus = *f;
    }
    if (changed)
        memcpy(w->copy, now, w->bytes);
    return stops;
}

struct breakpoint *watch_step(struct debug_run *r, struct emu_cta *cta, uint32_t warp, int32_t *patience, struct watch_hit *hit, enum emu_result *result)
{
    struct emu_spot s[EMU_SPOTS];
    struct emu_event e = {0};
    struct breakpoint *found = NULL;
    *hit = (struct watch_hit){0};
    if (emu_warp_spots(cta, warp, s))
        hit->site = site_of_spot(r, &s[0]);
    *result = emu_debug_step(cta, dbg.worker, warp, patience, &e);
    for (size_t i = 0; i < dbg.breaks.n; i++) {
        struct breakpoint *b = dbg.breaks.at[i];
        struct focus f = {.run = r, .cta = cta, .warp = warp};
        struct watch_hit other = {.site = hit->site};
        if (!b->watch || !b->enabled || !watch_check(b, &f, &e, found ? &other : hit))
            continue;
        watch_hit_free(&other);
        found = found ? found : b;
    }
    if (found)
        dbg.focus = hit->focus;
    return found;
}

struct breakpoint *watch_look(struct watch_hit *hit, const char *by)
{
    struct breakpoint *found = NULL;
    *hit = (struct watch_hit){.access = "change", .by = by};
    for (size_t i = 0; i < dbg.breaks.n; i++) {
        struct breakpoint *b = dbg.breaks.at[i];
        struct watch *w = b->watch;
        const char *now = w && b->enabled ? bytes_of(w) : NULL;
        if (!now || memcmp(now, w->copy, w->bytes) == 0)
            continue;
        if (!found && w->mode != WATCH_READ) {
            found = b;
            b->hits++;
            hit->old = shown(w, w->copy);
            hit->now = shown(w, now);
        }
        memcpy(w->copy, now, w->bytes);
    }
    return found;
}

bool watch_changed(const struct watch *w)
{
    const char *now = bytes_of(w);
    return now && memcmp(now, w->copy, w->bytes) != 0;
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
        return;
    }
    if (focus_spot(&dbg.focus, &s)) {          /* the place is that of the access */
        out_u64(o, "next_insn", s.insn);
        s.function = hit->site.function;
        s.insn = hit->site.insn;
        spot_say(o, &dbg.focus, &s);
    } else {
        uint32_t tid[3], id[3];
        focus_thread(&dbg.focus, tid);
        emu_cta_id(dbg.focus.cta, id);
        out_xyz(o, "block", id);
        out_xyz(o, "thread", tid);
        site_say(o, &hit->site);
    }
}
