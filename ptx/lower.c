#include "ptx/lower.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/isa.h"
#include "ptx/lower_form.h"

const char *ptx_class_text(enum ptx_class c)
{
    static const char *const text[] = {
#define CLASS(id) #id,
        PTX_CLASSES(CLASS)
#undef CLASS
    };
    return c < PTX_CLASS_COUNT ? text[c] : "?";
}

/* ---- the rules ---------------------------------------------------------------------------------------------------------------------------- */

struct cost { uint8_t class; uint16_t hundredths; };
struct rule { const char *form; uint8_t n; struct cost cost[PTX_GROUPS]; };

#define COST(c, h) {PTX_CLASS_##c, h}
#define RULE(form, n, ...) {form, n, {__VA_ARGS__}},
#define FOLDED(form) {form, 0, {{0, 0}}},
static const struct rule rules[] = {
#include "ptx/lower.def"
};
enum { N_RULES = sizeof rules / sizeof *rules, SLOTS = 4096 };
_Static_assert(N_RULES * 2 < SLOTS, "the hash table of the rules is too small");

static uint16_t slots[SLOTS];                  /* number of a rule + 1 */
static pthread_once_t slots_made = PTHREAD_ONCE_INIT;

static uint32_t hash(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h;
}

static void make_slots(void)
{
    for (uint32_t i = 0; i < N_RULES; i++) {
        uint32_t at = hash(rules[i].form, strlen(rules[i].form)) % SLOTS;
        while (slots[at])
            at = (at + 1) % SLOTS;
        slots[at] = (uint16_t)(i + 1);
    }
}

static const struct rule *rule_find(const char *form, size_t n)
{
    for (uint32_t at = hash(form, n) % SLOTS; slots[at]; at = (at + 1) % SLOTS) {
        const struct rule *r = &rules[slots[at] - 1];
        if (!strncmp(r->form, form, n) && !r->form[n])
            return r;
    }
    return NULL;
}

/* Where the text without its last word ends; 0: it has one word. */
static size_t shorter(const char *s, size_t n)
{
    while (n && s[n - 1] != '.' && s[n - 1] != '|')
        n--;
    return n ? n - 1 : 0;
}

/* The rule of the form, or of the most specific one that has one: the context loses words from its end, then the root does. */
static const struct rule *rule_of(const char *form)
{
    const char *bar = strchr(form, '|');
    size_t n = strlen(form);
    const struct rule *r = NULL;
    for (size_t end = n; !r && end; end = bar && end > (size_t)(bar - form) ? shorter(form, end) : 0)
        r = rule_find(form, end);
    for (size_t end = bar ? (size_t)(bar - form) : n; !r && end; end = shorter(form, end))
        r = rule_find(form, end);
    return r;
}

/* ---- instructions without a rule ------------------------------------------------------------------------------------------------------------ */

static enum ptx_class class_of_type(const struct ptx_insn *in)
{
    enum ptx_type t = in->n_types ? (enum ptx_type)in->types[0] : PTX_TYPE_NONE;
    if (ptx_type_kind(t) != PTX_KIND_FLOAT)
        return PTX_CLASS_INT;
    return t == PTX_F64 ? PTX_CLASS_FP64 : t == PTX_F32 || t == PTX_F32X2 || t == PTX_TF32 ? PTX_CLASS_FP32 : PTX_CLASS_FP16;
}

/* Of the tensor unit's instructions: fragments are loaded and stored through the load/store unit; wgmma has waits beside its products. */
static enum ptx_class class_of_matrix(const struct ptx_insn *in)
{
    switch (in->op) {
    case PTX_OP_LDMATRIX:
    case PTX_OP_STMATRIX: return PTX_CLASS_MEM;
    case PTX_OP_MOVMATRIX: return PTX_CLASS_MOVE;
    case PTX_OP_WMMA: return ptx_insn_has(in, PTX_MOD_MMA) ? PTX_CLASS_TENSOR : PTX_CLASS_MEM;
    case PTX_OP_WGMMA: return ptx_insn_has(in, PTX_MOD_MMA_ASYNC) ? PTX_CLASS_TENSOR : PTX_CLASS_SYNC;
    default: return PTX_CLASS_TENSOR;
    }
}

static enum ptx_class natural_class(const struct ptx_insn *in)
{
    switch (ptx_op_unit((enum ptx_op)in->op)) {
    case PTX_UNIT_SFU: return PTX_CLASS_SFU;
    case PTX_UNIT_SELECT:
    case PTX_UNIT_MOVE:
    case PTX_UNIT_STACK: return PTX_CLASS_MOVE;
    case PTX_UNIT_LOAD:
    case PTX_UNIT_STORE:
    case PTX_UNIT_ATOMIC:
    case PTX_UNIT_CACHE:
    case PTX_UNIT_ASYNC:
    case PTX_UNIT_FENCE:
    case PTX_UNIT_TEXTURE:
    case PTX_UNIT_SURFACE:
    case PTX_UNIT_WARP: return PTX_CLASS_MEM;
    case PTX_UNIT_BARRIER: return PTX_CLASS_BAR;
    case PTX_UNIT_BRANCH:
    case PTX_UNIT_MISC: return PTX_CLASS_CTRL;
    case PTX_UNIT_TENSOR: return class_of_matrix(in);
    default: return class_of_type(in);
    }
}

/* The class of which at least one machine instruction is there whatever the average says. COUNT: none. */
static enum ptx_class certain(const struct ptx_insn *in, const char *form)
{
    bool leaves = in->op == PTX_OP_RET || in->op == PTX_OP_EXIT || in->op == PTX_OP_CALL || in->op == PTX_OP_BRX || in->op == PTX_OP_TRAP;
    if (leaves || !strncmp(form, "bra|back", 8))       /* a loop of nothing would never end */
        return PTX_CLASS_CTRL;

    enum ptx_class c = natural_class(in);
    bool parameter = in->space == PTX_SPACE_PARAM || in->space == PTX_SPACE_CONST;
    return (c == PTX_CLASS_MEM && !parameter) || c == PTX_CLASS_BAR || c == PTX_CLASS_TENSOR ? c : PTX_CLASS_COUNT;
}

/* ---- whole numbers ------------------------------------------------------------------------------------------------------------------------ */

struct carry { int32_t of[PTX_CLASS_COUNT], all; };    /* hundredths that earlier instructions left over; all: their sum */

static void take(struct carry *c, enum ptx_class class, int32_t hundredths)
{
    c->of[class] += hundredths;
    c->all += hundredths;
}

/* Nearest numbers by class, and then one more or less where the sum of all classes would be off by half an instruction. */
static void whole(struct carry *c, const struct rule *r, enum ptx_class must, uint32_t n[PTX_GROUPS])
{
    unsigned most = 0, least = PTX_GROUPS;
    for (unsigned i = 0; i < r->n; i++) {
        enum ptx_class class = (enum ptx_class)r->cost[i].class;
        take(c, class, r->cost[i].hundredths);
        n[i] = c->of[class] > -50 ? (uint32_t)(c->of[class] + 50) / 100 : 0;
        n[i] = n[i] == 0 && class == must ? 1 : n[i] > 255 ? 255 : n[i];
        take(c, class, -100 * (int32_t)n[i]);
        if (c->of[class] > c->of[r->cost[most].class])
            most = i;
        if (n[i] > (class == must) && (least == PTX_GROUPS || c->of[class] < c->of[r->cost[least].class]))
            least = i;
    }
    if (r->n && c->all >= 50 && n[most] < 255) {
        n[most]++;
        take(c, (enum ptx_class)r->cost[most].class, -100);
    } else if (least < PTX_GROUPS && c->all <= -50) {
        n[least]--;
        take(c, (enum ptx_class)r->cost[least].class, 100);
    }
}

/* must: a class of which one is there whatever the average says, or COUNT. */
static void lower_rule(struct ptx_lowered *out, struct carry *carry, const struct rule *r, enum ptx_class must)
{
    uint32_t n[PTX_GROUPS] = {0};
    bool had = must == PTX_CLASS_COUNT;
    *out = (struct ptx_lowered){0};
    if (r)
        whole(carry, r, must, n);
    for (unsigned i = 0; r && i < r->n; i++) {
        had |= n[i] && r->cost[i].class == must;
        if (n[i])
            out->groups[out->n_groups++] = (struct ptx_group){r->cost[i].class, (uint8_t)n[i]};
    }
    if (!had && out->n_groups < PTX_GROUPS)
        out->groups[out->n_groups++] = (struct ptx_group){(uint8_t)must, 1};
    out->folded = out->n_groups == 0;
}

static void lower_one(struct ptx_lowered *out, struct carry *carry, const struct ptx_insn *in, const char *form, unsigned moves)
{
    const struct rule *r = rule_of(form), natural = {.form = "", .n = 1, .cost = {{(uint8_t)natural_class(in), 100}}};
    struct rule sum = r ? *r : natural;
    unsigned at = 0;
    while (at < sum.n && sum.cost[at].class != PTX_CLASS_MOVE)
        at++;
    if (moves && at < PTX_GROUPS) {
        sum.cost[at] = (struct cost){PTX_CLASS_MOVE, (uint16_t)(100 * moves + (at < sum.n ? sum.cost[at].hundredths : 0))};
        sum.n = (uint8_t)(at < sum.n ? sum.n : at + 1);
    }
    lower_rule(out, carry, &sum, certain(in, form));
}

enum status ptx_lower_forms(struct ptx_lowering *out, char (**forms)[PTX_FORM_BYTES], const struct ptx_function *f, const struct ptx_cfg *cfg, struct arena *a,
                            struct error *err)
{
    struct lower_view v;
    struct arena scratch = {0};
    char one[PTX_FORM_BYTES];
    pthread_once(&slots_made, make_slots);
    *out = (struct ptx_lowering){.insns = arena_alloc(a, (f->n_insns + 1) * sizeof *out->insns), .n_insns = f->n_insns};
    char (*all)[PTX_FORM_BYTES] = forms ? arena_alloc(a, (f->n_insns + 1) * sizeof *all) : NULL;
    enum status st = lower_view_make(&v, f, cfg, &scratch, err);
    if (st == ST_OK && (!out->insns || (forms && !all)))
        st = error_set(err, ST_OUT_OF_MEMORY, "no memory for the lowering of '%s'", f->name);
    struct carry carry = {{0}, 0};
    if (st == ST_OK && f->is_entry)
        lower_rule(&out->entry, &carry, rule_of(ptx_lower_entry_form(f)), PTX_CLASS_COUNT);
    for (uint32_t i = 0; st == ST_OK && i < f->n_insns; i++) {
        char *form = all ? all[i] : one;
        lower_form(&v, i, form);
        lower_one(&out->insns[i], &carry, &f->insns[i], form, lower_moves(&v, &f->insns[i]));
    }
    if (forms)
        *forms = all;
    arena_free(&scratch);
    return st;
}

enum status ptx_lower(struct ptx_lowering *out, const struct ptx_function *f, const struct ptx_cfg *cfg, struct arena *a, struct error *err)
{
    return ptx_lower_forms(out, NULL, f, cfg, a, err);
}

/* ---- registers ------------------------------------------------------------------------------------------------------------------------------ */

struct pressure { uint64_t *live; const uint8_t *words; uint32_t now; };

/* 32-bit registers that a virtual register takes: none for what is an operand in the constant bank or disappears into its users. */
static uint8_t words_of(const struct lower_view *v, uint32_t reg)
{
    const struct lower_reg *r = &v->regs[reg];
    unsigned bytes = ptx_type_bytes((enum ptx_type)v->f->regs[reg].type);
    if (v->f->regs[reg].type == PTX_PRED || r->param || r->constant || r->symbol || (r->defs && lower_folds_into_users(v, (int32_t)reg)))
        return 0;
    return (uint8_t)((bytes + 3) / 4);
}

static void pressure_write(void *user, int32_t reg, bool write)
{
    struct pressure *p = user;
    uint64_t bit = 1ull << (reg & 63);
    if (write && p->live[reg / 64] & bit) {
        p->live[reg / 64] &= ~bit;
        p->now -= p->words[reg];
    }
}

static void pressure_read(void *user, int32_t reg, bool write)
{
    struct pressure *p = user;
    uint64_t bit = 1ull << (reg & 63);
    if (!write && !(p->live[reg / 64] & bit)) {
        p->live[reg / 64] |= bit;
        p->now += p->words[reg];
    }
}

static uint32_t most_live(const struct ptx_function *f, const struct ptx_cfg *cfg, const struct ptx_liveness *l, uint64_t *live, const uint8_t *words)
{
    uint32_t most = 0;
    for (uint32_t b = 0; b < cfg->n_blocks; b++) {
        struct pressure p = {live, words, 0};
        memcpy(live, l->live_out + (size_t)b * l->words, l->words * sizeof *live);
        for (uint32_t r = 0; r < f->n_regs; r++)
            p.now += live[r / 64] >> (r & 63) & 1 ? words[r] : 0;
        most = p.now > most ? p.now : most;
        for (uint32_t i = cfg->blocks[b].last; i-- > cfg->blocks[b].first;) {
            ptx_insn_regs(f, &f->insns[i], pressure_write, &p);
            ptx_insn_regs(f, &f->insns[i], pressure_read, &p);
            most = p.now > most ? p.now : most;
        }
    }
    return most;
}

enum status ptx_lower_registers(uint32_t *out, const struct ptx_function *f, const struct ptx_cfg *cfg, struct error *err)
{
    struct arena a = {0};
    struct lower_view v;
    struct ptx_liveness l;
    enum status st = lower_view_make(&v, f, cfg, &a, err);
    if (st == ST_OK)
        st = ptx_liveness_build(&l, f, cfg, &a, err);
    uint8_t *words = arena_alloc(&a, f->n_regs + 1);
    uint64_t *live = arena_alloc(&a, (f->n_regs / 64 + 1) * sizeof *live);
    if (st == ST_OK && (!words || !live))
        st = error_set(err, ST_OUT_OF_MEMORY, "no memory for the registers of '%s'", f->name);
    if (st == ST_OK) {
        for (uint32_t r = 0; r < f->n_regs; r++)
            words[r] = words_of(&v, r);
        double most = most_live(f, cfg, &l, live, words), regs = 0.53 * most + 3.45 * sqrt(most) + 1.9;
        *out = regs < 8 ? 8 : regs > 255 ? 255 : (uint32_t)(regs + 0.5);
    }
    arena_free(&a);
    return st;
}
