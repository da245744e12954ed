/* What a debugger needs of the engine: to stop a warp before an instruction, to step it, and to look at everything a warp has.
 *
 * For images that were tuned (emu_image_tune with both flags): then each PTX instruction has records, and each register a row, of its own. A break swaps the
 * handlers of one record; nothing else changes, so that code without breaks runs as ever. A hook is called before an instruction with a break (or
 * before every one), on the thread that runs the worker, in the middle of emu_cta_run or emu_warp_issue.
 *
 * Threads: one worker runs, and breaks are put, by one host thread at a time. Units: bytes; instructions are indices in their function. */
#ifndef HEDDLE_EMU_DEBUG_H
#define HEDDLE_EMU_DEBUG_H
#include <stdatomic.h>

#include "emu/emu.h"
#include "emu/record.h"

/* ---- stopping (emu/debug.c) ---- */

struct emu_hook {
    /* The warp stands before an instruction. It may be looked at, changed and stepped (emu_debug_step), and so may the others; emu_warp_issue's callers alone
     * do not expect that. False: give up; emu_cta_run and emu_warp_issue return EMU_BREAK, and the CTA is only to be freed. */
    bool (*fn)(void *user, struct emu_worker *w, struct emu_cta *cta, uint32_t warp);
    /* A warp that emu_warp_issue ran has faulted (emu_worker_fault). It may be looked at. */
    void (*fault)(void *user, struct emu_worker *w, struct emu_cta *cta, uint32_t warp);
    void *user;
    atomic_bool every;                         /* before every instruction; any thread may change it, and a warp sees it before its next slice */
};
void emu_worker_hook(struct emu_worker *w, const struct emu_hook *hook);       /* NULL: none. Lives as long as it is set */

/* Puts a break before an instruction, or takes it away. ST_NOT_FOUND: the kernel has no such function or the function no such instruction. */
enum status emu_break_put(struct emu_kernel *k, uint32_t function, uint32_t insn, bool on) MUST_CHECK;
void emu_breaks_clear(struct emu_kernel *k);
bool emu_kernel_brkpt(const struct emu_kernel *k);                 /* has brkpt instructions: breaks of the program's own, which nobody puts or takes away */
bool emu_break_here(const struct emu_cta *cta, uint32_t warp);     /* whether the warp's next instruction has one */

uint64_t emu_debug_cycle(const struct emu_worker *w);  /* of the timing model, inside a hook; 0: there is none */

/* As emu_warp_step, past breaks without a word. *patience: as for emu_warp_issue. */
enum emu_result emu_debug_step(struct emu_cta *cta, struct emu_worker *w, uint32_t warp, int32_t *patience, struct emu_event *out);

/* ---- looking (emu/debug_look.c) ---- */

uint64_t emu_cta_index(const struct emu_cta *cta);                 /* of the block in the grid, x fastest */
void emu_cta_id(const struct emu_cta *cta, uint32_t ctaid[3]);
uint32_t emu_cta_sm(const struct emu_cta *cta);
uint32_t emu_cta_warps(const struct emu_cta *cta);
uint32_t emu_cta_ranks(const struct emu_cta *cta);                 /* blocks that the handle stands for */
const struct emu_launch *emu_cta_launch(const struct emu_cta *cta);
struct emu_kernel *emu_cta_kernel(const struct emu_cta *cta);
uint32_t emu_warp_live(const struct emu_cta *cta, uint32_t warp);  /* lanes that have not exited */
bool emu_warp_running(const struct emu_cta *cta, uint32_t warp);   /* has a split that can go on by itself */
struct emu_cta_barrier { uint32_t arrived, need; bool open; };
struct emu_cta_barrier emu_cta_barrier_at(const struct emu_cta *cta, uint32_t id);     /* 0..15; in threads; need 0: all that live */

enum emu_lane_state { EMU_LANE_RUNNING, EMU_LANE_READY, EMU_LANE_JOIN, EMU_LANE_BARRIER, EMU_LANE_SYNC, EMU_LANE_SLEEP, EMU_LANE_CLUSTER, EMU_LANE_MBARRIER, EMU_LANE_DONE };
const char *emu_lane_state_text(enum emu_lane_state s);            /* "barrier" */

/* Lanes of a warp that are at one place. */
struct emu_spot {
    enum emu_lane_state state;
    uint32_t mask, active;                     /* active: those of them that the guard lets execute the instruction */
    uint32_t wait;                             /* BARRIER: its number; SYNC: the member mask */
    uint32_t function, insn;                   /* the next instruction; insn may be the function's count: its end */
    const void *place;                         /* for emu_spot_frame */
};
enum { EMU_SPOTS = 40 };
uint32_t emu_warp_spots(const struct emu_cta *cta, uint32_t warp, struct emu_spot out[EMU_SPOTS]);     /* the running one first, if there is one */
bool emu_lane_spot(const struct emu_cta *cta, uint32_t warp, uint32_t lane, struct emu_spot *out);     /* false: the lane is done */

struct emu_frame { uint32_t function, insn; const void *place; };  /* insn of an outer frame: its call */
/* The calls that a spot's lanes are in, innermost first; how many there are, of which at most n are stored. */
uint32_t emu_spot_frames(const struct emu_spot *s, struct emu_frame *out, uint32_t n);

/* Registers, as the function of the frame declares them. False: the register is not used anywhere, so that there is none. value: 16 bytes, zero-extended. */
bool emu_reg_read(const struct emu_frame *f, uint32_t lane, uint32_t reg, uint64_t value[2]);
bool emu_reg_read_row(const struct emu_frame *f, uint32_t reg, uint64_t out[32]);       /* of all lanes; its first 8 bytes */
bool emu_reg_write(const struct emu_frame *f, uint32_t lane, uint32_t reg, const uint64_t value[2]);
uint64_t emu_sreg_read(struct emu_worker *w, const struct emu_cta *cta, uint32_t warp, uint32_t lane, enum ptx_sreg s, unsigned component);

/* Memory that has no address of its own; NULL: none. Valid while the CTA is there. */
char *emu_shared_bytes(const struct emu_cta *cta, uint32_t *bytes);
uint64_t emu_shared_address(const struct emu_cta *cta);              /* generic, of its first byte */
char *emu_local_bytes(const struct emu_cta *cta, uint32_t warp, uint32_t lane, uint32_t *bytes);
const char *emu_param_bytes(const struct emu_cta *cta, uint32_t *bytes);
/* The bytes behind a generic or global address, as the lane sees it; NULL: no memory there. *writable: a kernel may store there. */
char *emu_generic_bytes(const struct emu_cta *cta, uint32_t warp, uint32_t lane, uint64_t address, uint64_t bytes, bool *writable);

/* Where a variable is, in the frame's function: sym as operands have it. */
enum emu_var_space { EMU_VAR_NONE, EMU_VAR_GLOBAL /* address */, EMU_VAR_SHARED, EMU_VAR_LOCAL, EMU_VAR_PARAM /* of the kernel */, EMU_VAR_WORDS /* of a call: rows of the frame */ };
enum emu_var_space emu_var_find(const struct emu_cta *cta, const struct emu_frame *f, int32_t sym, uint64_t *at);
bool emu_words_read(const struct emu_frame *f, uint64_t at, uint32_t lane, void *out, uint32_t bytes); /* of a WORDS variable */

/* ---- inside emu ---- */

const struct insn *debug_break(const struct insn *in, struct warp *w, struct ctx *c);     /* the handler of a break */
const struct insn *debug_brkpt(const struct insn *in, struct warp *w, struct ctx *c);     /* of the brkpt instruction */
static inline bool debug_is_break(const struct insn *in) { return in->full == debug_break || in->full == debug_brkpt; }
bool debug_every(const struct ctx *c);
void debug_walk(struct warp *w, struct ctx *c);        /* up to the next instruction, if the present one has been told of */
bool debug_ask(struct warp *w, struct ctx *c);         /* calls the hook for the warp; false: it gave up */
bool debug_at_break(const struct warp *w);

#endif
