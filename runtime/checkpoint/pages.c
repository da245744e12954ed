#include "runtime/checkpoint/pages.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void pages_open(struct pages *p) { *p = (struct pages){.fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)}; }

void pages_close(struct pages *p)
{
    if (p->fd >= 0)
        close(p->fd);
}

/* Both sources are asked: a page of a file may be there without being in our tables, and one of ours may be swapped out. */
static bool touched(struct pages *p, uint64_t page)
{
    enum { THERE_OR_SWAPPED = 62 };            /* from this bit on */
    if (page < p->from || page - p->from >= p->n) {
        p->from = page;
        p->n = PAGES_AT_ONCE;
        ssize_t k = pread(p->fd, p->map, sizeof p->map, (off_t)(page * sizeof p->map[0]));
        p->known = k == (ssize_t)sizeof p->map && mincore((void *)(uintptr_t)(page * PAGE_BYTES), PAGES_AT_ONCE * (size_t)PAGE_BYTES, p->core) == 0;
    }
    return !p->known || p->map[page - p->from] >> THERE_OR_SWAPPED || (p->core[page - p->from] & 1);
}

static bool is_zero(const char *p, size_t n)
{
    enum { WORDS = 8 };                        /* the compiler makes vectors of them; most pages that are not zero say so in their first */
    uint64_t any = 0, x[WORDS];
    size_t i = 0;
    for (; i + sizeof x <= n && !any; i += sizeof x) {
        memcpy(x, p + i, sizeof x);
        for (int k = 0; k < WORDS; k++)
            any |= x[k];
    }
    for (; i < n && !any; i++)
        any = (uint8_t)p[i];
    return !any;
}

bool pages_are_zero(struct pages *p, uint64_t lo, uint64_t hi) { return !touched(p, lo / PAGE_BYTES) || is_zero((const char *)(uintptr_t)lo, hi - lo); }
