/* Stream-ordered allocation. A block is made at once and freed when its stream gets there; statistics are kept per pool. */
#include "runtime/graph.h"
#include "runtime/internal.h"

struct rt_pool {
    struct object object;
    int device;
    uint64_t max_bytes;
    uint64_t values[RT_POOL_ATTRIBUTES];
};
_Static_assert(sizeof(struct rt_pool) <= 192, "object_bytes in process.c");

enum status rt_pool_create(struct rt_pool **out, int device, uint64_t max_bytes)
{
    *out = NULL;
    if (device < 0 || device >= the.n_devices)
        return ST_INVALID_VALUE;
    struct rt_pool *p = object_new(RT_POOL);
    if (!p)
        return ST_OUT_OF_MEMORY;
    p->device = device;
    p->max_bytes = max_bytes;
    p->values[RT_POOL_REUSE_FOLLOW_EVENTS] = p->values[RT_POOL_REUSE_OPPORTUNISTIC] = p->values[RT_POOL_REUSE_INTERNAL] = 1;
    *out = p;
    return ST_OK;
}

enum status rt_pool_destroy(struct rt_pool *p)
{
    struct device *d = device_at(p->device);
    if (p == d->default_pool)
        return ST_INVALID_VALUE;
    pthread_mutex_lock(&the.memory);
    if (d->current_pool == p)
        d->current_pool = d->default_pool;
    bool empty = !p->values[RT_POOL_USED_CURRENT];
    pthread_mutex_unlock(&the.memory);
    if (empty)                                 /* else its last allocations keep the record; a few hundred bytes, never reused */
        object_free(p);
    return ST_OK;
}

int rt_pool_device(const struct rt_pool *p) { return p->device; }
struct rt_pool *rt_pool_default(int device) { return device_at(device) ? device_at(device)->default_pool : NULL; }
struct rt_pool *rt_pool_current(int device) { return device_at(device) ? device_at(device)->current_pool : NULL; }

enum status rt_pool_set_current(int device, struct rt_pool *p)
{
    struct device *d = device_at(device);
    if (!d || p->device != device)
        return ST_INVALID_VALUE;
    d->current_pool = p;
    return ST_OK;
}

enum status rt_pool_attribute(const struct rt_pool *p, enum rt_pool_attribute a, uint64_t *value)
{
    if ((unsigned)a >= RT_POOL_ATTRIBUTES)
        return ST_INVALID_VALUE;
    pthread_mutex_lock(&the.memory);
    *value = p->values[a];
    pthread_mutex_unlock(&the.memory);
    return ST_OK;
}

/* The current figures are read-only; the high marks may only be reset. */
enum status rt_pool_set_attribute(struct rt_pool *p, enum rt_pool_attribute a, uint64_t value)
{
    if ((unsigned)a >= RT_POOL_ATTRIBUTES || a == RT_POOL_RESERVED_CURRENT || a == RT_POOL_USED_CURRENT)
        return ST_INVALID_VALUE;
    bool high = a == RT_POOL_RESERVED_HIGH || a == RT_POOL_USED_HIGH;
    if (high && value)
        return ST_INVALID_VALUE;
    pthread_mutex_lock(&the.memory);
    p->values[a] = high ? p->values[a - 1] : value;
    pthread_mutex_unlock(&the.memory);
    return ST_OK;
}

/* Memory behind freed blocks has gone back already: nothing is kept that could be trimmed. */
enum status rt_pool_trim(struct rt_pool *p, uint64_t keep_bytes)
{
    (void)p;
    (void)keep_bytes;
    return ST_OK;
}

static uint64_t reserved(uint64_t used) { return (used + RT_GRANULARITY - 1) / RT_GRANULARITY * RT_GRANULARITY; }

static void account(struct rt_pool *p, uint64_t used)
{
    static const struct { enum rt_pool_attribute current, high; } pairs[] = {
        {RT_POOL_USED_CURRENT, RT_POOL_USED_HIGH}, {RT_POOL_RESERVED_CURRENT, RT_POOL_RESERVED_HIGH}};
    p->values[RT_POOL_USED_CURRENT] = used;
    p->values[RT_POOL_RESERVED_CURRENT] = reserved(used);
    for (size_t i = 0; i < 2; i++)
        if (p->values[pairs[i].current] > p->values[pairs[i].high])
            p->values[pairs[i].high] = p->values[pairs[i].current];
}

void pool_account_free(struct allocation *a)
{
    account(a->pool, a->pool->values[RT_POOL_USED_CURRENT] - a->bytes);
}

enum status rt_alloc_async(struct rt_stream *s, struct rt_pool *p, uint64_t bytes, uint64_t *address, struct error *err)
{
    struct device *d = s->context->device;
    enum status st = context_status(s->context);
    if (st != ST_OK)
        return st;
    if (!p)
        p = d->current_pool;
    struct rt_node_params node = {.type = RT_NODE_ALLOC, .context = s->context};
    node.u.alloc.bytes = bytes, node.u.alloc.device = p->device;
    if (capture_any() && capture_take(s, &node, err, &st)) {
        *address = node.u.alloc.address;
        return st;
    }
    pthread_mutex_lock(&the.memory);
    uint64_t used = p->values[RT_POOL_USED_CURRENT];
    bool fits = !p->max_bytes || (bytes <= p->max_bytes && used <= p->max_bytes - bytes);
    if (fits)
        account(p, used + bytes);
    pthread_mutex_unlock(&the.memory);
    if (!fits)
        return error_set(err, ST_OUT_OF_MEMORY, "the memory pool is limited to %llu bytes", (unsigned long long)p->max_bytes);
    struct allocation *a;
    struct allocation_request q = {.context = s->context, .device = device_at(p->device), .kind = RT_MEMORY_ASYNC, .bytes = bytes, .pool = NULL};
    st = allocation_make(&a, &q, err);
    if (st == ST_OK) {
        a->pool = p;
        *address = a->base;
        return ST_OK;
    }
    pthread_mutex_lock(&the.memory);
    account(p, p->values[RT_POOL_USED_CURRENT] - bytes);
    pthread_mutex_unlock(&the.memory);
    return st;
}

enum status rt_free_async(struct rt_stream *s, uint64_t address)
{
    if (!address)
        return ST_OK;
    enum status st = context_status(s->context);
    if (st != ST_OK)
        return st;
    struct rt_node_params node = {.type = RT_NODE_FREE, .context = s->context};
    node.u.free = address;
    if (capture_any() && capture_take(s, &node, NULL, &st))
        return st;
    struct allocation *a = allocation_at(address);
    if (a && a->graph)
        return graph_memory_free(a->graph);
    if (!a || a->freeing || !(a->kind == RT_MEMORY_ASYNC || a->kind == RT_MEMORY_DEVICE || a->kind == RT_MEMORY_MANAGED))
        return ST_INVALID_VALUE;
    pthread_mutex_lock(&the.lock);
    struct op *op = NULL;
    bool now = stream_idle(s);
    if (!now) {
        op = op_new(s, OP_FREE);
        if (op) {
            a->freeing = true;
            op->u.allocation = a;
            op_push(op);
        }
    }
    pthread_mutex_unlock(&the.lock);
    if (now)
        allocation_drop(a);
    return now || op ? ST_OK : ST_OUT_OF_MEMORY;
}
