/* x/COUNT FORMAT SIZE ADDRESS: memory, as gdb shows it. */
#include "runtime/cli/debug.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct shape { uint64_t count; char format; unsigned size; };

enum { MOST = 65536 };

/* "16xw" in any order of letters; what is missing stays as it was. False: complained. */
static bool read_shape(struct session *s, const char *text, struct shape *shape)
{
    char *letters;
    shape->count = 1;
    if (*text >= '0' && *text <= '9') {
        shape->count = strtoull(text, &letters, 10);
        text = letters;
    }
    for (; *text; text++) {
        const char *size = strchr("bhwg", *text);
        if (size)
            shape->size = 1u << (size - "bhwg");
        else if (strchr("xduotfcasi", *text))
            shape->format = *text;
        else
            break;
    }
    if (*text)
        complain(s, "x/%s: after the count come a format (x d u o t f c a s i) and a size (b h w g)", text);
    else if (!shape->count || shape->count > MOST)
        complain(s, "x shows 1 to %d things at a time", MOST);
    else
        return true;
    return false;
}

static void show_values(struct session *s, const char *at, struct shape shape)
{
    struct wire_answer a;
    if (ask(s, &a, "values at=%s count=%" PRIu64 " size=%u format=%c", at, shape.count, shape.size, shape.format)) {
        for (size_t i = 0; i < a.lines.n; i++) {
            char *values = strdup(wire_text(&a.lines.at[i], "values")), *rest = values, *value;
            tell("%s:", wire_text(&a.lines.at[i], "address"));
            while (values && (value = word_next(&rest)))
                tell("\t%s", value);
            tell("\n");
            free(values);
        }
        if (a.lines.n)
            s->examine_next = wire_number(&a.lines.at[0], "address", 0) + shape.count * shape.size;
    }
    wire_answer_free(&a);
}

/* Texts that end with a NUL, each at most a screen long. */
static void show_texts(struct session *s, const char *at, uint64_t count)
{
    enum { LONGEST = 200 };
    char next[32];
    for (uint64_t n = 0; n < count && !s->failed; n++) {
        struct wire_answer a;
        char text[LONGEST + 1];
        size_t used = 0;
        uint64_t address = 0;
        bool ended = false;
        /* Near the end of an allocation there are fewer bytes: one at a time is always right. */
        for (const char *from = at; used < LONGEST && !ended; from = next) {
            if (ask(s, &a, "read at=%s bytes=1", from) && a.lines.n) {
                address = address ? address : wire_number(&a.lines.at[0], "address", 0);
                text[used] = (char)strtoul(wire_text(&a.lines.at[0], "hex"), NULL, 16);
                ended = !text[used];
                used += !ended;
                snprintf(next, sizeof next, "0x%" PRIx64, address + used + ended);
            } else {
                ended = true;
            }
            wire_answer_free(&a);
        }
        if (s->failed)
            return;
        struct textbuf quoted = {0};
        text[used] = 0;
        wire_add_word(&quoted, text);
        tell(*quoted.at == '"' ? "0x%" PRIx64 ":\t%s\n" : "0x%" PRIx64 ":\t\"%s\"\n", address, quoted.at);
        textbuf_free(&quoted);
        s->examine_next = address + used + 1;
        at = next;
    }
}

static void show_instructions(struct session *s, const char *at, uint64_t count)
{
    struct wire_answer a;
    struct textbuf location = {0};
    bool address = *at >= '0' && *at <= '9';
    textbuf_add(&location, "%s%s", address ? "*" : "", at);
    if (ask(s, &a, "disassemble at=%s count=%" PRIu64, location.at, count)) {
        show_code(&a);
        if (a.lines.n)
            s->examine_next = wire_number(&a.lines.at[a.lines.n - 1], "pc", 0) + 1;
    }
    wire_answer_free(&a);
    textbuf_free(&location);
}

void command_examine(struct session *s, const char *word, char *args)
{
    struct shape shape = {.count = 1, .format = s->examine_format[0] ? s->examine_format[0] : 'x', .size = s->examine_size ? s->examine_size : 4};
    struct textbuf expanded = {0}, at = {0};
    (void)word;
    if (*args == '/') {
        char *text = word_next(&args) + 1;
        args = word_skip(args);
        if (!read_shape(s, text, &shape))
            return;
    }
    if (!*args && !s->examine_next) {
        complain(s, "x: which address?");
        return;
    }
    if (!need_program(s))
        return;
    if (*args)
        print_expand(s, args, &expanded);
    else
        textbuf_add(&expanded, "0x%" PRIx64, s->examine_next);
    wire_add_word(&at, expanded.at);
    s->examine_format[0] = shape.format;
    s->examine_size = shape.size;
    if (at.failed)
        complain(s, "no memory");
    else if (shape.format == 'i')
        show_instructions(s, at.at, shape.count);
    else if (shape.format == 's')
        show_texts(s, at.at, shape.count);
    else
        show_values(s, at.at, shape);
    textbuf_free(&expanded);
    textbuf_free(&at);
}
