/* What the files of runtime/debug/ share. All of it belongs to whoever holds `big`: the thread that executes operations while it looks at a hit
 * or serves requests, or the reader for the few requests that are answered while the program runs (server.c). */
#ifndef HEDDLE_DEBUG_STATE_H
#define HEDDLE_DEBUG_STATE_H
#include "emu/debug.h"
#include "runtime/debug/debug.h"
#include "runtime/debug/wire.h"

/* ---- kernels under way ---- */

struct debug_run {
    struct debug_run *next;
    struct op *op;
    struct rt_module *module;
    uint64_t grid_id, launch;                           /* launch: number in the process, from 1 */
    struct emu_worker *worker;                          /* NULL: simulated */
    bool entered;                                       /* its first instruction was looked at */
    bool seen;                                          /* the program stood in it: its end is told */
    bool killed, told;                                  /* told: of its error */
    bool alone, apart;                                  /* alone: its blocks run one after the other for good; apart: on all threads in this turn (apart.c) */
    uint32_t n_put;                                     /* breaks in its code */
    struct history *history;                            /* reverse.c; NULL: none */
};

struct focus {
    struct debug_run *run;                              /* NULL: no kernel */
    struct emu_cta *cta;
    uint32_t warp, lane, frame;
};

/* ---- breakpoints ---- */

enum break_what { BREAK_BRKPT /* no breakpoint of ours: the instruction */, BREAK_LINE, BREAK_FUNCTION, BREAK_OFFSET, BREAK_PTX, BREAK_ENTRY, BREAK_LAUNCH, BREAK_CYCLE, BREAK_ERROR, BREAK_DIVERGENCE, BREAK_BARRIER, BREAK_WATCH };
const char *break_what_text(enum break_what w);

struct site { struct rt_module *module; uint32_t function, insn; };

struct filter {
    bool has_block, has_thread, has_warp, has_launch;
    uint32_t block[3], thread[3], warp;
    uint64_t launch;
    char *kernel;                                       /* NULL: any */
};

struct watch;                                           /* watch.h */
struct watch_hit;
struct expr;                                            /* eval.h */
struct value;
struct quick;                                           /* quick.h */
struct quickened { const struct ptx_function *f; uint32_t insn; struct quick *q /* NULL: it cannot be told so */; };

struct breakpoint {
    uint32_t number;
    enum break_what what;
    char *at;                                           /* as it was asked for */
    uint64_t n;                                         /* LAUNCH, CYCLE */
    bool enabled, temporary;
    uint64_t reached, hits, ignore;                     /* reached: by whom the filter lets, whatever the condition says */
    uint64_t reached_before, hits_before, ignore_before;        /* this turn, or replay */
    struct filter filter;
    char *condition; struct expr *parsed;               /* NULL: none */
    VEC(struct quickened) quick;                        /* the condition at places where it was looked at */
    VEC(struct site) sites;
    struct watch *watch;
};

/* ---- what is to happen before the next stop ---- */

enum plan_kind { PLAN_NONE, PLAN_INSN, PLAN_NEXT_INSN, PLAN_STEP, PLAN_NEXT, PLAN_UNTIL, PLAN_FINISH, PLAN_ADVANCE, PLAN_ROUND, PLAN_ANY /* whoever comes next */, PLAN_CYCLE };
struct plan {
    enum plan_kind kind;
    uint64_t count;                                     /* times it is still to be reached */
    struct debug_run *run;
    uint64_t block;                                     /* index in the grid */
    uint32_t warp, lane;
    uint32_t depth, function, insn, line; const char *file;     /* where it began */
    VEC(struct site) sites;                           /* ADVANCE */
    uint64_t cycle;
    struct { uint32_t waiting, about; struct { uint32_t function, insn; } at[WARP_SIZE]; } round;      /* ROUND on the simulated GPU: warps still to step; those about to */
};

struct debug_state {
    pthread_mutex_t big;
    struct rt_module **modules; size_t n_modules, modules_room;
    VEC(struct breakpoint *) breaks;
    uint32_t last_number;
    struct debug_run *runs, *turn;                      /* turn: the one that runs now */
    uint64_t launches;
    struct focus focus;
    struct emu_worker *worker;                          /* that the present stop is on */
    uint64_t cycle;                                     /* of the simulated GPU, at the present stop */
    uint64_t cycle_checked;                             /* cycle breakpoints up to here were told */
    struct plan plan;
    struct emu_hook hook;
    atomic_bool interrupt;
    atomic_bool dirty;                                  /* breakpoints changed while the program ran: the code is to be changed */
    bool launches_off;                                  /* launches and their ends are not told */
    bool error_off;                                     /* errors do not stop */
    bool faulted;                                       /* the present stop is behind an error: nothing can be stepped */
    bool go;                                            /* the serving loop ends */
    bool looked_around;                                 /* an expression read what is not the thread's or block's own */
    uint64_t hits;                                      /* $hits: how often the breakpoint whose condition is looked at was reached */
};
extern struct debug_state dbg;

/* ---- server.c ---- */
void server_stop(struct out *event);                    /* sends a stop and answers requests until one lets the program go on. Under big */
void server_event(struct out *event);                   /* sends it and frees it */
struct out server_event_new(const char *kind);
void server_take(void);                                 /* locks big */
void server_leave(void);                                /* unlocks it, and answers what came meanwhile */
void server_look(void);                                 /* many threads at once, while nobody has big: what belongs to its holder may be read */
void server_looked(void);
bool server_stopped(void);
bool server_gone(void);                                 /* nobody listens any more */

/* ---- names.c ---- */
bool name_matches(const char *symbol, const char *name);           /* exact, readable with or without parameters, or the last component */
const char *name_readable(const char *symbol, char *buf, size_t n);
const char *name_base(const char *symbol, size_t *n);   /* its last component; of a name that is not mangled: all of it */
/* Type of a kernel's i-th parameter as C text ("float const*"); "" when the name does not tell. */
void name_parameter(const char *symbol, uint32_t i, char *buf, size_t n);
const char *file_base(const char *path);
bool file_matches(const char *path, const char *wanted);           /* equal, or ends with it at a slash */

/* ---- site.c ---- */
const struct ptx_function *site_function(const struct site *p);
struct site site_of_spot(const struct debug_run *r, const struct emu_spot *s);
struct source_line { const char *file; uint32_t line; };     /* line 0: none */
struct source_line site_source(const struct site *p);
void site_say(struct out *o, const struct site *p);   /* function= insn= ptx_line= file= line= ... */
void focus_say(struct out *o, const struct focus *f);   /* the PLACE of PROTOCOL.md */
void spot_say(struct out *o, const struct focus *f, const struct emu_spot *s);
uint32_t focus_thread(const struct focus *f, uint32_t tid[3]);     /* returns the index in the block */
bool focus_spot(const struct focus *f, struct emu_spot *out);      /* of the focused lane; false: no kernel, or it is done */
bool focus_frame(const struct focus *f, struct emu_frame *out);    /* the selected one */
struct sites { VEC(struct site) at; };
/* Where a location is. ST_NOT_FOUND: nowhere (yet); other failures: it cannot be understood. what: its kind. */
enum status location_find(struct sites *out, const char *text, enum break_what *what, uint64_t *n, struct error *err);

/* ---- breaks.c ---- */
void breaks_module(struct rt_module *m);                /* look pending ones up */
void breaks_module_gone(const struct rt_module *m);
void breaks_put(struct debug_run *r);                   /* into the code of a kernel that begins, or whose breakpoints changed */
void breaks_put_all(void);
void breaks_forget(void);                               /* all of them */
struct breakpoint *break_find(uint32_t number);
/* The first breakpoint that stops a warp which is about to execute its next instruction; sets the focus to the lane. *condition_error: "" or why a
 * condition could not be evaluated. */
struct breakpoint *break_hit(struct debug_run *r, struct emu_cta *cta, uint32_t warp, struct error *condition_error);
/* Whether no breakpoint stops a warp that is about to execute its next instruction, as far as that can be told at once; then it is counted where it must be.
 * Between server_look and server_looked. */
bool break_passes(struct debug_run *r, struct emu_worker *w, struct emu_cta *cta, uint32_t warp);
bool filter_lets(const struct breakpoint *b, const struct focus *f);
/* Counts a hit for the lanes of mask; true: it stops, focus set. */
bool break_counts(struct breakpoint *b, struct focus *f, uint32_t mask, struct error *condition_error);
bool break_concerns(const struct breakpoint *b, const struct debug_run *r);    /* it may stop somebody in that kernel's code */
struct breakpoint *break_would(struct debug_run *r, struct emu_cta *cta, uint32_t warp);     /* as break_hit, but nothing is counted */
uint32_t break_lane(const struct breakpoint *b, const struct focus *f);        /* the lane it stops for */
void break_say_hit(struct out *o, const struct breakpoint *b, const struct error *condition_error);
void break_told(struct breakpoint *b);                  /* after it stopped: temporary ones go */

/* ---- past.c, reverse.c: what happened in a kernel, so that it can be had again ---- */
void past_begin(struct debug_run *r);
void past_end(struct debug_run *r);
void past_stop(struct debug_run *r, struct emu_cta *cta, uint32_t warp);    /* the warp's hook stops here; cta NULL: between two windows of the simulated GPU */
void past_step(struct debug_run *r, const struct emu_cta *cta, uint32_t warp);      /* the debugger stepped a warp */
/* The debugger set bytes at an address (as f sees it), or with bytes 0 a register: its number and 16 bytes. */
void past_wrote(struct debug_run *r, const struct focus *f, uint64_t at, const void *value, size_t bytes);
void past_started(struct debug_run *r);                 /* the debugger had blocks begun */
bool past_replays(void);
bool past_printed(void);                             /* what the kernel in its turn prints now was printed, before somebody went back; its thread, no lock */
bool past_every(void);                               /* ..and is to be told of every instruction */
void past_lost(void);                                /* a replay ends, wherever it is */
uint64_t past_boundary(struct debug_run *r);         /* no block is in its turn. The worker's count of instructions from when on to ask again */
bool past_restarts(void);                            /* the grid is to be given up and to begin anew; any thread */
void past_turn(struct debug_run *r);                 /* it runs on, alone or apart */
void past_apart(struct debug_run *r);                /* on several threads: what happens now cannot be had again */
bool past_can_begin_anew(const struct debug_run *r); /* from its launch, without anybody noticing */
void past_begin_anew(void);                          /* that is to be */
void past_host_wrote(void);                          /* memory has changed, by no kernel */
/* Called first by the hook during a replay. True: the replay is over here, and *event says what to tell. */
bool past_hook(struct debug_run *r, struct emu_cta *cta, uint32_t warp, struct out *event);
bool past_fault(struct debug_run *r);                /* true: during a replay, which begins anew */
bool past_restore(struct debug_run *r);              /* the grid begins anew. False: it has failed */

/* ---- run.c ---- */
struct debug_run *run_of(const struct emu_cta *cta);
struct emu_cta *run_block(const struct debug_run *r, uint64_t index);          /* NULL: not resident */
void run_start_more(struct debug_run *r);               /* before somebody looks at blocks that may not have begun */
size_t run_blocks(const struct debug_run *r, struct emu_cta **out, size_t n);  /* one by one, not clusters */
bool run_wants_entry(const struct debug_run *r);        /* somebody stops at its first instruction */
void run_every(void);                                   /* asks for the hook before every instruction if there is a reason */
bool focus_default(struct focus *f, struct emu_cta *cta, uint32_t warp);       /* the first lane of what runs next there */

void run_stop_fault(struct debug_run *r, struct emu_cta *cta, const struct emu_fault *f);      /* stops at an error */
void run_stop_cycle(struct op *op);                     /* if a cycle has come at which somebody wanted to stop */
void run_stop_watch(struct breakpoint *b, struct watch_hit *hit);      /* the host changed what is watched */

/* ---- apart.c ---- */
void counts_keep(bool back);                            /* those of breakpoints: kept, or (back) what was kept last is so again. They belong to runs that count */

/* ---- plan.c ---- */
bool plan_there(struct plan *p, const struct focus *f);        /* the planned warp stands before an instruction. True: the plan is fulfilled */
/* A round on the simulated GPU, where all warps run at once: a warp of the run is about to execute something. True: each of the block has stepped, *block is it. */
bool plan_round_there(struct plan *p, const struct debug_run *r, const struct emu_cta *cta, uint32_t warp, struct emu_cta **block);
bool plan_is_of(const struct plan *p, const struct debug_run *r, const struct emu_cta *cta, uint32_t warp);

/* ---- verbs ---- */
enum when { WHEN_ANY, WHEN_STOPPED, WHEN_KERNEL };
typedef bool (*serve_fn)(const struct request *q, struct out *o, struct error *err);
struct verb { const char *name; serve_fn fn; enum when when; };
extern const struct verb verbs[];
#define VERB(name, fn, when) bool fn(const struct request *q, struct out *o, struct error *err);
#include "runtime/debug/verbs.def"
#undef VERB
#define INFO(name, fn, when) bool fn(const struct request *q, struct out *o, struct error *err);
#include "runtime/debug/info.def"
#undef INFO

/* false, with a message */
bool refuse(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
