/* How an arithmetic instruction finds its rows of lane.def: shared by the decode_lane*.c files. */
#ifndef HEDDLE_EMU_DECODE_LANE_H
#define HEDDLE_EMU_DECODE_LANE_H
#include "emu/decode.h"
#include "emu/lane.h"

/* A set of types, one bit each. */
typedef uint64_t type_set;
_Static_assert(PTX_TYPE_COUNT <= 64, "a type set is a word");
#define TYPES(t) ((type_set)1 << PTX_##t)

/* One way to execute an opcode: `lane` when the first type is in `types`, the second in `second` (0: there is none), the modifiers in `need` are there, and no
 * others than those and what `may` allows. A row family that `may` have modifiers has its members at fixed distances, see lane_f32.def. */
enum { MAY_FTZ = 1, MAY_ROUND = 2, MAY_SAT = 4, MAY_NAN = 8, MAY_RN = 16 /* said or not, it is what the row does */,
       MAY_ANY = 32 /* modifiers without effect here */ };
struct lane_rule {
    type_set types, second;
    uint16_t need[3];
    uint16_t lane;
    uint8_t may;
    uint64_t imm;                              /* for the record */
};
struct lane_rules { const struct lane_rule *rule; unsigned n; };
#define RULES(table) { table, sizeof table / sizeof table[0] }

/* The rule for an instruction, NULL when there is none; *id and *imm: its row, modifiers counted in. */
const struct lane_rule *lane_rule_find(const struct lane_rules *rules, const struct ptx_insn *in, enum lane_id *id, uint64_t *imm);

/* Source k (0..3: a, b, c, e) of a row, from an operand. */
uint32_t lane_source(struct decoder *d, const struct ptx_insn *in, enum lane_id id, unsigned k, const struct ptx_operand *o);
uint32_t lane_dest(struct decoder *d, enum lane_id id, const struct ptx_operand *o);
/* Appends the record of a row whose operands are found. */
enum status lane_emit(struct decoder *d, enum lane_id id, uint32_t dest, uint32_t a, uint32_t b, uint32_t c, uint64_t imm);

/* The common case: operand 0 is the destination, the others are the sources in order. */
enum status lane_lower(struct decoder *d, const struct ptx_insn *in, enum lane_id id, uint64_t imm);

/* A row of floats with the value of an f16 or bf16 operand, or of one half (0: the low one) of a packed one. */
enum status lane_half_to_f32(struct decoder *d, const struct ptx_insn *in, const struct ptx_operand *o, enum ptx_type type, unsigned half,
                             bool ftz, uint32_t *row);
bool lane_is_half(enum ptx_type t);            /* f16, f16x2, bf16, bf16x2 */
enum status lane_half_lower(struct decoder *d, const struct ptx_insn *in);
enum status lane_mixed_lower(struct decoder *d, const struct ptx_insn *in, const struct lane_rules *rules);

/* Conversions that involve a format smaller than single precision: decode_lane_small.c. */
enum status lane_small_lower(struct decoder *d, const struct ptx_insn *in);

#endif
