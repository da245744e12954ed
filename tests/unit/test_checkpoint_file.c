/* runtime/checkpoint: files. What is written comes back; every damaged, truncated, foreign or newer file is refused with a message, and an old file stays where it is
 * until the new one is complete. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/checkpoint/file.h"

enum { WORDS = 60000 };
static char folder[64], path[96];

static void setup(void)
{
    snprintf(folder, sizeof folder, "/tmp/heddle-hck-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.hck", folder);
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static uint32_t word(uint32_t i) { return i % 7 ? i * 2654435761u : 0; }

static struct hck_writer *begin(uint32_t salt)
{
    struct hck_writer *w;
    struct error e = {0};
    ck_assert_msg(hck_create(&w, path, &e) == ST_OK, "%s", e.text);
    struct sink *s = hck_section(w, HCK_ABOUT);
    put_text(s, "a program");
    put_u32(s, salt);
    s = hck_section(w, HCK_MEMORY);
    for (uint32_t i = 0; i < WORDS; i++)
        put_u32(s, word(i));
    s = hck_section(w, HCK_BLOCKS);                     /* empty */
    s = hck_section(w, HCK_MEMORY);                     /* a second one of a kind */
    put_u64(s, 77);
    return w;
}

static void write_file(uint32_t salt)
{
    struct error e = {0};
    ck_assert_msg(hck_commit(begin(salt), &e) == ST_OK, "%s", e.text);
}

/* The salt of the file there, everything else being as written. */
static uint32_t read_file(void)
{
    struct hck_reader *r;
    struct error e = {0};
    char text[32];
    const struct hck_entry *x;
    ck_assert_msg(hck_open(&r, path, &e) == ST_OK, "%s", e.text);
    ck_assert_uint_eq(hck_entries(r, &x), 4);
    ck_assert_uint_eq(hck_head(r)->layout, hck_layout());
    struct source *s = hck_enter(r, 1);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < WORDS; i++)
        wrong += get_u32(s) != word(i);
    ck_assert(!wrong && !s->failed);
    ck_assert(get_u32(s) == 0 && s->failed);            /* behind the end */
    s = hck_find(r, HCK_ABOUT);
    get_text(s, text, sizeof text);
    uint32_t salt = get_u32(s);
    ck_assert(!s->failed && strcmp(text, "a program") == 0);
    ck_assert_uint_eq(get_u64(hck_enter(r, 3)), 77);
    ck_assert_ptr_null(hck_find(r, HCK_TIMING));
    ck_assert(hck_enter(r, 2)->read(r, text, 1) == false);
    hck_close(r);
    return salt;
}

START_TEST(comes_back)
{
    write_file(1);
    ck_assert_uint_eq(read_file(), 1);
    write_file(2);
    ck_assert_uint_eq(read_file(), 2);
}
END_TEST

START_TEST(old_file_stays)
{
    write_file(5);
    hck_abandon(begin(6));
    ck_assert_uint_eq(read_file(), 5);
    pid_t child = fork();
    if (child == 0) {                                   /* dies with most of it written */
        begin(7);
        kill(getpid(), SIGKILL);
    }
    int how;
    ck_assert(waitpid(child, &how, 0) == child && WIFSIGNALED(how));
    ck_assert_uint_eq(read_file(), 5);
}
END_TEST

START_TEST(no_place)
{
    struct hck_writer *w;
    struct error e = {0};
    ck_assert(hck_create(&w, "/nonexistent/folder/x.hck", &e) != ST_OK && strstr(e.text, "/nonexistent/folder/x.hck"));
}
END_TEST

static char *bytes; static size_t n_bytes;
static void load(void)
{
    FILE *f = fopen(path, "rb");
    struct stat s;
    ck_assert(f && fstat(fileno(f), &s) == 0);
    n_bytes = (size_t)s.st_size;
    bytes = malloc(n_bytes + 16);
    ck_assert(fread(bytes, 1, n_bytes, f) == n_bytes);
    fclose(f);
}

static enum status open_bytes(size_t n, struct error *e)
{
    FILE *f = fopen(path, "wb");
    ck_assert(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
    struct hck_reader *r;
    *e = (struct error){0};
    enum status st = hck_open(&r, path, e);
    if (st != ST_OK)
        return st;
    st = hck_check(r, e);
    hck_close(r);
    return st;
}

START_TEST(truncated)
{
    struct error e;
    write_file(1);
    load();
    for (size_t n = 0; n < n_bytes; n += n < 200 || n + 300 > n_bytes ? 1 : 1997) {
        ck_assert_msg(open_bytes(n, &e) != ST_OK, "%zu of %zu bytes were accepted", n, n_bytes);
        ck_assert_msg(strstr(e.text, n < 8 ? "is not a checkpoint" : "truncated"), "%zu: %s", n, e.text);
    }
    memset(bytes + n_bytes, 0, 16);
    ck_assert(open_bytes(n_bytes + 16, &e) != ST_OK);   /* and too long */
    free(bytes);
}
END_TEST

START_TEST(changed)
{
    struct error e;
    write_file(1);
    load();
    for (size_t i = 0; i < n_bytes; i += i < 200 || i + 300 > n_bytes ? 1 : 1999) {
        bytes[i] = (char)(bytes[i] ^ 0x10);
        ck_assert_msg(open_bytes(n_bytes, &e) != ST_OK && e.text[0], "byte %zu of %zu may be changed", i, n_bytes);
        bytes[i] = (char)(bytes[i] ^ 0x10);
    }
    ck_assert(open_bytes(n_bytes, &e) == ST_OK);
    free(bytes);
}
END_TEST

START_TEST(foreign_and_newer)
{
    struct error e;
    write_file(1);
    load();
    bytes[8] = HCK_VERSION + 1;
    ck_assert(open_bytes(n_bytes, &e) != ST_OK && strstr(e.text, "format 4") && strstr(e.text, "hint:"));
    bytes[0] = 0x7f;
    ck_assert(open_bytes(n_bytes, &e) != ST_OK && strstr(e.text, "is not a checkpoint of Heddle"));
    struct hck_reader *r;
    ck_assert(hck_open(&r, folder, &e) != ST_OK && hck_open(&r, "/nonexistent", &e) == ST_FILE_NOT_FOUND);
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("checkpoint file");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, comes_back);
    tcase_add_test(t, old_file_stays);
    tcase_add_test(t, no_place);
    tcase_add_test(t, truncated);
    tcase_add_test(t, changed);
    tcase_add_test(t, foreign_and_newer);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
