/* Bulk copies: emu/bulk.c, decoded by emu/decode_bulk.c. Each lane that executes makes a copy of its own. */
#ifndef HEDDLE_EMU_BULK_H
#define HEDDLE_EMU_BULK_H
#include "emu/async.h"
#include "emu/mem_atom.h"

enum bulk_done { BULK_GROUP, BULK_MBARRIER };

/* cp.async.bulk, cp.reduce.async.bulk, st.bulk: the record's imm points at one. Rows: 4 bytes a lane. */
struct bulk {
    struct mem_place to, from, mbarrier;
    enum bulk_done done;
    uint32_t size;                             /* row of sizes in bytes (8 bytes a lane for st.bulk) */
    uint32_t byte_mask;                        /* .cp_mask: row of the bytes to copy of each 16; 0 = all */
    uint32_t ctas;                             /* .multicast::cluster: row of the destination blocks; 0 = one copy */
    unsigned element;                          /* reductions: bytes of an element */
    atom_span combine;                         /* NULL: copies */
};
const struct insn *bulk_copy(const struct insn *in, struct warp *w, struct ctx *c);
const struct insn *bulk_zero(const struct insn *in, struct warp *w, struct ctx *c);      /* st.bulk */

/* Where `bytes` at offset of the shared memory of the block of that rank in the executing block's cluster are; or faults and returns NULL. */
char *bulk_peer(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lane, uint32_t rank, uint32_t offset, uint32_t bytes);

#endif
