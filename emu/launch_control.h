/* clusterlaunchcontrol: clusters take over the work of clusters that have not started (emu/launch_control.c). */
#ifndef HEDDLE_EMU_LAUNCH_CONTROL_H
#define HEDDLE_EMU_LAUNCH_CONTROL_H
#include "emu/mem.h"

/* What try_cancel writes, opaque to programs: the first ctaid of the cluster, and whether there is one. */
enum { LAUNCH_CANCELED = 3 };
struct launch_answer { uint32_t word[4]; };

struct launch_control { struct mem_place to, mbarrier; bool all; /* blocks of the cluster get the answer */ };

const struct insn *launch_try_cancel(const struct insn *in, struct warp *w, struct ctx *c);   /* imm points at a struct launch_control */
const struct insn *launch_is_canceled(const struct insn *in, struct warp *w, struct ctx *c);  /* d: a mask; a: a row of answers */
const struct insn *launch_first_ctaid(const struct insn *in, struct warp *w, struct ctx *c);  /* d: 4 bytes a lane; extra: 0 1 2 for x y z, 3: nothing that means something */

#endif
