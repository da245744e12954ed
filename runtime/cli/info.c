/* `heddle info`: what is inside a program, library, cubin, fatbin or PTX file, and what would go wrong when it runs. */
#include "runtime/cli/cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/cubin.h"
#include "ptx/fatbin.h"
#include "runtime/base/map.h"
#include "runtime/base/vec.h"
#include "runtime/cli/inspect.h"
#include "runtime/cli/target.h"
#include "runtime/runtime.h"

struct kernel {
    const char *name;
    bool ptx, cubin;
    unsigned cubin_arch;               /* the facts below are those of this machine code */
    struct cubin_kernel facts;
};

struct image { struct fatbin_entry entry; unsigned module; bool relocatable; };

struct info {
    VEC(struct kernel) kernels;
    VEC(struct image) images;
    struct map by_name;
    struct arena arena;
    unsigned n_modules, gpu;           /* gpu: 90 */
    unsigned n_problems;
    char damage[1600];                 /* of the file's fat binaries; "": none */
    struct inspection inspection;
};

/* ---- gathering ---- */

static struct kernel *kernel_of(struct info *in, const char *name, size_t n)
{
    uintptr_t i;
    if (map_get_str(&in->by_name, name, n, &i))
        return &in->kernels.at[i];
    struct kernel k = {.name = arena_strndup(&in->arena, name, n)};
    if (!k.name || !map_put_str(&in->by_name, k.name, n, in->kernels.n) || !vec_push(&in->kernels, k))
        return NULL;
    return &in->kernels.at[in->kernels.n - 1];
}

/* The names behind .entry. A real parse is the library's business; names are all that is wanted here. */
static void take_ptx(struct info *in, const char *text, size_t n)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%";
    const char *end = text + n, *p;
    while ((p = memmem(text, (size_t)(end - text), ".entry", 6))) {
        text = p + 6;
        while (text < end && strchr(" \t\r\n", *text))
            text++;
        const char *name = text;
        while (text < end && *text && strchr(letters, *text))
            text++;
        struct kernel *k = text > name ? kernel_of(in, name, (size_t)(text - name)) : NULL;
        if (k)
            k->ptx = true;
    }
}

/* Of several architectures the one nearest to the GPU, from below if there is one, gives the facts. */
static bool nearer(unsigned arch, unsigned than, unsigned gpu)
{
    if ((arch <= gpu) != (than <= gpu))
        return arch <= gpu;
    return arch <= gpu ? arch > than : arch < than;
}

static void take_cubin(struct info *in, const char *data, size_t n)
{
    struct cubin c;
    if (cubin_read(&c, data, n, NULL) != ST_OK)
        return;
    for (size_t i = 0; i < c.n_kernels; i++) {
        struct kernel *k = kernel_of(in, c.kernels[i].name, strlen(c.kernels[i].name));
        if (!k || (k->cubin && !nearer(c.arch, k->cubin_arch, in->gpu)))
            continue;
        k->cubin = true;
        k->cubin_arch = c.arch;
        k->facts = c.kernels[i];
        k->facts.name = k->name;
    }
    cubin_free(&c);
}

static void problem(struct info *in, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void problem(struct info *in, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!in->n_problems++)
        printf("\n%sproblems%s\n", bold(stdout), plain(stdout));
    printf("  - %s\n", text);
}

/* The first one is told; what comes behind it in the file is seldom right. */
static void note_damage(struct info *in, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note_damage(struct info *in, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!*in->damage)
        vsnprintf(in->damage, sizeof in->damage, fmt, ap);
    va_end(ap);
}

static void take_fatbin(struct info *in, const unsigned char *data, size_t n, bool relocatable)
{
    struct fatbin_iter it;
    struct image im = {.relocatable = relocatable};
    struct error err;
    bool more = true;
    im.module = ++in->n_modules;
    enum status st = fatbin_open(&it, data, n, &err);
    while (st == ST_OK && (st = fatbin_next(&it, &im.entry, &more, &err)) == ST_OK && more) {
        struct fatbin_blob blob;
        if (!vec_push(&in->images, im))
            return;
        if ((st = fatbin_unpack(&im.entry, &blob, &err)) != ST_OK)
            break;
        if (im.entry.kind == FATBIN_PTX)
            take_ptx(in, blob.data, blob.bytes);
        else if (im.entry.kind == FATBIN_ELF && !relocatable)
            take_cubin(in, blob.data, blob.bytes);
        fatbin_blob_free(&blob);
    }
    if (st != ST_OK)
        note_damage(in, "module %u: %s", im.module, err.text);
}

/* A section holds the fat binaries of all translation units behind each other, each aligned to 8 bytes. */
static void take_section(struct info *in, const struct target_section *s, bool relocatable)
{
    size_t at = 0, total;
    while (s->bytes - at >= 16) {
        if (fatbin_kind_of(s->data + at) != FATBIN_IMAGE_HEADER) {
            at += 8;
        } else if (fatbin_bytes(s->data + at, s->bytes - at, &total, NULL) != ST_OK) {
            note_damage(in, "module %u: the fat binary at byte %zu of its section is cut off", in->n_modules + 1, at);
            return;
        } else {
            if (total > 16)                    /* a header alone is what the device linker leaves */
                take_fatbin(in, s->data + at, total, relocatable);
            at += (total + 7) & ~(size_t)7;
        }
        if (at > s->bytes)
            return;
    }
}

/* ---- printing ---- */

static void field(const char *name, const char *value) { printf("  %-12s %s\n", name, value); }

/* "13.0" out of the note that nvcc's tools leave in cubins; NULL when there is none in readable form. */
static const char *toolkit(const struct target *t, char *buf, size_t n)
{
    static const char mark[] = "Cuda compilation tools, release ";
    const char *p = t->image_bytes ? memmem(t->image, t->image_bytes, mark, sizeof mark - 1) : NULL;
    if (!p || t->image + t->image_bytes - p < 64)
        return NULL;
    p += sizeof mark - 1;
    snprintf(buf, n, "CUDA %.*s", (int)strspn(p, "0123456789."), p);
    return buf;
}

static void print_nvidia_libraries(const struct target *t)
{
    static const char *const names[] = {"libcublas", "libcufft", "libcurand", "libcusparse", "libcusolver", "libcudnn", "libnccl", "libnvrtc",
                                        "libnvJitLink", "libnpp"};
    char list[512] = "";
    for (unsigned i = 0; i < t->n_needed; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (strncmp(t->needed[i], names[k], strlen(names[k])) == 0)
                snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "", t->needed[i]);
    if (*list)
        field("libraries", list);
}

static void print_program(const struct target *t)
{
    char buf[64], text[256];
    field("file", t->kind == TARGET_SCRIPT ? "script" : t->kind != TARGET_ELF ? "no ELF file" : t->foreign_machine
          ? "ELF file for another machine" : t->library ? "64-bit x86 shared library" : t->static_linked ? "64-bit x86 ELF, statically linked" : "64-bit x86 ELF, dynamically linked");
    if (t->script[0])
        field("interpreter", t->script);
    const char *shared = target_shared_cudart(t);
    snprintf(text, sizeof text, "%s%s", shared ? shared : "", shared ? " (shared)" : t->static_cudart ? "static" : "none");
    field("cudart", text);
    field("driver API", t->imports_driver_api ? "called directly" : t->static_cudart || shared ? "through cudart" : "not called");
    if (toolkit(t, buf, sizeof buf))
        field("built with", buf);
    print_nvidia_libraries(t);
}

static void print_images(const struct info *in)
{
    static const char *const packings[] = {[FATBIN_RAW] = "raw", [FATBIN_LZ4] = "LZ4", [FATBIN_ZSTD] = "zstd"};
    if (!in->images.n)
        return;
    printf("\n%s  %-7s %-7s %-8s %-8s %-6s %10s  %s%s\n", bold(stdout), "module", "kind", "target", "PTX ISA", "packed", "bytes", "notes",
           plain(stdout));
    for (size_t i = 0; i < in->images.n; i++) {
        const struct image *m = &in->images.at[i];
        const struct fatbin_entry *e = &m->entry;
        char target[24], isa[24] = "-";
        snprintf(target, sizeof target, "sm_%u%.1s", e->arch, e->suffix ? &e->suffix : "");
        if (e->kind == FATBIN_PTX)
            snprintf(isa, sizeof isa, "%u.%u", e->isa_major, e->isa_minor);
        char notes[256];
        snprintf(notes, sizeof notes, "%s%s%s%.*s", m->relocatable ? "  relocatable" : "", e->debug ? "  -G" : "",
                 e->name_bytes ? "  " : "", (int)e->name_bytes, e->name);
        printf("  %-7u %-7s %-8s %-8s %-6s %10zu%s\n", m->module,
               e->kind == FATBIN_PTX ? "PTX" : e->kind == FATBIN_ELF ? "cubin" : e->kind == FATBIN_LTOIR ? "LTO-IR" : "?", target, isa,
               packings[e->packing], e->bytes, notes);
    }
}

static void print_kernels(const struct info *in)
{
    if (!in->kernels.n)
        return;
    printf("\n%s  %-4s %9s %13s %12s %11s  %s%s\n", bold(stdout), "PTX", "registers", "shared bytes", "local bytes", "max threads", "kernel",
           plain(stdout));
    for (size_t i = 0; i < in->kernels.n; i++) {
        const struct kernel *k = &in->kernels.at[i];
        char name[1024];
        demangle(k->name, name, sizeof name);
        printf("  %-4s ", k->ptx ? "yes" : "NO");
        if (k->cubin)
            printf("%9u %13zu %12zu ", k->facts.registers, k->facts.shared_bytes, k->facts.local_bytes);
        else
            printf("%9s %13s %12s ", "-", "-", "-");
        if (k->facts.max_threads)
            printf("%11u  %s\n", k->facts.max_threads, name);
        else
            printf("%11s  %s\n", "-", name);
    }
}

/* ---- verdict ---- */

static void judge_ptx(struct info *in)
{
    size_t without = 0;
    unsigned arch = 0;
    const char *first = NULL;
    for (size_t i = 0; i < in->kernels.n; i++) {
        const struct kernel *k = &in->kernels.at[i];
        if (k->ptx)
            continue;
        if (!without++)
            first = k->name;
        if (k->cubin_arch > arch)
            arch = k->cubin_arch;
    }
    if (without)
        problem(in, "%zu of %zu kernels have machine code only (%s), and Heddle executes PTX:\n    their launch fails with cudaErrorNoKernelImage"
                "ForDevice. Add to nvcc's options:\n    -gencode arch=compute_%u,code=compute_%u", without, in->kernels.n, first, arch, arch);
}

/* The PTX that a module runs: the best one it has. */
static const struct fatbin_entry *best_ptx(const struct info *in, unsigned module)
{
    const struct fatbin_entry *best = NULL;
    for (size_t i = 0; i < in->images.n; i++) {
        const struct image *im = &in->images.at[i];
        if (im->module == module && im->entry.kind == FATBIN_PTX && (!best || nearer(im->entry.arch, best->arch, in->gpu)))
            best = &im->entry;
    }
    return best;
}

static void judge_modules(struct info *in, const struct target *t)
{
    unsigned n_newer = 0, newer_arch = 0;
    for (unsigned m = 1; m <= in->n_modules; m++) {
        const struct fatbin_entry *best = best_ptx(in, m);
        struct fatbin_blob blob;
        char name[PATH_MAX + 64];
        if (!best)
            continue;
        if (best->arch > in->gpu && !n_newer++)
            newer_arch = best->arch;
        snprintf(name, sizeof name, "module %u of %s", m, t->path);
        if (fatbin_unpack(best, &blob, NULL) == ST_OK) {
            inspect_ptx(&in->inspection, name, blob.data, blob.bytes);
            fatbin_blob_free(&blob);
        }
    }
    if (n_newer)
        problem(in, "%u of %u modules have PTX for newer GPUs only (sm_%u; this one is sm_%u): they run, with a warning;\n    --gpu= selects another one",
                n_newer, in->n_modules, newer_arch, in->gpu);
}

static void judge_instructions(struct info *in)
{
    const struct inspection *found = &in->inspection;
    if (found->n_bad)
        problem(in, "%u functions or modules do not parse; the first:\n    %s", found->n_bad, found->first_bad.text);
    for (unsigned op = 0; op < PTX_OP_COUNT; op++) {
        char name[512];
        if (found->unexecuted[op])
            problem(in, "`%s` is not executed yet; a kernel that reaches it fails there (%s)", ptx_op_text((enum ptx_op)op),
                    demangle(found->where[op], name, sizeof name));
    }
    char names[300];
    if (inspect_undefined(found, names, sizeof names))
        problem(in, "functions that no module here defines (%s): a kernel that calls one fails there,\n    unless --plugin=LIBRARY.so has it", names);
}

static void judge(struct info *in, const struct target *t, bool is_program)
{
    char buf[512];
    const char *why = is_program ? target_obstacle(t, buf, sizeof buf) : NULL;
    bool lto = false;
    if (why)
        problem(in, "its CUDA calls cannot be intercepted: %s", why);
    if (*in->damage)
        problem(in, "%s; build or copy the file again", in->damage);
    judge_ptx(in);
    judge_modules(in, t);
    judge_instructions(in);
    for (size_t i = 0; i < in->images.n; i++)
        lto |= in->images.at[i].entry.kind == FATBIN_LTOIR;
    if (lto && !in->kernels.n)
        problem(in, "it carries LTO-IR only, which Heddle does not read; build it without -dlto and with  -gencode arch=compute_80,code=compute_80");
    if (is_program && !in->images.n && !t->imports_driver_api && !t->imports_runtime_api && !t->static_cudart)
        problem(in, "no CUDA in this file: neither kernels nor calls; look at the libraries it loads");
    if (!in->n_problems && !is_program)
        puts("\nnothing wrong was found");
    else if (!in->n_problems)
        printf("\nnothing speaks against  %sheddle %s%s\n", bold(stdout), t->path, plain(stdout));
}

/* A plain cubin, fatbin or PTX file. False when it is none of them. */
static bool take_plain_file(struct info *in, const struct target *t)
{
    static const unsigned char cuda_machine[2] = {190, 0};
    if (t->image_bytes < 64)
        return false;
    switch (fatbin_kind_of(t->image)) {
    case FATBIN_IMAGE_HEADER: {
        struct target_section all = {(const unsigned char *)t->image, t->image_bytes};
        take_section(in, &all, false);
        return true;
    }
    case FATBIN_IMAGE_ELF:
        if (memcmp(t->image + 18, cuda_machine, 2) != 0)
            return false;
        take_cubin(in, t->image, t->image_bytes);
        return true;
    case FATBIN_IMAGE_PTX:
        if (!memmem(t->image, t->image_bytes, ".address_size", 13))
            return false;
        take_ptx(in, t->image, t->image_bytes);
        inspect_ptx(&in->inspection, t->path, t->image, strnlen(t->image, t->image_bytes));
        return true;
    default:
        return false;
    }
}

int verb_info(struct cli *c, int argc, char **argv)
{
    static struct target t;
    static struct info in;
    struct error err;
    char path[PATH_MAX];
    if (argc != 1) {
        say_error("heddle info takes one program");
        return EXIT_OWN_FAILURE;
    }
    int checkpoint = info_checkpoint(argv[0]);
    if (checkpoint >= 0)
        return checkpoint;
    if (!target_find(argv[0], path))
        snprintf(path, sizeof path, "%s", argv[0]);
    if (target_read(&t, path, &err) != ST_OK) {
        say_status(&err);
        return EXIT_NOT_FOUND;
    }
    const struct rt_device_facts *gpu = cli_gpu(c);
    if (!gpu)
        return EXIT_OWN_FAILURE;
    in.gpu = (unsigned)gpu->sm;
    bool plain_file = take_plain_file(&in, &t);
    take_section(&in, &t.fatbin, false);
    take_section(&in, &t.relfatbin, true);
    printf("%s%s%s\n", bold(stdout), path, plain(stdout));
    if (!plain_file)
        print_program(&t);
    print_images(&in);
    print_kernels(&in);
    judge(&in, &t, !plain_file && !t.library);
    target_close(&t);
    arena_free(&in.arena);
    map_free(&in.by_name);
    vec_free(&in.kernels);
    vec_free(&in.images);
    return 0;
}
