#include "runtime/cli/debug_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <limits.h>

/* As written; then the name without its folders in each folder the user gave. */
bool source_find(const struct sources *s, const char *name, char *out, size_t n)
{
    snprintf(out, n, "%s", name);
    if (access(out, R_OK) == 0)
        return true;
    const char *base = strrchr(name, '/');
    base = base ? base + 1 : name;
    for (size_t i = 0; i < s->folders.n; i++) {
        const char *tails[] = {name, base};
        for (int k = *name == '/'; k < 2; k++) {
            snprintf(out, n, "%s/%s", s->folders.at[i], tails[k]);
            if (access(out, R_OK) == 0)
                return true;
        }
    }
    return false;
}

static char *read_all(const char *path)
{
    enum { LARGEST = 64 << 20 };
    FILE *f = fopen(path, "re");
    char *text = NULL;
    size_t n = 0, cap = 0, got = 0;
    if (!f)
        return NULL;
    do {
        n += got;
        if (n + 4096 > cap) {
            cap = cap ? 2 * cap : 65536;
            char *more = cap <= LARGEST ? realloc(text, cap) : NULL;
            if (!more) {
                free(text);
                fclose(f);
                return NULL;
            }
            text = more;
        }
    } while ((got = fread(text + n, 1, cap - n - 1, f)) > 0);
    text[n] = 0;
    fclose(f);
    return text;
}

static void split(struct source_file *f)
{
    for (char *p = f->text; p && *p;) {
        (void)!vec_push(&f->lines, p);
        char *end = strchr(p, '\n');
        if (!end)
            break;
        if (end > p && end[-1] == '\r')
            end[-1] = 0;
        *end = 0;
        p = end + 1;
    }
}

const struct source_file *source_open(struct sources *s, const char *name)
{
    char path[PATH_MAX];
    struct source_file *f = NULL;
    for (size_t i = 0; i < s->files.n && !f; i++)
        if (strcmp(s->files.at[i].name, name) == 0)
            f = &s->files.at[i];
    if (f)
        return f->text ? f : NULL;
    struct source_file new = {.name = strdup(name)};
    if (!new.name)
        return NULL;
    if (source_find(s, name, path, sizeof path))
        new.text = read_all(path);
    split(&new);
    if (!vec_push(&s->files, new))
        return NULL;
    return new.text ? &s->files.at[s->files.n - 1] : NULL;
}

const char *source_line(const struct source_file *f, size_t line)
{
    return f && line && line <= f->lines.n ? f->lines.at[line - 1] : NULL;
}

static void forget_files(struct sources *s)
{
    for (size_t i = 0; i < s->files.n; i++) {
        free(s->files.at[i].name);
        free(s->files.at[i].text);
        vec_free(&s->files.at[i].lines);
    }
    vec_free(&s->files);
}

void source_folder(struct sources *s, const char *folder)
{
    char *copy = strdup(folder);
    if (copy && !vec_push(&s->folders, copy))
        free(copy);
    forget_files(s);                           /* what was not found may be there */
}

void sources_free(struct sources *s)
{
    forget_files(s);
    for (size_t i = 0; i < s->folders.n; i++)
        free(s->folders.at[i]);
    vec_free(&s->folders);
}
