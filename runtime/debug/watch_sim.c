/* Watchpoints on the simulated GPU. Warps of all SMs issue in turns and what they write may take effect later, so a change is found after the fact, and
 * told of the newest access that can have made it. */
#include <stdio.h>

#include "runtime/debug/watch.h"

enum { REMEMBERED = 256 };
static struct access ring[REMEMBERED];         /* newest at ring[(n - 1) % REMEMBERED]; under big */
static size_t n_accesses;

static uint32_t writing(const struct watch *w, const struct access *a)
{
    uint32_t lanes = 0;
    bool near = w->space == WATCH_GLOBAL || (w->launch == a->launch && w->block == a->block && (w->space == WATCH_SHARED || w->warp == a->warp));
    for (uint32_t l = 0; a->store && near && l < WARP_SIZE; l++)
        if (a->mask >> l & 1 && (w->space != WATCH_LOCAL || w->lane == l) && a->address[l] < w->address + w->bytes && a->address[l] + a->bytes > w->address)
            lanes |= 1u << l;
    return lanes;
}

/* The newest access that can have made the change: one that writes what is there now. Else the newest that may have written there at all; NULL: none that is
 * remembered. */
static const struct access *writer_of(const struct watch *w, const char *now)
{
    const struct access *newest = NULL;
    size_t kept = n_accesses < REMEMBERED ? n_accesses : REMEMBERED;
    for (size_t i = 1; i <= kept; i++) {
        const struct access *a = &ring[(n_accesses - i) % REMEMBERED];
        uint32_t lanes = writing(w, a);
        if (access_writes_now(a, lanes, w->address, now, w->bytes))
            return a;
        newest = newest || !lanes ? newest : a;
    }
    return newest;
}

/* Of a thread that has ended. */
static const char *who_was(const struct debug_run *r, const struct access *a, uint32_t lane)
{
    static char text[256];                     /* under big */
    const struct launch_op *l = &r->op->u.launch;
    struct source_line at = site_source(&a->site);
    uint64_t t = a->warp * WARP_SIZE + lane, b = a->block;
    int n = snprintf(text, sizeof text, "block %llu,%llu,%llu thread %llu,%llu,%llu", (unsigned long long)(b % l->grid[0]), (unsigned long long)(b / l->grid[0] % l->grid[1]),
                     (unsigned long long)(b / l->grid[0] / l->grid[1]), (unsigned long long)(t % l->block[0]), (unsigned long long)(t / l->block[0] % l->block[1]),
                     (unsigned long long)(t / l->block[0] / l->block[1]));
    if (at.line && n > 0 && (size_t)n < sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, " at %s:%u", file_base(at.file), at.line);
    return text;
}

/* Who has written what is there now, as far as it is known; false: nobody in this kernel. */
static bool find_writer(struct debug_run *r, const struct watch *w, const char *now, const struct access **a, struct focus *by)
{
    *a = writer_of(w, now);
    if (!*a || (*a)->launch != r->launch)
        return false;
    *by = (struct focus){.run = r, .cta = run_block(r, (*a)->block), .warp = (*a)->warp, .lane = access_last(*a, writing(w, *a), w->address, w->copy, now, w->bytes)};
    return true;
}

const char *watch_writer(struct debug_run *r, const struct watch *w, const char *now)
{
    const struct access *a;
    struct focus by;
    return find_writer(r, w, now, &a, &by) ? who_was(r, a, by.lane) : NULL;
}

static bool changed(struct debug_run *r, struct emu_cta *cta, uint32_t warp, struct breakpoint *b, struct watch_hit *hit)
{
    struct focus by, here = {.run = r, .cta = cta, .warp = warp};
    struct access unknown = {.mask = 1};
    const struct access *writer;
    struct emu_spot s;
    const char *now = watch_changed(b->watch);
    if (!now)
        return false;
    if (find_writer(r, b->watch, now, &writer, &by)) {
        hit->look = writer->look;
        if (focus_spot(&by, &s)) {
            hit->site = writer->site;
            return watch_check(b, &by, writer, hit);
        }
        hit->by = who_was(r, writer, by.lane);
    }
    return watch_check(b, &here, &unknown, hit);
}

static bool accesses(struct emu_cta *cta, struct breakpoint *b, const struct access *now, struct watch_hit *hit)
{
    struct focus f = {.run = run_of(cta), .cta = cta, .warp = now->warp};
    watch_take(b->watch);                      /* changes are not what it asks for */
    hit->site = now->site;
    hit->look = now->look;
    return watch_check(b, &f, now, hit);
}

void watch_accesses_forget(void) { n_accesses = 0; }

struct breakpoint *watch_issue(struct debug_run *r, struct emu_cta *cta, uint32_t warp, uint64_t look, struct watch_hit *hit)
{
    struct access now;
    bool plain = access_of(r, cta, warp, &now);
    now.look = look;
    struct breakpoint *found = NULL;
    *hit = (struct watch_hit){.site = now.site};
    for (size_t i = 0; i < dbg.breaks.n && !found; i++) {
        struct breakpoint *b = dbg.breaks.at[i];
        if (b->watch && b->enabled && (b->watch->mode == WATCH_CHANGE ? changed(r, cta, warp, b, hit) : plain && accesses(cta, b, &now, hit)))
            found = b;
    }
    if (plain)
        ring[n_accesses++ % REMEMBERED] = now;
    if (found)
        dbg.focus = hit->focus;
    return found;
}
