#include "timing/code.h"

#include <stdlib.h>
#include <string.h>

/* ---- classes ------------------------------------------------------------------------------------------------------------------------ */

enum work { WORK_ADD, WORK_MAX, WORK_MUL, WORK_MAD, WORK_DIV, WORK_SHUFFLE, WORK_SFU, WORK_TENSOR, WORK_NONE, WORK_FOLDED, WORK_MEMORY };

/* Opcodes that are not plain adds and moves: what work they are, and flags. */
static const struct { uint16_t op; uint8_t work, flags; } special[] = {
    {PTX_OP_MIN, WORK_MAX, 0}, {PTX_OP_MAX, WORK_MAX, 0}, {PTX_OP_MUL, WORK_MUL, 0}, {PTX_OP_MUL24, WORK_MUL, 0}, {PTX_OP_MAD, WORK_MAD, 0},
    {PTX_OP_MADC, WORK_MAD, 0}, {PTX_OP_MAD24, WORK_MAD, 0}, {PTX_OP_FMA, WORK_MAD, 0}, {PTX_OP_DP4A, WORK_MAD, 0}, {PTX_OP_DP2A, WORK_MAD, 0},
    {PTX_OP_SAD, WORK_MAD, 0}, {PTX_OP_DIV, WORK_DIV, 0}, {PTX_OP_REM, WORK_DIV, 0},
    {PTX_OP_RCP, WORK_SFU, 0}, {PTX_OP_SQRT, WORK_SFU, 0}, {PTX_OP_RSQRT, WORK_SFU, 0}, {PTX_OP_EX2, WORK_SFU, 0}, {PTX_OP_LG2, WORK_SFU, 0},
    {PTX_OP_SIN, WORK_SFU, 0}, {PTX_OP_COS, WORK_SFU, 0}, {PTX_OP_TANH, WORK_SFU, 0}, {PTX_OP_POPC, WORK_SFU, 0}, {PTX_OP_CLZ, WORK_SFU, 0},
    {PTX_OP_BREV, WORK_SFU, 0}, {PTX_OP_BFIND, WORK_SFU, 0},
    {PTX_OP_SHFL, WORK_SHUFFLE, 0}, {PTX_OP_MATCH, WORK_SHUFFLE, 0}, {PTX_OP_REDUX, WORK_SHUFFLE, 0},
    {PTX_OP_MMA, WORK_TENSOR, 0}, {PTX_OP_WMMA, WORK_TENSOR, 0}, {PTX_OP_WGMMA, WORK_TENSOR, 0},
    {PTX_OP_LD, WORK_MEMORY, OP_MEMORY}, {PTX_OP_LDU, WORK_MEMORY, OP_MEMORY}, {PTX_OP_ST, WORK_MEMORY, OP_MEMORY},
    {PTX_OP_ATOM, WORK_MEMORY, OP_MEMORY}, {PTX_OP_RED, WORK_MEMORY, OP_MEMORY},
    {PTX_OP_TEX, WORK_MEMORY, OP_MEMORY}, {PTX_OP_TLD4, WORK_MEMORY, OP_MEMORY}, {PTX_OP_SULD, WORK_MEMORY, OP_MEMORY},
    {PTX_OP_SUST, WORK_MEMORY, OP_MEMORY}, {PTX_OP_SURED, WORK_MEMORY, OP_MEMORY},
    {PTX_OP_BAR, WORK_NONE, OP_BARRIER}, {PTX_OP_BARRIER, WORK_NONE, OP_BARRIER},
    {PTX_OP_MEMBAR, WORK_NONE, OP_FENCE}, {PTX_OP_FENCE, WORK_NONE, OP_FENCE},
    {PTX_OP_BRA, WORK_NONE, OP_BRANCH}, {PTX_OP_BRX, WORK_NONE, OP_BRANCH}, {PTX_OP_CALL, WORK_NONE, OP_BRANCH | OP_CALL},
    {PTX_OP_RET, WORK_NONE, OP_BRANCH | OP_CALL | OP_EXIT}, {PTX_OP_EXIT, WORK_NONE, OP_BRANCH | OP_EXIT}, {PTX_OP_TRAP, WORK_NONE, OP_EXIT},
    {PTX_OP_NANOSLEEP, WORK_NONE, 0},
    {PTX_OP_CVTA, WORK_FOLDED, 0},
};

static bool is_f64(const struct ptx_insn *in)
{
    for (unsigned i = 0; i < in->n_types; i++)
        if (in->types[i] == PTX_F64)
            return true;
    return false;
}

static bool is_float(const struct ptx_insn *in)
{
    return in->n_types && ptx_type_kind((enum ptx_type)in->types[0]) == PTX_KIND_FLOAT;
}

/* A copy, an immediate or a parameter: part of whatever uses it. A special register is read by an instruction. */
static bool folded_move(const struct ptx_insn *in)
{
    return in->op == PTX_OP_MOV && in->guard < 0 && in->operands[1].kind != PTX_OPERAND_SREG;
}

/* Loads and stores the fragments of a matrix. */
static bool moves_matrix(const struct ptx_insn *in)
{
    return in->op == PTX_OP_LDMATRIX || in->op == PTX_OP_STMATRIX || (in->op == PTX_OP_WMMA && !ptx_insn_has(in, PTX_MOD_MMA));
}

static unsigned flags_of_copy(const struct ptx_insn *in)
{
    if (in->op != PTX_OP_CP || ptx_insn_has(in, PTX_MOD_BULK))
        return 0;
    if (ptx_insn_has(in, PTX_MOD_CA) || ptx_insn_has(in, PTX_MOD_CG))
        return OP_MEMORY | OP_COPY;
    if (ptx_insn_has(in, PTX_MOD_COMMIT_GROUP))
        return OP_COMMIT;
    return ptx_insn_has(in, PTX_MOD_WAIT_GROUP) || ptx_insn_has(in, PTX_MOD_WAIT_ALL) ? OP_WAIT_COPIES : 0;
}

static enum work work_of(const struct ptx_insn *in, unsigned *flags)
{
    *flags = moves_matrix(in) ? OP_MEMORY : flags_of_copy(in);
    if (*flags)
        return *flags & OP_MEMORY ? WORK_MEMORY : WORK_NONE;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (special[i].op == in->op) {
            *flags = special[i].flags;
            if (special[i].work == WORK_MEMORY && in->space == PTX_SPACE_PARAM) {
                *flags = 0;
                return WORK_FOLDED;
            }
            return (enum work)special[i].work;
        }
    if (in->op == PTX_OP_CVT && in->n_types == 2 && (ptx_type_kind((enum ptx_type)in->types[0]) == PTX_KIND_FLOAT) != (ptx_type_kind((enum ptx_type)in->types[1]) == PTX_KIND_FLOAT))
        return WORK_SFU;
    return folded_move(in) ? WORK_FOLDED : WORK_ADD;
}

struct timing { uint32_t latency, initiation; };

static struct timing int_timing(const struct timing_config *c, enum work w)
{
    switch (w) {
    case WORK_MAX: return (struct timing){c->latency.int_max, c->initiation.int_max};
    case WORK_MUL: return (struct timing){c->latency.int_mul, c->initiation.int_mul};
    case WORK_MAD: return (struct timing){c->latency.int_mad, c->initiation.int_mad};
    case WORK_DIV: return (struct timing){c->latency.int_div, c->initiation.int_div};
    case WORK_SHUFFLE: return (struct timing){c->latency.shuffle, c->initiation.shuffle};
    default: return (struct timing){c->latency.int_add, c->initiation.int_add};
    }
}

static struct timing sp_timing(const struct timing_config *c, enum work w)
{
    switch (w) {
    case WORK_MAX: return (struct timing){c->latency.fp_max, c->initiation.fp_max};
    case WORK_MUL: return (struct timing){c->latency.fp_mul, c->initiation.fp_mul};
    case WORK_MAD: return (struct timing){c->latency.fp_mad, c->initiation.fp_mad};
    case WORK_DIV: return (struct timing){c->latency.fp_div, c->initiation.fp_div};
    default: return (struct timing){c->latency.fp_add, c->initiation.fp_add};
    }
}

static struct timing dp_timing(const struct timing_config *c, enum work w)
{
    switch (w) {
    case WORK_MAX: return (struct timing){c->latency.dp_max, c->initiation.dp_max};
    case WORK_MUL: return (struct timing){c->latency.dp_mul, c->initiation.dp_mul};
    case WORK_MAD: return (struct timing){c->latency.dp_mad, c->initiation.dp_mad};
    case WORK_DIV: return (struct timing){c->latency.dp_div, c->initiation.dp_div};
    default: return (struct timing){c->latency.dp_add, c->initiation.dp_add};
    }
}

static struct timing sass_timing(const struct timing_config *c, enum unit_kind u)
{
    switch (u) {
    case UNIT_SP: return (struct timing){c->sass.sp_latency, c->sass.sp_initiation};
    case UNIT_DP: return (struct timing){c->sass.dp_latency, c->sass.dp_initiation};
    case UNIT_SFU: return (struct timing){c->sass.sfu_latency, c->sass.sfu_initiation};
    case UNIT_TENSOR: return (struct timing){c->sass.tensor_latency, c->sass.tensor_initiation};
    default: return (struct timing){c->sass.int_latency, c->sass.int_initiation};
    }
}

/* The unit that has the work: of the kinds that the configuration has. */
static enum unit_kind unit_of(const struct timing_config *c, const struct ptx_insn *in, enum work w)
{
    if (w == WORK_MEMORY)
        return UNIT_MEM;
    if (w == WORK_NONE || w == WORK_FOLDED)
        return UNIT_NONE;
    if (w == WORK_TENSOR)
        return c->units.tensor ? UNIT_TENSOR : UNIT_SP;
    if (w == WORK_SFU && !is_f64(in))
        return c->units.sfu ? UNIT_SFU : UNIT_SP;
    if (is_f64(in))
        return c->units.dp ? UNIT_DP : UNIT_SFU;
    return is_float(in) || !c->units.integer ? UNIT_SP : UNIT_INT;
}

static struct timing timing_of(const struct timing_config *c, const struct ptx_insn *in, enum work w, enum unit_kind u)
{
    if (u == UNIT_MEM || u == UNIT_NONE)
        return (struct timing){1, 1};
    if (c->sass.given)
        return sass_timing(c, u);
    if (w == WORK_SFU)
        return (struct timing){c->latency.sfu, c->initiation.sfu};
    if (w == WORK_TENSOR)
        return (struct timing){c->latency.tensor, c->initiation.tensor};
    return is_f64(in) ? dp_timing(c, w) : is_float(in) ? sp_timing(c, w) : int_timing(c, w);
}

/* ---- a function --------------------------------------------------------------------------------------------------------------------- */

struct registers { uint32_t src[24], dst[12]; unsigned n_src, n_dst; };

static void note(uint32_t *list, unsigned *n, unsigned most, uint32_t reg)
{
    for (unsigned i = 0; i < *n; i++)
        if (list[i] == reg)
            return;
    if (*n < most)
        list[(*n)++] = reg;
}

static void note_register(void *user, int32_t reg, bool write)
{
    struct registers *r = user;
    uint32_t number = (uint32_t)reg;
    if (write)
        note(r->dst, &r->n_dst, 12, number);
    else
        note(r->src, &r->n_src, 24, number);
}

/* One machine instruction, or none. */
static void describe_one(struct op_info *op, const struct ptx_insn *in, const struct timing_config *config)
{
    unsigned flags;
    enum work w = work_of(in, &flags);
    enum unit_kind u = unit_of(config, in, w);
    struct timing t = timing_of(config, in, w, u);
    op->flags = (uint16_t)flags;
    if (flags & OP_WAIT_COPIES)
        op->newest = in->n_operands && in->operands[0].bits < 255 ? (uint8_t)in->operands[0].bits : 255;
    op->count = w == WORK_FOLDED ? 0 : 1;
    op->n_groups = 1;
    op->latency = (uint16_t)t.latency;
    op->groups[0] = (struct op_group){(uint8_t)u, (uint8_t)op->count, 1, (uint16_t)(t.initiation ? t.initiation : 1)};
}

static enum unit_kind unit_of_class(const struct timing_config *c, enum ptx_class class)
{
    switch (class) {
    case PTX_CLASS_FP64: return c->units.dp ? UNIT_DP : UNIT_SFU;
    case PTX_CLASS_SFU: return c->units.sfu ? UNIT_SFU : UNIT_SP;
    case PTX_CLASS_TENSOR: return c->units.tensor ? UNIT_TENSOR : UNIT_SP;
    case PTX_CLASS_MEM: return UNIT_MEM;
    case PTX_CLASS_CTRL:
    case PTX_CLASS_SYNC:
    case PTX_CLASS_BAR: return UNIT_NONE;
    case PTX_CLASS_INT:
    case PTX_CLASS_MOVE:
    case PTX_CLASS_UNIFORM: return c->units.integer ? UNIT_INT : UNIT_SP;
    default: return UNIT_SP;
    }
}

/* A machine instruction of a sequence. The work of the PTX instruction itself is known where it is the only one. */
static struct timing timing_of_unit(const struct timing_config *c, enum unit_kind u, const struct ptx_insn *in, enum work w, uint32_t total)
{
    if (u == UNIT_MEM || u == UNIT_NONE)
        return (struct timing){1, 1};
    if (c->sass.given)
        return sass_timing(c, u);
    if (total == 1 && w != WORK_DIV && u == unit_of(c, in, w))
        return timing_of(c, in, w, u);
    switch (u) {
    case UNIT_DP: return dp_timing(c, WORK_MAD);
    case UNIT_SFU: return (struct timing){c->latency.sfu, c->initiation.sfu};
    case UNIT_TENSOR: return (struct timing){c->latency.tensor, c->initiation.tensor};
    case UNIT_SP: return sp_timing(c, WORK_ADD);
    default: return int_timing(c, WORK_ADD);
    }
}

/* The classes of machine instructions for which a configuration may have times beside those of their unit. */
static struct timing special_timing(const struct timing_config *c, enum ptx_class class, enum work w, struct timing otherwise)
{
    if (c->sass.given && class == PTX_CLASS_FP16 && c->sass.half_latency)
        return (struct timing){c->sass.half_latency, c->sass.half_initiation};
    if (c->sass.given && class == PTX_CLASS_MEM && w == WORK_SHUFFLE && c->sass.shuffle_latency)
        return (struct timing){c->sass.shuffle_latency, c->sass.shuffle_initiation};
    return otherwise;
}

/* A matrix product of its size, in `count` machine instructions. */
static struct timing product_timing(const struct timing_config *c, const struct ptx_insn *in, struct timing otherwise, uint32_t count)
{
    uint32_t cycles = tensor_cycles(c, in);
    if (!cycles || !c->sass.given)
        return otherwise;
    return (struct timing){cycles > c->sass.tensor_latency ? cycles : c->sass.tensor_latency, (cycles + count - 1) / count};
}

/* The load/store unit first: it has the access. */
static void memory_first(struct op_info *op)
{
    uint32_t at = 0;
    while (at < op->n_groups && op->groups[at].unit != UNIT_MEM)
        at++;
    if (at < op->n_groups) {
        struct op_group g = op->groups[at];
        memmove(op->groups + 1, op->groups, at * sizeof g);
        op->groups[0] = g;
    }
}

/* In a sequence of more than two each waits for the one before, on average half as long as that takes. */
static void describe_groups(struct op_info *op, const struct ptx_insn *in, const struct ptx_lowered *l, const struct timing_config *config)
{
    unsigned flags;
    enum work w = work_of(in, &flags);
    uint32_t total = ptx_lowered_count(l);
    describe_one(op, in, config);
    if (total == 0 && !(flags & (OP_MEMORY | OP_BARRIER | OP_FENCE | OP_CALL | OP_EXIT))) {
        op->count = op->groups[0].count = 0;
        return;
    }
    if (total == 0)
        return;
    op->count = (uint16_t)total;
    op->n_groups = l->n_groups;
    for (unsigned i = 0; i < l->n_groups; i++) {
        enum unit_kind u = unit_of_class(config, (enum ptx_class)l->groups[i].class);
        bool elsewhere = u == UNIT_MEM && !(flags & OP_MEMORY);                /* shuffles and the like, which the model does not have in that unit */
        u = elsewhere ? unit_of(config, in, w) : u;
        struct timing t = elsewhere ? timing_of(config, in, w, u) : timing_of_unit(config, u, in, w, total);
        t = special_timing(config, (enum ptx_class)l->groups[i].class, w, t);
        if (l->groups[i].class == PTX_CLASS_TENSOR)
            t = product_timing(config, in, t, l->groups[i].count);
        if (u == UNIT_INT && config->units.multiply_on_sp && (w == WORK_MUL || w == WORK_MAD))
            u = UNIT_SP;
        op->groups[i] = (struct op_group){(uint8_t)u, l->groups[i].count, (uint8_t)(total > 2 && t.latency > 2 ? t.latency / 2 : 1), (uint16_t)(t.initiation ? t.initiation : 1)};
        if (u != UNIT_NONE || l->n_groups == 1)
            op->latency = (uint16_t)t.latency;
    }
    if (flags & OP_MEMORY)
        memory_first(op);
}

static bool describe(struct timing_code *c, uint32_t index, const struct timing_config *config, const struct ptx_lowered *lowered, uint32_t *at, uint32_t *room)
{
    const struct ptx_insn *in = &c->function->insns[index];
    struct registers r = {.n_src = 0};
    ptx_insn_regs(c->function, in, note_register, &r);
    if (*at + r.n_src + r.n_dst > *room) {
        uint32_t *more = realloc(c->regs, (*room * 2 + 64) * sizeof *more);
        if (!more)
            return false;
        c->regs = more;
        *room = *room * 2 + 64;
    }
    struct op_info *op = &c->ops[index];
    *op = (struct op_info){.n_src = (uint8_t)r.n_src, .n_dst = (uint8_t)r.n_dst, .first = *at};
    if (lowered)
        describe_groups(op, in, lowered, config);
    else
        describe_one(op, in, config);
    memcpy(c->regs + *at, r.src, r.n_src * sizeof *r.src);
    memcpy(c->regs + *at + r.n_src, r.dst, r.n_dst * sizeof *r.dst);
    if (in->op == PTX_OP_NANOSLEEP || (in->op == PTX_OP_MBARRIER && (ptx_insn_has(in, PTX_MOD_TRY_WAIT) || ptx_insn_has(in, PTX_MOD_TEST_WAIT))))
        op->flags |= OP_PAUSE;
    for (uint32_t i = *at; i < *at + r.n_src + r.n_dst; i++)
        op->touched |= 1ull << c->regs[i] % 64;
    *at += r.n_src + r.n_dst;
    return true;
}

static void code_free(struct timing_code *c)
{
    if (!c)
        return;
    free(c->ops);
    free(c->regs);
    free(c);
}

static bool describe_all(struct timing_code *c, const struct timing_config *config, const struct ptx_lowering *l)
{
    uint32_t at = 0, room = 0;
    for (uint32_t i = 0; i < c->function->n_insns; i++)
        if (!describe(c, i, config, l->insns ? &l->insns[i] : NULL, &at, &room))
            return false;
    return true;
}

static struct timing_code *code_make(const struct code_table *t, const struct ptx_function *f)
{
    struct timing_code *c = calloc(1, sizeof *c);
    struct arena a = {0};
    struct ptx_cfg cfg;
    struct ptx_lowering l = {0};
    if (!c)
        return NULL;
    c->function = f;
    c->ops = calloc(f->n_insns ? f->n_insns : 1, sizeof *c->ops);
    if (t->lower && ptx_cfg_build(&cfg, f, &a, NULL) == ST_OK)
        t->lower(t->user, f, &cfg, &a, &l);
    bool good = c->ops && describe_all(c, t->config, &l);
    arena_free(&a);
    if (good) {
        fetch_place(c, t->config);
        return c;
    }
    code_free(c);
    return NULL;
}

/* ---- the table ---------------------------------------------------------------------------------------------------------------------- */

static void lower_by_table(void *user, const struct ptx_function *f, const struct ptx_cfg *cfg, struct arena *a, struct ptx_lowering *out)
{
    (void)user;
    if (ptx_lower(out, f, cfg, a, NULL) != ST_OK)
        *out = (struct ptx_lowering){0};
}

static struct { pthread_mutex_t lock; struct code_table *first; } tables = {.lock = PTHREAD_MUTEX_INITIALIZER};     /* of all GPUs */

void code_table_init(struct code_table *t, const struct timing_config *config)
{
    *t = (struct code_table){.config = config, .lower = lower_by_table};
    pthread_mutex_init(&t->lock, NULL);
    pthread_mutex_lock(&tables.lock);
    t->next = tables.first;
    tables.first = t;
    pthread_mutex_unlock(&tables.lock);
}

void code_table_free(struct code_table *t)
{
    struct code_table **at = &tables.first;
    pthread_mutex_lock(&tables.lock);
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    pthread_mutex_unlock(&tables.lock);
    for (size_t i = 0; i < sizeof t->buckets / sizeof *t->buckets; i++)
        for (struct timing_code *c = t->buckets[i], *next; c; c = next) {
            next = c->next;
            code_free(c);
        }
    pthread_mutex_destroy(&t->lock);
}

const struct timing_code *code_of(struct code_table *t, const struct ptx_function *f)
{
    size_t bucket = ((uintptr_t)f >> 4) * 0x9e3779b1u >> 8 & 255;
    pthread_mutex_lock(&t->lock);
    struct timing_code *c = t->buckets[bucket];
    while (c && c->function != f)
        c = c->next;
    if (!c && (c = code_make(t, f))) {
        c->next = t->buckets[bucket];
        t->buckets[bucket] = c;
    }
    pthread_mutex_unlock(&t->lock);
    return c;
}

static void forget(struct code_table *t, const struct ptx_function *from, const struct ptx_function *to)
{
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < sizeof t->buckets / sizeof *t->buckets; i++)
        for (struct timing_code **at = &t->buckets[i]; *at;) {
            struct timing_code *c = *at;
            bool gone = c->function >= from && c->function < to;
            if (gone) {
                *at = c->next;
                code_free(c);
            } else {
                at = &c->next;
            }
        }
    pthread_mutex_unlock(&t->lock);
}

void timing_forget(const struct ptx_module *m)
{
    pthread_mutex_lock(&tables.lock);
    for (struct code_table *t = tables.first; t; t = t->next)
        forget(t, m->functions, m->functions + m->n_functions);
    pthread_mutex_unlock(&tables.lock);
}
