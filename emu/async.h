/* Asynchronous instructions: what their handlers and decoders share.
 *
 * An asynchronous copy is performed when it is executed: the ISA lets it complete at any time before somebody waits for it. So groups
 * (commit_group, wait_group) hold nothing and need no records; an mbarrier gets its bytes at once, and counts as the ISA says (emu/mbarrier.h). */
#ifndef HEDDLE_EMU_ASYNC_H
#define HEDDLE_EMU_ASYNC_H
#include "emu/mem.h"
#include "emu/mem_atom.h"

/* cp.async. Record: a, extra's form, target: destination row and offset in shared memory; b, imm: source row (8 bytes a lane; 0 = none) and offset in global
 * memory; c: row of source sizes (4 bytes a lane) or, ASYNC_IGNORE, a mask of lanes that copy nothing but zeros; 0 = neither; extra's kind: the size. */
#define ASYNC_IGNORE      (1u << 16)
#define ASYNC_IGNORE_FLIP (1u << 17)
const struct insn *async_copy_lanes(const struct insn *in, struct warp *w, struct ctx *c);     /* any record, lane by lane, with exact faults */
/* For a destination row of 4 bytes a lane and a source row: 4, 8, 16 bytes; one table per ISA level. */
extern const struct mem_handlers async_copy_base[3], async_copy_avx2[3], async_copy_avx512[3];

/* st.async and red.async: imm points at one of these. */
struct async_store {
    struct mem_place to, mbarrier;
    unsigned n, bytes;                         /* elements (1, 2, 4) and their size */
    uint32_t rows[4];
    bool has_mbarrier;
    atom_span combine;                         /* NULL: stores */
};
const struct insn *async_store(const struct insn *in, struct warp *w, struct ctx *c);

#endif
