/* Messages of the Debug Adapter Protocol: taken apart, handed to whom it concerns, and written. */
#include "runtime/cli/dap.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTHING, PROGRAM, KERNEL };
enum { LARGEST_MESSAGE = 16 << 20 };

static const struct dap_request requests[] = {
#define REQUEST(name, handler, needs) {#name, dap_##handler, needs},
#include "runtime/cli/dap.def"
};

/* ---- writing ---- */

static void write_all(const char *at, size_t n)
{
    while (n) {
        ssize_t written = write(STDOUT_FILENO, at, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;                            /* the editor is gone: reading will tell */
        at += written;
        n -= (size_t)written;
    }
}

static struct json *begin(struct dap *d, const char *type)
{
    d->out.n = 0;
    d->json = json_to(&d->out);
    json_object(&d->json, NULL);
    json_u64(&d->json, "seq", ++d->seq);
    json_text(&d->json, "type", type);
    return &d->json;
}

static struct json *begin_response(struct dap *d, const cJSON *request, bool success)
{
    struct json *j = begin(d, "response");
    json_u64(j, "request_seq", dap_index(request, "seq", 0));
    json_text(j, "command", dap_text(request, "command", ""));
    json_bool(j, "success", success);
    return j;
}

struct json *dap_reply(struct dap *d, const cJSON *request)
{
    struct json *j = begin_response(d, request, true);
    json_object(j, "body");
    return j;
}

struct json *dap_event(struct dap *d, const char *name)
{
    struct json *j = begin(d, "event");
    json_text(j, "event", name);
    json_object(j, "body");
    return j;
}

void dap_send(struct dap *d)
{
    char header[64];
    while (d->json.depth)
        json_end(&d->json);
    if (d->out.failed)
        return;
    int n = snprintf(header, sizeof header, "Content-Length: %zu\r\n\r\n", d->out.n);
    write_all(header, (size_t)n);
    write_all(d->out.at, d->out.n);
}

void dap_done(struct dap *d, const cJSON *request)
{
    begin_response(d, request, true);
    dap_send(d);
}

void dap_refuse(struct dap *d, const cJSON *request, const char *fmt, ...)
{
    va_list ap;
    char text[2048];
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    struct json *j = begin_response(d, request, false);
    json_text(j, "message", text);
    json_object(j, "body");
    json_object(j, "error");
    json_u64(j, "id", 1);
    json_text(j, "format", text);
    json_bool(j, "showUser", false);
    dap_send(d);
}

void dap_output(struct dap *d, const char *category, const char *text)
{
    struct json *j = dap_event(d, "output");
    json_text(j, "category", category);
    json_text(j, "output", text);
    dap_send(d);
}

bool dap_ask(struct dap *d, const cJSON *request, struct wire_answer *a, const char *fmt, ...)
{
    va_list ap;
    char *text = NULL;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    *a = (struct wire_answer){0};
    bool ok = n >= 0 && wire_call(&d->s.process.wire, a, "%s", text);
    if (n >= 0)
        free(text);
    if (!ok)
        dap_refuse(d, request, "%s", a->error);
    return ok;
}

/* ---- reading ---- */

const char *dap_text(const cJSON *args, const char *name, const char *otherwise)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(args, name);
    return cJSON_IsString(v) ? v->valuestring : otherwise;
}

int64_t dap_number(const cJSON *args, const char *name, int64_t otherwise)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(args, name);
    return cJSON_IsNumber(v) && v->valuedouble > -1e15 && v->valuedouble < 1e15 ? (int64_t)v->valuedouble : otherwise;
}

uint64_t dap_index(const cJSON *args, const char *name, uint64_t otherwise)
{
    int64_t n = dap_number(args, name, -1);
    return n < 0 ? otherwise : (uint64_t)n;
}

bool dap_flag(const cJSON *args, const char *name) { return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(args, name)); }

static void dispatch(struct dap *d, const cJSON *request)
{
    const char *command = dap_text(request, "command", "");
    const struct dap_request *r = NULL;
    if (strcmp(dap_text(request, "type", ""), "request") != 0)
        return;
    for (size_t i = 0; i < sizeof requests / sizeof *requests && !r; i++)
        if (strcmp(requests[i].name, command) == 0)
            r = &requests[i];
    if (!r)
        dap_refuse(d, request, "heddle dap has no request '%.60s'", command);
    else if (r->needs >= PROGRAM && (d->s.state == NO_PROGRAM || !d->s.greeted))
        dap_refuse(d, request, "the program %s", d->s.state == NO_PROGRAM ? "does not run" : "has called no CUDA function yet");
    else if (r->needs == KERNEL && !has_kernel(&d->s))
        dap_refuse(d, request, "no kernel stands still");
    else
        r->answer(d, request, cJSON_GetObjectItemCaseSensitive(request, "arguments"));
}

/* The length that a header gives; -1: it gives none. */
static long content_length(const char *header, const char *end)
{
    static const char name[] = "content-length:";
    for (const char *line = header; line < end;) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        line_end = line_end ? line_end : end;
        if (strncasecmp(line, name, sizeof name - 1) == 0) {
            char *rest;
            errno = 0;
            long n = strtol(line + sizeof name - 1, &rest, 10);
            return errno == 0 && n >= 0 && n <= LARGEST_MESSAGE && (*rest == '\r' || *rest == '\n') ? n : -1;
        }
        line = line_end + 1;
    }
    return -1;
}

/* Handles each whole message that has come. False: what came is no message. */
static bool take_messages(struct dap *d)
{
    while (d->in.n && !d->over) {
        char *body = strstr(d->in.at, "\r\n\r\n");
        if (!body) {
            if (d->in.n < 4096 && strlen(d->in.at) == d->in.n)
                return true;
            say_error("dap: a message begins with `Content-Length: N` and an empty line; this is none");
            return false;
        }
        body += 4;
        long n = content_length(d->in.at, body);
        if (n < 0) {
            say_error("dap: a message without a usable Content-Length (at most %d)", LARGEST_MESSAGE);
            return false;
        }
        size_t used = (size_t)(body - d->in.at) + (size_t)n;
        if (d->in.n < used)
            return true;
        cJSON *request = cJSON_ParseWithLength(body, (size_t)n);
        memmove(d->in.at, d->in.at + used, d->in.n - used + 1);
        d->in.n -= used;
        if (cJSON_IsObject(request))
            dispatch(d, request);
        else
            dap_output(d, "important", "heddle dap: a message that is no JSON object was left out\n");
        cJSON_Delete(request);
    }
    return true;
}

static bool read_editor(struct dap *d)
{
    char bytes[16384];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0)
        return false;
    textbuf_add_bytes(&d->in, bytes, (size_t)n);
    d->broken = d->in.failed || !take_messages(d);
    return !d->broken;
}

/* ---- the loop ---- */

/* What the program has printed by now. */
static void read_program(struct dap *d, int *fd, const char *category)
{
    char bytes[8192];
    ssize_t n = 1;
    while (*fd >= 0 && n > 0) {
        n = read(*fd, bytes, sizeof bytes - 1);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            return;
        if (n <= 0) {
            close(*fd);
            *fd = -1;
            return;
        }
        bytes[n] = 0;
        for (ssize_t i = 0; i < n; i++)
            if (!bytes[i])
                bytes[i] = ' ';
        dap_output(d, category, bytes);
    }
}

static void read_library(struct dap *d)
{
    struct wire_line e;
    enum wire_got got;
    if (d->s.process.wire.fd < 0 && !d->s.process.wire.events.n)
        return;
    while ((got = wire_event(&d->s.process.wire, &e)) == WIRE_EVENT) {
        /* What was printed before the event is told before it. */
        read_program(d, &d->program_out, "stdout");
        read_program(d, &d->program_err, "stderr");
        dap_library_event(d, &e);
        wire_line_free(&e);
    }
    if (got == WIRE_CLOSED)
        wire_close(&d->s.process.wire);
}

static void loop(struct dap *d)
{
    sigset_t none;
    sigemptyset(&none);
    while (!d->over) {
        read_library(d);                       /* also what came with an answer and lies in the buffer */
        struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = d->s.process.wire.fd, .events = POLLIN},
                               {.fd = d->program_out, .events = POLLIN}, {.fd = d->program_err, .events = POLLIN}};
        bool over = d->s.state != NO_PROGRAM && process_over(&d->s.process);
        struct timespec now = {0};
        int n = ppoll(fds, 4, over ? &now : NULL, &none);
        if (interrupts_taken())
            return;
        if (n > 0 && fds[2].revents)
            read_program(d, &d->program_out, "stdout");
        if (n > 0 && fds[3].revents)
            read_program(d, &d->program_err, "stderr");
        if (n > 0 && fds[0].revents && !read_editor(d))
            return;
        /* All that it printed comes first; a child of its own may keep the pipes open for ever. */
        if (over && n <= 0)
            dap_program_over(d);
    }
}

int verb_dap(struct cli *c, int argc, char **argv)
{
    static struct dap d = {.program_out = -1, .program_err = -1, .lines_from = 1, .columns_from = 1};
    (void)argv;
    if (argc > 0) {
        say_error("dap takes options alone: the editor's launch request names the program");
        say_hint("heddle debug %s", argv[0]);
        return EXIT_OWN_FAILURE;
    }
    d.s.cli = c;
    d.s.place.kind = "";
    d.s.process.wire = wire_open(-1);
    process_signals();
    signal(SIGPIPE, SIG_IGN);
    loop(&d);
    program_end(&d.s);
    dap_points_free(&d);
    breakpoints_free(&d.s);
    vec_free(&d.threads);
    sources_free(&d.s.sources);
    textbuf_free(&d.in);
    textbuf_free(&d.out);
    return d.broken ? EXIT_OWN_FAILURE : 0;
}
