/* Calls of functions that no module defines: built-in ones, and those of plug-ins. */
#include "emu/builtin.h"
#include "emu/decode_call.h"
#include "emu/plugin.h"

#include <string.h>

enum { BUILTIN_WORDS = 32 };                   /* the most that a built-in function takes */

/* ---- running -------------------------------------------------------------------------------------------------------- */

void call_copy_lanes(char *to, const char *from, uint32_t m)
{
    uint32_t *d = (void *)to;
    const uint32_t *s = (const void *)from;
    if (m == FULL_MASK) {
        memcpy(to, from, WORD_ROW);
        return;
    }
    for (uint32_t l = 0; l < WARP_SIZE; l++)
        if (m >> l & 1) d[l] = s[l];
}

static const struct insn *run_builtin(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t m = insn_mask(in, w);
    const struct call_site *site = (const struct call_site *)(uintptr_t)in->imm;
    flow_charge(in, w, c);
    if (!m) return in + 1;
    uint32_t params[BUILTIN_WORDS][WARP_SIZE], returns[BUILTIN_WORDS][WARP_SIZE];
    for (uint32_t i = 0; i < site->n_params; i++) memcpy(params[i], w->frame + site->params[i], WORD_ROW);
    memset(returns, 0, sizeof returns);
    enum status st = site->builtin(c, w, in, m, params, returns);
    if (w->state == WARP_FAULT) return NULL;
    if (st) return insn_fault(in, w, c, (uint32_t)__builtin_ctz(m), st, "%s failed", site->name);
    for (uint32_t i = 0; i < site->n_returns; i++) call_copy_lanes(w->frame + site->returns[i], (const char *)returns[i], m);
    return in + 1;
}

static const struct insn *run_plugin(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t m = insn_mask(in, w);
    const struct call_site *site = (const struct call_site *)(uintptr_t)in->imm;
    flow_charge(in, w, c);
    return !m || plugin_run(site->plugin, in, w, c, m, site->params, site->returns) ? in + 1 : NULL;
}

static const struct insn *run_undefined(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t m = insn_mask(in, w);
    if (!m) return in + 1;
    return insn_fault(in, w, c, (uint32_t)__builtin_ctz(m), ST_NOT_SUPPORTED, "%s", ((const struct call_site *)(uintptr_t)in->imm)->why);
}

/* ---- decoding ------------------------------------------------------------------------------------------------------- */

bool decode_is_builtin(const struct call_parts *call) { return call->function && !call->function->has_body && builtin_find(call->function->name); }

unsigned decode_call_align(struct decoder *d, const struct call_parts *call, unsigned n, unsigned bytes, uint32_t *rows)
{
    for (; decode_is_builtin(call) && bytes % 8 == 0 && n % 2; n++)
        if (rows) rows[n] = decode_const(d, 0, 4);
    return n;
}

/* What the instructions around the call say of a variable that it passes. */
static void see_accesses(const struct decoder *d, uint32_t own, struct plugin_type *p)
{
    for (uint32_t i = 0; i < d->f->n_insns; i++) {
        const struct ptx_insn *in = &d->f->insns[i];
        if (in->op != PTX_OP_ST && in->op != PTX_OP_LD) continue;
        const struct ptx_operand *mem = &in->operands[in->op == PTX_OP_ST ? 0 : 1], *data = &in->operands[in->op == PTX_OP_ST ? 1 : 0];
        uint32_t var;
        if (mem->kind != PTX_OPERAND_MEM || mem->index >= 0 || !decode_own_var(d, mem->sym, &var) || var != own) continue;
        enum ptx_type t = (enum ptx_type)in->types[in->n_types - 1];
        for (unsigned k = 0; k < (data->kind == PTX_OPERAND_VEC ? data->count : 1u); k++) plugin_type_access(p, t, mem->bits + (uint64_t)k * ptx_type_bytes(t));
    }
}

/* The types of one list. False: it does not pass what the function declares. */
static bool plugin_list(const struct decoder *d, const struct call_parts *call, const struct ptx_operand *list, bool returns, struct plugin_type *out)
{
    const struct ptx_proto *p = call->proto;
    uint32_t n = returns ? p->n_returns : p->n_params;
    bool declared = call->function == d->f;
    if ((!declared && (list ? list->count : 0) != n) || n > PLUGIN_PARAMS) return false;
    for (unsigned i = 0; i < n; i++) {
        const struct ptx_var *v = &call->function->vars[(returns ? p->returns : p->params)[i]], *passed;
        if (declared) {                        /* called from anywhere: nothing else is known */
            out[i] = plugin_type_of((enum ptx_type)v->type, v->bytes, v->align);
            continue;
        }
        const struct ptx_operand *o = decode_element(d, list, i);
        uint32_t own = 0;
        out[i] = plugin_type_of((enum ptx_type)v->type, v->bytes, v->align);
        passed = o->kind == PTX_OPERAND_SYM ? decode_own_var(d, o->sym, &own) : NULL;
        enum ptx_type t = decode_call_type(d, call, o, i, returns);
        if ((passed ? passed->bytes : ptx_type_bytes(t)) != v->bytes) return false;
        if (passed) see_accesses(d, own, &out[i]);
        else plugin_type_access(&out[i], t, 0);
    }
    return true;
}

static void *plugin_memory(void *d, size_t bytes) { return decode_aux(d, bytes); }

/* NULL: *why says what the call is instead. */
static const struct plugin_call *find_plugin(struct decoder *d, const struct call_parts *call, struct error *err)
{
    const struct emu_image *im = d->k->image;
    const char *name = call->function->name;
    struct emu_extern fn = { 0 };
    struct plugin_type types[1 + PLUGIN_PARAMS] = { 0 };
    if (!im->find || !im->find(im->find_user, name, &fn)) {
        error_set(err, ST_NOT_SUPPORTED, "call of the .extern .func %s, which no linked module defines and no plug-in has; --plugin=LIBRARY.so names a library of host functions", name);
        return NULL;
    }
    if (!plugin_list(d, call, call->returns, true, &types[0]) || !plugin_list(d, call, call->params, false, &types[1])) {
        error_set(err, ST_INVALID_PTX, "the call does not pass what %s declares", name);
        return NULL;
    }
    return plugin_prepare(&fn, name, types, call->proto->n_params, plugin_memory, d, err);
}

handler decode_host_call(struct decoder *d, const struct call_parts *call, struct call_site *site)
{
    struct error err;
    site->builtin = builtin_find(site->name);
    if (site->builtin && site->n_params <= BUILTIN_WORDS && site->n_returns <= BUILTIN_WORDS) {
        unsigned traits = builtin_traits(site->builtin);
        if (traits & BUILTIN_ORDERED) decode_says_calls_host(d);
        if (traits & BUILTIN_LAUNCHES && !d->k->launches) d->k->launches = true;
        return run_builtin;
    }
    site->plugin = find_plugin(d, call, &err);
    if (site->plugin) {
        decode_says_calls_host(d);
        return run_plugin;
    }
    char *why = decode_aux(d, strlen(err.text) + 1);
    site->why = why ? strcpy(why, err.text) : "";
    return run_undefined;
}


/* The words of one list of the function that is being decoded, where a call has put them and where its return finds them. */
static uint32_t *own_words(struct decoder *d, const struct call_parts *call, const int32_t *vars, uint32_t n_vars, uint32_t at, uint32_t n_words, uint32_t *n_out)
{
    uint32_t *rows = decode_aux(d, (2 * n_words + 1) * sizeof *rows);
    unsigned n = 0, word = 0;
    for (uint32_t i = 0; i < n_vars && rows; i++) {
        const struct ptx_var *v = &d->f->vars[vars[i]];
        n = decode_call_align(d, call, n, v->align, rows);
        for (uint64_t k = 0; k < (v->bytes + 3) / 4; k++) rows[n++] = at + word++ * WORD_ROW;
    }
    *n_out = n;
    return rows;
}

enum status decode_host_body(struct decoder *d)
{
    const struct ptx_proto *p = &d->f->proto;
    const struct call_parts call = { .function = d->f, .proto = p };
    struct call_site *site = decode_aux(d, sizeof *site);
    if (!site) return ST_OUT_OF_MEMORY;
    site->name = d->f->name;
    site->function = UINT32_MAX;
    site->params = own_words(d, &call, p->params, p->n_params, d->param_at, d->param_words, &site->n_params);
    site->returns = own_words(d, &call, p->returns, p->n_returns, d->return_at, d->return_words, &site->n_returns);
    if (!site->params || !site->returns) return ST_OUT_OF_MEMORY;
    handler h = decode_host_call(d, &call, site);
    struct insn *r = decode_emit_control(d, h, h);
    if (!r) return ST_OUT_OF_MEMORY;
    r->imm = (uintptr_t)site;
    return d->st;
}
