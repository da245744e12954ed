/* Stream-ordered allocation. A block is made at once and freed when its stream gets there; statistics are kept per pool.
 *
 * A pool that is shared with other processes is a file without a name, in which every allocation has a place of its own, of whole 2 MiB units: no
 * place is used twice (a file has room for that), and its memory goes back when the allocation is freed. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "runtime/checkpoint/host.h"
#include "runtime/graph.h"
#include "runtime/internal.h"
#include "runtime/share.h"

struct rt_pool {
    struct object object;
    int device;
    uint64_t max_bytes;
    uint64_t values[RT_POOL_ATTRIBUTES];
    int fd;                                    /* of a shared pool; else 0 */
    bool imported, destroyed;
    uint64_t file_end;
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

/* Under the.memory. */
static void pool_drop(struct rt_pool *p)
{
    if (p->fd)
        close(p->fd);
    object_free(p);
}

enum status rt_pool_destroy(struct rt_pool *p)
{
    struct device *d = device_at(p->device);
    if (p == d->default_pool)
        return ST_INVALID_VALUE;
    pthread_mutex_lock(&the.memory);
    if (d->current_pool == p)
        d->current_pool = d->default_pool;
    if (p->destroyed) {
        pthread_mutex_unlock(&the.memory);
        return ST_INVALID_VALUE;
    }
    p->destroyed = true;
    if (!p->values[RT_POOL_USED_CURRENT])
        pool_drop(p);
    pthread_mutex_unlock(&the.memory);
    return ST_OK;
}

int rt_pool_device(const struct rt_pool *p) { return p->device; }
struct rt_pool *rt_pool_default(int device) { return device_at(device) ? device_at(device)->default_pool : NULL; }
struct rt_pool *rt_pool_current(int device) { return device_at(device) ? device_at(device)->current_pool : NULL; }

enum status rt_pool_set_current(int device, struct rt_pool *p)
{
    struct device *d = device_at(device);
    if (!d || p->device != device || p->imported || p->destroyed)
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
    if (host_watched())
        host_answer(value, sizeof *value);
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
    struct rt_pool *p = a->pool;
    if (p->fd && !a->opens)
        (void)fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(SHARE_DATA + a->file_at), (off_t)a->block_bytes);
    account(p, p->values[RT_POOL_USED_CURRENT] - a->bytes);
    if (p->destroyed && !p->values[RT_POOL_USED_CURRENT])
        pool_drop(p);                          /* its last allocation kept it */
}

/* A place in the pool's file, for q. */
static enum status file_block(struct rt_pool *p, struct allocation_request *q, uint64_t *file_at)
{
    uint64_t bytes = (q->bytes + RT_GRANULARITY - 1) / RT_GRANULARITY * RT_GRANULARITY;
    pthread_mutex_lock(&the.memory);
    q->block = block_get(bytes, BLOCK_DEVICE, &q->block_bytes);
    *file_at = p->file_end;
    bool ok = q->block && ftruncate(p->fd, (off_t)(SHARE_DATA + p->file_end + bytes)) == 0 && share_map(q->block, bytes, p->fd, p->file_end);
    if (ok)
        p->file_end += bytes;
    else if (q->block)
        block_put(q->block, BLOCK_DEVICE, q->block_bytes);
    pthread_mutex_unlock(&the.memory);
    return ok ? ST_OK : ST_OUT_OF_MEMORY;
}

/* The allocation of q in p, which has been charged for it. */
static enum status pool_make(struct rt_pool *p, struct allocation_request *q, struct allocation **a, struct error *err)
{
    uint64_t file_at = 0;
    enum status st = p->fd && q->bytes <= EMU_SPAN / 2 ? file_block(p, q, &file_at) : ST_OK;
    if (st == ST_OK)
        st = allocation_make(a, q, err);
    if (st == ST_OK) {
        (*a)->pool = p;
        (*a)->file_at = file_at;
    } else if (q->block) {
        pthread_mutex_lock(&the.memory);
        block_put(q->block, BLOCK_DEVICE, q->block_bytes);
        pthread_mutex_unlock(&the.memory);
    }
    return st;
}

enum status rt_alloc_async(struct rt_stream *s, struct rt_pool *p, uint64_t bytes, uint64_t *address, struct error *err)
{
    struct device *d = s->context->device;
    enum status st = context_status(s->context);
    if (st != ST_OK)
        return st;
    if (!p)
        p = d->current_pool;
    if (p->imported || p->destroyed)
        return ST_INVALID_VALUE;               /* memory in an imported one is its owner's to give; a destroyed one waits for its last allocation */
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
    st = pool_make(p, &q, &a, err);
    if (st == ST_OK) {
        *address = a->base;
        return ST_OK;
    }
    pthread_mutex_lock(&the.memory);
    account(p, p->values[RT_POOL_USED_CURRENT] - bytes);
    pthread_mutex_unlock(&the.memory);
    return st;
}

/* ---- pools of several processes ---- */

enum status rt_pool_create_shared(struct rt_pool **out, int device, uint64_t max_bytes)
{
    enum status st = rt_pool_create(out, device, max_bytes);
    if (st != ST_OK)
        return st;
    int fd = share_create(SHARE_POOL, device_at(device), 0);
    if (fd < 0) {
        object_free(*out);
        return ST_OUT_OF_MEMORY;
    }
    (*out)->fd = fd;
    return ST_OK;
}

bool rt_pool_is_shared(const struct rt_pool *p) { return p->fd != 0; }

enum status rt_pool_export(const struct rt_pool *p, int *fd)
{
    host_spoil(HOST_SHARES);
    if (!p->fd || p->imported)
        return ST_INVALID_VALUE;
    *fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 0);
    return *fd >= 0 ? ST_OK : ST_OPERATING_SYSTEM;
}

enum status rt_pool_import(struct rt_pool **out, int fd)
{
    host_spoil(HOST_SHARES);
    struct share_header h;
    struct device *d = share_read(fd, SHARE_POOL, &h) ? share_device(&h) : NULL;
    int own = d ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    if (own < 0)
        return ST_INVALID_VALUE;
    enum status st = rt_pool_create(out, d->ordinal, 0);
    if (st != ST_OK) {
        close(own);
        return st;
    }
    (*out)->fd = own;
    (*out)->imported = true;
    return ST_OK;
}

enum status rt_pool_export_pointer(uint64_t address, struct rt_share *out)
{
    struct allocation *a = allocation_at(address);
    if (!a || !a->pool || !a->pool->fd || a->opens || a->freeing)
        return ST_INVALID_VALUE;
    share_ticket(out, SHARE_POOL, a->pool->fd, a->file_at, a->bytes);
    return ST_OK;
}

enum status rt_pool_import_pointer(struct rt_pool *p, struct rt_context *c, const struct rt_share *handle, uint64_t *address, struct error *err)
{
    struct share_place at;
    if (!p->imported || !share_place(handle, SHARE_POOL, p->fd, &at))
        return ST_INVALID_VALUE;
    struct allocation_request q = {.context = c, .device = device_at(p->device), .kind = RT_MEMORY_ASYNC, .bytes = at.bytes, .imported = true, .what = "imported from a pool"};
    pthread_mutex_lock(&the.memory);
    q.block = block_get((at.bytes + RT_GRANULARITY - 1) / RT_GRANULARITY * RT_GRANULARITY, BLOCK_DEVICE, &q.block_bytes);
    bool ok = q.block && share_map(q.block, q.block_bytes, p->fd, at.offset);
    pthread_mutex_unlock(&the.memory);
    struct allocation *a = NULL;
    enum status st = ok ? allocation_make(&a, &q, err) : ST_MAP_FAILED;
    pthread_mutex_lock(&the.memory);
    if (st == ST_OK) {
        a->pool = p;
        a->file_at = at.offset;
        account(p, p->values[RT_POOL_USED_CURRENT] + at.bytes);
        *address = a->base;
    } else if (q.block) {
        block_put(q.block, BLOCK_DEVICE, q.block_bytes);
    }
    pthread_mutex_unlock(&the.memory);
    return st;
}

/* ---- freeing ---- */

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
    } else if (host_watched()) {
        host_step();
    }
    pthread_mutex_unlock(&the.lock);
    if (now)
        allocation_drop(a);
    return now || op ? ST_OK : ST_OUT_OF_MEMORY;
}
