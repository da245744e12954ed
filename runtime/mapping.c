/* Virtual memory management: reservations, physical allocations, and mappings of one into the other.
 *
 * A physical allocation is an anonymous file in memory, so that it can appear at several addresses. A mapping becomes visible to kernels
 * and copies when access is given to it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/checkpoint/host.h"
#include "runtime/internal.h"
#include "runtime/mapping.h"
#include "runtime/share.h"

_Static_assert(sizeof(struct rt_mapping) <= 128, "object_bytes in process.c");

struct reservation { uint64_t at, bytes; };
struct view { uint64_t at, bytes, offset; struct rt_mapping *physical; struct allocation record; bool readable, writable; };
static VEC(struct reservation) reservations;   /* all under the.memory */
static VEC(struct view *) views;

/* ---- reservations ---- */

enum status rt_reserve(uint64_t bytes, uint64_t align, uint64_t *address)
{
    if (!bytes || bytes % RT_GRANULARITY || (align & (align - 1)) || align > (uint64_t)1 << 30)
        return ST_INVALID_VALUE;
    if (bytes > EMU_SPAN)
        return ST_OUT_OF_MEMORY;
    pthread_mutex_lock(&the.memory);
    uint64_t extra = align > RT_GRANULARITY ? align : 0, got = 0;
    uint64_t block = vec_reserve(&reservations, reservations.n + 1) ? block_get(bytes + extra, BLOCK_DEVICE, &got) : 0;
    if (block) {
        uint64_t at = extra ? (block + align - 1) / align * align : block;
        mprotect((void *)(uintptr_t)block, got, PROT_NONE);
        if (at > block)
            block_put(block, BLOCK_DEVICE, at - block);
        if (block + got > at + bytes)
            block_put(at + bytes, BLOCK_DEVICE, block + got - at - bytes);
        reservations.at[reservations.n++] = (struct reservation){at, bytes};
        *address = at;
    }
    pthread_mutex_unlock(&the.memory);
    return block ? ST_OK : ST_OUT_OF_MEMORY;
}

static struct view *view_at(uint64_t address)
{
    for (size_t i = 0; i < views.n; i++)
        if (address >= views.at[i]->at && address - views.at[i]->at < views.at[i]->bytes)
            return views.at[i];
    return NULL;
}

static bool overlaps_view(uint64_t at, uint64_t bytes)
{
    for (size_t i = 0; i < views.n; i++)
        if (views.at[i]->at < at + bytes && at < views.at[i]->at + views.at[i]->bytes)
            return true;
    return false;
}

enum status rt_reserve_free(uint64_t address, uint64_t bytes)
{
    enum status st = ST_INVALID_VALUE;
    pthread_mutex_lock(&the.memory);
    for (size_t i = 0; i < reservations.n; i++)
        if (reservations.at[i].at == address && reservations.at[i].bytes == bytes && !overlaps_view(address, bytes)) {
            reservations.at[i] = reservations.at[--reservations.n];
            block_put(address, BLOCK_DEVICE, bytes);
            st = ST_OK;
            break;
        }
    pthread_mutex_unlock(&the.memory);
    return st;
}

/* ---- physical allocations ---- */

/* The file is its own from now on. */
struct rt_mapping *mapping_new(struct device *d, uint64_t bytes, int fd)
{
    struct rt_mapping *m = object_new(RT_MAPPING);
    if (!m) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    m->device = d;
    m->bytes = bytes;
    m->fd = fd;
    m->handles = 1;
    return m;
}

enum status rt_physical_create_host(struct rt_mapping **out, uint64_t bytes)
{
    *out = NULL;
    host_spoil("it has host memory from cuMemCreate, and what kernels store there is not recorded");
    int fd = share_create(SHARE_PHYSICAL, device_at(0), bytes);
    struct rt_mapping *m = fd >= 0 ? mapping_new(device_at(0), bytes, fd) : NULL;
    if (!m)
        return ST_OUT_OF_MEMORY;
    m->host = true;
    *out = m;
    return ST_OK;
}

bool rt_physical_is_host(const struct rt_mapping *m) { return m->host; }

enum status rt_physical_create(struct rt_mapping **out, int device, uint64_t bytes)
{
    *out = NULL;
    struct device *d = device_at(device);
    if (!d)
        return ST_INVALID_DEVICE;
    if (!bytes || bytes % RT_GRANULARITY)
        return ST_INVALID_VALUE;
    uint64_t free_bytes, total;
    rt_device_memory(device, &free_bytes, &total);
    if (bytes > free_bytes)
        return ST_OUT_OF_MEMORY;
    int fd = share_create(SHARE_PHYSICAL, d, bytes);
    struct rt_mapping *m = fd >= 0 ? mapping_new(d, bytes, fd) : NULL;
    if (!m)
        return ST_OUT_OF_MEMORY;
    pthread_mutex_lock(&the.memory);
    d->used_bytes += bytes;
    if (d->used_bytes > d->peak_bytes)
        d->peak_bytes = d->used_bytes;
    pthread_mutex_unlock(&the.memory);
    *out = m;
    return ST_OK;
}

/* Under the.memory. */
void mapping_drop(struct rt_mapping *m)
{
    if (m->handles || m->maps)
        return;
    if (m->multicast) {
        multicast_drop(m);
        return;
    }
    if (!m->imported && !m->host)
        m->device->used_bytes -= m->bytes;
    close(m->fd);
    object_free(m);
}

enum status rt_physical_release(struct rt_mapping *m)
{
    pthread_mutex_lock(&the.memory);
    enum status st = m->handles ? ST_OK : ST_INVALID_VALUE;
    if (m->handles) {
        m->handles--;
        mapping_drop(m);
    }
    pthread_mutex_unlock(&the.memory);
    return st;
}

enum status rt_physical_retain(struct rt_mapping **out, uint64_t address)
{
    enum status st = ST_INVALID_VALUE;
    pthread_mutex_lock(&the.memory);
    struct view *v = view_at(address);
    if (v) {
        v->physical->handles++;
        *out = v->physical;
        st = ST_OK;
    }
    pthread_mutex_unlock(&the.memory);
    return st;
}

void rt_physical_set_compressed(struct rt_mapping *m) { m->compressed = true; }
bool rt_physical_is_compressed(const struct rt_mapping *m) { return m->compressed; }
void rt_physical_share(struct rt_mapping *m) { m->shared = true; }
bool rt_physical_is_shared(const struct rt_mapping *m) { return m->shared; }

enum status rt_physical_export(const struct rt_mapping *m, int *fd)
{
    host_spoil(HOST_SHARES);
    if (!m->shared || m->multicast)
        return ST_INVALID_VALUE;
    *fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 0);
    return *fd >= 0 ? ST_OK : ST_OPERATING_SYSTEM;
}

enum status rt_physical_import(struct rt_mapping **out, int fd)
{
    host_spoil(HOST_SHARES);
    struct share_header h;
    if (!share_read(fd, SHARE_PHYSICAL, &h) || !h.bytes || h.bytes % RT_GRANULARITY)
        return ST_INVALID_VALUE;
    struct device *d = share_device(&h);
    if (!d)
        d = device_at(0);                      /* of a device that this process does not see: CUDA_VISIBLE_DEVICES gives each rank its own, and they share memory */
    int own = d ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    if (own < 0)
        return ST_INVALID_VALUE;
    *out = mapping_new(d, h.bytes, own);
    if (!*out)
        return ST_OUT_OF_MEMORY;
    (*out)->shared = (*out)->imported = true;
    return ST_OK;
}

uint64_t rt_physical_bytes(const struct rt_mapping *m) { return m->bytes; }
int rt_physical_device(const struct rt_mapping *m) { return m->device->ordinal; }

/* ---- mappings ---- */

static bool reserved(uint64_t at, uint64_t bytes)
{
    for (size_t i = 0; i < reservations.n; i++)
        if (at >= reservations.at[i].at && bytes <= reservations.at[i].bytes && at - reservations.at[i].at <= reservations.at[i].bytes - bytes)
            return true;
    return false;
}

enum status rt_map(uint64_t address, uint64_t bytes, uint64_t offset, struct rt_mapping *m)
{
    if (!bytes || (address | bytes | offset) % RT_GRANULARITY || bytes > m->bytes || offset > m->bytes - bytes)
        return ST_INVALID_VALUE;
    enum status st = m->multicast && !multicast_complete(m) ? ST_ILLEGAL_STATE : ST_OK;      /* a driver waits for the other devices */
    pthread_mutex_lock(&the.memory);
    struct view *v = NULL;
    if (st != ST_OK)
        ;
    else if (!reserved(address, bytes) || overlaps_view(address, bytes))
        st = ST_INVALID_VALUE;
    else if (!vec_reserve(&views, views.n + 1) || !(v = calloc(1, sizeof *v)))
        st = ST_OUT_OF_MEMORY;
    else if (!m->multicast && mmap((void *)(uintptr_t)address, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, m->fd, (off_t)(SHARE_DATA + offset)) == MAP_FAILED)
        st = ST_OUT_OF_MEMORY;
    if (st == ST_OK) {
        *v = (struct view){.at = address, .bytes = bytes, .offset = offset, .physical = m};
        v->record = (struct allocation){.base = address, .bytes = bytes, .device = m->device, .kind = RT_MEMORY_MAPPED, .flags = m->host};
        views.at[views.n++] = v;
        m->maps++;
    } else {
        free(v);
    }
    pthread_mutex_unlock(&the.memory);
    return st;
}

static void view_hide(struct view *v)
{
    if (v->readable && v->physical->multicast)
        emu_space_replicate_end(the.space, v->at);
    else if (v->readable)
        emu_space_remove(the.space, v->at, NULL);
    v->readable = v->writable = false;
    mprotect((void *)(uintptr_t)v->at, v->bytes, PROT_NONE);
}

struct rt_mapping *mapping_at(uint64_t address, uint64_t bytes, uint64_t *offset)
{
    struct view *v = view_at(address);
    if (!v || v->physical->multicast || bytes > v->bytes - (address - v->at))
        return NULL;
    *offset = v->offset + (address - v->at);
    return v->physical;
}

/* Every mapping inside [address, address + bytes), which they must fill. */
static bool filled(uint64_t address, uint64_t bytes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < views.n; i++)
        if (views.at[i]->at >= address && views.at[i]->at + views.at[i]->bytes <= address + bytes)
            sum += views.at[i]->bytes;
    return sum == bytes && bytes;
}

enum status rt_unmap(uint64_t address, uint64_t bytes)
{
    pthread_mutex_lock(&the.memory);
    bool ok = filled(address, bytes);
    for (size_t i = 0; ok && i < views.n;) {
        struct view *v = views.at[i];
        if (v->at < address || v->at >= address + bytes) {
            i++;
            continue;
        }
        view_hide(v);
        mmap((void *)(uintptr_t)v->at, v->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        v->physical->maps--;
        mapping_drop(v->physical);
        views.at[i] = views.at[--views.n];
        free(v);
    }
    pthread_mutex_unlock(&the.memory);
    return ok ? ST_OK : ST_INVALID_VALUE;
}

enum status rt_map_access(uint64_t address, uint64_t bytes, bool readable, bool writable)
{
    enum status st = ST_OK;
    pthread_mutex_lock(&the.memory);
    if (!filled(address, bytes))
        st = ST_INVALID_VALUE;
    for (size_t i = 0; st == ST_OK && i < views.n; i++) {
        struct view *v = views.at[i];
        if (v->at < address || v->at >= address + bytes)
            continue;
        view_hide(v);
        if (!readable)
            continue;
        if (v->physical->multicast) {
            st = multicast_show(v->physical, v->at, v->bytes, v->offset);
            v->readable = v->writable = st == ST_OK;
            continue;
        }
        struct emu_range r = {.lo = v->at, .hi = v->at + v->bytes, .kind = EMU_RANGE_DEVICE, .read_only = !writable, .device = (uint16_t)v->physical->device->ordinal,
                              .what = "cuMemMap", .owner = &v->record};
        st = emu_space_add(the.space, &r, NULL);
        v->readable = st == ST_OK;
        v->writable = v->readable && writable;
        mprotect((void *)(uintptr_t)v->at, v->bytes, PROT_READ | PROT_WRITE);
    }
    pthread_mutex_unlock(&the.memory);
    return st;
}

enum status rt_map_access_get(uint64_t address, bool *readable, bool *writable)
{
    pthread_mutex_lock(&the.memory);
    const struct view *v = view_at(address);
    *readable = v && v->readable;
    *writable = v && v->writable;
    pthread_mutex_unlock(&the.memory);
    return v ? ST_OK : ST_INVALID_VALUE;
}
