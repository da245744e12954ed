/* runtime: memory, pools and events of one process in another. The two processes are forked before either starts the runtime, and talk over a socket. */
#include <check.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/share.h"

enum { SMALL = 1000, LARGE = 5 << 20 };

static struct rt_context *start(void)
{
    struct rt_context *c;
    struct error err = {0};
    ck_assert_int_eq(rt_start(&err), ST_OK);
    ck_assert_int_eq(rt_primary_retain(&c, 0), ST_OK);
    ck_assert_int_eq(rt_set_current(c, NULL), ST_OK);
    return c;
}

static void fill(struct rt_context *c, uint64_t at, uint32_t bytes, unsigned value)
{
    ck_assert_int_eq(rt_memset(rt_stream_legacy(c), at, 0, value, 1, bytes, 1, RT_SYNC), ST_OK);
}

static bool holds(uint64_t at, uint32_t bytes, unsigned char value)
{
    const unsigned char *p = (const unsigned char *)(uintptr_t)at;
    for (uint32_t i = 0; i < bytes; i++)
        if (p[i] != value)
            return false;
    return true;
}

struct offer { struct rt_share small, neighbour, large, event; };

/* The other process: exits with the number of the first thing that is not so. */
static int other(int socket)
{
    struct offer o;
    struct rt_context *c = start();
    uint64_t small, again, neighbour, large;
    struct rt_event *e;
    if (read(socket, &o, sizeof o) != (ssize_t)sizeof o)
        return 1;
    if (rt_share_memory_open(c, &o.small, &small, NULL) != ST_OK || rt_share_memory_open(c, &o.small, &again, NULL) != ST_OK || small != again)
        return 2;
    if (rt_share_memory_open(c, &o.neighbour, &neighbour, NULL) != ST_OK || rt_share_memory_open(c, &o.large, &large, NULL) != ST_OK)
        return 3;
    struct rt_memory m;
    if (!rt_memory_find(large + LARGE - 1, &m) || m.bytes != LARGE || rt_memory_find(large + LARGE, &m))
        return 4;
    if (rt_share_event_open(&e, c, &o.event) != ST_OK || rt_event_query(e) != ST_NOT_READY || rt_event_synchronize(e) != ST_OK)
        return 5;
    if (!holds(small, SMALL, 1) || !holds(neighbour, SMALL, 2) || !holds(large, LARGE, 3))
        return 6;
    fill(c, neighbour, SMALL, 22);
    fill(c, large, LARGE, 33);
    if (rt_free(small) != ST_INVALID_VALUE || rt_share_memory_close(small) != ST_OK || rt_share_memory_close(small) != ST_OK || rt_share_memory_close(small) != ST_INVALID_VALUE)
        return 7;
    if (rt_event_record(e, rt_stream_legacy(c)) != ST_OK || rt_context_synchronize(c) != ST_OK || rt_event_destroy(e) != ST_OK)
        return 8;
    return 0;
}

START_TEST(between_processes)
{
    int ends[2], status = -1;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(other(ends[1]));
    struct rt_context *c = start();
    struct offer o;
    uint64_t small, neighbour, large, flag;
    struct rt_event *e;
    struct rt_stream *s;
    ck_assert_int_eq(rt_alloc(c, SMALL, &small, NULL), ST_OK);
    ck_assert_int_eq(rt_alloc(c, SMALL, &neighbour, NULL), ST_OK);
    ck_assert_int_eq(rt_alloc(c, LARGE, &large, NULL), ST_OK);
    ck_assert_int_eq(rt_alloc(c, 4, &flag, NULL), ST_OK);
    fill(c, small, SMALL, 1);
    ck_assert_int_eq(rt_share_memory(small, &o.small), ST_OK);
    ck_assert(holds(small, SMALL, 1));                   /* it has moved, with what was in it */
    ck_assert_int_eq(rt_share_memory(neighbour + 10, &o.neighbour), ST_OK);
    ck_assert_int_eq(rt_share_memory(large, &o.large), ST_OK);
    ck_assert_int_eq(rt_share_memory(large, &o.large), ST_OK);
    fill(c, neighbour, SMALL, 2);
    fill(c, large, LARGE, 3);
    /* Recorded, and done only when the other process has been told. */
    ck_assert_int_eq(rt_event_create(&e, c, RT_EVENT_IPC | RT_EVENT_NO_TIMING), ST_OK);
    ck_assert_int_eq(rt_stream_create(&s, c, RT_STREAM_NON_BLOCKING, 0), ST_OK);
    ck_assert_int_eq(rt_share_event(e, &o.event), ST_OK);
    ck_assert_int_eq(rt_stream_wait_value(s, flag, 1, 4, RT_EQ), ST_OK);
    ck_assert_int_eq(rt_event_record(e, s), ST_OK);
    ck_assert_int_eq(write(ends[0], &o, sizeof o), sizeof o);
    usleep(100000);
    ck_assert_int_eq(rt_stream_write_value(rt_stream_legacy(c), flag, 1, 4), ST_OK);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the other process ends with status %x", (unsigned)status);
    ck_assert_int_eq(rt_event_query(e), ST_OK);
    ck_assert(holds(small, SMALL, 1) && holds(neighbour, SMALL, 22) && holds(large, LARGE, 33));
    ck_assert_int_eq(rt_free(small), ST_OK);
    ck_assert_int_eq(rt_free(large), ST_OK);
    uint64_t fresh;
    ck_assert_int_eq(rt_alloc(c, LARGE, &fresh, NULL), ST_OK);
    ck_assert(holds(fresh, LARGE, 0));                   /* and private again */
    ck_assert_int_eq(rt_free(fresh), ST_OK);
}
END_TEST

START_TEST(bad_handles)
{
    struct rt_context *c = start();
    struct rt_share h, nothing = {{0}}, garbage;
    struct rt_event *plain;
    uint64_t p, managed, q;
    memset(&garbage, 0x5a, sizeof garbage);
    ck_assert_int_eq(rt_alloc(c, SMALL, &p, NULL), ST_OK);
    ck_assert_int_eq(rt_alloc_managed(c, SMALL, 1, &managed, NULL), ST_OK);
    ck_assert_int_eq(rt_share_memory(0, &h), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_share_memory(managed, &h), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_share_memory(p, &h), ST_OK);
    ck_assert_int_eq(rt_share_memory_open(c, &h, &q, NULL), ST_INVALID_CONTEXT);
    ck_assert_int_eq(rt_share_memory_open(c, &nothing, &q, NULL), ST_INVALID_HANDLE);
    ck_assert_int_eq(rt_share_memory_open(c, &garbage, &q, NULL), ST_INVALID_HANDLE);
    ck_assert_int_eq(rt_share_memory_close(p), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_event_create(&plain, c, 0), ST_OK);
    ck_assert_int_eq(rt_share_event(plain, &h), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_share_event_open(&plain, c, &h), ST_INVALID_HANDLE);      /* memory's */
}
END_TEST

/* A process may import what it exports: two addresses of one memory. */
START_TEST(descriptors)
{
    struct rt_context *c = start();
    struct rt_mapping *m, *again;
    struct rt_pool *pool, *imported, *plain;
    struct rt_share h;
    uint64_t at[2], p, q;
    int fd;
    ck_assert_int_eq(rt_physical_create(&m, 0, RT_GRANULARITY), ST_OK);
    ck_assert_int_eq(rt_physical_export(m, &fd), ST_INVALID_VALUE);
    rt_physical_share(m);
    ck_assert_int_eq(rt_physical_export(m, &fd), ST_OK);
    ck_assert_int_eq(rt_physical_import(&again, fd), ST_OK);
    ck_assert_int_eq(rt_pool_import(&imported, fd), ST_INVALID_VALUE);            /* no pool's */
    close(fd);
    ck_assert_uint_eq(rt_physical_bytes(again), RT_GRANULARITY);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(rt_reserve(RT_GRANULARITY, 0, &at[i]), ST_OK);
        ck_assert_int_eq(rt_map(at[i], RT_GRANULARITY, 0, i ? again : m), ST_OK);
        ck_assert_int_eq(rt_map_access(at[i], RT_GRANULARITY, true, true), ST_OK);
    }
    fill(c, at[0], SMALL, 7);
    ck_assert(holds(at[1], SMALL, 7));

    ck_assert_int_eq(rt_pool_create(&plain, 0, 0), ST_OK);
    ck_assert_int_eq(rt_pool_export(plain, &fd), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_pool_create_shared(&pool, 0, 0), ST_OK);
    ck_assert_int_eq(rt_pool_export(pool, &fd), ST_OK);
    ck_assert_int_eq(rt_pool_import(&imported, fd), ST_OK);
    close(fd);
    ck_assert_int_eq(rt_alloc_async(rt_stream_legacy(c), pool, SMALL, &p, NULL), ST_OK);
    ck_assert_int_eq(rt_alloc_async(rt_stream_legacy(c), imported, SMALL, &q, NULL), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_pool_export_pointer(p, &h), ST_OK);
    ck_assert_int_eq(rt_pool_export_pointer(p + 1, &h), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_pool_import_pointer(pool, c, &h, &q, NULL), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_pool_import_pointer(imported, c, &h, &q, NULL), ST_OK);
    fill(c, q, SMALL, 9);
    ck_assert(p != q && holds(p, SMALL, 9));
    ck_assert_int_eq(rt_free_async(rt_stream_legacy(c), q), ST_OK);
    ck_assert(holds(p, SMALL, 9));
    ck_assert_int_eq(rt_free_async(rt_stream_legacy(c), p), ST_OK);
    ck_assert_int_eq(rt_context_synchronize(c), ST_OK);
    ck_assert_int_eq(rt_pool_destroy(imported), ST_OK);
    ck_assert_int_eq(rt_pool_destroy(pool), ST_OK);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("runtime share");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, between_processes);
    tcase_add_test(t, bad_handles);
    tcase_add_test(t, descriptors);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
