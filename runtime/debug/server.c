/* The socket, and who answers.
 *
 * A reader thread takes lines from the socket into a queue. While the program stands still, the thread that stands serves the queue (server_stop);
 * while it runs, the reader answers the few requests that need no stop. `big` says who may: the reader only tries to take it, and whoever lets go of
 * it looks at the queue once more, so that no line is left lying. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/debug/state.h"

atomic_bool debug_attached;

/* Held for writing by whoever has big, for reading by those that only look: warps on many threads, which must not wait for each other at every breakpoint. */
static pthread_rwlock_t looking = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static int fd = -1;
static bool stopped, gone, detached;           /* under big */
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_more = PTHREAD_COND_INITIALIZER;
static VEC(char *) queue;                      /* under queue_lock, as `closed` is */
static bool closed;
static atomic_size_t waiting;                  /* queue.n: every hook of a warp asks */

bool refuse(struct error *err, const char *fmt, ...)
{
    va_list ap;
    err->status = ST_INVALID_VALUE;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    return false;
}

bool server_gone(void) { return gone || detached; }
bool server_stopped(void) { return stopped; }

/* ---- sending ---- */

static void send_all(const char *at, size_t n)
{
    while (n && !gone) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent <= 0) {
            gone = true;
            return;
        }
        at += sent;
        n -= (size_t)sent;
    }
}

struct out server_event_new(const char *kind)
{
    struct out o = {0};
    snprintf(o.tag, sizeof o.tag, "*");
    out_line(&o);
    textbuf_add(&o.text, " %s", kind);
    return o;
}

static void out_send(struct out *o)
{
    out_end(o);
    if (o->text.at && !o->text.failed)
        send_all(o->text.at, o->text.n);
    textbuf_free(&o->text);
}

void server_event(struct out *event) { out_send(event); }

/* ---- answering ---- */

static const struct verb *serve_find(const char *name)
{
    for (const struct verb *v = verbs; v->name; v++)
        if (strcmp(v->name, name) == 0)
            return v;
    return NULL;
}

static bool may(enum when when, struct error *err)
{
    if (when != WHEN_ANY && !stopped)
        return refuse(err, "the program runs: interrupt it first");
    if (when == WHEN_KERNEL && !dbg.focus.run)
        return refuse(err, "no kernel is stopped");
    return true;
}

static bool carry_out(const struct request *q, struct out *o, struct error *err)
{
    const struct verb *v = serve_find(q->verb);
    if (!v)
        return refuse(err, "unknown request '%.60s'", q->verb);
    return may(v->when, err) && v->fn(q, o, err);
}

bool serve_info(const struct request *q, struct out *o, struct error *err)
{
    static const struct verb infos[] = {
#define INFO(name, fn, when) {name, fn, when},
#include "runtime/debug/info.def"
#undef INFO
    };
    const char *what = request_word(q, 0);
    for (size_t i = 0; what && i < sizeof infos / sizeof *infos; i++)
        if (strcmp(infos[i].name, what) == 0)
            return may(infos[i].when, err) && infos[i].fn(q, o, err);
    return refuse(err, "info tells of kernels, blocks, warps, lanes, registers, locals, streams, allocations, functions, breakpoints, devices, line, barriers, sm, modules, variables");
}

static void one_line(char *text)
{
    for (char *p = text; *p; p++)
        if (*p == '\n' || *p == '\r')
            *p = ' ';
}

static void answer(char *line)
{
    struct request q;
    struct out o = {0};
    struct error err = {0};
    const char *why;
    bool good = request_parse(&q, line, &why);
    snprintf(o.tag, sizeof o.tag, "%llu", (unsigned long long)q.number);
    if (!good)
        refuse(&err, "%s", why);
    good = good && carry_out(&q, &o, &err);
    if (good && o.text.failed)
        good = refuse(&err, "no host memory for the answer");
    if (good) {
        out_end(&o);
        textbuf_add(&o.text, "%s ok", o.tag);
    } else {
        textbuf_free(&o.text);
        o.text = (struct textbuf){0};
        one_line(err.text);
        textbuf_add(&o.text, "%s error %s", o.tag, *err.text ? err.text : status_text(err.status));
    }
    o.open = true;
    out_send(&o);
}

/* ---- the queue ---- */

/* The next line, to be freed; NULL: none now, or with `wait` none ever. */
static char *queue_take(bool wait)
{
    pthread_mutex_lock(&queue_lock);
    while (wait && !queue.n && !closed)
        pthread_cond_wait(&queue_more, &queue_lock);
    char *line = queue.n ? queue.at[0] : NULL;
    if (line)
        memmove(queue.at, queue.at + 1, --queue.n * sizeof *queue.at);
    atomic_store(&waiting, queue.n);
    pthread_mutex_unlock(&queue_lock);
    return line;
}

static bool queue_waits(void) { return atomic_load(&waiting) != 0; }

static bool take_if_free(void)
{
    if (pthread_mutex_trylock(&dbg.big) != 0)
        return false;
    pthread_rwlock_wrlock(&looking);
    return true;
}

static void give_back(void)
{
    pthread_rwlock_unlock(&looking);
    pthread_mutex_unlock(&dbg.big);
}

/* Answers what is there, if nobody else is at it. */
static void answer_running(void)
{
    while (queue_waits() && take_if_free()) {
        char *line;
        while ((line = queue_take(false))) {
            answer(line);
            free(line);
        }
        give_back();
    }
}

void server_take(void)
{
    pthread_mutex_lock(&dbg.big);
    pthread_rwlock_wrlock(&looking);
}

void server_leave(void)
{
    give_back();
    answer_running();
}

void server_look(void) { pthread_rwlock_rdlock(&looking); }
void server_looked(void) { pthread_rwlock_unlock(&looking); }

static void let_go(void)
{
    detached = true;
    breaks_forget();
    dbg.plan.kind = PLAN_NONE;
    dbg.error_off = true;
    dbg.go = true;
}

void server_stop(struct out *event)
{
    server_event(event);
    if (dbg.focus.run)
        dbg.focus.run->seen = true;
    stopped = true;
    dbg.go = gone;
    while (!dbg.go) {
        char *line = queue_take(true);
        if (line)
            answer(line);
        else
            let_go();
        free(line);
    }
    stopped = false;
}

bool serve_detach(const struct request *q, struct out *o, struct error *err)
{
    (void)q, (void)o, (void)err;
    let_go();
    return true;
}

bool serve_launches(const struct request *q, struct out *o, struct error *err)
{
    const char *word = request_word(q, 0);
    (void)o;
    if (!word || (strcmp(word, "on") != 0 && strcmp(word, "off") != 0))
        return refuse(err, "launches on, or launches off");
    dbg.launches_off = strcmp(word, "off") == 0;
    return true;
}

/* ---- the reader ---- */

static void push(char *line)
{
    pthread_mutex_lock(&queue_lock);
    if (line && !vec_push(&queue, line))
        free(line);
    closed = closed || !line;
    atomic_store(&waiting, queue.n);
    pthread_cond_signal(&queue_more);
    pthread_mutex_unlock(&queue_lock);
    answer_running();
}

/* Lines in buf up to n become requests; how many bytes are left of an unfinished one. */
static size_t take_lines(char *buf, size_t n, bool *skip)
{
    char *start = buf, *end;
    while ((end = memchr(start, '\n', n - (size_t)(start - buf)))) {
        char *line = *skip ? strdup("a line longer than 65536 bytes") : strndup(start, (size_t)(end - start));
        *skip = false;
        if (line)
            push(line);
        start = end + 1;
    }
    size_t left = n - (size_t)(start - buf);
    memmove(buf, start, left);
    return left;
}

static void *read_requests(void *unused)
{
    static char buf[WIRE_LINE];
    size_t n = 0;
    bool skip = false;
    (void)unused;
    for (;;) {
        ssize_t got = recv(fd, buf + n, sizeof buf - n, 0);
        if (got <= 0)
            break;
        n = take_lines(buf, n + (size_t)got, &skip);
        if (n == sizeof buf) {
            skip = true;
            n = 0;
        }
    }
    push(NULL);
    if (take_if_free()) {                      /* nobody serves: what is set must not stop anybody any more */
        if (!stopped)
            let_go();
        give_back();
    }
    return NULL;
}

/* ---- start and end ---- */

/* A program that forks before it uses CUDA hands the socket to its children. The first that comes has it: a name that only one process can bind says so. */
static bool only_one(int number)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct stat s;
    int guard = fstat(number, &s) == 0 ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (guard < 0)
        return false;
    int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "heddle-debug-%llu", (unsigned long long)s.st_ino);
    if (bind(guard, (const struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0)
        return true;                           /* bound until the process ends */
    close(guard);
    return false;
}

static bool claim(void)
{
    const char *name = getenv("HEDDLE_DEBUG_FD");
    uint64_t number;
    int type;
    socklen_t n = sizeof type;
    if (!name)
        return false;
    bool good = request_number(name, &number) && number < 1 << 20 && getsockopt((int)number, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_STREAM;
    unsetenv("HEDDLE_DEBUG_FD");
    if (!good) {
        log_warn("HEDDLE_DEBUG_FD names no socket: no debugger is attached");
        return false;
    }
    (void)fcntl((int)number, F_SETFD, FD_CLOEXEC);
    if (!only_one((int)number)) {
        log_info("another process of this program has the debugger");
        close((int)number);
        return false;
    }
    fd = (int)number;
    return true;
}

static void hello(void)
{
    struct out o = server_event_new("hello");
    out_u64(&o, "protocol", 1);
    out_u64(&o, "pid", (uint64_t)getpid());
    out_str(&o, "mode", sim_on() ? "sim" : "run");
    out_str(&o, "gpu", the.n_devices ? the.devices[0].facts->name : "");
    out_u64(&o, "devices", (uint64_t)the.n_devices);
    server_event(&o);
}

void debug_start(void)
{
    pthread_t reader;
    sigset_t all, old;
    if (!claim())
        return;
    server_take();
    hello();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool good = pthread_create(&reader, NULL, read_requests, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (good) {
        pthread_detach(reader);
        atomic_store(&debug_attached, true);
        struct out o = server_event_new("stopped");
        out_str(&o, "reason", "start");
        server_stop(&o);
    } else {
        log_warn("no thread for the debugger: none is attached");
        close(fd);
    }
    server_leave();
}

void debug_exit(void)
{
    if (!take_if_free())
        return;                                /* somebody stands: the end of the connection says it */
    struct out o = server_event_new("exited");
    server_event(&o);
    give_back();
}
