/* Layers of settings: parts, files, single values. */
#include "timing/config_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 1 << 20, DEPTH_MAX = 8, TEXTS_MAX = 64 };

typedef bool reader(struct timing_settings *, const struct source *);

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);
    return n >= k && strcmp(name + n - k, end) == 0;
}

static bool out_of_memory(struct timing_settings *s)
{
    s->no_memory = true;
    return false;
}

static bool read_source(struct timing_settings *s, const struct source *in, reader *read)
{
    size_t before = s->errors;
    if (++s->n_texts > TEXTS_MAX) {
        note_place(s, true, (struct place){in, 0}, NULL, "more than %d files name each other", TEXTS_MAX);
        return false;
    }
    s->depth++;
    bool ok = read(s, in);
    s->depth--;
    return ok && s->errors == before;
}

/* The whole of a regular file, to be freed. NULL: errno. */
static char *load(const char *path, size_t *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0)
        return NULL;
    char *text = NULL;
    if (fstat(fd, &st) != 0)
        ;
    else if (!S_ISREG(st.st_mode))
        errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    else if (st.st_size > FILE_MAX_BYTES)
        errno = EFBIG;
    else if ((text = malloc((size_t)st.st_size + 1))) {
        *bytes = 0;
        for (ssize_t n; *bytes < (size_t)st.st_size && (n = read(fd, text + *bytes, (size_t)st.st_size - *bytes)) > 0;)
            *bytes += (size_t)n;
    }
    int saved = errno;
    close(fd);
    errno = saved;
    return text;
}

static reader *reader_of(const char *name) { return ends_in(name, ".conf") ? read_own : ends_in(name, ".icnt") ? read_icnt : read_gpgpusim; }

bool timing_settings_text(struct timing_settings *s, const char *name, const char *text, size_t bytes)
{
    reader *read = reader_of(name);
    const struct source *in = source_new(s, name, text, bytes < FILE_MAX_BYTES ? bytes : FILE_MAX_BYTES, true, read == read_own);
    return in ? read_source(s, in, read) : out_of_memory(s);
}

bool timing_settings_file(struct timing_settings *s, const char *path)
{
    size_t bytes;
    char *text = load(path, &bytes);
    if (!text) {
        note_place(s, true, (struct place){NULL, 0}, NULL, "%s cannot be read: %s", path, strerror(errno));
        return false;
    }
    bool ok = timing_settings_text(s, path, text, bytes);
    free(text);
    return ok;
}

bool timing_settings_part(struct timing_settings *s, const char *part)
{
    size_t bytes;
    const char *text = timing_part_text(part, &bytes);
    char name[64];
    if (!text) {
        note_place(s, true, (struct place){NULL, 0}, NULL, "there is no simulated GPU '%.60s'", part);
        return false;
    }
    snprintf(name, sizeof name, "%.50s.conf", part);
    return timing_settings_text(s, name, text, bytes);
}

bool read_named(struct timing_settings *s, const struct value *v, reader *read)
{
    char path[1024];
    const char *slash = strrchr(v->in->name, '/');
    size_t bytes;
    if (s->depth >= DEPTH_MAX) {
        note_value(s, true, v, 0, NULL, "%s: files name each other more than %d deep", v->name, DEPTH_MAX);
        return false;
    }
    bool relative = *v->text != '/' && slash;
    snprintf(path, sizeof path, "%.*s%s", relative ? (int)(slash + 1 - v->in->name) : 0, v->in->name, v->text);
    char *text = load(path, &bytes);
    if (!text && relative && errno == ENOENT) {
        snprintf(path, sizeof path, "%s", v->text);
        text = load(path, &bytes);
    }
    if (!text) {
        bool needed = read != read_icnt;
        note_value(s, needed, v, 0, NULL, "%s: %s cannot be read: %s%s", v->name, path, strerror(errno), needed ? "" : "; a plain crossbar is assumed");
        return !needed;
    }
    const struct source *in = source_new(s, path, text, bytes, true, read == read_own);
    free(text);
    return in ? read_source(s, in, read) : out_of_memory(s);
}

bool timing_settings_set(struct timing_settings *s, const char *name, const char *value, const char *origin)
{
    size_t n_name = strlen(name), n = strlen(value);
    char *text = arena_alloc(&s->arena, n_name + n + 2);
    uint32_t *at = n < FILE_MAX_BYTES ? arena_alloc(&s->arena, (n + 1) * sizeof *at) : NULL;
    if (!text || !at)
        return out_of_memory(s);
    sprintf(text, "%s=%s", name, value);
    const struct source *in = source_new(s, origin, text, n_name + n + 1, false, *name != '-');
    if (!in)
        return out_of_memory(s);
    for (size_t i = 0; i <= n; i++)
        at[i] = (uint32_t)(n_name + 1 + i);
    struct value v = {in->text + n_name + 1, (uint32_t)n, at, in, name};
    struct meaning t = meaning_find(name);
    if (t.kind == MEANS_NONE) {
        const char *near = meaning_nearest(name, *name != '-');
        char hint[160];
        snprintf(hint, sizeof hint, near ? "did you mean '%s'?" : "heddle config --show  lists all settings", near);
        note_place(s, true, (struct place){in, 0}, hint, "unknown setting '%.80s'", name);
        return false;
    }
    return meaning_set(s, t, &v);
}
