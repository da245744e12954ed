/* Contexts: primary and explicit, the current stack of each thread, limits, what others hang on a context. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/checkpoint/host.h"
#include "runtime/debug/debug.h"
#include "runtime/internal.h"

enum { STACK_DEPTH = 64 };
static _Thread_local struct entry { struct rt_context *context; struct rt_green *green; } stack[STACK_DEPTH];
static _Thread_local int depth;

/* Defaults of the CUDA driver; the stack size is what cudaDeviceGetLimit answers on current GPUs. */
static const size_t default_limits[RT_LIMITS] = {
    [RT_LIMIT_STACK] = 1024, [RT_LIMIT_PRINTF_FIFO] = 7 << 20 /* of a GPU: 7 MiB rounded in its own way */, [RT_LIMIT_MALLOC_HEAP] = 8 << 20,
    [RT_LIMIT_SYNC_DEPTH] = 0, [RT_LIMIT_PENDING_LAUNCHES] = 2048, [RT_LIMIT_L2_FETCH] = 64, [RT_LIMIT_L2_PERSISTING] = 0,
};

/* ---- making and ending ---- */

static enum status context_fill(struct rt_context *c)
{
    memcpy(c->limits, default_limits, sizeof c->limits);
    memset(c->settings, 0, sizeof c->settings);
    atomic_store(&c->sticky, ST_OK);
    c->dead = false;
    enum status st = rt_stream_create(&c->legacy, c, 0, 0);
    if (st == ST_OK)
        c->legacy->is_legacy = true;
    return st;
}

static struct rt_context *context_new(struct device *d, uint32_t flags)
{
    struct rt_context *c = object_new(RT_CONTEXT);
    if (!c)
        return NULL;
    c->device = d;
    c->flags = flags;
    pthread_mutex_init(&c->output_lock, NULL);
    pthread_mutex_init(&c->heap.lock, NULL);
    pthread_mutex_lock(&the.lock);
    c->id = host_numbered(&the.next_id);
    c->next = the.contexts;
    the.contexts = c;
    pthread_mutex_unlock(&the.lock);
    if (context_fill(c) != ST_OK) {
        c->dead = true;
        return NULL;
    }
    return c;
}

enum status device_make(struct device *d)
{
    d->primary = context_new(d, 0);
    if (!d->primary)
        return ST_OUT_OF_MEMORY;
    d->primary->is_primary = true;
    enum status st = rt_pool_create(&d->default_pool, d->ordinal, 0);
    d->current_pool = d->default_pool;
    return st;
}

/* Everything that the context holds, once its work is done. The object itself stays. */
static void context_empty(struct rt_context *c)
{
    pthread_mutex_lock(&the.lock);
    context_wind_up(c);
    pthread_mutex_unlock(&the.lock);
    if (!atomic_load(&the.leaving))            /* a GPU's printf text that nobody waited for is lost, too */
        context_flush(c);
    for (size_t i = c->stores.n; i-- > 0;)
        if (c->stores.at[i].dtor)
            c->stores.at[i].dtor(c, c->stores.at[i].key, c->stores.at[i].value);
    vec_free(&c->stores);
    vec_free(&c->peers);
    pthread_mutex_lock(&the.code);
    library_forget_context(c);
    context_free_modules(c);
    pthread_mutex_unlock(&the.code);
    pthread_mutex_lock(&the.lock);
    stream_free_all(c);
    context_free_events(c);
    pthread_mutex_unlock(&the.lock);
    context_free_textures(c);
    context_free_arrays(c);
    context_free_memory(c);
    memset(c->heap.free_head, 0, sizeof c->heap.free_head);
    c->heap.base = c->heap.bytes = c->heap.top = 0;
    c->legacy = NULL;
}

enum status rt_context_create(struct rt_context **out, int device, uint32_t flags)
{
    *out = NULL;
    struct device *d = device_at(device);
    if (!d)
        return ST_INVALID_DEVICE;
    *out = context_new(d, flags);
    return *out ? ST_OK : ST_OUT_OF_MEMORY;
}

enum status rt_context_destroy(struct rt_context *c)
{
    if (c->is_primary)
        return ST_INVALID_CONTEXT;
    context_empty(c);
    if (depth && stack[depth - 1].context == c)
        depth--;
    pthread_mutex_lock(&the.lock);
    for (struct rt_context **at = &the.contexts; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    pthread_mutex_unlock(&the.lock);
    vec_free(&c->output);
    pthread_mutex_destroy(&c->output_lock);
    pthread_mutex_destroy(&c->heap.lock);
    object_free(c);
    return ST_OK;
}

enum status rt_primary_retain(struct rt_context **out, int device)
{
    *out = NULL;
    struct device *d = device_at(device);
    if (!d)
        return ST_INVALID_DEVICE;
    pthread_mutex_lock(&the.lock);
    d->retained++;
    d->primary->flags = d->primary_flags;
    pthread_mutex_unlock(&the.lock);
    *out = d->primary;
    return ST_OK;
}

static enum status primary_empty(struct device *d)
{
    context_empty(d->primary);
    return context_fill(d->primary);
}

enum status rt_primary_release(int device)
{
    struct device *d = device_at(device);
    if (!d)
        return ST_INVALID_DEVICE;
    pthread_mutex_lock(&the.lock);
    unsigned was = d->retained;
    if (was)
        d->retained--;
    pthread_mutex_unlock(&the.lock);
    if (!was)
        return ST_INVALID_CONTEXT;
    return was == 1 ? primary_empty(d) : ST_OK;
}

enum status rt_primary_reset(int device)
{
    struct device *d = device_at(device);
    if (!d)
        return ST_INVALID_DEVICE;
    pthread_mutex_lock(&the.lock);
    d->primary_flags = 0;
    pthread_mutex_unlock(&the.lock);
    return primary_empty(d);
}

void rt_primary_state(int device, uint32_t *flags, bool *active)
{
    struct device *d = device_at(device);
    pthread_mutex_lock(&the.lock);
    *flags = d ? d->primary_flags : 0;
    *active = d && d->retained;
    pthread_mutex_unlock(&the.lock);
}

enum status rt_primary_set_flags(int device, uint32_t flags)
{
    struct device *d = device_at(device);
    if (!d)
        return ST_INVALID_DEVICE;
    pthread_mutex_lock(&the.lock);
    d->primary_flags = d->primary->flags = flags;
    pthread_mutex_unlock(&the.lock);
    return ST_OK;
}

/* ---- the calling thread's stack ---- */

struct rt_context *rt_current(void) { return depth ? stack[depth - 1].context : NULL; }
struct rt_green *rt_current_green(void) { return depth ? stack[depth - 1].green : NULL; }

enum status rt_set_current(struct rt_context *c, struct rt_green *g)
{
    if (!c) {
        if (depth)
            depth--;
        return ST_OK;
    }
    if (!depth)
        depth = 1;
    stack[depth - 1] = (struct entry){c, g};
    return ST_OK;
}

enum status rt_push_current(struct rt_context *c, struct rt_green *g)
{
    if (depth == STACK_DEPTH)
        return ST_OUT_OF_MEMORY;
    stack[depth++] = (struct entry){c, g};
    return ST_OK;
}

enum status rt_pop_current(struct rt_context **out, struct rt_green **green)
{
    if (!depth)
        return ST_INVALID_CONTEXT;
    struct entry e = stack[--depth];
    *out = e.context;
    *green = e.green;
    return ST_OK;
}

/* ---- facts ---- */

int rt_context_device(const struct rt_context *c) { return c->device->ordinal; }
uint32_t rt_context_flags(const struct rt_context *c) { return c->flags; }
uint64_t rt_context_id(const struct rt_context *c) { return c->id; }
enum status rt_context_error(const struct rt_context *c) { return (enum status)atomic_load_explicit(&c->sticky, memory_order_acquire); }
enum status context_status(const struct rt_context *c) { return rt_context_error(c); }
int rt_context_setting(const struct rt_context *c, enum rt_setting s) { return c->settings[s]; }
void rt_context_set_setting(struct rt_context *c, enum rt_setting s, int value) { c->settings[s] = value; }

enum status rt_context_set_flags(struct rt_context *c, uint32_t flags)
{
    c->flags = flags;
    if (c->is_primary)
        c->device->primary_flags = flags;
    return ST_OK;
}

/* The first fault stays. */
void context_poison(struct rt_context *c, enum status st)
{
    int none = ST_OK;
    atomic_compare_exchange_strong(&c->sticky, &none, (int)st);
}

enum status rt_context_synchronize(struct rt_context *c)
{
    if (streams_in_simulation())
        return ST_NOT_PERMITTED;
    enum status st = capture_any() ? capture_refuse_context(c) : ST_OK;
    return st == ST_OK ? context_finish(c) : st;
}

enum status context_finish(struct rt_context *c)
{
    if (streams_in_simulation())
        return ST_NOT_PERMITTED;
    enum status st = capture_any() ? capture_refuse_unsafe() : ST_OK;
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&the.lock);
    context_wait(c);
    pthread_mutex_unlock(&the.lock);
    context_flush(c);
    return context_status(c);
}

enum status rt_context_limit(struct rt_context *c, enum rt_limit limit, size_t *value)
{
    if ((unsigned)limit >= RT_LIMITS)
        return ST_UNSUPPORTED_LIMIT;
    *value = c->limits[limit];
    return ST_OK;
}

enum status rt_context_set_limit(struct rt_context *c, enum rt_limit limit, size_t value)
{
    const size_t stack_max = 512 << 10;        /* local memory of a thread (CUDA C++ Programming Guide) */
    switch (limit) {
    case RT_LIMIT_STACK:
        if (value > stack_max)
            return ST_INVALID_VALUE;
        c->limits[limit] = (value + 15) & ~(size_t)15;
        return ST_OK;
    case RT_LIMIT_MALLOC_HEAP:
        if (c->heap.base && value != c->limits[limit])
            return ST_INVALID_VALUE;           /* a kernel that allocates has run */
        if (value > c->device->facts->memory_bytes)
            return ST_OUT_OF_MEMORY;
        c->limits[limit] = value;
        return ST_OK;
    case RT_LIMIT_L2_FETCH:
        if (value > 128)
            return ST_INVALID_VALUE;
        c->limits[limit] = value;
        return ST_OK;
    case RT_LIMIT_L2_PERSISTING:
        c->limits[limit] = value < c->device->facts->l2_persisting_max_bytes ? value : c->device->facts->l2_persisting_max_bytes;
        return ST_OK;
    case RT_LIMIT_SYNC_DEPTH:                  /* gone since compute capability 9.0 and CUDA 12 */
        return ST_UNSUPPORTED_LIMIT;
    case RT_LIMIT_PRINTF_FIFO:
    case RT_LIMIT_PENDING_LAUNCHES:
        c->limits[limit] = value;
        return ST_OK;
    case RT_LIMITS:
        break;
    }
    return ST_UNSUPPORTED_LIMIT;
}

/* ---- peers and stores ---- */

enum status rt_peer_enable(struct rt_context *c, struct rt_context *peer)
{
    if (c == peer || c->device == peer->device)
        return ST_INVALID_DEVICE;
    enum status st = ST_OK;
    pthread_mutex_lock(&the.lock);
    for (size_t i = 0; i < c->peers.n; i++)
        if (c->peers.at[i] == peer)
            st = ST_PEER_ACCESS_ALREADY_ENABLED;
    if (st == ST_OK && !vec_push(&c->peers, peer))
        st = ST_OUT_OF_MEMORY;
    pthread_mutex_unlock(&the.lock);
    return st;
}

enum status rt_peer_disable(struct rt_context *c, struct rt_context *peer)
{
    enum status st = ST_PEER_ACCESS_NOT_ENABLED;
    pthread_mutex_lock(&the.lock);
    for (size_t i = 0; i < c->peers.n; i++)
        if (c->peers.at[i] == peer) {
            c->peers.at[i] = c->peers.at[--c->peers.n];
            st = ST_OK;
            break;
        }
    pthread_mutex_unlock(&the.lock);
    return st;
}

static struct store *store_find(struct rt_context *c, void *key)
{
    for (size_t i = 0; i < c->stores.n; i++)
        if (c->stores.at[i].key == key)
            return &c->stores.at[i];
    return NULL;
}

enum status rt_context_put(struct rt_context *c, void *key, void *value, rt_dtor dtor)
{
    enum status st = ST_OK;
    pthread_mutex_lock(&the.lock);
    struct store *s = store_find(c, key);
    if (s)
        *s = (struct store){key, value, dtor};
    else if (!vec_push(&c->stores, ((struct store){key, value, dtor})))
        st = ST_OUT_OF_MEMORY;
    pthread_mutex_unlock(&the.lock);
    return st;
}

enum status rt_context_get(struct rt_context *c, void *key, void **value)
{
    pthread_mutex_lock(&the.lock);
    const struct store *s = store_find(c, key);
    *value = s ? s->value : NULL;
    pthread_mutex_unlock(&the.lock);
    return s ? ST_OK : ST_INVALID_HANDLE;
}

enum status rt_context_delete(struct rt_context *c, void *key)
{
    pthread_mutex_lock(&the.lock);
    struct store *s = store_find(c, key);
    if (s)
        *s = c->stores.at[--c->stores.n];
    pthread_mutex_unlock(&the.lock);
    return s ? ST_OK : ST_INVALID_HANDLE;
}

/* ---- device printf ---- */

void context_output(void *context, const char *text, size_t n)
{
    struct rt_context *c = context;
    if (debug_on() && debug_printed())
        return;
    pthread_mutex_lock(&c->output_lock);
    if (n && vec_reserve(&c->output, c->output.n + n)) {
        memcpy(c->output.at + c->output.n, text, n);
        c->output.n += n;
    }
    pthread_mutex_unlock(&c->output_lock);
}

/* Through the program's own stdout, so that both kinds of text stay in the order in which they were written. */
void context_flush(struct rt_context *c)
{
    if (host_watched())
        host_synchronised(c);
    if (!__atomic_load_n(&c->output.n, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&c->output_lock);
    if (c->output.n) {
        fwrite(c->output.at, 1, c->output.n, stdout);
        fflush(stdout);
    }
    c->output.n = 0;
    pthread_mutex_unlock(&c->output_lock);
}

void rt_flush_output(void)
{
    pthread_mutex_lock(&the.lock);
    for (struct rt_context *c = the.contexts; c; c = c->next)
        context_flush(c);
    pthread_mutex_unlock(&the.lock);
}
