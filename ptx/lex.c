#include "ptx/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { IS_SPACE = 1, IS_WORD = 2, IS_START = 4, IS_DIGIT = 8 };    /* WORD: inside names; START: first letter of a name */
enum { L = IS_WORD | IS_START, D = IS_WORD | IS_DIGIT };
static const uint8_t class_of[256] = {
    [' '] = IS_SPACE, ['\t'] = IS_SPACE, ['\r'] = IS_SPACE, ['\n'] = IS_SPACE, ['\f'] = IS_SPACE, ['\v'] = IS_SPACE,
    ['_'] = L, ['$'] = L, ['%'] = IS_START,
    ['0'] = D, ['1'] = D, ['2'] = D, ['3'] = D, ['4'] = D, ['5'] = D, ['6'] = D, ['7'] = D, ['8'] = D,
    ['9'] = D,
    ['a'] = L, ['b'] = L, ['c'] = L, ['d'] = L, ['e'] = L, ['f'] = L, ['g'] = L, ['h'] = L, ['i'] = L,
    ['j'] = L, ['k'] = L, ['l'] = L, ['m'] = L, ['n'] = L, ['o'] = L, ['p'] = L, ['q'] = L, ['r'] = L,
    ['s'] = L, ['t'] = L, ['u'] = L, ['v'] = L, ['w'] = L, ['x'] = L, ['y'] = L, ['z'] = L,
    ['A'] = L, ['B'] = L, ['C'] = L, ['D'] = L, ['E'] = L, ['F'] = L, ['G'] = L, ['H'] = L, ['I'] = L,
    ['J'] = L, ['K'] = L, ['L'] = L, ['M'] = L, ['N'] = L, ['O'] = L, ['P'] = L, ['Q'] = L, ['R'] = L,
    ['S'] = L, ['T'] = L, ['U'] = L, ['V'] = L, ['W'] = L, ['X'] = L, ['Y'] = L, ['Z'] = L,
};

static unsigned class_at(const struct parser *p, size_t at)
{
    return at < p->end ? class_of[(unsigned char)p->text[at]] : 0;
}

static char char_at(const struct parser *p, size_t at) { return at < p->end ? p->text[at] : '\0'; }

/* ---- failing ------------------------------------------------------------------------------------- */

static bool fail_v(struct parser *p, size_t at, uint32_t line, const char *fmt, va_list ap)
{
    if (p->failed)
        return false;
    p->failed = true;
    p->status = ST_INVALID_PTX;
    p->t.kind = TOKEN_END;
    size_t unit_at = p->unit ? p->unit->text_at : 0;
    size_t from = at, to = at;
    while (from > unit_at && p->text[from - 1] != '\n')
        from--;
    while (to < p->m->text_bytes && p->text[to] != '\n' && p->text[to] != '\0')
        to++;
    char what[400], source[240], caret[240];
    vsnprintf(what, sizeof what, fmt, ap);
    size_t column = at - from, skip = column > 100 ? column - 100 : 0, n = 0;      /* long lines: the part around the caret */
    for (size_t i = from + skip; i < to && n < 200; i++, n++) {
        char c = p->text[i];
        source[n] = (char)(c >= ' ' && c <= '~' ? c : ' ');
    }
    source[n] = '\0';
    memset(caret, ' ', column - skip);
    caret[column - skip] = '\0';
    error_set(p->err, ST_INVALID_PTX, "%s:%u:%zu: %s\n    %s\n    %s^", p->unit ? p->unit->name : p->m->name, line, column + 1, what, source, caret);
    return false;
}

bool parser_fail_at(struct parser *p, size_t at, uint32_t line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail_v(p, at, line, fmt, ap);
    va_end(ap);
    return false;
}

bool parser_fail(struct parser *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail_v(p, p->t.at, p->token_line, fmt, ap);
    va_end(ap);
    return false;
}

bool parser_no_memory(struct parser *p)
{
    if (!p->failed) {
        p->failed = true;
        p->status = ST_OUT_OF_MEMORY;
        p->t.kind = TOKEN_END;
        error_set(p->err, ST_OUT_OF_MEMORY, "%s: no memory for the module", p->m->name);
    }
    return false;
}

/* ---- blanks ---------------------------------------------------------------------------------------- */

/* True when only blanks stand between the start of the line and at: then '#' starts a line marker, which is a comment. */
static bool starts_line(const struct parser *p, size_t at)
{
    while (at > 0 && p->text[at - 1] != '\n') {
        if (!(class_of[(unsigned char)p->text[at - 1]] & IS_SPACE))
            return false;
        at--;
    }
    return true;
}

static void skip_line(struct parser *p)
{
    const char *nl = memchr(p->text + p->at, '\n', p->end - p->at);
    p->at = nl ? (size_t)(nl - p->text) : p->end;
}

static void skip_blanks(struct parser *p)
{
    while (p->at < p->end) {
        char c = p->text[p->at];
        if (c == '\n') {
            p->line++;
            p->line_at = ++p->at;
        } else if (class_of[(unsigned char)c] & IS_SPACE) {
            p->at++;
        } else if (c == '/' && char_at(p, p->at + 1) == '/') {
            skip_line(p);
        } else if (c == '/' && char_at(p, p->at + 1) == '*') {
            const char *from = p->text + p->at, *close = memmem(from + 2, p->end - p->at - 2, "*/", 2);
            if (!close) {
                parser_fail_at(p, p->at, p->line, "comment is not closed");
                p->at = p->end;
                return;
            }
            const char *nl = memrchr(from, '\n', (size_t)(close - from));
            p->line += text_count_lines(from, (size_t)(close - from));
            p->line_at = nl ? (size_t)(nl - p->text) + 1 : p->line_at;
            p->at = (size_t)(close - p->text) + 2;
        } else if (c == '#' && starts_line(p, p->at)) {
            skip_line(p);
        } else {
            return;
        }
    }
}

int parser_peek_char(struct parser *p)
{
    skip_blanks(p);
    return p->at < p->end ? (unsigned char)p->text[p->at] : -1;
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX: the bits of a float. */
static void lex_float_bits(struct parser *p, bool wide)
{
    size_t digits = wide ? 16 : 8;
    p->at += 2;
    for (size_t i = 0; i < digits; i++) {
        int d = digit_of(char_at(p, p->at));
        if (d > 15) {
            parser_fail_at(p, p->t.at, p->line, "a 0%c number has %zu hexadecimal digits", wide ? 'd' : 'f', digits);
            return;
        }
        p->t.bits = p->t.bits << 4 | (uint64_t)d;
        p->at++;
    }
    p->t.kind = wide ? TOKEN_F64 : TOKEN_F32;
}

/* Digits '.' digits exponent. Decimal numbers are doubles; strtod reads a copy, for the text may end right behind. */
static void lex_decimal_float(struct parser *p)
{
    char buf[128];
    size_t n = 0;
    for (size_t at = p->t.at; n < sizeof buf - 1; at++, n++) {
        char c = char_at(p, at);
        bool sign = (c == '+' || c == '-') && n > 0 && (buf[n - 1] == 'e' || buf[n - 1] == 'E');
        if (!(class_at(p, at) & IS_DIGIT) && c != '.' && c != 'e' && c != 'E' && !sign)
            break;
        buf[n] = c;
    }
    buf[n] = '\0';
    char *stop;
    double d = strtod(buf, &stop);
    memcpy(&p->t.bits, &d, sizeof d);
    p->at = p->t.at + (size_t)(stop - buf);
    p->t.kind = TOKEN_F64;
}

static bool starts_exponent(const struct parser *p, size_t at)
{
    char sign = char_at(p, at + 1);
    return (char_at(p, at) | 0x20) == 'e' && (class_at(p, at + 1) & IS_DIGIT || sign == '-' || sign == '+');
}

static void lex_number(struct parser *p)
{
    char c1 = (char)(char_at(p, p->at + 1) | 0x20);
    unsigned base = 10;
    if (char_at(p, p->at) == '0') {
        if (c1 == 'f' || c1 == 'd') {
            lex_float_bits(p, c1 == 'd');
            return;
        }
        base = c1 == 'x' ? 16 : c1 == 'b' ? 2 : 8;
        p->at += base == 8 ? 0 : 2;
    }
    bool overflow = false;
    size_t from = p->at;
    int d;
    while ((d = digit_of(char_at(p, p->at))) < (base == 16 ? 16 : 10)) {
        if ((unsigned)d >= base && base != 8)
            break;
        overflow |= p->t.bits > (UINT64_MAX - (uint64_t)d) / base;
        p->t.bits = p->t.bits * base + (uint64_t)d;
        p->at++;
    }
    char c = char_at(p, p->at);
    bool fraction = c == '.' && (!(class_at(p, p->at + 1) & IS_START) || starts_exponent(p, p->at + 1));
    if ((base == 10 || base == 8) && (fraction || starts_exponent(p, p->at))) {
        lex_decimal_float(p);
        return;
    }
    p->t.kind = TOKEN_INT;
    if (from == p->at)
        parser_fail_at(p, p->t.at, p->line, "number without digits");
    else if (overflow)
        parser_fail_at(p, p->t.at, p->line, "number does not fit into 64 bits");
    if (c == 'U' || c == 'u') {
        p->t.is_unsigned = true;
        p->at++;
    }
    if (class_at(p, p->at) & IS_WORD)
        parser_fail_at(p, p->at, p->line, "letter or digit '%c' inside a number", p->text[p->at]);
    if (p->t.bits > INT64_MAX)
        p->t.is_unsigned = true;
}

/* ---- words and the rest ----------------------------------------------------------------------------- */

/* A word after a dot; it may hold "::" (shared::cta). */
static void lex_dot(struct parser *p)
{
    size_t at = p->at + 1;
    p->t.kind = TOKEN_DOT;
    p->t.at = at;
    while (class_at(p, at) & IS_WORD || (char_at(p, at) == ':' && char_at(p, at + 1) == ':' && class_at(p, at + 2) & IS_WORD))
        at += char_at(p, at) == ':' ? 2 : 1;
    p->t.len = (uint32_t)(at - p->t.at);
    p->at = at;
    if (p->t.len == 0)
        parser_fail_at(p, p->t.at - 1, p->line, "'.' without a word");
}

static void lex_string(struct parser *p)
{
    size_t at = p->at + 1;
    while (at < p->end && p->text[at] != '"' && p->text[at] != '\n')
        at += p->text[at] == '\\' ? 2 : 1;
    if (at >= p->end || p->text[at] != '"') {
        parser_fail_at(p, p->at, p->line, "string is not closed");
        return;
    }
    p->t.kind = TOKEN_STRING;
    p->t.at = p->at + 1;
    p->t.len = (uint32_t)(at - p->t.at);
    p->at = at + 1;
}

static void lex_punct(struct parser *p)
{
    static const char pairs[] = "<<>><=>===!=&&||";
    char c = p->text[p->at], d = char_at(p, p->at + 1);
    p->t.kind = TOKEN_PUNCT;
    p->t.punct = (unsigned char)c;
    p->t.len = 1;
    for (size_t i = 0; pairs[i]; i += 2)
        if (c == pairs[i] && d == pairs[i + 1]) {
            p->t.punct = (uint16_t)((unsigned char)c << 8 | (unsigned char)d);
            p->t.len = 2;
        }
    p->at += p->t.len;
    if (!strchr("{}()[]<>=!&|+-*/%^~?:;,@", c))
        parser_fail_at(p, p->t.at, p->line, "unexpected character '%c'", c >= ' ' && c <= '~' ? c : '?');
}

void parser_next(struct parser *p)
{
    p->t = (struct token){ .kind = TOKEN_END, .at = p->at };
    if (p->failed)
        return;
    skip_blanks(p);
    p->t.at = p->at;
    p->token_line = p->line;
    p->token_line_at = p->line_at;
    if (p->at >= p->end || p->failed)
        return;
    unsigned c = class_of[(unsigned char)p->text[p->at]];
    if (c & IS_START && !(p->text[p->at] == '%' && !(class_at(p, p->at + 1) & IS_WORD))) {
        size_t at = p->at + 1;
        while (class_at(p, at) & IS_WORD)
            at++;
        p->t.kind = TOKEN_IDENT;
        p->t.len = (uint32_t)(at - p->at);
        p->at = at;
    } else if (c & IS_DIGIT) {
        lex_number(p);
        p->t.len = (uint32_t)(p->at - p->t.at);
    } else if (p->text[p->at] == '.') {
        lex_dot(p);
    } else if (p->text[p->at] == '"') {
        lex_string(p);
    } else {
        lex_punct(p);
    }
    if (p->failed)
        p->t.kind = TOKEN_END;
}

bool parser_dot_to_number(struct parser *p)
{
    if (p->t.kind != TOKEN_DOT || !(class_at(p, p->t.at) & IS_DIGIT))
        return false;
    p->line = p->token_line;
    p->t.at--;
    lex_decimal_float(p);
    p->t.len = (uint32_t)(p->at - p->t.at);
    return true;
}

void parser_start(struct parser *p, struct ptx_module *m, struct ptx_unit *unit, size_t at, size_t end, uint32_t line, struct error *err)
{
    *p = (struct parser){ .m = m, .text = m->text, .end = end, .at = at, .line = line, .unit = unit, .err = err };
    const char *nl = memrchr(p->text + unit->text_at, '\n', at - unit->text_at);
    p->line_at = nl ? (size_t)(nl - p->text) + 1 : unit->text_at;
    parser_next(p);
}

static bool token_text(const struct parser *p, const char *word)
{
    size_t n = strlen(word);
    return p->t.len == n && memcmp(p->text + p->t.at, word, n) == 0;
}

bool token_is(const struct parser *p, const char *word) { return p->t.kind == TOKEN_IDENT && token_text(p, word); }
bool token_dot(const struct parser *p, const char *word) { return p->t.kind == TOKEN_DOT && token_text(p, word); }
bool token_punct(const struct parser *p, unsigned c) { return p->t.kind == TOKEN_PUNCT && p->t.punct == c; }

bool parser_take(struct parser *p, unsigned c)
{
    if (!token_punct(p, c))
        return false;
    parser_next(p);
    return true;
}

bool parser_expect(struct parser *p, unsigned c)
{
    if (parser_take(p, c))
        return true;
    if (p->t.kind == TOKEN_END)
        return parser_fail(p, "'%c' expected, but the text ends", (int)c);
    return parser_fail(p, "'%c' expected before '%.*s'", (int)c, (int)(p->t.len > 60 ? 60 : p->t.len), p->text + p->t.at);
}

/* ---- scanning over bodies --------------------------------------------------------------------------- */

uint32_t text_count_lines(const char *s, size_t n)
{
    uint32_t lines = 0;
    size_t i = 0;
#ifdef __SSE2__
    const __m128i nl = _mm_set1_epi8('\n');
    while (i + 16 <= n) {                          /* a byte counts to 255: then the sixteen are added up */
        __m128i sum = _mm_setzero_si128();
        for (int k = 0; k < 255 && i + 16 <= n; k++, i += 16)
            sum = _mm_sub_epi8(sum, _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(s + i)), nl));
        sum = _mm_sad_epu8(sum, _mm_setzero_si128());
        lines += (uint32_t)(_mm_cvtsi128_si32(sum) + _mm_extract_epi16(sum, 4));
    }
#endif
    for (; i < n; i++)
        lines += s[i] == '\n';
    return lines;
}

/* Index of the next '{', '}', '"' or '/' from at, or end. */
static size_t find_mark(const char *s, size_t at, size_t end)
{
#ifdef __SSE2__
    const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}'), quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('/');
    for (; at + 16 <= end; at += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(s + at));
        __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, open), _mm_cmpeq_epi8(v, close)),
                                   _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)));
        unsigned bits = (unsigned)_mm_movemask_epi8(hit);
        if (bits)
            return at + (size_t)__builtin_ctz(bits);
    }
#endif
    while (at < end && s[at] != '{' && s[at] != '}' && s[at] != '"' && s[at] != '/')
        at++;
    return at;
}

bool parser_skip_braces(struct parser *p, size_t *close_at)
{
    const char *s = p->text;
    size_t at = p->at, from = at;
    for (unsigned depth = 1;;) {
        at = find_mark(s, at, p->end);
        if (at >= p->end)
            return false;
        char c = s[at++];
        if (c == '{') {
            depth++;
        } else if (c == '}') {
            if (--depth == 0)
                break;
        } else if (c == '/' && char_at(p, at) == '/') {
            const char *nl = memchr(s + at, '\n', p->end - at);
            at = nl ? (size_t)(nl - s) : p->end;
        } else if (c == '/' && char_at(p, at) == '*') {
            const char *end = memmem(s + at + 1, p->end - at - 1, "*/", 2);
            at = end ? (size_t)(end - s) + 2 : p->end;
        } else if (c == '"') {
            while (at < p->end && s[at] != '"' && s[at] != '\n')
                at += s[at] == '\\' && at + 1 < p->end ? 2 : 1;
            at += at < p->end;
        }
    }
    *close_at = at - 1;
    const char *nl = memrchr(s + from, '\n', at - from);
    p->line += text_count_lines(s + from, at - from);
    p->line_at = nl ? (size_t)(nl - s) + 1 : p->line_at;
    p->at = at;
    return true;
}
