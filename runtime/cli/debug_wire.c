#include "runtime/cli/debug_wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct wire wire_open(int fd) { return (struct wire){.fd = fd, .next = 1}; }

void wire_close(struct wire *w)
{
    if (w->fd >= 0)
        close(w->fd);
    while (w->events_read < w->events.n)
        wire_line_free(&w->events.at[w->events_read++]);
    vec_free(&w->events);
    textbuf_free(&w->in);
    *w = (struct wire){.fd = -1};
}

/* ---- lines ---- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads a word at *from (quoted or bare; a bare one ends at a blank, and at `=` for a key) to *to. The end is a NUL; the byte that
 * stood behind the word comes back. False: a string does not end. */
static bool take_word(const char **from, char **to, bool key, char *behind)
{
    const char *p = *from;
    char *o = *to;
    if (*p == '"') {
        for (p++; *p && *p != '"'; p++) {
            if (*p != '\\') {
                *o++ = *p;
                continue;
            }
            p++;
            if (!*p)
                return false;
            int high = *p == 'x' ? hex_digit(p[1]) : -1, low = high >= 0 ? hex_digit(p[2]) : -1;
            if (low >= 0) {
                *o++ = (char)(high << 4 | low);
                p += 2;
            } else {
                *o++ = *p == 'n' ? '\n' : *p == 't' ? '\t' : *p;
            }
        }
        if (*p++ != '"')
            return false;
    } else {
        while (*p && *p != ' ' && !(key && *p == '='))
            *o++ = *p++;
    }
    *behind = *p;
    *from = p;
    *o++ = 0;
    *to = o;
    return true;
}

bool wire_parse(const char *line, struct wire_line *out)
{
    size_t n = strlen(line);
    *out = (struct wire_line){.text = malloc(2 * n + 2), .kind = ""};
    if (!out->text)
        return false;
    char *to = out->text;
    for (const char *p = line; *p;) {
        struct wire_pair pair = {0};
        char *word = to, behind;
        if (*p == ' ') {
            p++;
            continue;
        }
        if (!take_word(&p, &to, true, &behind))
            goto bad;
        if (behind == '=') {
            p++;
            pair.key = word;
            word = to;
            if (!take_word(&p, &to, false, &behind))
                goto bad;
        }
        pair.value = word;
        if (!vec_push(&out->pairs, pair))
            goto bad;
    }
    return true;
bad:
    wire_line_free(out);
    return false;
}

void wire_line_free(struct wire_line *l)
{
    free(l->text);
    vec_free(&l->pairs);
    *l = (struct wire_line){.kind = ""};
}

const char *wire_get(const struct wire_line *l, const char *key)
{
    for (size_t i = 0; i < l->pairs.n; i++)
        if (l->pairs.at[i].key && strcmp(l->pairs.at[i].key, key) == 0)
            return l->pairs.at[i].value;
    return NULL;
}

const char *wire_text(const struct wire_line *l, const char *key)
{
    const char *v = wire_get(l, key);
    return v ? v : "";
}

uint64_t wire_number(const struct wire_line *l, const char *key, uint64_t otherwise)
{
    const char *v = wire_get(l, key);
    char *end;
    if (!v || !*v)
        return otherwise;
    uint64_t n = strtoull(v, &end, 0);
    return *end ? otherwise : n;
}

void wire_add_word(struct textbuf *out, const char *word)
{
    bool bare = *word;
    for (const char *p = word; *p; p++)
        bare &= *p > ' ' && *p != '"' && *p != '=' && *p != '\\' && *p != 127;
    if (bare) {
        textbuf_add_bytes(out, word, strlen(word));
        return;
    }
    textbuf_add_bytes(out, "\"", 1);
    for (const char *p = word; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            textbuf_add(out, "\\%c", c);
        else if (c == '\n')
            textbuf_add_bytes(out, "\\n", 2);
        else if (c < ' ' || c == 127)
            textbuf_add(out, "\\x%02x", c);
        else
            textbuf_add_bytes(out, p, 1);
    }
    textbuf_add_bytes(out, "\"", 1);
}

/* ---- the socket ---- */

static bool send_all(struct wire *w, const char *at, size_t n)
{
    while (n) {
        ssize_t sent = send(w->fd, at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* One line without its end, cut out of what has come; NULL: no whole one is there. The caller frees it. */
static char *cut_line(struct wire *w)
{
    char *end = w->in.n ? memchr(w->in.at, '\n', w->in.n) : NULL;
    if (!end)
        return NULL;
    size_t n = (size_t)(end - w->in.at);
    char *line = strndup(w->in.at, n);
    w->in.n -= n + 1;
    memmove(w->in.at, end + 1, w->in.n + 1);   /* with the NUL */
    return line;
}

/* 1: bytes came; 0: none are there now; -1: the other side is gone. */
static int receive(struct wire *w, bool block)
{
    char bytes[16384];
    ssize_t n;
    do
        n = recv(w->fd, bytes, sizeof bytes, block ? 0 : MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (n <= 0)
        return -1;
    textbuf_add_bytes(&w->in, bytes, (size_t)n);
    return w->in.failed ? -1 : 1;
}

static bool read_event(const char *line, struct wire_line *e)
{
    if (strncmp(line, "* ", 2) != 0 || !wire_parse(line + 2, e))
        return false;
    if (e->pairs.n && !e->pairs.at[0].key)
        e->kind = e->pairs.at[0].value;
    return true;
}

static bool gone(struct wire_answer *a)
{
    a->ok = false;
    snprintf(a->error, sizeof a->error, "the program has ended");
    return false;
}

/* True: the answer is complete. */
static bool take_answer(struct wire_answer *a, const char *line)
{
    struct wire_line l;
    a->ok = strcmp(line, "ok") == 0;
    if (a->ok)
        return true;
    if (strncmp(line, "error", 5) == 0 && (line[5] == ' ' || !line[5])) {
        snprintf(a->error, sizeof a->error, "%s", line[5] ? line + 6 : "it did not work");
        return true;
    }
    if (wire_parse(line, &l) && !vec_push(&a->lines, l))
        wire_line_free(&l);
    return false;
}

static bool wait_answer(struct wire *w, struct wire_answer *a, uint64_t number)
{
    for (;;) {
        char *line = cut_line(w), *rest;
        struct wire_line e;
        if (!line) {
            if (receive(w, true) < 0)
                return gone(a);
            continue;
        }
        bool done = false;
        if (read_event(line, &e)) {
            if (!vec_push(&w->events, e))
                wire_line_free(&e);
        } else if (strtoull(line, &rest, 10) == number && *rest == ' ') {
            done = take_answer(a, rest + 1);
        }
        free(line);
        if (done)
            return a->ok;
    }
}

bool wire_call(struct wire *w, struct wire_answer *a, const char *fmt, ...)
{
    va_list ap;
    char *request;
    *a = (struct wire_answer){0};
    if (w->fd < 0)
        return gone(a);
    va_start(ap, fmt);
    int n = vasprintf(&request, fmt, ap);
    va_end(ap);
    if (n < 0)
        return gone(a);
    for (char *p = request; *p; p++)
        if (*p == '\n')
            *p = ' ';                          /* a request is one line */
    struct textbuf out = {0};
    uint64_t number = w->next++;
    textbuf_add(&out, "%" PRIu64 " %s\n", number, request);
    free(request);
    bool sent = !out.failed && send_all(w, out.at, out.n);
    textbuf_free(&out);
    return sent ? wait_answer(w, a, number) : gone(a);
}

void wire_answer_free(struct wire_answer *a)
{
    for (size_t i = 0; i < a->lines.n; i++)
        wire_line_free(&a->lines.at[i]);
    vec_free(&a->lines);
}

enum wire_got wire_event(struct wire *w, struct wire_line *e)
{
    if (w->events_read < w->events.n) {
        *e = w->events.at[w->events_read++];
        if (w->events_read == w->events.n)
            w->events.n = w->events_read = 0;
        return WIRE_EVENT;
    }
    for (;;) {
        char *line = w->fd >= 0 ? cut_line(w) : NULL;
        if (line) {
            bool is = read_event(line, e);
            free(line);
            if (is)
                return WIRE_EVENT;
            continue;
        }
        int got = w->fd >= 0 ? receive(w, false) : -1;
        if (got <= 0)
            return got < 0 ? WIRE_CLOSED : WIRE_NOTHING;
    }
}
