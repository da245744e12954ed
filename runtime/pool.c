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
    int device;                                /* -1: of none */
    struct rt_home home;
    uint64_t max_bytes;
    uint64_t values[RT_POOL_ATTRIBUTES];
    int fd;                                    /* of a shared pool; else 0 */
    bool imported, destroyed;
    uint64_t file_end;
};
_Static_assert(sizeof(struct rt_pool) <= 192, "object_bytes in process.c");

static bool exists(struct rt_home h)
{
    switch (h.place.type) {
    case RT_PLACE_DEVICE: return device_at(h.place.id) != NULL;
    case RT_PLACE_HOST: return true;
    case RT_PLACE_NUMA: return h.place.id == 0;            /* the one node that there is */
    default: return h.managed && h.place.type == RT_PLACE_NONE;
    }
}

enum status rt_pool_create_at(struct rt_pool **out, struct rt_home home, uint64_t max_bytes)
{
    *out = NULL;
    struct rt_pool *p = exists(home) ? object_new(RT_POOL) : NULL;
    if (!p)
        return exists(home) ? ST_OUT_OF_MEMORY : ST_INVALID_VALUE;
    p->device = home.place.type == RT_PLACE_DEVICE ? home.place.id : -1;
    p->home = home;
    p->max_bytes = max_bytes;
    p->values[RT_POOL_REUSE_FOLLOW_EVENTS] = p->values[RT_POOL_REUSE_OPPORTUNISTIC] = p->values[RT_POOL_REUSE_INTERNAL] = 1;
    *out = p;
    return ST_OK;
}

enum status rt_pool_create(struct rt_pool **out, int device, uint64_t max_bytes)
{
    return rt_pool_create_at(out, (struct rt_home){{RT_PLACE_DEVICE, device}, false}, max_bytes);
}

struct rt_home rt_pool_home(const struct rt_pool *p) { return p->home; }

/* ---- which pool is whose ---- */

/* Homes that are no device's memory, once somebody has asked for them. Under the.memory. */
struct home_pools { struct rt_home home; struct rt_pool *standard, *current; };
static VEC(struct home_pools) homes;

static bool same(struct rt_home a, struct rt_home b)
{
    bool numbered = a.place.type == RT_PLACE_DEVICE || a.place.type == RT_PLACE_NUMA;
    return a.managed == b.managed && a.place.type == b.place.type && (!numbered || a.place.id == b.place.id);
}

static bool of_device(struct rt_home h) { return h.place.type == RT_PLACE_DEVICE && !h.managed; }

/* NULL: no memory. */
static struct home_pools *home_of(struct rt_home h)
{
    for (size_t i = 0; i < homes.n; i++)
        if (same(homes.at[i].home, h))
            return &homes.at[i];
    struct home_pools fresh = {.home = h};
    if (rt_pool_create_at(&fresh.standard, h, 0) != ST_OK)
        return NULL;
    fresh.current = fresh.standard;
    return vec_push(&homes, fresh) ? &homes.at[homes.n - 1] : NULL;
}

enum status rt_home_pools(struct rt_home h, struct rt_pool **standard, struct rt_pool **current)
{
    if (!exists(h))
        return ST_INVALID_VALUE;
    pthread_mutex_lock(&the.memory);
    const struct device *d = of_device(h) ? device_at(h.place.id) : NULL;
    const struct home_pools *p = d ? NULL : home_of(h);
    if (standard)
        *standard = d ? d->default_pool : p ? p->standard : NULL;
    if (current)
        *current = d ? d->current_pool : p ? p->current : NULL;
    pthread_mutex_unlock(&the.memory);
    return d || p ? ST_OK : ST_OUT_OF_MEMORY;
}

enum status rt_home_set_current(struct rt_home h, struct rt_pool *p)
{
    if (!exists(h) || !same(h, p->home))
        return ST_INVALID_VALUE;
    if (of_device(h))
        return rt_pool_set_current(h.place.id, p);
    pthread_mutex_lock(&the.memory);
    struct home_pools *at = p->destroyed ? NULL : home_of(h);
    if (at)
        at->current = p;
    pthread_mutex_unlock(&the.memory);
    return at ? ST_OK : ST_INVALID_VALUE;
}

/* p goes: whose current one it was has its standard one again. False: it is a standard one, which stays. Under the.memory. */
static bool leave_home(struct rt_pool *p)
{
    struct device *d = of_device(p->home) ? device_at(p->device) : NULL;
    struct home_pools *h = NULL;
    for (size_t i = 0; i < homes.n && !d; i++)
        if (same(homes.at[i].home, p->home))
            h = &homes.at[i];
    if (p == (d ? d->default_pool : h ? h->standard : NULL))
        return false;
    if (d && d->current_pool == p)
        d->current_pool = d->default_pool;
    if (h && h->current == p)
        h->current = h->standard;
    return true;
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
    pthread_mutex_lock(&the.memory);
    if (p->destroyed || !leave_home(p)) {
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
    if (!d || !of_device(p->home) || p->device != device || p->imported || p->destroyed)
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

enum { ATTACH_GLOBAL = 1 };

static enum rt_memory_kind kind_of(struct rt_home h) { return of_device(h) ? RT_MEMORY_ASYNC : h.managed ? RT_MEMORY_MANAGED : RT_MEMORY_HOST; }
static const char *what_of(struct rt_home h) { return of_device(h) ? NULL : h.managed ? "allocation of a pool of managed memory" : "allocation of a pool of host memory"; }

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
    if (capture_any() && !of_device(p->home) && (st = capture_refuse(s)) != ST_OK)
        return st;                             /* memory of graphs is a device's */
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
    struct allocation_request q = {.context = s->context, .device = p->device >= 0 ? device_at(p->device) : d, .kind = kind_of(p->home), .bytes = bytes,
                                   .flags = p->home.managed ? ATTACH_GLOBAL : 0, .what = what_of(p->home)};
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
    if (!a || a->freeing || !(a->pool || a->kind == RT_MEMORY_ASYNC || a->kind == RT_MEMORY_DEVICE || a->kind == RT_MEMORY_MANAGED))
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
