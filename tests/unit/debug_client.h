/* A debugger's interface for tests: the program under test runs in a thread of its own, the test speaks the protocol. */
#ifndef HEDDLE_TESTS_DEBUG_CLIENT_H
#define HEDDLE_TESTS_DEBUG_CLIENT_H
#include <check.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/runtime.h"

static struct {
    int fd;
    char buf[1 << 20]; size_t n;
    char line[1 << 17];                        /* the last line taken */
    unsigned long number;
    pthread_t program;
    char answer[1 << 18];                      /* all lines of the last answer but the final one */
    char events[1 << 18];                      /* that came in between */
    char stop[1 << 16];                        /* the last stop */
} client;

/* The next line; NULL: the other side has closed. */
static char *client_line(void)
{
    for (;;) {
        char *end = memchr(client.buf, '\n', client.n);
        if (end) {
            size_t n = (size_t)(end - client.buf);
            ck_assert_uint_lt(n, sizeof client.line);
            memcpy(client.line, client.buf, n);
            client.line[n] = 0;
            client.n -= n + 1;
            memmove(client.buf, end + 1, client.n);
            return client.line;
        }
        struct pollfd p = {client.fd, POLLIN, 0};
        ck_assert_msg(poll(&p, 1, 60000) == 1, "the library says nothing");
        ssize_t got = recv(client.fd, client.buf + client.n, sizeof client.buf - client.n, 0);
        if (got <= 0)
            return NULL;
        client.n += (size_t)got;
    }
}

static __attribute__((unused)) void client_event(const char *line)
{
    if (strncmp(line, "* stopped", 9) == 0)
        snprintf(client.stop, sizeof client.stop, "%s", line);
    strncat(client.events, line, sizeof client.events - strlen(client.events) - 2);
    strcat(client.events, "\n");
}

/* Sends a request and takes its answer. True: ok; else client.line holds the error. */
static __attribute__((unused)) bool client_try(const char *request)
{
    char text[1 << 16], tag[32];
    int n = snprintf(text, sizeof text, "%lu %s\n", ++client.number, request);
    ck_assert_int_eq(send(client.fd, text, (size_t)n, MSG_NOSIGNAL), n);
    snprintf(tag, sizeof tag, "%lu ", client.number);
    client.answer[0] = 0;
    for (char *line; (line = client_line());) {
        if (line[0] == '*') {
            client_event(line);
            continue;
        }
        ck_assert_msg(strncmp(line, tag, strlen(tag)) == 0, "'%s' is no answer to %s", line, text);
        line += strlen(tag);
        if (strcmp(line, "ok") == 0)
            return true;
        if (strncmp(line, "error ", 6) == 0) {
            ck_assert_msg(!*client.answer, "lines before an error: %s", client.answer);
            memmove(client.line, line + 6, strlen(line + 6) + 1);
            return false;
        }
        strncat(client.answer, line, sizeof client.answer - strlen(client.answer) - 2);
        strcat(client.answer, "\n");
    }
    ck_abort_msg("the library closed the connection");
    return false;
}

static __attribute__((unused)) const char *ask(const char *request)
{
    ck_assert_msg(client_try(request), "%s: %s", request, client.line);
    return client.answer;
}

static __attribute__((unused)) const char *refused(const char *request)
{
    ck_assert_msg(!client_try(request), "%s was not refused: %s", request, client.answer);
    return client.line;
}

/* Runs events up to one that begins with `what`. */
static __attribute__((unused)) const char *wait_for_event(const char *what)
{
    for (;;) {
        char *line = client_line();
        ck_assert_msg(line != NULL, "the connection closed before '%s'; seen:\n%s", what, client.events);
        ck_assert_msg(line[0] == '*', "'%s' while waiting for %s", line, what);
        client_event(line);
        if (strncmp(line, what, strlen(what)) == 0)
            return line;
    }
}

/* A request that runs, and the stop that follows. */
static __attribute__((unused)) const char *go(const char *request)
{
    ask(request);
    wait_for_event("* stopped");
    return client.stop;
}

/* The value of a key in a line; "" when it is not there. Quotes are taken off. */
static __attribute__((unused)) const char *key(const char *line, const char *name)
{
    static char text[4][4096];
    static unsigned next;
    char *out = text[next++ % 4], *w = out, pattern[64];
    snprintf(pattern, sizeof pattern, " %s=", name);
    const char *at = strstr(line, pattern);
    char padded[4096];
    if (!at) {                                 /* the first key of a line */
        snprintf(padded, sizeof padded, " %.4000s", line);
        at = strstr(padded, pattern);
    }
    *out = 0;
    if (!at)
        return out;
    at += strlen(pattern);
    bool quoted = *at == '"';
    for (at += quoted; *at && *at != '\n' && (quoted ? *at != '"' : *at != ' ') && w < out + 4000; at++) {
        if (quoted && *at == '\\' && at[1])
            at++;
        *w++ = *at;
    }
    *w = 0;
    return out;
}

static __attribute__((unused)) const char *eval_as(const char *expression, const char *format)
{
    char request[4096];
    snprintf(request, sizeof request, "eval \"%s\"%s%s", expression, *format ? " format=" : "", format);
    return key(ask(request), "value");
}
static __attribute__((unused)) const char *eval(const char *expression) { return eval_as(expression, ""); }

#define is(line, name, value) ck_assert_msg(strcmp(key(line, name), value) == 0, "%s is '%s', not '%s', in: %s", name, key(line, name), value, line)
#define evals(expression, value) do { const char *v_ = eval(expression); ck_assert_msg(strcmp(v_, value) == 0, "%s is '%s', not '%s'", expression, v_, value); } while (0)
#define has(text, part) ck_assert_msg(strstr(text, part) != NULL, "no '%s' in: %s", part, text)

/* Starts the program; it stands at its first CUDA call afterwards. */
static __attribute__((unused)) void client_start(void *(*program)(void *))
{
    int pair[2];
    char number[16];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    snprintf(number, sizeof number, "%d", pair[1]);
    setenv("HEDDLE_DEBUG_FD", number, 1);
    client.fd = pair[0];
    ck_assert_int_eq(pthread_create(&client.program, NULL, program, NULL), 0);
    wait_for_event("* hello");
    wait_for_event("* stopped");
}

/* Lets it run to its end. */
static __attribute__((unused)) void client_finish(void)
{
    ask("delete");
    ask("continue");
    void *result;
    ck_assert_int_eq(pthread_join(client.program, &result), 0);
}

/* What main returns: runs the tests, each in a process of its own. */
static __attribute__((unused)) int client_tests(const char *name, const TTest *const *tests, size_t n)
{
    enum { PATIENCE_S = 120 };                 /* only ends what hangs */
    Suite *s = suite_create(name);
    TCase *t = tcase_create(name);
    tcase_set_timeout(t, PATIENCE_S);
    for (size_t i = 0; i < n; i++)
        tcase_add_test(t, tests[i]);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}

#endif
