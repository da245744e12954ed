/* The debugger's side of the launcher, without a program: the protocol against a server that is a thread, words of command lines,
 * source files. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/cli/debug.h"

/* ---- lines ---- */

START_TEST(test_parse)
{
    struct wire_line l;
    ck_assert(wire_parse("stopped reason=breakpoint text=\"add.f32 \\\"x\\\", 1;\\n\\x41\\\\\" empty= none=\"\" mask=0xff", &l));
    ck_assert_ptr_null(l.pairs.at[0].key);
    ck_assert_str_eq(l.pairs.at[0].value, "stopped");
    ck_assert_str_eq(wire_text(&l, "reason"), "breakpoint");
    ck_assert_str_eq(wire_text(&l, "text"), "add.f32 \"x\", 1;\nA\\");
    ck_assert_str_eq(wire_text(&l, "empty"), "");
    ck_assert_str_eq(wire_text(&l, "none"), "");
    ck_assert_ptr_null(wire_get(&l, "missing"));
    ck_assert_uint_eq(wire_number(&l, "mask", 1), 255);
    ck_assert_uint_eq(wire_number(&l, "reason", 7), 7);
    ck_assert_uint_eq(wire_number(&l, "missing", 9), 9);
    wire_line_free(&l);
    ck_assert(!wire_parse("a=\"no end", &l));
    ck_assert(!wire_parse("a=\"no end\\", &l));
    ck_assert(wire_parse("", &l));
    ck_assert_uint_eq(l.pairs.n, 0);
    wire_line_free(&l);
    ck_assert(wire_parse("  a=1   b  ", &l));
    ck_assert_uint_eq(l.pairs.n, 2);
    wire_line_free(&l);
}
END_TEST

/* What is quoted comes back as it was. */
START_TEST(test_quote)
{
    static const char *const texts[] = {"plain", "", "two words", "a=b", "\"", "\\", "line\nline", "tab\t", "\x7f\x01", "%r1==5&&x", "\303\244"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct textbuf t = {0};
        struct wire_line l;
        textbuf_add(&t, "key=");
        wire_add_word(&t, texts[i]);
        ck_assert_ptr_null(strchr(t.at, '\n'));
        ck_assert(wire_parse(t.at, &l));
        ck_assert_uint_eq(l.pairs.n, 1);
        ck_assert_str_eq(wire_text(&l, "key"), texts[i]);
        wire_line_free(&l);
        textbuf_free(&t);
    }
    struct textbuf bare = {0};
    wire_add_word(&bare, "%r1");
    ck_assert_str_eq(bare.at, "%r1");
    textbuf_free(&bare);
}
END_TEST

/* ---- a server ---- */

struct server { int fd; const char *const *says; char heard[4096]; };

/* Reads a line, says the next text; "" closes. */
static void *serve(void *arg)
{
    struct server *s = arg;
    size_t n = 0;
    for (size_t i = 0; s->says[i]; i++) {
        char c = 0;
        while (c != '\n' && read(s->fd, &c, 1) == 1 && n < sizeof s->heard - 1)
            s->heard[n++] = c;
        for (const char *p = s->says[i]; *p; p++)          /* byte by byte: lines come in pieces */
            ck_assert_int_eq(write(s->fd, p, 1), 1);
    }
    close(s->fd);
    return NULL;
}

static struct wire start(struct server *s, pthread_t *thread, const char *const *says)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    *s = (struct server){.fd = pair[1], .says = says};
    ck_assert_int_eq(pthread_create(thread, NULL, serve, s), 0);
    return wire_open(pair[0]);
}

START_TEST(test_calls)
{
    static const char *const says[] = {
        "* hello protocol=1\n1 value=5 type=int\n1 ok\n",
        "2 error no such register: %r99\n",
        "* launch launch=1\n7 stale=1\n7 ok\n3 a=1\n3 b=2\n3 ok\n* stopped reason=step\n",
        "4 half=", NULL,
    };
    struct server s;
    pthread_t thread;
    struct wire w = start(&s, &thread, says);
    struct wire_answer a;
    struct wire_line e;
    ck_assert(wire_call(&w, &a, "eval %s", "%r1"));
    ck_assert_uint_eq(a.lines.n, 1);
    ck_assert_str_eq(wire_text(&a.lines.at[0], "value"), "5");
    wire_answer_free(&a);
    ck_assert(!wire_call(&w, &a, "eval %%r99\n2 kill"));    /* a line end cannot smuggle a request in */
    ck_assert_str_eq(a.error, "no such register: %r99");
    wire_answer_free(&a);
    ck_assert_int_eq(wire_event(&w, &e), WIRE_EVENT);
    ck_assert_str_eq(e.kind, "hello");
    wire_line_free(&e);
    ck_assert_int_eq(wire_event(&w, &e), WIRE_NOTHING);
    ck_assert(wire_call(&w, &a, "info kernels"));
    ck_assert_uint_eq(a.lines.n, 2);
    ck_assert_str_eq(wire_text(&a.lines.at[1], "b"), "2");
    wire_answer_free(&a);
    ck_assert_int_eq(wire_event(&w, &e), WIRE_EVENT);
    ck_assert_str_eq(e.kind, "launch");
    wire_line_free(&e);
    ck_assert(!wire_call(&w, &a, "where"));                 /* the program goes away in the middle of an answer */
    ck_assert_ptr_nonnull(strstr(a.error, "ended"));
    wire_answer_free(&a);
    ck_assert_int_eq(wire_event(&w, &e), WIRE_EVENT);
    ck_assert_str_eq(wire_text(&e, "reason"), "step");
    wire_line_free(&e);
    ck_assert_int_eq(wire_event(&w, &e), WIRE_CLOSED);
    ck_assert(!wire_call(&w, &a, "where"));
    wire_answer_free(&a);
    pthread_join(thread, NULL);
    ck_assert_str_eq(s.heard, "1 eval %r1\n2 eval %r99 2 kill\n3 info kernels\n4 where\n");
    wire_close(&w);
}
END_TEST

/* ---- words ---- */

START_TEST(test_words)
{
    char line[] = "  saxpy(float*, int)  block (3, 0)  \"a b\" if";
    char *at = line, place[64];
    uint64_t n;
    ck_assert_str_eq(word_next(&at), "saxpy(float*, int)");
    ck_assert_str_eq(word_next(&at), "block");
    char *brackets = word_next(&at);
    ck_assert(word_coordinates(brackets, place));
    ck_assert_str_eq(place, "3,0");
    ck_assert_str_eq(word_next(&at), "\"a b\"");
    ck_assert_str_eq(word_next(&at), "if");
    ck_assert_ptr_null(word_next(&at));
    ck_assert(word_coordinates("1,2,3", place) && !word_coordinates("1,2,3,4", place) && !word_coordinates("x", place));
    ck_assert(!word_coordinates("(1,2", place) && !word_coordinates("1,", place) && !word_coordinates("", place) && !word_coordinates("-1", place));
    ck_assert(word_number("0x10", &n) && n == 16);
    ck_assert(word_number("18446744073709551615", &n) && !word_number("18446744073709551616", &n));
    ck_assert(!word_number("-1", &n) && !word_number("5x", &n) && !word_number("", &n) && !word_number(NULL, &n));
}
END_TEST

/* Every abbreviation that the table promises leads to its command. */
START_TEST(test_abbreviations)
{
    static struct session s;
    for (const struct command *c = commands; c->name || c->section; c++) {
        if (!c->name)
            continue;
        ck_assert_ptr_eq(command_find(&s, c->shortest), c);
        ck_assert_ptr_eq(command_find(&s, c->name), c);
    }
    ck_assert_str_eq(command_find(&s, "brea")->name, "break");
    ck_assert_str_eq(command_find(&s, "cont")->name, "continue");
    ck_assert_str_eq(command_find(&s, "disa")->name, "disable");
    ck_assert_str_eq(command_find(&s, "disass")->name, "disassemble");
    ck_assert(!s.failed);
    ck_assert_ptr_null(command_find(&s, "rev"));
    ck_assert_ptr_null(command_find(&s, "nonsense"));
    ck_assert(s.failed);
}
END_TEST

START_TEST(test_sources)
{
    char dir[] = "/tmp/heddle-source-XXXXXX", path[128];
    struct sources s = {0};
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/a.cu", dir);
    FILE *f = fopen(path, "w");
    fputs("one\r\ntwo\n\nfour", f);
    fclose(f);
    ck_assert_ptr_null(source_open(&s, "/nowhere/src/a.cu"));
    source_folder(&s, dir);                    /* what was not found is looked for again */
    const struct source_file *a = source_open(&s, "/nowhere/src/a.cu");
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_eq(source_open(&s, "/nowhere/src/a.cu"), a);
    ck_assert_uint_eq(a->lines.n, 4);
    ck_assert_str_eq(source_line(a, 1), "one");
    ck_assert_str_eq(source_line(a, 3), "");
    ck_assert_str_eq(source_line(a, 4), "four");
    ck_assert_ptr_null(source_line(a, 0));
    ck_assert_ptr_null(source_line(a, 5));
    sources_free(&s);
    unlink(path);
    rmdir(dir);
}
END_TEST

START_TEST(test_lanes)
{
    char out[64];
    show_lanes(out, 0xff, 0x0f, 0xf0000000);
    ck_assert_str_eq(out, "11110000 ........ ........ ....----");
    show_lanes(out, 0xffffffff, 0xffffffff, 0);
    ck_assert_str_eq(out, "11111111 11111111 11111111 11111111");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("debug_wire");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_test(t, test_parse);
    tcase_add_test(t, test_quote);
    tcase_add_test(t, test_calls);
    tcase_add_test(t, test_words);
    tcase_add_test(t, test_abbreviations);
    tcase_add_test(t, test_sources);
    tcase_add_test(t, test_lanes);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
