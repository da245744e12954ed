/* ptx: text and binaries to an immutable module.
 *
 * A module is made by ptx_module_open (which scans declarations only: milliseconds for tens of megabytes) and
 * completed function by function with ptx_function_body. After a body is parsed it never changes. Everything
 * a module owns lives in its arena and goes with ptx_module_free.
 *
 * Threads: ptx_module_open and ptx_module_free need exclusive use; ptx_function_body locks the module inside.
 * Errors: `struct error` with name, line, source line and caret, e.g.
 *     vec.ptx:12:9: unknown instruction 'addd'
 *         addd.s32 %r1, %r2, %r3;
 *         ^
 * Units: sizes and offsets in bytes, lines count from 1. */
#ifndef HEDDLE_PTX_H
#define HEDDLE_PTX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/error.h"
#include "runtime/base/map.h"

/* ---- opcodes and modifiers: both from tables ------------------------------------------------ */

enum ptx_op {                                  /* one per opcode word: PTX_OP_ADD, PTX_OP_MAD, PTX_OP_LD ... */
#define OPCODE(id, ...) PTX_OP_##id,
#define FORM(...)
#include "ptx/isa.def"                         /* OPCODE rows, each followed by the FORM rows of that opcode */
#undef FORM
#undef OPCODE
    PTX_OP_COUNT
};

enum ptx_mod {                                 /* every dotted word after an opcode: PTX_MOD_FTZ, PTX_MOD_S32 ... */
    PTX_MOD_NONE,
#define MOD(id, text, category) PTX_MOD_##id,
#include "ptx/mods.def"
#undef MOD
    PTX_MOD_COUNT
};

enum ptx_type {                                /* order matters: see ptx_type_* below; rows of ptx/types.def */
    PTX_TYPE_NONE,
#define TYPE(id, text, bytes, kind) PTX_##id,  /* PTX_U8 PTX_S32 PTX_B64 PTX_F16X2 PTX_PRED ... */
#include "ptx/types.def"
#undef TYPE
    PTX_TYPE_COUNT
};
enum ptx_type_kind { PTX_KIND_NONE, PTX_KIND_BITS, PTX_KIND_UNSIGNED, PTX_KIND_SIGNED, PTX_KIND_FLOAT, PTX_KIND_PRED,
                     PTX_KIND_OPAQUE };        /* .texref .samplerref .surfref */
unsigned ptx_type_bytes(enum ptx_type t);      /* storage: 1 2 4 8 16; predicates 1; sub-byte types 1 */
enum ptx_type_kind ptx_type_kind(enum ptx_type t);
const char *ptx_type_text(enum ptx_type t);    /* "s32" */
const char *ptx_op_text(enum ptx_op op);       /* "add" */
const char *ptx_mod_text(enum ptx_mod m);      /* "ftz" */

enum ptx_space { PTX_SPACE_GENERIC, PTX_SPACE_REG, PTX_SPACE_SREG, PTX_SPACE_CONST, PTX_SPACE_GLOBAL, PTX_SPACE_LOCAL,
                 PTX_SPACE_PARAM, PTX_SPACE_SHARED, PTX_SPACE_TEX };

enum ptx_sreg {                                /* rows of ptx/sregs.def: PTX_SREG_TID, PTX_SREG_LANEID ... */
#define SREG(id, text, type, components) PTX_SREG_##id,
#include "ptx/sregs.def"
#undef SREG
    PTX_SREG_COUNT
};
const char *ptx_sreg_text(enum ptx_sreg s);    /* "%tid" */
enum ptx_type ptx_sreg_type(enum ptx_sreg s);  /* PTX_U32, PTX_U64 or PTX_PRED */

/* ---- operands and instructions ---------------------------------------------------------------- */

enum ptx_operand_kind {
    PTX_OPERAND_NONE,
    PTX_OPERAND_REG,       /* index = register number in the function */
    PTX_OPERAND_IMM,       /* bits = 64-bit two's complement value of an integer constant (expression) */
    PTX_OPERAND_F32,       /* bits = the 32 bits of 0fXXXXXXXX */
    PTX_OPERAND_F64,       /* bits = the 64 bits of 0dXXXX or of a decimal float literal */
    PTX_OPERAND_SREG,      /* index = enum ptx_sreg, component 0..3 for .x .y .z .w (0 when it has none; numbered
                              registers such as %envreg3, %pm2, %clock64 are rows of their own or use component) */
    PTX_OPERAND_SYM,       /* address of a variable, function or .param: symbol index, bits = added byte offset */
    PTX_OPERAND_LABEL,     /* index = label number in the function */
    PTX_OPERAND_MEM,       /* [base + bits]: base is register (reg >= 0), symbol (sym >= 0), or absolute (both < 0) */
    PTX_OPERAND_VEC,       /* {a, b, ..}: first, count into function->vec_pool */
    PTX_OPERAND_TEXMEM,    /* [tex, {coords}] or [tex, sampler, {coords}], [tensorMap, {coords}]: first, count in the pool;
                              elements as written (the coordinate vector is itself a VEC element) */
    PTX_OPERAND_SINK,      /* _ */
    PTX_OPERAND_LIST,      /* ( .. ) of a call: first, count in the pool; each REG, IMM, F32, F64 or SYM (.param) */
};

struct ptx_operand {
    uint8_t kind;          /* enum ptx_operand_kind */
    bool negated;          /* '!' before a predicate, '-' before a register */
    uint8_t component;     /* SREG: 0..3 for .x .y .z .w; REG: enum ptx_selector (video instructions alone have one; a component
                              of a vector register is a register of its own) */
    uint8_t count;         /* VEC, TEXMEM, LIST */
    int32_t index;         /* REG, SREG, LABEL; MEM: register or -1 */
    int32_t sym;           /* SYM, MEM: index of the symbol, or -1; see ptx_symbol_* */
    uint32_t first;        /* VEC, TEXMEM, LIST: index of the first element in function->vec_pool */
    uint64_t bits;         /* IMM, F32, F64: the value; SYM, MEM: byte offset (two's complement); REG with a selector: its
                              digits as hexadecimal, a.b7654 = 0x7654, d.h10 = 0x10, a.b2 = 0x2 */
};
/* The selector written behind a register of a video instruction: bytes or halves, and how many digits. */
enum ptx_selector { PTX_SELECT_NONE, PTX_SELECT_B1, PTX_SELECT_B2, PTX_SELECT_B3, PTX_SELECT_B4, PTX_SELECT_H1, PTX_SELECT_H2 };

enum { PTX_MAX_MODS = 18, PTX_MAX_OPERANDS = 10, PTX_MAX_TYPES = 6 };

struct ptx_insn {
    uint16_t op;                       /* enum ptx_op */
    uint16_t row;                      /* the row of isa.def that it matched */
    uint8_t n_mods, n_operands, n_types;
    int32_t guard;                     /* register number of the guard predicate, or -1 */
    bool guard_negated;
    bool has_pair;                     /* operand 0 and 1 are "p|q" (setp, shfl, match, vote, elect ..): both destinations */
    uint16_t mods[PTX_MAX_MODS];       /* enum ptx_mod in source order, types included */
    uint8_t types[PTX_MAX_TYPES];      /* the type modifiers alone, in source order: cvt.rn.f32.s32 = {F32, S32} */
    uint8_t space;                     /* enum ptx_space named by the instruction, or GENERIC */
    uint8_t space_to;                  /* second space (cvta.to.X uses `space`; cp.async: destination in `space`) */
    uint8_t vec;                       /* 1, or 2, 4, 8 for .v2 .v4 .v8 */
    struct ptx_operand operands[PTX_MAX_OPERANDS];   /* destinations first, in source order; "p|q" takes two */
    uint32_t line;                     /* in the PTX text */
    uint32_t column;
    uint32_t loc;                      /* index into function->locs, or 0 = none */
};
bool ptx_insn_has(const struct ptx_insn *in, enum ptx_mod m);
/* Prints the instruction as PTX text (canonical spacing) into buf; always NUL-terminated. Returns buf. */
struct ptx_function;
struct ptx_module;
char *ptx_insn_print(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_insn *in, char *buf, size_t n);

/* ---- symbols ------------------------------------------------------------------------------------ */

enum ptx_linkage { PTX_LINK_LOCAL, PTX_LINK_VISIBLE, PTX_LINK_EXTERN, PTX_LINK_WEAK, PTX_LINK_COMMON };

struct ptx_init {                      /* one scalar of an initialiser; bytes without one are zero */
    uint64_t offset;                   /* in the variable */
    uint8_t bytes;                     /* 1 2 4 8 */
    bool generic;                      /* generic(sym): the generic address; else the address in its space */
    uint8_t shift;                     /* mask(): bits to shift the address right before taking `bytes` (0xFF00(sym) = 8) */
    int32_t sym;                       /* -1: value is the bits; else value is added to the symbol's address */
    uint64_t value;
};

struct ptx_var {
    const char *name;
    uint8_t space;                     /* GLOBAL CONST SHARED LOCAL PARAM, or REG for a parameter passed in a register;
                                          .texref .samplerref .surfref variables are GLOBAL or PARAM of that type */
    uint8_t type;                      /* element type */
    uint8_t linkage;
    bool managed;                      /* .attribute(.managed) */
    bool unsized;                      /* extern array []: dynamic shared memory, or defined elsewhere */
    uint32_t align;                    /* bytes, power of two, at least the element's */
    uint64_t bytes;                    /* 0 when unsized */
    uint32_t offset;                   /* .param only: its place in the parameter block */
    uint16_t const_bank;               /* .const[N] */
    struct ptx_init *init;
    uint32_t n_init;
    uint32_t line;
};

/* A symbol index, as operands and initialisers hold it, names m->symbols[sym] when sym < m->n_symbols, and otherwise
 * the function's own variable f->vars[sym - m->n_symbols] (parameters, locals, demoted .shared variables). */
enum ptx_symbol_kind { PTX_SYMBOL_VAR, PTX_SYMBOL_FUNCTION };
struct ptx_symbol { uint8_t kind; int32_t index; };   /* index into module->vars or module->functions */

/* ---- functions ---------------------------------------------------------------------------------- */

struct ptx_reg { const char *name; uint8_t type; };    /* name as "%r12"; type gives the width */

struct ptx_label { const char *name; uint32_t insn; }; /* insn: index of the instruction it stands before (may be n_insns) */

struct ptx_targets {                   /* .branchtargets (labels) or .calltargets (symbols) */
    const char *name; bool calls; uint32_t n; int32_t *index; uint32_t at_label; };

struct ptx_proto {                     /* a prototype: of a function, or .callprototype */
    const char *name;                  /* label of a .callprototype; NULL for the function's own */
    uint32_t n_params, n_returns;
    int32_t *params, *returns;         /* indices into function->vars (space PARAM or REG); offsets filled in */
    uint32_t param_bytes, return_bytes;
    uint32_t at_label;                 /* label number of a .callprototype: what the LABEL operand of call holds */
    bool noreturn;
};

struct ptx_loc { uint32_t file, line, column; uint32_t inlined_at; };    /* file: number in module->files; inlined_at: loc index or 0 */

struct ptx_function {
    const char *name;
    bool is_entry, has_body;
    uint8_t linkage;
    struct ptx_proto proto;
    struct ptx_var *vars; uint32_t n_vars;     /* own variables: parameters and returns at open; the body's are added behind */
    uint32_t max_threads[3];           /* .maxntid, 0 = not given */
    uint32_t req_threads[3];           /* .reqntid, 0 = not given */
    uint32_t cluster[3];               /* .reqnctapercluster, 0 = not given */
    uint32_t max_cluster_rank, min_ctas_per_sm, max_regs;      /* 0 = not given */
    bool explicit_cluster;
    bool blocks_are_clusters;          /* the grid of a launch counts clusters */
    uint32_t line;
    size_t body_at, body_bytes;        /* the text between { and }, in the module's text */
    uint32_t body_line;                /* line of body_at */
    uint32_t unit;                     /* linked modules: which input it came from; else 0 */

    /* filled in by ptx_function_body */
    bool parsed;
    const struct ptx_module *module;   /* that it belongs to */
    enum status body_status;           /* remembered failure of the body */
    struct error *body_error;
    struct ptx_reg *regs;          uint32_t n_regs;
    struct ptx_insn *insns;        uint32_t n_insns;
    struct ptx_operand *vec_pool;  uint32_t n_vec_pool;
    struct ptx_label *labels;      uint32_t n_labels;
    struct ptx_targets *targets;   uint32_t n_targets;     /* LABEL operands of brx.idx / call name one through its label number */
    struct ptx_proto *protos;      uint32_t n_protos;      /* .callprototype */
    struct ptx_loc *locs;          uint32_t n_locs;        /* [0] unused */
};

struct ptx_file { uint32_t number; const char *name; };

struct ptx_module {
    const char *name;                  /* for messages: file or "module 3 of ./app (sm_80)" */
    const char *text; size_t text_bytes;   /* the module's own copy; NUL-terminated */
    uint32_t version;                  /* 90 = PTX ISA 9.0 */
    uint32_t target_sm;                /* 80, 90 .. */
    char target_suffix;                /* 'a', 'f' or 0 */
    bool texmode_independent, debug;
    uint32_t address_bits;             /* 64 */
    struct ptx_var *vars;          uint32_t n_vars;
    struct ptx_function *functions; uint32_t n_functions;
    struct ptx_symbol *symbols;    uint32_t n_symbols;
    struct ptx_file *files;        uint32_t n_files;
    struct map names;                  /* module-scope name -> symbol index; names private to one unit of several may be missing */
    struct ptx_unit *units;        uint32_t n_units;     /* private: one, or one per linked module */
    struct arena arena;
    void *lock;                        /* private */
};

/* The text of unit `i` below n_units, as it was given to ptx_module_open; *name: its module's then. */
const char *ptx_unit_text(const struct ptx_module *m, uint32_t i, size_t *bytes, const char **name);

/* Scans text (copied) into a new module. On failure *out is NULL. */
enum status ptx_module_open(struct ptx_module **out, const char *name, const char *text, size_t bytes, struct error *err) MUST_CHECK;
void ptx_module_free(struct ptx_module *m);

/* Parses the body of m->functions[i] if that was not done. A body that does not parse stays so and answers the same error. */
enum status ptx_function_body(struct ptx_module *m, uint32_t i, struct error *err) MUST_CHECK;
/* The same for a function that is declared only, and that somebody else performs: its one instruction is ret. */
enum status ptx_function_stub(struct ptx_module *m, uint32_t i, struct error *err) MUST_CHECK;

/* Index of a module-scope symbol, -1 when there is none. */
const struct ptx_var *ptx_symbol_var(const struct ptx_module *m, const struct ptx_function *f, int32_t sym);  /* NULL: a function */
int32_t ptx_symbol_find(const struct ptx_module *m, const char *name);
int32_t ptx_function_find(const struct ptx_module *m, const char *name);   /* index into functions, or -1 */
const char *ptx_symbol_name(const struct ptx_module *m, const struct ptx_function *f, int32_t sym);

/* "file.cu:17" of an instruction from .loc, or "" ; always NUL-terminated. Returns buf. */
char *ptx_source_line(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_insn *in, char *buf, size_t n);

/* Links relocatable modules: one module whose extern references point at definitions. Inputs stay the caller's and may be freed
 * afterwards. Undefined functions stay extern (device built-ins such as vprintf are resolved by the emulator).
 * Duplicate strong definitions are an error that names both modules. */
enum status ptx_link(struct ptx_module **out, const char *name, struct ptx_module *const *in, size_t n, struct error *err) MUST_CHECK;

/* ---- control flow: of one parsed body -------------------------------------------------------------- */

struct ptx_block {
    uint32_t first, last;              /* instructions first .. last-1 */
    uint32_t n_succ; uint32_t *succ;   /* block numbers; a brx.idx has one per distinct target */
    int32_t ipdom;                     /* immediate post-dominator block, -1 = the function's exit */
    bool falls_out;                    /* a path leaves the function here (ret, exit, trap, end) */
};
struct ptx_cfg { struct ptx_block *blocks; uint32_t n_blocks; uint32_t *block_of; /* per instruction */ };
/* Allocated from a. A guarded branch has two successors; call is no block end; guarded ret/exit fall through too. */
enum status ptx_cfg_build(struct ptx_cfg *out, const struct ptx_function *f, struct arena *a, struct error *err) MUST_CHECK;

/* Register liveness over the same blocks: bit r of row b in live_in says register r is read before written on some path from block b.
 * words = (n_regs + 63) / 64 per row. */
struct ptx_liveness { uint64_t *live_in, *live_out; uint32_t words; };
enum status ptx_liveness_build(struct ptx_liveness *out, const struct ptx_function *f, const struct ptx_cfg *cfg, struct arena *a,
                               struct error *err) MUST_CHECK;
/* Calls fn for each register the instruction reads (write = false) or writes (write = true), guard and vectors included.
 * A guarded write, and a write to a part of a register, is reported as both a read and a write. */
void ptx_insn_regs(const struct ptx_function *f, const struct ptx_insn *in, void (*fn)(void *user, int32_t reg, bool write), void *user);

#endif
