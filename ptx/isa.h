/* The instruction tables, compiled from isa.def and sets.def at first use, and the matching of an instruction against them.
 * Everything here is immutable after that first use and may be read from any thread. */
#ifndef HEDDLE_PTX_ISA_H
#define HEDDLE_PTX_ISA_H
#include "ptx/ptx.h"

/* Which machinery an opcode needs, for timing and for the coverage page. */
enum ptx_unit_class { PTX_UNIT_ARITH, PTX_UNIT_LOGIC, PTX_UNIT_SHIFT, PTX_UNIT_BITS, PTX_UNIT_SFU, PTX_UNIT_COMPARE, PTX_UNIT_SELECT,
                      PTX_UNIT_MOVE, PTX_UNIT_CONVERT, PTX_UNIT_LOAD, PTX_UNIT_STORE, PTX_UNIT_ATOMIC, PTX_UNIT_CACHE, PTX_UNIT_STACK,
                      PTX_UNIT_ASYNC, PTX_UNIT_BARRIER, PTX_UNIT_FENCE, PTX_UNIT_WARP, PTX_UNIT_BRANCH, PTX_UNIT_TENSOR,
                      PTX_UNIT_TEXTURE, PTX_UNIT_SURFACE, PTX_UNIT_VIDEO, PTX_UNIT_MISC };
enum ptx_mod_category { PTX_CAT_TYPE, PTX_CAT_SPACE, PTX_CAT_VEC, PTX_CAT_ROUND, PTX_CAT_ARITH, PTX_CAT_COMPARE, PTX_CAT_BOOL,
                        PTX_CAT_ATOMIC, PTX_CAT_SEM, PTX_CAT_SCOPE, PTX_CAT_CACHE, PTX_CAT_GEOMETRY, PTX_CAT_SHAPE, PTX_CAT_KIND,
                        PTX_CAT_OTHER };

/* One operand place of a form. */
enum ptx_place_kind { PTX_PLACE_SOURCE, PTX_PLACE_MEMORY, PTX_PLACE_COORDS, PTX_PLACE_CONST, PTX_PLACE_LABEL, PTX_PLACE_LIST };
struct ptx_place { uint8_t kind; bool reads, writes, optional, pair, pair_optional; };

/* One FORM row. Rows are numbered in the order of isa.def; ptx_insn.row is that number. */
struct ptx_form {
    uint16_t op;
    const char *syntax, *operands;     /* as in isa.def */
    uint32_t version;                  /* least PTX ISA version * 10 */
    const char *sm;                    /* "90" or "100a" */
    uint16_t first_element, n_elements;
    uint8_t n_places, n_required;      /* operands that may and that must be there; a pair counts as one */
    struct ptx_place places[PTX_MAX_OPERANDS];
};

/* Compiles the tables once. False when a row of the tables is malformed or memory is out; *bad then names the row. */
bool ptx_isa_init(const char **bad);
uint32_t ptx_form_count(void);
const struct ptx_form *ptx_form_at(uint32_t row);          /* NULL beyond the last */
void ptx_op_rows(enum ptx_op op, uint32_t *first, uint32_t *count);
enum ptx_unit_class ptx_op_unit(enum ptx_op op);
const char *ptx_op_summary(enum ptx_op op);
enum ptx_mod_category ptx_mod_category(enum ptx_mod m);

/* Words to numbers; PTX_OP_COUNT, PTX_MOD_NONE, PTX_SREG_COUNT when unknown. */
enum ptx_op ptx_op_find(const char *word, size_t len);
enum ptx_mod ptx_mod_find(const char *word, size_t len);
enum ptx_sreg ptx_sreg_find(const char *word, size_t len);
/* The known word nearest to an unknown one, NULL when nothing is near. */
const char *ptx_op_nearest(const char *word, size_t len);
const char *ptx_mod_nearest(const char *word, size_t len);

enum ptx_match { PTX_MATCH_OK, PTX_MATCH_WORDS, PTX_MATCH_OPERANDS };
/* Finds the first row that fits in->mods and in->operands, sets in->row. WORDS: no row takes these words; OPERANDS: some row does,
 * but with other operands (in->row then names the last such row). */
enum ptx_match ptx_insn_match(struct ptx_insn *in);
/* True when word is accepted by some row of the opcode, wherever it stands. */
bool ptx_op_takes(enum ptx_op op, enum ptx_mod m);

#endif
