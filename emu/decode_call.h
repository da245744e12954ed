/* What the files that decode calls share. */
#ifndef HEDDLE_EMU_DECODE_CALL_H
#define HEDDLE_EMU_DECODE_CALL_H
#include "emu/decoder.h"

enum { WORD_ROW = 4 * WARP_SIZE };

struct call_parts {                            /* of a call instruction */
    const struct ptx_operand *returns, *callee, *params;
    const struct ptx_function *function;       /* NULL: through a register */
    const struct ptx_proto *proto;
};

/* The type of an element of one list. */
enum ptx_type decode_call_type(const struct decoder *d, const struct call_parts *call, const struct ptx_operand *o, unsigned i, bool returns);
bool decode_is_builtin(const struct call_parts *call);
/* Built-in functions see a parameter block with natural alignment; among our own functions every parameter starts at the next word. n, or one more, for
 * a value of that many bytes. */
unsigned decode_call_align(struct decoder *d, const struct call_parts *call, unsigned n, unsigned bytes, uint32_t *rows);
/* How a function without a body is called; fills site. */
handler decode_host_call(struct decoder *d, const struct call_parts *call, struct call_site *site);
/* The record of such a function itself, for calls by address; its ret follows. */
enum status decode_host_body(struct decoder *d);

void call_copy_lanes(char *to, const char *from, uint32_t mask);       /* of a row of words */

#endif
