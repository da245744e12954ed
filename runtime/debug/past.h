/* What happened in a kernel that runs on one thread, so that it can be had again (past.c), and the way back (reverse.c). Under big. */
#ifndef HEDDLE_DEBUG_PAST_H
#define HEDDLE_DEBUG_PAST_H
#include "runtime/debug/moment.h"

/* A place in a kernel's run, the same in every run of it: the warp is about to execute the instruction. */
struct stamp { uint64_t insns, block; uint32_t warp, function, insn, mask; };

/* What the debugger did at a stop. */
enum entry_kind { ENTRY_STEP, ENTRY_BYTES, ENTRY_REGISTER, ENTRY_START };
struct entry {
    enum entry_kind kind;
    struct stamp at;                           /* the stop */
    uint64_t block; uint32_t warp, lane, frame;
    uint64_t n;                                /* STEP: steps; else where: address or register, */
    size_t bytes; void *value;                 /* and what */
};

struct history {
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
};

uint64_t past_now(const struct debug_run *r);          /* instructions since the history began */
struct stamp stamp_of(const struct debug_run *r, const struct emu_cta *cta, uint32_t warp);
bool stamp_reached(const struct stamp *stop, const struct stamp *at);
void entries_forget(struct history *h, size_t from);
void moments_forget(struct history *h, uint64_t insns);        /* those behind so many instructions */
/* Keeps the present moment, but never thins out `held`. NULL: it cannot be. */
struct moment *moment_keep(struct debug_run *r, size_t cursor, const struct moment *held);
struct moment *moment_before(const struct history *h, uint64_t insns);         /* the last one that is not behind so many instructions */
const char *past_why_not(const struct debug_run *r);   /* there is no way back; NULL: there is */
void past_look(const struct debug_run *r, bool soon);  /* boundaries between turns of blocks are to be told of */
uint64_t replay_boundary(struct debug_run *r);         /* at one, during a replay */

#endif
