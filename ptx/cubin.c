#include "ptx/cubin.h"

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/map.h"
#include "runtime/base/vec.h"

/* Attribute numbers of the .nv.info sections that matter here; found by compiling small kernels and comparing with what
 * `ptxas -v` says about them. */
enum {
    ATTR_MAX_THREADS = 0x05,       /* three words, in .nv.info.<kernel> */
    ATTR_REQ_THREADS = 0x10,       /* the same */
    ATTR_FRAME_BYTES = 0x11,       /* symbol, bytes, in .nv.info */
    ATTR_PARAM_BYTES = 0x19,       /* half word, in .nv.info.<kernel> */
    ATTR_REGISTERS = 0x2F,         /* symbol, count, in .nv.info */
};
enum { FORMAT_SIZED = 4 };         /* record is format, attribute, size, bytes; others are format, attribute, half word */
enum {
    EM_CUDA_ = 190,
    SYMBOL_IS_ENTRY = 0x10,        /* in st_other */
    RESERVED_SHARED_BYTES = 1024,  /* sm_90 and later, counted into .nv.shared.<kernel> */
};

struct reader {
    Elf *elf;
    size_t names;                  /* section of section names */
    const char *symbol_bytes;      /* .symtab */
    size_t n_symbols, symbol_names;
    struct cubin *out;
    VEC(struct cubin_kernel) kernels;
    struct map by_name;            /* name -> index in kernels */
};

static enum status bad(struct error *err, const char *what)
{
    return error_set(err, ST_INVALID_IMAGE, "the cubin cannot be read: %s", what);
}

static unsigned arch_of(const GElf_Ehdr *e)
{
    /* ELF ABI 8 (CUDA 13) moved the number; earlier ones had it in the low byte. */
    return e->e_ident[EI_ABIVERSION] >= 8 ? (e->e_flags >> 8) & 0xFFFF : e->e_flags & 0xFF;
}

static struct cubin_kernel *kernel_find(struct reader *r, const char *name)
{
    uintptr_t i;
    return name && map_get_str(&r->by_name, name, strlen(name), &i) ? &r->kernels.at[i] : NULL;
}

static bool symbol_at(struct reader *r, size_t i, Elf64_Sym *sym, const char **name)
{
    if (i >= r->n_symbols)
        return false;
    memcpy(sym, r->symbol_bytes + i * sizeof *sym, sizeof *sym);
    *name = elf_strptr(r->elf, r->symbol_names, sym->st_name);
    return *name != NULL;
}

/* Calls fn for each section: a cubin has a handful per kernel. */
static bool each_section(struct reader *r, bool (*fn)(struct reader *, const GElf_Shdr *, const char *name, const Elf_Data *))
{
    for (Elf_Scn *s = NULL; (s = elf_nextscn(r->elf, s));) {
        GElf_Shdr h;                           /* a copy: the image need not be aligned */
        const char *name = gelf_getshdr(s, &h) ? elf_strptr(r->elf, r->names, h.sh_name) : NULL;
        if (!name)
            continue;
        const Elf_Data *d = h.sh_type == SHT_NOBITS ? NULL : elf_rawdata(s, NULL);
        if (d && !d->d_buf)
            d = NULL;
        if (!fn(r, &h, name, d))
            return false;
    }
    return true;
}

static bool take_symbols(struct reader *r, const GElf_Shdr *h, const char *name, const Elf_Data *d)
{
    (void)name;
    if (h->sh_type == SHT_SYMTAB && d && !r->symbol_bytes) {
        r->symbol_bytes = d->d_buf;
        r->n_symbols = d->d_size / sizeof(Elf64_Sym);
        r->symbol_names = h->sh_link;
    }
    return true;
}

static bool take_kernels(struct reader *r)
{
    for (size_t i = 0; i < r->n_symbols; i++) {
        Elf64_Sym sym;
        const char *name;
        if (!symbol_at(r, i, &sym, &name) || ELF64_ST_TYPE(sym.st_info) != STT_FUNC || !(sym.st_other & SYMBOL_IS_ENTRY))
            continue;
        struct cubin_kernel k = {.name = arena_strndup(&r->out->arena, name, strlen(name))};
        if (!k.name || !map_put_str(&r->by_name, k.name, strlen(k.name), r->kernels.n) || !vec_push(&r->kernels, k))
            return false;
    }
    return true;
}

static uint32_t word_at(const unsigned char *p) { uint32_t v; memcpy(&v, p, sizeof v); return v; }

static void take_attribute(struct reader *r, struct cubin_kernel *k, unsigned attr, const unsigned char *p, size_t n)
{
    if ((attr == ATTR_MAX_THREADS || attr == ATTR_REQ_THREADS) && k && n >= 12) {
        uint64_t threads = (uint64_t)word_at(p) * (word_at(p + 4) & 0xFFFF) * (word_at(p + 8) & 0xFFFF);
        k->max_threads = threads > 1u << 20 ? 0 : (unsigned)threads;
    }
    if ((attr == ATTR_REGISTERS || attr == ATTR_FRAME_BYTES) && n >= 8) {
        Elf64_Sym sym;
        const char *name;
        if (!symbol_at(r, word_at(p), &sym, &name) || !(k = kernel_find(r, name)))
            return;
        if (attr == ATTR_REGISTERS)
            k->registers = word_at(p + 4);
        else
            k->local_bytes = word_at(p + 4);
    }
}

static void take_info(struct reader *r, struct cubin_kernel *k, const Elf_Data *d)
{
    const unsigned char *p = d->d_buf, *end = p + d->d_size;
    while (end - p >= 4) {
        unsigned format = p[0], attr = p[1];
        size_t value = (size_t)p[2] | (size_t)p[3] << 8;
        p += 4;
        if (format != FORMAT_SIZED) {
            if (attr == ATTR_PARAM_BYTES && k)
                k->param_bytes = value;
            continue;
        }
        if (value > (size_t)(end - p))
            return;
        take_attribute(r, k, attr, p, value);
        p += value;
    }
}

static const char *after(const char *s, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(s, prefix, n) == 0 ? s + n : NULL;
}

static bool take_section(struct reader *r, const GElf_Shdr *h, const char *name, const Elf_Data *d)
{
    struct cubin_kernel *k;
    if ((k = kernel_find(r, after(name, ".text.")))) {
        if (!k->registers)                     /* before sm_90 it stands here too */
            k->registers = h->sh_info >> 24;
    } else if ((k = kernel_find(r, after(name, ".nv.shared.")))) {
        k->shared_bytes = h->sh_size;
        if (r->out->arch >= 90)
            k->shared_bytes -= h->sh_size < RESERVED_SHARED_BYTES ? h->sh_size : RESERVED_SHARED_BYTES;
    } else if (d && strcmp(name, ".nv.info") == 0) {
        take_info(r, NULL, d);
    } else if (d && (k = kernel_find(r, after(name, ".nv.info.")))) {
        take_info(r, k, d);
    } else if (strcmp(name, ".nv.constant3") == 0) {
        r->out->const_bytes = h->sh_size;
    }
    return true;
}

static enum status read_elf(struct reader *r, struct error *err)
{
    GElf_Ehdr e;
    if (gelf_getclass(r->elf) != ELFCLASS64 || !gelf_getehdr(r->elf, &e) || e.e_machine != EM_CUDA_)
        return bad(err, "it is not a 64-bit CUDA ELF file");
    if (elf_getshdrstrndx(r->elf, &r->names) != 0)
        return bad(err, "it has no section names");
    r->out->arch = arch_of(&e);
    each_section(r, take_symbols);
    if (!take_kernels(r))
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory to read a cubin");
    each_section(r, take_section);
    r->out->kernels = arena_dup(&r->out->arena, r->kernels.at, r->kernels.n * sizeof *r->kernels.at);
    r->out->n_kernels = r->out->kernels ? r->kernels.n : 0;
    return ST_OK;
}

enum status cubin_read(struct cubin *out, const void *image, size_t bytes, struct error *err)
{
    *out = (struct cubin){0};
    if (elf_version(EV_CURRENT) == EV_NONE)
        return bad(err, "libelf is too old");
    struct reader r = {.out = out};
    /* libelf takes a char * but does not write to an image opened for reading. */
    r.elf = elf_memory((char *)(uintptr_t)image, bytes);
    if (!r.elf || elf_kind(r.elf) != ELF_K_ELF) {
        if (r.elf)
            elf_end(r.elf);
        return bad(err, "it is not an ELF file");
    }
    enum status st = read_elf(&r, err);
    elf_end(r.elf);
    vec_free(&r.kernels);
    map_free(&r.by_name);
    if (st != ST_OK)
        cubin_free(out);
    return st;
}

void cubin_free(struct cubin *c)
{
    arena_free(&c->arena);
    *c = (struct cubin){0};
}

const struct cubin_kernel *cubin_find(const struct cubin *c, const char *kernel)
{
    for (size_t i = 0; i < c->n_kernels; i++)
        if (strcmp(c->kernels[i].name, kernel) == 0)
            return &c->kernels[i];
    return NULL;
}

size_t cubin_bytes(const void *image)
{
    Elf64_Ehdr e;
    if (memcmp(image, ELFMAG, SELFMAG) != 0)
        return 0;
    memcpy(&e, image, sizeof e);
    size_t end = sizeof e;
    if (e.e_shnum && e.e_shoff + (size_t)e.e_shnum * e.e_shentsize > end)
        end = e.e_shoff + (size_t)e.e_shnum * e.e_shentsize;
    if (e.e_phnum && e.e_phoff + (size_t)e.e_phnum * e.e_phentsize > end)
        end = e.e_phoff + (size_t)e.e_phnum * e.e_phentsize;
    for (size_t i = 0; i < e.e_shnum; i++) {
        Elf64_Shdr s;
        memcpy(&s, (const char *)image + e.e_shoff + i * e.e_shentsize, sizeof s);
        if (s.sh_type != SHT_NOBITS && s.sh_offset + s.sh_size > end)
            end = s.sh_offset + s.sh_size;
    }
    return end;
}
