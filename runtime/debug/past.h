/* What happened in a kernel that runs on one thread, or on a simulated GPU with all its kernels, so that it can be had again (past.c, past_sim.c), and the way back
 * (reverse.c). Under big. */
#ifndef HEDDLE_DEBUG_PAST_H
#define HEDDLE_DEBUG_PAST_H
#include "runtime/debug/moment.h"

/* A place in a kernel's run, the same in every run of it: the warp is about to execute the instruction. Between two windows: the cycle, and no warp. */
struct stamp { uint64_t insns, cycle, block; const struct debug_run *run; uint32_t warp, function, insn, mask; };

/* What the debugger did at a stop. */
enum entry_kind { ENTRY_STEP, ENTRY_BYTES, ENTRY_REGISTER, ENTRY_START };
struct entry {
    enum entry_kind kind;
    struct stamp at;                           /* the stop */
    struct debug_run *run; uint64_t block; uint32_t warp, lane, frame;
    uint64_t n;                                /* STEP: steps; else where: address or register, */
    size_t bytes; void *value;                 /* and what */
};

struct history {
    struct device *gpu;                        /* simulated: the history is that of all kernels on it, and begins anew when one begins or ends; NULL: of one kernel */
    unsigned users;                            /* kernels */
    uint64_t boundary, gap;                    /* of a simulated GPU: instructions at the last window's end; most that were in one */
    bool whole;                                /* a window that ends elsewhere makes other cycles: there are clusters, whose blocks see each other a window late */
    VEC(uint64_t) ends; uint64_t end;          /* cycles at which its turns ended, in order; of the present turn: windows end there, so that warps issue in an order of theirs */
    struct ground ground;                      /* memory when the history began; */
    struct moment *first;                      /* and the blocks. NULL: there is no history */
    VEC(struct moment *) moments;              /* later ones, in order */
    uint64_t bytes, due, spacing;              /* of the moments; instructions: when the next one is made, and how far apart they are */
    const char *why_not;                       /* there is none */
    bool turned, stale, apart, stopped;        /* it has had a turn; somebody else changed memory since; several threads run it; it has stopped */
    bool at_launch;                            /* the history begins where the kernel does */
    struct text_stamp { uint64_t insns, n; } printed, text;     /* what the kernel prints up to here was printed; the last text: n-th of as many instructions */
    uint64_t base;                             /* the worker's count of warp instructions when it began */
    VEC(struct entry) log;
    struct stamp here;                         /* the present stop's hook */
    bool between;                              /* no: it is between two windows */
};

enum { RUNS_MOST = 256 };                      /* kernels at once on a simulated GPU that can go back */
uint64_t past_now(const struct debug_run *r);          /* instructions since the history began, or as struct moment has them */
size_t past_ops(const struct history *h, struct op *out[RUNS_MOST]);   /* the kernels whose history it is */
struct debug_run *past_run_on(const struct device *d);  /* some kernel on the simulated GPU; NULL: there is none */
/* Whether a first moment may be made, which takes as long as some hundred thousand instructions, while small kernels begin by the thousand. */
bool past_affords(const struct history *h);
void past_spent(uint64_t bytes);                       /* one was made, with a copy of so much */
void past_budget_renew(const struct history *h);       /* somebody looks, which takes longer than all of it */
void past_ends_forget(struct history *h);              /* of turns behind the present one: they may end elsewhere now */
uint64_t past_since(const struct debug_run *r, uint64_t *gap);         /* instructions since the last boundary; most between two */
struct stamp stamp_of(const struct debug_run *r, const struct emu_cta *cta, uint32_t warp);
bool stamp_reached(const struct stamp *stop, const struct stamp *at);
void entries_forget(struct history *h, size_t from);
void moments_forget(struct history *h, uint64_t insns);        /* those behind so many instructions */
/* Keeps the present moment, but never thins out `held`. NULL: it cannot be. */
struct moment *moment_keep(struct debug_run *r, size_t cursor, const struct moment *held);
struct moment *moment_before(const struct history *h, uint64_t insns);         /* the last one that is not behind so many instructions */
const char *past_why_not(const struct debug_run *r);   /* there is no way back; NULL: there is */
void past_look(const struct debug_run *r, bool soon);  /* boundaries between turns of blocks are to be told of */
void replay_boundary(struct debug_run *r);             /* at one, during a replay */
uint64_t replay_cycle_wanted(void);                    /* at which the replay is to end; UINT64_MAX: at none */
bool replay_cycle_come(struct debug_run *r, struct out *event);        /* between two windows, at dbg.cycle. True: it ends here */

#endif
