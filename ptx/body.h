/* Inside the body parser: names in scopes, and operands. body.c reads statements, operand.c operands, scope.c keeps names. */
#ifndef HEDDLE_PTX_BODY_H
#define HEDDLE_PTX_BODY_H
#include "ptx/parse.h"

/* What a declared name of the function stands for. Its place in the list tells which of two was declared later. */
enum name_kind { NAME_REG, NAME_RANGE, NAME_VAR };
struct name_entry {
    uint8_t kind;
    uint8_t width;                 /* registers per element: 2, 4, 8 for vectors, else 1 */
    uint32_t first, count;         /* registers; VAR: first is the index in vars */
};

struct undo { struct map *map; const char *key; uint32_t len; uintptr_t old; };
struct scope { size_t undos, fixups, names, labels; };

/* A label that was named before its scope ended: an operand of an instruction, or an element of a target list. */
struct fixup { uint32_t insn; uint8_t operand; int32_t targets; uint32_t element; size_t at; uint32_t line, len; };

struct body {
    struct parser p;               /* p.scope points back here */
    struct ptx_function *f;
    VEC(struct ptx_insn) insns;
    VEC(struct ptx_operand) pool, scratch;
    VEC(struct ptx_reg) regs;
    VEC(struct ptx_label) labels;
    VEC(struct ptx_targets) targets;
    VEC(struct ptx_proto) protos;
    VEC(struct ptx_loc) locs;
    ptx_vars vars;
    uint32_t loc;                  /* the current one */

    VEC(struct name_entry) names;
    struct map by_name, by_prefix, by_label;       /* to index + 1; 0 = not any more */
    bool digits_in_names;          /* some single name ends in a digit, so a range may be shadowed */
    VEC(struct undo) undos;
    VEC(struct fixup) fixups;
    VEC(struct scope) scopes;      /* [0] is the function's */
};

/* ---- scope.c ---- */
bool scope_open(struct body *b);
bool scope_close(struct body *b);                  /* resolves labels; fails on unknown ones at the outermost */
bool scope_add_var(struct body *b, const struct ptx_var *v);
bool scope_add_regs(struct body *b, const char *name, uint32_t len, enum ptx_type type, unsigned width, bool range, uint32_t count);
bool scope_add_label(struct body *b, const char *name, uint32_t len, uint32_t line, uint32_t *number);
bool scope_use_label(struct body *b, struct fixup f);
/* Registers that a name stands for: the number of them (0 = not a register), the first in *reg. */
unsigned scope_find_reg(const struct body *b, const char *name, size_t len, uint32_t *reg);

/* ---- operand.c ---- */
bool parse_operand(struct body *b, struct ptx_operand *o, bool selector);
bool parse_operands(struct body *b, struct ptx_insn *in);
bool parse_call(struct body *b, struct ptx_insn *in);

#endif
