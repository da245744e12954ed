/* Calls, returns, and the .param variables between them.
 *
 * A .param variable of a call is a row of 4 bytes a lane for each of its words, in the frame of the function that declares it: the caller's argument
 * and result variables, the callee's parameters and returns. A call copies words into the new frame, a return copies words back for the lanes that return. */
#include "emu/decode_call.h"
#include "emu/decode_mem.h"

#include <string.h>

/* ---- running -------------------------------------------------------------------------------------------------------- */

static const struct insn *no_memory(const struct insn *in, struct warp *w, struct ctx *c)
{
    return insn_fault(in, w, c, (uint32_t)__builtin_ctz(w->mask), ST_OUT_OF_MEMORY, "the host has no memory left for a call");
}

static const struct insn *enter_code(const struct insn *in, struct warp *w, struct ctx *c, const struct code *code, const struct call_site *site)
{
    const char *from = w->frame;
    uint32_t lane = (uint32_t)__builtin_ctz(w->mask);
    if (site->n_params != code->param_words || site->n_returns != code->return_words)
        return insn_fault(in, w, c, lane, ST_INVALID_PC, "%s takes %u words of parameters and returns %u, the call passes %u and expects %u", code->function->name,
                          code->param_words, code->return_words, site->n_params, site->n_returns);
    if ((uint64_t)flow_local_top(w) + CALL_LOCAL_BYTES + code->local_bytes > w->local_stride)
        return insn_fault(in, w, c, lane, ST_HARDWARE_STACK_ERROR, "the call of %s overflows the stack of %u bytes a thread; cudaDeviceSetLimit(cudaLimitStackSize, ..) makes it larger",
                          code->function->name, w->local_stride);
    struct activation *a = ctx_sites(c, kernel_sites(c->grid->kernel)) ? flow_call(w, code, site, in + 1) : NULL;
    if (!a) return no_memory(in, w, c);
    for (uint32_t i = 0; i < site->n_params; i++) memcpy(a->frame + code->param_at + i * WORD_ROW, from + site->params[i], WORD_ROW);
    return code->insns;
}

static const struct insn *call_number(const struct insn *in, struct warp *w, struct ctx *c, const struct call_site *site, uint32_t number)
{
    struct error err;
    const struct code *code = kernel_code(c->grid->kernel, number, &err);
    if (!code) return insn_fault(in, w, c, (uint32_t)__builtin_ctz(w->mask), err.status, "%s", err.text);
    return enter_code(in, w, c, code, site);
}

/* Lanes for which the call's guard is false wait behind it; the record sits at in + 1. */
static const struct insn *set_aside(const struct insn *in, struct warp *w, struct ctx *c, uint32_t m)
{
    c->thread_insns += (uint64_t)in->charge * mask_count(w->mask & ~m);
    return flow_diverge(in, w, c, m, in, in + 1);
}

static const struct insn *run_call(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t m = insn_mask(in, w);
    const struct call_site *site = (const struct call_site *)(uintptr_t)in->imm;
    if (m && m != w->mask) return set_aside(in, w, c, m);
    flow_charge(in, w, c);
    return m ? call_number(in, w, c, site, site->function) : in + 1;
}

static const struct insn *run_call_address(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t m = insn_mask(in, w);
    const struct call_site *site = (const struct call_site *)(uintptr_t)in->imm;
    if (m && m != w->mask) return set_aside(in, w, c, m);
    if (!m) {
        flow_charge(in, w, c);
        return in + 1;
    }
    const uint64_t *address = row(w, site->address);
    uint32_t first = (uint32_t)__builtin_ctz(m), same = 0;
    for (uint32_t l = 0; l < WARP_SIZE; l++) same |= (uint32_t)(address[l] == address[first]) << l;
    same &= m;
    uint64_t number = (address[first] - EMU_CODE_WINDOW) / 16;
    const struct ptx_module *mod = kernel_module(c->grid->kernel);
    if (address[first] < EMU_CODE_WINDOW || address[first] % 16 || number >= mod->n_functions || mod->functions[number].is_entry)
        return insn_fault(in, w, c, first, ST_INVALID_PC, "call of 0x%llx, which is not the address of a function", (unsigned long long)address[first]);
    if (same != m && !flow_part(in, w, same, in + 1)) return no_memory(in, w, c);
    flow_charge(in, w, c);
    const struct insn *next = call_number(in, w, c, site, (uint32_t)number);
    if (!next || same == m) return next;
    w->next = next;
    w->state = WARP_RUN;
    return NULL;
}

static const struct insn *run_ret(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t m = insn_mask(in, w);
    flow_charge(in, w, c);
    if (!m) return in + 1;
    const struct activation *a = w->flow->act;
    for (uint32_t i = 0; i < a->site->n_returns; i++)
        call_copy_lanes(a->parent->frame + a->site->returns[i], w->frame + w->code->return_at + i * WORD_ROW, m);
    return flow_return(in, w, c, m);
}

const struct call_site *call_site_at(const struct insn *in)
{
    return in->masked == run_call || in->masked == run_call_address ? (const struct call_site *)(uintptr_t)in->imm : NULL;
}

/* ---- words ---------------------------------------------------------------------------------------------------------- */

static void emit_move(struct decoder *d, struct handlers h, uint32_t to, uint32_t a, uint32_t b, uint64_t imm)
{
    struct insn *in = decode_emit(d, h.full, h.masked);
    if (!in) return;
    in->d = to;
    in->a = a;
    in->b = b;
    in->imm = imm;
}

/* A value of `bytes` bytes to or from word rows that start at `words`, at byte `at` of the first. */
static void words_put(struct decoder *d, uint32_t words, unsigned at, unsigned bytes, uint32_t from)
{
    const struct mov_table *t = mov_handlers_table();
    if (bytes < 4) emit_move(d, t->put, words, from, 0, MOV_IMM(4, 2, bytes, at, 0));
    else if (bytes == 4) emit_move(d, t->mov[1], words, from, 0, 0);
    else if (bytes == 8) {
        emit_move(d, t->convert[1][2][0], words, from, 0, 0);
        emit_move(d, t->high8_4, words + WORD_ROW, from, 0, 0);
    } else {
        for (unsigned i = 0; i < 4; i++) emit_move(d, t->get, words + i * WORD_ROW, from, 0, MOV_IMM(4, 16, 4, 4 * i, 0));
    }
}

static void words_get(struct decoder *d, uint32_t to, uint32_t words, unsigned at, unsigned bytes, bool sign)
{
    const struct mov_table *t = mov_handlers_table();
    if (bytes < 4) emit_move(d, t->get, to, words, 0, MOV_IMM(2, 4, bytes, at, sign));
    else if (bytes == 4) emit_move(d, t->mov[1], to, words, 0, 0);
    else if (bytes == 8) emit_move(d, t->pack4_8, to, words, words + WORD_ROW, 0);
    else
        for (unsigned i = 0; i < 4; i++) emit_move(d, t->put, to, words + i * WORD_ROW, 0, MOV_IMM(16, 4, 4, 4 * i, 0));
}

enum status decode_call_param(struct decoder *d, const struct ptx_insn *in, bool *handled)
{
    bool store = in->op == PTX_OP_ST;
    const struct ptx_operand *mem = &in->operands[store ? 0 : 1], *data = &in->operands[store ? 1 : 0];
    uint32_t own;
    const struct ptx_var *v = mem->kind == PTX_OPERAND_MEM && mem->index < 0 ? decode_own_var(d, mem->sym, &own) : NULL;
    *handled = v && v->space == PTX_SPACE_PARAM && d->var_row[own];
    if (!*handled) return ST_OK;
    enum ptx_type t = (enum ptx_type)in->types[in->n_types - 1];
    unsigned bytes = ptx_type_bytes(t), n = data->kind == PTX_OPERAND_VEC ? data->count : 1, width = decode_type_width(t);
    uint64_t at = mem->bits;
    if (at + (uint64_t)n * bytes > v->bytes || at > v->bytes) return decode_unsupported(d, in, "an access outside its .param variable");
    if (bytes >= 4 ? at % 4 : at % 4 + bytes > 4) return decode_unsupported(d, in, "a misaligned access to a .param variable");
    for (unsigned i = 0; i < n; i++, at += bytes) {
        const struct ptx_operand *e = data->kind == PTX_OPERAND_VEC ? decode_element(d, data, i) : data;
        uint32_t words = d->var_row[own] + (uint32_t)(at / 4) * WORD_ROW;
        if (store) words_put(d, words, at % 4, bytes, decode_source(d, e, t, width));
        else {
            bool sign = ptx_type_kind(t) == PTX_KIND_SIGNED;
            words_get(d, decode_dest(d, e, width, sign), words, at % 4, bytes, sign);
        }
    }
    return d->st;
}

/* Parameters and returns that are declared as registers have words too; records move between the two. */
static const struct ptx_operand *reg_named(const struct decoder *d, const char *name, struct ptx_operand *o)
{
    for (uint32_t i = 0; i < d->f->n_regs; i++)
        if (!strcmp(d->f->regs[i].name, name)) {
            *o = (struct ptx_operand){ .kind = PTX_OPERAND_REG, .index = (int32_t)i, .sym = -1 };
            return o;
        }
    return NULL;
}

void decode_pin_own(struct decoder *d)
{
    const struct ptx_proto *p = &d->f->proto;
    struct ptx_operand o;
    for (uint32_t i = 0; !d->f->is_entry && i < p->n_params + p->n_returns; i++) {
        const struct ptx_var *v = &d->f->vars[i < p->n_params ? p->params[i] : p->returns[i - p->n_params]];
        if (v->space != PTX_SPACE_REG || v->type == PTX_PRED || !reg_named(d, v->name, &o)) continue;
        struct reg_info *r = &d->regs[o.index];
        r->pinned = true;
        r->n_uses += 2;                        /* the caller's: nothing may leave the value out, or use it up */
        r->row = d->frame_end;
        d->frame_end += r->width * WARP_SIZE;
    }
}

static void move_registers(struct decoder *d, const int32_t *vars, uint32_t n, bool out)
{
    struct ptx_operand o;
    for (uint32_t i = 0; i < n; i++) {
        const struct ptx_var *v = &d->f->vars[vars[i]];
        enum ptx_type t = (enum ptx_type)v->type;
        if (v->space != PTX_SPACE_REG || t == PTX_PRED || !reg_named(d, v->name, &o)) continue;
        if (out) words_put(d, d->var_row[vars[i]], 0, ptx_type_bytes(t), decode_source(d, &o, t, decode_type_width(t)));
        else words_get(d, d->regs[o.index].row, d->var_row[vars[i]], 0, ptx_type_bytes(t), false);
    }
}

/* ---- parameters with an address: rows have none, so the prologue copies such a parameter into local memory ---- */

bool decode_is_parameter(const struct decoder *d, uint32_t own)
{
    for (uint32_t i = 0; !d->f->is_entry && i < d->f->proto.n_params; i++)
        if (d->f->proto.params[i] == (int32_t)own) return d->f->vars[own].space == PTX_SPACE_PARAM;
    return false;
}

uint32_t decode_param_copy(struct decoder *d, uint32_t own)
{
    const struct ptx_var *v = &d->f->vars[own];
    if (!d->local_at[own]) {
        uint32_t align = v->align > 16 ? v->align : 16;
        uint32_t at = (d->local_bytes + align - 1) & ~(align - 1);
        d->local_at[own] = at + 1;
        d->local_bytes = at + (((uint32_t)v->bytes + 15) & ~15u);
    }
    return d->local_at[own] - 1;
}

static void copy_param(struct decoder *d, uint32_t own)
{
    uint32_t extra = MEM_EXTRA(MEM_32, 0, MEM_LOCAL, MEM_FIXED, MEM_STORE), at = decode_param_copy(d, own);
    struct mem_handlers h = mem_handlers_of(extra);
    for (uint32_t k = 0; k < (d->f->vars[own].bytes + 3) / 4; k++) {
        uint16_t site = decode_site(d);
        struct insn *in = decode_emit(d, h.full, h.masked);
        if (!in) return;
        in->d = d->var_row[own] + k * WORD_ROW;
        in->imm = at + 4 * k;
        in->extra = extra;
        in->site = site;
    }
}

static void copy_params(struct decoder *d)
{
    bool *done = arena_alloc(&d->tmp, d->f->n_vars + 1);
    if (!done) d->st = ST_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < d->f->n_insns && done; i++)
        for (unsigned k = 0; k < d->f->insns[i].n_operands; k++) {
            const struct ptx_operand *o = &d->f->insns[i].operands[k];
            uint32_t own;
            if (o->kind != PTX_OPERAND_SYM || !decode_own_var(d, o->sym, &own) || !decode_is_parameter(d, own) || done[own]) continue;
            done[own] = true;
            copy_param(d, own);
        }
}

enum status decode_prologue(struct decoder *d)
{
    d->in = NULL;
    if (d->f->is_entry) return d->st;
    move_registers(d, d->f->proto.params, d->f->proto.n_params, false);
    copy_params(d);
    return d->st;
}

enum status decode_ret(struct decoder *d, const struct ptx_insn *in)
{
    if (d->f->is_entry) return decode_exit(d, in);
    d->scratch_next = d->scratch_at;
    move_registers(d, d->f->proto.returns, d->f->proto.n_returns, true);
    return decode_emit_control(d, run_ret, run_ret) ? d->st : ST_OUT_OF_MEMORY;
}

/* ---- call ------------------------------------------------------------------------------------------------------------ */

static bool take_apart(const struct decoder *d, const struct ptx_insn *in, struct call_parts *call)
{
    unsigned i = 0;
    *call = (struct call_parts){ 0 };
    if (in->operands[0].kind == PTX_OPERAND_LIST) call->returns = &in->operands[i++];
    if (i >= in->n_operands) return false;
    call->callee = &in->operands[i++];
    if (i < in->n_operands && in->operands[i].kind == PTX_OPERAND_LIST) call->params = &in->operands[i++];
    if (call->callee->kind == PTX_OPERAND_SYM) {
        uint32_t sym = (uint32_t)call->callee->sym;
        if (sym >= d->m->n_symbols || d->m->symbols[sym].kind != PTX_SYMBOL_FUNCTION) return false;
        call->function = &d->m->functions[d->m->symbols[sym].index];
        call->proto = &call->function->proto;
        return true;
    }
    if (i < in->n_operands && in->operands[i].kind == PTX_OPERAND_LABEL)
        for (uint32_t p = 0; p < d->f->n_protos; p++)
            if (!strcmp(d->f->protos[p].name, d->f->labels[in->operands[i].index].name)) call->proto = &d->f->protos[p];
    return call->callee->kind == PTX_OPERAND_REG;
}

enum ptx_type decode_call_type(const struct decoder *d, const struct call_parts *call, const struct ptx_operand *o, unsigned i, bool returns)
{
    const struct ptx_proto *p = call->proto;
    if (o->kind == PTX_OPERAND_REG) return (enum ptx_type)d->f->regs[o->index].type;
    const struct ptx_function *f = call->function ? call->function : d->f;
    uint32_t n = p ? (returns ? p->n_returns : p->n_params) : 0;
    return i < n ? (enum ptx_type)f->vars[(returns ? p->returns : p->params)[i]].type : PTX_B32;
}

/* Appends the word rows of one list to rows; registers and constants get rows of their own, which params fill before the call. */
static unsigned list_words(struct decoder *d, const struct call_parts *call, const struct ptx_operand *list, bool returns, uint32_t *rows)
{
    unsigned n = 0;
    uint32_t own = 0;
    for (unsigned i = 0; list && i < list->count; i++) {
        const struct ptx_operand *o = decode_element(d, list, i);
        const struct ptx_var *v = o->kind == PTX_OPERAND_SYM ? decode_own_var(d, o->sym, &own) : NULL;
        unsigned words = v ? (unsigned)((v->bytes + 3) / 4) : 1;
        if (v && v->space == PTX_SPACE_PARAM && d->var_row[own]) {
            n = decode_call_align(d, call, n, v->align, rows);
            for (unsigned k = 0; k < words; k++, n++)
                if (rows) rows[n] = d->var_row[own] + k * WORD_ROW;
            continue;
        }
        enum ptx_type t = decode_call_type(d, call, o, i, returns);
        unsigned bytes = ptx_type_bytes(t);
        words = (bytes + 3) / 4;
        n = decode_call_align(d, call, n, bytes, rows);
        if (rows) {
            uint32_t at = decode_word_rows(d, words);
            for (unsigned k = 0; k < words; k++) rows[n + k] = at + k * WORD_ROW;
            if (!returns) words_put(d, at, 0, bytes, decode_source(d, o, t, decode_type_width(t)));
        }
        n += words;
    }
    return n;
}

static void take_results(struct decoder *d, const struct call_parts *call, const uint32_t *rows)
{
    unsigned n = 0;
    uint32_t own;
    for (unsigned i = 0; call->returns && i < call->returns->count; i++) {
        const struct ptx_operand *o = decode_element(d, call->returns, i);
        const struct ptx_var *v = o->kind == PTX_OPERAND_SYM ? decode_own_var(d, o->sym, &own) : NULL;
        if (v) {
            n += (unsigned)((v->bytes + 3) / 4);
            continue;
        }
        enum ptx_type t = decode_call_type(d, call, o, i, true);
        if (o->kind == PTX_OPERAND_REG) words_get(d, decode_dest(d, o, decode_type_width(t), false), rows[n], 0, ptx_type_bytes(t), false);
        n += (ptx_type_bytes(t) + 3) / 4;
    }
}

static handler call_handler(struct decoder *d, const struct call_parts *call, struct call_site *site)
{
    site->function = UINT32_MAX;
    if (!call->function) {
        site->address = decode_source(d, call->callee, PTX_U64, 8);
        decode_says_stacks(d);
        return run_call_address;
    }
    site->name = call->function->name;
    site->function = (uint32_t)(call->function - d->m->functions);
    return call->function->has_body ? run_call : decode_host_call(d, call, site);
}

enum status decode_call(struct decoder *d, const struct ptx_insn *in)
{
    struct call_parts call;
    if (!take_apart(d, in, &call)) return decode_unsupported(d, in, "a call of this form");
    struct call_site *site = decode_aux(d, sizeof *site);
    if (!site) return ST_OUT_OF_MEMORY;
    site->n_params = list_words(d, &call, call.params, false, NULL);
    site->n_returns = list_words(d, &call, call.returns, true, NULL);
    site->params = decode_aux(d, (site->n_params + 1) * sizeof(uint32_t));
    site->returns = decode_aux(d, (site->n_returns + 1) * sizeof(uint32_t));
    if (!site->params || !site->returns) return ST_OUT_OF_MEMORY;
    list_words(d, &call, call.params, false, site->params);
    list_words(d, &call, call.returns, true, site->returns);
    handler h = call_handler(d, &call, site);
    struct insn *r = decode_emit_control(d, h, h);
    if (!r) return ST_OUT_OF_MEMORY;
    r->imm = (uintptr_t)site;
    if (h == run_call_address || (h == run_call && in->guard >= 0)) decode_marker(d);      /* lanes that call others, or nothing, meet here */
    take_results(d, &call, site->returns);
    return d->st;
}
