/* DWARF sections of a PTX text, as bytes with the names that stand in place of addresses, and the entries in them. Errors: what is malformed reads as the end. */
#ifndef HEDDLE_DEBUG_DWARF_READ_H
#define HEDDLE_DEBUG_DWARF_READ_H
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/vec.h"

enum {
    TAG_ARRAY = 0x01, TAG_CLASS = 0x02, TAG_ENUM = 0x04, TAG_PARAMETER = 0x05, TAG_BLOCK = 0x0b, TAG_MEMBER = 0x0d, TAG_POINTER = 0x0f, TAG_REFERENCE = 0x10, TAG_STRUCT = 0x13,
    TAG_TYPEDEF = 0x16, TAG_UNION = 0x17, TAG_INHERITANCE = 0x1c, TAG_SUBRANGE = 0x21, TAG_BASE = 0x24, TAG_CONST = 0x26, TAG_FUNCTION = 0x2e, TAG_VARIABLE = 0x34, TAG_VOLATILE = 0x35,
    OP_ADDR = 0x03, OP_PLUS = 0x23, OP_REGX = 0x90,
    ENCODING_FLOAT = 4, ENCODING_SIGNED = 5, ENCODING_SIGNED_CHAR = 6, ENCODING_BOOL = 2 };

struct fixup { uint32_t at; const char *name; };
struct section { VEC(uint8_t) bytes; VEC(struct fixup) names; };
struct abbrev;
struct dwarf_sections { struct arena arena; struct section info, abbrevs, loc; VEC(struct abbrev) table; };
/* False: the text has none, or they are not understood. To be freed either way. */
bool dwarf_sections_read(struct dwarf_sections *d, const char *at, size_t bytes);
void dwarf_sections_free(struct dwarf_sections *d);

struct cursor { const uint8_t *p; uint32_t n, at; bool bad; };
struct cursor dwarf_cursor_at(const struct section *s, uint32_t at);
uint64_t dwarf_take(struct cursor *c, unsigned bytes);
uint64_t dwarf_uleb(struct cursor *c);
const char *dwarf_name_at(const struct section *s, uint32_t at);       /* NULL: a number stands there */

struct die {
    uint32_t tag, next;                        /* tag 0: the end of children; next: behind it */
    bool children;
    const char *name, *linkage, *low, *high;
    uint32_t type, bytes, encoding, expr, expr_bytes, list;
    uint64_t count; bool has_count;
    uint32_t offset;                           /* of a member */
};
bool dwarf_die(struct dwarf_sections *d, uint32_t at, struct die *out);       /* false: there is none */

#endif
