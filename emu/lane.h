/* The table of lane handlers: what an arithmetic instruction does to 32 lanes.
 *
 * lane.def has a row for each operation, from which come an identifier (LANE_add_u32), the types of its rows, and a pair of handlers for each
 * level of the host's vector instructions. decode_lane.c picks rows for PTX instructions; nothing else needs this header. */
#ifndef HEDDLE_EMU_LANE_H
#define HEDDLE_EMU_LANE_H
#include "emu/record.h"

/* Types of the rows: elements as in a frame, or a predicate's mask. */
enum lane_type { LANE_TYPE_NONE, LANE_TYPE_U8, LANE_TYPE_S8, LANE_TYPE_U16, LANE_TYPE_S16, LANE_TYPE_U32, LANE_TYPE_S32, LANE_TYPE_U64,
                 LANE_TYPE_S64, LANE_TYPE_F32, LANE_TYPE_F64, LANE_TYPE_P };

enum lane_round { LANE_ROUND_NEAREST, LANE_ROUND_DOWN, LANE_ROUND_UP, LANE_ROUND_ZERO };   /* as MXCSR counts them */

enum { LANE_CARRY_IN = 1, LANE_CARRY_OUT = 2 };
enum { HALF_FTZ = 1, HALF_SAT = 2, HALF_RELU = 4, HALF_NAN = 8, HALF_ABS = 16 /* with .xorsign */, HALF_OOB = 32 /* of fma */ };
/* The special NaN that stands for an element outside a tensor, f16 or bf16, as tensor copies write it (emu/tma.c): fma.oob makes 0 of it. PTX says that
 * there is one, not which. */
enum { HALF_OOB_NAN = 0x7ff7 };
enum lane_bool { LANE_BOOL_NONE, LANE_BOOL_AND, LANE_BOOL_OR, LANE_BOOL_XOR };

enum lane_id {
#include "emu/lane_none.h"
#define LANE_ENTRY(name, ...) LANE_##name,
#include "emu/lane_each.h"
#include "emu/lane.def"
#include "emu/lane_none.h"
    LANE_COUNT
};

struct lane_pair { handler full, masked; };
struct lane_shape { const char *name; uint8_t d, a, b, c, e; };   /* enum lane_type of each row; e is found through extra */

const struct lane_shape *lane_shape(enum lane_id id);
const char *lane_name(enum lane_id id);                     /* "add_u32" */
struct lane_pair lane_handlers(enum lane_id id);            /* of the level in use */

struct lane_pair lane_handlers_of(enum lane_id id, int level);     /* for tests: any usable level of emu/isa.h */

#endif
