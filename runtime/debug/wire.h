/* Lines of the protocol: what a request says, and answers and events under construction. See PROTOCOL.md. */
#ifndef HEDDLE_DEBUG_WIRE_H
#define HEDDLE_DEBUG_WIRE_H
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/textbuf.h"

enum { WIRE_WORDS = 64, WIRE_LINE = 65536 };

struct word { const char *key, *text; };                /* key NULL: a plain word */
struct request {
    uint64_t number;
    const char *verb;
    struct word words[WIRE_WORDS];
    unsigned n;
};
/* Takes a line apart, which is changed. False: *why says what is wrong with it; number is set where there is one. */
bool request_parse(struct request *out, char *line, const char **why);
const char *request_option(const struct request *q, const char *key);          /* NULL: not given */
const char *request_word(const struct request *q, unsigned i);                 /* the i-th plain word; NULL: there are fewer */
/* Numbers in C's notation. False: it is none, or too large. */
bool request_number(const char *text, uint64_t *out);
bool request_xyz(const char *text, uint32_t out[3]);       /* "1", "1,2", "1,2,3", parentheses allowed */

/* One answer or event: lines that begin with the same tag. */
struct out { struct textbuf text; char tag[24]; bool open; };
void out_line(struct out *o);                           /* the next keys go to a new line */
void out_str(struct out *o, const char *key, const char *value);
void out_u64(struct out *o, const char *key, uint64_t value);
void out_hex(struct out *o, const char *key, uint64_t value);
void out_xyz(struct out *o, const char *key, const uint32_t v[3]);
void out_fmt(struct out *o, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void out_end(struct out *o);                            /* closes an open line */

#endif
