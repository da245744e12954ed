/* The walk over an expression: values with C's conversions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "emu/half.h"
#include "runtime/debug/dwarf.h"
#include "runtime/debug/parse.h"

static struct value last_value = {.type = {.kind = TYPE_VOID, .lanes = 1}};

static enum status eval(struct value *out, const struct node *n, const struct focus *f, struct error *err);

static struct value integer(uint64_t v, uint8_t bytes, bool sign)
{
    return (struct value){.type = {.kind = TYPE_INT, .bytes = bytes, .sign = sign, .lanes = 1}, .bits = {v}};
}

static bool is_number(const struct type *t) { return t->pointers || (t->lanes == 1 && !t->count && (t->kind == TYPE_INT || t->kind == TYPE_FLOAT || t->kind == TYPE_BFLOAT)); }
static bool is_float(const struct type *t) { return !t->pointers && (t->kind == TYPE_FLOAT || t->kind == TYPE_BFLOAT); }

static int64_t as_signed(const struct value *v)
{
    unsigned n = v->type.pointers ? 8 : v->type.bytes, shift = 64 - 8 * n;
    if (n >= 8)
        return (int64_t)v->bits[0];
    uint64_t top = v->bits[0] << shift;
    return v->type.sign ? (int64_t)top >> shift : (int64_t)(top >> shift);
}

static double as_double(const struct value *v)
{
    double d;
    float x;
    if (!is_float(&v->type))
        return v->type.sign || v->type.bytes < 8 ? (double)as_signed(v) : (double)v->bits[0];
    if (v->type.bytes == 8) {
        memcpy(&d, v->bits, 8);
        return d;
    }
    if (v->type.bytes == 4) {
        memcpy(&x, v->bits, 4);
        return (double)x;
    }
    return v->type.kind == TYPE_BFLOAT ? (double)half_float_of((uint32_t)(uint16_t)v->bits[0] << 16) : (double)half_value((uint16_t)v->bits[0]);
}

static int64_t truncated(double d)
{
    if (!(d > -0x1p63))
        return INT64_MIN;
    return d < 0x1p63 ? (int64_t)d : INT64_MAX;
}

bool value_true(const struct value *v)
{
    if (v->type.count)
        return true;
    return is_float(&v->type) ? as_double(v) != 0 : as_signed(v) != 0;
}

bool value_integer(const struct value *v, uint64_t *out)
{
    if (v->type.count && v->home == HOME_MEMORY) {
        *out = v->at;
        return true;
    }
    *out = is_float(&v->type) ? (uint64_t)truncated(as_double(v)) : (uint64_t)as_signed(v);
    return is_number(&v->type);
}

void value_remember(const struct value *v) { last_value = *v; }

/* The value as one of another type. False: there is no such conversion. */
static bool convert(struct value *v, const struct type *to)
{
    struct value r = {.type = *to};
    if (v->type.count && to->pointers && v->home == HOME_MEMORY) {
        r.bits[0] = v->at;
        *v = r;
        return true;
    }
    if (!is_number(to) || !is_number(&v->type)) {
        bool same = v->type.kind == to->kind && v->type.bytes == to->bytes && v->type.lanes == to->lanes && !v->type.count && !to->count;
        v->home = HOME_NONE;
        return same;
    }
    if (is_float(to)) {
        double d = as_double(v);
        float x = (float)d;
        if (to->bytes == 8)
            memcpy(r.bits, &d, 8);
        else if (to->bytes == 4)
            memcpy(r.bits, &x, 4);
        else
            r.bits[0] = to->kind == TYPE_BFLOAT ? half_bits_of(x) >> 16 : half_code(x);
    } else {
        r.bits[0] = is_float(&v->type) ? (uint64_t)truncated(as_double(v)) : (uint64_t)as_signed(v);
        if (!to->pointers && to->bytes < 8)
            r.bits[0] &= (1ull << (8 * to->bytes)) - 1;
    }
    *v = r;
    return true;
}

/* Arrays become pointers to their first element. */
static bool decay(struct value *v)
{
    if (!v->type.count)
        return true;
    if (v->home != HOME_MEMORY)
        return false;
    struct type t = type_element(&v->type);
    t.pointers++;
    *v = (struct value){.type = t, .bits = {v->at}};
    return true;
}

static enum status wrong(struct error *err, const char *what) { return error_set(err, ST_INVALID_VALUE, "%s", what); }

/* ---- operators ---- */

static enum status on_floats(struct value *out, enum node_op op, const struct value *a, const struct value *b, struct error *err)
{
    double x = as_double(a), y = as_double(b), r = 0;
    bool wide = (is_float(&a->type) && a->type.bytes == 8) || (is_float(&b->type) && b->type.bytes == 8);
    switch (op) {
    case NODE_ADD: r = x + y; break;
    case NODE_SUB: r = x - y; break;
    case NODE_MUL: r = x * y; break;
    case NODE_DIV: r = x / y; break;
    case NODE_LT: *out = integer(x < y, 4, true); return ST_OK;
    case NODE_GT: *out = integer(x > y, 4, true); return ST_OK;
    case NODE_LE: *out = integer(x <= y, 4, true); return ST_OK;
    case NODE_GE: *out = integer(x >= y, 4, true); return ST_OK;
    case NODE_EQ: *out = integer(x == y, 4, true); return ST_OK;
    case NODE_NE: *out = integer(x != y, 4, true); return ST_OK;
    default: return wrong(err, "this operator takes integers");
    }
    struct type t = {.kind = TYPE_FLOAT, .bytes = wide ? 8 : 4, .sign = true, .lanes = 1};
    *out = (struct value){.type = {.kind = TYPE_FLOAT, .bytes = 8, .sign = true, .lanes = 1}};
    memcpy(out->bits, &r, 8);
    convert(out, &t);
    return ST_OK;
}

static uint64_t shifted(uint64_t x, uint64_t by, bool right, bool sign)
{
    if (by > 63)
        return right && sign && (int64_t)x < 0 ? UINT64_MAX : 0;
    return !right ? x << by : sign ? (uint64_t)((int64_t)x >> by) : x >> by;
}

static enum status on_integers(struct value *out, enum node_op op, const struct value *a, const struct value *b, struct error *err)
{
    bool wide = a->type.bytes == 8 || b->type.bytes == 8 || a->type.pointers || b->type.pointers;
    bool sign = !((!a->type.sign && (a->type.bytes >= 4 || a->type.pointers)) || (!b->type.sign && (b->type.bytes >= 4 || b->type.pointers)));
    if (wide && !sign)                         /* long and unsigned int make long */
        sign = !((a->type.bytes == 8 && !a->type.sign) || (b->type.bytes == 8 && !b->type.sign) || a->type.pointers || b->type.pointers);
    uint64_t x = (uint64_t)as_signed(a), y = (uint64_t)as_signed(b), r = 0;
    if (!wide && !sign) {
        x = (uint32_t)x;
        y = (uint32_t)y;
    }
    bool less = sign ? (int64_t)x < (int64_t)y : x < y;
    if ((op == NODE_DIV || op == NODE_MOD) && !y)
        return wrong(err, "a division by zero");
    bool minus = sign && (int64_t)y == -1;     /* INT64_MIN / -1 must not trap */
    switch (op) {
    case NODE_ADD: r = x + y; break;
    case NODE_SUB: r = x - y; break;
    case NODE_MUL: r = x * y; break;
    case NODE_DIV: r = minus ? 0 - x : sign ? (uint64_t)((int64_t)x / (int64_t)y) : x / y; break;
    case NODE_MOD: r = minus ? 0 : sign ? (uint64_t)((int64_t)x % (int64_t)y) : x % y; break;
    case NODE_AND: r = x & y; break;
    case NODE_OR: r = x | y; break;
    case NODE_XOR: r = x ^ y; break;
    case NODE_SHL: r = shifted(x, y, false, false); break;
    case NODE_SHR: r = shifted(x, y, true, sign); break;
    case NODE_LT: *out = integer(less, 4, true); return ST_OK;
    case NODE_GT: *out = integer(!less && x != y, 4, true); return ST_OK;
    case NODE_LE: *out = integer(less || x == y, 4, true); return ST_OK;
    case NODE_GE: *out = integer(!less, 4, true); return ST_OK;
    case NODE_EQ: *out = integer(x == y, 4, true); return ST_OK;
    default: *out = integer(x != y, 4, true); return ST_OK;
    }
    *out = integer(wide ? r : (uint32_t)r, wide ? 8 : 4, sign);
    return ST_OK;
}

static enum status on_pointer(struct value *out, enum node_op op, struct value *a, struct value *b, struct error *err)
{
    struct type e = type_element(a->type.pointers ? &a->type : &b->type);
    uint64_t bytes = type_bytes(&e) ? type_bytes(&e) : 1;
    if (op == NODE_SUB && a->type.pointers && b->type.pointers) {
        *out = integer((uint64_t)((int64_t)(a->bits[0] - b->bits[0]) / (int64_t)bytes), 8, true);
        return ST_OK;
    }
    if (is_float(&a->type) || is_float(&b->type) || (a->type.pointers && b->type.pointers))
        return wrong(err, "pointers are added to integers alone");
    *out = a->type.pointers ? *a : *b;
    out->home = HOME_NONE;
    uint64_t n = (uint64_t)as_signed(a->type.pointers ? b : a) * bytes;
    out->bits[0] = op == NODE_ADD ? out->bits[0] + n : out->bits[0] - n;
    return ST_OK;
}

static enum status on_two(struct value *out, enum node_op op, struct value *a, struct value *b, struct error *err)
{
    if (!decay(a) || !decay(b) || !is_number(&a->type) || !is_number(&b->type))
        return wrong(err, "this operator takes numbers");
    a->home = b->home = HOME_NONE;
    bool pointers = a->type.pointers || b->type.pointers;
    if (pointers && (op == NODE_ADD || (op == NODE_SUB && a->type.pointers)))
        return on_pointer(out, op, a, b, err);
    if (is_float(&a->type) || is_float(&b->type))
        return on_floats(out, op, a, b, err);
    return on_integers(out, op, a, b, err);
}

/* ---- nodes ---- */

static enum status dereference(struct value *out, struct value *p, const struct focus *f, struct error *err)
{
    if (!decay(p))
        return wrong(err, "this has no address");
    if (!p->type.pointers) {                   /* *ADDRESS: as gdb has it, an int */
        if (!is_number(&p->type) || is_float(&p->type))
            return wrong(err, "this is no address");
        p->bits[0] = (uint64_t)as_signed(p);
        p->type = (struct type){.kind = TYPE_INT, .bytes = 4, .sign = true, .lanes = 1, .pointers = 1};
    }
    *out = (struct value){.type = type_element(&p->type), .home = HOME_MEMORY, .at = p->bits[0]};
    if (out->type.kind == TYPE_VOID && !out->type.pointers)
        return wrong(err, "behind a void pointer is no type: cast it, as in *(int *)p");
    return value_load(out, f, err);
}

static enum status indexed(struct value *out, struct value *a, const struct value *i, const struct focus *f, struct error *err)
{
    struct value sum;
    if (!is_number(&i->type) || is_float(&i->type))
        return wrong(err, "an index is an integer");
    if (a->type.count && a->home != HOME_MEMORY) {             /* a parameter's array */
        struct type e = type_element(&a->type);
        int64_t k = as_signed(i);
        if (k < 0 || k >= (int64_t)a->type.count)
            return wrong(err, "the index is outside the array");
        *out = (struct value){.type = e, .home = a->home, .at = a->at + (uint64_t)k * type_bytes(&e)};
        return value_load(out, f, err);
    }
    if (!a->type.count && !a->type.pointers && a->type.lanes > 1) {
        int64_t k = as_signed(i);
        if (k < 0 || k >= a->type.lanes)
            return wrong(err, "the index is outside the vector");
        *out = *a;
        out->type.lanes = 1;
        out->at += (uint64_t)k * a->type.bytes;
        memset(out->bits, 0, sizeof out->bits);
        memcpy(out->bits, (const char *)a->bits + (size_t)k * a->type.bytes, a->type.bytes);
        return ST_OK;
    }
    struct value b = *i;
    if (!decay(a) || !a->type.pointers)
        return wrong(err, "only arrays, pointers and vectors have elements");
    enum status st = on_pointer(&sum, NODE_ADD, a, &b, err);
    return st ? st : dereference(out, &sum, f, err);
}

/* The member of a struct; one of a base class or of a struct without a name counts as its own. */
static bool find_member(struct value *out, const struct value *a, const char *wanted, unsigned depth)
{
    enum { DEEPEST = 8 };
    const char *name;
    uint32_t offset;
    struct value v = {.home = a->home};
    for (unsigned i = 0; depth < DEEPEST && record_member(a->type.record, i, &name, &offset, &v.type); i++) {
        v.at = a->at + offset;
        *out = v;
        if (strcmp(name, wanted) == 0 || (!*name && type_is_record(&v.type) && find_member(out, &v, wanted, depth + 1)))
            return true;
    }
    return false;
}

static enum status member(struct value *out, const struct value *a, const char *name, const struct focus *f, struct error *err)
{
    if (type_is_record(&a->type))
        return find_member(out, a, name, 0) ? value_load(out, f, err) : error_set(err, ST_INVALID_VALUE, "%s has no member %s", a->type.record->name ? a->type.record->name : "the struct", name);
    const char *which = name[0] && !name[1] ? strchr("xyzw", name[0]) : NULL;
    if (!which)
        which = name[0] && !name[1] ? strchr("rgba", name[0]) : NULL;
    size_t i = which ? (size_t)(name[0] == 'a' ? 3 : strchr("xyzw", name[0]) ? strchr("xyzw", name[0]) - "xyzw" : strchr("rgba", name[0]) - "rgba") : 4;
    if (a->type.pointers || a->type.count || i >= a->type.lanes || a->type.lanes == 1)
        return error_set(err, ST_INVALID_VALUE, "there is no member .%s", name);
    struct value v = *a, index = integer(i, 4, true);
    return indexed(out, &v, &index, f, err);
}

static enum status address_of(struct value *out, const struct value *v, const struct focus *f, struct error *err)
{
    uint64_t at = v->at;
    if (v->home == HOME_PARAM && f->cta && emu_cta_launch(f->cta)->param_address)
        at += emu_cta_launch(f->cta)->param_address;
    else if (v->home != HOME_MEMORY)
        return wrong(err, "this has no address: it is in registers, or a result");
    *out = (struct value){.type = v->type.count ? type_element(&v->type) : v->type, .bits = {at}};
    out->type.pointers++;
    return ST_OK;
}

static enum status assign(struct value *out, const struct node *n, const struct focus *f, struct error *err)
{
    struct value to, from;
    enum status st = eval(&to, n->a, f, err);
    if (!st)
        st = eval(&from, n->b, f, err);
    if (st)
        return st;
    struct value before = to;
    if (n->compound != NODE_ASSIGN)
        st = on_two(&from, n->compound, &before, &(struct value){.type = from.type, .home = from.home, .at = from.at, .bits = {from.bits[0], from.bits[1]}}, err);
    if (st)
        return st;
    if (to.home == HOME_NONE || to.type.count || type_is_record(&to.type))
        return wrong(err, "only registers and memory can be set");
    if (!convert(&from, &to.type))
        return wrong(err, "the value has another type");
    memcpy(to.bits, from.bits, sizeof to.bits);
    st = value_store(&to, f, err);
    *out = to;
    return st;
}

static enum status one_operand(struct value *out, const struct node *n, struct value *a, const struct focus *f, struct error *err)
{
    struct value zero = integer(0, 4, true);
    switch (n->op) {
    case NODE_CAST:
        *out = *a;
        if (a->space_array || !convert(out, &n->type)) {       /* (float)@shared: the first one there */
            if (a->home != HOME_MEMORY || !a->type.count)
                return wrong(err, "no conversion to this type");
            *out = (struct value){.type = n->type, .home = HOME_MEMORY, .at = a->at};
            if (n->type.pointers)
                *out = (struct value){.type = n->type, .bits = {a->at}};
            else
                return value_load(out, f, err);
        }
        return ST_OK;
    case NODE_SIZEOF: *out = integer(type_bytes(&a->type), 8, false); return ST_OK;
    case NODE_DEREF: return dereference(out, a, f, err);
    case NODE_ADDRESS: return address_of(out, a, f, err);
    case NODE_MINUS: {
        double d = -as_double(a);
        if (!is_float(&a->type))
            return on_two(out, NODE_SUB, &zero, a, err);
        *out = (struct value){.type = {.kind = TYPE_FLOAT, .bytes = 8, .sign = true, .lanes = 1}};
        memcpy(out->bits, &d, 8);
        return convert(out, &a->type) ? ST_OK : wrong(err, "this is no number");
    }
    case NODE_NOT:
        if (!decay(a) || !is_number(&a->type))
            return wrong(err, "this is no number");
        *out = integer(!value_true(a), 4, true);
        return ST_OK;
    default: {
        struct value ones = integer(UINT64_MAX, a->type.bytes == 8 ? 8 : 4, true);
        return on_two(out, NODE_XOR, a, &ones, err);
    }
    }
}

static enum status eval(struct value *out, const struct node *n, const struct focus *f, struct error *err)
{
    struct value a = {0}, b = {0};
    enum status st = ST_OK;
    switch (n->op) {
    case NODE_NUMBER: *out = n->number; return ST_OK;
    case NODE_NAME:
        if (strcmp(n->name, "$_") == 0) {
            *out = last_value;
            return ST_OK;
        }
        return name_value(out, n->name, f, err);
    case NODE_ASSIGN: return assign(out, n, f, err);
    case NODE_SIZEOF:
        if (!n->a) {
            *out = integer(type_bytes(&n->type), 8, false);
            return ST_OK;
        }
        break;
    default: break;
    }
    st = eval(&a, n->a, f, err);
    if (st)
        return st;
    if (n->op == NODE_MEMBER)
        return member(out, &a, n->name, f, err);
    if (n->op == NODE_CHOOSE)
        return eval(out, value_true(&a) ? n->b : n->c, f, err);
    if (n->op == NODE_LAND || n->op == NODE_LOR) {
        bool settled = value_true(&a) == (n->op == NODE_LOR);
        st = settled ? ST_OK : eval(&b, n->b, f, err);
        *out = integer(settled ? value_true(&a) : value_true(&b), 4, true);
        return st;
    }
    if (!n->b)
        return one_operand(out, n, &a, f, err);
    st = eval(&b, n->b, f, err);
    if (st)
        return st;
    return n->op == NODE_INDEX ? indexed(out, &a, &b, f, err) : on_two(out, n->op, &a, &b, err);
}

enum status expr_eval(struct value *out, const struct expr *e, const struct focus *f, struct error *err)
{
    *out = (struct value){0};
    return eval(out, e->root, f, err);
}
