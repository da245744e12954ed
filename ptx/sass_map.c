/* Machine instructions of a cubin by PTX line. */
#include "ptx/sass_map.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/sass_read.h"
#include "runtime/base/vec.h"

enum { INSN_BYTES = 16, OPS = 512 };

/* Operations that the reader looks at; the low 12 bits. */
enum { OP_NOP = 0x918, OP_BRA = 0x947, OP_BSSY = 0x945, OP_BSYNC = 0x941, OP_CALL = 0x944, OP_TEX_UNIFORM = 0x160, OP_TEX = 0x161, OP_TLD = 0x166 /* of nine bits */ };

struct word2 { uint64_t low, high; };

static const uint8_t class_of_op[OPS] = {
#define SASS(class, op, name) [op] = PTX_CLASS_##class,
#include "ptx/sass.def"
#undef SASS
};
_Static_assert(PTX_CLASS_INT == 0, "operations that are not listed are INT");

/* A product with or an HFMA2 on the zero register is how registers are copied and constants loaded. */
static uint8_t classify(struct word2 i)
{
    unsigned op = i.low & 0x1ff;
    bool zero = (i.low >> 24 & 255) == 255, carries = (i.high >> 8 & 255) == 1;
    return zero && (op == 0x35 || (op == 0x24 && !carries)) ? PTX_CLASS_MOVE : class_of_op[op];
}

/* ---- the cubin ------------------------------------------------------------------------------------------------------------------------------ */

struct function { uint32_t symbol, section; uint64_t at, bytes; const char *name; };

struct reader {
    struct sass_bytes image;
    Elf64_Ehdr head;
    struct sass_bytes symbols, strings, names;
    VEC(struct function) functions;            /* kernels and the subroutines inside them */
    VEC(struct sass_row) rows;                 /* addresses in the function of their symbol */
    struct sass_map *out;
};

static bool section_at(const struct reader *r, uint32_t i, Elf64_Shdr *h, struct sass_bytes *data)
{
    uint64_t at = r->head.e_shoff + (uint64_t)i * sizeof *h;
    if (i >= r->head.e_shnum || at > r->image.n || r->image.n - at < sizeof *h)
        return false;
    memcpy(h, r->image.at + at, sizeof *h);
    bool fits = h->sh_type != SHT_NOBITS && h->sh_offset <= r->image.n && h->sh_size <= r->image.n - h->sh_offset;
    *data = fits ? (struct sass_bytes){r->image.at + h->sh_offset, h->sh_size} : (struct sass_bytes){r->image.at, 0};
    return true;
}

static const char *text_at(struct sass_bytes strings, uint64_t at)
{
    return at < strings.n && memchr(strings.at + at, 0, strings.n - at) ? (const char *)strings.at + at : "";
}

static uint32_t find_section(const struct reader *r, const char *name, struct sass_bytes *data)
{
    Elf64_Shdr h;
    for (uint32_t i = 0; section_at(r, i, &h, data); i++)
        if (!strcmp(text_at(r->names, h.sh_name), name))
            return i;
    *data = (struct sass_bytes){r->image.at, 0};
    return 0;
}

static bool take_functions(struct reader *r)
{
    for (uint32_t i = 0; (uint64_t)(i + 1) * sizeof(Elf64_Sym) <= r->symbols.n; i++) {
        Elf64_Sym s;
        memcpy(&s, r->symbols.at + (size_t)i * sizeof s, sizeof s);
        struct function f = {i, s.st_shndx, s.st_value, s.st_size, text_at(r->strings, s.st_name)};
        if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && !vec_push(&r->functions, f))
            return false;
    }
    return true;
}

static bool take_row(void *user, const struct sass_row *row)
{
    struct reader *r = user;
    return vec_push(&r->rows, *row);
}

static int by_address(const void *a, const void *b)
{
    const struct sass_row *x = a, *y = b;
    return x->symbol != y->symbol ? (x->symbol < y->symbol ? -1 : 1) : x->address != y->address ? (x->address < y->address ? -1 : 1) : 0;
}

static int by_section(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    return x->section != y->section ? (x->section < y->section ? -1 : 1) : x->at != y->at ? (x->at < y->at ? -1 : 1) : 0;
}

static bool open_image(struct reader *r)
{
    Elf64_Shdr h;
    struct sass_bytes data, program, relocations;
    if (r->image.n < sizeof r->head)
        return false;
    memcpy(&r->head, r->image.at, sizeof r->head);
    if (memcmp(r->head.e_ident, ELFMAG, SELFMAG) || r->head.e_shentsize != sizeof h || !section_at(r, r->head.e_shstrndx, &h, &r->names))
        return false;
    for (uint32_t i = 0; section_at(r, i, &h, &data); i++)
        if (h.sh_type == SHT_SYMTAB) {
            r->symbols = data;
            if (!section_at(r, h.sh_link, &h, &r->strings))
                return false;
            break;
        }
    size_t step = sizeof(Elf64_Rel);
    find_section(r, ".nv_debug_line_sass", &program);
    if (!find_section(r, ".rel.nv_debug_line_sass", &relocations) && find_section(r, ".rela.nv_debug_line_sass", &relocations))
        step = sizeof(Elf64_Rela);
    if (!program.n || !r->symbols.n || !take_functions(r) || !sass_lines(program, relocations, step, take_row, r))
        return false;
    if (r->functions.n)
        qsort(r->functions.at, r->functions.n, sizeof *r->functions.at, by_section);
    if (r->rows.n)
        qsort(r->rows.at, r->rows.n, sizeof *r->rows.at, by_address);
    return true;
}

/* ---- one kernel ------------------------------------------------------------------------------------------------------------------------------ */

enum { HOT, RARE, COLD };
struct code { const struct reader *r; const struct function *kernel; struct sass_bytes bytes; uint32_t n; uint8_t *cold, *callee; };

static struct word2 insn_at(const struct code *c, uint32_t i)
{
    struct word2 w;
    memcpy(&w, c->bytes.at + (size_t)i * INSN_BYTES, sizeof w);
    return w;
}

static unsigned op_at(const struct code *c, uint32_t i) { return i < c->n ? (unsigned)(insn_at(c, i).low & 0xfff) : 0; }

/* Number of the instruction that a branch or call goes to; n: outside. */
static uint32_t target_of(const struct code *c, uint32_t i)
{
    struct word2 w = insn_at(c, i);
    uint64_t offset = (w.low >> 34) | (w.high & 0x3ffff) << 30;
    int64_t words = offset >> 47 ? (int64_t)(offset | ~0ull << 48) : (int64_t)offset, to = (int64_t)i + 1 + words / 4;
    return to >= 0 && to < c->n ? (uint32_t)to : c->n;
}

/* The function inside the kernel's section that has instruction i; NULL: the kernel itself. */
static const struct function *inside(const struct code *c, uint32_t i)
{
    uint64_t at = (uint64_t)i * INSN_BYTES;
    const struct function *end = c->r->functions.at + c->r->functions.n;
    for (const struct function *f = c->kernel + 1; f < end && f->section == c->kernel->section; f++)
        if (f->at && at >= f->at && at - f->at < f->bytes)
            return f;
    return NULL;
}

static uint32_t line_of(const struct code *c, uint32_t i)
{
    struct sass_row key = {c->kernel->symbol, (uint64_t)i * INSN_BYTES, 0};
    size_t low = 0, high = c->r->rows.n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (by_address(&c->r->rows.at[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low && c->r->rows.at[low - 1].symbol == key.symbol ? c->r->rows.at[low - 1].line : 0;
}

/* A call of a subroutine. Behind a branch that usually skips it: a rare case, to where the lanes meet again. */
static void call_at(struct code *c, uint32_t i)
{
    const struct function *callee = target_of(c, i) < c->n ? inside(c, target_of(c, i)) : NULL;
    if (!callee)
        return;
    uint32_t first = i, last = i;
    c->callee[i] = (uint8_t)(callee->bytes / INSN_BYTES < 256 ? callee->bytes / INSN_BYTES : 255);
    while (first && i - first < 12 && op_at(c, first - 1) != OP_BRA && op_at(c, first - 1) != OP_BSSY && op_at(c, first - 1) != OP_BSYNC)
        first--;
    if (!first || op_at(c, first - 1) != OP_BRA)
        return;
    while (last + 1 < c->n && last - i < 8 && op_at(c, last + 1) != OP_BSYNC && op_at(c, last + 1) != OP_BRA)
        last++;
    if (op_at(c, last + 1) != OP_BSYNC)
        last = i;
    memset(c->cold + first, RARE, last - first + 1);
}

/* The code for lanes that are not together, behind a BRA.DIV, to the jump back. */
static void divergent_at(struct code *c, uint32_t i)
{
    for (uint32_t j = target_of(c, i); j > i && j < c->n; j++) {
        c->cold[j] = COLD;
        if (op_at(c, j) == OP_BRA && (insn_at(c, j).low >> 12 & 15) == 7)
            break;
    }
}

static void find_cold(struct code *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        c->cold[i] = inside(c, i) ? COLD : HOT;
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->cold[i] == COLD)
            continue;
        if (op_at(c, i) == OP_CALL)
            call_at(c, i);
        else if (op_at(c, i) == OP_BRA && insn_at(c, i).high >> 18 & 0x200)
            divergent_at(c, i);
    }
}

/* Without the NOPs at the end and the branch to itself before them. */
static void trim(struct code *c)
{
    while (c->n && op_at(c, c->n - 1) == OP_NOP)
        c->n--;
    if (c->n && op_at(c, c->n - 1) == OP_BRA && target_of(c, c->n - 1) == c->n - 1)
        c->n--;
}

static bool take_kernel(struct reader *r, const struct function *f, struct sass_kernel *k)
{
    Elf64_Shdr h;
    struct code c = {.r = r, .kernel = f};
    if (!section_at(r, f->section, &h, &c.bytes))
        return true;
    c.n = (uint32_t)(c.bytes.n / INSN_BYTES);
    trim(&c);
    c.cold = calloc(c.n + 1, 2);
    *k = (struct sass_kernel){arena_strndup(&r->out->arena, f->name, strlen(f->name)), h.sh_info >> 24, arena_alloc(&r->out->arena, (c.n + 1) * sizeof *k->insns), 0};
    if (!c.cold || !k->name || !k->insns) {
        free(c.cold);
        return false;
    }
    c.callee = c.cold + c.n + 1;
    find_cold(&c);
    for (uint32_t i = 0; i < c.n; i++) {
        unsigned op = op_at(&c, i) & 0x1ff;
        if (c.cold[i] != COLD)
            k->insns[k->n++] = (struct sass_insn){line_of(&c, i), classify(insn_at(&c, i)), c.cold[i] == RARE, op == OP_TEX || op == OP_TLD || op == OP_TEX_UNIFORM, c.callee[i]};
    }
    free(c.cold);
    return true;
}

static enum status read_all(struct reader *r, struct error *err)
{
    if (!open_image(r))
        return error_set(err, ST_INVALID_IMAGE, "no cubin with a line program");
    r->out->kernels = arena_alloc(&r->out->arena, (r->functions.n + 1) * sizeof *r->out->kernels);
    if (!r->out->kernels)
        return error_set(err, ST_OUT_OF_MEMORY, "no memory for the machine code's lines");
    for (size_t i = 0; i < r->functions.n; i++) {
        const struct function *f = &r->functions.at[i];
        if (f->at == 0 && f->section && f->section < r->head.e_shnum && !take_kernel(r, f, &r->out->kernels[r->out->n++]))
            return error_set(err, ST_OUT_OF_MEMORY, "no memory for the machine code's lines");
    }
    return ST_OK;
}

enum status sass_map_read(struct sass_map *out, const void *cubin, size_t bytes, struct error *err)
{
    struct reader r = {.image = {cubin, bytes}, .out = out};
    *out = (struct sass_map){0};
    enum status st = read_all(&r, err);
    vec_free(&r.functions);
    vec_free(&r.rows);
    if (st != ST_OK)
        sass_map_free(out);
    return st;
}

void sass_map_free(struct sass_map *m)
{
    arena_free(&m->arena);
    *m = (struct sass_map){0};
}

const struct sass_kernel *sass_map_find(const struct sass_map *m, const char *kernel)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->kernels[i].name && !strcmp(m->kernels[i].name, kernel))
            return &m->kernels[i];
    return NULL;
}
