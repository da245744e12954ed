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
    struct message *items = realloc(m->items, room * sizeof *items);
    if (items)
        m->items = items;
    struct message *spare = realloc(m->spare, room * sizeof *spare);
    if (spare)
        m->spare = spare;
    if (items && spare)
        m->room = room;
    return items && spare;
}

bool mail_add(struct mail *m, const struct message *run, size_t n)
{
    if (!n)
        return true;
    if (m->n + n > m->room && !grow(m, m->n + n))
        return false;
    memcpy(m->items + m->n, run, n * sizeof *run);
    m->n += n;
    m->least = run[0].time < m->least ? run[0].time : m->least;
    m->most = run[n - 1].time > m->most ? run[n - 1].time : m->most;
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
    struct message *sorted = m->spare;
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

static bool earlier(const struct message *a, const struct message *b) { return a->time != b->time ? a->time < b->time : a->slice < b->slice; }

bool mail_merge(struct mail *m, struct message *at, size_t old, size_t n)
{
    if (!old || old == n || !earlier(&at[old], &at[old - 1]))
        return true;
    size_t fresh = n - old;
    if (fresh > m->scratch_room) {
        struct message *more = realloc(m->scratch, fresh * 2 * sizeof *more);
        if (!more)
            return false;
        m->scratch = more;
        m->scratch_room = fresh * 2;
    }
    memcpy(m->scratch, at + old, fresh * sizeof *at);
    while (fresh) {                            /* from the back: the later of both last ones */
        bool old_is_later = old && earlier(&m->scratch[fresh - 1], &at[old - 1]);
        size_t to = old + fresh - 1;
        at[to] = old_is_later ? at[--old] : m->scratch[--fresh];
    }
    return true;
}
