/* Inside the parser: the lexer, constant expressions and declarations, shared by module.c (top level) and body.c.
 *
 * A struct parser reads one stretch of a module's text with one token of lookahead. The first failure fills *err, sets
 * `failed`, and from then on every token is the end, so that callers may check once per construct. */
#ifndef HEDDLE_PTX_PARSE_H
#define HEDDLE_PTX_PARSE_H
#include "ptx/isa.h"
#include "ptx/ptx.h"
#include "runtime/base/vec.h"

enum token_kind {
    TOKEN_END,
    TOKEN_IDENT,       /* name, opcode, %register, _ */
    TOKEN_DOT,         /* .word; `at` and `len` exclude the dot */
    TOKEN_INT,         /* bits; is_unsigned for a U suffix */
    TOKEN_F32, TOKEN_F64,
    TOKEN_STRING,      /* `at` and `len` exclude the quotes */
    TOKEN_PUNCT        /* punct is the character, or the two characters a << 8 | b */
};

struct token {
    uint8_t kind;
    bool is_unsigned;
    uint16_t punct;
    uint32_t len;
    size_t at;
    uint64_t bits;
};

/* One module of several that were linked; an ordinary module has one. */
struct ptx_unit {
    const char *name;              /* for messages */
    size_t text_at;                /* where its text starts in module->text */
    uint32_t file_base;            /* added to the file numbers of .loc */
    struct map names;              /* linked modules only: the unit's name -> symbol index of the whole */
};

typedef VEC(struct ptx_var) ptx_vars;

struct parser {
    struct ptx_module *m;
    const char *text;
    size_t end;                    /* text is read up to here */
    size_t at;                     /* next byte to read */
    uint32_t line;                 /* line of `at`, counted from the start of the unit */
    uint32_t token_line;           /* line of `t` */
    size_t line_at, token_line_at; /* where those two lines start in the text */
    struct token t;
    struct ptx_unit *unit;
    struct error *err;
    bool failed;
    enum status status;
    void *scope;                   /* body.c: names of the function; NULL at top level */
};

/* ---- lex.c ---- */
void parser_start(struct parser *p, struct ptx_module *m, struct ptx_unit *unit, size_t at, size_t end, uint32_t line, struct error *err);
void parser_next(struct parser *p);
/* The first byte after blanks and comments behind the current token, without reading it. */
int parser_peek_char(struct parser *p);
/* A number such as .5 was read as a word (so are .1d and .16x64b); where a number must stand, this makes it one. */
bool parser_dot_to_number(struct parser *p);
bool token_is(const struct parser *p, const char *word);       /* TOKEN_IDENT of that text */
bool token_dot(const struct parser *p, const char *word);      /* TOKEN_DOT of that text */
bool token_punct(const struct parser *p, unsigned c);
bool parser_take(struct parser *p, unsigned c);                /* reads the punctuation if it is next */
bool parser_expect(struct parser *p, unsigned c);
/* Fail at a place in the text: "name:line:column: message", the source line, a caret. They return false. */
bool parser_fail_at(struct parser *p, size_t at, uint32_t line, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
bool parser_fail(struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool parser_no_memory(struct parser *p);
/* Skips from behind a '{' to behind its '}', over comments and strings; leaves the line right. False when it is not closed. */
bool parser_skip_braces(struct parser *p, size_t *close_at);
uint32_t text_count_lines(const char *s, size_t n);            /* number of newlines */

/* ---- expr.c ---- */
struct constant { uint64_t bits; uint8_t kind; bool is_unsigned; };      /* kind: PTX_OPERAND_IMM, F32 or F64 */
bool parse_constant(struct parser *p, struct constant *out);             /* a constant expression */
bool parse_integer(struct parser *p, uint64_t *out);                     /* one that must be an integer */
bool parse_count(struct parser *p, uint32_t *out);                       /* one that must lie in 0 .. 2^32-1 */

/* ---- decl.c ---- */
/* Symbol number of a name as seen from the parser's place (function scope, unit, module), or -1. */
int32_t parser_symbol(const struct parser *p, const char *name, size_t len);
/* What precedes the name in a declaration: type, alignment, vector size, attributes, for .param also .ptr. */
enum { MAX_DIMS = 8 };
struct decl {
    uint8_t space, type, vec, linkage;
    uint16_t const_bank;
    bool managed, ptr;
    uint32_t align;                /* as written, 0 = not */
    uint32_t n_dims;               /* filled in by parse_declarator; an open first dimension is 0 */
    uint64_t dims[MAX_DIMS];
};
bool parse_decl_words(struct parser *p, struct decl *d);
/* name[..][..] behind the words; fills everything but the initialiser. May leave bytes 0 and unsized set. */
bool parse_declarator(struct parser *p, struct decl *d, struct ptx_var *out);
/* "<n>" behind a name declares name0 .. name(n-1); answers n, or 0 when there is no '<' (or on failure). */
uint32_t parse_repeat(struct parser *p);
/* The k-th of them, or false when out of memory. */
bool repeat_name(struct parser *p, struct ptx_var *v, const char *base, uint32_t k);
/* "= ..." of a variable, if there; sizes an unsized one. */
bool parse_initialiser(struct parser *p, struct ptx_var *v, const struct decl *d);
/* "( .. )" of a prototype; appends to vars, stores the indices in the arena. No parenthesis: none. */
bool parse_params(struct parser *p, ptx_vars *vars, int32_t **index, uint32_t *n, uint32_t *bytes);
enum ptx_space space_of_word(const char *s, size_t len);       /* PTX_SPACE_GENERIC when it is none */

/* ---- module.c ---- */
/* An empty module with room for a text, its units named like the module; NULL when out of memory. */
struct ptx_module *module_new(const char *name, size_t bytes, uint32_t n_units);

/* ---- body.c: what decl.c asks of a function scope ---- */
int32_t scope_symbol(const struct parser *p, const char *name, size_t len);

#endif
