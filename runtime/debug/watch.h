/* Watchpoints: bytes that are looked at before and after every access that may touch them. */
#ifndef HEDDLE_DEBUG_WATCH_H
#define HEDDLE_DEBUG_WATCH_H
#include "runtime/debug/eval.h"

enum watch_mode { WATCH_CHANGE, WATCH_WRITE, WATCH_READ, WATCH_ACCESS };
struct watch {
    enum watch_mode mode;
    struct value lvalue;                                /* what was watched, for its type */
    uint64_t address, bytes;
    enum { WATCH_GLOBAL, WATCH_SHARED, WATCH_LOCAL } space;
    uint64_t launch, block; uint32_t warp, lane;        /* whose, unless GLOBAL */
    char *copy;                                         /* the bytes as they were last */
    bool gone;                                          /* the memory went */
};
void watch_free(struct watch *w);
bool watch_any(void);                                   /* some watchpoint is enabled */
bool watch_insn(const struct ptx_insn *in);             /* one that may touch memory: such stop the warp while anything is watched */

/* What a warp's next instruction accesses (watch_access.c). */
enum access_writes { ACCESS_UNKNOWN, ACCESS_VALUES /* one of value[] */, ACCESS_SWAPS /* value[], where compare[] is */ };
struct access {
    uint64_t launch, block, address[WARP_SIZE], value[WARP_SIZE], compare[WARP_SIZE];
    uint32_t warp, mask, bytes;
    bool store, atomic;                                 /* atomic: a store as well */
    enum access_writes writes;
    struct site site;
    uint64_t look;                                      /* watch_issue's */
};
/* False: it is no plain access. */
bool access_of(struct debug_run *r, struct emu_cta *cta, uint32_t warp, struct access *a);
/* Of several lanes (not none) that wrote to the n bytes at `address`, the one whose value is there now: the last one that changed anything, where the
 * instruction does not tell. */
bool access_writes_now(const struct access *a, uint32_t lanes, uint64_t address, const char *now, uint64_t n);     /* whether one of them writes what is there now */
uint32_t access_last(const struct access *a, uint32_t lanes, uint64_t address, const char *before, const char *now, uint64_t n);

/* Steps the warp over one instruction and looks. NULL: nothing to tell; else the watchpoint, and *hit says what happened, focus set to the thread. */
struct watch_hit {
    const char *access;
    char *old, *now;
    struct site site;
    struct focus focus;
    const char *by;                                     /* who, when it was no access of a thread that is there: "host", "kernel", "block 0,0,0 thread 5,0,0"; else NULL */
    uint64_t look;                                      /* of the access, as watch_issue has it; 0: none */
};
struct breakpoint *watch_step(struct debug_run *r, struct emu_cta *cta, uint32_t warp, int32_t *patience, struct watch_hit *hit, enum emu_result *result);
/* On the simulated GPU, where nobody steps: the warp is about to make an access. Changes are those since the last call. look: a number of this call. (watch_sim.c) */
struct breakpoint *watch_issue(struct debug_run *r, struct emu_cta *cta, uint32_t warp, uint64_t look, struct watch_hit *hit);
void watch_accesses_forget(void);                       /* those that were told of: somebody goes back */
/* One watchpoint after an access, or, with the bytes unchanged, before it. True: it stops, *hit is filled in and f the thread: of those that write the one
 * whose value stays. */
bool watch_check(struct breakpoint *b, struct focus *f, const struct access *a, struct watch_hit *hit);
const char *watch_writer(struct debug_run *r, const struct watch *w, const char *now);          /* of a change that is found when a kernel ends; NULL: unknown */
/* A watchpoint whose bytes have changed since they were last taken, which they are now; NULL: none. by: who did it; r: or, on the simulated GPU, threads of that
 * kernel. */
struct breakpoint *watch_next(struct watch_hit *hit, const char *by, struct debug_run *r);
struct breakpoint *watch_look(struct watch_hit *hit, const char *by);  /* the first of them; the bytes of all are taken */
void watch_say(struct out *o, const struct breakpoint *b, const struct watch_hit *hit);
const char *watch_changed(const struct watch *w);       /* its bytes, when they are not what they were at the last look; else NULL */
void watch_take(struct watch *w);                       /* takes the bytes as they are now for the old ones */
void watch_refresh(void);                               /* of all */
void watch_hit_free(struct watch_hit *hit);
void watch_list(struct out *o, const struct breakpoint *b);

#endif
