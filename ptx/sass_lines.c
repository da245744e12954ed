/* A reader of line programs (DWARF 2 to 4), as far as ptxas writes them. Nothing is read beyond the section, whatever it says. */
#include <string.h>

#include "ptx/sass_read.h"

struct cursor { const unsigned char *at, *end; bool bad; };

static uint8_t byte(struct cursor *c)
{
    if (c->at >= c->end) {
        c->bad = true;
        return 0;
    }
    return *c->at++;
}

static uint64_t number(struct cursor *c, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)byte(c) << (8 * i);
    return v;
}

static uint64_t leb(struct cursor *c, bool is_signed)
{
    uint64_t v = 0;
    unsigned shift = 0;
    for (uint8_t b = 128; b & 128 && !c->bad; shift += 7) {
        b = byte(c);
        v |= shift < 64 ? (uint64_t)(b & 127) << shift : 0;
        if (is_signed && !(b & 128) && b & 64 && shift + 7 < 64)
            v |= ~0ull << (shift + 7);
    }
    return v;
}

static void skip(struct cursor *c, uint64_t n)
{
    if (n > (uint64_t)(c->end - c->at))
        c->bad = true;
    else
        c->at += n;
}

struct machine {
    struct sass_bytes section, relocations;
    size_t step;
    uint8_t least, range, base, lengths[256];  /* of the header: bytes of the shortest instruction, line_range, opcode_base */
    int8_t line_base;
    uint64_t address;
    uint32_t line, symbol;
};

static uint32_t symbol_at(const struct machine *m, uint64_t offset)
{
    for (size_t at = 0; at + 16 <= m->relocations.n && m->step; at += m->step) {
        uint64_t pair[2];
        memcpy(pair, m->relocations.at + at, sizeof pair);
        if (pair[0] == offset)
            return (uint32_t)ELF64_R_SYM(pair[1]);
    }
    return 0;
}

static void extended(struct machine *m, struct cursor *c)
{
    uint64_t n = leb(c, false);
    const unsigned char *start = c->at;
    if (n == 0 || n > (uint64_t)(c->end - c->at)) {
        c->bad = true;
        return;
    }
    uint8_t op = byte(c);
    if (op == 1) {                             /* end of a sequence */
        m->address = 0;
        m->line = 1;
    } else if (op == 2 && n == 9) {            /* an address: a function's, by relocation */
        m->symbol = symbol_at(m, (uint64_t)(c->at - m->section.at));
        m->address = number(c, 8);
    }
    c->at = start + n;
}

/* One standard opcode; true when it makes a row. */
static bool standard(struct machine *m, struct cursor *c, uint8_t op)
{
    switch (op) {
    case 1:
        return true;
    case 2:
        m->address += leb(c, false) * m->least;
        return false;
    case 3:
        m->line += (uint32_t)leb(c, true);
        return false;
    case 8:
        m->address += (uint64_t)((255 - m->base) / m->range) * m->least;
        return false;
    case 9:
        m->address += number(c, 2);
        return false;
    default:
        for (unsigned i = 0; i < m->lengths[op]; i++)
            (void)leb(c, false);
        return false;
    }
}

static bool header(struct machine *m, struct cursor *c)
{
    unsigned version = (unsigned)number(c, 2);
    uint64_t bytes = number(c, 4);
    const unsigned char *start = c->at;
    if (version < 2 || version > 4)
        return false;
    m->least = byte(c);
    skip(c, version >= 4 ? 2 : 1);
    m->line_base = (int8_t)byte(c);
    m->range = byte(c);
    m->base = byte(c);
    for (unsigned i = 1; i < m->base; i++)
        m->lengths[i] = byte(c);
    if (c->bad || m->range == 0 || m->base == 0 || bytes > (uint64_t)(c->end - start))
        return false;
    c->at = start + bytes;
    return true;
}

bool sass_lines(struct sass_bytes program, struct sass_bytes relocations, size_t step, bool (*fn)(void *, const struct sass_row *), void *user)
{
    struct cursor all = {program.at, program.at + program.n, false};
    while (all.end - all.at >= 10) {
        struct machine m = {.section = program, .relocations = relocations, .step = step, .line = 1};
        uint64_t length = number(&all, 4);
        if (length > (uint64_t)(all.end - all.at))
            return false;
        struct cursor c = {all.at, all.at + length, false};
        all.at += length;
        if (!header(&m, &c))
            return false;
        while (c.at < c.end && !c.bad) {
            uint8_t op = byte(&c);
            bool row = true;
            if (op >= m.base) {
                m.address += (uint64_t)((op - m.base) / m.range) * m.least;
                m.line += (uint32_t)(m.line_base + (op - m.base) % m.range);
            } else if (op == 0) {
                extended(&m, &c);
                row = false;
            } else {
                row = standard(&m, &c, op);
            }
            if (row && !c.bad && !fn(user, &(struct sass_row){m.symbol, m.address, m.line}))
                return true;
        }
        if (c.bad)
            return false;
    }
    return true;
}
