/* Breakpoints: what there is, and where in the code they are. Whom they stop: break_hits.c; the requests that make and change them: break_serve.c. */
#include <stdlib.h>
#include <string.h>

#include "runtime/debug/breaks.h"
#include "runtime/debug/quick.h"
#include "runtime/debug/watch.h"

const char *break_what_text(enum break_what w)
{
    static const char *const text[] = {"brkpt", "line", "function", "offset", "ptx", "entry", "launch", "cycle", "error", "divergence", "barrier", "watch"};
    return text[w];
}

struct breakpoint *break_find(uint32_t number)
{
    for (size_t i = 0; i < dbg.breaks.n; i++)
        if (dbg.breaks.at[i]->number == number)
            return dbg.breaks.at[i];
    return NULL;
}

void break_unquicken(struct breakpoint *b)
{
    for (size_t i = 0; i < b->quick.n; i++)
        quick_free(b->quick.at[i].q);
    b->quick.n = 0;
}

void break_free(struct breakpoint *b)
{
    break_unquicken(b);
    vec_free(&b->quick);
    free(b->at);
    free(b->filter.kernel);
    free(b->condition);
    expr_free(b->parsed);
    vec_free(&b->sites);
    watch_free(b->watch);
    free(b);
}

void break_remove(struct breakpoint *b)
{
    for (size_t i = 0; i < dbg.breaks.n; i++)
        if (dbg.breaks.at[i] == b) {
            memmove(dbg.breaks.at + i, dbg.breaks.at + i + 1, (--dbg.breaks.n - i) * sizeof *dbg.breaks.at);
            break_free(b);
            return;
        }
}

void breaks_forget(void)
{
    for (size_t i = 0; i < dbg.breaks.n; i++)
        break_free(dbg.breaks.at[i]);
    dbg.breaks.n = 0;
    breaks_put_all();
}

/* ---- into the code ---- */

static void put(struct debug_run *r, uint32_t function, uint32_t insn) { r->n_put += emu_break_put(r->op->u.launch.function->kernel, function, insn, true) == ST_OK; }

/* Breaks at all instructions of a kind, in all that the kernel may run. */
static void put_kind(struct debug_run *r, bool (*is)(const struct ptx_insn *in))
{
    const struct ptx_module *m = r->module->code->ptx;
    for (uint32_t f = 0; f < m->n_functions; f++)
        for (uint32_t i = 0; m->functions[f].parsed && i < m->functions[f].n_insns; i++)
            if (is(&m->functions[f].insns[i]))
                put(r, f, i);
}

bool break_at_branch(const struct ptx_insn *in) { return (in->op == PTX_OP_BRA && in->guard >= 0) || in->op == PTX_OP_BRX; }
bool break_at_barrier(const struct ptx_insn *in) { return in->op == PTX_OP_BAR || in->op == PTX_OP_BARRIER; }

bool break_concerns(const struct breakpoint *b, const struct debug_run *r)
{
    const struct filter *x = &b->filter;
    return b->enabled && (!x->has_launch || x->launch == r->launch) && (!x->kernel || name_matches(rt_function_name(r->op->u.launch.function), x->kernel));
}

void breaks_put(struct debug_run *r)
{
    emu_breaks_clear(r->op->u.launch.function->kernel);
    r->n_put = 0;
    for (size_t i = 0; i < dbg.breaks.n; i++) {
        const struct breakpoint *b = dbg.breaks.at[i];
        if (!break_concerns(b, r))
            continue;
        if (b->what == BREAK_DIVERGENCE)
            put_kind(r, break_at_branch);
        if (b->what == BREAK_BARRIER)
            put_kind(r, break_at_barrier);
        for (size_t s = 0; s < b->sites.n; s++)
            if (b->sites.at[s].module == r->module)
                put(r, b->sites.at[s].function, b->sites.at[s].insn);
    }
    if (watch_any())
        put_kind(r, watch_insn);
    r->n_put += emu_kernel_brkpt(r->op->u.launch.function->kernel);
}

void breaks_put_all(void)
{
    if (!server_stopped()) {                   /* somebody may be running that code */
        atomic_store(&dbg.dirty, true);
        run_every();
        return;
    }
    for (struct debug_run *r = dbg.runs; r; r = r->next)
        breaks_put(r);
}

/* ---- modules ---- */

bool break_takes_sites(enum break_what w) { return w >= BREAK_LINE && w <= BREAK_PTX; }

static void find_sites(struct breakpoint *b)
{
    struct sites found = {0};
    enum break_what what;
    uint64_t n;
    if (location_find(&found, b->at, &what, &n, NULL) == ST_OK) {
        b->sites.n = 0;
        for (size_t i = 0; i < found.at.n; i++)
            (void)vec_push(&b->sites, found.at.at[i]);
    }
    vec_free(&found.at);
}

void breaks_module(struct rt_module *m)
{
    (void)m;
    for (size_t i = 0; i < dbg.breaks.n; i++) {
        struct breakpoint *b = dbg.breaks.at[i];
        size_t before = b->sites.n;
        if (!break_takes_sites(b->what))
            continue;
        find_sites(b);
        if (b->sites.n == before)
            continue;
        struct out o = server_event_new("resolved");
        out_u64(&o, "breakpoint", b->number);
        out_u64(&o, "places", b->sites.n);
        struct source_line at = b->sites.n ? site_source(&b->sites.at[0]) : (struct source_line){"", 0};
        if (at.line) {
            out_str(&o, "file", at.file);
            out_u64(&o, "line", at.line);
        }
        server_event(&o);
    }
}

void breaks_module_gone(const struct rt_module *m)
{
    names_forget();
    for (size_t i = 0; i < dbg.breaks.n; i++) {
        struct breakpoint *b = dbg.breaks.at[i];
        size_t kept = 0;
        break_unquicken(b);
        for (size_t s = 0; s < b->sites.n; s++)
            if (b->sites.at[s].module != m)
                b->sites.at[kept++] = b->sites.at[s];
        b->sites.n = kept;
    }
}
