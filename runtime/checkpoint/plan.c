/* When checkpoints are taken: what the settings say, looked at when a grid begins and when it halts. Executing thread only, but for checkpoint_wanted. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/hello.h"
#include "runtime/base/symbol.h"
#include "runtime/checkpoint/about.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/host.h"
#include "runtime/checkpoint/plan.h"
#include "runtime/checkpoint/request.h"
#include "runtime/dispatch.h"

enum { RETRY_INSNS = 2000, RETRIES = 5000, KEEP_MOST = 1000 };

static struct checkpoint_plan plan;
static struct {
    uint64_t seen;                             /* launches that the plan's kernel:N counts */
    char came_to[400];                         /* how far the grid that kernel:N means had come when it ended */
    bool over;                                 /* the one checkpoint was taken, or given up */
    uint64_t due_ns, due_insns;                /* of the next of checkpoint_every */
    uint64_t number;                           /* of those so far, before a resume, too */
    char text[24];                             /* the one that is being written, for the file; "": it has no number */
    uint64_t kernel;                           /* the newest that EVERY_KERNELS was served for */
    bool resumed;                              /* no grid has begun since the checkpoint that this run goes on from */
    unsigned tries;                            /* since one became due and the host was not ready */
    bool owed;                                 /* due, but the kernel ended before the host was ready */
    uint64_t cycle;                            /* of the simulated GPU, when the plan has one */
    const struct grid_run *target;             /* the grid that kernel:N means; NULL: it has not begun */
} state;
atomic_int checkpoint_watch;

/* ---- settings ---- */

static bool number_of(const char *text, size_t n, uint64_t *out)
{
    uint64_t scale = 1;
    if (n && strchr("kKmMgG", text[n - 1])) {
        scale = text[n - 1] == 'k' || text[n - 1] == 'K' ? 1000 : text[n - 1] == 'm' || text[n - 1] == 'M' ? 1000000 : 1000000000;
        n--;
    }
    *out = 0;
    for (size_t i = 0; i < n; i++)
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, (uint64_t)(text[i] - '0'), out))
            return false;
    return n && !__builtin_mul_overflow(*out, scale, out);
}

static bool take_word(struct checkpoint_plan *p, const char *word, size_t n)
{
    const char *colon = memchr(word, ':', n), *value = colon ? colon + 1 : NULL;
    size_t key = colon ? (size_t)(colon - word) : n, rest = colon ? n - key - 1 : 0;
    const struct { const char *name; uint64_t *to; bool *given; } numbers[] = {
        {"kernel", &p->kernel, NULL}, {"cta", &p->cta, &p->by_cta}, {"insn", &p->insn, &p->by_insn}, {"cycle", &p->cycle, &p->by_cycle}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (key == strlen(numbers[i].name) && strncmp(word, numbers[i].name, key) == 0) {
            if (numbers[i].given)
                *numbers[i].given = true;
            return value && number_of(value, rest, numbers[i].to);
        }
    if (key != 4 || strncmp(word, "name", 4) != 0 || !rest || rest >= sizeof p->name)
        return false;
    memcpy(p->name, value, rest);
    p->name[rest] = 0;
    return true;
}

static enum status parse_where(struct checkpoint_plan *p, const char *text, struct error *err)
{
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, ",");
        if (!take_word(p, at, n)) {
            error_set(err, ST_INVALID_VALUE, "checkpoint = %s: '%.*s' is not understood", text, (int)n, at);
            error_hint(err, "kernel:N, name:GLOB, cta:M, insn:K and (heddle sim) cycle:C, between commas; kernel:5,cta:120  is after 120 blocks of the fifth launch");
            return ST_INVALID_VALUE;
        }
        at += n + (at[n] == ',');
    }
    if (p->kernel == 0)                        /* "name:GLOB": the first of that name */
        p->kernel = p->name[0] || !p->by_insn ? 1 : 0;
    p->once = *text != 0;
    return ST_OK;
}

static enum status parse_every(struct checkpoint_plan *p, const char *text, struct error *err)
{
    static const struct { const char *name; enum checkpoint_unit unit; } units[] = {
        {"kernel", EVERY_KERNELS}, {"insn", EVERY_INSNS}, {"instruction", EVERY_INSNS}, {"second", EVERY_SECONDS}, {"s", EVERY_SECONDS}};
    if (!*text)
        return ST_OK;
    size_t n = strspn(text, "0123456789"), scale = n + (text[n] && strchr("kKmMgG", text[n]) && (text[n + 1] == ' ' || !text[n + 1]) ? 1 : 0);
    const char *unit = text + scale + strspn(text + scale, " ");
    size_t length = strlen(unit) - (strlen(unit) > 1 && unit[strlen(unit) - 1] == 's');
    bool good = number_of(text, scale, &p->every) && p->every;
    for (size_t i = 0; good && i < sizeof units / sizeof *units; i++)
        if (length == strlen(units[i].name) && strncmp(unit, units[i].name, length) == 0)
            p->unit = units[i].unit;
    if (!good || p->unit == EVERY_NEVER) {
        error_set(err, ST_INVALID_VALUE, "checkpoint_every = %s is not understood", text);
        error_hint(err, "a number and kernels, insns or seconds: --checkpoint-every='5 kernels'");
        return ST_INVALID_VALUE;
    }
    return ST_OK;
}

enum status checkpoint_plan_parse(struct checkpoint_plan *p, const char *where, const char *every, struct error *err)
{
    *p = (struct checkpoint_plan){0};
    enum status st = parse_where(p, where, err);
    return st == ST_OK ? parse_every(p, every, err) : st;
}

bool checkpoint_armed(void) { return *rt_knobs()->checkpoint || *rt_knobs()->checkpoint_every; }

static enum { AS_WANTED, SHARED_ROWS, WHOLE_ROWS } rows;

bool checkpoint_whole_rows(bool wanted) { return rows == AS_WANTED ? wanted : rows == WHOLE_ROWS; }

enum status checkpoint_decode_as(struct hck_reader *r, struct error *err)
{
    static struct checkpoint_about about;      /* large */
    enum status st = checkpoint_about(&about, r, err);
    if (st == ST_OK) {
        rows = *about_fact(&about, "registers") ? WHOLE_ROWS : SHARED_ROWS;
        state.number = strtoull(about_fact(&about, "number"), NULL, 10);
        state.resumed = true;
    }
    return st;
}

enum status checkpoint_start(struct error *err)
{
    const struct rt_knobs *k = rt_knobs();
    struct hck_reader *r;
    if (*k->resume && hck_open(&r, k->resume, NULL) == ST_OK) {     /* what is wrong with the file the replay says */
        (void)!checkpoint_decode_as(r, NULL);
        hck_close(r);
    }
    enum status st = checkpoint_plan_parse(&plan, k->checkpoint, k->checkpoint_every, err);
    if (st != ST_OK)
        return st;
    if (checkpoint_armed() && !host_is_ours())
        plan = (struct checkpoint_plan){0};
    if (plan.unit == EVERY_SECONDS)
        state.due_ns = now_ns() + plan.every * 1000000000u;
    if (plan.unit == EVERY_INSNS)
        state.due_insns = plan.every;
    atomic_store(&checkpoint_watch, request_open() || plan.unit == EVERY_SECONDS);
    return ST_OK;
}

static char asked[4096];                       /* a debugger's file; "": none */

bool checkpoint_ask(const char *path)
{
    if (*asked)
        return false;
    snprintf(asked, sizeof asked, "%s", path);
    atomic_store(&checkpoint_watch, 1);
    return true;
}

bool checkpoint_is_wanted(void)
{
    return *asked || request_waits() || (plan.unit == EVERY_SECONDS && now_ns() >= __atomic_load_n(&state.due_ns, __ATOMIC_RELAXED));
}

const char *checkpoint_number(void) { return state.text; }

/* ---- a grid begins ---- */

static bool named(const char *name)
{
    char nice[512];
    return !plan.name[0] || fnmatch(plan.name, name, 0) == 0 || fnmatch(plan.name, symbol_demangle(name, nice, sizeof nice), 0) == 0;
}

static void halt_after(struct grid_run *r, uint64_t insns)
{
    r->halt_reached = false;
    if (insns < r->halt_insns)
        r->halt_insns = insns;
    if (r->halt_insns <= atomic_load(&r->warp_insns)) {
        r->halt_reached = true;
        atomic_store(&r->halt, true);
    }
}

static void halt_at_plan(struct grid_run *r)
{
    uint64_t before = dispatch_clock().device_clock, blocks = (plan.cta + r->cluster_ctas - 1) / r->cluster_ctas;
    if (plan.kernel == 0) {                    /* insn:K of the whole run */
        halt_after(r, plan.insn > before ? plan.insn - before : 0);
        return;
    }
    if (!named(rt_function_name(r->function)) || (++state.seen, (plan.name[0] ? state.seen : r->number) != plan.kernel))
        return;
    state.target = r;
    r->halt_loosely = false;
    if (plan.by_cycle && sim_on())
        r->halt_cycle = state.cycle = sim_cycle(r->context->device) + plan.cycle;
    else if (!plan.by_cta)
        halt_after(r, plan.by_insn ? plan.insn : 0);
    else if (r->waits)                         /* its blocks may wait for later ones */
        r->halt_done = blocks;
    else if (blocks < r->n_ctas)
        r->end = blocks;
    if (plan.by_cta && blocks == 0)
        atomic_store(&r->halt, true);
}

/* A resumed run's settings mean the whole run; what was over at the checkpoint does not come again. */
static void go_on_from(const struct grid_run *r)
{
    uint64_t now = dispatch_clock().device_clock + (r->from ? r->from->warp_insns : 0);
    state.resumed = false;
    if (plan.unit == EVERY_INSNS)
        state.due_insns = now + plan.every;
    if (plan.once && (plan.kernel ? !plan.name[0] && plan.kernel < r->number : plan.insn <= now))
        state.over = true;
}

void checkpoint_kernel_skipped(const char *name)
{
    state.seen += named(name);
}

void checkpoint_grid_begins(struct grid_run *r)
{
    bool goes_on = r->from && r->from->number;
    if (state.resumed)
        go_on_from(r);
    if (!goes_on && (state.owed || checkpoint_wanted() || (plan.unit == EVERY_KERNELS && r->number % plan.every == 0)))
        atomic_store(&r->halt, true);
    if (plan.unit == EVERY_INSNS) {
        uint64_t before = dispatch_clock().device_clock;
        halt_after(r, state.due_insns > before ? state.due_insns - before : 0);
    }
    if (plan.once && !state.over)
        halt_at_plan(r);
}

/* ---- it halts ---- */

/* FILE.hck -> FILE.7.hck */
static void numbered(char *out, size_t n, const char *path, uint64_t number)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    if (!dot || (slash && dot < slash))
        dot = path + strlen(path);
    snprintf(out, n, "%.*s.%" PRIu64 "%s", (int)(dot - path), path, number, dot);
}

static void describe(const struct grid_run *r, char *out, size_t n)
{
    char name[256];
    struct grid_state now;
    size_t residents = sim_on() && sim_state(r, &now) ? now.n_residents : r->residents.n;
    symbol_demangle(rt_function_name(r->function), name, sizeof name);
    snprintf(out, n, "kernel %" PRIu64 ", %s: %" PRIu64 " of %" PRIu64 " %s ended, %zu under way, %" PRIu64 " warp instructions", r->number, name, atomic_load(&r->done),
             r->n_ctas, r->cluster_ctas > 1 ? "clusters" : "blocks", residents, atomic_load(&r->warp_insns));
}

static void end_process(const char *path)
{
    char line[5000];
    snprintf(line, sizeof line, "heddle: the program was ended at its checkpoint, as stop says\nheddle: next: heddle info %s\n", path);
    log_text(line);
    hello_stopped();
    kill(getpid(), SIGKILL);                   /* nothing of the program shall run on */
}

/* ST_NOT_READY: later. */
static enum status take(const struct grid_run *r, const char *path, struct error *err)
{
    char note[400], line[5000];
    describe(r, note, sizeof note);
    uint64_t from = now_ns();
    enum status st = checkpoint_save(path, note, err);
    if (st == ST_OK && !the.quiet) {
        snprintf(line, sizeof line, "heddle: checkpoint %s: %s; written in %.2f s\n", path, note, (double)(now_ns() - from) * 1e-9);
        log_text(line);
    }
    return st;
}

/* Everything that is due is served by one file each; they are rarely due together. */
static enum status serve_request(const struct grid_run *r, struct error *err)
{
    char path[REQUEST_PATH_BYTES];
    request_path(path, sizeof path);
    enum status st = take(r, *path ? path : rt_knobs()->to, err);
    if (st != ST_NOT_READY)
        request_answer(st, st == ST_OK ? (*path ? path : rt_knobs()->to) : err->text);
    return st;
}

static bool once_is_due(const struct grid_run *r)
{
    if (!plan.once || state.over || (plan.kernel && state.target != r))
        return false;
    if (!plan.kernel)
        return dispatch_clock().device_clock + atomic_load(&r->warp_insns) >= plan.insn;
    uint64_t blocks = (plan.cta + r->cluster_ctas - 1) / r->cluster_ctas;
    if (plan.by_cycle && sim_on())
        return sim_cycle(r->context->device) >= state.cycle;
    return (!plan.by_cta || atomic_load(&r->done) >= (blocks < r->n_ctas ? blocks : r->n_ctas)) && (!plan.by_insn || plan.by_cta || r->halt_reached || atomic_load(&r->warp_insns) >= plan.insn);
}

static enum status serve_once(const struct grid_run *r, struct error *err)
{
    enum status st = take(r, rt_knobs()->to, err);
    state.over = st != ST_NOT_READY;
    if (st == ST_OK && rt_knobs()->stop)
        end_process(rt_knobs()->to);
    return st;
}

static bool every_is_due(const struct grid_run *r)
{
    switch (plan.unit) {
    case EVERY_KERNELS: return r->number % plan.every == 0 && state.kernel != r->number;
    case EVERY_INSNS:   return dispatch_clock().device_clock + atomic_load(&r->warp_insns) >= state.due_insns;
    case EVERY_SECONDS: return now_ns() >= state.due_ns;
    default:            return false;
    }
}

static enum status serve_every(const struct grid_run *r, struct error *err)
{
    char path[4096], old[4096];
    numbered(path, sizeof path, rt_knobs()->to, state.number + 1);
    snprintf(state.text, sizeof state.text, "%" PRIu64, state.number + 1);
    enum status st = take(r, path, err);
    state.text[0] = 0;
    if (st == ST_NOT_READY)
        return st;
    state.number++;
    state.kernel = r->number;
    if (st == ST_OK && state.number > (uint64_t)rt_knobs()->checkpoint_keep) {
        numbered(old, sizeof old, rt_knobs()->to, state.number - (uint64_t)rt_knobs()->checkpoint_keep);
        unlink(old);
    }
    if (plan.unit == EVERY_SECONDS)
        __atomic_store_n(&state.due_ns, now_ns() + plan.every * 1000000000u, __ATOMIC_RELAXED);
    if (plan.unit == EVERY_INSNS)
        state.due_insns = dispatch_clock().device_clock + atomic_load(&r->warp_insns) + plan.every;
    if (st == ST_OK && rt_knobs()->stop)
        end_process(path);
    return st;
}

/* After M blocks, K instructions more. */
static bool second_stage(struct grid_run *r)
{
    if (!plan.once || state.over || state.target != r || !plan.by_cta || !plan.by_insn || !once_is_due(r) || !plan.insn)
        return false;
    r->end = r->n_ctas;
    r->halt_done = UINT64_MAX;
    halt_after(r, atomic_load(&r->warp_insns) + plan.insn);
    plan.by_cta = false;                       /* from now on it is an instruction of the kernel */
    plan.insn += atomic_load(&r->warp_insns);
    return true;
}

void checkpoint_grid_ends(const struct grid_run *r)
{
    if (state.target != r)
        return;
    describe(r, state.came_to, sizeof state.came_to);
    state.target = NULL;                       /* another grid may get its place */
}

/* A checkpoint that the settings asked for and that was never due would be missed first when it is needed. */
void checkpoint_end(void)
{
    struct dispatch_clock now = dispatch_clock();
    char how[700];
    if (!plan.once || state.over)
        return;
    if (!plan.kernel)
        snprintf(how, sizeof how, "the program ran %" PRIu64 " warp instructions", now.device_clock);
    else if (*state.came_to)
        snprintf(how, sizeof how, "%s", state.came_to);
    else if (plan.name[0])
        snprintf(how, sizeof how, "the program launched %" PRIu64 " kernels of that name, %" PRIu64 " in all", state.seen, now.launches);
    else
        snprintf(how, sizeof how, "the program launched %" PRIu64 " kernels", now.launches);
    log_warn("no checkpoint was taken: checkpoint = %s was not reached; %s", rt_knobs()->checkpoint, how);
}

void checkpoint_grid_halts(struct grid_run *r)
{
    struct error err = {0};
    atomic_store(&r->halt, false);
    if (second_stage(r))
        return;
    bool now = state.owed;
    enum status st = *asked ? take(r, asked, &err) : ST_OK;
    if (st != ST_OK && st != ST_NOT_READY)
        log_error("%s", err.text);
    if (st != ST_NOT_READY)
        *asked = 0;
    st = ST_OK;
    if (request_waits())
        st = serve_request(r, &err);
    if (st != ST_NOT_READY && (once_is_due(r) || (now && plan.once && !state.over)))
        st = serve_once(r, &err);
    if (st != ST_NOT_READY && (every_is_due(r) || (now && plan.unit != EVERY_NEVER)))
        st = serve_every(r, &err);
    r->end = r->n_ctas;
    r->halt_insns = r->halt_done = r->halt_cycle = UINT64_MAX;
    state.owed = st == ST_NOT_READY;
    state.tries = state.owed ? state.tries + 1 : 0;
    if (st != ST_OK && (!state.owed || state.tries > RETRIES)) {
        log_error("%s", err.text);
        state.owed = false;
        state.over = true;
    }
    if (state.owed)
        halt_after(r, atomic_load(&r->warp_insns) + RETRY_INSNS);
    else if (plan.unit == EVERY_INSNS)
        halt_after(r, state.due_insns - dispatch_clock().device_clock);
    else if (plan.once && !state.over && plan.kernel == 0)
        halt_after(r, plan.insn - dispatch_clock().device_clock);
}
