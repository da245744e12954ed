/* Writing and reading .hck files. */
#include "runtime/checkpoint/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include "emu/emu.h"
#include "runtime/base/vec.h"

enum {
    LEVEL = 1,                                          /* of zstd */
    BUFFER_BYTES = 1 << 17,
    MAX_ENTRIES = 1 << 16 };
static const char head_magic[8] = "\x89HCK\r\n\x1a\n";  /* a transfer as text would change it */
static const char end_magic[8] = "HCK.END\n";

struct head_on_disk { char magic[8]; uint32_t version, bytes; uint64_t layout; char build[48]; uint64_t hash; };
struct end_on_disk { uint64_t directory, entries, hash; char magic[8]; };
_Static_assert(sizeof(struct head_on_disk) == 80 && sizeof(struct end_on_disk) == 32 && sizeof(struct hck_entry) == 40, "files have no padding");

static const struct { uint32_t number; const char *name; } names[] = {
#define SECTION(id, number, name, help) {number, name},
#include "runtime/checkpoint/sections.def"
#undef SECTION
};

const char *hck_section_name(uint32_t number)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == number)
            return names[i].name;
    return "?";
}

/* What every section takes for granted. Decoded code is compared function by function: emu/snapshot.h. */
uint64_t hck_layout(void)
{
    const uint64_t facts[] = {HCK_VERSION, EMU_BASE, EMU_SPAN, EMU_SHARED_WINDOW, EMU_LOCAL_WINDOW, EMU_CODE_WINDOW, EMU_HEAP};
    return XXH3_64bits(facts, sizeof facts);
}

/* ---- writing ---- */

struct hck_writer {
    int fd;
    char *path, *temporary;
    ZSTD_CCtx *z;
    XXH3_state_t *hash;
    struct sink sink;
    bool open;                                          /* a section is */
    struct hck_entry entry;                             /* that one */
    VEC(struct hck_entry) entries;
    uint64_t at;                                        /* bytes written */
    struct error why;
    char buffer[BUFFER_BYTES];
};

static bool write_raw(struct hck_writer *w, const void *p, size_t n)
{
    const char *at = p;
    while (n && w->why.status == ST_OK) {
        ssize_t k = write(w->fd, at, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0) {
            error_set(&w->why, ST_OPERATING_SYSTEM, "%s cannot be written: %s", w->temporary, strerror(k ? errno : ENOSPC));
            break;
        }
        at += k;
        n -= (size_t)k;
        w->at += (uint64_t)k;
    }
    return w->why.status == ST_OK;
}

static bool compress(struct hck_writer *w, const void *p, size_t n, ZSTD_EndDirective how)
{
    ZSTD_inBuffer in = {.src = p, .size = n};
    for (size_t left = 1; (left && how == ZSTD_e_end) || in.pos < in.size;) {
        ZSTD_outBuffer out = {.dst = w->buffer, .size = sizeof w->buffer};
        left = ZSTD_compressStream2(w->z, &out, &in, how);
        if (ZSTD_isError(left)) {
            error_set(&w->why, ST_OUT_OF_MEMORY, "%s cannot be compressed: %s", w->path, ZSTD_getErrorName(left));
            return false;
        }
        XXH3_64bits_update(w->hash, w->buffer, out.pos);
        if (!write_raw(w, w->buffer, out.pos))
            return false;
    }
    return true;
}

static bool section_write(void *user, const void *p, size_t n)
{
    struct hck_writer *w = user;
    w->entry.raw_bytes += n;
    return w->open && w->why.status == ST_OK && compress(w, p, n, ZSTD_e_continue);
}

static void section_end(struct hck_writer *w)
{
    if (!w->open)
        return;
    if (w->why.status == ST_OK)
        compress(w, NULL, 0, ZSTD_e_end);
    w->open = false;
    if (w->sink.failed && w->why.status == ST_OK)   /* whoever filled it could not */
        error_set(&w->why, ST_OUT_OF_MEMORY, "no host memory for section \"%s\" of %s", hck_section_name(w->entry.id), w->path);
    w->entry.stored_bytes = w->at - w->entry.offset;
    w->entry.hash = XXH3_64bits_digest(w->hash);
    if ((w->entries.n >= MAX_ENTRIES || !vec_push(&w->entries, w->entry)) && w->why.status == ST_OK)
        error_set(&w->why, ST_OUT_OF_MEMORY, "no host memory for the directory of %s", w->path);
}

struct sink *hck_section(struct hck_writer *w, enum hck_section id)
{
    section_end(w);
    w->open = true;
    w->entry = (struct hck_entry){.id = (uint32_t)id, .offset = w->at};
    XXH3_64bits_reset(w->hash);
    w->sink = (struct sink){.write = section_write, .user = w, .failed = w->why.status != ST_OK};
    return &w->sink;
}

static void writer_free(struct hck_writer *w)
{
    ZSTD_freeCCtx(w->z);
    XXH3_freeState(w->hash);
    vec_free(&w->entries);
    free(w->path);
    free(w->temporary);
    free(w);
}

static bool open_temporary(struct hck_writer *w, const char *path, struct error *err)
{
    if (!(w->path = strdup(path)) || asprintf(&w->temporary, "%s.%ld.tmp", path, (long)getpid()) < 0) {
        w->temporary = NULL;
        error_set(err, ST_OUT_OF_MEMORY, "no host memory for a checkpoint");
        return false;
    }
    w->fd = open(w->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (w->fd < 0)
        error_set(err, ST_OPERATING_SYSTEM, "the checkpoint %s cannot be written: %s", path, strerror(errno));
    return w->fd >= 0;
}

enum status hck_create(struct hck_writer **out, const char *path, struct error *err)
{
    struct error own;
    if (!err)
        err = &own;
    *out = NULL;
    struct hck_writer *w = calloc(1, sizeof *w);
    if (!w)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for a checkpoint");
    w->z = ZSTD_createCCtx();
    w->hash = XXH3_createState();
    bool memory = w->z && w->hash && !ZSTD_isError(ZSTD_CCtx_setParameter(w->z, ZSTD_c_compressionLevel, LEVEL));
    if (!memory)
        error_set(err, ST_OUT_OF_MEMORY, "no host memory for a checkpoint");
    if (!memory || !open_temporary(w, path, err)) {
        writer_free(w);
        return err->status;
    }
    struct head_on_disk h = {.version = HCK_VERSION, .bytes = sizeof h, .layout = hck_layout()};
    memcpy(h.magic, head_magic, sizeof h.magic);
    snprintf(h.build, sizeof h.build, "heddle %s", HEDDLE_VERSION);
    h.hash = XXH3_64bits(&h, offsetof(struct head_on_disk, hash));
    (void)write_raw(w, &h, sizeof h);
    *out = w;
    return ST_OK;
}

/* The name is on disk when the folder is. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;
    int fd = slash && !folder ? -1 : open(folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!fsync(fd);
        close(fd);
    }
    free(folder);
}

enum status hck_commit(struct hck_writer *w, struct error *err)
{
    section_end(w);
    struct end_on_disk e = {.directory = w->at, .entries = w->entries.n};
    size_t n = w->entries.n * sizeof *w->entries.at;
    e.hash = XXH3_64bits(w->entries.at, n);
    memcpy(e.magic, end_magic, sizeof e.magic);
    bool ok = write_raw(w, w->entries.at, n) && write_raw(w, &e, sizeof e);
    if (ok && (fsync(w->fd) != 0 || rename(w->temporary, w->path) != 0)) {
        error_set(&w->why, ST_OPERATING_SYSTEM, "%s cannot be put in its place: %s", w->path, strerror(errno));
        ok = false;
    }
    if (!ok) {
        if (err)
            *err = w->why;
        enum status st = w->why.status;
        hck_abandon(w);
        return st;
    }
    close(w->fd);
    sync_folder(w->path);
    writer_free(w);
    return ST_OK;
}

void hck_abandon(struct hck_writer *w)
{
    if (!w)
        return;
    close(w->fd);
    unlink(w->temporary);
    writer_free(w);
}

/* ---- reading ---- */

struct hck_reader {
    int fd;
    char *name;
    struct hck_head head;
    struct hck_entry *entries; size_t n;
    ZSTD_DCtx *z;
    struct source source;
    uint64_t at, end;                                   /* stored bytes of the section that is being read: next one, behind the last */
    uint64_t left;                                      /* raw ones */
    ZSTD_inBuffer in;
    struct error why;
    char buffer[BUFFER_BYTES];
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
    struct head_on_disk h;
    if (bytes < sizeof h.magic || !read_at(r, 0, h.magic, sizeof h.magic) || memcmp(h.magic, head_magic, sizeof h.magic) != 0)
        return r->why.status != ST_OK ? r->why.status : error_set(&r->why, ST_INVALID_IMAGE, "%s is not a checkpoint of Heddle", r->name);
    if (bytes < sizeof h)
        return damaged(r, "it is truncated");
    if (!read_at(r, 0, &h, sizeof h))
        return r->why.status;
    if (h.version > HCK_VERSION) {                      /* before the hash: a newer head may be longer */
        error_set(&r->why, ST_INVALID_IMAGE, "%s is a checkpoint of format %u; this build (heddle %s) reads up to format %d", r->name, h.version, HEDDLE_VERSION, HCK_VERSION);
        error_hint(&r->why, "use the Heddle that wrote it, or a newer one");
        return ST_INVALID_IMAGE;
    }
    if (h.version == 0 || h.bytes != sizeof h || h.hash != XXH3_64bits(&h, offsetof(struct head_on_disk, hash)))
        return damaged(r, "its head was changed");
    r->head = (struct hck_head){.version = h.version, .layout = h.layout};
    memcpy(r->head.build, h.build, sizeof r->head.build);
    r->head.build[sizeof r->head.build - 1] = 0;
    return ST_OK;
}

static enum status read_directory(struct hck_reader *r, uint64_t bytes)
{
    struct end_on_disk e;
    if (bytes < sizeof(struct head_on_disk) + sizeof e || !read_at(r, bytes - sizeof e, &e, sizeof e) || memcmp(e.magic, end_magic, sizeof e.magic) != 0)
        return damaged(r, "it is truncated");
    uint64_t n = e.entries * sizeof *r->entries;
    if (e.entries > MAX_ENTRIES || e.directory < sizeof(struct head_on_disk) || n > bytes - sizeof e || e.directory != bytes - sizeof e - n)
        return damaged(r, "its end makes no sense");
    r->n = (size_t)e.entries;
    r->entries = malloc(n + 1);
    if (!r->entries)
        return error_set(&r->why, ST_OUT_OF_MEMORY, "no host memory to read %s", r->name);
    if (!read_at(r, e.directory, r->entries, n))
        return r->why.status;
    if (XXH3_64bits(r->entries, n) != e.hash)
        return damaged(r, "its directory was changed");
    uint64_t at = sizeof(struct head_on_disk);
    for (size_t i = 0; i < r->n; i++) {
        const struct hck_entry *x = &r->entries[i];
        if (x->offset != at || x->stored_bytes > e.directory - at)
            return damaged(r, "its sections do not follow each other");
        at += x->stored_bytes;
    }
    return at == e.directory ? ST_OK : damaged(r, "its sections do not follow each other");
}

static enum status check_section(struct hck_reader *r, const struct hck_entry *x, XXH3_state_t *hash)
{
    XXH3_64bits_reset(hash);
    for (uint64_t done = 0; done < x->stored_bytes;) {
        size_t n = x->stored_bytes - done < sizeof r->buffer ? (size_t)(x->stored_bytes - done) : sizeof r->buffer;
        if (!read_at(r, x->offset + done, r->buffer, n))
            return r->why.status;
        XXH3_64bits_update(hash, r->buffer, n);
        done += n;
    }
    char what[80];
    snprintf(what, sizeof what, "section \"%s\" was changed", hck_section_name(x->id));
    return XXH3_64bits_digest(hash) == x->hash ? ST_OK : damaged(r, what);
}

static enum status check(struct hck_reader *r)
{
    struct stat s;
    if (fstat(r->fd, &s) != 0 || !S_ISREG(s.st_mode))
        return error_set(&r->why, ST_INVALID_IMAGE, "%s is not a file", r->name);
    uint64_t bytes = (uint64_t)s.st_size;
    enum status st = read_head(r, bytes);
    if (st == ST_OK)
        st = read_directory(r, bytes);
    XXH3_state_t *hash = XXH3_createState();
    r->z = ZSTD_createDCtx();
    if (st == ST_OK && (!hash || !r->z))
        st = error_set(&r->why, ST_OUT_OF_MEMORY, "no host memory to read %s", r->name);
    for (size_t i = 0; i < r->n && st == ST_OK; i++)
        st = check_section(r, &r->entries[i], hash);
    XXH3_freeState(hash);
    return st;
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
    ZSTD_freeDCtx(r->z);
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

/* More stored bytes for zstd. False: there are none, or they cannot be read. */
static bool refill(struct hck_reader *r)
{
    size_t n = r->end - r->at < sizeof r->buffer ? (size_t)(r->end - r->at) : sizeof r->buffer;
    if (!n || !read_at(r, r->at, r->buffer, n))
        return false;
    r->at += n;
    r->in = (ZSTD_inBuffer){.src = r->buffer, .size = n};
    return true;
}

static bool section_read(void *user, void *p, size_t n)
{
    struct hck_reader *r = user;
    if (n > r->left)
        return false;
    r->left -= n;
    for (ZSTD_outBuffer out = {.dst = p, .size = n}; out.pos < out.size;) {
        size_t before = out.pos, was = r->in.pos;
        size_t st = ZSTD_decompressStream(r->z, &out, &r->in);
        if (ZSTD_isError(st)) {
            damaged(r, "a section does not decompress");
            return false;
        }
        bool moved = out.pos != before || r->in.pos != was;
        if (out.pos < out.size && r->in.pos == r->in.size && !refill(r) && !moved)
            return false;
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
    r->in = (ZSTD_inBuffer){.src = r->buffer};
    ZSTD_DCtx_reset(r->z, ZSTD_reset_session_only);
    r->source = (struct source){.read = section_read, .user = r};
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
