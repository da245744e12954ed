/* See quick.h. Steps in the order of evaluation, each with a row of 32 values; integers are kept as their value in 64 bits, floats as doubles. Both sides of
 * && and ?: are evaluated, so that no step may fail: no division but by a constant. */
#include "runtime/debug/quick.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/debug/parse.h"

enum { STEPS = 48 };
enum origin { FROM_STEPS, FROM_NUMBER, FROM_REGISTER, FROM_SREG, FROM_PARAM };
struct step {
    enum node_op op;
    enum origin origin;
    struct type type;                          /* INT, or FLOAT of 4 or 8 bytes */
    uint8_t a, b, c;                           /* steps */
    uint32_t at;                               /* register, special register, or offset among the parameters */
    unsigned component;
    struct value number;
    const union row *row;                      /* of a number: always the same */
};
union row { int64_t i[WARP_SIZE]; uint64_t u[WARP_SIZE]; double d[WARP_SIZE]; };
struct quick { unsigned n; struct step steps[STEPS]; union row numbers[STEPS]; };

#define LANES(l) for (uint32_t l = 0; l < WARP_SIZE; l++)

static bool is_float(const struct type *t) { return t->kind == TYPE_FLOAT; }

static bool fits(const struct type *t)
{
    bool plain = !t->count && !t->pointers && t->lanes == 1;
    return plain && ((t->kind == TYPE_INT && t->bytes <= 8) || (t->kind == TYPE_FLOAT && t->bytes >= 4 && t->bytes <= 8));
}

/* An integer of fewer bytes, as its value. */
static void narrow(union row *r, const struct type *t)
{
    unsigned shift = 64 - 8u * t->bytes;
    if (t->bytes == 8)
        return;
    if (t->sign)
        LANES(l) r->i[l] = (int64_t)(r->u[l] << shift) >> shift;
    else
        LANES(l) r->u[l] = r->u[l] << shift >> shift;
}

/* The bits of a value of the type, as its value. */
static void take_bits(union row *r, const struct type *t)
{
    if (!is_float(t))
        narrow(r, t);
    else if (t->bytes == 4)
        LANES(l) {
            uint32_t bits = (uint32_t)r->u[l];
            float x;
            memcpy(&x, &bits, sizeof x);
            r->d[l] = (double)x;
        }
}

/* ---- making ---- */

static const struct type truth = {.kind = TYPE_INT, .bytes = 4, .sign = true, .lanes = 1};

static int push(struct quick *q, const struct step *s)
{
    if (q->n == STEPS || !fits(&s->type))
        return -1;
    q->steps[q->n] = *s;
    return (int)q->n++;
}

static bool same_for_all(enum ptx_sreg s)
{
    return s == PTX_SREG_NTID || s == PTX_SREG_CTAID || s == PTX_SREG_NCTAID || s == PTX_SREG_SMID || s == PTX_SREG_GRIDID || s == PTX_SREG_CLUSTERID ||
           s == PTX_SREG_NCLUSTERID || s == PTX_SREG_CLUSTER_CTAID || s == PTX_SREG_CLUSTER_NCTAID;
}

/* A special register, whole or one of its components. */
static int push_sreg(struct quick *q, int sreg, const char *member)
{
    struct step s = {.origin = FROM_SREG, .type = type_of_ptx(ptx_sreg_type((enum ptx_sreg)sreg)), .at = (uint32_t)sreg};
    if (sreg != PTX_SREG_TID && sreg != PTX_SREG_LANEID && !same_for_all((enum ptx_sreg)sreg))
        return -1;
    bool vector = sreg != PTX_SREG_LANEID && sreg != PTX_SREG_SMID && sreg != PTX_SREG_GRIDID;
    const char *which = member && member[0] && !member[1] ? strchr("xyz", member[0]) : NULL;
    if (vector != (member != NULL) || (member && !which))
        return -1;
    s.component = which ? (unsigned)(*which - 'x') : 0;
    return push(q, &s);
}

static int push_name(struct quick *q, const char *name, const struct focus *f)
{
    struct value v;
    struct error err = {0};
    struct emu_frame frame;
    int sreg = name_sreg(name);
    if (sreg >= 0)
        return push_sreg(q, sreg, NULL);
    if (strcmp(name, "$lane") == 0)
        return push(q, &(struct step){.origin = FROM_SREG, .type = {.kind = TYPE_INT, .bytes = 8, .sign = true, .lanes = 1}, .at = PTX_SREG_LANEID});
    if (*name == '$' || name_value(&v, name, f, &err) != ST_OK || !focus_frame(f, &frame))
        return -1;
    struct step s = {.origin = v.home == HOME_REGISTER ? FROM_REGISTER : FROM_PARAM, .type = v.type, .at = (uint32_t)v.at};
    const struct ptx_function *fn = &f->run->module->code->ptx->functions[frame.function];
    bool known = v.home == HOME_REGISTER ? !reg_unwritten(fn, frame.insn, (uint32_t)v.at) : v.home == HOME_PARAM && v.at < UINT32_MAX;
    return known ? push(q, &s) : -1;
}

/* The type of a result as eval.c has it. */
static struct type type_of_two(enum node_op op, const struct type *a, const struct type *b)
{
    if (op >= NODE_LT && op <= NODE_NE)
        return truth;
    if (is_float(a) || is_float(b))
        return (struct type){.kind = TYPE_FLOAT, .bytes = (is_float(a) && a->bytes == 8) || (is_float(b) && b->bytes == 8) ? 8 : 4, .sign = true, .lanes = 1};
    bool wide = a->bytes == 8 || b->bytes == 8;
    uint8_t counts = wide ? 8 : 4;             /* narrower ones lose their lack of a sign */
    bool sign = (a->sign || a->bytes < counts) && (b->sign || b->bytes < counts);
    return (struct type){.kind = TYPE_INT, .bytes = counts, .sign = sign, .lanes = 1};
}

static bool may_divide(const struct step *by)
{
    return by->origin == FROM_NUMBER && (is_float(&by->type) || by->number.bits[0] != 0);
}

static int make(struct quick *q, const struct node *n, const struct focus *f)
{
    struct step s = {.op = n->op};
    int a, b, c;
    if (n->op == NODE_NUMBER)
        return push(q, &(struct step){.origin = FROM_NUMBER, .type = n->number.type, .number = n->number});
    if (n->op == NODE_NAME)
        return push_name(q, n->name, f);
    if (n->op == NODE_MEMBER)
        return n->a->op == NODE_NAME && name_sreg(n->a->name) >= 0 ? push_sreg(q, name_sreg(n->a->name), n->name) : -1;
    if (n->op == NODE_DEREF || n->op == NODE_ADDRESS || n->op == NODE_INDEX || n->op == NODE_SIZEOF || n->op == NODE_ASSIGN || (a = make(q, n->a, f)) < 0)
        return -1;
    s.a = (uint8_t)a;
    const struct type *ta = &q->steps[a].type;
    if (n->op == NODE_CAST || n->op == NODE_MINUS || n->op == NODE_NOT || n->op == NODE_INVERT) {
        struct type wide = {.kind = TYPE_INT, .bytes = ta->bytes == 8 ? 8 : 4, .sign = true, .lanes = 1};
        s.type = n->op == NODE_CAST ? n->type : n->op == NODE_NOT ? truth : is_float(ta) ? *ta : type_of_two(NODE_SUB, ta, &wide);
        return is_float(ta) && n->op == NODE_INVERT ? -1 : push(q, &s);
    }
    if ((b = make(q, n->b, f)) < 0)
        return -1;
    s.b = (uint8_t)b;
    const struct type *tb = &q->steps[b].type;
    s.type = n->op == NODE_LAND || n->op == NODE_LOR ? truth : type_of_two(n->op, ta, tb);
    if (n->op == NODE_CHOOSE) {
        if ((c = make(q, n->c, f)) < 0 || memcmp(tb, &q->steps[c].type, sizeof *tb) != 0)
            return -1;
        s.c = (uint8_t)c;
        s.type = *tb;
        return push(q, &s);
    }
    bool whole = n->op == NODE_MOD || (n->op >= NODE_SHL && n->op <= NODE_SHR) || (n->op >= NODE_AND && n->op <= NODE_OR);
    if ((whole && (is_float(ta) || is_float(tb))) || ((n->op == NODE_DIV || n->op == NODE_MOD) && !may_divide(&q->steps[b])))
        return -1;
    return push(q, &s);
}

struct quick *quick_make(const struct expr *e, const struct focus *f)
{
    struct quick *q = calloc(1, sizeof *q);
    bool good = q && make(q, e->root, f) >= 0;
    for (unsigned i = 0; good && i < q->n; i++) {
        if (q->steps[i].origin != FROM_NUMBER)
            continue;
        LANES(l) q->numbers[i].u[l] = q->steps[i].number.bits[0];
        take_bits(&q->numbers[i], &q->steps[i].type);
        q->steps[i].row = &q->numbers[i];
    }
    if (good)
        return q;
    free(q);
    return NULL;
}

void quick_free(struct quick *q) { free(q); }

/* ---- doing ---- */

static void take_sreg(union row *r, const struct step *s, struct emu_worker *w, const struct focus *f)
{
    if (s->at == PTX_SREG_LANEID) {
        LANES(l) r->i[l] = l;
    } else if (s->at == PTX_SREG_TID) {
        struct focus first = *f;
        const uint32_t *block = emu_cta_launch(f->cta)->block;
        uint32_t tid[3];
        first.lane = 0;
        focus_thread(&first, tid);
        LANES(l) {
            r->i[l] = tid[s->component];
            for (unsigned c = 0; c < 3 && ++tid[c] == block[c]; c++)
                tid[c] = 0;
        }
    } else {
        uint64_t v = emu_sreg_read(w, f->cta, f->warp, f->lane, (enum ptx_sreg)s->at, s->component);
        LANES(l) r->u[l] = v;
        narrow(r, &s->type);
    }
}

static void take_param(union row *r, const struct step *s, const struct focus *f)
{
    uint32_t have;
    uint64_t v = 0;
    const char *p = emu_param_bytes(f->cta, &have);
    if (p && s->at <= have && have - s->at >= s->type.bytes)
        memcpy(&v, p + s->at, s->type.bytes);
    LANES(l) r->u[l] = v;
    take_bits(r, &s->type);
}

static void as_float(union row *out, const union row *in, const struct type *t)
{
    if (is_float(t))
        *out = *in;
    else if (!t->sign && t->bytes == 8)
        LANES(l) out->d[l] = (double)in->u[l];
    else
        LANES(l) out->d[l] = (double)in->i[l];
}

static void round_to(union row *r, const struct type *t)
{
    if (t->bytes == 4)
        LANES(l) r->d[l] = (double)(float)r->d[l];
}

static void on_floats(union row *out, const struct step *s, const union row *x, const union row *y)
{
    switch (s->op) {
    case NODE_ADD: LANES(l) out->d[l] = x->d[l] + y->d[l]; break;
    case NODE_SUB: LANES(l) out->d[l] = x->d[l] - y->d[l]; break;
    case NODE_MUL: LANES(l) out->d[l] = x->d[l] * y->d[l]; break;
    case NODE_DIV: LANES(l) out->d[l] = x->d[l] / y->d[l]; break;
    case NODE_LT: LANES(l) out->i[l] = x->d[l] < y->d[l]; return;
    case NODE_GT: LANES(l) out->i[l] = x->d[l] > y->d[l]; return;
    case NODE_LE: LANES(l) out->i[l] = x->d[l] <= y->d[l]; return;
    case NODE_GE: LANES(l) out->i[l] = x->d[l] >= y->d[l]; return;
    case NODE_EQ: LANES(l) out->i[l] = x->d[l] == y->d[l]; return;
    default: LANES(l) out->i[l] = x->d[l] != y->d[l]; return;
    }
    round_to(out, &s->type);
}

/* type: in which the operator works, of the result or, for a comparison, of its operands. */
static void on_integers(union row *out, enum node_op op, const struct type *type, const union row *x, const union row *y)
{
    bool sign = type->sign;
    switch (op) {
    case NODE_ADD: LANES(l) out->u[l] = x->u[l] + y->u[l]; break;
    case NODE_SUB: LANES(l) out->u[l] = x->u[l] - y->u[l]; break;
    case NODE_MUL: LANES(l) out->u[l] = x->u[l] * y->u[l]; break;
    case NODE_DIV: LANES(l) out->u[l] = !y->u[l] ? 0 : sign && y->i[l] == -1 ? 0 - x->u[l] : sign ? (uint64_t)(x->i[l] / y->i[l]) : x->u[l] / y->u[l]; break;
    case NODE_MOD: LANES(l) out->u[l] = !y->u[l] || (sign && y->i[l] == -1) ? 0 : sign ? (uint64_t)(x->i[l] % y->i[l]) : x->u[l] % y->u[l]; break;
    case NODE_AND: LANES(l) out->u[l] = x->u[l] & y->u[l]; break;
    case NODE_OR: LANES(l) out->u[l] = x->u[l] | y->u[l]; break;
    case NODE_XOR: LANES(l) out->u[l] = x->u[l] ^ y->u[l]; break;
    case NODE_SHL: LANES(l) out->u[l] = y->u[l] > 63 ? 0 : x->u[l] << y->u[l]; break;
    case NODE_SHR: LANES(l) out->u[l] = sign ? (uint64_t)(x->i[l] >> (y->u[l] > 63 ? 63 : y->u[l])) : y->u[l] > 63 ? 0 : x->u[l] >> y->u[l]; break;
    case NODE_LT: LANES(l) out->i[l] = sign ? x->i[l] < y->i[l] : x->u[l] < y->u[l]; return;
    case NODE_GT: LANES(l) out->i[l] = sign ? x->i[l] > y->i[l] : x->u[l] > y->u[l]; return;
    case NODE_LE: LANES(l) out->i[l] = sign ? x->i[l] <= y->i[l] : x->u[l] <= y->u[l]; return;
    case NODE_GE: LANES(l) out->i[l] = sign ? x->i[l] >= y->i[l] : x->u[l] >= y->u[l]; return;
    case NODE_EQ: LANES(l) out->i[l] = x->u[l] == y->u[l]; return;
    default: LANES(l) out->i[l] = x->u[l] != y->u[l]; return;
    }
    narrow(out, type);
}

static void cast(union row *out, const struct type *to, const union row *x, const struct type *from)
{
    if (is_float(to)) {
        as_float(out, x, from);
        round_to(out, to);
        return;
    }
    if (is_float(from))
        LANES(l) out->i[l] = !(x->d[l] > -0x1p63) ? INT64_MIN : x->d[l] < 0x1p63 ? (int64_t)x->d[l] : INT64_MAX;
    else
        *out = *x;
    narrow(out, to);
}

static bool true_at(const union row *r, const struct type *t, uint32_t l) { return is_float(t) ? r->d[l] != 0 : r->i[l] != 0; }

/* An operand in the type that the operator works in: what has a sign counts as one without, where the type is so. */
static const union row *operand(const union row *r, const struct type *from, const struct type *in, union row *room)
{
    if (in->sign || !from->sign || in->bytes == 8)
        return r;
    *room = *r;
    narrow(room, in);
    return room;
}

static void operate(union row *out, const struct step *s, const struct step *steps)
{
    const union row *x = steps[s->a].row, *y = steps[s->b].row;
    const struct type *tx = &steps[s->a].type, *ty = &steps[s->b].type;
    union row fx, fy;
    switch (s->op) {
    case NODE_CAST: cast(out, &s->type, x, tx); break;
    case NODE_NOT: LANES(l) out->i[l] = !true_at(x, tx, l); break;
    case NODE_LAND: LANES(l) out->i[l] = true_at(x, tx, l) && true_at(y, ty, l); break;
    case NODE_LOR: LANES(l) out->i[l] = true_at(x, tx, l) || true_at(y, ty, l); break;
    case NODE_CHOOSE: LANES(l) out->u[l] = true_at(x, tx, l) ? y->u[l] : steps[s->c].row->u[l]; break;
    case NODE_INVERT:
        LANES(l) out->u[l] = ~x->u[l];
        narrow(out, &s->type);
        break;
    case NODE_MINUS:
        if (is_float(tx))
            LANES(l) out->d[l] = -x->d[l];
        else
            LANES(l) out->u[l] = 0 - x->u[l];
        if (!is_float(tx))
            narrow(out, &s->type);
        break;
    default:
        if (is_float(tx) || is_float(ty)) {
            as_float(&fx, x, tx);
            as_float(&fy, y, ty);
            on_floats(out, s, &fx, &fy);
        } else {
            struct type t = type_of_two(NODE_ADD, tx, ty);
            on_integers(out, s->op, &t, operand(x, tx, &t, &fx), operand(y, ty, &t, &fy));
        }
    }
}

uint32_t quick_lanes(const struct quick *q, struct emu_worker *w, const struct focus *f, const struct emu_spot *at)
{
    union row rows[STEPS];
    struct step steps[STEPS];
    struct emu_frame frame = {0};
    uint32_t holds = 0;
    (void)emu_spot_frames(at, &frame, 1);
    memcpy(steps, q->steps, q->n * sizeof *steps);
    for (unsigned i = 0; i < q->n; i++) {
        struct step *s = &steps[i];
        union row *r = &rows[i];
        if (s->origin == FROM_NUMBER)
            continue;
        s->row = r;
        if (s->origin == FROM_STEPS)
            operate(r, s, steps);
        if (s->origin == FROM_SREG)
            take_sreg(r, s, w, f);
        if (s->origin == FROM_PARAM)
            take_param(r, s, f);
        if (s->origin == FROM_REGISTER) {
            if (!emu_reg_read_row(&frame, s->at, r->u))
                memset(r, 0, sizeof *r);
            take_bits(r, &s->type);
        }
    }
    const struct step *last = &steps[q->n - 1];
    LANES(l) holds |= (uint32_t)true_at(last->row, &last->type, l) << l;
    return holds;
}
