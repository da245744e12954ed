/* Fat binaries made here byte by byte: every packing, both wrappers, the choice, and what is damaged. */
#include <check.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "ptx/fatbin.h"

static const char ptx_text[] = ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"
                               "// repeated repeated repeated repeated repeated repeated repeated repeated repeated\n";

enum { LZ4 = 0x2000, ZSTD = 0x8000, SUFFIX_A = 0x100000, SUFFIX_F = 0x200000, DEBUG_FLAG = 2 };

struct image { unsigned char at[8192]; size_t n; };

static void put(struct image *m, const void *p, size_t n)
{
    ck_assert_uint_le(m->n + n, sizeof m->at);
    memcpy(m->at + m->n, p, n);
    m->n += n;
}
static void put16(struct image *m, unsigned v) { uint16_t x = (uint16_t)v; put(m, &x, 2); }
static void put32(struct image *m, unsigned v) { uint32_t x = v; put(m, &x, 4); }
static void put64(struct image *m, uint64_t v) { put(m, &v, 8); }

static void begin(struct image *m)
{
    memset(m, 0, sizeof *m);
    put32(m, 0xBA55ED50);
    put16(m, 1);
    put16(m, 16);
    put64(m, 0);
}

static void finish(struct image *m)
{
    uint64_t body = m->n - 16;
    memcpy(m->at + 8, &body, 8);
}

/* One entry; the payload is packed as flags say. With a name, the entry's header is longer than the fixed part. */
static void entry(struct image *m, unsigned kind, unsigned arch, unsigned flags, const char *text, size_t bytes, const char *name)
{
    char packed[2048];
    size_t n = bytes;
    if (flags & LZ4)
        n = (size_t)LZ4_compress_default(text, packed, (int)bytes, sizeof packed);
    else if (flags & ZSTD)
        n = ZSTD_compress(packed, sizeof packed, text, bytes, 3);
    else
        memcpy(packed, text, bytes);
    bool is_packed = flags & (LZ4 | ZSTD);
    size_t padded = (n + 8) & ~(size_t)7, name_bytes = name ? strlen(name) : 0, head = 72 + ((name_bytes + 7) & ~(size_t)7);
    put16(m, kind);
    put16(m, 0x101);
    put32(m, (unsigned)head);
    put64(m, padded);
    put32(m, is_packed ? (unsigned)n : 0);
    put32(m, 64);                              /* options block */
    put16(m, 0);
    put16(m, 9);
    put32(m, arch);
    put32(m, name ? 72 : 0);
    put32(m, (unsigned)name_bytes);
    put64(m, flags | 1);
    put64(m, 0);
    put64(m, is_packed ? bytes : 0);
    put32(m, name ? 72 : 0);                   /* options: the same text as the name */
    put32(m, (unsigned)name_bytes);
    size_t start = m->n;
    if (name)
        put(m, name, name_bytes);
    m->n = start + head - 72;
    put(m, packed, n);
    m->n += padded - n;
}

static void one(struct image *m, unsigned kind, unsigned arch, unsigned flags)
{
    begin(m);
    entry(m, kind, arch, flags, ptx_text, sizeof ptx_text - 1, NULL);
    finish(m);
}

static void expect_text(const struct image *m, size_t bytes)
{
    struct fatbin_iter it;
    struct fatbin_entry e;
    struct fatbin_blob b;
    struct error err = {0};
    bool more = false;
    ck_assert_int_eq(fatbin_open(&it, m->at, bytes, &err), ST_OK);
    ck_assert_int_eq(fatbin_next(&it, &e, &more, &err), ST_OK);
    ck_assert(more);
    ck_assert_int_eq(fatbin_unpack(&e, &b, &err), ST_OK);
    ck_assert_uint_eq(b.bytes, sizeof ptx_text - 1);
    ck_assert(memcmp(b.data, ptx_text, b.bytes) == 0);
    ck_assert_int_eq(b.data[b.bytes], 0);
    fatbin_blob_free(&b);
    ck_assert_ptr_null(b.owned);
    ck_assert_int_eq(fatbin_next(&it, &e, &more, &err), ST_OK);
    ck_assert(!more);
}

START_TEST(test_packings)
{
    static const unsigned flags[] = {0, LZ4, ZSTD};
    struct image m;
    one(&m, FATBIN_PTX, 80, flags[_i]);
    expect_text(&m, m.n);
    expect_text(&m, FATBIN_TRUSTED);
}
END_TEST

START_TEST(test_fields)
{
    struct image m;
    struct fatbin_iter it;
    struct fatbin_entry e;
    bool more;
    size_t total;
    begin(&m);
    entry(&m, FATBIN_PTX, 100, ZSTD | SUFFIX_F | DEBUG_FLAG, ptx_text, sizeof ptx_text - 1, "kernel.cu");
    entry(&m, FATBIN_ELF, 90, SUFFIX_A, "12345678", 8, NULL);
    finish(&m);
    ck_assert_int_eq(fatbin_bytes(m.at, m.n, &total, NULL), ST_OK);
    ck_assert_uint_eq(total, m.n);
    ck_assert_int_eq(fatbin_open(&it, m.at, m.n, NULL), ST_OK);
    ck_assert_int_eq(fatbin_next(&it, &e, &more, NULL), ST_OK);
    ck_assert_uint_eq(e.kind, FATBIN_PTX);
    ck_assert_uint_eq(e.arch, 100);
    ck_assert_int_eq(e.suffix, 'f');
    ck_assert_uint_eq(e.isa_major, 9);
    ck_assert_uint_eq(e.isa_minor, 0);
    ck_assert(e.debug);
    ck_assert_int_eq(e.packing, FATBIN_ZSTD);
    ck_assert_uint_eq(e.name_bytes, 9);
    ck_assert(memcmp(e.name, "kernel.cu", 9) == 0);
    ck_assert(e.options_bytes == 9 && memcmp(e.options, "kernel.cu", 9) == 0);
    ck_assert_int_eq(fatbin_next(&it, &e, &more, NULL), ST_OK);
    ck_assert(more);
    ck_assert_uint_eq(e.kind, FATBIN_ELF);
    ck_assert_int_eq(e.suffix, 'a');
    ck_assert_uint_eq(e.bytes, 16);            /* raw machine code has its padding */
    ck_assert(!e.debug);
}
END_TEST

START_TEST(test_empty_header)
{
    struct image m;
    struct fatbin_iter it;
    struct fatbin_entry e;
    bool more = true;
    begin(&m);
    finish(&m);
    ck_assert_int_eq(fatbin_open(&it, m.at, m.n, NULL), ST_OK);
    ck_assert_int_eq(fatbin_next(&it, &e, &more, NULL), ST_OK);
    ck_assert(!more);
}
END_TEST

START_TEST(test_kinds)
{
    struct image m;
    begin(&m);
    ck_assert_int_eq(fatbin_kind_of(m.at), FATBIN_IMAGE_HEADER);
    const uint32_t wrapper = 0x466243B1;
    ck_assert_int_eq(fatbin_kind_of(&wrapper), FATBIN_IMAGE_WRAPPER);
    ck_assert_int_eq(fatbin_kind_of("\177ELF"), FATBIN_IMAGE_ELF);
    ck_assert_int_eq(fatbin_kind_of(".version 8.0"), FATBIN_IMAGE_PTX);
    ck_assert_int_eq(fatbin_kind_of("\n//"), FATBIN_IMAGE_PTX);
    ck_assert_int_eq(fatbin_kind_of("x"), FATBIN_IMAGE_PTX);
    ck_assert_int_eq(fatbin_kind_of(""), FATBIN_IMAGE_UNKNOWN);
    ck_assert_int_eq(fatbin_kind_of("\xff\xfe"), FATBIN_IMAGE_UNKNOWN);
    ck_assert_int_eq(fatbin_kind_of(NULL), FATBIN_IMAGE_UNKNOWN);
}
END_TEST

START_TEST(test_wrappers)
{
    struct image a, b;
    one(&a, FATBIN_PTX, 80, ZSTD);
    one(&b, FATBIN_PTX, 80, LZ4);
    const void *units[] = {a.at, b.at, NULL};
    struct { uint32_t magic, version; const void *data; const void *prelinked; } w = {0x466243B1, 1, a.at, "file.fatbin"};
    ck_assert(!fatbin_wrapper_is_linked(&w));
    ck_assert_ptr_eq(fatbin_wrapper_data(&w), a.at);
    ck_assert_ptr_null(fatbin_wrapper_unit(&w, 0));
    w.version = 2;
    w.prelinked = units;
    ck_assert(fatbin_wrapper_is_linked(&w));
    ck_assert_ptr_eq(fatbin_wrapper_unit(&w, 1), b.at);
    ck_assert_ptr_null(fatbin_wrapper_unit(&w, 2));
    w.prelinked = NULL;
    ck_assert(!fatbin_wrapper_is_linked(&w));
}
END_TEST

/* Every length that is too short must be refused or end the iteration, and nothing behind it may be read. The copy ends where the
 * bytes end, so that AddressSanitizer sees a step too far. */
START_TEST(test_truncated)
{
    static const unsigned flags[] = {0, LZ4, ZSTD};
    struct image m;
    one(&m, FATBIN_PTX, 80, flags[_i]);
    for (size_t n = 0; n < m.n; n++) {
        unsigned char *copy = malloc(n ? n : 1);
        memcpy(copy, m.at, n);
        struct fatbin_iter it;
        struct error err = {0};
        ck_assert_int_eq(fatbin_open(&it, copy, n, &err), ST_INVALID_IMAGE);
        ck_assert(err.text[0]);
        free(copy);
    }
}
END_TEST

/* Each byte is changed in turn: any answer is right but a crash, and a text that comes out has a sane length. */
START_TEST(test_corrupted)
{
    static const unsigned flags[] = {0, LZ4, ZSTD};
    struct image m;
    begin(&m);
    entry(&m, FATBIN_PTX, 80, flags[_i], ptx_text, sizeof ptx_text - 1, "k.cu");
    finish(&m);
    for (size_t i = 0; i < m.n; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            unsigned char *copy = malloc(m.n);
            memcpy(copy, m.at, m.n);
            copy[i] ^= (unsigned char)(1u << bit);
            struct fatbin_pick p;
            struct fatbin_blob b = {0};
            if (fatbin_pick(&p, copy, m.n, 90, NULL) == ST_OK && p.has_ptx && fatbin_unpack(&p.ptx, &b, NULL) == ST_OK)
                ck_assert_uint_le(b.bytes, 1u << 20);
            fatbin_blob_free(&b);
            free(copy);
        }
}
END_TEST

START_TEST(test_wrong_sizes)
{
    static const struct { unsigned offset, bytes; uint64_t value; } wrong[] = {
        {4, 2, 2},                             /* format version */
        {6, 2, 8},                             /* header size */
        {6, 2, 60000},
        {8, 8, UINT64_MAX},                    /* body */
        {16 + 4, 4, 8},                        /* entry header size */
        {16 + 4, 4, 0xFFFFFFFF},
        {16 + 8, 8, UINT64_MAX},               /* payload */
        {16 + 16, 4, 0xFFFFFFFF},              /* compressed size */
        {16 + 56, 8, UINT64_MAX},              /* uncompressed size */
        {16 + 56, 8, 1},
        {16 + 56, 8, (uint64_t)1 << 30},
    };
    struct image m;
    struct fatbin_pick p;
    struct fatbin_blob b;
    struct error err = {0};
    one(&m, FATBIN_PTX, 80, _i % 2 ? LZ4 : ZSTD);
    memcpy(m.at + wrong[_i / 2].offset, &wrong[_i / 2].value, wrong[_i / 2].bytes);
    enum status st = fatbin_pick(&p, m.at, m.n, 90, &err);
    if (st == ST_OK)
        st = fatbin_unpack(&p.ptx, &b, &err);
    ck_assert_int_eq(st, ST_INVALID_IMAGE);
    ck_assert(err.text[0]);
}
END_TEST

START_TEST(test_pick)
{
    static const struct { unsigned arch, flags; } all[] = {{75, 0}, {80, 0}, {90, 0}, {90, SUFFIX_A}, {100, SUFFIX_F}, {120, 0}};
    static const struct { unsigned gpu, mask, arch; char suffix; bool foreign; } want[] = {
        {70, 0x3f, 75, 0, true},               /* all newer: the lowest */
        {75, 0x3f, 75, 0, false},
        {86, 0x3f, 80, 0, false},
        {90, 0x3f, 90, 'a', false},            /* exact and specific before plain */
        {90, 0x07, 90, 0, false},
        {100, 0x3f, 100, 'f', false},
        {103, 0x3f, 100, 'f', false},          /* the same family */
        {110, 0x3f, 90, 0, false},             /* neither another family nor 90a */
        {120, 0x3f, 120, 0, false},
        {80, 0x08, 90, 'a', true},
        {80, 0x0c, 90, 0, true},               /* plain before specific */
        {100, 0x08, 90, 'a', true},            /* nothing else there */
    };
    struct image m;
    struct fatbin_pick p;
    begin(&m);
    for (unsigned i = 0; i < 6; i++)
        if (want[_i].mask >> i & 1)
            entry(&m, FATBIN_PTX, all[i].arch, all[i].flags | ZSTD, ptx_text, sizeof ptx_text - 1, NULL);
    finish(&m);
    ck_assert_int_eq(fatbin_pick(&p, m.at, m.n, want[_i].gpu, NULL), ST_OK);
    ck_assert(p.has_ptx && !p.has_cubin);
    ck_assert_uint_eq(p.ptx.arch, want[_i].arch);
    ck_assert_int_eq(p.ptx.suffix, want[_i].suffix);
    ck_assert_int_eq(p.foreign, want[_i].foreign);
}
END_TEST

START_TEST(test_no_ptx)
{
    struct image m;
    struct fatbin_pick p;
    struct error err = {0};
    begin(&m);
    entry(&m, FATBIN_ELF, 80, 0, "12345678", 8, NULL);
    entry(&m, FATBIN_LTOIR, 90, 0, "12345678", 8, NULL);
    finish(&m);
    ck_assert_int_eq(fatbin_pick(&p, m.at, m.n, 90, &err), ST_OK);
    ck_assert(!p.has_ptx && p.has_cubin);
    ck_assert_str_eq(p.seen, "sm_80 cubin, sm_90 LTO-IR");
    ck_assert_int_eq(fatbin_no_ptx(&p, "./app", 90, &err), ST_NO_BINARY_FOR_GPU);
    ck_assert_ptr_nonnull(strstr(err.text, "sm_80 cubin"));
    ck_assert_ptr_nonnull(strstr(err.text, "-gencode arch=compute_80,code=compute_80"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fatbin");
    TCase *t = tcase_create("fatbin");
    tcase_add_loop_test(t, test_packings, 0, 3);
    tcase_add_test(t, test_fields);
    tcase_add_test(t, test_empty_header);
    tcase_add_test(t, test_kinds);
    tcase_add_test(t, test_wrappers);
    tcase_add_loop_test(t, test_truncated, 0, 3);
    tcase_add_loop_test(t, test_corrupted, 0, 3);
    tcase_add_loop_test(t, test_wrong_sizes, 0, 22);
    tcase_add_loop_test(t, test_pick, 0, 12);
    tcase_add_test(t, test_no_ptx);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
