/* Multicast objects: memory of several devices under one address.
 *
 * Each device of an object has a block of addresses of its own, as large as the object, in which the memory appears that is bound to it. A view of the object is
 * replicated to these blocks for multimem instructions (emu_space_replicate); other accesses to it are errors. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "runtime/mapping.h"
#include "runtime/share.h"

struct binding { unsigned member; uint64_t at, bytes; struct rt_mapping *physical; };
struct member { struct device *device; uint64_t block, block_bytes; };
struct multicast {
    unsigned wanted, n;
    struct member members[EMU_REPLICAS];
    VEC(struct binding) bindings;
};

enum status rt_multicast_create(struct rt_mapping **out, unsigned devices, uint64_t bytes)
{
    *out = NULL;
    if (!devices || devices > (unsigned)the.n_devices || devices > EMU_REPLICAS || !bytes || bytes % RT_GRANULARITY)
        return ST_INVALID_VALUE;
    if (bytes > EMU_SPAN / EMU_REPLICAS)
        return ST_OUT_OF_MEMORY;
    struct multicast *mc = calloc(1, sizeof *mc);
    struct rt_mapping *m = mc ? mapping_new(device_at(0), bytes, -1) : NULL;
    if (!m) {
        free(mc);
        return ST_OUT_OF_MEMORY;
    }
    mc->wanted = devices;
    m->multicast = mc;
    *out = m;
    return ST_OK;
}

bool rt_is_multicast(const struct rt_mapping *m) { return m->multicast != NULL; }
bool multicast_complete(const struct rt_mapping *m) { return m->multicast->n == m->multicast->wanted; }

enum status rt_multicast_add(struct rt_mapping *m, int device)
{
    struct multicast *mc = m->multicast;
    struct device *d = device_at(device);
    enum status st = d && mc->n < mc->wanted ? ST_OK : ST_INVALID_VALUE;
    pthread_mutex_lock(&the.memory);
    for (unsigned i = 0; i < mc->n; i++)
        if (mc->members[i].device == d)
            st = ST_INVALID_VALUE;
    struct member fresh = {.device = d};
    if (st == ST_OK && !(fresh.block = block_get(m->bytes, BLOCK_DEVICE, &fresh.block_bytes)))
        st = ST_OUT_OF_MEMORY;
    if (st == ST_OK) {
        mprotect((void *)(uintptr_t)fresh.block, fresh.block_bytes, PROT_NONE);
        mc->members[mc->n++] = fresh;
    }
    pthread_mutex_unlock(&the.memory);
    return st;
}

/* Under the.memory. */
static void unbind(struct multicast *mc, size_t i)
{
    struct binding b = mc->bindings.at[i];
    uint64_t lo = mc->members[b.member].block + b.at;
    emu_space_remove(the.space, lo, NULL);
    mmap((void *)(uintptr_t)lo, b.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    mc->bindings.at[i] = mc->bindings.at[--mc->bindings.n];
    b.physical->maps--;
    mapping_drop(b.physical);
}

static bool taken(const struct multicast *mc, unsigned member, uint64_t at, uint64_t bytes)
{
    for (size_t i = 0; i < mc->bindings.n; i++) {
        const struct binding *b = &mc->bindings.at[i];
        if (b->member == member && b->at < at + bytes && at < b->at + b->bytes)
            return true;
    }
    return false;
}

/* Under the.memory. */
static enum status bind(struct rt_mapping *m, uint64_t at, struct rt_mapping *physical, uint64_t offset, uint64_t bytes)
{
    struct multicast *mc = m->multicast;
    unsigned k = 0;
    if (!bytes || (at | offset | bytes) % RT_GRANULARITY || bytes > m->bytes || at > m->bytes - bytes || bytes > physical->bytes || offset > physical->bytes - bytes)
        return ST_INVALID_VALUE;
    if (!multicast_complete(m))
        return ST_ILLEGAL_STATE;
    while (k < mc->n && mc->members[k].device != physical->device)
        k++;
    if (k == mc->n || physical->host || physical->multicast || taken(mc, k, at, bytes))
        return ST_INVALID_VALUE;
    uint64_t lo = mc->members[k].block + at;
    struct emu_range r = {.lo = lo, .hi = lo + bytes, .kind = EMU_RANGE_DEVICE, .device = (uint16_t)physical->device->ordinal};
    snprintf(r.what, sizeof r.what, "multicast memory of device %d", physical->device->ordinal);
    if (!vec_reserve(&mc->bindings, mc->bindings.n + 1) ||
        mmap((void *)(uintptr_t)lo, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical->fd, (off_t)(SHARE_DATA + offset)) == MAP_FAILED)
        return ST_OUT_OF_MEMORY;
    enum status st = emu_space_add(the.space, &r, NULL);
    if (st != ST_OK)
        return st;
    mc->bindings.at[mc->bindings.n++] = (struct binding){k, at, bytes, physical};
    physical->maps++;
    return ST_OK;
}

enum status rt_multicast_bind(struct rt_mapping *m, uint64_t at, struct rt_mapping *physical, uint64_t offset, uint64_t bytes)
{
    pthread_mutex_lock(&the.memory);
    enum status st = bind(m, at, physical, offset, bytes);
    pthread_mutex_unlock(&the.memory);
    return st;
}

enum status rt_multicast_bind_address(struct rt_mapping *m, uint64_t at, uint64_t address, uint64_t bytes)
{
    uint64_t offset;
    pthread_mutex_lock(&the.memory);
    struct rt_mapping *physical = mapping_at(address, bytes, &offset);
    enum status st = physical ? bind(m, at, physical, offset, bytes) : ST_INVALID_VALUE;
    pthread_mutex_unlock(&the.memory);
    return st;
}

enum status rt_multicast_unbind(struct rt_mapping *m, int device, uint64_t at, uint64_t bytes)
{
    struct multicast *mc = m->multicast;
    enum status st = ST_INVALID_VALUE;
    pthread_mutex_lock(&the.memory);
    for (size_t i = mc->bindings.n; i-- > 0;) {
        const struct binding *b = &mc->bindings.at[i];
        if (mc->members[b->member].device->ordinal != device || b->at != at || b->bytes != bytes)
            continue;
        unbind(mc, i);
        st = ST_OK;
        break;
    }
    pthread_mutex_unlock(&the.memory);
    return st;
}

void multicast_drop(struct rt_mapping *m)
{
    struct multicast *mc = m->multicast;
    while (mc->bindings.n)
        unbind(mc, mc->bindings.n - 1);
    for (unsigned i = 0; i < mc->n; i++)
        block_put(mc->members[i].block, BLOCK_DEVICE, mc->members[i].block_bytes);
    vec_free(&mc->bindings);
    free(mc);
    object_free(m);
}

enum status multicast_show(struct rt_mapping *m, uint64_t at, uint64_t bytes, uint64_t offset)
{
    uint64_t bases[EMU_REPLICAS];
    for (unsigned i = 0; i < m->multicast->n; i++)
        bases[i] = m->multicast->members[i].block + offset;
    return emu_space_replicate(the.space, at, at + bytes, bases, m->multicast->n, NULL);
}
