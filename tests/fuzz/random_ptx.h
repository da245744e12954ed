/* Random PTX programs of lane-wise instructions, out of the rows of isa.def: any form, modifiers, operands, guards, branches and short loops that it
 * allows, on registers with random and edge values. A program is a function of its seed.
 *
 * Its kernel k(out, one): the thread `one`, or all when there is none of that number; 8 registers of 16, 32 and 64 bits and 8 predicates, read from out + RANDOM_INPUT, written to out, RANDOM_WORDS 64-bit words a thread. */
#ifndef HEDDLE_TESTS_FUZZ_RANDOM_PTX_H
#define HEDDLE_TESTS_FUZZ_RANDOM_PTX_H
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/isa.h"

enum { RANDOM_TEXT = 1 << 16, RANDOM_REGS = 8, RANDOM_WORDS = 32, RANDOM_THREADS = 64, RANDOM_INPUT = RANDOM_WORDS * 8 * RANDOM_THREADS,
       RANDOM_STEPS = 200 };

struct random_program {
    uint64_t state;
    const bool *drop;                          /* RANDOM_STEPS: steps to leave out, or NULL */
    unsigned steps, labels;
    size_t n;
    char text[RANDOM_TEXT];
};

static inline uint64_t random_bits(struct random_program *g)
{
    g->state += 0x9e3779b97f4a7c15u;           /* splitmix64 */
    uint64_t z = g->state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static inline unsigned random_below(struct random_program *g, unsigned n) { return (unsigned)(random_bits(g) >> 33) % n; }
static inline bool random_one_in(struct random_program *g, unsigned n) { return random_below(g, n) == 0; }

__attribute__((format(printf, 2, 3))) static inline void random_add(struct random_program *g, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(g->text + g->n, RANDOM_TEXT - g->n, format, args);
    va_end(args);
    if (n > 0) g->n = g->n + (size_t)n < RANDOM_TEXT ? g->n + (size_t)n : RANDOM_TEXT - 1;
}

/* ---- values ---- */

/* Numbers at the edges of every format, or any; of 64 bits, of which a narrower use takes the lower. */
static inline uint64_t random_value(struct random_program *g)
{
    static const uint64_t edges64[] = { 0, 1, 2, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000u, 0xffffffffu,
        0x100000000u, 0x7fffffffffffffffu, 0x8000000000000000u, 0xffffffffffffffffu, 0x3ff0000000000000u, 0x7ff0000000000000u, 0xfff0000000000000u,
        0x7ff8000000000001u, 0xfff4000000000002u, 0x0010000000000000u, 0x000fffffffffffffu, 0x0000000000000001u, 0x7fefffffffffffffu, 0x41e0000000000000u,
        0x43e0000000000000u, 0xc1e0000000000000u, 0x3fe0000000000000u, 0x4004000000000000u, 0x36a0000000000000u, 0x380fffffe0000000u, 0x47efffffffffffffu };
    static const uint32_t edges32[] = { 0, 0x80000000u, 0x3f800000u, 0xbf800000u, 0x7f800000u, 0xff800000u, 0x7fc00001u, 0xff800001u, 0x7fffffffu, 0x00800000u,
        0x007fffffu, 0x00000001u, 0x80000001u, 0x7f7fffffu, 0x4f000000u, 0x4f800000u, 0x5f000000u, 0x3f000000u, 0x40200000u, 0x33800000u, 0x477fe000u,
        0x477ff000u, 0x38800000u, 0x387fe000u, 0x33000000u, 0x43e00000u, 0x47600000u, 0x40c00000u };
    static const uint16_t edges16[] = { 0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7fff, 0x7ffe, 0x7e01, 0xfc01, 0x0400, 0x03ff, 0x0001, 0x8001, 0x7bff, 0x3f80,
        0x7f80, 0xff80, 0x7fc1, 0x0080, 0x007f, 0x7f7f, 0x7f7e, 0x8080, 0x0101 };
    uint64_t x = random_bits(g);
    switch (random_below(g, 8)) {
    case 0: return edges64[random_below(g, sizeof edges64 / sizeof edges64[0])];
    case 1: return edges32[random_below(g, sizeof edges32 / sizeof edges32[0])] |
                   (uint64_t)edges32[random_below(g, sizeof edges32 / sizeof edges32[0])] << 32;
    case 2:
        x = 0;
        for (unsigned k = 0; k < 4; k++) x = x << 16 | edges16[random_below(g, sizeof edges16 / sizeof edges16[0])];
        return x;
    case 3: return x & 127;
    case 4: return 0u - (x & 127);
    case 5: return (x & 0x807fffff807fffffu) | (0x3c0000003c000000u + (x >> 8 & 0x0f8000000f800000u));       /* floats near 1 */
    case 6: return (x & 0x800fffffffffffffu) | (0x3fc0000000000000u + (x >> 4 & 0x00f0000000000000u));       /* doubles near 1 */
    default: return x;
    }
}

/* ---- words of an instruction ---- */

struct random_words { char text[200]; uint8_t types[PTX_MAX_TYPES]; unsigned n_types; };

static inline const char *random_set(const char *name, size_t n)
{
    static const struct { const char *name, *words; } sets[] = {
#define SET(name, words) { name, words },
#include "ptx/sets.def"
#undef SET
    };
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) if (strlen(sets[i].name) == n && memcmp(sets[i].name, name, n) == 0) return sets[i].words;
    return "";
}

/* Word k of "a|b|$set", sets taken apart; how many there are when k is beyond. */
static inline unsigned random_word_at(const char *s, size_t len, unsigned k, char word[40])
{
    unsigned n = 0;
    for (const char *end = s + len; s < end;) {
        const char *bar = memchr(s, '|', (size_t)(end - s));
        size_t size = (size_t)((bar ? bar : end) - s);
        if (*s == '$') {
            const char *words = random_set(s + 1, size - 1);
            n += random_word_at(words, strlen(words), k - n, word);
        } else if (n++ == k) {
            snprintf(word, 40, "%.*s", (int)size, s);
        }
        s += size + (bar != NULL);
    }
    return n;
}

/* One of them. */
static inline void random_word(struct random_program *g, const char *s, size_t len, char word[40])
{
    (void)random_word_at(s, len, random_below(g, random_word_at(s, len, UINT32_MAX, word)), word);
}

static inline void random_add_word(struct random_words *w, const char *word)
{
    enum ptx_mod m = ptx_mod_find(word, strlen(word));
    size_t n = strlen(w->text);
    snprintf(w->text + n, sizeof w->text - n, ".%s", word);
    if ((unsigned)m < PTX_TYPE_COUNT && w->n_types < PTX_MAX_TYPES) w->types[w->n_types++] = (uint8_t)m;
}

static inline struct random_words random_form_words(struct random_program *g, const struct ptx_form *f)
{
    struct random_words w = { .n_types = 0 };
    for (const char *s = f->syntax; *s;) {
        size_t n = strcspn(s, " "), len = n;
        bool optional = s[n - 1] == '?';
        char word[40] = "";
        if (optional) len--;
        if (!optional || random_one_in(g, 2)) {
            random_word(g, s, len, word);
            random_add_word(&w, word);
        }
        s += n;
        s += *s == ' ';
    }
    return w;
}

static inline bool random_has(const struct random_words *w, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = w->text; (at = strstr(at, word)) != NULL; at += n) if (at[-1] == '.' && (at[n] == '.' || at[n] == 0)) return true;
    return false;
}

/* What the table leaves to the reader: comparisons that a type does not have, and the like. */
static inline bool random_is_legal(const struct ptx_form *f, const struct random_words *w)
{
    static const char *const of_floats[] = { "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan" };
    static const char *const of_unsigned[] = { "lo", "ls", "hi", "hs" };
    static const char *const ordered[] = { "lt", "le", "gt", "ge" };
    if (f->op == PTX_OP_SET || f->op == PTX_OP_SETP) {
        enum ptx_type_kind kind = ptx_type_kind((enum ptx_type)w->types[w->n_types - 1]);
        bool floats = false, unsigned_ = false, order = false;
        for (unsigned k = 0; k < 8; k++) floats |= random_has(w, of_floats[k]);
        for (unsigned k = 0; k < 4; k++) unsigned_ |= random_has(w, of_unsigned[k]);
        for (unsigned k = 0; k < 4; k++) order |= random_has(w, ordered[k]);
        return kind == PTX_KIND_FLOAT ? !unsigned_ : kind == PTX_KIND_UNSIGNED ? !floats : kind == PTX_KIND_SIGNED ? !floats && !unsigned_
             : !floats && !unsigned_ && !order;
    }
    if (f->op == PTX_OP_SLCT) return !random_has(w, "ftz") || w->types[1] == PTX_F32;
    if (f->op == PTX_OP_RCP || f->op == PTX_OP_SQRT) return random_has(w, "approx") || !random_has(w, "ftz") || w->types[0] != PTX_F64;
    return true;
}

/* ---- operands ---- */

static const char *const random_ops_without[] = { "b128", "v2", "v4" };        /* words of mov that are not lane-wise */

/* The opcodes whose rows are taken. */
static inline bool random_op(enum ptx_op op)
{
    switch (ptx_op_unit(op)) {
    case PTX_UNIT_ARITH: case PTX_UNIT_LOGIC: case PTX_UNIT_SHIFT: case PTX_UNIT_BITS: case PTX_UNIT_SFU: case PTX_UNIT_COMPARE:
    case PTX_UNIT_SELECT: case PTX_UNIT_CONVERT: case PTX_UNIT_VIDEO: return true;
    default: return op == PTX_OP_MOV;
    }
}

/* Bytes of operand k (the destination is 0); 0: a predicate. */
static inline unsigned random_width(const struct ptx_form *f, const struct random_words *w, unsigned k, bool last)
{
    enum ptx_type first = w->n_types ? (enum ptx_type)w->types[0] : PTX_B32, second = w->n_types > 1 ? (enum ptx_type)w->types[1] : first;
    unsigned one = first == PTX_PRED ? 0 : ptx_type_bytes(first), two = ptx_type_bytes(second);
    one = one == 1 && first != PTX_PRED ? 2 : one;
    two = two == 1 ? 2 : two;
    if (ptx_op_unit((enum ptx_op)f->op) == PTX_UNIT_VIDEO) return 4;
    switch (f->op) {
    case PTX_OP_SETP: case PTX_OP_TESTP: return k == 0 ? 0 : one;
    case PTX_OP_SET: return k == 0 ? one : two;
    case PTX_OP_MUL: case PTX_OP_MAD: return random_has(w, "wide") && (k == 0 || k == 3) ? 2 * one : one;
    case PTX_OP_POPC: case PTX_OP_CLZ: case PTX_OP_BFIND: return k == 0 ? 4 : one;
    case PTX_OP_SHL: case PTX_OP_SHR: return k == 2 ? 4 : one;
    case PTX_OP_BFE: return k >= 2 ? 4 : one;
    case PTX_OP_BFI: return k >= 3 ? 4 : one;
    case PTX_OP_SLCT: return k == 3 ? 4 : one;
    case PTX_OP_CVT: return random_has(w, "pack") ? 4 : k == 0 ? one : random_has(w, "rs") ? 4 : two;
    default: return w->n_types == 2 && k > 0 && !last ? two : one;     /* add.f32.f16 d, a, c and its like; else both types have a width */
    }
}

static inline bool random_takes_number(const struct ptx_form *f, const struct random_words *w)
{
    for (unsigned k = 0; k < w->n_types; k++) {
        enum ptx_type t = (enum ptx_type)w->types[k];
        if (ptx_type_kind(t) == PTX_KIND_FLOAT && t != PTX_F32 && t != PTX_F64) return false;
    }
    return ptx_op_unit((enum ptx_op)f->op) != PTX_UNIT_VIDEO;
}

static inline void random_number(struct random_program *g, enum ptx_type t, unsigned width)
{
    uint64_t x = random_value(g);
    if (t == PTX_F32 && width == 4) random_add(g, "0f%08X", (unsigned)x);
    else if (t == PTX_F64) random_add(g, "0d%016llX", (unsigned long long)x);
    else if (width == 8) random_add(g, "0x%llx", (unsigned long long)x);
    else random_add(g, "%lld", width == 2 ? (long long)(int16_t)x : (long long)(int32_t)x);
}

static inline void random_register(struct random_program *g, unsigned width)
{
    random_add(g, "%%%c%u", width == 0 ? 'p' : width == 2 ? 'h' : width == 4 ? 'r' : 'd', random_below(g, RANDOM_REGS));
}

static inline void random_selector(struct random_program *g, const struct ptx_form *f, unsigned k)
{
    static const char *const masks[] = { "b0", "b1", "b10", "b2", "b20", "b21", "b210", "b3", "b30", "b31", "b310", "b32", "b320", "b321", "b3210" };
    const char *word = ptx_op_text((enum ptx_op)f->op);
    char kind = word[strlen(word) - 1];
    if (random_one_in(g, 3)) return;
    if (kind == '2') {
        if (k) random_add(g, ".h%u%u", random_below(g, 4), random_below(g, 4));
        else random_add(g, ".%s", random_one_in(g, 2) ? "h0" : random_one_in(g, 2) ? "h1" : "h10");
    } else if (kind == '4') {
        if (k) random_add(g, ".b%u%u%u%u", random_below(g, 8), random_below(g, 8), random_below(g, 8), random_below(g, 8));
        else random_add(g, ".%s", masks[random_below(g, 15)]);
    } else if (random_one_in(g, 2)) {
        random_add(g, ".b%u", random_below(g, 4));
    } else {
        random_add(g, ".h%u", random_below(g, 2));
    }
}

static inline void random_video_operands(struct random_program *g, const struct ptx_form *f, const struct random_words *w)
{
    bool simd = strpbrk(ptx_op_text((enum ptx_op)f->op), "24") != NULL, mad = f->op == PTX_OP_VMAD;
    bool second = random_has(w, "add") || random_has(w, "min") || random_has(w, "max");
    bool merge = !simd && !mad && !second && random_one_in(g, 2), negate = mad && !random_has(w, "po");
    unsigned minus = negate ? random_below(g, 4) : 0;
    random_register(g, 4);
    if (simd || merge) random_selector(g, f, 0);
    for (unsigned k = 1; k < 3; k++) {
        random_add(g, ", %s", minus == k ? "-" : "");
        random_register(g, 4);
        random_selector(g, f, k);
    }
    if (!simd && !mad && !second && !merge) return;
    random_add(g, ", %s", minus == 3 ? "-" : "");
    random_register(g, 4);
}

static inline void random_source(struct random_program *g, const struct ptx_form *f, const struct random_words *w, unsigned k, bool last, const char *place)
{
    static const char *const specials[] = { "%laneid", "%tid.x", "%ntid.x", "%lanemask_lt", "%warpid" };
    unsigned width = *place == '!' ? 0 : random_width(f, w, k, last);
    bool number = random_takes_number(f, w) && random_one_in(g, 6);
    enum ptx_type t = w->n_types ? (enum ptx_type)w->types[w->n_types - 1] : PTX_B32;
    if (*place == '#') random_add(g, "%u", random_below(g, 256));
    else if (f->op == PTX_OP_CVT && random_has(w, "rs") && f->n_places == 3 && k == 1) {
        for (unsigned e = 0; e < 4; e++) {
            random_add(g, e ? ", " : "{");
            random_register(g, 4);
        }
        random_add(g, "}");
    } else if (width == 0) {
        if (*place == '!' && random_one_in(g, 2)) random_add(g, "!");
        random_register(g, 0);
    } else if (number && width == 4 && ptx_type_kind(t) != PTX_KIND_FLOAT && random_one_in(g, 4)) {
        random_add(g, "%s", specials[random_below(g, sizeof specials / sizeof specials[0])]);
    } else if (number) {
        bool its = width == ptx_type_bytes(t) && !(f->op == PTX_OP_SLCT && k < 3);
        random_number(g, its ? t : PTX_B64, width);
    } else {
        random_register(g, width);
    }
}

static inline void random_operands(struct random_program *g, const struct ptx_form *f, const struct random_words *w)
{
    if (ptx_op_unit((enum ptx_op)f->op) == PTX_UNIT_VIDEO) {
        random_video_operands(g, f, w);
        return;
    }
    unsigned k = 0;
    for (const char *s = f->operands; *s; k++) {
        size_t n = strcspn(s, ",");
        bool last = s[n] == 0;
        if (k) random_add(g, ", ");
        if (*s == '=') {
            random_register(g, random_width(f, w, 0, false));
            bool pair = memchr(s, '|', n) != NULL, may = s[n - 1] == '?';
            if (pair && (!may || random_one_in(g, 2))) {
                random_add(g, "|");
                if (random_one_in(g, 4)) random_add(g, "_");
                else random_register(g, 0);
            }
        } else {
            random_source(g, f, w, k, last, s);
        }
        s += n;
        while (*s == ',' || *s == ' ') s++;
    }
}

/* ---- instructions, branches, loops ---- */

static inline void random_insn(struct random_program *g)
{
    unsigned number = g->steps++;
    size_t start = g->n;
    const struct ptx_form *f;
    struct random_words w;
    if (number >= RANDOM_STEPS) return;
    do {
        uint32_t first = 0, count = ptx_form_count();
        if (random_one_in(g, 8)) ptx_op_rows(PTX_OP_CVT, &first, &count);      /* the most different instructions under few forms */
        f = ptx_form_at(first + random_below(g, count));
        if (!random_op((enum ptx_op)f->op)) continue;
        w = random_form_words(g, f);
        bool without = false;
        for (unsigned k = 0; f->op == PTX_OP_MOV && k < 3; k++) without |= random_has(&w, random_ops_without[k]);
        if (!without && random_is_legal(f, &w)) break;
    } while (true);
    if (random_one_in(g, 3)) random_add(g, "@%s%%p%u ", random_one_in(g, 2) ? "!" : "", random_below(g, RANDOM_REGS));
    random_add(g, "%s%s ", ptx_op_text((enum ptx_op)f->op), w.text);
    random_operands(g, f, &w);
    random_add(g, ";\n");
    if (g->drop && g->drop[number]) g->text[g->n = start] = 0;
}

static inline void random_block(struct random_program *g, unsigned n, unsigned depth)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned label = g->labels, what = depth < 3 ? random_below(g, 24) : 3;
        if (what > 2) {
            random_insn(g);
            continue;
        }
        g->labels += 2;
        if (what == 2) {                       /* a loop that goes round up to four times, lane by lane */
            random_add(g, "and.b32 %%c%u, %%r%u, 3;\nL%u:\n", depth, random_below(g, RANDOM_REGS), label);
            random_block(g, 1 + random_below(g, 5), depth + 1);
            random_add(g, "setp.ne.u32 %%q%u, %%c%u, 0;\nsub.u32 %%c%u, %%c%u, 1;\n@%%q%u bra L%u;\n", depth, depth, depth, depth, depth, label);
            continue;
        }
        random_add(g, "@%s%%p%u bra L%u;\n", random_one_in(g, 2) ? "!" : "", random_below(g, RANDOM_REGS), label);
        random_block(g, 1 + random_below(g, 6), depth + 1);
        if (what == 1) {
            random_add(g, "bra L%u;\nL%u:\n", label + 1, label);
            random_block(g, 1 + random_below(g, 6), depth + 1);
            random_add(g, "L%u:\n", label + 1);
        } else {
            random_add(g, "L%u:\n", label);
        }
    }
}

static inline void random_registers(struct random_program *g, bool load)
{
    static const struct { char name; unsigned bits, bytes; } kinds[] = { { 'h', 16, 2 }, { 'r', 32, 4 }, { 'd', 64, 8 } };
    for (unsigned k = 0; k < 3; k++)
        for (unsigned i = 0; i < RANDOM_REGS; i++) {
            unsigned at = 8 * (RANDOM_REGS * k + i);
            if (load) random_add(g, "ld.global.b%u %%%c%u, [%%in+%u];\n", kinds[k].bits, kinds[k].name, i, at);
            else random_add(g, "st.global.b%u [%%out+%u], %%%c%u;\n", kinds[k].bits, at, kinds[k].name, i);
        }
    unsigned at = 8 * 3 * RANDOM_REGS;
    if (load) random_add(g, "ld.global.b32 %%t, [%%in+%u];\n", at);
    else random_add(g, "mov.b32 %%t, 0;\n");
    for (unsigned i = 0; i < RANDOM_REGS; i++) {
        if (load) random_add(g, "and.b32 %%u, %%t, %u;\nsetp.ne.u32 %%p%u, %%u, 0;\n", 1u << i, i);
        else random_add(g, "selp.b32 %%u, %u, 0, %%p%u;\nor.b32 %%t, %%t, %%u;\n", 1u << i, i);
    }
    if (!load) random_add(g, "st.global.b32 [%%out+%u], %%t;\n", at);
}

/* The program of a seed, without the steps in drop. */
static inline void random_program(struct random_program *g, uint64_t seed, const bool *drop)
{
    *g = (struct random_program){ .state = seed, .drop = drop };
    random_add(g, ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 one) {\n"
               ".reg .b16 %%h<%u>; .reg .b32 %%r<%u>; .reg .b64 %%d<%u>; .reg .pred %%p<%u>;\n.reg .b64 %%out, %%in; .reg .b32 %%t, %%u; .reg .b32 %%c<4>; .reg .pred %%q<4>;\n"
               "ld.param.u64 %%out, [p];\nmov.u32 %%t, %%tid.x;\nld.param.u32 %%u, [one];\nsetp.lt.u32 %%p0, %%u, %u;\nsetp.ne.and.u32 %%p0, %%u, %%t, %%p0;\n@%%p0 exit;\nmad.wide.u32 %%out, %%t, %u, %%out;\nadd.u64 %%in, %%out, %u;\n",
               RANDOM_REGS, RANDOM_REGS, RANDOM_REGS, RANDOM_REGS, RANDOM_THREADS, RANDOM_WORDS * 8, RANDOM_INPUT);
    random_registers(g, true);
    random_block(g, 12 + random_below(g, 24), 0);
    random_registers(g, false);
    random_add(g, "ret;\n}\n");
}

/* Registers before the program, for all threads, and how many threads there are. */
static inline unsigned random_inputs(uint64_t seed, uint64_t in[RANDOM_THREADS * RANDOM_WORDS])
{
    struct random_program g = { .state = seed ^ 0x5eed };
    for (unsigned i = 0; i < RANDOM_THREADS * RANDOM_WORDS; i++) in[i] = random_value(&g);
    return random_one_in(&g, 2) ? 32 : 1 + random_below(&g, RANDOM_THREADS);
}

#endif
