/* Numbers, texts and blocks, one after the other, to whoever takes bytes and from whoever gives them. Little endian, as the hosts are that we run on.
 *
 * Failure sticks: after the first one putting does nothing and getting answers zeros, so that whoever uses them looks once, at the end. What was got must be
 * checked all the same before it counts or points at something: get_below does that for numbers. One thread at a time. */
#ifndef HEDDLE_BASE_BYTES_H
#define HEDDLE_BASE_BYTES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sink { bool (*write)(void *user, const void *p, size_t n); void *user; bool failed; };
struct source { bool (*read)(void *user, void *p, size_t n); void *user; bool failed; };    /* false: there are not n bytes */

static inline void put(struct sink *s, const void *p, size_t n)
{
    if (!s->failed && n && !s->write(s->user, p, n)) s->failed = true;
}
static inline void put_u8(struct sink *s, uint8_t v) { put(s, &v, sizeof v); }
static inline void put_u32(struct sink *s, uint32_t v) { put(s, &v, sizeof v); }
static inline void put_u64(struct sink *s, uint64_t v) { put(s, &v, sizeof v); }
static inline void put_text(struct sink *s, const char *text)    /* NULL as "" */
{
    size_t n = text ? strlen(text) : 0;
    put_u32(s, (uint32_t)n);
    put(s, text, n);
}

/* False, and p is all zeros: there were not so many. */
static inline bool get(struct source *s, void *p, size_t n)
{
    if (!s->failed && n && !s->read(s->user, p, n)) s->failed = true;
    if (s->failed && n) memset(p, 0, n);
    return !s->failed;
}
static inline uint8_t get_u8(struct source *s) { uint8_t v; get(s, &v, sizeof v); return v; }
static inline uint32_t get_u32(struct source *s) { uint32_t v; get(s, &v, sizeof v); return v; }
static inline uint64_t get_u64(struct source *s) { uint64_t v; get(s, &v, sizeof v); return v; }
/* A number below `limit`; anything else is a failure and comes out as 0. */
static inline uint32_t get_below(struct source *s, uint32_t limit)
{
    uint32_t v = get_u32(s);
    if (v < limit) return v;
    s->failed = true;
    return 0;
}
/* A text of fewer than n bytes with its end; "" after a failure. */
static inline void get_text(struct source *s, char *text, size_t n)
{
    uint32_t bytes = get_below(s, (uint32_t)n);
    get(s, text, bytes);
    text[bytes] = 0;
}
/* Passes over bytes that nobody wants. */
static inline void get_nothing(struct source *s, uint64_t n)
{
    char waste[256];
    for (; n && !s->failed; n -= n < sizeof waste ? n : sizeof waste) get(s, waste, n < sizeof waste ? (size_t)n : sizeof waste);
}

/* Bytes in memory as a source. */
struct bytes { const char *at; size_t n; };
static inline bool bytes_read(void *user, void *p, size_t n)
{
    struct bytes *b = (struct bytes *)user;
    if (n > b->n) return false;
    memcpy(p, b->at, n);
    b->at += n;
    b->n -= n;
    return true;
}
static inline struct source bytes_source(struct bytes *b) { return (struct source){ .read = bytes_read, .user = b }; }

#endif
