#include "ptx/fatbin.h"

#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum {
    WRAPPER_MAGIC = 0x466243B1,
    HEADER_BYTES = 16,
    ENTRY_BYTES = 64,                          /* the fixed part; options and name follow inside the entry's header */
};
#define HEADER_MAGIC 0xBA55ED50u

enum {
    FLAG_DEBUG = 0x2,
    FLAG_LZ4 = 0x2000,
    FLAG_ZSTD = 0x8000,
    FLAG_SUFFIX_A = 0x100000,
    FLAG_SUFFIX_F = 0x200000,
};

/* Far more than any module has; keeps a broken size from asking the host for all its memory. */
#define UNPACKED_MAX ((uint64_t)1 << 31)

struct wrapper { uint32_t magic, version; const void *data; const void *const *prelinked; };

/* Images from a file have no alignment. */
static uint16_t get16(const unsigned char *p) { uint16_t v; memcpy(&v, p, sizeof v); return v; }
static uint32_t get32(const unsigned char *p) { uint32_t v; memcpy(&v, p, sizeof v); return v; }
static uint64_t get64(const unsigned char *p) { uint64_t v; memcpy(&v, p, sizeof v); return v; }

enum fatbin_image_kind fatbin_kind_of(const void *image)
{
    const unsigned char *p = image;
    if (!p)
        return FATBIN_IMAGE_UNKNOWN;
    uint32_t magic = 0;
    for (unsigned i = 0; i < 4 && (i == 0 || p[i - 1]); i++)
        magic |= (uint32_t)p[i] << (8 * i);
    if (magic == WRAPPER_MAGIC)
        return FATBIN_IMAGE_WRAPPER;
    if (magic == HEADER_MAGIC)
        return FATBIN_IMAGE_HEADER;
    if (magic == 0x464C457Fu)                  /* "\177ELF" */
        return FATBIN_IMAGE_ELF;
    unsigned char c = p[0];
    return (c >= ' ' && c < 0x7F) || (c >= '\t' && c <= '\r') ? FATBIN_IMAGE_PTX : FATBIN_IMAGE_UNKNOWN;
}

/* ---- wrapper ---- */

bool fatbin_wrapper_is_linked(const void *wrapper)
{
    const struct wrapper *w = wrapper;
    return w->version == 2 && w->prelinked;
}

const void *fatbin_wrapper_data(const void *wrapper) { return ((const struct wrapper *)wrapper)->data; }

const void *fatbin_wrapper_unit(const void *wrapper, size_t i)
{
    return fatbin_wrapper_is_linked(wrapper) ? ((const struct wrapper *)wrapper)->prelinked[i] : NULL;
}

/* ---- header and entries ---- */

static enum status bad(struct error *err, const char *what)
{
    return error_set(err, ST_INVALID_IMAGE, "the fat binary is damaged: %s", what);
}

enum status fatbin_open(struct fatbin_iter *it, const void *header, size_t bytes, struct error *err)
{
    const unsigned char *p = header;
    *it = (struct fatbin_iter){0};
    if (!p || bytes < HEADER_BYTES)
        return bad(err, "it is shorter than its header");
    if (get32(p) != HEADER_MAGIC)
        return bad(err, "it does not begin with the magic number ba55ed50");
    if (get16(p + 4) != 1)
        return error_set(err, ST_INVALID_IMAGE, "the fat binary has format version %u; only version 1 is known", get16(p + 4));
    size_t head = get16(p + 6);
    uint64_t body = get64(p + 8);
    if (head < HEADER_BYTES || head > bytes)
        return bad(err, "its header has an impossible size");
    if (body > bytes - head || body > PTRDIFF_MAX)
        return bad(err, "it ends before its last entry");
    it->at = p + head;
    it->end = it->at + body;
    return ST_OK;
}

enum status fatbin_bytes(const void *header, size_t bytes, size_t *total, struct error *err)
{
    struct fatbin_iter it;
    enum status st = fatbin_open(&it, header, bytes, err);
    *total = st == ST_OK ? (size_t)(it.end - (const unsigned char *)header) : 0;
    return st;
}

/* A text inside an entry's header: absent when it does not fit, for it only serves messages. */
static const char *text_at(const unsigned char *entry, size_t head, uint32_t offset, uint32_t length, size_t *out_bytes)
{
    bool fits = length && offset <= head && length <= head - offset;
    *out_bytes = fits ? length : 0;
    return fits ? (const char *)entry + offset : "";
}

static enum fatbin_packing packing_of(uint64_t flags)
{
    return flags & FLAG_ZSTD ? FATBIN_ZSTD : flags & FLAG_LZ4 ? FATBIN_LZ4 : FATBIN_RAW;
}

static void entry_fill(struct fatbin_entry *e, const unsigned char *p, size_t head, size_t padded)
{
    uint64_t flags = get64(p + 40);
    size_t packed = get32(p + 16);
    *e = (struct fatbin_entry){
        .kind = get16(p),
        .arch = get32(p + 28),
        .suffix = flags & FLAG_SUFFIX_A ? 'a' : flags & FLAG_SUFFIX_F ? 'f' : 0,
        .isa_major = get16(p + 26),
        .isa_minor = get16(p + 24),
        .flags = flags,
        .debug = flags & FLAG_DEBUG,
        .packing = packing_of(flags),
        .payload = p + head,
    };
    e->payload_bytes = e->packing == FATBIN_RAW ? padded : packed;
    e->bytes = e->packing == FATBIN_RAW ? padded : get64(p + 56);
    e->name = text_at(p, head, get32(p + 32), get32(p + 36), &e->name_bytes);
    e->options = "";
    uint32_t options = get32(p + 20);
    if (options >= ENTRY_BYTES && options <= head - 8)
        e->options = text_at(p, head, get32(p + options), get32(p + options + 4), &e->options_bytes);
    if (e->kind == FATBIN_PTX && e->packing == FATBIN_RAW)     /* padded with NULs */
        e->bytes = strnlen(e->payload, padded);
}

enum status fatbin_next(struct fatbin_iter *it, struct fatbin_entry *e, bool *more, struct error *err)
{
    const unsigned char *p = it->at;
    size_t left = (size_t)(it->end - p);
    *more = false;
    if (!left)
        return ST_OK;
    it->at = it->end;                          /* where an error leaves it */
    if (left < ENTRY_BYTES)
        return bad(err, "an entry is shorter than its header");
    size_t head = get32(p + 4);
    uint64_t padded = get64(p + 8);
    if (head < ENTRY_BYTES || head > left)
        return bad(err, "an entry's header has an impossible size");
    if (padded > left - head)
        return bad(err, "an entry is longer than what follows it");
    if (packing_of(get64(p + 40)) != FATBIN_RAW && get32(p + 16) > padded)
        return bad(err, "a compressed entry is longer than its room");
    it->at = p + head + padded;
    entry_fill(e, p, head, (size_t)padded);
    *more = true;
    return ST_OK;
}

/* ---- payload ---- */

static enum status unpack_into(const struct fatbin_entry *e, char *out, size_t *got, struct error *err)
{
    if (e->packing == FATBIN_LZ4) {
        int n = LZ4_decompress_safe(e->payload, out, (int)e->payload_bytes, (int)e->bytes);
        if (n < 0)
            return bad(err, "an LZ4 entry does not decompress");
        *got = (size_t)n;
    } else {
        size_t n = ZSTD_decompress(out, e->bytes, e->payload, e->payload_bytes);
        if (ZSTD_isError(n))
            return error_set(err, ST_INVALID_IMAGE, "the fat binary is damaged: a zstd entry does not decompress (%s)",
                             ZSTD_getErrorName(n));
        *got = n;
    }
    return *got == e->bytes ? ST_OK : bad(err, "an entry decompresses to another size than it states");
}

enum status fatbin_unpack(const struct fatbin_entry *e, struct fatbin_blob *out, struct error *err)
{
    *out = (struct fatbin_blob){0};
    if (e->packing == FATBIN_RAW) {
        *out = (struct fatbin_blob){.data = e->payload, .bytes = e->bytes};
        return ST_OK;
    }
    if (e->bytes >= UNPACKED_MAX || e->payload_bytes >= UNPACKED_MAX)
        return bad(err, "an entry states an impossible size");
    /* An LZ4 block grows at most 255 times, and a zstd frame states its own size: no malloc on a liar's word. */
    if (e->packing == FATBIN_LZ4 && e->bytes / 256 > e->payload_bytes + 16)
        return bad(err, "an LZ4 entry states an impossible size");
    if (e->packing == FATBIN_ZSTD) {
        unsigned long long stated = ZSTD_getFrameContentSize(e->payload, e->payload_bytes);
        if (stated == ZSTD_CONTENTSIZE_ERROR || (stated != ZSTD_CONTENTSIZE_UNKNOWN && stated > e->bytes))
            return bad(err, "a zstd entry does not decompress");
    }
    char *mem = malloc(e->bytes + 1);
    if (!mem)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory to unpack %zu bytes of a fat binary", e->bytes);
    size_t got = 0;
    enum status st = unpack_into(e, mem, &got, err);
    if (st != ST_OK) {
        free(mem);
        return st;
    }
    mem[got] = 0;
    *out = (struct fatbin_blob){mem, e->kind == FATBIN_PTX ? strnlen(mem, got) : got, mem};
    return ST_OK;
}

void fatbin_blob_free(struct fatbin_blob *b)
{
    free(b->owned);
    *b = (struct fatbin_blob){0};
}

/* ---- choice ---- */

static bool runs_on(const struct fatbin_entry *e, unsigned gpu)
{
    switch (e->suffix) {
    case 'a': return e->arch == gpu;
    case 'f': return e->arch / 10 == gpu / 10 && e->arch <= gpu;
    default: return e->arch <= gpu;
    }
}

/* Larger is better. What runs beats what does not; among what runs the highest, then the most specific; among what does not,
 * the nearest newer one, plain before specific; then the nearest older one. */
static long rank(const struct fatbin_entry *e, unsigned gpu)
{
    long arch = e->arch > 9999 ? 9999 : (long)e->arch;
    long specific = e->suffix == 'a' ? 2 : e->suffix == 'f' ? 1 : 0;
    if (runs_on(e, gpu))
        return 2000000 + arch * 4 + specific;
    if (e->arch >= gpu)
        return 1000000 - (arch * 4 + specific);
    return arch * 4 - specific;
}

static void note_seen(struct fatbin_pick *p, const struct fatbin_entry *e)
{
    const char *kind = e->kind == FATBIN_PTX ? "PTX" : e->kind == FATBIN_ELF ? "cubin" : "LTO-IR";
    size_t n = strlen(p->seen);
    char suffix[2] = {e->suffix, 0};
    snprintf(p->seen + n, sizeof p->seen - n, "%ssm_%u%s %s", n ? ", " : "", e->arch, suffix, kind);
}

enum status fatbin_pick(struct fatbin_pick *out, const void *header, size_t bytes, unsigned gpu, struct error *err)
{
    struct fatbin_iter it;
    struct fatbin_entry e;
    bool more;
    *out = (struct fatbin_pick){0};
    enum status st = fatbin_open(&it, header, bytes, err);
    while (st == ST_OK && (st = fatbin_next(&it, &e, &more, err)) == ST_OK && more) {
        note_seen(out, &e);
        if (e.kind == FATBIN_PTX && (!out->has_ptx || rank(&e, gpu) > rank(&out->ptx, gpu))) {
            out->has_ptx = true;
            out->ptx = e;
        } else if (e.kind == FATBIN_ELF && (!out->has_cubin || rank(&e, gpu) > rank(&out->cubin, gpu))) {
            out->has_cubin = true;
            out->cubin = e;
        }
    }
    out->foreign = out->has_ptx && !runs_on(&out->ptx, gpu);
    return st;
}

enum status fatbin_no_ptx(const struct fatbin_pick *p, const char *what, unsigned gpu, struct error *err)
{
    if (p->has_ptx)
        return ST_OK;
    error_set(err, ST_NO_BINARY_FOR_GPU, "%s has no PTX%s%s%s; Heddle executes PTX, not machine code", what,
              p->seen[0] ? " (only " : "", p->seen, p->seen[0] ? ")" : "");
    unsigned arch = p->has_cubin && p->cubin.arch <= gpu ? p->cubin.arch : gpu;
    error_hint(err, "recompile with  -gencode arch=compute_%u,code=compute_%u  added to nvcc's options", arch, arch);
    return ST_NO_BINARY_FOR_GPU;
}
