/* Expressions in C: parsed once, evaluated for a focus. */
#ifndef HEDDLE_DEBUG_EVAL_H
#define HEDDLE_DEBUG_EVAL_H
#include "runtime/debug/state.h"

enum type_kind { TYPE_VOID, TYPE_INT, TYPE_FLOAT, TYPE_BFLOAT, TYPE_BYTES /* no number: shown in hexadecimal */, TYPE_RECORD /* a struct; never loaded: its members are */ };
struct record { const char *name; uint32_t bytes; };   /* dwarf.h knows the members */
struct type {
    uint8_t kind, bytes;                                /* of the element: 1 2 4 8, 16 for BYTES */
    bool sign, character;
    uint8_t lanes;                                      /* of a vector type such as float4; else 1 */
    uint8_t pointers;                                   /* levels */
    uint32_t count;                                     /* elements of an array; 0: none */
    const struct record *record;                        /* of RECORD; lives as long as the module */
};
uint64_t type_bytes(const struct type *t);
bool type_is_record(const struct type *t);              /* neither a pointer to one nor an array */
struct type type_element(const struct type *t);         /* of an array, behind a pointer, of a vector */
void type_text(const struct type *t, char *buf, size_t n);      /* "float *" */
/* "float const*", "unsigned int", "float4", "u32", ".b64" .. False: no such type. */
bool type_parse(const char *text, struct type *out);
struct type type_of_ptx(enum ptx_type t);

enum home { HOME_NONE, HOME_MEMORY /* generic address */, HOME_PARAM /* offset in the kernel's */, HOME_WORDS /* of a call */, HOME_REGISTER };
struct value {
    struct type type;
    enum home home;                                     /* where it is, if somewhere */
    uint64_t at;                                        /* address, offset, or number of the register */
    uint64_t bits[2];                                   /* its bytes; arrays are not loaded */
    bool space_array;                                   /* @shared, @local, @param */
};

struct expr;
enum status expr_parse(struct expr **out, const char *text, struct error *err) MUST_CHECK;
void expr_free(struct expr *e);
enum status expr_eval(struct value *out, const struct expr *e, const struct focus *f, struct error *err) MUST_CHECK;
bool value_true(const struct value *v);
bool value_integer(const struct value *v, uint64_t *out);       /* false: an array, or void */

/* Bytes behind an address as the focus sees it; NULL, with a message: there are none. */
char *memory_at(const struct focus *f, uint64_t address, uint64_t bytes, bool write, struct error *err);
/* As text. format: one of gdb's letters, 0: the type's own. f: where arrays are read. */
void value_print(struct textbuf *out, const struct value *v, char format, const struct focus *f);
void scalar_print(struct textbuf *out, const struct type *t, const void *bytes, char format);
void value_remember(const struct value *v);             /* for $_ */

/* eval_names.c: what a name stands for. ST_NOT_FOUND: nothing. */
int name_sreg(const char *name);                       /* the special register of that name, CUDA's or PTX's; -1: none */
enum status name_value(struct value *out, const char *name, const struct focus *f, struct error *err);
/* written.c: nothing can have written the register when a thread comes to the instruction. It reads as 0. */
bool reg_unwritten(const struct ptx_function *f, uint32_t insn, uint32_t reg);
void reg_written(const struct ptx_function *f, uint32_t reg);          /* by the debugger */
void written_forget(void);                              /* code went */
void names_forget(void);                                /* code went: what was remembered of it */
struct type reg_type(const struct ptx_function *f, uint32_t reg);
/* The i-th parameter of the function, kernel or not. */
enum status param_value(struct value *out, const struct focus *f, const struct emu_frame *frame, uint32_t i, struct error *err);
enum status var_value(struct value *out, const struct focus *f, const struct emu_frame *frame, const struct ptx_var *v, int32_t sym, struct error *err);
enum status value_load(struct value *v, const struct focus *f, struct error *err);      /* reads bits from its home */
enum status value_store(struct value *v, const struct focus *f, struct error *err);     /* writes them there */

#endif
