/* Events that several processes record and wait for: a page of memory that they share counts the records.
 *
 * Every record takes the next number, in whichever process; the event is done when the newest number is. The page stays mapped when the event is
 * destroyed, since waits that are queued still look at it. */
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/checkpoint/host.h"
#include "runtime/internal.h"
#include "runtime/share.h"

struct event_share { _Atomic uint64_t recorded, done; };

enum { PAGE = 4096 };

static struct event_share *page_map(int fd)
{
    char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : (struct event_share *)(void *)(p + SHARE_EVENT_AT);
}

void event_share_recorded(struct rt_event *e) { e->share_seq = atomic_fetch_add(&e->share->recorded, 1) + 1; }

void event_share_happened(struct rt_event *e)
{
    uint64_t was = atomic_load(&e->share->done);
    while (was < e->share_seq && !atomic_compare_exchange_weak(&e->share->done, &was, e->share_seq))
        ;
}

bool event_share_foreign(const struct rt_event *e, uint64_t *seq)
{
    *seq = atomic_load(&e->share->recorded);
    return *seq != e->share_seq && atomic_load(&e->share->done) < *seq;
}

const uint64_t *event_share_done(const struct rt_event *e) { return (const uint64_t *)(const void *)&e->share->done; }

void event_share_drop(struct rt_event *e)
{
    if (e->share_fd >= 0)
        close(e->share_fd);
}

enum status rt_share_event(struct rt_event *e, struct rt_share *out)
{
    host_spoil(HOST_SHARES);
    if (!(e->flags & RT_EVENT_IPC))
        return ST_INVALID_VALUE;
    enum status st = ST_OK;
    pthread_mutex_lock(&the.lock);
    if (!e->share) {
        int fd = share_create(SHARE_EVENT, e->context->device, 0);
        struct event_share *page = fd < 0 ? NULL : page_map(fd);
        if (page) {
            e->share = page;
            e->share_fd = fd;
            if (e->stream)                     /* the record before */
                event_share_recorded(e);
            if (e->stream && fifo_clear(e->stream, e->seq))
                event_share_happened(e);
        } else {
            st = ST_OUT_OF_MEMORY;
            if (fd >= 0)
                close(fd);
        }
    }
    if (st == ST_OK && e->share_fd < 0)
        st = ST_INVALID_VALUE;                 /* it is the other process's to give away */
    if (st == ST_OK)
        share_ticket(out, SHARE_EVENT, e->share_fd, 0, 0);
    pthread_mutex_unlock(&the.lock);
    return st;
}

enum status rt_share_event_open(struct rt_event **out, struct rt_context *c, const struct rt_share *handle)
{
    host_spoil(HOST_SHARES);
    int fd;
    enum status st = share_open(handle, SHARE_EVENT, &fd);
    if (st != ST_OK)
        return st;
    struct event_share *page = page_map(fd);
    close(fd);
    if (!page)
        return ST_OUT_OF_MEMORY;
    st = rt_event_create(out, c, RT_EVENT_NO_TIMING | RT_EVENT_IPC);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&the.lock);
    (*out)->share = page;
    (*out)->share_fd = -1;
    pthread_mutex_unlock(&the.lock);
    return ST_OK;
}
