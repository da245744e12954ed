/* Records that often follow each other, run by one handler: decode_fuse.c finds them, isa_fuse.c has the handlers, one set per ISA level of the host.
 *
 * Only the first record of such a group changes, and only its `full` handler. The others stay what they were, so that a jump into the middle finds
 * the same records as ever; and a fused handler may stop anywhere in its group and return the record that comes next, which then runs, and faults,
 * by itself. It does so while stepping, and whenever a load is not plainly harmless. */
#ifndef HEDDLE_EMU_FUSE_H
#define HEDDLE_EMU_FUSE_H
#include "emu/engine.h"

enum fuse_id {
    FUSE_LOAD_LOAD_FMA,                        /* two 32-bit loads from shared addresses of known shape, and the fma.f32 that multiplies what they give */
    FUSE_FMA_FMA,                              /* fma.f32, and another behind it */
    FUSE_WIDE_ADD_U, FUSE_WIDE_ADD_S,          /* mul.wide.u32 or .s32, and the 64-bit sum with what it gives: the address of an array element */
    FUSE_COUNT };

/* In `extra` of a record of a group, above the MEM_ fields: its value is read by the group's last record and by nothing else, so that a fused handler
 * need not store it. */
#define FUSE_PASSED (1u << 31)

typedef handler fuse_table[FUSE_COUNT];
extern const fuse_table fuse_base, fuse_avx2, fuse_avx512;
const fuse_table *fuse_handlers(void);         /* of the level in use. decode_fuse.c */

#endif
