/* A cubin made here section by section, its damaged copies, and real ones where nvcc is present. */
#include <check.h>
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ptx/cubin.h"

struct image { unsigned char at[4096]; size_t n; };

static size_t put(struct image *m, const void *p, size_t n)
{
    size_t at = m->n;
    ck_assert_uint_le(m->n + n, sizeof m->at);
    if (p)
        memcpy(m->at + m->n, p, n);
    m->n += n;
    return at;
}

/* Names of sections and of symbols in one table; kernels "k1" and "k2", a device function "f". */
static const char names[] = "\0.strtab\0.symtab\0.nv.info\0.nv.info.k1\0.text.k1\0.nv.shared.k1\0.nv.constant3\0k1\0k2\0f";

static unsigned name(const char *s)
{
    for (size_t i = 1; i < sizeof names; i += strlen(names + i) + 1)
        if (strcmp(names + i, s) == 0)
            return (unsigned)i;
    ck_abort_msg("no name %s", s);
    return 0;
}

static void make(struct image *m, unsigned char abi, unsigned flags, unsigned text_info, unsigned shared, bool with_registers)
{
    enum { SECTIONS = 8 };
    memset(m, 0, sizeof *m);
    Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 0x41, abi}, .e_type = ET_EXEC, .e_machine = 190,
                    .e_version = EV_CURRENT, .e_flags = flags, .e_ehsize = sizeof e, .e_shentsize = sizeof(Elf64_Shdr),
                    .e_shnum = SECTIONS, .e_shstrndx = 1};
    put(m, NULL, sizeof e);
    Elf64_Sym symbols[4] = {
        {0},
        {.st_name = name("k1"), .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_other = 0x10, .st_shndx = 5},
        {.st_name = name("k2"), .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_other = 0x10, .st_shndx = 5},
        {.st_name = name("f"), .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 5},
    };
    struct { unsigned char format, attribute; unsigned short size; unsigned symbol, value; } info[] = {
        {4, with_registers ? 0x2f : 0x7f, 8, 1, 33}, {4, 0x11, 8, 1, 48}, {4, 0x2f, 8, 2, 12}, {4, 0x2f, 8, 99, 7},
    };
    struct { unsigned char format, attribute; unsigned short value; unsigned char format2, attribute2; unsigned short size; unsigned xyz[3]; }
        info_k1 = {3, 0x19, 20, 4, 0x05, 12, {32, 8, 1}};
    Elf64_Shdr s[SECTIONS] = {
        {0},
        {.sh_name = name(".strtab"), .sh_type = SHT_STRTAB, .sh_offset = put(m, names, sizeof names), .sh_size = sizeof names},
        {.sh_name = name(".symtab"), .sh_type = SHT_SYMTAB, .sh_link = 1, .sh_entsize = sizeof *symbols,
         .sh_offset = put(m, symbols, sizeof symbols), .sh_size = sizeof symbols},
        {.sh_name = name(".nv.info"), .sh_type = 0x70000000, .sh_offset = put(m, info, sizeof info), .sh_size = sizeof info},
        {.sh_name = name(".nv.info.k1"), .sh_type = 0x70000000, .sh_offset = put(m, &info_k1, sizeof info_k1), .sh_size = sizeof info_k1},
        {.sh_name = name(".text.k1"), .sh_type = SHT_PROGBITS, .sh_info = text_info, .sh_offset = m->n, .sh_size = 0},
        {.sh_name = name(".nv.shared.k1"), .sh_type = SHT_NOBITS, .sh_offset = m->n, .sh_size = shared},
        {.sh_name = name(".nv.constant3"), .sh_type = SHT_PROGBITS, .sh_offset = put(m, names, 16), .sh_size = 16},
    };
    e.e_shoff = put(m, s, sizeof s);
    memcpy(m->at, &e, sizeof e);
}

static void expect(const struct image *m, unsigned arch, unsigned registers, size_t shared)
{
    struct cubin c;
    struct error err = {0};
    enum status st = cubin_read(&c, m->at, m->n, &err);
    ck_assert_msg(st == ST_OK, "%s", err.text);
    ck_assert_uint_eq(c.arch, arch);
    ck_assert_uint_eq(c.n_kernels, 2);
    ck_assert_uint_eq(c.const_bytes, 16);
    const struct cubin_kernel *k = cubin_find(&c, "k1");
    ck_assert_ptr_nonnull(k);
    ck_assert_uint_eq(k->registers, registers);
    ck_assert_uint_eq(k->shared_bytes, shared);
    ck_assert_uint_eq(k->local_bytes, 48);
    ck_assert_uint_eq(k->param_bytes, 20);
    ck_assert_uint_eq(k->max_threads, 256);
    ck_assert_uint_eq(cubin_find(&c, "k2")->registers, 12);
    ck_assert_ptr_null(cubin_find(&c, "f"));
    cubin_free(&c);
}

START_TEST(test_facts)
{
    struct image m;
    make(&m, 7, 80, 5, 512, true);             /* ABI 7: the architecture stands in the low byte */
    expect(&m, 80, 33, 512);
    make(&m, 8, 0x6005a04, 5, 1536, true);     /* ABI 8; sm_90 counts 1 KB of its own */
    expect(&m, 90, 33, 512);
    make(&m, 8, 0x6005004, 40u << 24 | 5, 512, false);
    expect(&m, 80, 40, 512);                   /* registers from sh_info */
    ck_assert_uint_eq(cubin_bytes(m.at), m.n);
}
END_TEST

START_TEST(test_not_a_cubin)
{
    struct cubin c;
    struct error err = {0};
    struct image m;
    ck_assert_int_eq(cubin_read(&c, "hello", 5, &err), ST_INVALID_IMAGE);
    ck_assert(err.text[0]);
    ck_assert_int_eq(cubin_read(&c, "", 0, &err), ST_INVALID_IMAGE);
    make(&m, 8, 0, 0, 0, true);
    m.at[18] = 62;                             /* an x86 program */
    ck_assert_int_eq(cubin_read(&c, m.at, m.n, &err), ST_INVALID_IMAGE);
    ck_assert_uint_eq(c.n_kernels, 0);
    ck_assert_uint_eq(cubin_bytes("hello, there is no ELF magic here, and the header would be 64 bytes long.."), 0);
}
END_TEST

/* Any answer is right but a crash; AddressSanitizer watches the end of the copies. */
START_TEST(test_damaged)
{
    struct image m;
    struct cubin c;
    make(&m, 8, 0x6005a04, 5, 1536, true);
    for (size_t n = 0; n < m.n; n++) {
        unsigned char *copy = malloc(n ? n : 1);
        memcpy(copy, m.at, n);
        if (cubin_read(&c, copy, n, NULL) == ST_OK)
            cubin_free(&c);
        free(copy);
    }
    for (size_t i = 0; i < m.n; i++)
        for (unsigned v = 0; v < 4; v++) {
            static const unsigned char values[] = {0, 0x7f, 0x80, 0xff};
            unsigned char *copy = malloc(m.n);
            memcpy(copy, m.at, m.n);
            copy[i] = values[v];
            if (cubin_read(&c, copy, m.n, NULL) == ST_OK)
                cubin_free(&c);
            free(copy);
        }
}
END_TEST

static const char source[] = "__global__ void __launch_bounds__(128) k(float *p) { __shared__ float s[64]; s[threadIdx.x & 63] = p[0];"
                             " __syncthreads(); p[threadIdx.x] = s[threadIdx.x * 7 & 63]; }\n";

START_TEST(test_real)
{
    static const unsigned archs[] = {75, 80, 90, 100};
    char command[256];
    if (system("command -v nvcc >/dev/null 2>&1") != 0) {
        puts("SKIP test_fatbin_cubin test_real: no nvcc");
        fflush(stdout);
        return;
    }
    char dir[] = "/tmp/heddle-cubin-XXXXXX", path[64];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/k.cu", dir);
    FILE *f = fopen(path, "w");
    fputs(source, f);
    fclose(f);
    snprintf(command, sizeof command, "nvcc -cubin -arch=sm_%u -o %s/k.cubin %s/k.cu", archs[_i], dir, dir);
    ck_assert_int_eq(system(command), 0);
    snprintf(path, sizeof path, "%s/k.cubin", dir);
    f = fopen(path, "rb");
    unsigned char *bytes = malloc(65536);
    size_t n = fread(bytes, 1, 65536, f);
    fclose(f);
    snprintf(command, sizeof command, "rm -r %s", dir);
    ck_assert_int_eq(system(command), 0);
    struct cubin c;
    ck_assert_int_eq(cubin_read(&c, bytes, n, NULL), ST_OK);
    ck_assert_uint_eq(c.arch, archs[_i]);
    ck_assert_uint_eq(c.n_kernels, 1);
    ck_assert_str_eq(c.kernels[0].name, "_Z1kPf");
    ck_assert_uint_ge(c.kernels[0].registers, 4);
    ck_assert_uint_le(c.kernels[0].registers, 64);
    ck_assert_uint_eq(c.kernels[0].shared_bytes, 256);
    ck_assert_uint_eq(c.kernels[0].local_bytes, 0);
    ck_assert_uint_eq(c.kernels[0].param_bytes, 8);
    ck_assert_uint_eq(c.kernels[0].max_threads, 128);
    ck_assert_uint_eq(cubin_bytes(bytes), n);
    cubin_free(&c);
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cubin");
    TCase *t = tcase_create("cubin");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_facts);
    tcase_add_test(t, test_not_a_cubin);
    tcase_add_test(t, test_damaged);
    tcase_add_loop_test(t, test_real, 0, 4);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
