/* Aligned instructions: all lanes of the warp execute them together. Their records' imm points at a structure whose first member is the handler that does
 * the work for the whole warp; it may write every lane, and takes addresses from those that have not exited only. When the running split does not hold
 * all of them, it waits for the others at the same record (emu/decode_sync.c). */
#ifndef HEDDLE_EMU_WHOLE_H
#define HEDDLE_EMU_WHOLE_H
#include "emu/engine.h"

struct whole { handler run; };
const struct insn *run_whole(const struct insn *in, struct warp *w, struct ctx *c);    /* the masked handler of such a record */
/* A record for it: full is run, or a faster handler for when all 32 lanes are there. NULL: no memory. */
struct insn *decode_emit_whole(struct decoder *d, struct whole *work, handler full);

#endif
