/* Source files that line tables name: found as written, beside the program, or in folders the user gave. */
#ifndef HEDDLE_CLI_DEBUG_SOURCE_H
#define HEDDLE_CLI_DEBUG_SOURCE_H
#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/vec.h"

struct source_file { char *name; char *text; VEC(const char *) lines; };   /* text NULL: it was not found */
struct sources { VEC(struct source_file) files; VEC(char *) folders; };

/* NULL: no such file. Lines count from 1; source_line gives NULL behind the end. */
const struct source_file *source_open(struct sources *s, const char *name);
const char *source_line(const struct source_file *f, size_t line);
void source_folder(struct sources *s, const char *folder);
/* Where `name` is found: the path, in out. False: nowhere. */
bool source_find(const struct sources *s, const char *name, char *out, size_t n);
void sources_free(struct sources *s);

#endif
