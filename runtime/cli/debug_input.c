/* Lines of commands: from a terminal with editing and history, or from a file or pipe. */
#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "runtime/cli/debug.h"

struct input {
    FILE *file;                                /* NULL: standard input */
    char *name;
    unsigned line_number;
    struct textbuf line;
    EditLine *editor;                          /* a terminal */
    History *history;
    HistEvent event;
    const char *prompt;
    bool interrupted;
    struct session *session;
};

/* ---- terminal ---- */

static char *prompt_of(EditLine *el)
{
    struct input *in;
    el_get(el, EL_CLIENTDATA, &in);
    return (char *)(uintptr_t)in->prompt;
}

/* One character, while Ctrl-C, the window's size and what the program says are looked after. */
static int get_char(EditLine *el, wchar_t *out)
{
    struct input *in;
    char bytes[8];
    mbstate_t state = {0};
    el_get(el, EL_CLIENTDATA, &in);
    for (int n = 0;;) {
        while (!process_wait(NULL, STDIN_FILENO, -1)) {
            if (!interrupts_taken()) {
                el_resize(el);
                continue;
            }
            in->interrupted = true;
            errno = EINTR;
            return -1;
        }
        ssize_t got = read(STDIN_FILENO, bytes, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return 0;
        size_t used = mbrtowc(out, bytes, 1, &state);
        if (used == (size_t)-2 && ++n < 8)
            continue;
        if (used >= (size_t)-2)
            *out = (wchar_t)(unsigned char)bytes[0];
        return 1;
    }
}

static void list_words(const struct completions *c)
{
    size_t widest = 0;
    for (size_t i = 0; i < c->words.n; i++)
        if (strlen(c->words.at[i]) > widest)
            widest = strlen(c->words.at[i]);
    size_t columns = 78 / (widest + 2) ? 78 / (widest + 2) : 1;
    tell("\n");
    for (size_t i = 0; i < c->words.n; i++)
        tell("%-*s%s", (int)(widest + 2), c->words.at[i], (i + 1) % columns && i + 1 < c->words.n ? "" : "\n");
}

static unsigned char on_tab(EditLine *el, int key)
{
    struct input *in;
    struct completions c;
    const LineInfo *info = el_line(el);
    char *line = strndup(info->buffer, (size_t)(info->cursor - info->buffer));
    unsigned char answer = CC_ERROR;
    (void)key;
    el_get(el, EL_CLIENTDATA, &in);
    if (!line)
        return answer;
    complete(in->session, line, &c);
    if (c.words.n) {
        size_t common = strlen(c.words.at[0]);
        for (size_t i = 1; i < c.words.n; i++) {
            size_t k = 0;
            while (k < common && c.words.at[0][k] == c.words.at[i][k])
                k++;
            common = k;
        }
        char *more = common > c.typed ? strndup(c.words.at[0] + c.typed, common - c.typed) : NULL;
        if (more && el_insertstr(el, more) == 0)
            answer = CC_REFRESH;
        if (c.words.n == 1 && el_insertstr(el, " ") == 0)
            answer = CC_REFRESH;
        if (c.words.n > 1 && !more) {
            list_words(&c);
            answer = CC_REDISPLAY;
        }
        free(more);
    }
    completions_free(&c);
    free(line);
    return answer;
}

struct input *input_terminal(struct session *s)
{
    struct input *in = calloc(1, sizeof *in);
    if (!in)
        return NULL;
    setlocale(LC_CTYPE, "");
    in->session = s;
    in->name = strdup("terminal");
    in->prompt = "";
    in->editor = el_init("heddle", stdin, stderr, stderr);
    in->history = history_init();
    if (!in->name || !in->editor || !in->history) {
        input_close(in);
        return NULL;
    }
    history(in->history, &in->event, H_SETSIZE, 1000);
    history(in->history, &in->event, H_SETUNIQUE, 1);
    el_set(in->editor, EL_CLIENTDATA, in);
    el_set(in->editor, EL_SIGNAL, 0);
    el_set(in->editor, EL_EDITOR, "emacs");
    el_set(in->editor, EL_PROMPT, prompt_of);
    el_set(in->editor, EL_GETCFN, get_char);
    el_set(in->editor, EL_HIST, history, in->history);
    el_set(in->editor, EL_ADDFN, "heddle-complete", "complete the word", on_tab);
    el_set(in->editor, EL_BIND, "^I", "heddle-complete", NULL);
    el_set(in->editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_source(in->editor, NULL);               /* ~/.editrc */
    return in;
}

static const char *terminal_line(struct input *in, const char *prompt)
{
    int n = 0;
    in->prompt = prompt;
    in->interrupted = false;
    const char *line = el_gets(in->editor, &n);
    if (!line || n <= 0) {
        if (in->interrupted) {
            el_reset(in->editor);
            tell("^C\n");
        }
        return NULL;
    }
    in->line.n = 0;
    textbuf_add_bytes(&in->line, line, strcspn(line, "\n"));
    if (line[0] != '\n')
        history(in->history, &in->event, H_ENTER, in->line.at);
    return in->line.at;
}

/* ---- files and pipes ---- */

struct input *input_plain(struct session *s, FILE *file, const char *name)
{
    struct input *in = calloc(1, sizeof *in);
    if (in) {
        in->session = s;
        in->file = file;
        in->name = strdup(name);
    }
    return in;
}

static int plain_char(struct input *in)
{
    unsigned char c;
    if (in->file)
        return getc(in->file);
    for (;;) {
        while (!process_wait(NULL, STDIN_FILENO, -1)) {
            in->interrupted = interrupts_taken() > 0;
            if (in->interrupted)
                return EOF;
        }
        ssize_t got = read(STDIN_FILENO, &c, 1);
        if (got == 1)
            return c;
        if (got == 0 || errno != EINTR)
            return EOF;
    }
}

static const char *plain_line(struct input *in)
{
    enum { LONGEST = 60000, ENDLESS = 1 << 24 };       /* a request is at most 64 KiB */
    int c = EOF;
    size_t n = 0;
    in->line.n = 0;
    textbuf_add_bytes(&in->line, "", 0);
    while (n < ENDLESS && (c = plain_char(in)) != EOF && c != '\n')
        if (n++ < LONGEST && c)
            textbuf_add_bytes(&in->line, &(char){(char)c}, 1);
    in->line_number++;
    if (n > LONGEST) {
        complain(in->session, "a line of more than %d bytes is left out", LONGEST);
        in->line.n = 0;
        textbuf_add_bytes(&in->line, "", 0);
    }
    return in->line.failed || n == ENDLESS || (c == EOF && !n) ? NULL : in->line.at;
}

const char *input_line(struct input *in, const char *prompt, bool *interrupted)
{
    const char *line = in->editor ? terminal_line(in, prompt) : plain_line(in);
    *interrupted = in->interrupted;
    if (line && !in->editor && in->session->trace_commands)
        tell("%s%s\n", prompt, line);
    return line;
}

unsigned input_line_number(const struct input *in) { return in->line_number; }

void input_close(struct input *in)
{
    if (!in)
        return;
    if (in->editor)
        el_end(in->editor);
    if (in->history)
        history_end(in->history);
    if (in->file)
        fclose(in->file);
    textbuf_free(&in->line);
    free(in->name);
    free(in);
}
