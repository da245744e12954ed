/* Writing .hck files. What a file system takes is the greater part of the time, so it gets large blocks, past the cache of the system where it lets us: a checkpoint
 * is not read again soon, and gigabytes of it would push everything else out. */
#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "emu/emu.h"
#include "runtime/base/vec.h"
#include "runtime/checkpoint/file_format.h"

enum {
    BLOCK_BYTES = 1 << 20,                              /* what is written at once */
    ALIGNMENT = 4096,                                   /* of such writes */
    ACCELERATION = 8,                                   /* of LZ4: 1.6 GB/s for numbers that hardly repeat; at 1 it is 0.9 */
    PAYS = HCK_CHUNK_BYTES / 4 * 3,                     /* a chunk that stays larger is stored as it is */
    SAMPLE_BYTES = 1 << 14, SAMPLE_PAYS = SAMPLE_BYTES / 8 * 7 };

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

struct hck_writer {
    int fd;
    char *path, *temporary;
    bool direct;                                        /* past the system's cache: whole blocks only */
    XXH3_state_t *hash;
    struct sink sink;
    bool open;                                          /* a section is */
    struct hck_entry entry;                             /* that one */
    VEC(struct hck_entry) entries;
    uint64_t at;                                        /* bytes of the file so far, those of the block that is being filled included */
    struct error why;
    size_t filled, gathered;                            /* of block, of chunk */
    char *block;                                        /* BLOCK_BYTES and room for a chunk behind them */
    char chunk[HCK_CHUNK_BYTES];
};

/* ---- bytes ---- */

static bool set_direct(struct hck_writer *w, bool direct)
{
    int flags = fcntl(w->fd, F_GETFL);
    w->direct = direct && flags >= 0 && fcntl(w->fd, F_SETFL, flags | O_DIRECT) == 0;
    return w->direct || (flags >= 0 && fcntl(w->fd, F_SETFL, flags & ~O_DIRECT) == 0);
}

static bool write_out(struct hck_writer *w, const char *at, size_t n)
{
    while (n && w->why.status == ST_OK) {
        ssize_t k = write(w->fd, at, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (w->direct && (k < 0 ? errno == EINVAL : k % ALIGNMENT != 0) && set_direct(w, false)) {
            k = k < 0 ? 0 : k;                          /* this file system does not; the last block of a full one */
        } else if (k <= 0) {
            error_set(&w->why, ST_OPERATING_SYSTEM, "%s cannot be written: %s", w->temporary, strerror(k ? errno : ENOSPC));
            break;
        }
        at += k;
        n -= (size_t)k;
    }
    return w->why.status == ST_OK;
}

/* n bytes were put behind what the block holds. */
static bool filled_by(struct hck_writer *w, size_t n)
{
    w->filled += n;
    w->at += n;
    if (w->filled < BLOCK_BYTES)
        return true;
    bool ok = write_out(w, w->block, BLOCK_BYTES);
    w->filled -= BLOCK_BYTES;
    memcpy(w->block, w->block + BLOCK_BYTES, w->filled);
    return ok;
}

static bool write_raw(struct hck_writer *w, const void *p, size_t n)
{
    for (const char *from = p; n && w->why.status == ST_OK;) {
        size_t piece = n < HCK_CHUNK_BYTES ? n : HCK_CHUNK_BYTES;
        memcpy(w->block + w->filled, from, piece);
        (void)filled_by(w, piece);
        from += piece;
        n -= piece;
    }
    return w->why.status == ST_OK;
}

/* What is left of the last block. */
static bool write_rest(struct hck_writer *w) { return set_direct(w, false) && write_out(w, w->block, w->filled); }

/* ---- chunks ---- */

/* 0: it is better stored as it is. */
static size_t pack(const char *from, size_t n, char *to)
{
    char sample[SAMPLE_PAYS];
    if (n == HCK_CHUNK_BYTES && LZ4_compress_fast(from + n / 2, sample, SAMPLE_BYTES, sizeof sample, ACCELERATION) <= 0)
        return 0;
    int k = LZ4_compress_fast(from, to, (int)n, (int)(n == HCK_CHUNK_BYTES ? PAYS : n - 1), ACCELERATION);
    return k > 0 ? (size_t)k : 0;
}

static bool chunk_end(struct hck_writer *w)
{
    size_t n = w->gathered;
    char *to = w->block + w->filled;
    struct hck_chunk_on_disk h = {.raw = (uint32_t)n};
    if (!n || w->why.status != ST_OK)
        return w->why.status == ST_OK;
    h.stored = (uint32_t)pack(w->chunk, n, to + sizeof h);
    if (!h.stored) {
        h.stored = h.raw;
        memcpy(to + sizeof h, w->chunk, n);
    }
    memcpy(to, &h, sizeof h);
    w->gathered = 0;
    XXH3_64bits_update(w->hash, to, sizeof h + h.stored);
    return filled_by(w, sizeof h + h.stored);
}

/* Always by way of our own chunk: what is hashed must be what is written, whatever a thread of the program does to its memory meanwhile. */
static bool section_write(void *user, const void *p, size_t n)
{
    struct hck_writer *w = user;
    w->entry.raw_bytes += n;
    for (const char *from = p; n && w->open && w->why.status == ST_OK;) {
        size_t room = sizeof w->chunk - w->gathered, piece = n < room ? n : room;
        memcpy(w->chunk + w->gathered, from, piece);
        w->gathered += piece;
        from += piece;
        n -= piece;
        if (w->gathered == sizeof w->chunk)
            (void)chunk_end(w);
    }
    return w->open && w->why.status == ST_OK;
}

/* ---- sections ---- */

static void section_end(struct hck_writer *w)
{
    if (!w->open)
        return;
    (void)chunk_end(w);
    w->open = false;
    if (w->sink.failed && w->why.status == ST_OK)   /* whoever filled it could not */
        error_set(&w->why, ST_OUT_OF_MEMORY, "no host memory for section \"%s\" of %s", hck_section_name(w->entry.id), w->path);
    w->entry.stored_bytes = w->at - w->entry.offset;
    w->entry.hash = XXH3_64bits_digest(w->hash);
    if ((w->entries.n >= HCK_MAX_ENTRIES || !vec_push(&w->entries, w->entry)) && w->why.status == ST_OK)
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

/* ---- the file ---- */

static void writer_free(struct hck_writer *w)
{
    XXH3_freeState(w->hash);
    vec_free(&w->entries);
    free(w->block);
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
    else
        (void)!set_direct(w, true);
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
    w->hash = XXH3_createState();
    w->block = aligned_alloc(ALIGNMENT, BLOCK_BYTES + HCK_CHUNK_BYTES + ALIGNMENT);
    bool memory = w->hash && w->block;
    if (!memory)
        error_set(err, ST_OUT_OF_MEMORY, "no host memory for a checkpoint");
    if (!memory || !open_temporary(w, path, err)) {
        writer_free(w);
        return err->status;
    }
    struct hck_head_on_disk h = {.version = HCK_VERSION, .bytes = sizeof h, .layout = hck_layout()};
    memcpy(h.magic, HCK_HEAD_MAGIC, sizeof h.magic);
    snprintf(h.build, sizeof h.build, "heddle %s", HEDDLE_VERSION);
    h.hash = XXH3_64bits(&h, offsetof(struct hck_head_on_disk, hash));
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
    struct hck_end_on_disk e = {.directory = w->at, .entries = w->entries.n};
    size_t n = w->entries.n * sizeof *w->entries.at;
    e.hash = XXH3_64bits(w->entries.at, n);
    memcpy(e.magic, HCK_END_MAGIC, sizeof e.magic);
    bool ok = write_raw(w, w->entries.at, n) && write_raw(w, &e, sizeof e) && write_rest(w);
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
