/* Settings: types, layers, origins, messages; and that the table of `heddle run` is sound. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/knobs.h"

struct values { KNOB_FIELD_BOOL flag; KNOB_FIELD_INT count; KNOB_FIELD_BYTES room; KNOB_FIELD_CHOICE colour; KNOB_FIELD_TEXT out_dir; KNOB_FIELD_LIST files; };

static const struct knob rows[] = {
    KNOB_ROW(struct values, flag, BOOL, "off", "", 0, 0, "a flag")
    KNOB_ROW(struct values, count, INT, "3", "", -5, 100, "a number")
    KNOB_ROW(struct values, room, BYTES, "2M", "B", 0, INT64_MAX, "some room")
    KNOB_ROW(struct values, colour, CHOICE, "green", "red|green|blue", 0, 0, "a word")
    KNOB_ROW(struct values, out_dir, TEXT, "", "path", 0, 0, "a text")
    KNOB_ROW(struct values, files, LIST, "", "paths", 0, 0, "a list")
};
enum { N = sizeof rows / sizeof *rows };

static struct values v;
static char origins[N][KNOB_ORIGIN_BYTES];
static struct settings_more others;
static struct settings s = {rows, N, &v, origins, &others};
static struct error err;

static void setup(void)
{
    err = (struct error){0};
    others.n = 0;
    ck_assert_int_eq(settings_defaults(&s, &err), ST_OK);
}

START_TEST(test_defaults)
{
    ck_assert(!v.flag && v.count == 3 && v.room == 2u << 20 && v.colour == 1 && !v.out_dir[0]);
    ck_assert_str_eq(origins[4], "default");
}
END_TEST

START_TEST(test_text)
{
    ck_assert_int_eq(settings_text(&s, "# comment\n\n flag = yes\ncount=0x10  # sixteen\r\nout-dir = \"a # b\"\nroom = 64K\ncolour = blue",
                                   "f.conf", &err), ST_OK);
    ck_assert(v.flag && v.count == 16 && v.room == 65536 && v.colour == 2);
    ck_assert_str_eq(v.out_dir, "a # b");
    ck_assert_str_eq(origins[1], "f.conf:4");
    ck_assert_int_eq(settings_text(&s, "count = 1\nnonsense\n", "f.conf", &err), ST_INVALID_VALUE);
    ck_assert_ptr_nonnull(strstr(err.text, "f.conf:2"));
}
END_TEST

START_TEST(test_list)
{
    char packed[256], long_one[KNOB_TEXT_BYTES - 4];
    ck_assert_int_eq(settings_text(&s, "files = a.so\nfiles = b.so,c.so\n", "f.conf", &err), ST_OK);
    ck_assert_int_eq(settings_words(&s, "--files d.so", "HEDDLE_OPTS", &err), ST_OK);
    ck_assert_str_eq(v.files, "a.so,b.so,c.so,d.so");
    settings_pack(&s, packed, sizeof packed);
    ck_assert_int_eq(settings_defaults(&s, &err), ST_OK);
    ck_assert_str_eq(v.files, "");
    ck_assert_int_eq(settings_text(&s, packed, "launcher", &err), ST_OK);
    ck_assert_str_eq(v.files, "a.so,b.so,c.so,d.so");
    memset(long_one, 'x', sizeof long_one);
    long_one[sizeof long_one - 1] = 0;
    ck_assert_int_eq(settings_set(&s, "files", long_one, "here", &err), ST_INVALID_VALUE);
    ck_assert_str_eq(v.files, "a.so,b.so,c.so,d.so");
    ck_assert_int_eq(settings_set(&s, "files", "", "here", &err), ST_OK);
    ck_assert_str_eq(v.files, "");
}
END_TEST

START_TEST(test_refused)
{
    static const struct { const char *name, *value, *part; } bad[] = {
        {"flag", "maybe", "on or off"}, {"count", "101", "from -5 to 100"}, {"count", "-6", "from -5"}, {"count", "12x", "a number"},
        {"count", "", "a number"}, {"count", "99999999999999999999", "a number"}, {"room", "5X", "bytes"}, {"room", "9999999999G", "bytes"},
        {"room", "-1", "from 0"}, {"colour", "gree", "red|green|blue"}, {"colour", "", "one of"}, {"out_dir", "a\nb", "one line"},
        {"out-dri", "x", "did you mean 'out-dir'?"}, {"zzzzzz", "x", "config --show"},
    };
    struct values before = v;
    ck_assert_int_eq(settings_set(&s, bad[_i].name, bad[_i].value, "here", &err), ST_INVALID_VALUE);
    ck_assert_msg(strstr(err.text, bad[_i].part), "%s", err.text);
    ck_assert(strncmp(err.text, "here: ", 6) == 0);
    ck_assert(memcmp(&before, &v, sizeof v) == 0);
}
END_TEST

START_TEST(test_args)
{
    char *argv[] = {"--flag", "--count=7", "--colour", "red", "--out-dir=", "--unknown", "--count=8"};
    int at = 0;
    ck_assert_int_eq(settings_args(&s, 7, argv, &at, "command line", &err), ST_OK);
    ck_assert_int_eq(at, 5);                   /* left to the caller */
    ck_assert(v.flag && v.count == 7 && v.colour == 0);
    char *more[] = {"--no-flag", "--", "--count=9"};
    at = 0;
    ck_assert_int_eq(settings_args(&s, 3, more, &at, "command line", &err), ST_OK);
    ck_assert_int_eq(at, 2);
    ck_assert(!v.flag && v.count == 7);
    char *lacking[] = {"--count"};
    at = 0;
    ck_assert_int_eq(settings_args(&s, 1, lacking, &at, "command line", &err), ST_INVALID_VALUE);
    ck_assert_ptr_nonnull(strstr(err.text, "needs a value"));
}
END_TEST

START_TEST(test_words)
{
    ck_assert_int_eq(settings_words(&s, "  --count 9\t--out-dir='a b'\n--flag ", "HEDDLE_OPTS", &err), ST_OK);
    ck_assert(v.count == 9 && v.flag);
    ck_assert_str_eq(v.out_dir, "a b");
    ck_assert_str_eq(origins[0], "HEDDLE_OPTS");
    ck_assert_int_eq(settings_words(&s, "", "HEDDLE_OPTS", &err), ST_OK);
    ck_assert_int_eq(settings_words(&s, "--coutn=9", "HEDDLE_OPTS", &err), ST_INVALID_VALUE);
    ck_assert_ptr_nonnull(strstr(err.text, "did you mean 'count'?"));
    char many[2000] = "";
    for (int i = 0; i < 100; i++)
        strcat(many, "--flag ");
    ck_assert_int_eq(settings_words(&s, many, "HEDDLE_OPTS", &err), ST_INVALID_VALUE);
}
END_TEST

START_TEST(test_pack)
{
    ck_assert_uint_eq(settings_pack(&s, NULL, 0), 0);
    ck_assert_int_eq(settings_words(&s, "--count=-4 --room=3G --colour=blue --out-dir='x # y' --flag", "x", &err), ST_OK);
    char buf[1024];
    size_t n = settings_pack(&s, buf, sizeof buf);
    ck_assert_uint_eq(n, strlen(buf));
    ck_assert_uint_eq(settings_pack(&s, buf, 10), n);          /* cut, the same length */
    settings_pack(&s, buf, sizeof buf);
    struct values before = v;
    setup();
    ck_assert_int_eq(settings_text(&s, buf, "launcher", &err), ST_OK);
    ck_assert(before.count == v.count && before.room == v.room && before.colour == v.colour && before.flag == v.flag);
    ck_assert_str_eq(before.out_dir, v.out_dir);
}
END_TEST

/* Names with a dot are another room's, and kept as they were written. */
START_TEST(test_others)
{
    ck_assert_int_eq(settings_text(&s, "a.b = 3 MHz\na.b = \"4\"\n", "f.conf", &err), ST_OK);
    ck_assert_int_eq(settings_words(&s, "--a.c=x --flag --a.d 'y z'", "HEDDLE_OPTS", &err), ST_OK);
    ck_assert_uint_eq(others.n, 4);
    ck_assert_str_eq(others.at[0].value, "3 MHz");
    ck_assert_str_eq(others.at[1].origin, "f.conf:2");
    ck_assert_str_eq(others.at[3].name, "a.d");
    ck_assert_str_eq(others.at[3].value, "y z");
    char buf[1024];
    settings_pack(&s, buf, sizeof buf);
    ck_assert_ptr_nonnull(strstr(buf, "a.b = \"3 MHz\"\na.b = \"4\"\na.c = \"x\"\na.d = \"y z\"\n"));
    ck_assert_int_eq(settings_words(&s, "--a.e", "HEDDLE_OPTS", &err), ST_INVALID_VALUE);
    ck_assert_ptr_nonnull(strstr(err.text, "--a.e needs a value"));
    enum status st = ST_OK;
    for (int i = 0; i < KNOB_MORE_MAX && st == ST_OK; i++)
        st = settings_set(&s, "x.y", "1", "test", &err);
    ck_assert_int_eq(st, ST_INVALID_VALUE);
    s.more = NULL;
    ck_assert_int_eq(settings_set(&s, "x.y", "1", "test", &err), ST_INVALID_VALUE);
    s.more = &others;
}
END_TEST

START_TEST(test_print)
{
    char buf[64];
    ck_assert_str_eq(settings_print(&s, 2, buf, sizeof buf), "2M");
    v.room = 1000;
    ck_assert_str_eq(settings_print(&s, 2, buf, sizeof buf), "1000");
    v.room = 0;
    ck_assert_str_eq(settings_print(&s, 2, buf, sizeof buf), "0");
    ck_assert_str_eq(settings_print(&s, 3, buf, sizeof buf), "green");
}
END_TEST

START_TEST(test_distance)
{
    ck_assert_uint_eq(text_distance("", ""), 0);
    ck_assert_uint_eq(text_distance("abc", ""), 3);
    ck_assert_uint_eq(text_distance("gpu", "gup"), 1);
    ck_assert_uint_eq(text_distance("threads", "thread"), 1);
    ck_assert_uint_eq(text_distance("kitten", "sitting"), 3);
    char longer[200];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    ck_assert_uint_eq(text_distance(longer, "a"), 30);         /* looks at the first letters only */
}
END_TEST

START_TEST(test_run_table)
{
    static struct knob_set k;
    knobs_init(&k);
    ck_assert_int_eq(settings_defaults(&k.settings, &err), ST_OK);
    ck_assert_str_eq(k.values.gpu, "h100");
    for (size_t i = 0; i < k.settings.n; i++) {
        char buf[KNOB_TEXT_BYTES];
        ck_assert(k.settings.rows[i].help[0]);
        settings_print(&k.settings, i, buf, sizeof buf);
        ck_assert_str_eq(buf, k.settings.rows[i].standard);    /* defaults are written in their canonical form */
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(k.settings.rows[i].name, k.settings.rows[j].name);
    }
}
END_TEST

START_TEST(test_layers)
{
    static struct knob_set k;
    char dir[] = "/tmp/heddle-settings-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(chdir(dir), 0);
    FILE *f = fopen(KNOBS_CONF_FILE, "w");
    fputs("gpu = t4\ndevices = 2\n", f);
    fclose(f);
    setenv(KNOBS_ENV_OPTIONS, "--devices=4", 1);
    unsetenv(KNOBS_ENV_SETTINGS);
    knobs_init(&k);
    ck_assert_int_eq(knobs_library(&k, &err), ST_OK);
    ck_assert_str_eq(k.values.gpu, "t4");
    ck_assert_int_eq(k.values.devices, 4);
    ck_assert_str_eq(k.origins[KNOB_ID_gpu], "heddle.conf:1");
    ck_assert_str_eq(k.origins[KNOB_ID_devices], "HEDDLE_OPTS");
    setenv(KNOBS_ENV_SETTINGS, "gpu = \"a100\"\n", 1);         /* what the launcher resolved replaces the other layers */
    knobs_init(&k);
    ck_assert_int_eq(knobs_library(&k, &err), ST_OK);
    ck_assert_str_eq(k.values.gpu, "a100");
    ck_assert_int_eq(k.values.devices, 1);
    unlink(KNOBS_CONF_FILE);
    rmdir(dir);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settings");
    TCase *t = tcase_create("settings");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, test_defaults);
    tcase_add_test(t, test_text);
    tcase_add_test(t, test_list);
    tcase_add_loop_test(t, test_refused, 0, 14);
    tcase_add_test(t, test_args);
    tcase_add_test(t, test_words);
    tcase_add_test(t, test_pack);
    tcase_add_test(t, test_others);
    tcase_add_test(t, test_print);
    tcase_add_test(t, test_distance);
    tcase_add_test(t, test_run_table);
    tcase_add_test(t, test_layers);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
