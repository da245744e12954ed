/* build/ptx-lower: what scripts/lowering-report needs of the lowering.
 *
 *     ptx-lower extract DIR FILE..     writes the PTX texts inside executables as DIR/NAME.N.ptx
 *     ptx-lower forms FILE.ptx         a line for each instruction: function, PTX line, block, form, machine instructions by class
 *     ptx-lower registers FILE.ptx     a line for each function: name, estimated registers
 *     ptx-lower lines FILE.ptx         the text for ptxas: a statement per line
 *     ptx-lower map FILE.ptx CUBIN     as forms, but from what ptxas -lineinfo made of that text */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/fatbin.h"
#include "ptx/sass_map.h"

static char *read_file(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *text = n < 0 ? NULL : malloc((size_t)n + 1);
    *bytes = text ? fread(text, 1, (size_t)n, f) : 0;
    if (text)
        text[*bytes] = 0;
    fclose(f);
    return text;
}

static void write_entry(const char *dir, const char *name, unsigned *number, const struct fatbin_entry *e)
{
    struct fatbin_blob blob;
    struct error err;
    char path[4096];
    if (fatbin_unpack(e, &blob, &err) != ST_OK)
        return;
    snprintf(path, sizeof path, "%s/%s.%u.ptx", dir, name, (*number)++);
    FILE *f = fopen(path, "wb");
    if (f) {
        fwrite(blob.data, 1, strnlen(blob.data, blob.bytes), f);
        fclose(f);
    }
    fatbin_blob_free(&blob);
}

static int extract(const char *dir, const char *path)
{
    static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba};
    size_t bytes;
    unsigned number = 0;
    char *image = read_file(path, &bytes);
    if (!image)
        return fprintf(stderr, "%s: cannot be read\n", path), 1;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    for (size_t at = 0; at + 16 <= bytes;) {
        const char *found = memmem(image + at, bytes - at, magic, sizeof magic);
        struct fatbin_iter it;
        struct fatbin_entry e;
        struct error err;
        bool more = true;
        if (!found)
            break;
        at = (size_t)(found - image) + 4;
        if (fatbin_open(&it, found, bytes - (size_t)(found - image), &err) != ST_OK)
            continue;
        while (fatbin_next(&it, &e, &more, &err) == ST_OK && more)
            if (e.kind == FATBIN_PTX)
                write_entry(dir, name, &number, &e);
    }
    free(image);
    return 0;
}

static void print_groups(const struct ptx_lowered *l)
{
    for (unsigned g = 0; g < l->n_groups; g++)
        printf("%s%s:%u", g ? " " : "", ptx_class_text((enum ptx_class)l->groups[g].class), l->groups[g].count);
    putchar('\n');
}

static void print_forms(const struct ptx_function *f, const struct ptx_cfg *cfg, const struct ptx_lowering *l, char (*forms)[PTX_FORM_BYTES])
{
    printf("%s\t0\t0\t%s\t", f->name, ptx_lower_entry_form(f));
    print_groups(&l->entry);
    for (uint32_t i = 0; i < f->n_insns; i++) {
        printf("%s\t%u\t%u\t%s\t", f->name, f->insns[i].line, cfg->block_of[i], forms[i]);
        print_groups(&l->insns[i]);
    }
}

enum what { FORMS, REGISTERS, MAP };

struct job { struct ptx_module *m; enum what what; struct sass_map map; struct sass_text text; };

static enum status show(const struct job *j, uint32_t i, struct error *err)
{
    struct arena a = {0};
    struct ptx_cfg cfg;
    struct ptx_lowering l;
    char (*forms)[PTX_FORM_BYTES];
    const struct ptx_function *f = &j->m->functions[i];
    const struct sass_kernel *k = j->what == MAP ? sass_map_find(&j->map, f->name) : NULL;
    uint32_t regs;
    if (j->what == MAP && !k)
        return ST_OK;
    enum status st = ptx_function_body(j->m, i, err);
    if (st == ST_OK)
        st = ptx_cfg_build(&cfg, f, &a, err);
    if (st == ST_OK)
        st = j->what == REGISTERS ? ptx_lower_registers(&regs, f, &cfg, err) : ptx_lower_forms(&l, &forms, f, &cfg, &a, err);
    if (st == ST_OK && j->what == MAP)
        st = sass_map_lower(&l, k, &j->text, f, &cfg, &a, err);
    if (st == ST_OK && j->what == REGISTERS)
        printf("%s\t%u\n", f->name, regs);
    else if (st == ST_OK)
        print_forms(f, &cfg, &l, forms);
    arena_free(&a);
    return st;
}

static enum status read_map(struct job *j, const char *text, size_t bytes, const char *cubin, struct error *err)
{
    size_t cubin_bytes;
    char *image = read_file(cubin, &cubin_bytes);
    enum status st = image ? sass_text_make(&j->text, text, bytes, err) : error_set(err, ST_FILE_NOT_FOUND, "%s: cannot be read", cubin);
    if (st == ST_OK)
        st = sass_map_read(&j->map, image, cubin_bytes, err);
    free(image);
    return st;
}

static int module(const char *path, enum what what, const char *cubin)
{
    size_t bytes;
    struct job j = {.what = what};
    struct error err;
    char *text = read_file(path, &bytes);
    enum status st = text ? ptx_module_open(&j.m, path, text, bytes, &err) : error_set(&err, ST_FILE_NOT_FOUND, "%s: cannot be read", path);
    if (st == ST_OK && what == MAP)
        st = read_map(&j, text, bytes, cubin, &err);
    for (uint32_t i = 0; st == ST_OK && i < j.m->n_functions; i++)
        if (j.m->functions[i].has_body && show(&j, i, &err) != ST_OK)
            fprintf(stderr, "%s\n", err.text);
    if (st != ST_OK)
        fprintf(stderr, "%s\n", err.text);
    sass_map_free(&j.map);
    sass_text_free(&j.text);
    ptx_module_free(j.m);
    free(text);
    return st != ST_OK;
}

static int lines(const char *path)
{
    size_t bytes;
    struct sass_text t;
    char *text = read_file(path, &bytes);
    bool good = text && sass_text_make(&t, text, bytes, NULL) == ST_OK;
    if (good) {
        fwrite(t.text, 1, t.bytes, stdout);
        sass_text_free(&t);
    }
    free(text);
    return !good;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 2 ? argv[1] : "";
    if (!strcmp(verb, "extract") && argc > 3) {
        int failed = 0;
        for (int i = 3; i < argc; i++)
            failed |= extract(argv[2], argv[i]);
        return failed;
    }
    if (!strcmp(verb, "forms") || !strcmp(verb, "registers"))
        return module(argv[2], verb[0] == 'f' ? FORMS : REGISTERS, NULL);
    if (!strcmp(verb, "map") && argc == 4)
        return module(argv[2], MAP, argv[3]);
    if (!strcmp(verb, "lines"))
        return lines(argv[2]);
    fprintf(stderr, "usage: ptx-lower extract DIR FILE.. | forms FILE.ptx | registers FILE.ptx | lines FILE.ptx | map FILE.ptx CUBIN\n");
    return 2;
}
