/* A kernel: an entry function and what it calls, decoded together, because they share one layout of shared memory. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "emu/builtin.h"
#include "emu/decoder.h"

struct edge { uint32_t from, to; };
struct survey {                                /* what is reachable from the entry */
    struct emu_kernel *k;
    struct ptx_module *m;
    VEC(uint32_t) todo;
    VEC(struct edge) edges;
    uint8_t *seen;                             /* per function: 1 queued, 2 on the present path, 4 measured */
    uint32_t *need;                            /* per function: bytes of local memory with all it calls */
    uint32_t dynamic_align;
    bool by_address;
};

uint64_t kernel_shared_key(const struct emu_kernel *k, uint32_t function, int32_t sym)
{
    return (uint32_t)sym < k->image->m->n_symbols ? (uint32_t)sym : ((uint64_t)function + 1) << 32 | (uint32_t)sym;
}

bool kernel_shared_at(struct emu_kernel *k, uint32_t function, int32_t sym, uint32_t *offset)
{
    uintptr_t at;
    if (!map_get_int(&k->shared, kernel_shared_key(k, function, sym), &at)) return false;
    *offset = at == UINTPTR_MAX ? (k->shared_bytes + k->dynamic_align - 1) & ~(k->dynamic_align - 1) : (uint32_t)at - 1;
    return true;
}

const struct ptx_module *kernel_module(const struct emu_kernel *k) { return k->image->m; }
const struct emu_space *kernel_space(const struct emu_kernel *k) { return k->image->space; }
uint32_t kernel_entry(const struct emu_kernel *k) { return k->entry; }
bool kernel_stacks(const struct emu_kernel *k) { return k->stacks; }
bool kernel_reserves(const struct emu_kernel *k) { return k->reserves; }
uint32_t kernel_sites(const struct emu_kernel *k) { return atomic_load_explicit(&k->n_sites, memory_order_relaxed) + 1; }
uint32_t kernel_dynamic_at(const struct emu_kernel *k) { return (k->shared_bytes + k->dynamic_align - 1) & ~(k->dynamic_align - 1); }

/* ---- the survey ---------------------------------------------------------------------------------------------------- */

static bool queue(struct survey *s, uint32_t function)
{
    if (s->seen[function]) return true;
    s->seen[function] = 1;
    return vec_push(&s->todo, function);
}

/* Shared variables get their places in the order in which they are met. The dynamic ones begin where the static ones end, all of them. */
static bool place_shared(struct survey *s, uint32_t function, int32_t sym, const struct ptx_var *v)
{
    struct emu_kernel *k = s->k;
    uint64_t key = kernel_shared_key(k, function, sym);
    uintptr_t at;
    if (map_get_int(&k->shared, key, &at)) return true;
    uint32_t align = v->align ? v->align : 1;
    if (v->unsized || !v->bytes) {
        if (align > k->dynamic_align) k->dynamic_align = align;
        return map_put_int(&k->shared, key, UINTPTR_MAX);
    }
    uint32_t offset = (k->shared_bytes + align - 1) & ~(align - 1);
    k->shared_bytes = offset + (uint32_t)v->bytes;
    return map_put_int(&k->shared, key, (uintptr_t)offset + 1);
}

static bool survey_symbol(struct survey *s, uint32_t function, int32_t sym, bool callee)
{
    const struct ptx_function *f = &s->m->functions[function];
    if (sym < 0) return true;
    if ((uint32_t)sym < s->m->n_symbols && s->m->symbols[sym].kind == PTX_SYMBOL_FUNCTION) {
        uint32_t to = (uint32_t)s->m->symbols[sym].index;
        struct edge e = { function, to };
        if (!s->m->functions[to].has_body) return true;
        return (!callee || vec_push(&s->edges, e)) && queue(s, to);
    }
    const struct ptx_var *v = ptx_symbol_var(s->m, f, sym);
    return !v || v->space != PTX_SPACE_SHARED || place_shared(s, function, sym, v);
}

/* What is decoded while the kernel runs changes nothing that its launch went by: every shared variable has its place, and the rest is assumed. */
static bool survey_late(struct survey *s, const struct addressed *a)
{
    s->k->ordered = true;
    s->k->reserves |= a->reserves;
    for (uint32_t i = 0; i < s->m->n_functions; i++) {
        const struct ptx_function *f = &s->m->functions[i];
        builtin_fn fn = f->has_body ? NULL : builtin_find(f->name);
        s->k->calls_host |= !f->has_body;
        s->k->launches |= fn && builtin_traits(fn) & BUILTIN_LAUNCHES;
    }
    for (size_t i = 0; i < a->shared.n; i++) {
        const struct shared_use *u = &a->shared.at[i];
        if (!place_shared(s, u->function, u->sym, ptx_symbol_var(s->m, &s->m->functions[u->function], u->sym))) return false;
    }
    return true;
}

static bool survey_by_address(struct survey *s)
{
    if (s->by_address) return true;
    s->by_address = true;
    s->k->stacks = true;
    s->k->can_wait = true;
    const struct addressed *a;
    if (!image_addressed(s->k->image, &a)) return false;
    if (a->late) return survey_late(s, a);
    for (uint32_t i = 0; i < s->m->n_functions; i++)
        if (s->k->image->called_by_address[i] && !queue(s, i)) return false;
    return true;
}

static bool survey_body(struct survey *s, uint32_t function)
{
    const struct ptx_function *f = &s->m->functions[function];
    for (uint32_t i = 0; i < f->n_insns; i++) {
        const struct ptx_insn *in = &f->insns[i];
        bool call = in->op == PTX_OP_CALL, indirect = call;
        for (unsigned k = 0; k < in->n_operands; k++) {
            const struct ptx_operand *o = &in->operands[k];
            if (o->kind == PTX_OPERAND_SREG && sreg_is_reserved((enum ptx_sreg)o->index)) s->k->reserves = true;
            if (o->kind != PTX_OPERAND_SYM && o->kind != PTX_OPERAND_MEM) continue;
            if (o->kind == PTX_OPERAND_SYM) indirect = false;
            if (!survey_symbol(s, function, o->sym, call)) return false;
        }
        if (indirect && !survey_by_address(s)) return false;
    }
    for (uint32_t i = 0; i < f->n_vec_pool; i++)
        if (f->vec_pool[i].kind == PTX_OPERAND_SYM || f->vec_pool[i].kind == PTX_OPERAND_MEM)
            if (!survey_symbol(s, function, f->vec_pool[i].sym, false)) return false;
    return true;
}

/* Functions without a body, which the host performs, have one here, so that they can be called by address. */
static enum status parse(struct ptx_module *m, uint32_t i, struct error *err)
{
    return m->functions[i].has_body || m->functions[i].is_entry ? ptx_function_body(m, i, err) : ptx_function_stub(m, i, err);
}

static enum status survey_all(struct survey *s, struct error *err)
{
    if (!queue(s, s->k->entry)) return ST_OUT_OF_MEMORY;
    for (size_t i = 0; i < s->todo.n; i++) {
        enum status st = parse(s->m, s->todo.at[i], err);
        if (st) return st;
        if (!survey_body(s, s->todo.at[i])) return error_set(err, ST_OUT_OF_MEMORY, "the host has no memory left for decoding");
    }
    return ST_OK;
}

/* Local memory that function needs with all it calls; a cycle takes the rest from the launch's stack. */
static uint32_t measure(struct survey *s, uint32_t function)
{
    if (s->seen[function] & 4) return s->need[function];
    if (s->seen[function] & 2) {
        s->k->stacks = true;
        return 0;
    }
    s->seen[function] |= 2;
    uint32_t most = 0;
    for (size_t i = 0; i < s->edges.n; i++)
        if (s->edges.at[i].from == function) {
            uint32_t n = measure(s, s->edges.at[i].to) + CALL_LOCAL_BYTES;
            if (n > most) most = n;
        }
    const struct code *c = atomic_load(&s->k->codes[function]);
    s->need[function] = c->local_bytes + most;
    s->seen[function] |= 4;
    return s->need[function];
}

/* ---- kernels -------------------------------------------------------------------------------------------------------- */

static const struct code *code_locked(struct emu_kernel *k, uint32_t number, struct error *err)
{
    const struct code *c = atomic_load(&k->codes[number]);
    if (c) return c;
    if (parse(k->image->m, number, err) || decode_function_body(k, number, &c, err)) return NULL;
    atomic_store(&k->codes[number], c);
    return c;
}

const struct code *kernel_code(struct emu_kernel *k, uint32_t number, struct error *err)
{
    const struct code *c = atomic_load_explicit(&k->codes[number], memory_order_acquire);
    if (c) return c;
    pthread_mutex_lock(k->lock);
    c = code_locked(k, number, err);
    pthread_mutex_unlock(k->lock);
    return c;
}

void kernel_free(struct emu_kernel *k)
{
    if (!k) return;
    arena_free(&k->arena);
    map_free(&k->shared);
    if (k->lock) pthread_mutex_destroy(k->lock);
    free(k->lock);
    free(k->codes);
    free(k);
}

static enum status decode_all(struct emu_kernel *k, struct error *err)
{
    uint32_t n = k->image->m->n_functions;
    struct survey s = { .k = k, .m = k->image->m, .seen = calloc(n, 1), .need = calloc(n, sizeof(uint32_t)) };
    enum status st = s.seen && s.need ? survey_all(&s, err) : error_set(err, ST_OUT_OF_MEMORY, "the host has no memory left for decoding");
    for (size_t i = 0; i < s.todo.n && !st; i++)
        if (!code_locked(k, s.todo.at[i], err)) st = err->status;
    if (!st) k->local_bytes = measure(&s, k->entry);
    free(s.seen);
    free(s.need);
    vec_free(&s.todo);
    vec_free(&s.edges);
    return st;
}

static void settle_facts(struct emu_kernel *k)
{
    struct emu_kernel_facts *f = &k->facts;
    emu_function_facts(k->image->m, k->entry, f);
    f->shared_bytes = k->shared_bytes;
    f->local_bytes = k->local_bytes;
    f->regs = k->n_regs + 8;
    f->records = k->n_records;
    f->can_wait = k->can_wait;
    f->ordered = k->ordered;
    f->calls_host = k->calls_host;
    f->launches = k->launches;
}

static enum status kernel_make(struct emu_kernel **out, struct emu_image *im, uint32_t function, struct error *err)
{
    struct emu_kernel *k = calloc(1, sizeof *k);
    if (k) {
        k->image = im;
        k->entry = function;
        k->dynamic_align = 16;
        k->codes = calloc(im->m->n_functions, sizeof *k->codes);
        k->lock = malloc(sizeof(pthread_mutex_t));
        if (k->lock) pthread_mutex_init(k->lock, NULL);
    }
    if (!k || !k->codes || !k->lock) {
        kernel_free(k);
        return error_set(err, ST_OUT_OF_MEMORY, "the host has no memory left for a kernel");
    }
    enum status st = decode_all(k, err);
    if (!st) settle_facts(k);
    if (!st && !map_put_int(&im->kernels, function, (uintptr_t)k)) st = error_set(err, ST_OUT_OF_MEMORY, "the host has no memory left for a kernel");
    if (st) kernel_free(k);
    else *out = k;
    return st;
}

enum status emu_kernel_get(struct emu_kernel **out, struct emu_image *im, uint32_t function, struct error *err)
{
    struct error own;
    uintptr_t found;
    *out = NULL;
    if (!err) err = &own;
    if (function >= im->m->n_functions || !im->m->functions[function].is_entry)
        return error_set(err, ST_INVALID_DEVICE_FUNCTION, "function %u of %s is no kernel", function, im->m->name);
    pthread_mutex_lock(im->lock);
    enum status st = ST_OK;
    if (map_get_int(&im->kernels, function, &found)) *out = (struct emu_kernel *)found;
    else st = kernel_make(out, im, function, err);
    pthread_mutex_unlock(im->lock);
    return st;
}

void emu_function_facts(const struct ptx_module *m, uint32_t function, struct emu_kernel_facts *out)
{
    const struct ptx_function *f = &m->functions[function];
    *out = (struct emu_kernel_facts){ .name = f->name, .param_bytes = f->proto.param_bytes, .max_cluster_rank = f->max_cluster_rank,
                                      .explicit_cluster = f->explicit_cluster, .blocks_are_clusters = f->blocks_are_clusters };
    uint32_t product = 1;
    bool limited = false;
    for (int i = 0; i < 3; i++) {
        uint32_t n = f->req_threads[i] ? f->req_threads[i] : f->max_threads[i];
        out->req_threads[i] = f->req_threads[i];
        out->cluster[i] = f->cluster[i];
        if (n) product *= n, limited = true;
    }
    out->max_threads = limited ? product : 0;
    for (uint32_t i = 0; i < m->n_vars; i++)
        if (m->vars[i].space == PTX_SPACE_CONST) out->const_bytes += (uint32_t)m->vars[i].bytes;
}

void emu_kernel_facts(const struct emu_kernel *k, struct emu_kernel_facts *out) { *out = k->facts; }
