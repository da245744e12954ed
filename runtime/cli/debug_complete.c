/* What can follow: commands, screens of info, names of the program. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/debug.h"

static void add(struct completions *c, const char *word)
{
    for (size_t i = 0; i < c->words.n; i++)
        if (strcmp(c->words.at[i], word) == 0)
            return;
    char *copy = strdup(word);
    if (copy && !vec_push(&c->words, copy))
        free(copy);
}

static void add_matching(struct completions *c, const char *typed, const char *word)
{
    if (strncmp(word, typed, strlen(typed)) == 0)
        add(c, word);
}

static void add_names(struct session *s, struct completions *c, const char *typed)
{
    struct wire_answer a;
    struct textbuf word = {0};
    if (s->state != STOPPED || !s->greeted)
        return;
    wire_add_word(&word, typed);
    if (!word.failed && wire_call(&s->process.wire, &a, "complete %s", word.at)) {
        for (size_t i = 0; i < a.lines.n && i < 500; i++)
            add_matching(c, typed, wire_text(&a.lines.at[i], "word"));
    }
    if (!word.failed)
        wire_answer_free(&a);
    textbuf_free(&word);
}

static void add_files(struct completions *c, const char *typed)
{
    char folder[PATH_MAX], name[PATH_MAX + 260];
    const char *slash = strrchr(typed, '/');
    int n = slash ? (int)(slash - typed) + 1 : 0;
    snprintf(folder, sizeof folder, "%.*s", n, typed);
    DIR *d = opendir(n ? folder : ".");
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(name, sizeof name, "%s%s%s", folder, e->d_name, e->d_type == DT_DIR ? "/" : "");
        if (e->d_name[0] != '.')
            add_matching(c, typed, name);
    }
    if (d)
        closedir(d);
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

void complete(struct session *s, const char *line, struct completions *out)
{
    *out = (struct completions){0};
    while (*line == ' ')
        line++;
    const char *word = line + strlen(line);
    while (word > line && !strchr(" \t(,=+*/&|!<>[", word[-1]))
        word--;
    size_t first = strcspn(line, " /");
    char command[64];
    snprintf(command, sizeof command, "%.*s", (int)first, line);
    out->typed = strlen(word);
    if (word == line || strcmp(command, "help") == 0 || strcmp(command, "h") == 0) {
        for (const struct command *c = commands; c->name || c->section; c++)
            if (c->name)
                add_matching(out, word, c->name);
    } else if ((word_is(command, "info", 1)) && word == line + first + 1) {
#define SCREEN(name, syntax, handler, help) add_matching(out, word, name);
#include "runtime/cli/debug_info.def"
    } else if (strcmp(command, "source") == 0 || strcmp(command, "directory") == 0) {
        add_files(out, word);
    } else {
        add_names(s, out, word);
    }
    if (out->words.n)
        qsort(out->words.at, out->words.n, sizeof *out->words.at, by_text);
}

void completions_free(struct completions *c)
{
    for (size_t i = 0; i < c->words.n; i++)
        free(c->words.at[i]);
    vec_free(&c->words);
}
