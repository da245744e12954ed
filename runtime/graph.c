/* Graphs as objects: nodes, edges, copies, and what graphs keep alive. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/symbol.h"
#include "runtime/graph_internal.h"

static _Atomic uint64_t last_node;

/* ---- parameters of nodes ---- */

enum status node_check(const struct rt_node_params *p, struct error *err)
{
    switch (p->type) {
    case RT_NODE_KERNEL: return rt_is(p->u.kernel.launch.function, RT_FUNCTION) ? launch_check(&p->u.kernel.launch, err) : ST_INVALID_VALUE;
    case RT_NODE_COPY: return copy_check(&p->u.copy);
    case RT_NODE_SET: return set_check(&(struct set){p->u.set.dst, p->u.set.pitch, p->u.set.value, p->u.set.elem_bytes, p->u.set.width, p->u.set.height});
    case RT_NODE_HOST: return p->u.host.fn ? ST_OK : ST_INVALID_VALUE;
    case RT_NODE_GRAPH: return !rt_is(p->u.child, RT_GRAPH) ? ST_INVALID_VALUE : graph_is_single(p->u.child) ? ST_NOT_SUPPORTED : ST_OK;
    case RT_NODE_WAIT: case RT_NODE_RECORD: return rt_is(p->u.event, RT_EVENT) ? ST_OK : ST_INVALID_VALUE;
    case RT_NODE_ALLOC: return p->u.alloc.bytes && device_at(p->u.alloc.device) ? ST_OK : ST_INVALID_VALUE;
    case RT_NODE_FREE: {
        struct allocation *a = allocation_at(p->u.free);
        return a && a->graph ? ST_OK : ST_INVALID_VALUE;
    }
    case RT_NODE_VALUES: return values_check(p->u.values.ops, p->u.values.n);
    case RT_NODE_CONDITION: return condition_check(p);
    case RT_NODE_EMPTY: return ST_OK;
    }
    return ST_INVALID_VALUE;
}

static void payload_drop(struct rt_node *n)
{
    free(n->block);
    free(n->pointers);
    n->block = NULL;
    n->pointers = NULL;
    if (n->p.type == RT_NODE_GRAPH && n->p.u.child)
        graph_drop(n->p.u.child);
    if (n->p.type == RT_NODE_CONDITION)
        condition_bodies_drop(n);
    if (n->memory)
        graph_memory_unref(n->memory);
    n->memory = NULL;
}

/* A kernel's parameters move into the node. */
static enum status keep_kernel(struct rt_node *n)
{
    struct rt_launch *l = &n->p.u.kernel.launch;
    struct rt_function *f = l->function;
    if (!rt_is(f, RT_FUNCTION))
        return ST_INVALID_VALUE;
    const struct ptx_proto *proto = &f->module->code->ptx->functions[f->index].proto;
    n->block = calloc(1, proto->param_bytes + 1u);
    n->pointers = calloc(proto->n_params + 1u, sizeof *n->pointers);
    if (!n->block || !n->pointers)
        return ST_OUT_OF_MEMORY;
    if (proto->n_params)
        launch_params(n->block, l);
    for (uint32_t i = 0; i < proto->n_params; i++) {
        uint64_t at, bytes;
        if (rt_function_param(f, i, &at, &bytes) == ST_OK)
            n->pointers[i] = (char *)n->block + at;
    }
    l->stream = NULL;
    l->params = n->pointers;
    l->buffer = NULL;
    l->buffer_bytes = 0;
    return ST_OK;
}

static enum status keep_values(struct rt_node *n)
{
    size_t bytes = n->p.u.values.n * sizeof *n->p.u.values.ops, given = n->p.u.values.given_bytes;
    char *block = n->block = malloc(bytes + given + 1);
    if (!block)
        return ST_OUT_OF_MEMORY;
    if (bytes)
        memcpy(block, n->p.u.values.ops, bytes);
    if (given)
        memcpy(block + bytes, n->p.u.values.given, given);
    n->p.u.values.ops = (const struct rt_value_op *)(void *)block;
    n->p.u.values.given = block + bytes;
    return ST_OK;
}

static enum status payload_set(struct rt_node *n, const struct rt_node_params *p, bool with_memory)
{
    struct rt_node old = *n;
    enum status st = ST_OK;
    n->p = *p;
    n->block = NULL;
    n->pointers = NULL;
    n->memory = NULL;
    if (p->type == RT_NODE_KERNEL)
        st = keep_kernel(n);
    else if (p->type == RT_NODE_VALUES)
        st = keep_values(n);
    else if (p->type == RT_NODE_CONDITION)
        st = condition_bodies_make(n, p, with_memory);
    else if (p->type == RT_NODE_GRAPH && (st = graph_copy(&n->p.u.child, p->u.child, with_memory)) == ST_OK)
        n->p.u.child->owner = n;
    if (st == ST_OK) {
        payload_drop(&old);
        return ST_OK;
    }
    free(n->block);
    free(n->pointers);
    *n = old;
    return st;
}

/* ---- edges ---- */

static bool has(const node_list *l, const struct rt_node *n)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->at[i] == n)
            return true;
    return false;
}

static bool take_out(node_list *l, const struct rt_node *n)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->at[i] == n) {
            memmove(l->at + i, l->at + i + 1, (--l->n - i) * sizeof *l->at);
            return true;
        }
    return false;
}

static enum status link_nodes(struct rt_node *from, struct rt_node *to)
{
    if (!vec_push(&from->after, to))
        return ST_OUT_OF_MEMORY;
    if (vec_push(&to->before, from))
        return ST_OK;
    from->after.n--;
    return ST_OUT_OF_MEMORY;
}

static bool of_graph(const struct rt_node *n, const struct rt_graph *g) { return rt_is(n, RT_GRAPH_NODE) && n->graph == g; }

enum status rt_graph_edges_add(struct rt_graph *g, struct rt_node *const *from, struct rt_node *const *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!of_graph(from[i], g) || !of_graph(to[i], g) || from[i] == to[i] || has(&to[i]->before, from[i]))
            return ST_INVALID_VALUE;
    enum status st = ST_OK;
    for (size_t i = 0; i < n && st == ST_OK; i++)
        st = link_nodes(from[i], to[i]);
    return st;
}

enum status rt_graph_edges_remove(struct rt_graph *g, struct rt_node *const *from, struct rt_node *const *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!of_graph(from[i], g) || !of_graph(to[i], g) || !has(&to[i]->before, from[i]))
            return ST_INVALID_VALUE;
    if (n && graph_has_memory(g))
        return ST_NOT_SUPPORTED;
    for (size_t i = 0; i < n; i++) {
        take_out(&to[i]->before, from[i]);
        take_out(&from[i]->after, to[i]);
    }
    return ST_OK;
}

struct rt_node *const *rt_node_before(const struct rt_node *n, size_t *count) { return *count = n->before.n, n->before.at; }
struct rt_node *const *rt_node_after(const struct rt_node *n, size_t *count) { return *count = n->after.n, n->after.at; }

/* ---- nodes ---- */

static void node_drop(struct rt_node *n)
{
    payload_drop(n);
    free(n->attributes);
    vec_free(&n->before);
    vec_free(&n->after);
    object_free(n);
}

/* Without recursion: captured graphs are chains of any length. */
bool graph_mark_before(struct rt_graph *g, struct rt_node *const *from, size_t n)
{
    node_list work = {0};
    bool ok = !g->nodes.n || vec_reserve(&work, g->nodes.n);     /* each node gets in once */
    for (size_t i = 0; i < g->nodes.n; i++)
        g->nodes.at[i]->mark = 0;
    for (size_t i = 0; i < n && ok; i++)
        if (of_graph(from[i], g) && !from[i]->mark) {
            from[i]->mark = 1;
            work.at[work.n++] = from[i];
        }
    for (size_t at = 0; at < work.n; at++)
        for (size_t i = 0; i < work.at[at]->before.n; i++) {
            struct rt_node *b = work.at[at]->before.at[i];
            if (!b->mark) {
                b->mark = 1;
                work.at[work.n++] = b;
            }
        }
    vec_free(&work);
    return ok;
}

/* Memory that a node before this one has freed, or new memory. */
static enum status node_memory(struct rt_node *n, struct rt_node *const *deps, size_t n_deps, struct rt_node_params *p, struct error *err)
{
    for (size_t i = 0; i < n->graph->nodes.n && !n->memory; i++) {
        struct graph_memory *m = n->graph->nodes.at[i]->memory;
        if (!m || !m->allocation || !m->freed_by || m->allocation->bytes != p->u.alloc.bytes || m->allocation->device->ordinal != p->u.alloc.device)
            continue;
        if (graph_mark_before(n->graph, deps, n_deps) && m->freed_by->mark) {
            graph_memory_ref(m);
            m->freed_by = NULL;
            n->memory = m;
        }
    }
    if (!n->memory) {
        enum status st = graph_memory_make(&n->memory, p->context, p->u.alloc.device, p->u.alloc.bytes, err);
        if (st != ST_OK)
            return st;
    }
    n->p.u.alloc.address = p->u.alloc.address = n->memory->allocation->base;
    return ST_OK;
}

static struct rt_node *node_new(struct rt_graph *g)
{
    struct rt_node *n = object_new(RT_GRAPH_NODE);
    if (n) {
        n->graph = g;
        n->id = ++last_node;
        n->p.type = RT_NODE_EMPTY;
    }
    return n;
}

enum status rt_node_add(struct rt_node **out, struct rt_graph *g, struct rt_node *const *deps, size_t n_deps, struct rt_node_params *p, struct error *err)
{
    *out = NULL;
    for (size_t i = 0; i < n_deps; i++) {
        if (!of_graph(deps[i], g))
            return ST_INVALID_VALUE;
        for (size_t k = 0; k < i; k++)
            if (deps[k] == deps[i])
                return ST_INVALID_VALUE;
    }
    enum status st = node_check(p, err);
    if (st == ST_OK && p->type == RT_NODE_CONDITION && !condition_of(g, p->u.condition.handle))
        st = ST_INVALID_VALUE;
    if (st != ST_OK)
        return st;
    struct rt_node *n = node_new(g);
    if (!n)
        return ST_OUT_OF_MEMORY;
    st = payload_set(n, p, false);
    if (st == ST_OK && p->type == RT_NODE_ALLOC)
        st = node_memory(n, deps, n_deps, p, err);
    for (size_t i = 0; i < n_deps && st == ST_OK; i++)
        st = link_nodes(deps[i], n);
    if (st == ST_OK && !vec_push(&g->nodes, n))
        st = ST_OUT_OF_MEMORY;
    if (st != ST_OK) {
        for (size_t i = 0; i < n->before.n; i++)
            take_out(&n->before.at[i]->after, n);
        node_drop(n);
        return st;
    }
    if (p->type == RT_NODE_FREE)
        for (size_t i = 0; i < g->nodes.n; i++)
            if (g->nodes.at[i]->memory && g->nodes.at[i]->p.u.alloc.address == p->u.free)
                g->nodes.at[i]->memory->freed_by = n;
    if (p->type == RT_NODE_CONDITION)
        p->u.condition.bodies = n->p.u.condition.bodies;
    *out = n;
    return ST_OK;
}

enum status rt_node_destroy(struct rt_node *n)
{
    if (n->p.type == RT_NODE_ALLOC || n->p.type == RT_NODE_FREE)
        return ST_NOT_SUPPORTED;
    for (size_t i = 0; i < n->before.n; i++)
        take_out(&n->before.at[i]->after, n);
    for (size_t i = 0; i < n->after.n; i++)
        take_out(&n->after.at[i]->before, n);
    take_out(&n->graph->nodes, n);
    node_drop(n);
    return ST_OK;
}

const struct rt_node_params *rt_node_params(const struct rt_node *n) { return &n->p; }
struct rt_graph *rt_node_graph(const struct rt_node *n) { return n->graph; }

enum status rt_node_set_params(struct rt_node *n, const struct rt_node_params *p, struct error *err)
{
    if (p->type != n->p.type || p->type == RT_NODE_GRAPH || p->type == RT_NODE_ALLOC || p->type == RT_NODE_FREE || p->type == RT_NODE_CONDITION)
        return ST_INVALID_VALUE;
    enum status st = node_check(p, err);
    return st == ST_OK ? payload_set(n, p, false) : st;
}

/* ---- attributes of kernel nodes ---- */

enum { COOPERATIVE = 2, CLUSTER = 4 };                  /* CUlaunchAttributeID, of those that a launch has */

enum status rt_node_attribute(const struct rt_node *n, int id, void *value)
{
    if (n->p.type != RT_NODE_KERNEL || id <= 0 || id >= RT_NODE_ATTRIBUTES)
        return ST_INVALID_VALUE;
    memset(value, 0, RT_NODE_ATTRIBUTE_BYTES);
    const struct rt_launch *l = &n->p.u.kernel.launch;
    if (id == COOPERATIVE)
        memcpy(value, &(int){l->cooperative}, sizeof(int));
    else if (id == CLUSTER)
        memcpy(value, l->cluster, sizeof l->cluster);
    else if (n->attributes)
        memcpy(value, n->attributes->value[id], RT_NODE_ATTRIBUTE_BYTES);
    return ST_OK;
}

enum status rt_node_set_attribute(struct rt_node *n, int id, const void *value)
{
    if (n->p.type != RT_NODE_KERNEL || id <= 0 || id >= RT_NODE_ATTRIBUTES)
        return ST_INVALID_VALUE;
    struct rt_launch *l = &n->p.u.kernel.launch;
    if (id == COOPERATIVE || id == CLUSTER) {
        struct rt_launch changed = *l;
        int on;
        memcpy(&on, value, sizeof on);
        if (id == COOPERATIVE)
            changed.cooperative = on != 0;
        else
            memcpy(changed.cluster, value, sizeof changed.cluster);
        enum status st = launch_check(&changed, NULL);
        if (st == ST_OK)
            *l = changed;
        return st;
    }
    if (!n->attributes && !(n->attributes = calloc(1, sizeof *n->attributes)))
        return ST_OUT_OF_MEMORY;
    memcpy(n->attributes->value[id], value, RT_NODE_ATTRIBUTE_BYTES);
    return ST_OK;
}

enum status rt_node_copy_attributes(struct rt_node *to, const struct rt_node *from)
{
    if (to->p.type != RT_NODE_KERNEL || from->p.type != RT_NODE_KERNEL)
        return ST_INVALID_VALUE;
    if (from->attributes && !to->attributes && !(to->attributes = calloc(1, sizeof *to->attributes)))
        return ST_OUT_OF_MEMORY;
    if (from->attributes)
        *to->attributes = *from->attributes;
    to->p.u.kernel.launch.cooperative = from->p.u.kernel.launch.cooperative;
    memcpy(to->p.u.kernel.launch.cluster, from->p.u.kernel.launch.cluster, sizeof from->p.u.kernel.launch.cluster);
    return ST_OK;
}

/* ---- graphs ---- */

enum status rt_graph_create(struct rt_graph **out)
{
    *out = object_new(RT_GRAPH);
    return *out ? ST_OK : ST_OUT_OF_MEMORY;
}

void graph_drop(struct rt_graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++)
        node_drop(g->nodes.at[i]);
    for (size_t i = 0; i < g->held.n; i++)
        (void)rt_user_object_release(g->held.at[i].object, g->held.at[i].refs);
    conditions_drop(g);
    vec_free(&g->nodes);
    vec_free(&g->held);
    object_free(g);
}

enum status rt_graph_destroy(struct rt_graph *g)
{
    if (g->owner || g->of_exec || capture_goes_to(g))
        return ST_INVALID_VALUE;
    graph_drop(g);
    return ST_OK;
}

bool graph_has_memory(const struct rt_graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i]->p.type == RT_NODE_ALLOC || g->nodes.at[i]->p.type == RT_NODE_FREE)
            return true;
    return false;
}

bool graph_is_single(const struct rt_graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i]->p.type == RT_NODE_CONDITION)
            return true;
    return g->conditions.n || graph_has_memory(g);
}

static enum status node_copy(struct rt_graph *to, const struct rt_node *n)
{
    struct rt_node *c = node_new(to);
    if (!c)
        return ST_OUT_OF_MEMORY;
    c->origin = n->id;
    c->disabled = n->disabled;
    enum status st = payload_set(c, &n->p, true);
    if (st == ST_OK && n->attributes)
        st = rt_node_copy_attributes(c, n);
    if (st == ST_OK && n->memory) {
        graph_memory_ref(n->memory);
        c->memory = n->memory;
    }
    if (st == ST_OK && !vec_push(&to->nodes, c))
        st = ST_OUT_OF_MEMORY;
    if (st != ST_OK)
        node_drop(c);
    return st;
}

enum status graph_copy(struct rt_graph **out, const struct rt_graph *g, bool with_memory)
{
    if (!with_memory && graph_is_single(g))
        return ST_NOT_SUPPORTED;
    struct rt_graph *to;
    enum status st = rt_graph_create(&to);
    if (st != ST_OK)
        return st;
    st = conditions_share(to, g);
    for (size_t i = 0; i < g->nodes.n && st == ST_OK; i++) {
        st = node_copy(to, g->nodes.at[i]);
        g->nodes.at[i]->mark = (uint32_t)i;
    }
    for (size_t i = 0; i < g->nodes.n && st == ST_OK; i++)
        for (size_t k = 0; k < g->nodes.at[i]->before.n && st == ST_OK; k++)
            st = link_nodes(to->nodes.at[g->nodes.at[i]->before.at[k]->mark], to->nodes.at[i]);
    for (size_t i = 0; i < g->held.n && st == ST_OK; i++)
        st = rt_graph_retain(to, g->held.at[i].object, g->held.at[i].refs, false);
    if (st == ST_OK)
        *out = to;
    else
        graph_drop(to);
    return st;
}

enum status rt_graph_clone(struct rt_graph **out, const struct rt_graph *g) { return graph_copy(out, g, false); }

struct rt_node *const *rt_graph_nodes(const struct rt_graph *g, size_t *n) { return *n = g->nodes.n, g->nodes.at; }

struct rt_node *rt_graph_find_clone(const struct rt_graph *clone, const struct rt_node *original)
{
    for (size_t i = 0; i < clone->nodes.n; i++) {
        struct rt_node *n = clone->nodes.at[i];
        if (n->origin == original->id)
            return n;
        struct rt_node *inner = n->p.type == RT_NODE_GRAPH ? rt_graph_find_clone(n->p.u.child, original) : NULL;
        for (uint32_t k = 0; n->p.type == RT_NODE_CONDITION && k < n->p.u.condition.n && !inner; k++)
            inner = rt_graph_find_clone(n->p.u.condition.bodies[k], original);
        if (inner)
            return inner;
    }
    return NULL;
}

/* mark: how many of the nodes before it are not in the list yet. The list is its own queue. */
struct rt_node *graph_order(const struct rt_graph *g, node_list *out, enum status *st)
{
    size_t from = out->n;
    *st = g->nodes.n && !vec_reserve(out, out->n + g->nodes.n) ? ST_OUT_OF_MEMORY : ST_OK;
    if (*st != ST_OK)
        return NULL;
    for (size_t i = 0; i < g->nodes.n; i++) {
        g->nodes.at[i]->mark = (uint32_t)g->nodes.at[i]->before.n;
        if (!g->nodes.at[i]->mark)
            out->at[out->n++] = g->nodes.at[i];
    }
    for (size_t at = from; at < out->n; at++)
        for (size_t i = 0; i < out->at[at]->after.n; i++) {
            struct rt_node *next = out->at[at]->after.at[i];
            if (--next->mark == 0)
                out->at[out->n++] = next;
        }
    for (size_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i]->mark)
            return g->nodes.at[i];
    return NULL;
}

void rt_graph_print(const struct rt_graph *g, FILE *to)
{
    static const char *const names[] = {"KERNEL", "MEMCPY", "MEMSET", "HOST", "GRAPH", "EMPTY", "WAIT_EVENT", "EVENT_RECORD", "", "", "MEM_ALLOC", "MEM_FREE", "BATCH_MEM_OP", "CONDITIONAL"};
    fputs("digraph dot {\n", to);
    for (size_t i = 0; i < g->nodes.n; i++) {
        const struct rt_node *n = g->nodes.at[i];
        fprintf(to, "\"node_%llu\" [shape=\"rectangle\" label=\"%zu\\n%s", (unsigned long long)n->id, i, names[n->p.type]);
        if (n->p.type == RT_NODE_KERNEL) {
            const struct rt_launch *l = &n->p.u.kernel.launch;
            char name[256];
            fprintf(to, "\\n%s\\n<<<(%u,%u,%u),(%u,%u,%u),%u>>>", symbol_demangle(rt_function_name(l->function), name, sizeof name), l->grid[0], l->grid[1],
                    l->grid[2], l->block[0], l->block[1], l->block[2], l->dynamic_shared_bytes);
        }
        fputs("\"];\n", to);
        for (size_t k = 0; k < n->after.n; k++)
            fprintf(to, "\"node_%llu\" -> \"node_%llu\";\n", (unsigned long long)n->id, (unsigned long long)n->after.at[k]->id);
    }
    fputs("}\n", to);
}

/* ---- user objects ---- */

struct rt_user_object { struct object object; void *p; rt_host_fn destroy; _Atomic uint32_t refs; };
_Static_assert(sizeof(struct rt_user_object) <= 128, "object_bytes in process.c");

enum status rt_user_object_create(struct rt_user_object **out, void *p, rt_host_fn destroy, uint32_t refs)
{
    if (!destroy || !refs)
        return ST_INVALID_VALUE;
    struct rt_user_object *o = object_new(RT_USER_OBJECT);
    if (!o)
        return ST_OUT_OF_MEMORY;
    o->p = p;
    o->destroy = destroy;
    o->refs = refs;
    *out = o;
    return ST_OK;
}

enum status rt_user_object_retain(struct rt_user_object *o, uint32_t refs)
{
    if (!refs || refs > INT32_MAX)
        return ST_INVALID_VALUE;
    o->refs += refs;
    return ST_OK;
}

enum status rt_user_object_release(struct rt_user_object *o, uint32_t refs)
{
    if (!refs || refs > o->refs)
        return ST_INVALID_VALUE;
    if (atomic_fetch_sub(&o->refs, refs) == refs) {
        o->destroy(o->p);
        object_free(o);
    }
    return ST_OK;
}

enum status rt_graph_retain(struct rt_graph *g, struct rt_user_object *o, uint32_t refs, bool move)
{
    if (!refs || (move && refs > o->refs))
        return ST_INVALID_VALUE;
    size_t i = 0;
    while (i < g->held.n && g->held.at[i].object != o)
        i++;
    if (i == g->held.n && !vec_push(&g->held, ((struct held){o, 0})))
        return ST_OUT_OF_MEMORY;
    g->held.at[i].refs += refs;
    return move ? ST_OK : rt_user_object_retain(o, refs);
}

enum status rt_graph_release(struct rt_graph *g, struct rt_user_object *o, uint32_t refs)
{
    for (size_t i = 0; i < g->held.n; i++)
        if (g->held.at[i].object == o) {
            if (!refs || refs > g->held.at[i].refs)
                return ST_INVALID_VALUE;
            if ((g->held.at[i].refs -= refs) == 0)
                g->held.at[i] = g->held.at[--g->held.n];
            return rt_user_object_release(o, refs);
        }
    return ST_INVALID_VALUE;
}
