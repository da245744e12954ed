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
/* Steps the warp over one instruction and looks. NULL: nothing to tell; else the watchpoint, and *hit says what happened, focus set to the thread. */
struct watch_hit { const char *access; char *old, *now; struct site site; struct focus focus; const char *by /* who, when it was no access: "host"; else NULL */; };
struct breakpoint *watch_step(struct debug_run *r, struct emu_cta *cta, uint32_t warp, int32_t *patience, struct watch_hit *hit, enum emu_result *result);
/* On the simulated GPU, where nobody steps: the warp is about to make an access. Changes are those since the last call. (watch_sim.c) */
struct breakpoint *watch_issue(struct debug_run *r, struct emu_cta *cta, uint32_t warp, struct watch_hit *hit);
/* One watchpoint after an access, or, with the bytes unchanged, before it. True: it stops, *hit is filled in and f the thread. */
bool watch_check(struct breakpoint *b, struct focus *f, const struct emu_event *e, struct watch_hit *hit);
struct breakpoint *watch_look(struct watch_hit *hit, const char *by);  /* whether anything changed since the last look */
void watch_say(struct out *o, const struct breakpoint *b, const struct watch_hit *hit);
bool watch_changed(const struct watch *w);              /* its bytes are not what they were at the last look */
void watch_take(struct watch *w);                       /* takes the bytes as they are now for the old ones */
void watch_refresh(void);                               /* of all */
void watch_hit_free(struct watch_hit *hit);
void watch_list(struct out *o, const struct breakpoint *b);

#endif
