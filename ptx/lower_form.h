/* Private to the lowering: what is known of the registers of a function, and the forms of its instructions. */
#ifndef HEDDLE_PTX_LOWER_FORM_H
#define HEDDLE_PTX_LOWER_FORM_H
#include "ptx/isa.h"
#include "ptx/lower.h"

/* Who reads a register. */
enum lower_use { USE_ADD32 = 1, USE_ADD64 = 2, USE_FADD = 4, USE_LOGIC = 8, USE_SETP = 16, USE_BRA = 32, USE_SELP = 64, USE_PRED = 128, USE_ADDRESS = 256,
                 USE_STORED = 512, USE_SHIFT = 1024, USE_MUL = 2048, USE_OTHER = 4096 };

struct lower_reg {
    uint32_t defs, uses, def;      /* how often written and read; def: the last instruction that writes it */
    uint16_t use;                  /* enum lower_use bits */
    bool param;                    /* single definition: a parameter or its address, an operand in the constant bank */
    bool constant;                 /* single definition: an immediate */
    bool symbol;                   /* single definition: the address of a variable */
    bool uniform;                  /* the same in all threads of a block: comes from parameters and block numbers */
    bool moved;                    /* a parameter or an immediate that lower_moves counted */
};

struct lower_view { const struct ptx_function *f; const struct ptx_cfg *cfg; struct lower_reg *regs; uint8_t *sreg_seen; };

/* Allocated from a. */
enum status lower_view_make(struct lower_view *out, const struct ptx_function *f, const struct ptx_cfg *cfg, struct arena *a, struct error *err) MUST_CHECK;

static inline enum ptx_type lower_first_type(const struct ptx_insn *in) { return in->n_types ? (enum ptx_type)in->types[0] : PTX_TYPE_NONE; }
static inline bool lower_is_float(enum ptx_type t) { return ptx_type_kind(t) == PTX_KIND_FLOAT; }
static inline bool lower_is_immediate(const struct ptx_operand *o) { return o->kind == PTX_OPERAND_IMM || o->kind == PTX_OPERAND_F32 || o->kind == PTX_OPERAND_F64; }

/* The register of o, when one instruction alone writes it; that instruction. Else NULL. */
const struct lower_reg *lower_single(const struct lower_view *v, const struct ptx_operand *o);
const struct ptx_insn *lower_maker(const struct lower_view *v, const struct ptx_operand *o);

/* "root|context": the root is what it is (add.64), the context what feeds it and what it feeds. A form without context has no bar. */
void lower_form(const struct lower_view *v, uint32_t insn, char form[PTX_FORM_BYTES]);

/* Moves on top of the instruction's rule: of a parameter that is an address, from the constant bank into registers, and of an immediate that is stored (zero is a
 * register); for the first instruction that needs them. */
unsigned lower_moves(const struct lower_view *v, const struct ptx_insn *in);

/* True for a multiplication or conversion that disappears into its users. */
bool lower_folds_into_users(const struct lower_view *v, int32_t reg);

#endif
