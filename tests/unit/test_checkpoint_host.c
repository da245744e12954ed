/* The tape of the host's calls, what a replay holds against it, and which program it belongs to. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/checkpoint/file.h"
#include "runtime/checkpoint/host_internal.h"
#include "runtime/checkpoint/program.h"

/* ---- bytes in memory as a sink ---- */

struct memory { char *at; size_t n, cap; };

static bool keep(void *user, const void *p, size_t n)
{
    struct memory *m = user;
    while (m->n + n > m->cap)
        m->at = realloc(m->at, m->cap = m->cap ? 2 * m->cap : 4096);
    memcpy(m->at + m->n, p, n);
    m->n += n;
    return true;
}

/* ---- tape ---- */

static uint64_t noise(uint64_t *x) { return *x = *x * 6364136223846793005u + 1442695040888963407u; }

static void fill(char *p, size_t n, uint64_t seed, bool packs)
{
    for (size_t i = 0; i < n; i++)
        p[i] = packs ? (char)(seed + i / 100) : (char)(noise(&seed) >> 40);
}

START_TEST(records_come_back)
{
    static const size_t sizes[] = {0, 1, 7, 8, 9, 4000, 1 << 20, (1 << 20) + 1, 3000000, 5};
    enum { N = sizeof sizes / sizeof *sizes };
    struct error err;
    struct tape *t;
    struct memory m = {0};
    struct sink to = {.write = keep, .user = &m};
    char *data = malloc(3000000);
    ck_assert(tape_create(&t, _i, &err) == ST_OK);
    for (unsigned i = 0; i < N; i++) {
        fill(data, sizes[i], i, i % 2);
        struct tape_head head = {.type = (uint8_t)(i + 1), .number = (uint16_t)(7 * i), .step = i, .bytes = sizes[i]};
        if (i % 3 == 0) {
            tape_put(t, &head, data);
            continue;
        }
        tape_open(t, &head);
        tape_add(t, data, sizes[i] / 3);
        tape_add(t, data + sizes[i] / 3, sizes[i] - sizes[i] / 3);
        tape_close(t);
    }
    ck_assert_msg(tape_save(t, &to, &err) == ST_OK, "%s", err.text);
    ck_assert(m.n == tape_bytes(t));
    uint64_t at = 0;
    for (unsigned i = 0; i < N; i++) {
        const struct tape_head *h = tape_record(m.at, m.n, at, &at);
        ck_assert(h && h->type == i + 1 && h->number == 7 * i && h->step == i && h->bytes == sizes[i]);
        fill(data, sizes[i], i, i % 2);
        ck_assert(memcmp(h + 1, data, sizes[i]) == 0);
    }
    ck_assert(at == m.n && !tape_record(m.at, m.n, at, &at));
    ck_assert(!tape_record(m.at, m.n - 1, at - 24, &at));      /* the last one, cut */
    tape_free(t);
    free(data);
    free(m.at);
}
END_TEST

START_TEST(too_little_and_too_much_keep_the_form)
{
    struct error err;
    struct tape *t;
    struct memory m = {0};
    struct sink to = {.write = keep, .user = &m};
    uint64_t at = 0;
    ck_assert(tape_create(&t, _i, &err) == ST_OK);
    tape_open(t, &(struct tape_head){.type = 1, .bytes = 20});
    tape_add(t, "abc", 3);
    tape_close(t);
    tape_open(t, &(struct tape_head){.type = 2, .bytes = 2});
    tape_add(t, "abcdef", 6);
    tape_close(t);
    ck_assert(tape_save(t, &to, &err) == ST_OK);
    const struct tape_head *h = tape_record(m.at, m.n, at, &at);
    ck_assert(h->bytes == 20 && memcmp(h + 1, "abc\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20) == 0);
    h = tape_record(m.at, m.n, at, &at);
    ck_assert(h->bytes == 2 && memcmp(h + 1, "ab\0", 3) == 0 && at == m.n);
    tape_free(t);
    free(m.at);
}
END_TEST

START_TEST(a_tape_without_its_file_says_so)
{
    struct error err = {0};
    struct tape *t;
    struct memory m = {0};
    struct sink to = {.write = keep, .user = &m};
    static char big[3 << 20];
    uint64_t x = 1;
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (char)(noise(&x) >> 40);
    ck_assert(tape_create(&t, _i, &err) == ST_OK);
    for (int fd = 700; fd < 720; fd++)         /* a program that closes everything */
        close(fd);
    tape_put(t, &(struct tape_head){.type = 1, .bytes = sizeof big}, big);
    ck_assert(tape_save(t, &to, &err) != ST_OK && strstr(err.text, "could not be recorded"));
    tape_free(t);
    free(m.at);
}
END_TEST

/* ---- recording and replaying ---- */

static char path[] = "/tmp/heddle-test-XXXXXX";

static void setup(void)
{
    int fd = mkstemp(path);
    ck_assert(fd >= 0);
    close(fd);
}

static void teardown(void) { unlink(path); }

static struct host_site first = {.symbol = "cuFirst", .args = "bytes, flags"}, second = {.symbol = "cuSecond", .args = "where"};

struct script { uint64_t bytes; bool swapped, less, other_answer_size; uint64_t param; enum status result; };

/* What a program does; the answers as it gets them. Stops at the first refusal. */
static enum status play(const struct script *s, uint64_t answers[2])
{
    enum status st = host_enter(&first, (const uint64_t[]){s->bytes, 3}, 2);
    if (st != ST_OK)
        return host_leave(st);
    host_answer(&answers[0], s->other_answer_size ? 4 : sizeof answers[0]);
    st = host_verify("parameters of the kernel", &s->param, sizeof s->param);
    if (host_leave(st != ST_OK ? st : s->result) == ST_UNKNOWN)
        return ST_UNKNOWN;
    st = host_enter(s->swapped ? &first : &second, (const uint64_t[]){77, 3}, s->swapped ? 2 : 1);
    if (st == ST_OK && !s->less)
        host_answer(&answers[1], sizeof answers[1]);
    st = host_leave(st);
    if (st != ST_OK)
        return st;
    st = host_enter(&second, (const uint64_t[]){78}, 1);
    return host_leave(st);
}

static const struct script straight = {.bytes = 4096, .param = 5, .result = ST_OK};

static void record(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct error err = {0};
        struct hck_writer *w;
        uint64_t answers[2] = {111, 222};
        bool ok = host_record(&err) == ST_OK && play(&straight, answers) == ST_OK && answers[0] == 111 && answers[1] == 222;
        ok = ok && hck_create(&w, path, &err) == ST_OK && host_save(w, &err) == ST_OK && hck_commit(w, &err) == ST_OK;
        _exit(ok ? 0 : 1);
    }
    int status;
    ck_assert(waitpid(pid, &status, 0) == pid && status == 0);
}

static enum status replay(const struct script *s, uint64_t answers[2])
{
    struct error err = {0};
    ck_assert_msg(host_replay(path, &err) == ST_OK, "%s", err.text);
    return play(s, answers);
}

START_TEST(answers_come_from_the_tape)
{
    uint64_t answers[2] = {0, 0};
    record();
    ck_assert(replay(&straight, answers) == ST_OK);
    ck_assert(answers[0] == 111 && answers[1] == 222);
    ck_assert(host.calls == 3 && host.last == 3);
}
END_TEST

static const struct script wrong[] = {
    {.bytes = 4097, .param = 5, .result = ST_OK},                           /* an argument */
    {.bytes = 4096, .param = 6, .result = ST_OK},                           /* what a kernel is given */
    {.bytes = 4096, .param = 5, .swapped = true, .result = ST_OK},          /* another function */
    {.bytes = 4096, .param = 5, .less = true, .result = ST_OK},             /* asks less */
    {.bytes = 4096, .param = 5, .other_answer_size = true, .result = ST_OK},
    {.bytes = 4096, .param = 5, .result = ST_INVALID_VALUE},                /* a call ends in another way */
};

START_TEST(what_differs_is_refused)
{
    uint64_t answers[2] = {0, 0};
    record();
    ck_assert(replay(&wrong[_i], answers) == ST_UNKNOWN);
    ck_assert(host.diverged);
    ck_assert(host_enter(&first, (const uint64_t[]){4096, 3}, 2) == ST_UNKNOWN);       /* and everything from there on */
    ck_assert(host_leave(ST_OK) == ST_UNKNOWN);
}
END_TEST

START_TEST(addresses_of_the_host_may_differ)
{
    uint64_t answers[2] = {0, 0}, a[2] = {0x555555554000, 9}, b[2] = {0x7fffffffe000, 9}, c[2] = {0x200000000000, 9};
    pid_t pid = fork();
    if (pid == 0) {
        struct error err = {0};
        struct hck_writer *w;
        bool ok = host_record(&err) == ST_OK && host_enter(&first, a, 0) == ST_OK && host_verify("parameters", a, sizeof a) == ST_OK && host_leave(ST_OK) == ST_OK;
        ok = ok && hck_create(&w, path, &err) == ST_OK && host_save(w, &err) == ST_OK && hck_commit(w, &err) == ST_OK;
        _exit(ok ? 0 : 1);
    }
    int status;
    struct error err;
    (void)answers;
    ck_assert(waitpid(pid, &status, 0) == pid && status == 0);
    ck_assert(host_replay(path, &err) == ST_OK && host_enter(&first, a, 0) == ST_OK);
    ck_assert((_i ? host_verify("parameters", c, sizeof c) == ST_UNKNOWN : host_verify("parameters", b, sizeof b) == ST_OK));
}
END_TEST

START_TEST(a_file_without_calls_is_refused)
{
    struct error err;
    struct hck_writer *w;
    ck_assert(hck_create(&w, path, &err) == ST_OK);
    put_u32(hck_section(w, HCK_DEVICE), 1);
    ck_assert(hck_commit(w, &err) == ST_OK);
    ck_assert(host_replay(path, &err) == ST_NOT_SUPPORTED && strstr(err.text, "--kernel-only"));
}
END_TEST

START_TEST(calls_that_make_no_sense_are_refused)
{
    struct error err;
    struct hck_writer *w;
    struct program self;
    ck_assert(program_self(&self, rt_knobs(), &err) == ST_OK);
    ck_assert(hck_create(&w, path, &err) == ST_OK);
    struct sink *to = hck_section(w, HCK_CALLS);
    program_put(&self, to);
    put_u64(to, 1);
    for (int i = 0; i < 4; i++)
        put_u32(to, 0);                        /* threads, open calls, operations, events */
    put_u64(to, 0);
    struct tape_head cut = {.type = REC_CALL, .bytes = 1000};
    put_u64(to, sizeof cut);
    put(to, &cut, sizeof cut);
    ck_assert(hck_commit(w, &err) == ST_OK);
    program_free(&self);
    ck_assert(host_replay(path, &err) == ST_INVALID_VALUE && strstr(err.text, "make no sense"));
}
END_TEST

/* ---- programs ---- */

START_TEST(a_program_is_known_again)
{
    struct error err;
    struct program then, again, now;
    struct memory m = {0};
    struct sink to = {.write = keep, .user = &m};
    char *argv[] = {"./app", "--size", "12", NULL}, *more[] = {"/elsewhere/app", "--size", "12", "x", NULL}, *other[] = {"app", "--size", "13", NULL};
    ck_assert(program_of(&then, "/proc/self/exe", argv, &err) == ST_OK && then.bytes && then.args_bytes == 10);
    strcpy(then.gpu, "v100");
    then.devices = 2;
    program_put(&then, &to);
    struct bytes in = {m.at, m.n};
    struct source from = bytes_source(&in);
    ck_assert(program_get(&again, &from, &err) == ST_OK && !in.n);
    ck_assert(again.hash == then.hash && again.devices == 2 && !strcmp(again.gpu, "v100") && !again.visible_set);
    ck_assert(program_compare(&again, &then, &err) == ST_OK);
    ck_assert(program_of(&now, "/proc/self/exe", more, &err) == ST_OK && program_compare(&then, &now, &err) == ST_INVALID_VALUE);
    ck_assert_msg(strstr(err.text, "argument 3 is 'x'") && strstr(err.text, "missing"), "%s", err.text);
    program_free(&now);
    ck_assert(program_of(&now, "/proc/self/exe", other, &err) == ST_OK && program_compare(&then, &now, &err) == ST_INVALID_VALUE);
    ck_assert_msg(strstr(err.text, "argument 2 is '13'") && strstr(err.text, "'12'"), "%s", err.text);
    program_free(&now);
    ck_assert(program_of(&now, "/bin/sh", argv, &err) == ST_OK && program_compare(&then, &now, &err) == ST_INVALID_VALUE && strstr(err.text, "not the program"));
    program_free(&now);
    in = (struct bytes){m.at, m.n / 2};
    from = bytes_source(&in);
    ck_assert(program_get(&now, &from, &err) == ST_INVALID_VALUE);
    program_free(&then);
    program_free(&again);
    free(m.at);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("checkpoint host");
    TCase *t = tcase_create("tape");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, records_come_back, 0, 2);
    tcase_add_loop_test(t, too_little_and_too_much_keep_the_form, 0, 2);
    tcase_add_loop_test(t, a_tape_without_its_file_says_so, 0, 2);
    tcase_add_test(t, a_program_is_known_again);
    suite_add_tcase(s, t);
    t = tcase_create("calls");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, answers_come_from_the_tape);
    tcase_add_loop_test(t, what_differs_is_refused, 0, sizeof wrong / sizeof *wrong);
    tcase_add_loop_test(t, addresses_of_the_host_may_differ, 0, 2);
    tcase_add_test(t, a_file_without_calls_is_refused);
    tcase_add_test(t, calls_that_make_no_sense_are_refused);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_ENV);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed != 0;
}
