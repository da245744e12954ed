/* Device printf. The compiler packs the arguments into memory with natural alignment, promoted as C does (float to double, small
 * integers to int); at most 32 of them count, and a conversion behind the 32nd comes out as it is written. */
#include <stdio.h>
#include <string.h>

#include "emu/builtin.h"
#include "emu/mem.h"

enum { ARGS_MAX = 32, WIDTH_MAX = 1 << 16 };

struct printer {
    struct ctx *c;
    struct warp *w;
    uint32_t lane;
    uint64_t at;                               /* the next argument */
    int32_t taken;
    bool torn;                                 /* arguments or a string are not in memory */
    uint64_t bad;                              /* the address that is not */
    struct text out;
};

/* The next argument of 4 or 8 bytes. */
static uint64_t take(struct printer *p, unsigned bytes)
{
    uint64_t room, x = 0;
    p->at = (p->at + bytes - 1) & ~(uint64_t)(bytes - 1);
    const char *from = mem_at(p->w, p->c, p->lane, p->at, false, &room);
    if (from && room >= bytes) {
        memcpy(&x, from, bytes);
    } else if (!p->torn) {
        p->torn = true;
        p->bad = p->at;
    }
    p->at += bytes;
    p->taken++;
    return x;
}

/* One conversion as it stands in the format. */
struct spec { const char *start; size_t n; char flags[8]; int width, precision /* -1: none */; bool wide; char conversion; unsigned stars; };

static int number(const char **s)
{
    int x = 0;
    for (; **s >= '0' && **s <= '9'; (*s)++)
        x = x < WIDTH_MAX ? x * 10 + (**s - '0') : WIDTH_MAX;
    return x;
}

/* s points at '%'. False: not a conversion that there is. */
static bool parse(const char *s, struct spec *q, bool star[2])
{
    size_t n_flags = 0;
    *q = (struct spec){ .start = s++, .precision = -1 };
    star[0] = star[1] = false;
    for (; *s && strchr("-+ #0", *s); s++)
        if (n_flags < sizeof q->flags - 1 && !strchr(q->flags, *s))
            q->flags[n_flags++] = *s;
    if (*s == '*') {
        star[0] = true;
        s++;
    } else {
        q->width = number(&s);
    }
    if (*s == '.') {
        s++;
        star[1] = *s == '*';
        q->precision = star[1] ? (s++, 0) : number(&s);
    }
    for (; *s && strchr("hlLqjzt", *s); s++)   /* h and hh change nothing that was not promoted already, but for the value's width: see print_integer */
        q->wide |= strchr("lqjzt", *s) != NULL;
    q->conversion = *s;
    q->n = (size_t)(s - q->start) + (*s != 0);
    q->stars = (unsigned)star[0] + star[1];
    return *s && strchr("diuoxXcspfFeEgGaA", *s);
}

/* 'h' or "hh" among the length letters: the value is cut to 16 or 8 bits. */
static unsigned short_bits(const struct spec *q)
{
    unsigned h = 0;
    for (size_t i = 0; i < q->n; i++)
        h += q->start[i] == 'h';
    return h == 0 ? 0 : h == 1 ? 16 : 8;
}

/* Formats one value with the host's printf: "%<flags>*.*<letters>", made here from checked parts. A negative width means '-' to printf, and a
 * negative precision none. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#define PRINT(p, q, letters, value)                                                                          \
    do {                                                                                                     \
        char format_[32], small_[256];                                                                       \
        snprintf(format_, sizeof format_, "%%%s*.*%s", (q)->flags, letters);                                 \
        int n_ = snprintf(small_, sizeof small_, format_, (q)->width, (q)->precision, value);                \
        if (n_ >= 0 && (size_t)n_ < sizeof small_)                                                           \
            text_add(&(p)->out, small_, (size_t)n_);                                                         \
        else if (n_ > 0 && text_room(&(p)->out, (size_t)n_ + 1))                                             \
            (p)->out.n += (size_t)snprintf((p)->out.at + (p)->out.n, (size_t)n_ + 1, format_, (q)->width, (q)->precision, value); \
    } while (0)

static void print_integer(struct printer *p, const struct spec *q)
{
    unsigned cut = short_bits(q);
    bool is_signed = q->conversion == 'd' || q->conversion == 'i';
    uint64_t x = take(p, q->wide ? 8 : 4);
    unsigned bits = q->wide ? 64 : cut ? cut : 32;
    x <<= 64 - bits;
    long long value = is_signed ? (long long)x >> (64 - bits) : (long long)(x >> (64 - bits));
    char letters[4] = { 'l', 'l', q->conversion, 0 };
    PRINT(p, q, letters, value);
}

static void print_float(struct printer *p, const struct spec *q)
{
    uint64_t bits = take(p, 8);
    double value;
    memcpy(&value, &bits, 8);
    char letters[2] = { q->conversion, 0 };
    PRINT(p, q, letters, value);
}

static void print_string(struct printer *p, const struct spec *q)
{
    uint64_t address = take(p, 8);
    struct text s = { 0 };
    if (!address) {
        text_add(&s, "(null)", 6);
    } else if (!builtin_string(p->c, p->w, p->lane, address, &s) && !p->torn) {
        p->torn = true;
        p->bad = address;
    }
    text_add(&s, "", 1);
    if (s.at)
        PRINT(p, q, "s", s.at);
    text_free(&s);
}

static void print_one(struct printer *p, struct spec *q, const bool star[2])
{
    if (star[0])
        q->width = (int32_t)take(p, 4);
    if (star[1])
        q->precision = (int32_t)take(p, 4);
    q->width = q->width > WIDTH_MAX ? WIDTH_MAX : q->width < -WIDTH_MAX ? -WIDTH_MAX : q->width;
    q->precision = q->precision > WIDTH_MAX ? WIDTH_MAX : q->precision;
    if (strchr("diuoxX", q->conversion)) {
        print_integer(p, q);
    } else if (q->conversion == 'c') {
        int value = (uint8_t)take(p, 4);
        q->precision = -1;
        PRINT(p, q, "c", value);
    } else if (q->conversion == 's') {
        print_string(p, q);
    } else if (q->conversion == 'p') {
        void *value = (void *)(uintptr_t)take(p, 8);
        q->precision = -1;
        PRINT(p, q, "p", value);
    } else {
        print_float(p, q);
    }
}
#pragma GCC diagnostic pop

static void print_all(struct printer *p, const char *s)
{
    while (*s) {
        size_t plain = strcspn(s, "%");
        text_add(&p->out, s, plain);
        s += plain;
        if (!*s)
            return;
        struct spec q;
        bool star[2];
        if (s[1] == '%') {
            text_add(&p->out, "%", 1);
            s += 2;
        } else if (!parse(s, &q, star) || p->taken + (int32_t)q.stars + 1 > ARGS_MAX) {
            text_add(&p->out, s, q.n);
            s += q.n;
        } else {
            print_one(p, &q, star);
            s += q.n;
        }
    }
}

enum status builtin_vprintf(struct ctx *c, struct warp *w, const struct insn *in, uint32_t lane, uint64_t format, uint64_t args, int32_t *result)
{
    const struct emu_host *host = &c->grid->launch.host;
    struct printer p = { .c = c, .w = w, .lane = lane, .at = args };
    struct text f = { 0 };
    *result = -1;
    if (!format)
        return ST_OK;
    bool readable = builtin_string(c, w, lane, format, &f);
    text_add(&f, "", 1);
    if (readable && f.at)
        print_all(&p, f.at);
    text_free(&f);
    if (readable && !p.torn) {
        if (host->output && p.out.n)
            host->output(host->user, p.out.at, p.out.n);
        *result = p.taken;
        text_free(&p.out);
        return ST_OK;
    }
    text_free(&p.out);
    insn_fault(in, w, c, lane, ST_ILLEGAL_ADDRESS, "printf reads its %s at 0x%llx, which is not in any allocation", readable ? "arguments" : "format",
               (unsigned long long)(readable ? p.bad : format));
    return ST_ILLEGAL_ADDRESS;
}
