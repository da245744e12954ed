/* Allocations: device, host, registered and managed memory, and what an address belongs to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/checkpoint/host.h"
#include "runtime/internal.h"

enum { GRAIN = 512, PITCH_GRAIN = 512 };
#define DRIVER_SHARE ((uint64_t)320 << 20)     /* of a GPU's memory that programs never get: about what a context takes */

static struct allocation *allocations;         /* all of them, newest first; under the.memory */
static uint64_t next_allocation;

static const struct { const char *what; uint8_t range; } kinds[] = {
    [RT_MEMORY_DEVICE] = {"cudaMalloc", EMU_RANGE_DEVICE}, [RT_MEMORY_HOST] = {"cudaHostAlloc", EMU_RANGE_HOST},
    [RT_MEMORY_REGISTERED] = {"cudaHostRegister", EMU_RANGE_HOST}, [RT_MEMORY_MANAGED] = {"cudaMallocManaged", EMU_RANGE_MANAGED},
    [RT_MEMORY_VARIABLE] = {"variable", EMU_RANGE_VARIABLE}, [RT_MEMORY_ASYNC] = {"cudaMallocAsync", EMU_RANGE_DEVICE},
    [RT_MEMORY_ARRAY] = {"array", EMU_RANGE_DEVICE}, [RT_MEMORY_MAPPED] = {"cuMemMap", EMU_RANGE_DEVICE},
};

static bool on_device(enum rt_memory_kind kind) { return kind != RT_MEMORY_HOST && kind != RT_MEMORY_REGISTERED; }

static uint64_t usable(const struct device *d) { return d->facts->memory_bytes - DRIVER_SHARE; }

void rt_device_memory(int device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    const struct device *d = device_at(device);
    pthread_mutex_lock(&the.memory);
    *total_bytes = d ? d->facts->memory_bytes : 0;
    *free_bytes = d && usable(d) > d->used_bytes ? usable(d) - d->used_bytes : 0;
    pthread_mutex_unlock(&the.memory);
    if (host_watched())                        /* memory that streams free goes when they get there */
        host_answer(free_bytes, sizeof *free_bytes);
}

/* ---- records ---- */

void allocations_visit(void (*fn)(void *user, const struct allocation *a), void *user)
{
    pthread_mutex_lock(&the.memory);
    for (const struct allocation *a = allocations; a; a = a->next)
        fn(user, a);
    pthread_mutex_unlock(&the.memory);
}

static void link_record(struct allocation *a)
{
    a->next = allocations;
    if (allocations)
        allocations->prev = a;
    allocations = a;
}

static void unlink_record(struct allocation *a)
{
    if (a->next)
        a->next->prev = a->prev;
    if (a->prev)
        a->prev->next = a->next;
    else
        allocations = a->next;
}

enum block_side memory_side(enum rt_memory_kind kind) { return kind == RT_MEMORY_HOST || kind == RT_MEMORY_MANAGED || kind == RT_MEMORY_VARIABLE ? BLOCK_HOST : BLOCK_DEVICE; }

static enum status charge(struct allocation *a, struct error *err)
{
    struct device *d = a->device;
    if (a->opens || !on_device(a->kind) || !d || a->kind == RT_MEMORY_MAPPED)
        return ST_OK;
    uint64_t grain = a->bytes >= RT_GRANULARITY / 2 ? RT_GRANULARITY : GRAIN;
    uint64_t bytes = (a->bytes + grain - 1) / grain * grain;
    if (a->kind == RT_MEMORY_MANAGED)          /* may be larger than the GPU: it pages */
        bytes = 0;
    else if (bytes > usable(d) || d->used_bytes > usable(d) - bytes)
        return error_set(err, ST_OUT_OF_MEMORY, "%s of %llu bytes: %s has %llu bytes left of %llu", kinds[a->kind].what, (unsigned long long)a->bytes,
                         d->facts->name, (unsigned long long)(usable(d) > d->used_bytes ? usable(d) - d->used_bytes : 0), (unsigned long long)d->facts->memory_bytes);
    a->charged_bytes = bytes;
    d->used_bytes += bytes;
    if (d->used_bytes > d->peak_bytes)
        d->peak_bytes = d->used_bytes;
    return ST_OK;
}

static void uncharge(struct allocation *a)
{
    if (a->device)
        a->device->used_bytes -= a->charged_bytes;
    if (a->pool)
        pool_account_free(a);
}

/* Bytes that kernels may touch. Programs that read a vector across the end are none the wiser on hardware, whose allocations are multiples of 512 bytes. */
static uint64_t reach(const struct allocation *a)
{
    uint64_t rounded = (a->bytes + GRAIN - 1) / GRAIN * GRAIN;
    return rt_knobs()->slack && a->kind == RT_MEMORY_DEVICE && rounded <= a->block_bytes ? rounded : a->bytes;
}

static enum status range_add(struct allocation *a, const char *what, struct error *err)
{
    struct emu_range r = {.lo = a->base, .hi = a->base + reach(a), .kind = kinds[a->kind].range,
                          .device = (uint16_t)(a->device ? a->device->ordinal : 0), .owner = a};
    r.watched = host_records() && (r.kind == EMU_RANGE_HOST || r.kind == EMU_RANGE_MANAGED);
    if (what)
        snprintf(r.what, sizeof r.what, "%s", what);
    else
        snprintf(r.what, sizeof r.what, "%s #%llu", kinds[a->kind].what, (unsigned long long)a->id);
    return emu_space_add(the.space, &r, err);
}

enum status allocation_make(struct allocation **out, const struct allocation_request *q, struct error *err)
{
    *out = NULL;
    if (!q->bytes)
        return error_set(err, ST_INVALID_VALUE, "an allocation of 0 bytes");
    if (q->bytes > EMU_SPAN)
        return error_set(err, ST_OUT_OF_MEMORY, "an allocation of %llu bytes", (unsigned long long)q->bytes);
    struct allocation *a = calloc(1, sizeof *a);
    if (!a)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for an allocation record");
    *a = (struct allocation){.bytes = q->bytes, .context = q->context, .device = q->device, .kind = q->kind, .flags = q->flags, .pool = q->pool};
    pthread_mutex_lock(&the.memory);
    a->id = ++next_allocation;
    a->opens = q->imported;
    enum status st = charge(a, err);
    if (st == ST_OK) {
        a->block = q->block ? q->block : block_get(a->bytes, memory_side(a->kind), &a->block_bytes);
        if (q->block)
            a->block_bytes = q->block_bytes;
        a->base = q->base ? q->base : a->block;
        st = a->base ? range_add(a, q->what, err) : error_set(err, ST_OUT_OF_MEMORY, "device addresses are exhausted");
        if (st != ST_OK) {
            if (a->block && !q->block)         /* else it is still the caller's */
                block_put(a->block, memory_side(a->kind), a->block_bytes);
            uncharge(a);
        }
    }
    if (st == ST_OK) {
        link_record(a);
        *out = a;
    }
    pthread_mutex_unlock(&the.memory);
    if (st != ST_OK)
        free(a);
    return st;
}

static void drop_locked(struct allocation *a)
{
    if (a->graph)
        graph_memory_lost(a->graph);
    emu_space_remove(the.space, a->base, NULL);
    if (a->block)
        block_put(a->block, memory_side(a->kind), a->block_bytes);
    uncharge(a);
    unlink_record(a);
    advice_drop(a->advice);
    free(a);
}

void allocation_drop(struct allocation *a)
{
    pthread_mutex_lock(&the.memory);
    drop_locked(a);
    pthread_mutex_unlock(&the.memory);
}

/* Under the.memory. */
static struct allocation *find_locked(uint64_t address)
{
    struct emu_range r;
    return emu_space_find(the.space, address, &r) ? r.owner : NULL;
}

struct allocation *allocation_at(uint64_t base)
{
    pthread_mutex_lock(&the.memory);
    struct allocation *a = find_locked(base);
    pthread_mutex_unlock(&the.memory);
    return a && a->base == base ? a : NULL;
}

struct allocation *allocation_first(void) { return allocations; }

void context_free_memory(struct rt_context *c)
{
    pthread_mutex_lock(&the.memory);
    for (struct allocation *a = allocations, *next; a; a = next) {
        next = a->next;
        if (a->context == c && a->kind != RT_MEMORY_MAPPED)
            drop_locked(a);
    }
    pthread_mutex_unlock(&the.memory);
}

/* ---- what an address is ---- */

bool rt_memory_find(uint64_t address, struct rt_memory *out)
{
    pthread_mutex_lock(&the.memory);
    const struct allocation *a = find_locked(address);
    if (a)
        *out = (struct rt_memory){.base = a->base, .bytes = a->bytes, .kind = a->kind, .context = a->context, .device = a->device ? a->device->ordinal : 0,
                                  .flags = a->flags, .id = a->id, .pool = a->pool, .sync_memops = a->sync_memops};
    pthread_mutex_unlock(&the.memory);
    return a;
}

enum status rt_memory_set_sync_memops(uint64_t address, bool on)
{
    pthread_mutex_lock(&the.memory);
    struct allocation *a = find_locked(address);
    if (a)
        a->sync_memops = on;
    pthread_mutex_unlock(&the.memory);
    return a ? ST_OK : ST_INVALID_VALUE;
}

/* Neighbouring mappings (cuMemMap) count as one stretch; everything else is one allocation. */
enum place memory_place(uint64_t address, uint64_t bytes)
{
    struct emu_range r;
    if (!emu_space_find(the.space, address, &r))
        return address >= EMU_BASE && address < EMU_BASE + EMU_SPAN ? PLACE_BAD : PLACE_PAGEABLE;
    enum place place = r.kind == EMU_RANGE_HOST ? PLACE_HOST : PLACE_DEVICE;
    if (bytes > UINT64_MAX - address)
        return PLACE_BAD;
    uint64_t end = address + bytes;
    while (end > r.hi)
        if (!emu_space_find(the.space, r.hi, &r))
            return address >= EMU_BASE && address < EMU_BASE + EMU_SPAN ? PLACE_BAD : PLACE_PAGEABLE;
    return place;
}

/* ---- the calls ---- */

static enum status make(struct rt_context *c, enum rt_memory_kind kind, uint64_t bytes, uint32_t flags, uint64_t *address, struct error *err)
{
    enum status st = context_status(c);
    if (st == ST_OK && capture_any())
        st = capture_refuse_unsafe();
    if (st != ST_OK)
        return st;
    struct allocation *a;
    st = allocation_make(&a, &(struct allocation_request){.context = c, .device = c->device, .kind = kind, .bytes = bytes, .flags = flags}, err);
    if (st == ST_OK)
        *address = a->base;
    return st;
}

enum status rt_alloc(struct rt_context *c, uint64_t bytes, uint64_t *address, struct error *err)
{
    return make(c, RT_MEMORY_DEVICE, bytes, 0, address, err);
}

enum status rt_alloc_managed(struct rt_context *c, uint64_t bytes, uint32_t flags, uint64_t *address, struct error *err)
{
    return make(c, RT_MEMORY_MANAGED, bytes, flags, address, err);
}

enum status rt_alloc_pitch(struct rt_context *c, uint64_t width, uint64_t height, uint64_t *address, uint64_t *pitch, struct error *err)
{
    if (!width || !height || width > c->device->facts->max_pitch_bytes)
        return error_set(err, ST_INVALID_VALUE, "a pitched allocation of %llu x %llu bytes", (unsigned long long)width, (unsigned long long)height);
    *pitch = (width + PITCH_GRAIN - 1) / PITCH_GRAIN * PITCH_GRAIN;
    if (height > EMU_SPAN / *pitch)
        return error_set(err, ST_OUT_OF_MEMORY, "a pitched allocation of %llu x %llu bytes", (unsigned long long)width, (unsigned long long)height);
    return rt_alloc(c, *pitch * height, address, err);
}

enum status rt_free(uint64_t address)
{
    if (!address)
        return ST_OK;
    struct allocation *a = allocation_at(address);
    if (!a || !(a->pool || a->kind == RT_MEMORY_DEVICE || a->kind == RT_MEMORY_MANAGED || a->kind == RT_MEMORY_ASYNC) || (a->opens && a->kind == RT_MEMORY_DEVICE))
        return ST_INVALID_VALUE;               /* what cudaIpcOpenMemHandle gave is closed, not freed */
    enum status st = context_finish(a->context);
    if (st == ST_OK && a->graph)
        return graph_memory_free(a->graph);
    if (st == ST_OK)
        allocation_drop(a);
    return st;
}

enum status rt_host_alloc(struct rt_context *c, uint64_t bytes, uint32_t flags, void **p, struct error *err)
{
    uint64_t address = 0;
    enum status st = make(c, RT_MEMORY_HOST, bytes, flags, &address, err);
    *p = (void *)(uintptr_t)address;
    return st;
}

enum status rt_host_free(void *p)
{
    if (!p)
        return ST_OK;
    struct allocation *a = allocation_at((uint64_t)(uintptr_t)p);
    if (!a || a->kind != RT_MEMORY_HOST || a->pool)        /* a pool's: cudaFree, cudaFreeAsync */
        return ST_INVALID_VALUE;
    enum status st = context_finish(a->context);
    if (st == ST_OK)
        allocation_drop(a);
    return st;
}

enum status rt_host_register(struct rt_context *c, void *p, uint64_t bytes, uint32_t flags)
{
    uint64_t lo = (uint64_t)(uintptr_t)p;
    if (!p || !bytes || bytes > UINT64_MAX - lo)
        return ST_INVALID_VALUE;
    enum status st = context_status(c);
    if (st != ST_OK)
        return st;
    if (host_watched())
        host_registers(p, bytes);
    struct allocation *a = calloc(1, sizeof *a);
    if (!a)
        return ST_OUT_OF_MEMORY;
    *a = (struct allocation){.base = lo, .bytes = bytes, .context = c, .device = c->device, .kind = RT_MEMORY_REGISTERED, .flags = flags};
    pthread_mutex_lock(&the.memory);
    a->id = ++next_allocation;
    st = range_add(a, NULL, NULL);             /* it fails when the range overlaps another */
    if (st == ST_OK)
        link_record(a);
    pthread_mutex_unlock(&the.memory);
    if (st != ST_OK)
        free(a);
    return st == ST_INVALID_VALUE ? ST_HOST_MEMORY_ALREADY_REGISTERED : st;
}

enum status rt_host_unregister(void *p)
{
    struct allocation *a = allocation_at((uint64_t)(uintptr_t)p);
    if (!a || a->kind != RT_MEMORY_REGISTERED)
        return ST_HOST_MEMORY_NOT_REGISTERED;
    enum status st = context_finish(a->context);
    if (st == ST_OK && host_watched())
        host_unregisters(p);
    if (st == ST_OK)
        allocation_drop(a);
    return st;
}

/* ---- malloc and free inside kernels ----
 * Blocks are powers of two with a header; the heap is one allocation, so its bounds, not those of each block, are checked. */

struct heap_block { uint32_t magic, shift; uint64_t next; };
enum { HEAP_LIVE = 0x70616568, HEAP_DEAD = 0x64616564, HEAP_MIN_SHIFT = 5 };

static bool heap_open(struct rt_context *c)
{
    struct allocation *a;
    struct allocation_request q = {.context = c, .device = c->device, .kind = RT_MEMORY_VARIABLE, .bytes = c->limits[RT_LIMIT_MALLOC_HEAP], .what = "device heap (malloc in kernels)"};
    if (allocation_make(&a, &q, NULL) != ST_OK)
        return false;
    c->heap.base = c->heap.top = a->base;
    c->heap.bytes = a->bytes;
    return true;
}

static struct heap_block *heap_find(struct device_heap *h, unsigned shift)
{
    for (unsigned s = shift; s < 40; s++)
        if (h->free_head[s]) {
            struct heap_block *b = (struct heap_block *)(uintptr_t)h->free_head[s];
            h->free_head[s] = b->next;
            return b;
        } else if (s == shift && (1ull << shift) <= h->base + h->bytes - h->top) {
            struct heap_block *fresh = (struct heap_block *)(uintptr_t)h->top;
            h->top += 1ull << shift;
            fresh->shift = shift;
            return fresh;
        }
    return NULL;
}

uint64_t heap_alloc(void *context, uint64_t bytes)
{
    struct rt_context *c = context;
    unsigned shift = HEAP_MIN_SHIFT;
    while (shift < 40 && (1ull << shift) - sizeof(struct heap_block) < bytes)
        shift++;
    pthread_mutex_lock(&c->heap.lock);
    struct heap_block *b = c->heap.base || heap_open(c) ? heap_find(&c->heap, shift) : NULL;
    if (b)
        b->magic = HEAP_LIVE;
    pthread_mutex_unlock(&c->heap.lock);
    return b ? (uint64_t)(uintptr_t)(b + 1) : 0;
}

bool heap_free(void *context, uint64_t address)
{
    struct rt_context *c = context;
    struct device_heap *h = &c->heap;
    pthread_mutex_lock(&h->lock);
    bool good = address > h->base && address < h->top && address % sizeof(struct heap_block) == 0;
    struct heap_block *b = (struct heap_block *)(uintptr_t)address - 1;
    good = good && b->magic == HEAP_LIVE && b->shift >= HEAP_MIN_SHIFT && b->shift < 40;
    if (good) {
        b->magic = HEAP_DEAD;
        b->next = h->free_head[b->shift];
        h->free_head[b->shift] = (uint64_t)(uintptr_t)b;
    }
    pthread_mutex_unlock(&h->lock);
    return good;
}

void heap_keep(const struct device_heap *h, struct sink *to)
{
    put_u64(to, h->base);
    put_u64(to, h->top);
    put(to, h->free_head, sizeof h->free_head);
}

void heap_put_back(struct device_heap *h, struct source *from)
{
    uint64_t base = get_u64(from), top = get_u64(from);
    get(from, h->free_head, sizeof h->free_head);
    top = base ? top : h->base;                /* it was opened since, and stays */
    if (h->top > top)
        memset((void *)(uintptr_t)top, 0, h->top - top);
    h->top = top;
}
