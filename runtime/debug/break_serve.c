/* The requests that make and change breakpoints and watchpoints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/debug/breaks.h"
#include "runtime/debug/watch.h"

static void list_one(struct out *o, const struct breakpoint *b)
{
    out_line(o);
    out_u64(o, "breakpoint", b->number);
    out_str(o, "at", b->at);
    out_str(o, "what", break_what_text(b->what));
    out_u64(o, "enabled", b->enabled);
    out_u64(o, "hits", b->hits);
    if (b->ignore)
        out_u64(o, "ignore", b->ignore);
    if (b->condition)
        out_str(o, "condition", b->condition);
    if (b->temporary)
        out_u64(o, "temporary", 1);
    if (b->filter.kernel)
        out_str(o, "kernel", b->filter.kernel);
    if (b->filter.has_block)
        out_xyz(o, "block", b->filter.block);
    if (b->filter.has_thread)
        out_xyz(o, "thread", b->filter.thread);
    if (b->filter.has_warp)
        out_u64(o, "warp", b->filter.warp);
    if (b->filter.has_launch)
        out_u64(o, "launch", b->filter.launch);
    if (b->watch)
        watch_list(o, b);
    if (!break_takes_sites(b->what))
        return;
    out_u64(o, "places", b->sites.n);
    if (!b->sites.n)
        out_u64(o, "pending", 1);
    for (size_t i = 0; i < b->sites.n; i++) {
        out_line(o);
        textbuf_add(&o->text, " place");
        out_u64(o, "breakpoint", b->number);
        site_say(o, &b->sites.at[i]);
    }
}

static bool number_option(const struct request *q, const char *key, uint64_t most, uint64_t *out, bool *has, struct error *err)
{
    const char *text = request_option(q, key);
    *has = text != NULL;
    *out = 0;
    if (text && (!request_number(text, out) || *out > most))
        return refuse(err, "%s=%.40s is no such number", key, text);
    return true;
}

static bool xyz_option(const struct request *q, const char *key, uint32_t out[3], bool *has, struct error *err)
{
    const char *text = request_option(q, key);
    *has = text != NULL;
    return !text || request_xyz(text, out) || refuse(err, "%s=%.40s: it takes x, or x,y, or x,y,z", key, text);
}

static bool take_condition(struct breakpoint *b, const char *text, struct error *err)
{
    struct expr *e = NULL;
    char *copy = text ? strdup(text) : NULL;
    if (text && (!copy || expr_parse(&e, text, err) != ST_OK)) {
        free(copy);
        return false;
    }
    break_unquicken(b);
    free(b->condition);
    expr_free(b->parsed);
    b->condition = copy;
    b->parsed = e;
    return true;
}

static bool take_options(struct breakpoint *b, const struct request *q, struct error *err)
{
    static const char *const known[] = {"at", "if", "ignore", "temporary", "kernel", "block", "thread", "warp", "launch", "disabled", "mode", "bytes"};
    uint64_t warp, n;
    bool has;
    for (unsigned i = 0; i < q->n; i++) {
        size_t k = 0;
        while (q->words[i].key && k < sizeof known / sizeof *known && strcmp(known[k], q->words[i].key) != 0)
            k++;
        if (k == sizeof known / sizeof *known)
            return refuse(err, "unknown option %.40s=", q->words[i].key);
    }
    if (!number_option(q, "ignore", UINT64_MAX, &b->ignore, &has, err) || !number_option(q, "warp", 31, &warp, &b->filter.has_warp, err) ||
        !number_option(q, "launch", UINT64_MAX, &b->filter.launch, &b->filter.has_launch, err) || !number_option(q, "temporary", 1, &n, &has, err))
        return false;
    b->temporary = n != 0;
    b->filter.warp = (uint32_t)warp;
    if (!number_option(q, "disabled", 1, &n, &has, err))
        return false;
    b->enabled = !n;
    if (!xyz_option(q, "block", b->filter.block, &b->filter.has_block, err) || !xyz_option(q, "thread", b->filter.thread, &b->filter.has_thread, err))
        return false;
    const char *kernel = request_option(q, "kernel");
    b->filter.kernel = kernel ? strdup(kernel) : NULL;
    return take_condition(b, request_option(q, "if"), err);
}

/* Errors stop as long as nobody says otherwise: `break at=error` makes that a breakpoint that can be disabled and deleted. */
static void errors_stop(const struct breakpoint *b, bool on)
{
    if (b->what == BREAK_ERROR)
        dbg.error_off = !on;
}

static bool break_add(struct breakpoint *b, struct out *o, struct error *err)
{
    if (!vec_push(&dbg.breaks, b))
        return refuse(err, "no host memory for a breakpoint");
    b->number = ++dbg.last_number;
    errors_stop(b, b->enabled);
    breaks_put_all();
    list_one(o, b);
    return true;
}

bool serve_break(const struct request *q, struct out *o, struct error *err)
{
    const char *at = request_option(q, "at") ? request_option(q, "at") : request_word(q, 0);
    struct sites found = {0};
    struct breakpoint *b = calloc(1, sizeof *b);
    char here[64];
    struct emu_spot s;
    if (!at && focus_spot(&dbg.focus, &s)) {
        snprintf(here, sizeof here, "*0x%llx", (unsigned long long)((uint64_t)s.function << 32 | s.insn));
        at = here;
    }
    if (!at || !b) {
        free(b);
        return refuse(err, at ? "no host memory for a breakpoint" : "break where? at=FILE:LINE, a function, entry, launch:N ..");
    }
    enum status st = location_find(&found, at, &b->what, &b->n, err);
    bool pending = st == ST_NOT_FOUND && break_takes_sites(b->what) && b->what != BREAK_PTX;
    b->at = strdup(at);
    for (size_t i = 0; i < found.at.n; i++)
        (void)vec_push(&b->sites, found.at.at[i]);
    vec_free(&found.at);
    if (!pending && st == ST_OK && b->what == BREAK_CYCLE && !sim_on())
        st = error_set(err, ST_INVALID_VALUE, "cycles exist on the simulated GPU alone: heddle debug --mode=sim");
    if ((st == ST_OK || pending) && b->at && take_options(b, q, err) && break_add(b, o, err))
        return true;
    break_free(b);
    return false;
}

static struct watch *watch_make(const char *text, const struct request *q, struct error *err)
{
    static const char *const modes[] = {"change", "write", "read", "access"};
    const char *mode = request_option(q, "mode");
    uint64_t bytes;
    bool has;
    struct expr *e;
    struct watch w = {.mode = WATCH_CHANGE};
    while (mode && w.mode <= WATCH_ACCESS && strcmp(mode, modes[w.mode]) != 0)
        w.mode++;
    if (w.mode > WATCH_ACCESS)
        return refuse(err, "mode=%.40s: it is change, write, read or access", mode), NULL;
    if (!number_option(q, "bytes", 1 << 30, &bytes, &has, err) || expr_parse(&e, text, err) != ST_OK)
        return NULL;
    enum status st = expr_eval(&w.lvalue, e, &dbg.focus, err);
    expr_free(e);
    if (st != ST_OK)
        return NULL;
    if (w.lvalue.home != HOME_MEMORY)
        return refuse(err, "only memory can be watched: a variable, *(TYPE *)ADDRESS, or an element of @shared or @local"), NULL;
    w.address = w.lvalue.at;
    w.bytes = has ? bytes : type_bytes(&w.lvalue.type);
    const char *p = w.bytes ? memory_at(&dbg.focus, w.address, w.bytes, false, err) : NULL;
    if (!p)
        return *err->text ? NULL : (refuse(err, "nothing to watch in 0 bytes"), NULL);
    if (w.address >= EMU_SHARED_WINDOW && w.address < EMU_CODE_WINDOW)
        w.space = w.address < EMU_LOCAL_WINDOW ? WATCH_SHARED : WATCH_LOCAL;
    if (w.space != WATCH_GLOBAL) {
        w.launch = dbg.focus.run->launch;
        w.block = emu_cta_index(dbg.focus.cta);
        w.warp = dbg.focus.warp;
        w.lane = dbg.focus.lane;
    }
    struct watch *out = malloc(sizeof *out);
    w.copy = malloc(w.bytes);
    if (!out || !w.copy) {
        free(out);
        free(w.copy);
        return refuse(err, "no host memory for a watchpoint"), NULL;
    }
    memcpy(w.copy, p, w.bytes);
    *out = w;
    return out;
}

bool serve_watch(const struct request *q, struct out *o, struct error *err)
{
    const char *text = request_word(q, 0) ? request_word(q, 0) : request_option(q, "at");
    struct breakpoint *b = calloc(1, sizeof *b);
    if (!text || !b) {
        free(b);
        return refuse(err, text ? "no host memory for a watchpoint" : "watch what?");
    }
    b->what = BREAK_WATCH;
    b->at = strdup(text);
    b->watch = watch_make(text, q, err);
    if (b->at && b->watch && take_options(b, q, err) && break_add(b, o, err))
        return true;
    break_free(b);
    return false;
}

/* Does something to each breakpoint that the words name; all of them, where none is named. */
static bool each_named(const struct request *q, void (*fn)(struct breakpoint *b), struct error *err)
{
    uint64_t n;
    for (unsigned i = 0; request_word(q, i); i++)
        if (!request_number(request_word(q, i), &n) || n > UINT32_MAX || !break_find((uint32_t)n))
            return refuse(err, "no breakpoint number %.40s", request_word(q, i));
    for (unsigned i = 0; request_word(q, i); i++)
        if (request_number(request_word(q, i), &n) && break_find((uint32_t)n))
            fn(break_find((uint32_t)n));
    if (!request_word(q, 0))
        for (size_t i = dbg.breaks.n; i-- > 0;)
            fn(dbg.breaks.at[i]);
    breaks_put_all();
    return true;
}

static void enable(struct breakpoint *b)
{
    b->enabled = true;
    errors_stop(b, true);
}
static void disable(struct breakpoint *b)
{
    b->enabled = false;
    errors_stop(b, false);
}

static void forget(struct breakpoint *b)
{
    errors_stop(b, false);
    break_remove(b);
}

bool serve_delete(const struct request *q, struct out *o, struct error *err) { (void)o; return each_named(q, forget, err); }
bool serve_enable(const struct request *q, struct out *o, struct error *err) { (void)o; return each_named(q, enable, err); }
bool serve_disable(const struct request *q, struct out *o, struct error *err) { (void)o; return each_named(q, disable, err); }

static struct breakpoint *named(const struct request *q, struct error *err)
{
    uint64_t n;
    const char *text = request_word(q, 0);
    struct breakpoint *b = text && request_number(text, &n) && n <= UINT32_MAX ? break_find((uint32_t)n) : NULL;
    if (!b)
        refuse(err, "no breakpoint number %.40s", text ? text : "was given");
    return b;
}

bool serve_condition(const struct request *q, struct out *o, struct error *err)
{
    struct breakpoint *b = named(q, err);
    (void)o;
    return b && take_condition(b, request_word(q, 1), err);
}

bool serve_ignore(const struct request *q, struct out *o, struct error *err)
{
    struct breakpoint *b = named(q, err);
    uint64_t n;
    (void)o;
    if (!b)
        return false;
    if (!request_number(request_word(q, 1), &n))
        return refuse(err, "ignore NUMBER COUNT");
    b->ignore = n;
    return true;
}

bool info_breakpoints(const struct request *q, struct out *o, struct error *err)
{
    (void)q, (void)err;
    for (size_t i = 0; i < dbg.breaks.n; i++)
        list_one(o, dbg.breaks.at[i]);
    return true;
}
