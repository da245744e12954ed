/* Reading .hck files. */
#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/checkpoint/file_format.h"

struct hck_reader {
    int fd;
    char *name;
    struct hck_head head;
    struct hck_entry *entries; size_t n;
    bool *checked;                                      /* which sections' hashes have been looked at */
    XXH3_state_t *hash;
    struct source source;
    uint64_t at, end;                                   /* stored bytes of the section that is being read: next one, behind the last */
    uint64_t left;                                      /* raw ones, chunk's included */
    size_t used, filled;                                /* of chunk */
    struct error why;
    char chunk[HCK_CHUNK_BYTES], buffer[HCK_CHUNK_BYTES];
};

static bool read_at(struct hck_reader *r, uint64_t at, void *p, size_t n)
{
    char *to = p;
    while (n) {
        ssize_t k = pread(r->fd, to, n, (off_t)at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0) {
            error_set(&r->why, ST_OPERATING_SYSTEM, "%s cannot be read: %s", r->name, k ? strerror(errno) : "it became shorter meanwhile");
            return false;
        }
        to += k;
        at += (uint64_t)k;
        n -= (size_t)k;
    }
    return true;
}

static enum status damaged(struct hck_reader *r, const char *what)
{
    if (r->why.status != ST_OK)
        return r->why.status;
    error_set(&r->why, ST_INVALID_IMAGE, "%s is a damaged checkpoint: %s", r->name, what);
    error_hint(&r->why, "take the checkpoint again, or copy the file again");
    return ST_INVALID_IMAGE;
}

static enum status read_head(struct hck_reader *r, uint64_t bytes)
{
    struct hck_head_on_disk h;
    if (bytes < sizeof h.magic || !read_at(r, 0, h.magic, sizeof h.magic) || memcmp(h.magic, HCK_HEAD_MAGIC, sizeof h.magic) != 0)
        return r->why.status != ST_OK ? r->why.status : error_set(&r->why, ST_INVALID_IMAGE, "%s is not a checkpoint of Heddle", r->name);
    if (bytes < sizeof h)
        return damaged(r, "it is truncated");
    if (!read_at(r, 0, &h, sizeof h))
        return r->why.status;
    if (h.version > HCK_VERSION) {                      /* before the hash: a newer head may be longer */
        error_set(&r->why, ST_INVALID_IMAGE, "%s is a checkpoint of format %u; this build (heddle %s) reads format %d", r->name, h.version, HEDDLE_VERSION, HCK_VERSION);
        error_hint(&r->why, "use the Heddle that wrote it, or a newer one");
        return ST_INVALID_IMAGE;
    }
    if (h.version && h.version < HCK_VERSION) {
        error_set(&r->why, ST_INVALID_IMAGE, "%s is a checkpoint of format %u, as heddle %.*s wrote it; this build (heddle %s) reads format %d", r->name, h.version,
                  (int)sizeof h.build - 7, h.build + 7, HEDDLE_VERSION, HCK_VERSION);
        error_hint(&r->why, "take the checkpoint again");
        return ST_INVALID_IMAGE;
    }
    if (h.version == 0 || h.bytes != sizeof h || h.hash != XXH3_64bits(&h, offsetof(struct hck_head_on_disk, hash)))
        return damaged(r, "its head was changed");
    r->head = (struct hck_head){.version = h.version, .layout = h.layout};
    memcpy(r->head.build, h.build, sizeof r->head.build);
    r->head.build[sizeof r->head.build - 1] = 0;
    return ST_OK;
}

static enum status read_directory(struct hck_reader *r, uint64_t bytes)
{
    struct hck_end_on_disk e;
    if (bytes < sizeof(struct hck_head_on_disk) + sizeof e || !read_at(r, bytes - sizeof e, &e, sizeof e) || memcmp(e.magic, HCK_END_MAGIC, sizeof e.magic) != 0)
        return damaged(r, "it is truncated");
    uint64_t n = e.entries * sizeof *r->entries;
    if (e.entries > HCK_MAX_ENTRIES || e.directory < sizeof(struct hck_head_on_disk) || n > bytes - sizeof e || e.directory != bytes - sizeof e - n)
        return damaged(r, "its end makes no sense");
    r->n = (size_t)e.entries;
    r->entries = malloc(n + 1);
    r->checked = calloc(r->n + 1, sizeof *r->checked);
    r->hash = XXH3_createState();
    if (!r->entries || !r->checked || !r->hash)
        return error_set(&r->why, ST_OUT_OF_MEMORY, "no host memory to read %s", r->name);
    if (!read_at(r, e.directory, r->entries, n))
        return r->why.status;
    if (XXH3_64bits(r->entries, n) != e.hash)
        return damaged(r, "its directory was changed");
    uint64_t at = sizeof(struct hck_head_on_disk);
    for (size_t i = 0; i < r->n; i++) {
        const struct hck_entry *x = &r->entries[i];
        if (x->offset != at || x->stored_bytes > e.directory - at)
            return damaged(r, "its sections do not follow each other");
        at += x->stored_bytes;
    }
    return at == e.directory ? ST_OK : damaged(r, "its sections do not follow each other");
}

static enum status check_section(struct hck_reader *r, size_t i)
{
    const struct hck_entry *x = &r->entries[i];
    if (r->checked[i])
        return ST_OK;
    XXH3_64bits_reset(r->hash);
    for (uint64_t done = 0; done < x->stored_bytes;) {
        size_t n = x->stored_bytes - done < sizeof r->buffer ? (size_t)(x->stored_bytes - done) : sizeof r->buffer;
        if (!read_at(r, x->offset + done, r->buffer, n))
            return r->why.status;
        XXH3_64bits_update(r->hash, r->buffer, n);
        done += n;
    }
    char what[80];
    snprintf(what, sizeof what, "section \"%s\" was changed", hck_section_name(x->id));
    r->checked[i] = XXH3_64bits_digest(r->hash) == x->hash;
    return r->checked[i] ? ST_OK : damaged(r, what);
}

enum status hck_check(struct hck_reader *r, struct error *err)
{
    enum status st = ST_OK;
    for (size_t i = 0; i < r->n && st == ST_OK; i++)
        st = check_section(r, i);
    return st == ST_OK ? ST_OK : hck_error(r, err);
}

static enum status check(struct hck_reader *r)
{
    struct stat s;
    if (fstat(r->fd, &s) != 0 || !S_ISREG(s.st_mode))
        return error_set(&r->why, ST_INVALID_IMAGE, "%s is not a file", r->name);
    uint64_t bytes = (uint64_t)s.st_size;
    enum status st = read_head(r, bytes);
    return st == ST_OK ? read_directory(r, bytes) : st;
}

enum status hck_open_fd(struct hck_reader **out, int fd, const char *name, struct error *err)
{
    struct error own;
    if (!err)
        err = &own;
    *out = NULL;
    struct hck_reader *r = calloc(1, sizeof *r);
    if (!r || !(r->name = strdup(name))) {
        free(r);
        close(fd);
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory to read %s", name);
    }
    r->fd = fd;
    enum status st = check(r);
    if (st != ST_OK) {
        *err = r->why;
        hck_close(r);
        return st;
    }
    *out = r;
    return ST_OK;
}

enum status hck_open(struct hck_reader **out, const char *path, struct error *err)
{
    *out = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, ST_FILE_NOT_FOUND, "the checkpoint %s cannot be read: %s", path, strerror(errno));
    return hck_open_fd(out, fd, path, err);
}

void hck_close(struct hck_reader *r)
{
    if (!r)
        return;
    close(r->fd);
    XXH3_freeState(r->hash);
    free(r->checked);
    free(r->entries);
    free(r->name);
    free(r);
}

const struct hck_head *hck_head(const struct hck_reader *r) { return &r->head; }

size_t hck_entries(const struct hck_reader *r, const struct hck_entry **out)
{
    *out = r->entries;
    return r->n;
}

/* The next chunk into `to`, which has room for HCK_CHUNK_BYTES. False: there is none, or it makes no sense. */
static bool next_chunk(struct hck_reader *r, char *to, size_t *raw)
{
    struct hck_chunk_on_disk h;
    if (r->end - r->at < sizeof h || !read_at(r, r->at, &h, sizeof h))
        return false;
    r->at += sizeof h;
    if (!h.raw || h.raw > HCK_CHUNK_BYTES || h.stored > h.raw || h.stored > r->end - r->at)
        return false;
    bool as_is = h.stored == h.raw;
    if (!read_at(r, r->at, as_is ? to : r->buffer, h.stored))
        return false;
    r->at += h.stored;
    *raw = h.raw;
    return as_is || LZ4_decompress_safe(r->buffer, to, (int)h.stored, (int)h.raw) == (int)h.raw;
}

static bool section_read(void *user, void *p, size_t n)
{
    struct hck_reader *r = user;
    if (n > r->left)
        return false;
    r->left -= n;
    for (char *to = p; n;) {
        size_t raw, piece = n < r->filled - r->used ? n : r->filled - r->used;
        memcpy(to, r->chunk + r->used, piece);
        r->used += piece;
        to += piece;
        n -= piece;
        if (!n)
            break;
        bool straight = n >= HCK_CHUNK_BYTES;           /* most of a large file is never copied */
        if (!next_chunk(r, straight ? to : r->chunk, &raw)) {
            (void)damaged(r, "a section does not unpack");
            return false;
        }
        if (straight) {
            to += raw;
            n -= raw;
        } else {
            r->used = 0;
            r->filled = raw;
        }
    }
    return true;
}

struct source *hck_enter(struct hck_reader *r, size_t i)
{
    static const struct hck_entry none;
    const struct hck_entry *x = i < r->n ? &r->entries[i] : &none;
    r->at = x->offset;
    r->end = x->offset + x->stored_bytes;
    r->left = x->raw_bytes;
    r->used = r->filled = 0;
    r->source = (struct source){.read = section_read, .user = r, .failed = i < r->n && check_section(r, i) != ST_OK};
    return &r->source;
}

struct source *hck_find(struct hck_reader *r, enum hck_section id)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->entries[i].id == (uint32_t)id)
            return hck_enter(r, i);
    return NULL;
}

enum status hck_error(const struct hck_reader *r, struct error *err)
{
    if (r->why.status == ST_OK)
        return error_set(err, ST_INVALID_IMAGE, "%s is a damaged checkpoint: what it says makes no sense", r->name);
    if (err)
        *err = r->why;
    return r->why.status;
}
