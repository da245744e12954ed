#include "runtime/checkpoint/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/vec.h"

enum { CHUNK = 1 << 20, ACCELERATION = 8, PAD = 8 };

struct packed { uint64_t at; uint32_t stored, raw; };      /* a chunk in the file */

struct tape {
    pthread_mutex_t lock;
    bool shared;
    int fd;
    int error;                                 /* errno of the first failure; 0: none */
    VEC(struct packed) chunks;
    uint64_t end;                              /* of the file */
    uint64_t bytes, left;                      /* written so far; of the open record that are still to come */
    size_t used;
    char *chunk, *packed;
};

/* A descriptor far from the numbers that programs count on. */
static int open_unnamed(void)
{
    enum { HIGH = 700 };
    const char *dir = getenv("TMPDIR");
    int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        fd = memfd_create("heddle-calls", MFD_CLOEXEC);
    int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, HIGH) : -1;
    if (high >= 0)
        close(fd);
    return high >= 0 ? high : fd;
}

enum status tape_create(struct tape **out, bool shared, struct error *err)
{
    *out = NULL;
    struct tape *t = calloc(1, sizeof *t);
    if (!t)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory to record calls");
    t->fd = open_unnamed();
    t->chunk = malloc(CHUNK);
    t->packed = malloc((size_t)LZ4_compressBound(CHUNK));
    if (t->fd < 0 || !t->chunk || !t->packed) {
        int e = t->fd < 0 ? errno : ENOMEM;
        tape_free(t);
        return error_set(err, ST_OUT_OF_MEMORY, "no temporary file to record calls in: %s", strerror(e));
    }
    pthread_mutex_init(&t->lock, NULL);
    t->shared = shared;
    *out = t;
    return ST_OK;
}

void tape_free(struct tape *t)
{
    if (!t)
        return;
    if (t->fd >= 0)
        close(t->fd);
    vec_free(&t->chunks);
    free(t->chunk);
    free(t->packed);
    free(t);
}

static bool transfer(struct tape *t, char *p, size_t n, uint64_t at, bool write)
{
    while (n) {
        ssize_t done = write ? pwrite(t->fd, p, n, (off_t)at) : pread(t->fd, p, n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            t->error = done < 0 ? errno : EIO;
            return false;
        }
        p += done;
        n -= (size_t)done;
        at += (uint64_t)done;
    }
    return true;
}

/* The chunk goes to the file. */
static void flush(struct tape *t)
{
    int n = LZ4_compress_fast(t->chunk, t->packed, (int)t->used, LZ4_compressBound(CHUNK), ACCELERATION);
    bool pays = n > 0 && (size_t)n < t->used;
    struct packed c = {t->end, pays ? (uint32_t)n : (uint32_t)t->used, (uint32_t)t->used};
    t->used = 0;
    if (t->error || !transfer(t, pays ? t->packed : t->chunk, c.stored, c.at, true))
        return;
    if (!vec_push(&t->chunks, c))
        t->error = ENOMEM;
    t->end += c.stored;
}

static void append(struct tape *t, const void *p, size_t n)
{
    const char *from = p;
    t->bytes += n;
    while (n) {
        size_t fits = n < CHUNK - t->used ? n : CHUNK - t->used;
        memcpy(t->chunk + t->used, from, fits);
        t->used += fits;
        from += fits;
        n -= fits;
        if (t->used == CHUNK)
            flush(t);
    }
}

static void lock(struct tape *t)
{
    if (t->shared)
        pthread_mutex_lock(&t->lock);
}

static void unlock(struct tape *t)
{
    if (t->shared)
        pthread_mutex_unlock(&t->lock);
}

void tape_open(struct tape *t, const struct tape_head *head)
{
    lock(t);
    append(t, head, sizeof *head);
    t->left = head->bytes;
}

void tape_add(struct tape *t, const void *p, size_t n)
{
    n = n < t->left ? n : (size_t)t->left;
    append(t, p, n);
    t->left -= n;
}

void tape_close(struct tape *t)
{
    static const char zeros[PAD];
    for (; t->left; t->left -= t->left < PAD ? t->left : PAD)      /* a writer that gave too little */
        append(t, zeros, t->left < PAD ? (size_t)t->left : PAD);
    append(t, zeros, (size_t)(-t->bytes % PAD));
    unlock(t);
}

void tape_put(struct tape *t, const struct tape_head *head, const void *p)
{
    size_t padded = (head->bytes + PAD - 1) / PAD * PAD, all = sizeof *head + padded;
    if (t->shared || head->bytes > CHUNK / 2 || all >= CHUNK - t->used) {
        tape_open(t, head);
        tape_add(t, p, (size_t)head->bytes);
        tape_close(t);
        return;
    }
    char *to = t->chunk + t->used;             /* the short way for short records */
    memcpy(to, head, sizeof *head);
    if (padded) {
        memset(to + all - PAD, 0, PAD);
        memcpy(to + sizeof *head, p, head->bytes);
    }
    t->used += all;
    t->bytes += all;
}

void tape_append(struct tape *t, const char *bytes, uint64_t n)
{
    lock(t);
    append(t, bytes, n);
    unlock(t);
}

uint64_t tape_bytes(struct tape *t)
{
    lock(t);
    uint64_t n = t->bytes;
    unlock(t);
    return n;
}

enum status tape_error(struct tape *t, struct error *err)
{
    if (!t->error)
        return ST_OK;
    return error_set(err, ST_OUT_OF_MEMORY, "the program's calls could not be recorded: %s", strerror(t->error));
}

static void unpack(struct tape *t, const struct packed *c, char *raw, struct sink *to)
{
    bool as_is = c->stored == c->raw;
    if (!transfer(t, as_is ? raw : t->packed, c->stored, c->at, false))
        return;
    if (!as_is && LZ4_decompress_safe(t->packed, raw, (int)c->stored, CHUNK) != (int)c->raw)
        t->error = EIO;
    else
        put(to, raw, c->raw);
}

enum status tape_save(struct tape *t, struct sink *to, struct error *err)
{
    char *raw = malloc(CHUNK);
    lock(t);
    if (!raw)
        t->error = t->error ? t->error : ENOMEM;
    for (size_t i = 0; i < t->chunks.n && !t->error; i++)
        unpack(t, &t->chunks.at[i], raw, to);
    if (!t->error)
        put(to, t->chunk, t->used);
    enum status st = tape_error(t, err);
    unlock(t);
    free(raw);
    if (st == ST_OK && to->failed)
        st = error_set(err, ST_OPERATING_SYSTEM, "the recorded calls could not be written");
    return st;
}

const struct tape_head *tape_record(const char *bytes, uint64_t n, uint64_t at, uint64_t *next)
{
    if (at > n || n - at < sizeof(struct tape_head))
        return NULL;
    const struct tape_head *h = (const struct tape_head *)(const void *)(bytes + at);
    uint64_t room = n - at - sizeof *h, padded = (h->bytes + PAD - 1) / PAD * PAD;
    if (padded < h->bytes || padded > room)
        return NULL;
    *next = at + sizeof *h + padded;
    return h;
}
