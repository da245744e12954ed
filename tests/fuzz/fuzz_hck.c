/* Any bytes as a checkpoint file; then as the contents of the sections of one whose hashes are right, for those who read them. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/checkpoint/about.h"
#include "runtime/checkpoint/file_format.h"
#include "runtime/checkpoint/program.h"
#include "runtime/checkpoint/tape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_all(int fd)
{
    struct error err;
    struct hck_reader *r;
    const struct hck_entry *x;
    if (hck_open_fd(&r, fd, "fuzz", &err) != ST_OK)
        return;
    bool whole = hck_check(r, &err) == ST_OK;
    for (size_t i = hck_entries(r, &x); i-- > 0;) {
        struct source *s = hck_enter(r, i);
        get_nothing(s, x[i].raw_bytes < 1 << 20 ? x[i].raw_bytes : 1 << 20);
        if (s->failed && hck_error(r, &err) == ST_OK)
            __builtin_trap();
    }
    static struct checkpoint_about about;
    struct program p;
    if (whole && checkpoint_about(&about, r, &err) != ST_OK && err.status == ST_OK)
        __builtin_trap();
    struct source *calls = hck_find(r, HCK_CALLS);
    if (calls && program_get(&p, calls, &err) == ST_OK) {
        (void)!program_compare(&p, &p, &err);
        program_free(&p);
    }
    hck_close(r);
}

/* The first byte says what is made of the others: chunks of one section, with their heads, or sections of one chunk each. */
static int make_file(const uint8_t *data, size_t n)
{
    enum { SECTIONS = 4 };
    static char file[1 << 18];
    struct hck_head_on_disk h = {.version = HCK_VERSION, .bytes = sizeof h};
    struct hck_entry entries[SECTIONS];
    size_t at = sizeof h, count = 0;
    bool chunks = n && data[0] & 1;
    memcpy(h.magic, HCK_HEAD_MAGIC, sizeof h.magic);
    h.hash = XXH3_64bits(&h, offsetof(struct hck_head_on_disk, hash));
    memcpy(file, &h, sizeof h);
    for (size_t i = 1; i + 2 < n && count < SECTIONS; count++) {
        size_t bytes = data[i + 1] | (size_t)data[i + 2] << 8, left = n - i - 3;
        struct hck_entry *x = &entries[count];
        bytes = bytes && bytes < left ? bytes : left;
        *x = (struct hck_entry){.id = data[i] % 12, .offset = at, .raw_bytes = chunks ? 1 << 16 : bytes};
        if (!chunks && bytes) {
            memcpy(file + at, &(struct hck_chunk_on_disk){(uint32_t)bytes, (uint32_t)bytes}, sizeof(struct hck_chunk_on_disk));
            at += sizeof(struct hck_chunk_on_disk);
        }
        memcpy(file + at, data + i + 3, bytes);
        at += bytes;
        x->stored_bytes = at - x->offset;
        x->hash = XXH3_64bits(file + x->offset, x->stored_bytes);
        i += 3 + bytes;
    }
    struct hck_end_on_disk e = {.directory = at, .entries = count, .hash = XXH3_64bits(entries, count * sizeof *entries)};
    memcpy(e.magic, HCK_END_MAGIC, sizeof e.magic);
    memcpy(file + at, entries, count * sizeof *entries);
    at += count * sizeof *entries;
    memcpy(file + at, &e, sizeof e);
    at += sizeof e;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, file, at) != (ssize_t)at) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void read_tape(const uint8_t *data, size_t n)
{
    static char copy[1 << 16] __attribute__((aligned(8)));
    uint64_t at = 0;
    volatile char last;
    n = n < sizeof copy ? n : sizeof copy;
    memcpy(copy, data, n);
    for (const struct tape_head *t; (t = tape_record(copy, n, at, &at));)
        if (t->bytes)
            last = ((const char *)(t + 1))[t->bytes - 1];
    (void)last;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (n > 1 << 16)
        n = 1 << 16;
    if (fd >= 0 && write(fd, data, n) == (ssize_t)n)
        read_all(fd);
    else if (fd >= 0)
        close(fd);
    if ((fd = make_file(data, n)) >= 0)
        read_all(fd);
    read_tape(data, n);
    return 0;
}
