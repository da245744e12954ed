/* Writes JSON. Commas and indentation are its business; the caller opens and closes in pairs and names the members of objects:
 *
 *     struct json j = json_to(&text);
 *     json_object(&j, NULL); json_u64(&j, "schema", 1); json_array(&j, "x"); json_real(&j, NULL, 0.5); json_end(&j); json_end(&j);
 *
 * Texts may hold any bytes: what is no UTF-8 becomes U+FFFD. Reals that JSON has not (infinite, not a number) become null. */
#ifndef HEDDLE_BASE_JSON_H
#define HEDDLE_BASE_JSON_H
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/textbuf.h"

enum { JSON_DEPTH = 32 };
struct json {
    struct textbuf *out;
    unsigned depth;
    bool array[JSON_DEPTH], any[JSON_DEPTH];      /* kind of each level; it has a member already */
};

struct json json_to(struct textbuf *out);
/* name: NULL inside an array and at the top. At most JSON_DEPTH - 1 levels. */
void json_object(struct json *j, const char *name);
void json_array(struct json *j, const char *name);
void json_end(struct json *j);
void json_text(struct json *j, const char *name, const char *value);      /* value NULL: null */
void json_u64(struct json *j, const char *name, uint64_t value);
void json_real(struct json *j, const char *name, double value);
void json_bool(struct json *j, const char *name, bool value);

#endif
