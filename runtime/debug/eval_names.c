/* What names in expressions stand for, and where values come from and go to. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/debug/dwarf.h"

/* ---- memory ---- */

char *memory_at(const struct focus *f, uint64_t address, uint64_t bytes, bool write, struct error *err)
{
    struct emu_range r;
    bool writable = true;
    char *p = NULL;
    dbg.looked_around = dbg.looked_around || address < EMU_SHARED_WINDOW || address >= EMU_CODE_WINDOW;
    if (f->run && f->cta) {
        p = emu_generic_bytes(f->cta, f->warp, f->lane, address, bytes, &writable);
    } else if (emu_space_find(the.space, address, &r) && r.hi - address >= bytes) {
        p = (char *)(uintptr_t)address;
        writable = !r.read_only;
    }
    if (!p)
        error_set(err, ST_ILLEGAL_ADDRESS, "no memory of %" PRIu64 " byte%s at 0x%" PRIx64, bytes, bytes == 1 ? "" : "s", address);
    else if (write && !writable)
        error_set(err, ST_ILLEGAL_ADDRESS, "the memory at 0x%" PRIx64 " cannot be written", address);
    return p && (!write || writable) ? p : NULL;
}

static char *param_at(const struct focus *f, uint64_t at, uint64_t bytes)
{
    uint32_t have;
    char *p = (char *)(uintptr_t)emu_param_bytes(f->cta, &have);       /* the launch's own copy */
    return p && at <= have && have - at >= bytes ? p + at : NULL;
}

enum status value_load(struct value *v, const struct focus *f, struct error *err)
{
    uint64_t n = type_bytes(&v->type);
    struct emu_frame frame;
    const char *p = NULL;
    memset(v->bits, 0, sizeof v->bits);
    if (v->type.count || type_is_record(&v->type) || v->home == HOME_NONE)
        return ST_OK;
    if (n > sizeof v->bits)
        return error_set(err, ST_INVALID_VALUE, "a value of %" PRIu64 " bytes: look at its elements", n);
    if (v->home == HOME_MEMORY)
        p = memory_at(f, v->at, n, false, err);
    else if (v->home == HOME_PARAM && !(p = param_at(f, v->at, n)))
        error_set(err, ST_INVALID_VALUE, "outside the kernel's parameters");
    if (p) {
        memcpy(v->bits, p, n);
        return ST_OK;
    }
    if (v->home == HOME_MEMORY || v->home == HOME_PARAM)
        return ST_ILLEGAL_ADDRESS;
    bool good = focus_frame(f, &frame) &&
                (v->home == HOME_WORDS ? emu_words_read(&frame, v->at, f->lane, v->bits, (uint32_t)n) : emu_reg_read(&frame, f->lane, (uint32_t)v->at, v->bits));
    return good ? ST_OK : error_set(err, ST_INVALID_VALUE, v->home == HOME_WORDS ? "not in this frame" : "the register is not used in this function");
}

enum status value_store(struct value *v, const struct focus *f, struct error *err)
{
    struct emu_frame frame;
    uint64_t n = type_bytes(&v->type);
    if (v->home == HOME_MEMORY) {
        char *p = memory_at(f, v->at, n, true, err);
        if (!p)
            return ST_ILLEGAL_ADDRESS;
        memcpy(p, v->bits, n);
        if (f->run)
            past_wrote(f->run, f, v->at, v->bits, n);
        return ST_OK;
    }
    if (v->home == HOME_REGISTER && focus_frame(f, &frame) && emu_reg_write(&frame, f->lane, (uint32_t)v->at, v->bits)) {
        past_wrote(f->run, f, v->at, v->bits, 0);
        reg_written(&f->run->module->code->ptx->functions[frame.function], (uint32_t)v->at);
        return ST_OK;
    }
    if (v->home == HOME_PARAM) {
        char *p = param_at(f, v->at, n);
        if (p) {
            memcpy(p, v->bits, n);
            return ST_OK;
        }
    }
    return error_set(err, ST_INVALID_VALUE, "this cannot be set");
}

/* ---- registers ---- */

struct guess { const struct ptx_function *f; const struct ptx_insn *in; uint32_t reg; unsigned bytes; bool defines, uses; };

static void mentions(void *user, int32_t reg, bool write)
{
    struct guess *g = user;
    if (reg != (int32_t)g->reg)
        return;
    g->defines = g->defines || write;
    g->uses = g->uses || !write;
}

/* The float type of the register's width that an instruction works on, or NONE. Conversions have one type for each side. */
static enum ptx_type float_of(const struct ptx_insn *in, unsigned bytes, bool result)
{
    unsigned from = in->op == PTX_OP_CVT && !result ? 1 : 0, to = in->op == PTX_OP_CVT && result ? 1 : in->n_types;
    for (unsigned i = from; i < to && i < in->n_types; i++)
        if (ptx_type_kind((enum ptx_type)in->types[i]) == PTX_KIND_FLOAT && ptx_type_bytes((enum ptx_type)in->types[i]) == bytes)
            return (enum ptx_type)in->types[i];
    return PTX_TYPE_NONE;
}

/* Compilers declare floats as plain bits, too: what the instructions do with the register tells. */
static struct type guess_type(const struct ptx_function *f, uint32_t reg)
{
    enum ptx_type declared = (enum ptx_type)f->regs[reg].type;
    struct type plain = type_of_ptx(declared);
    struct guess g = {.f = f, .reg = reg, .bytes = ptx_type_bytes(declared)};
    plain.sign = plain.sign || (ptx_type_kind(declared) == PTX_KIND_BITS && g.bytes >= 4);
    if (ptx_type_kind(declared) != PTX_KIND_BITS || g.bytes > 8)
        return plain;
    for (uint32_t i = 0; i < f->n_insns; i++) {
        const struct ptx_insn *in = &f->insns[i];
        g.defines = g.uses = false;
        ptx_insn_regs(f, in, mentions, &g);
        bool compare = in->op == PTX_OP_SETP || in->op == PTX_OP_SET;
        enum ptx_type t = g.defines && !compare ? float_of(in, g.bytes, true) : g.uses ? float_of(in, g.bytes, false) : PTX_TYPE_NONE;
        bool address = (in->op == PTX_OP_LD || in->op == PTX_OP_ST) && g.uses && !g.defines && in->operands[in->op == PTX_OP_LD].index == (int32_t)reg;
        if (t != PTX_TYPE_NONE && !address)
            return type_of_ptx(t);
    }
    return plain;
}

enum { CACHE = 64 };
static struct { const struct ptx_function *f; uint32_t reg; bool known; struct type type; } type_cache[CACHE];
static struct { const struct ptx_function *f; const char *name; uint32_t reg; } reg_cache[CACHE];

struct type reg_type(const struct ptx_function *f, uint32_t reg)
{
    size_t k = ((uintptr_t)f / 64 + reg) % CACHE;
    if (!type_cache[k].known || type_cache[k].f != f || type_cache[k].reg != reg) {
        type_cache[k].f = f;
        type_cache[k].reg = reg;
        type_cache[k].type = guess_type(f, reg);
        type_cache[k].known = true;
    }
    return type_cache[k].type;
}

void names_forget(void)
{
    written_forget();
    memset(type_cache, 0, sizeof type_cache);
    memset(reg_cache, 0, sizeof reg_cache);
}

static bool find_reg(const struct ptx_function *f, const char *name, uint32_t *reg)
{
    size_t k = ((uintptr_t)f / 64 + (uintptr_t)name / 8) % CACHE;
    if (reg_cache[k].f == f && reg_cache[k].name == name && strcmp(f->regs[reg_cache[k].reg].name, name) == 0) {
        *reg = reg_cache[k].reg;
        return true;
    }
    for (uint32_t i = 0; i < f->n_regs; i++)
        if (strcmp(f->regs[i].name, name) == 0) {
            reg_cache[k].f = f;
            reg_cache[k].name = name;
            *reg = reg_cache[k].reg = i;
            return true;
        }
    return false;
}

/* ---- special registers ---- */

static const struct { const char *name, *sreg; } cuda_names[] = {
    {"threadIdx", "%tid"}, {"blockIdx", "%ctaid"}, {"blockDim", "%ntid"}, {"gridDim", "%nctaid"}};

/* By its own name, or CUDA's. */
static int sreg_find(const char *name)
{
    static struct { const char *at, *text; int s; } last[CACHE];       /* conditions ask for the same over and over */
    size_t k = (uintptr_t)name / 8 % CACHE;
    if (last[k].at == name && strcmp(last[k].text, name) == 0)
        return last[k].s;
    const char *text = name, *known = NULL;    /* known: the same text, for good */
    for (size_t i = 0; i < sizeof cuda_names / sizeof *cuda_names; i++)
        if (strcmp(cuda_names[i].name, name) == 0) {
            known = cuda_names[i].name;
            text = cuda_names[i].sreg;
        }
    int s = 0;
    while (s < PTX_SREG_COUNT && strcmp(ptx_sreg_text((enum ptx_sreg)s), text) != 0)
        s++;
    if (s < PTX_SREG_COUNT) {
        last[k].at = name;
        last[k].text = known ? known : ptx_sreg_text((enum ptx_sreg)s);
        last[k].s = s;
    }
    return s;
}

int name_sreg(const char *name)
{
    int s = *name && strchr("%tbg", *name) ? sreg_find(name) : PTX_SREG_COUNT;
    return s < PTX_SREG_COUNT ? s : -1;
}

static bool sreg_value(struct value *out, const char *name, const struct focus *f)
{
    int s = name_sreg(name);
    if (s >= 0) {
        bool vector = s == PTX_SREG_TID || s == PTX_SREG_NTID || s == PTX_SREG_CTAID || s == PTX_SREG_NCTAID || s == PTX_SREG_CLUSTERID || s == PTX_SREG_NCLUSTERID ||
                      s == PTX_SREG_CLUSTER_CTAID || s == PTX_SREG_CLUSTER_NCTAID;
        struct type t = type_of_ptx(ptx_sreg_type((enum ptx_sreg)s));
        *out = (struct value){.type = t};
        out->type.lanes = vector ? 3 : 1;
        for (unsigned c = 0; c < (vector ? 3u : 1u); c++) {
            dbg.looked_around = dbg.looked_around || (s >= PTX_SREG_CLOCK && s <= PTX_SREG_GLOBALTIMER_HI);
            uint64_t v = emu_sreg_read(dbg.worker, f->cta, f->warp, f->lane, (enum ptx_sreg)s, c);
            memcpy((char *)out->bits + (size_t)c * t.bytes, &v, t.bytes);
        }
        return true;
    }
    return false;
}

/* ---- variables ---- */

/* What a space's accesses in the function move, where a variable is declared as bytes alone. */
static struct type element_guess(const struct ptx_function *f, enum ptx_space space, unsigned align)
{
    for (uint32_t i = 0; i < f->n_insns; i++) {
        const struct ptx_insn *in = &f->insns[i];
        if ((in->op != PTX_OP_LD && in->op != PTX_OP_ST) || in->space != space || !in->n_types || ptx_type_bytes((enum ptx_type)in->types[0]) != align)
            continue;
        const struct ptx_operand *data = &in->operands[in->op == PTX_OP_ST];
        if (data->kind == PTX_OPERAND_VEC && data->count)
            data = &f->vec_pool[data->first];
        struct type t = type_of_ptx((enum ptx_type)in->types[0]);
        if (data->kind == PTX_OPERAND_REG && ptx_type_kind((enum ptx_type)in->types[0]) == PTX_KIND_BITS)
            t = reg_type(f, (uint32_t)data->index);
        t.sign = t.sign || (t.kind == TYPE_INT && t.bytes >= 4);
        if (t.bytes == align)
            return t;
    }
    struct type t = {.kind = TYPE_INT, .bytes = (uint8_t)align, .sign = true, .lanes = 1};
    return t;
}

static struct type var_type(const struct ptx_function *f, const struct ptx_var *v)
{
    struct type t = type_of_ptx((enum ptx_type)v->type);
    uint64_t bytes = v->bytes;
    t.sign = t.sign || (t.kind == TYPE_INT && t.bytes >= 4);   /* compilers write .u32 for int, too */
    if (t.bytes == 1 && bytes > 1 && f && v->space != PTX_SPACE_PARAM) {
        unsigned align = v->align > 8 ? 4 : v->align;
        if (align > 1 && bytes % align == 0)
            t = element_guess(f, (enum ptx_space)v->space, align);
    }
    if (bytes > t.bytes)
        t.count = (uint32_t)(bytes / t.bytes);
    return t;
}

enum status var_value(struct value *out, const struct focus *f, const struct emu_frame *frame, const struct ptx_var *v, int32_t sym, struct error *err)
{
    static const enum home homes[] = {[EMU_VAR_GLOBAL] = HOME_MEMORY, [EMU_VAR_SHARED] = HOME_MEMORY, [EMU_VAR_LOCAL] = HOME_MEMORY, [EMU_VAR_PARAM] = HOME_PARAM, [EMU_VAR_WORDS] = HOME_WORDS};
    uint64_t at;
    enum emu_var_space space = emu_var_find(f->cta, frame, sym, &at);
    uint32_t shared;
    if (space == EMU_VAR_NONE)
        return error_set(err, ST_NOT_FOUND, "%s has no address here: this kernel does not use it", v->name);
    const struct ptx_function *fn = &f->run->module->code->ptx->functions[frame->function];
    *out = (struct value){.type = var_type(fn, v), .home = homes[space], .at = at};
    if (space == EMU_VAR_SHARED || space == EMU_VAR_LOCAL)
        out->at += space == EMU_VAR_SHARED ? emu_shared_address(f->cta) : EMU_LOCAL_WINDOW;
    if (!v->bytes && space == EMU_VAR_SHARED && emu_shared_bytes(f->cta, &shared)) {        /* dynamic: as far as it goes */
        struct type t = v->align > 1 && v->align <= 8 && type_bytes(&out->type) == 1 ? element_guess(fn, PTX_SPACE_SHARED, v->align) : out->type;
        t.count = shared > at ? (uint32_t)((shared - at) / t.bytes) : 0;
        out->type = t;
        if (!t.count)
            return error_set(err, ST_INVALID_VALUE, "the launch has no dynamic shared memory");
    }
    return value_load(out, f, err);
}

enum status param_value(struct value *out, const struct focus *f, const struct emu_frame *frame, uint32_t i, struct error *err)
{
    const struct ptx_module *m = f->run->module->code->ptx;
    const struct ptx_function *fn = &m->functions[frame->function];
    char text[512];
    struct type t;
    if (i >= fn->proto.n_params)
        return error_set(err, ST_NOT_FOUND, "%s has %u parameters", fn->name, fn->proto.n_params);
    uint32_t own = (uint32_t)fn->proto.params[i];
    enum status st = var_value(out, f, frame, &fn->vars[own], (int32_t)(m->n_symbols + own), err);
    if (st)
        return st;
    name_parameter(fn->name, i, text, sizeof text);
    if (*text && type_parse(text, &t) && type_bytes(&t) == fn->vars[own].bytes) {
        out->type = t;
        return value_load(out, f, err);
    }
    return ST_OK;
}

static bool short_match(const char *symbol, const char *name)
{
    size_t n, k = strlen(name);
    const char *base = name_base(symbol, &n);
    return strcmp(symbol, name) == 0 || (n == k && memcmp(base, name, n) == 0);
}

static enum status own_value(struct value *out, const char *name, const struct focus *f, const struct emu_frame *frame, struct error *err)
{
    const struct ptx_module *m = f->run->module->code->ptx;
    const struct ptx_function *fn = &m->functions[frame->function];
    for (uint32_t i = 0; i < fn->proto.n_params; i++)
        if (strcmp(fn->vars[fn->proto.params[i]].name, name) == 0)
            return param_value(out, f, frame, i, err);
    for (uint32_t i = 0; i < fn->n_vars; i++)
        if (short_match(fn->vars[i].name, name))
            return var_value(out, f, frame, &fn->vars[i], (int32_t)(m->n_symbols + i), err);
    return ST_NOT_FOUND;
}

static enum status module_value(struct value *out, const char *name, struct rt_module *m, const struct focus *f, const struct emu_frame *frame, struct error *err)
{
    const struct ptx_module *p = m->code->ptx;
    for (int full = 0; full < 2; full++)       /* readable names cost more */
        for (uint32_t s = 0; s < p->n_symbols; s++) {
            uint32_t i = (uint32_t)p->symbols[s].index;
            bool is_var = p->symbols[s].kind == PTX_SYMBOL_VAR;
            const char *symbol = is_var ? p->vars[i].name : p->functions[i].name;
            if (!(full ? name_matches(symbol, name) : short_match(symbol, name)))
                continue;
            uint64_t address, bytes;
            if (!is_var) {
                *out = (struct value){.type = {.kind = TYPE_VOID, .bytes = 1, .lanes = 1, .pointers = 1}, .bits = {EMU_CODE_WINDOW + 16 * (uint64_t)i}};
                return ST_OK;
            }
            if (frame && f->run->module == m)
                return var_value(out, f, frame, &p->vars[i], (int32_t)s, err);
            if (!emu_image_symbol(m->image, symbol, &address, &bytes))
                continue;
            *out = (struct value){.type = var_type(NULL, &p->vars[i]), .home = HOME_MEMORY, .at = address};
            return value_load(out, f, err);
        }
    return ST_NOT_FOUND;
}

static enum status at_value(struct value *out, const char *name, const struct focus *f, const struct emu_frame *frame, struct error *err)
{
    uint32_t n = 0;
    uint64_t i;
    struct type bytes = {.kind = TYPE_INT, .bytes = 1, .lanes = 1};
    *out = (struct value){.type = bytes, .home = HOME_MEMORY, .space_array = true};
    if (strcmp(name, "@shared") == 0 && emu_shared_bytes(f->cta, &n)) {
        out->at = emu_shared_address(f->cta);
    } else if (strcmp(name, "@local") == 0 && emu_local_bytes(f->cta, f->warp, f->lane, &n)) {
        out->at = EMU_LOCAL_WINDOW;
    } else if (strcmp(name, "@param") == 0 && emu_param_bytes(f->cta, &n) && n) {
        out->home = HOME_PARAM;
    } else if (strncmp(name, "@param", 6) == 0 && request_number(name + 6, &i) && i < UINT32_MAX) {
        return param_value(out, f, frame, (uint32_t)i, err);
    } else {
        bool known = strcmp(name, "@shared") == 0 || strcmp(name, "@local") == 0 || strcmp(name, "@param") == 0;
        return error_set(err, ST_NOT_FOUND, known ? "the kernel has no memory of %s" : "no %s: there are @shared, @local, @param and @param0, @param1 ..", known ? name + 1 : name);
    }
    out->type.count = n;
    return ST_OK;
}

static bool convenience(struct value *out, const char *name, const struct focus *f)
{
    const struct { const char *name; uint64_t value; } all[] = {
        {"$lane", f->lane}, {"$warp", f->warp}, {"$hits", dbg.hits}, {"$launch", f->run ? f->run->launch : 0}, {"$cycle", dbg.cycle},
        {"$block", f->cta ? emu_cta_index(f->cta) : 0}, {"warpSize", WARP_SIZE}};
    for (size_t i = 0; strchr("$w", *name) && i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0) {
            *out = (struct value){.type = {.kind = TYPE_INT, .bytes = 8, .sign = true, .lanes = 1}, .bits = {all[i].value}};
            dbg.looked_around = dbg.looked_around || strcmp(name, "$hits") == 0;
            return true;
        }
    return false;
}

static enum status kernel_name(struct value *out, const char *name, const struct focus *f, const struct emu_frame *frame, struct error *err)
{
    const struct ptx_function *fn = &f->run->module->code->ptx->functions[frame->function];
    uint32_t reg;
    if (find_reg(fn, name, &reg)) {
        *out = (struct value){.type = reg_type(fn, reg), .home = HOME_REGISTER, .at = reg};
        if (reg_unwritten(fn, frame->insn, reg))
            return ST_OK;
        return value_load(out, f, err);
    }
    if (*name == '%')
        return error_set(err, ST_NOT_FOUND, "%s has no register %s, and there is no special register of that name", fn->name, name);
    if (*name == '@')
        return at_value(out, name, f, frame, err);
    enum status st = dwarf_value(out, name, f, frame, err);
    if (st == ST_NOT_FOUND && !err->status)
        st = own_value(out, name, f, frame, err);
    if (st != ST_NOT_FOUND || err->status)
        return st;
    return module_value(out, name, f->run->module, f, frame, err);
}

enum status name_value(struct value *out, const char *name, const struct focus *f, struct error *err)
{
    struct emu_frame frame;
    struct error own;
    if (f->cta && sreg_value(out, name, f))
        return ST_OK;
    if (convenience(out, name, f))
        return ST_OK;
    err = err ? err : &own;
    err->status = ST_OK;
    *err->text = 0;
    bool in_kernel = focus_frame(f, &frame);
    enum status st = in_kernel ? kernel_name(out, name, f, &frame, err) : ST_NOT_FOUND;
    for (size_t i = 0; st == ST_NOT_FOUND && !err->status && i < dbg.n_modules; i++)
        if (!in_kernel || dbg.modules[i] != f->run->module)
            st = module_value(out, name, dbg.modules[i], f, NULL, err);
    if (st == ST_NOT_FOUND && !err->status && (strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0)) {        /* values as print shows them */
        double d = *name == 'i' ? INFINITY : NAN;
        *out = (struct value){.type = {.kind = TYPE_FLOAT, .bytes = 8, .sign = true, .lanes = 1}};
        memcpy(out->bits, &d, sizeof d);
        return ST_OK;
    }
    if (st == ST_NOT_FOUND && !err->status && in_kernel && *name != '$' && !dwarf_any(f, &frame))
        error_set(err, st, "nothing is named %s here (the program's own variables have names with nvcc -G)", name);
    else if (st == ST_NOT_FOUND && !err->status)
        error_set(err, st, !in_kernel && strchr("%@", *name) ? "%s: no kernel is stopped" : "nothing is named %s here", name);
    return st;
}
