#include "ptx/isa.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct op_row { const char *word, *summary; uint8_t unit; };
static const struct op_row op_rows[] = {
#define OPCODE(id, word, unit, summary) { word, summary, PTX_UNIT_##unit },
#define FORM(...)
#include "ptx/isa.def"
#undef FORM
#undef OPCODE
};

static struct ptx_form forms[] = {
#define OPCODE(...)
#define FORM(id, mods, places, ptx, least) { .op = PTX_OP_##id, .syntax = mods, .operands = places, .version = ptx, .sm = #least },
#include "ptx/isa.def"
#undef FORM
#undef OPCODE
};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

struct mod_row { const char *text; uint8_t category; };
static const struct mod_row mod_rows[] = {
    { "", PTX_CAT_OTHER },
#define MOD(id, word, cat) { word, PTX_CAT_##cat },
#include "ptx/mods.def"
#undef MOD
};

struct type_row { const char *text; uint8_t bytes, kind; };
static const struct type_row type_rows[] = {
    { "", 0, PTX_KIND_NONE },
#define TYPE(id, word, size, what) { word, size, PTX_KIND_##what },
#include "ptx/types.def"
#undef TYPE
};

struct sreg_row { const char *text; uint8_t type; };
static const struct sreg_row sreg_rows[] = {
#define SREG(id, word, kind, components) { word, PTX_##kind },
#include "ptx/sregs.def"
#undef SREG
};

struct set_row { const char *name, *words; };
static const struct set_row set_rows[] = {
#define SET(name, words) { name, words },
#include "ptx/sets.def"
#undef SET
};
enum { N_SETS = sizeof set_rows / sizeof set_rows[0] };

/* A compiled element of a syntax string: the words it accepts, as bits. */
enum { MASK_WORDS = (PTX_MOD_COUNT + 63) / 64 };
struct element { uint64_t accepts[MASK_WORDS]; bool optional, typed; };
static struct element *elements;
static size_t n_elements, cap_elements;

static struct { uint32_t first, count; } rows_of[PTX_OP_COUNT];
static struct map ops, mods, sregs;
static const char *bad_row;
static pthread_once_t once = PTHREAD_ONCE_INIT;

unsigned ptx_type_bytes(enum ptx_type t) { return (unsigned)t < PTX_TYPE_COUNT ? type_rows[t].bytes : 0; }
enum ptx_type_kind ptx_type_kind(enum ptx_type t)
{
    return (unsigned)t < PTX_TYPE_COUNT ? (enum ptx_type_kind)type_rows[t].kind : PTX_KIND_NONE;
}
const char *ptx_type_text(enum ptx_type t) { return (unsigned)t < PTX_TYPE_COUNT ? type_rows[t].text : ""; }
const char *ptx_op_text(enum ptx_op op) { return (unsigned)op < PTX_OP_COUNT ? op_rows[op].word : ""; }
const char *ptx_mod_text(enum ptx_mod m) { return (unsigned)m < PTX_MOD_COUNT ? mod_rows[m].text : ""; }
const char *ptx_sreg_text(enum ptx_sreg s) { return (unsigned)s < PTX_SREG_COUNT ? sreg_rows[s].text : ""; }
enum ptx_type ptx_sreg_type(enum ptx_sreg s)
{
    return (unsigned)s < PTX_SREG_COUNT ? (enum ptx_type)sreg_rows[s].type : PTX_TYPE_NONE;
}
enum ptx_unit_class ptx_op_unit(enum ptx_op op)
{
    return (unsigned)op < PTX_OP_COUNT ? (enum ptx_unit_class)op_rows[op].unit : PTX_UNIT_MISC;
}
const char *ptx_op_summary(enum ptx_op op) { return (unsigned)op < PTX_OP_COUNT ? op_rows[op].summary : ""; }
enum ptx_mod_category ptx_mod_category(enum ptx_mod m)
{
    return (unsigned)m < PTX_MOD_COUNT ? (enum ptx_mod_category)mod_rows[m].category : PTX_CAT_OTHER;
}

/* ---- compiling the tables ---------------------------------------------------------------------- */

static bool mask_has(const struct element *e, enum ptx_mod m)
{
    return e->accepts[(unsigned)m / 64] >> ((unsigned)m % 64) & 1;
}

/* Adds "a|b|$set" to the element. Sets may name sets; depth guards against a circle. */
static bool element_add(struct element *e, const char *s, size_t len, int depth)
{
    if (depth > 4)
        return false;
    for (const char *end = s + len; s < end;) {
        const char *bar = memchr(s, '|', (size_t)(end - s));
        size_t n = (size_t)((bar ? bar : end) - s);
        if (n > 1 && *s == '$') {
            size_t k = 0;
            while (k < N_SETS && (strlen(set_rows[k].name) != n - 1 || memcmp(set_rows[k].name, s + 1, n - 1) != 0))
                k++;
            if (k == N_SETS || !element_add(e, set_rows[k].words, strlen(set_rows[k].words), depth + 1))
                return false;
        } else {
            enum ptx_mod m = ptx_mod_find(s, n);
            if (m == PTX_MOD_NONE)
                return false;
            e->accepts[(unsigned)m / 64] |= 1ull << ((unsigned)m % 64);
            if ((unsigned)m >= PTX_TYPE_COUNT)
                e->typed = false;
        }
        s += n + 1;
    }
    return true;
}

static bool form_compile_words(struct ptx_form *f)
{
    f->first_element = (uint16_t)n_elements;
    for (const char *s = f->syntax; *s;) {
        size_t n = strcspn(s, " ");
        struct element e = { .typed = true, .optional = n > 0 && s[n - 1] == '?' };
        if (n == 0 || !element_add(&e, s, n - (e.optional ? 1 : 0), 0))
            return false;
        if (n_elements == cap_elements) {
            size_t cap = cap_elements ? cap_elements * 2 : 4096;
            struct element *more = realloc(elements, cap * sizeof *more);
            if (!more)
                return false;
            elements = more;
            cap_elements = cap;
        }
        elements[n_elements++] = e;
        s += n;
        s += *s == ' ';
    }
    f->n_elements = (uint16_t)(n_elements - f->first_element);
    return true;
}

static bool place_compile(struct ptx_place *p, const char *s, size_t n)
{
    *p = (struct ptx_place){ .kind = PTX_PLACE_SOURCE, .reads = true };
    if (n == 0)
        return false;
    if (s[n - 1] == '?') {
        p->optional = true;
        n--;
    }
    if (n > 1 && (*s == '=' || *s == '+')) {
        p->writes = true;
        p->reads = *s == '+';
        p->pair = memchr(s, '|', n) != NULL;
        p->pair_optional = p->pair && p->optional;
        if (p->pair)
            p->optional = false;
    } else if (n > 2 && *s == '[') {
        p->kind = memchr(s, ',', n) ? PTX_PLACE_COORDS : PTX_PLACE_MEMORY;
    } else if (*s == '#') {
        p->kind = PTX_PLACE_CONST;
    } else if (*s == '@') {
        p->kind = PTX_PLACE_LABEL;
    } else if (*s == '(') {
        p->kind = PTX_PLACE_LIST;
    }
    return true;
}

static bool form_compile_places(struct ptx_form *f)
{
    for (const char *s = f->operands; *s;) {
        size_t n = *s == '[' ? strcspn(s, "]") : 0;         /* the comma inside [t,c] does not separate */
        n += strcspn(s + n, ",");
        if (f->n_places == PTX_MAX_OPERANDS || !place_compile(&f->places[f->n_places], s, n))
            return false;
        if (!f->places[f->n_places].optional)
            f->n_required++;
        f->n_places++;
        s += n;
        s += *s == ',';
        s += *s == ' ';
    }
    return true;
}

static void compile(void)
{
    static const char no_memory[] = "out of memory";
    for (size_t i = 0; i < PTX_OP_COUNT; i++)
        if (!map_put_str(&ops, op_rows[i].word, strlen(op_rows[i].word), i + 1))
            bad_row = no_memory;
    for (size_t i = 1; i < PTX_MOD_COUNT; i++)
        if (!map_put_str(&mods, mod_rows[i].text, strlen(mod_rows[i].text), i))
            bad_row = no_memory;
    for (size_t i = 0; i < PTX_SREG_COUNT; i++)
        if (!map_put_str(&sregs, sreg_rows[i].text, strlen(sreg_rows[i].text), i + 1))
            bad_row = no_memory;
    for (uint32_t i = 0; i < N_FORMS && !bad_row; i++) {
        if (!form_compile_words(&forms[i]) || !form_compile_places(&forms[i]))
            bad_row = forms[i].syntax;
        if (rows_of[forms[i].op].count++ == 0)
            rows_of[forms[i].op].first = i;
    }
}

bool ptx_isa_init(const char **bad)
{
    pthread_once(&once, compile);
    if (bad)
        *bad = bad_row;
    return !bad_row;
}

uint32_t ptx_form_count(void) { return N_FORMS; }
const struct ptx_form *ptx_form_at(uint32_t row) { return row < N_FORMS ? &forms[row] : NULL; }
void ptx_op_rows(enum ptx_op op, uint32_t *first, uint32_t *count)
{
    *first = (unsigned)op < PTX_OP_COUNT ? rows_of[op].first : 0;
    *count = (unsigned)op < PTX_OP_COUNT ? rows_of[op].count : 0;
}

/* ---- words ---------------------------------------------------------------------------------------- */

enum ptx_op ptx_op_find(const char *word, size_t len)
{
    uintptr_t v;
    return map_get_str(&ops, word, len, &v) ? (enum ptx_op)(v - 1) : PTX_OP_COUNT;
}

enum ptx_mod ptx_mod_find(const char *word, size_t len)
{
    uintptr_t v;
    return map_get_str(&mods, word, len, &v) ? (enum ptx_mod)v : PTX_MOD_NONE;
}

enum ptx_sreg ptx_sreg_find(const char *word, size_t len)
{
    uintptr_t v;
    return map_get_str(&sregs, word, len, &v) ? (enum ptx_sreg)(v - 1) : PTX_SREG_COUNT;
}

/* Number of letters to insert, delete, change or swap; words beyond 40 letters are never near. */
static unsigned distance(const char *a, size_t n, const char *b)
{
    enum { MOST = 40 };
    size_t m = strlen(b);
    if (n > MOST || m > MOST)
        return MOST;
    unsigned row[3][MOST + 1];
    for (size_t j = 0; j <= m; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *r = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
        r[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned d = up[j - 1] + (a[i - 1] != b[j - 1]);
            if (up[j] + 1 < d)
                d = up[j] + 1;
            if (r[j - 1] + 1 < d)
                d = r[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && up2[j - 2] + 1 < d)
                d = up2[j - 2] + 1;
            r[j] = d;
        }
    }
    return row[n % 3][m];
}

static bool nearer(const char *word, size_t len, const char *text, unsigned *best)
{
    unsigned d = distance(word, len, text);
    if (d >= *best || d >= len)
        return false;
    *best = d;
    return true;
}

const char *ptx_op_nearest(const char *word, size_t len)
{
    unsigned best = 3;
    const char *found = NULL;
    for (size_t i = 0; i < PTX_OP_COUNT; i++)
        if (nearer(word, len, op_rows[i].word, &best))
            found = op_rows[i].word;
    return found;
}

const char *ptx_mod_nearest(const char *word, size_t len)
{
    unsigned best = 3;
    const char *found = NULL;
    for (size_t i = 1; i < PTX_MOD_COUNT; i++)
        if (nearer(word, len, mod_rows[i].text, &best))
            found = mod_rows[i].text;
    return found;
}

/* ---- matching ------------------------------------------------------------------------------------- */

/* True when word k says again what an earlier one said; ptxas lets that pass. */
static bool said_before(const struct ptx_insn *in, unsigned k)
{
    for (unsigned i = 0; i < k; i++)
        if (in->mods[i] == in->mods[k] && in->mods[k] >= PTX_TYPE_COUNT)
            return true;
    return false;
}

/* Each element takes the first unused word that it accepts; an element of types looks only at the first unused type.
 * No two neighbours in the table compete for a word in a way that would need going back. */
static bool words_match(const struct ptx_form *f, const struct ptx_insn *in)
{
    uint32_t used = 0;
    for (unsigned i = 0; i < f->n_elements; i++) {
        const struct element *e = &elements[f->first_element + i];
        bool found = false;
        for (unsigned k = 0; k < in->n_mods && !found; k++) {
            if (used >> k & 1 || (e->typed && in->mods[k] >= PTX_TYPE_COUNT))
                continue;
            if (mask_has(e, (enum ptx_mod)in->mods[k])) {
                used |= 1u << k;
                found = true;
            } else if (e->typed) {
                break;
            }
        }
        if (!found && !e->optional)
            return false;
    }
    for (unsigned k = 0; k < in->n_mods; k++)
        if (!(used >> k & 1) && !said_before(in, k))
            return false;
    return true;
}

static bool place_takes(const struct ptx_place *p, const struct ptx_operand *o)
{
    switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPERAND_MEM:    return p->kind == PTX_PLACE_MEMORY;
    case PTX_OPERAND_TEXMEM: return p->kind == PTX_PLACE_COORDS;
    case PTX_OPERAND_LABEL:  return p->kind == PTX_PLACE_LABEL;
    case PTX_OPERAND_LIST:   return p->kind == PTX_PLACE_LIST;
    case PTX_OPERAND_SYM:    return p->kind == PTX_PLACE_SOURCE || p->kind == PTX_PLACE_MEMORY;
    case PTX_OPERAND_IMM:
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64:    return (p->kind == PTX_PLACE_SOURCE || p->kind == PTX_PLACE_CONST) && !p->writes;
    case PTX_OPERAND_REG:
    case PTX_OPERAND_SREG:
    case PTX_OPERAND_VEC:
    case PTX_OPERAND_SINK:
    case PTX_OPERAND_NONE:   break;
    }
    return p->kind == PTX_PLACE_SOURCE || p->kind == PTX_PLACE_CONST;
}

/* Operands to places from the left; an optional place is left out when there are too few operands or its kind does not fit. */
static bool operands_match(const struct ptx_form *f, const struct ptx_insn *in)
{
    unsigned given = in->n_operands, spare, k = 0;
    if (in->has_pair) {
        if (f->n_places == 0 || !f->places[0].pair)
            return false;
        given--;
        k = 1;
    } else if (f->n_places && f->places[0].pair && !f->places[0].pair_optional) {
        return false;
    }
    if (given < f->n_required || given > f->n_places)
        return false;
    spare = given - f->n_required;
    for (unsigned i = 0; i < f->n_places; i++) {
        const struct ptx_place *p = &f->places[i];
        bool fits = k < in->n_operands && place_takes(p, &in->operands[k]);
        if (p->optional && (spare == 0 || !fits))
            continue;
        if (!fits)
            return false;
        spare -= p->optional;
        k++;
    }
    return k == in->n_operands;
}

enum ptx_match ptx_insn_match(struct ptx_insn *in)
{
    enum ptx_match answer = PTX_MATCH_WORDS;
    uint32_t first = rows_of[in->op].first, n = rows_of[in->op].count;
    for (uint32_t i = first; i < first + n; i++) {
        if (!words_match(&forms[i], in))
            continue;
        in->row = (uint16_t)i;
        if (operands_match(&forms[i], in))
            return PTX_MATCH_OK;
        answer = PTX_MATCH_OPERANDS;
    }
    return answer;
}

bool ptx_op_takes(enum ptx_op op, enum ptx_mod m)
{
    for (uint32_t i = rows_of[op].first; i < rows_of[op].first + rows_of[op].count; i++)
        for (unsigned k = 0; k < forms[i].n_elements; k++)
            if (mask_has(&elements[forms[i].first_element + k], m))
                return true;
    return false;
}

bool ptx_insn_has(const struct ptx_insn *in, enum ptx_mod m)
{
    for (unsigned i = 0; i < in->n_mods; i++)
        if (in->mods[i] == m)
            return true;
    return false;
}
