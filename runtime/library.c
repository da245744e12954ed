/* Libraries: code that no context owns. It becomes a module of a context at first use there; __managed__ variables are the library's own,
 * with one address for all contexts. */
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

struct instance { struct rt_context *context; struct rt_module *module; };
struct managed { const struct ptx_var *var; struct allocation *allocation; };

struct rt_library {
    struct object object;
    struct code *code;
    VEC(struct instance) instances;
    VEC(struct managed) managed;
    struct rt_kernel **kernels; size_t n_kernels;      /* by index in ptx->functions; NULL: not asked for yet */
};
_Static_assert(sizeof(struct rt_library) <= 256, "object_bytes in process.c");

struct rt_kernel {
    struct object object;
    struct rt_library *library;
    uint32_t index;
    struct rt_context *context;                        /* of the function asked for last */
    struct rt_function *function;
};
_Static_assert(sizeof(struct rt_kernel) <= 128, "object_bytes in process.c");

enum status rt_library_load(struct rt_library **out, const void *image, size_t bytes, const char *name, struct error *err)
{
    *out = NULL;
    struct rt_library *l = object_new(RT_LIBRARY);
    if (!l)
        return error_set(err, ST_OUT_OF_MEMORY, "no memory for a library");
    pthread_mutex_lock(&the.code);
    unsigned gpu = (unsigned)the.devices[0].facts->sm;
    enum status st = code_load(&l->code, image, bytes, name, gpu, err);
    if (st == ST_OK) {
        l->n_kernels = l->code->ptx->n_functions;
        l->kernels = calloc(l->n_kernels + 1, sizeof *l->kernels);
        if (!l->kernels) {
            code_unref(l->code);
            st = error_set(err, ST_OUT_OF_MEMORY, "no host memory for a library");
        }
    }
    pthread_mutex_unlock(&the.code);
    if (st != ST_OK) {
        object_free(l);
        return st;
    }
    *out = l;
    return ST_OK;
}

enum status rt_library_unload(struct rt_library *l)
{
    pthread_mutex_lock(&the.code);
    for (size_t i = 0; i < l->instances.n; i++)
        module_unload(l->instances.at[i].module);
    vec_free(&l->instances);
    for (size_t i = 0; i < l->managed.n; i++)
        allocation_drop(l->managed.at[i].allocation);
    vec_free(&l->managed);
    for (size_t i = 0; i < l->n_kernels; i++)
        if (l->kernels[i])
            object_free(l->kernels[i]);
    free(l->kernels);
    code_unref(l->code);
    pthread_mutex_unlock(&the.code);
    object_free(l);
    return ST_OK;
}

/* A context goes: its modules are freed by it. */
void library_forget_context(struct rt_context *c)
{
    for (const struct rt_module *m = c->modules; m; m = m->next) {
        struct rt_library *l = m->library;
        for (size_t i = 0; l && i < l->instances.n; i++)
            if (l->instances.at[i].context == c)
                l->instances.at[i--] = l->instances.at[--l->instances.n];
        for (size_t i = 0; l && i < l->n_kernels; i++)
            if (l->kernels[i] && l->kernels[i]->context == c)
                l->kernels[i]->context = NULL;
    }
}

/* ---- managed variables ---- */

enum status library_place(struct rt_library *l, struct rt_context *c, const struct ptx_var *v, uint64_t *address, struct error *err)
{
    for (size_t i = 0; i < l->managed.n; i++)
        if (l->managed.at[i].var == v) {
            *address = l->managed.at[i].allocation->base;
            return ST_OK;
        }
    struct allocation *a;
    struct allocation_request q = {.device = c->device, .kind = RT_MEMORY_MANAGED, .bytes = v->bytes, .flags = 1, .what = v->name};
    enum status st = allocation_make(&a, &q, err);
    if (st != ST_OK)
        return st;
    if (!vec_push(&l->managed, ((struct managed){v, a}))) {
        allocation_drop(a);
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for variable %s", v->name);
    }
    *address = a->base;
    return ST_OK;
}

/* An image writes initial values; the second image of a library must not undo what the program has written since the first. */
static void *managed_save(const struct rt_library *l)
{
    size_t bytes = 0;
    for (size_t i = 0; i < l->managed.n; i++)
        bytes += l->managed.at[i].allocation->bytes;
    char *saved = bytes ? malloc(bytes) : NULL;
    char *at = saved;
    for (size_t i = 0; saved && i < l->managed.n; i++) {
        const struct allocation *a = l->managed.at[i].allocation;
        memcpy(at, (const void *)(uintptr_t)a->base, a->bytes);
        at += a->bytes;
    }
    return saved;
}

static void managed_restore(const struct rt_library *l, size_t n, void *saved)
{
    const char *at = saved;
    for (size_t i = 0; saved && i < n; i++) {
        const struct allocation *a = l->managed.at[i].allocation;
        memcpy((void *)(uintptr_t)a->base, at, a->bytes);
        at += a->bytes;
    }
    free(saved);
}

/* ---- modules and functions ---- */

/* Under the.code. */
static enum status instance_get(struct rt_module **out, struct rt_library *l, struct rt_context *c, struct error *err)
{
    *out = NULL;
    for (size_t i = 0; i < l->instances.n; i++)
        if (l->instances.at[i].context == c) {
            *out = l->instances.at[i].module;
            return ST_OK;
        }
    if (!vec_reserve(&l->instances, l->instances.n + 1))
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for a module");
    size_t n = l->managed.n;
    void *saved = managed_save(l);
    enum status st = module_make(out, c, l->code, l, err);
    managed_restore(l, n, saved);
    if (st == ST_OK)
        l->instances.at[l->instances.n++] = (struct instance){c, *out};
    return st;
}

enum status rt_library_module(struct rt_module **out, struct rt_library *l, struct rt_context *c, struct error *err)
{
    *out = NULL;
    enum status st = context_status(c);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&the.code);
    st = instance_get(out, l, c, err);
    pthread_mutex_unlock(&the.code);
    return st;
}

static struct rt_kernel *kernel_at(struct rt_library *l, uint32_t index)
{
    const struct ptx_function *f = &l->code->ptx->functions[index];
    if (!f->is_entry || !f->has_body)
        return NULL;
    if (!l->kernels[index]) {
        struct rt_kernel *k = l->kernels[index] = object_new(RT_KERNEL);
        if (k) {
            k->library = l;
            k->index = index;
        }
    }
    return l->kernels[index];
}

enum status rt_library_kernel(struct rt_kernel **out, struct rt_library *l, const char *name, struct error *err)
{
    pthread_mutex_lock(&the.code);
    int32_t index = ptx_function_find(l->code->ptx, name);
    *out = index >= 0 ? kernel_at(l, (uint32_t)index) : NULL;
    pthread_mutex_unlock(&the.code);
    if (*out)
        return ST_OK;
    return error_set(err, ST_NOT_FOUND, "%s has no kernel named %s", l->code->name, name);
}

size_t rt_library_kernels(struct rt_library *l, struct rt_kernel **out, size_t n)
{
    size_t count = 0;
    pthread_mutex_lock(&the.code);
    for (uint32_t i = 0; i < l->n_kernels; i++) {
        struct rt_kernel *k = kernel_at(l, i);
        if (k && count < n)
            out[count] = k;
        count += k != NULL;
    }
    pthread_mutex_unlock(&the.code);
    return count;
}

enum status rt_kernel_function(struct rt_function **out, struct rt_kernel *k, struct rt_context *c, struct error *err)
{
    struct rt_module *m;
    enum status st = ST_OK;
    pthread_mutex_lock(&the.code);
    if (k->context != c) {
        st = instance_get(&m, k->library, c, err);
        if (st == ST_OK) {
            k->function = module_function_at(m, k->index);
            k->context = k->function ? c : NULL;
            if (!k->function)
                st = error_set(err, ST_OUT_OF_MEMORY, "no memory for a kernel");
        }
    }
    *out = st == ST_OK ? k->function : NULL;
    pthread_mutex_unlock(&the.code);
    return st;
}

struct rt_library *rt_kernel_library(const struct rt_kernel *k) { return k->library; }
const char *rt_kernel_name(const struct rt_kernel *k) { return k->library->code->ptx->functions[k->index].name; }

/* ---- variables ---- */

enum status rt_library_global(struct rt_library *l, struct rt_context *c, const char *name, uint64_t *address, uint64_t *bytes, struct error *err)
{
    struct rt_module *m;
    enum status st = rt_library_module(&m, l, c, err);
    return st == ST_OK ? rt_module_global(m, name, address, bytes, err) : st;
}

/* Asked for before any context exists: device 0's primary context, active or not, then holds the variable's initial value. */
enum status rt_library_managed(struct rt_library *l, const char *name, uint64_t *address, uint64_t *bytes, struct error *err)
{
    struct rt_module *m;
    int32_t sym = ptx_symbol_find(l->code->ptx, name);
    const struct ptx_var *v = sym >= 0 ? ptx_symbol_var(l->code->ptx, NULL, sym) : NULL;
    if (!v || !v->managed)
        return error_set(err, ST_NOT_FOUND, "%s has no managed variable named %s", l->code->name, name);
    pthread_mutex_lock(&the.code);
    enum status st = l->instances.n ? ST_OK : instance_get(&m, l, the.devices[0].primary, err);
    pthread_mutex_unlock(&the.code);
    if (st != ST_OK)
        return st;
    for (size_t i = 0; i < l->managed.n; i++)
        if (l->managed.at[i].var == v) {
            *address = l->managed.at[i].allocation->base;
            *bytes = v->bytes;
            return ST_OK;
        }
    return error_set(err, ST_NOT_FOUND, "managed variable %s has no storage", name);
}
