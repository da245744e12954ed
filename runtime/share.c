/* Memory that other processes map: files without a name, and the handles of allocations in them.
 *
 * An allocation is private memory until its handle is first asked for; then the 2 MiB units that it lies in move into a file, at the same addresses,
 * while nothing of the device runs (streams_pause). Small allocations share their unit with others, which are shared with it, as on a GPU. The other
 * process opens the file through /proc/PID/fd: the same user's processes can, as long as the first one lives, and nothing is left behind by a crash. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/checkpoint/host.h"
#include "runtime/internal.h"
#include "runtime/share.h"

#define MAGIC 0x31656c6464656821ull            /* "!heddle1" */

struct span { uint64_t at, bytes; int fd; };
static VEC(struct span) spans;                 /* what has moved into files; under the.memory */

/* What is in an rt_share. */
struct ticket { uint64_t magic; int32_t pid, fd; uint64_t file, offset, bytes, kind; };
_Static_assert(sizeof(struct ticket) <= sizeof(struct rt_share), "a handle has 64 bytes");

/* ---- files ---- */

int share_create(enum share_kind kind, const struct device *d, uint64_t bytes)
{
    struct share_header h = {.magic = MAGIC, .bytes = bytes, .kind = kind, .device = (uint32_t)d->number};
    int fd = memfd_create("heddle", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    if (bytes <= (uint64_t)INT64_MAX - SHARE_DATA && ftruncate(fd, (off_t)(SHARE_DATA + bytes)) == 0 && pwrite(fd, &h, sizeof h, 0) == (ssize_t)sizeof h)
        return fd;
    close(fd);
    return -1;
}

/* A program may hand in any file: what it maps later must be there. */
bool share_read(int fd, enum share_kind kind, struct share_header *out)
{
    struct stat s;
    if (fd < 0 || fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) || pread(fd, out, sizeof *out, 0) != (ssize_t)sizeof *out)
        return false;
    return out->magic == MAGIC && out->kind == (uint32_t)kind && s.st_size >= SHARE_DATA && (kind == SHARE_POOL || out->bytes <= (uint64_t)s.st_size - SHARE_DATA);
}

struct device *share_device(const struct share_header *h)
{
    for (int i = 0; i < the.n_devices; i++)
        if ((uint32_t)the.devices[i].number == h->device)
            return &the.devices[i];
    return NULL;
}

bool share_map(uint64_t at, uint64_t bytes, int fd, uint64_t offset)
{
    void *p = mmap((void *)(uintptr_t)at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)(SHARE_DATA + offset));
    return p != MAP_FAILED;
}

static uint64_t file_number(int fd)
{
    struct stat s;
    return fstat(fd, &s) == 0 ? s.st_ino : 0;
}

void share_ticket(struct rt_share *out, enum share_kind kind, int fd, uint64_t offset, uint64_t bytes)
{
    struct ticket t = {.magic = MAGIC, .pid = (int32_t)getpid(), .fd = fd, .file = file_number(fd), .offset = offset, .bytes = bytes, .kind = kind};
    memset(out, 0, sizeof *out);
    memcpy(out, &t, sizeof t);
}

/* The file that a handle names, a descriptor of our own. ST_INVALID_HANDLE: none of ours, or its process has gone. */
static enum status ticket_open(const struct ticket *t, enum share_kind kind, struct share_header *h, int *fd)
{
    char path[64];
    if (t->magic != MAGIC || t->kind != (uint64_t)kind)
        return ST_INVALID_HANDLE;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", t->pid, t->fd);
    *fd = open(path, O_RDWR | O_CLOEXEC);
    if (*fd >= 0 && file_number(*fd) == t->file && share_read(*fd, kind, h))
        return ST_OK;
    if (*fd >= 0)
        close(*fd);
    return ST_INVALID_HANDLE;
}

enum status share_open(const struct rt_share *handle, enum share_kind kind, int *fd)
{
    struct ticket t;
    struct share_header h;
    memcpy(&t, handle, sizeof t);
    return ticket_open(&t, kind, &h, fd);
}

bool share_is_own(const struct rt_share *handle)
{
    struct ticket t;
    memcpy(&t, handle, sizeof t);
    return t.magic == MAGIC && t.pid == (int32_t)getpid();
}

bool share_place(const struct rt_share *handle, enum share_kind kind, int fd, struct share_place *out)
{
    struct ticket t;
    struct stat s;
    memcpy(&t, handle, sizeof t);
    if (t.magic != MAGIC || t.kind != (uint64_t)kind || fstat(fd, &s) != 0 || s.st_ino != t.file || s.st_size < SHARE_DATA)
        return false;
    uint64_t room = (uint64_t)s.st_size - SHARE_DATA;
    *out = (struct share_place){t.offset, t.bytes};
    return t.bytes && t.bytes <= room && t.offset <= room - t.bytes && t.offset % RT_GRANULARITY == 0;
}

/* ---- moving ---- */

/* Zeros need no room in the file. */
static bool write_out(int fd, uint64_t at, uint64_t bytes, uint64_t offset)
{
    enum { PIECE = 64 << 10 };
    static const char zeros[PIECE];
    for (uint64_t done = 0; done < bytes; done += PIECE) {
        const char *p = (const char *)(uintptr_t)(at + done);
        if (memcmp(p, zeros, PIECE) != 0 && pwrite(fd, p, PIECE, (off_t)(SHARE_DATA + offset + done)) != PIECE)
            return false;
    }
    return true;
}

/* Unit by unit, so that there is never much more than one copy. A failure leaves some units in a file that nobody else sees: they are as good as before. */
static bool move_out(int fd, uint64_t at, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes; done += RT_GRANULARITY)
        if (!write_out(fd, at + done, RT_GRANULARITY, done) || !share_map(at + done, RT_GRANULARITY, fd, done))
            return false;
    return true;
}

static struct span *span_at(uint64_t at)
{
    for (size_t i = 0; i < spans.n; i++)
        if (at >= spans.at[i].at && at - spans.at[i].at < spans.at[i].bytes)
            return &spans.at[i];
    return NULL;
}

/* Under the.memory, with the device paused. */
static struct span *span_make(const struct allocation *a)
{
    uint64_t lo = a->block / RT_GRANULARITY * RT_GRANULARITY, hi = (a->block + a->block_bytes + RT_GRANULARITY - 1) / RT_GRANULARITY * RT_GRANULARITY;
    if (!vec_reserve(&spans, spans.n + 1))
        return NULL;
    int fd = share_create(SHARE_MEMORY, a->device, hi - lo);
    if (fd < 0 || !move_out(fd, lo, hi - lo)) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    spans.at[spans.n++] = (struct span){lo, hi - lo, fd};
    return &spans.at[spans.n - 1];
}

void share_forget(uint64_t at, uint64_t bytes)
{
    for (size_t i = spans.n; i-- > 0;)
        if (spans.at[i].at >= at && spans.at[i].at < at + bytes) {
            close(spans.at[i].fd);
            spans.at[i] = spans.at[--spans.n];
        }
}

/* ---- allocations ---- */

enum status rt_share_memory(uint64_t address, struct rt_share *out)
{
    host_spoil(HOST_SHARES);
    if (streams_in_simulation())
        return ST_NOT_PERMITTED;
    streams_pause();
    pthread_mutex_lock(&the.memory);
    struct emu_range r;
    struct allocation *a = emu_space_find(the.space, address, &r) ? r.owner : NULL;
    enum status st = a && a->kind == RT_MEMORY_DEVICE && !a->opens ? ST_OK : ST_INVALID_VALUE;
    if (st == ST_OK) {
        struct span *s = span_at(a->block);
        s = s ? s : span_make(a);
        if (s)
            share_ticket(out, SHARE_MEMORY, s->fd, a->base - s->at, a->bytes);
        st = s ? ST_OK : ST_OUT_OF_MEMORY;
    }
    pthread_mutex_unlock(&the.memory);
    streams_resume();
    return st;
}

static struct allocation *opened_before(const struct rt_context *c, uint64_t file, uint64_t offset)
{
    for (struct allocation *a = allocation_first(); a; a = a->next)
        if (a->opens && a->context == c && a->file_id == file && a->file_at == offset)
            return a;
    return NULL;
}

static enum status adopt(struct rt_context *c, struct device *d, const struct ticket *t, const struct share_header *h, int fd, uint64_t *address, struct error *err)
{
    struct allocation_request q = {.context = c, .device = d, .kind = RT_MEMORY_DEVICE, .bytes = t->bytes, .imported = true, .what = "cudaIpcOpenMemHandle"};
    pthread_mutex_lock(&the.memory);
    q.block = block_get(h->bytes, BLOCK_DEVICE, &q.block_bytes);
    bool ok = q.block && share_map(q.block, h->bytes, fd, 0);
    pthread_mutex_unlock(&the.memory);
    q.base = q.block + t->offset;
    struct allocation *a = NULL;
    enum status st = ok ? allocation_make(&a, &q, err) : ST_MAP_FAILED;
    pthread_mutex_lock(&the.memory);
    if (st == ST_OK) {
        a->file_id = t->file;
        a->file_at = t->offset;
        *address = a->base;
    } else if (q.block) {
        block_put(q.block, BLOCK_DEVICE, q.block_bytes);
    }
    pthread_mutex_unlock(&the.memory);
    return st;
}

enum status rt_share_memory_open(struct rt_context *c, const struct rt_share *handle, uint64_t *address, struct error *err)
{
    host_spoil(HOST_SHARES);
    struct ticket t;
    struct share_header h;
    int fd;
    memcpy(&t, handle, sizeof t);
    if (share_is_own(handle))
        return ST_INVALID_CONTEXT;             /* as CUDA: a process needs no handle for its own memory */
    pthread_mutex_lock(&the.memory);
    struct allocation *a = t.magic == MAGIC ? opened_before(c, t.file, t.offset) : NULL;
    if (a) {
        a->opens++;
        *address = a->base;
    }
    pthread_mutex_unlock(&the.memory);
    if (a)
        return ST_OK;
    enum status st = ticket_open(&t, SHARE_MEMORY, &h, &fd);
    if (st != ST_OK && t.magic == MAGIC)
        error_set(err, st, "a memory handle of process %d, which has gone or belongs to another user", t.pid);
    if (st != ST_OK)
        return st;
    struct device *d = share_device(&h);
    bool sound = d && h.bytes % RT_GRANULARITY == 0 && h.bytes && t.bytes && t.bytes <= h.bytes && t.offset <= h.bytes - t.bytes;
    st = sound ? adopt(c, d, &t, &h, fd, address, err) : ST_INVALID_VALUE;
    close(fd);
    return st;
}

enum status rt_share_memory_close(uint64_t address)
{
    struct allocation *a = allocation_at(address);
    if (!a || !a->opens || a->kind != RT_MEMORY_DEVICE)
        return ST_INVALID_VALUE;
    pthread_mutex_lock(&the.memory);
    bool last = a->opens == 1;
    a->opens -= !last;
    pthread_mutex_unlock(&the.memory);
    enum status st = last ? context_finish(a->context) : ST_OK;
    if (last && st == ST_OK)
        allocation_drop(a);
    return st;
}
