/* Settings: a table of knobs, the struct that holds their values, and where each value came from.
 *
 * A room lists its knobs in a .def file, one row each:
 *     KNOB(name, TYPE, default, unit, min, max, help)
 * and derives a struct of values (KNOB_FIELD_TYPE name;) and a table of rows (KNOB_ROW). Names have underscores in C and dashes
 * for the user: log_file is --log-file on the command line and `log-file = x` in a file. runtime/knobs.h shows it.
 *
 * Types:  BOOL    bool      on/off, true/false, yes/no, 1/0; as an option without a value: on
 *         INT     int64_t   decimal or 0x; min..max
 *         BYTES   uint64_t  as INT with K, M, G (powers of 1024) behind it
 *         CHOICE  int       index into the words of `unit`: "error|warn|info|debug"
 *         TEXT    char[KNOB_TEXT_BYTES]
 *         LIST    the same; another value is added behind a comma instead of taking its place, an empty one empties the list
 *
 * Layers, each overriding those before: defaults, ./heddle.conf, environment HEDDLE_OPTS, command line.
 * Not thread-safe; set once at start, then read only. No allocation, no ownership. */
#ifndef HEDDLE_BASE_SETTINGS_H
#define HEDDLE_BASE_SETTINGS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

enum { KNOB_TEXT_BYTES = 512, KNOB_ORIGIN_BYTES = 96 };
typedef bool KNOB_FIELD_BOOL;
typedef int64_t KNOB_FIELD_INT;
typedef uint64_t KNOB_FIELD_BYTES;
typedef int KNOB_FIELD_CHOICE;
typedef char KNOB_FIELD_TEXT[KNOB_TEXT_BYTES];
typedef KNOB_FIELD_TEXT KNOB_FIELD_LIST;

enum knob_type { KNOB_TYPE_BOOL, KNOB_TYPE_INT, KNOB_TYPE_BYTES, KNOB_TYPE_CHOICE, KNOB_TYPE_TEXT, KNOB_TYPE_LIST };

struct knob {
    const char *name;              /* with underscores */
    enum knob_type type;
    const char *standard;          /* default, as the user would write it */
    const char *unit;              /* "" when it has none; CHOICE: the words */
    int64_t min, max;              /* INT, BYTES */
    const char *help;
    size_t offset;                 /* of the value in the struct */
};
#define KNOB_ROW(strct, name, type, standard, unit, min, max, help) \
    {#name, KNOB_TYPE_##type, standard, unit, min, max, help, offsetof(strct, name)},

/* Settings with a dot in their name belong to another room. They are kept as they were written, in order, for that room to judge. */
enum { KNOB_MORE_MAX = 64 };
struct settings_more {
    size_t n;
    struct { char name[64], value[192], origin[KNOB_ORIGIN_BYTES]; } at[KNOB_MORE_MAX];
};

struct settings {
    const struct knob *rows;
    size_t n;
    void *values;                  /* the derived struct */
    char (*origins)[KNOB_ORIGIN_BYTES];    /* n of them: "default", "heddle.conf:3", "HEDDLE_OPTS", "command line" */
    struct settings_more *more;    /* NULL: a dotted name is unknown like any other */
};

/* Gives every value its default. ST_INVALID_VALUE when a row of the table is wrong. */
enum status settings_defaults(struct settings *s, struct error *err) MUST_CHECK;

/* Sets one by name (dashes or underscores). The message of an unknown name suggests the nearest one. */
enum status settings_set(struct settings *s, const char *name, const char *value, const char *origin, struct error *err) MUST_CHECK;

/* Lines `name = value`; # starts a comment; value may stand in double quotes. Stops at the first error. */
enum status settings_text(struct settings *s, const char *text, const char *file, struct error *err) MUST_CHECK;
/* The same from a file; one that does not exist is no error, *found says so (may be NULL). */
enum status settings_file(struct settings *s, const char *path, bool *found, struct error *err) MUST_CHECK;

/* Options from argv[*at] on: --name=value, --name value, --name and --no-name for BOOL. Stops at the first word that is no
 * knob's option (*at says where) or behind "--". An option that no knob has is left to the caller, at *at. */
enum status settings_args(struct settings *s, int argc, char *const *argv, int *at, const char *origin, struct error *err) MUST_CHECK;
/* One string of options, words separated by blanks, quotes " and ' as in a shell (HEDDLE_OPTS). */
enum status settings_words(struct settings *s, const char *words, const char *origin, struct error *err) MUST_CHECK;

/* The value as the user would write it. Returns buf, always NUL-terminated. */
char *settings_print(const struct settings *s, size_t row, char *buf, size_t n);
/* Lines for settings_text that bring another process's settings to the same state: those that are not default. Returns the
 * length, which may be >= n (then it was cut). */
size_t settings_pack(const struct settings *s, char *buf, size_t n);

/* Index of a row, -1 when there is none. */
int settings_find(const struct settings *s, const char *name);
/* The row whose name is closest to a mistyped one, -1 when none is near. */
int settings_nearest(const struct settings *s, const char *name);
/* How many letters must be inserted, deleted, replaced or swapped; for other suggestions (verbs, topics). */
unsigned text_distance(const char *a, const char *b);
/* Writes name with dashes. Returns buf. */
char *knob_option(const struct knob *k, char *buf, size_t n);

#endif
