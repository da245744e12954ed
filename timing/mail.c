#include "timing/mail.h"

#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

void mail_free(struct mail *m)
{
    free(m->items);
    free(m->spare);
    free(m->scratch);
    *m = (struct mail){.n = 0};
}

void mail_begin(struct mail *m)
{
    m->n = 0;
    m->least = UINT64_MAX;
    m->most = 0;
}

static bool grow(struct mail *m, size_t n)
{
    size_t room = m->room ? m->room : 256;
    while (room < n)
        room *= 2;
    struct mail_item *items = realloc(m->items, room * sizeof *items);
    if (items)
        m->items = items;
    struct mail_item *spare = realloc(m->spare, room * sizeof *spare);
    if (spare)
        m->spare = spare;
    if (items && spare)
        m->room = room;
    return items && spare;
}

static uint64_t time_of(const void *message) { return *(const uint64_t *)message; }

bool mail_add(struct mail *m, const void *run, size_t n, size_t bytes)
{
    if (!n)
        return true;
    if (m->n + n > m->room && !grow(m, m->n + n))
        return false;
    const char *at = run;
    for (size_t i = 0; i < n; i++, at += bytes)
        m->items[m->n++] = (struct mail_item){time_of(at), at};
    uint64_t first = time_of(run), last = time_of(at - bytes);
    m->least = first < m->least ? first : m->least;
    m->most = last > m->most ? last : m->most;
    return true;
}

/* One pass: by one digit of the times, stable. */
static void sort_digit(struct mail *m, unsigned shift, uint32_t digits)
{
    uint32_t count[DIGITS];
    memset(count, 0, digits * sizeof *count);
    for (size_t i = 0; i < m->n; i++)
        count[(m->items[i].time - m->least) >> shift & (DIGITS - 1)]++;
    for (uint32_t d = 0, at = 0; d < digits; d++) {
        uint32_t n = count[d];
        count[d] = at;
        at += n;
    }
    for (size_t i = 0; i < m->n; i++)
        m->spare[count[(m->items[i].time - m->least) >> shift & (DIGITS - 1)]++] = m->items[i];
    struct mail_item *sorted = m->spare;
    m->spare = m->items;
    m->items = sorted;
}

void mail_sort(struct mail *m)
{
    if (m->n < 2)
        return;
    uint64_t range = m->most - m->least;
    for (unsigned shift = 0; shift < 64 && range >> shift; shift += DIGIT_BITS)
        sort_digit(m, shift, range >> shift < DIGITS - 1 ? (uint32_t)(range >> shift) + 1 : DIGITS);
}

bool mail_merge(struct mail *m, void *at, size_t old, size_t n, size_t bytes, bool (*before)(const void *a, const void *b))
{
    char *a = at;
    if (!old || old == n || !before(a + old * bytes, a + (old - 1) * bytes))
        return true;
    size_t fresh = n - old;
    if (fresh * bytes > m->scratch_bytes) {
        void *more = realloc(m->scratch, fresh * bytes * 2);
        if (!more)
            return false;
        m->scratch = more;
        m->scratch_bytes = fresh * bytes * 2;
    }
    const char *b = m->scratch;
    memcpy(m->scratch, a + old * bytes, fresh * bytes);
    while (fresh) {                            /* from the back: the greater of both last ones */
        bool first_is_later = old && before(b + (fresh - 1) * bytes, a + (old - 1) * bytes);
        const char *from = first_is_later ? a + --old * bytes : b + --fresh * bytes;
        memcpy(a + (old + fresh) * bytes, from, bytes);
    }
    return true;
}
