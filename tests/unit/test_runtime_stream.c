/* Order: streams, events, host functions, values in memory, fork. Host functions stand for work here; kernels have their own test. */
#include <check.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/runtime.h"

static struct rt_context *context;
static struct rt_stream *legacy;

static void setup(void)
{
    ck_assert_int_eq(rt_start(NULL), ST_OK);
    ck_assert_int_eq(rt_primary_retain(&context, 0), ST_OK);
    legacy = rt_stream_legacy(context);
}

static void teardown(void) { ck_assert_int_eq(rt_primary_release(0), ST_OK); }

/* A door that holds up a stream until it is opened. */
struct door { sem_t sem; };
static void door_wait(void *user) { sem_wait(&((struct door *)user)->sem); }
static void door_init(struct door *d) { sem_init(&d->sem, 0, 0); }
static void door_open(struct door *d) { sem_post(&d->sem); }

static atomic_int clock_now;
static void stamp(void *user) { *(int *)user = atomic_fetch_add(&clock_now, 1) + 1; }

START_TEST(a_stream_is_in_order)
{
    struct rt_stream *s;
    struct door d;
    int a = 0, b = 0;
    door_init(&d);
    ck_assert_int_eq(rt_stream_create(&s, context, 0, 0), ST_OK);
    ck_assert_int_eq(rt_stream_query(s), ST_OK);
    ck_assert_int_eq(rt_stream_host(s, door_wait, &d), ST_OK);
    ck_assert_int_eq(rt_stream_host(s, stamp, &a), ST_OK);
    ck_assert_int_eq(rt_stream_host(s, stamp, &b), ST_OK);
    ck_assert_int_eq(rt_stream_query(s), ST_NOT_READY);
    door_open(&d);
    ck_assert_int_eq(rt_stream_synchronize(s), ST_OK);
    ck_assert(a && b && a < b);
    ck_assert_int_eq(rt_stream_destroy(s), ST_OK);
    ck_assert(!rt_is(s, RT_STREAM));
}
END_TEST

START_TEST(the_legacy_stream_and_blocking_streams_hold_each_other_up)
{
    struct rt_stream *s, *t, *free_one;
    struct door d;
    int first = 0, middle = 0, last = 0, other = 0;
    door_init(&d);
    ck_assert_int_eq(rt_stream_create(&s, context, 0, 0), ST_OK);
    ck_assert_int_eq(rt_stream_create(&t, context, 0, RT_PRIORITY_HIGHEST), ST_OK);
    ck_assert_int_eq(rt_stream_create(&free_one, context, RT_STREAM_NON_BLOCKING, 0), ST_OK);
    ck_assert_int_eq(rt_stream_wait_value(s, 0, 0, 4, RT_EQ), ST_INVALID_VALUE);
    uint64_t flag;
    ck_assert_int_eq(rt_alloc(context, 4, &flag, NULL), ST_OK);
    ck_assert_int_eq(rt_stream_wait_value(s, flag, 1, 4, RT_EQ), ST_OK);   /* holds s up */
    ck_assert_int_eq(rt_stream_host(s, stamp, &first), ST_OK);
    ck_assert_int_eq(rt_stream_host(legacy, stamp, &middle), ST_OK);
    ck_assert_int_eq(rt_stream_host(t, stamp, &last), ST_OK);
    ck_assert_int_eq(rt_stream_host(free_one, stamp, &other), ST_OK);
    ck_assert_int_eq(rt_stream_synchronize(free_one), ST_OK);              /* that one does not care */
    ck_assert(other && !first && !middle && !last);
    ck_assert_int_eq(rt_stream_query(t), ST_NOT_READY);
    ck_assert_int_eq(rt_stream_write_value(free_one, flag, 1, 4), ST_OK);
    ck_assert_int_eq(rt_context_synchronize(context), ST_OK);
    ck_assert(first < middle && middle < last);
    ck_assert_int_eq(rt_free(flag), ST_OK);
    rt_stream_destroy(s);
    rt_stream_destroy(t);
    rt_stream_destroy(free_one);
}
END_TEST

START_TEST(events_order_streams)
{
    struct rt_stream *s, *t;
    struct rt_event *e, *start, *quiet;
    struct door d;
    int a = 0, b = 0;
    double ms;
    door_init(&d);
    ck_assert_int_eq(rt_stream_create(&s, context, RT_STREAM_NON_BLOCKING, 0), ST_OK);
    ck_assert_int_eq(rt_stream_create(&t, context, RT_STREAM_NON_BLOCKING, 0), ST_OK);
    ck_assert_int_eq(rt_event_create(&e, context, 0), ST_OK);
    ck_assert_int_eq(rt_event_create(&start, context, 0), ST_OK);
    ck_assert_int_eq(rt_event_create(&quiet, context, RT_EVENT_NO_TIMING), ST_OK);
    ck_assert_int_eq(rt_event_query(e), ST_OK);                            /* never recorded */
    ck_assert_int_eq(rt_stream_wait_event(t, e), ST_OK);
    ck_assert_int_eq(rt_stream_query(t), ST_OK);
    ck_assert_int_eq(rt_event_elapsed(&ms, start, e), ST_INVALID_HANDLE);
    ck_assert_int_eq(rt_event_record(start, s), ST_OK);
    ck_assert_int_eq(rt_stream_host(s, door_wait, &d), ST_OK);
    ck_assert_int_eq(rt_stream_host(s, stamp, &a), ST_OK);
    ck_assert_int_eq(rt_event_record(e, s), ST_OK);
    ck_assert_int_eq(rt_event_query(e), ST_NOT_READY);
    ck_assert_int_eq(rt_event_elapsed(&ms, start, e), ST_NOT_READY);
    ck_assert_int_eq(rt_stream_wait_event(t, e), ST_OK);
    ck_assert_int_eq(rt_stream_host(t, stamp, &b), ST_OK);
    ck_assert_int_eq(rt_event_record(e, t), ST_OK);                        /* the wait above means the record before it */
    door_open(&d);
    ck_assert_int_eq(rt_event_synchronize(e), ST_OK);
    ck_assert(a && b && a < b);
    ck_assert_int_eq(rt_event_elapsed(&ms, start, e), ST_OK);
    ck_assert(ms > 0);
    ck_assert_int_eq(rt_event_record(quiet, t), ST_OK);
    ck_assert_int_eq(rt_event_elapsed(&ms, start, quiet), ST_INVALID_HANDLE);
    rt_event_destroy(e);
    ck_assert(!rt_is(e, RT_EVENT));
    rt_event_destroy(start);
    rt_event_destroy(quiet);
    rt_stream_destroy(s);
    rt_stream_destroy(t);
}
END_TEST

static int callback_status = -1;
static void *callback_handle;
static void on_callback(void *handle, int status, void *user)
{
    callback_handle = handle;
    callback_status = status;
    *(int *)user = 7;
    /* A callback must not wait for the device. */
    ck_assert_int_eq(rt_context_synchronize(context), ST_NOT_PERMITTED);
}

START_TEST(callbacks_get_handle_and_status)
{
    int user = 0;
    ck_assert_int_eq(rt_stream_callback(legacy, on_callback, &user, &user), ST_OK);
    ck_assert_int_eq(rt_stream_synchronize(legacy), ST_OK);
    ck_assert(user == 7 && callback_status == 0 && callback_handle == &user);
}
END_TEST

START_TEST(queued_copies_take_pageable_memory_at_once)
{
    struct rt_stream *s;
    struct door d;
    uint64_t a, b;
    int value = 5, back = 0;
    door_init(&d);
    ck_assert_int_eq(rt_stream_create(&s, context, 0, 0), ST_OK);
    ck_assert_int_eq(rt_alloc(context, 4, &a, NULL), ST_OK);
    ck_assert_int_eq(rt_alloc(context, 1 << 20, &b, NULL), ST_OK);
    ck_assert_int_eq(rt_stream_host(s, door_wait, &d), ST_OK);
    ck_assert_int_eq(rt_memcpy_linear(s, a, (uint64_t)(uintptr_t)&value, 4, RT_ASYNC), ST_OK);
    value = 6;
    ck_assert_int_eq(rt_memset(s, b, 0, 9, 1, 1 << 20, 1, RT_ASYNC), ST_OK);
    ck_assert_int_eq(rt_memcpy_linear(s, b + 4, a, 4, RT_ASYNC), ST_OK);
    ck_assert_int_eq(*(int *)(uintptr_t)a, 0);
    door_open(&d);
    ck_assert_int_eq(rt_memcpy_linear(s, (uint64_t)(uintptr_t)&back, b + 4, 4, RT_ASYNC), ST_OK);
    ck_assert_int_eq(back, 5);
    ck_assert_int_eq(*(int *)(uintptr_t)b, 0x09090909);
    ck_assert_int_eq(rt_free_async(s, a), ST_OK);
    rt_stream_destroy(s);
    ck_assert_int_eq(rt_free(b), ST_OK);
}
END_TEST

static void *thread_stream(void *out)
{
    *(struct rt_stream **)out = rt_stream_per_thread(context);
    int a = 0;
    ck_assert_int_eq(rt_stream_host(*(struct rt_stream **)out, stamp, &a), ST_OK);
    ck_assert_int_eq(rt_stream_synchronize(*(struct rt_stream **)out), ST_OK);
    ck_assert(a);
    return NULL;
}

START_TEST(each_thread_has_a_default_stream)
{
    struct rt_stream *mine = rt_stream_per_thread(context), *other = NULL;
    ck_assert_ptr_nonnull(mine);
    ck_assert_ptr_eq(mine, rt_stream_per_thread(context));
    pthread_t t;
    pthread_create(&t, NULL, thread_stream, &other);
    pthread_join(t, NULL);
    ck_assert_ptr_ne(mine, other);
    ck_assert(!rt_is(other, RT_STREAM));
}
END_TEST

enum { PUSHERS = 4, PUSHES = 500 };
static atomic_int counted;
static void count(void *user) { atomic_fetch_add((atomic_int *)user, 1); }
static void *push(void *unused)
{
    (void)unused;
    for (int i = 0; i < PUSHES; i++) {
        struct rt_stream *s;
        struct rt_event *e;
        ck_assert_int_eq(rt_stream_create(&s, context, (uint32_t)i & 1, 0), ST_OK);
        ck_assert_int_eq(rt_event_create(&e, context, 0), ST_OK);
        ck_assert_int_eq(rt_stream_host(s, count, &counted), ST_OK);
        ck_assert_int_eq(rt_event_record(e, s), ST_OK);
        ck_assert_int_eq(rt_stream_wait_event(legacy, e), ST_OK);
        ck_assert_int_eq(rt_event_destroy(e), ST_OK);
        ck_assert_int_eq(rt_stream_destroy(s), ST_OK);
    }
    return NULL;
}

START_TEST(many_threads_many_streams)
{
    pthread_t t[PUSHERS];
    for (int i = 0; i < PUSHERS; i++)
        pthread_create(&t[i], NULL, push, NULL);
    for (int i = 0; i < PUSHERS; i++)
        pthread_join(t[i], NULL);
    ck_assert_int_eq(rt_context_synchronize(context), ST_OK);
    ck_assert_int_eq(counted, PUSHERS * PUSHES);
}
END_TEST

START_TEST(a_child_forked_afterwards_has_no_device)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(rt_start(NULL) == ST_NOT_INITIALIZED && !rt_started() ? 33 : 1);
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 33);
    ck_assert_int_eq(rt_start(NULL), ST_OK);
}
END_TEST

START_TEST(limits_and_stores)
{
    size_t v;
    ck_assert_int_eq(rt_context_limit(context, RT_LIMIT_MALLOC_HEAP, &v), ST_OK);
    ck_assert_uint_eq(v, 8 << 20);
    ck_assert_int_eq(rt_context_set_limit(context, RT_LIMIT_STACK, 5000), ST_OK);
    ck_assert_int_eq(rt_context_limit(context, RT_LIMIT_STACK, &v), ST_OK);
    ck_assert(v >= 5000 && v % 16 == 0);
    ck_assert_int_eq(rt_context_limit(context, RT_LIMITS, &v), ST_UNSUPPORTED_LIMIT);
    int key, value;
    void *got;
    ck_assert_int_eq(rt_context_get(context, &key, &got), ST_INVALID_HANDLE);
    ck_assert_int_eq(rt_context_put(context, &key, &value, NULL), ST_OK);
    ck_assert_int_eq(rt_context_get(context, &key, &got), ST_OK);
    ck_assert_ptr_eq(got, &value);
    ck_assert_int_eq(rt_context_delete(context, &key), ST_OK);
    ck_assert_int_eq(rt_context_delete(context, &key), ST_INVALID_HANDLE);
}
END_TEST

START_TEST(handles_are_told_apart)
{
    int local;
    ck_assert(!rt_is(NULL, RT_STREAM) && !rt_is(&local, RT_STREAM) && !rt_is((void *)(uintptr_t)1, RT_STREAM) && !rt_is((void *)UINTPTR_MAX, RT_STREAM));
    ck_assert(rt_is(legacy, RT_STREAM) && !rt_is(legacy, RT_EVENT) && rt_is(context, RT_CONTEXT));
    ck_assert(!rt_is((char *)legacy + 4, RT_STREAM));
}
END_TEST

START_TEST(gpus_are_described)
{
    for (size_t i = 0; rt_gpu_at(i); i++) {
        const struct rt_device_facts *f = rt_gpu_at(i);
        ck_assert_ptr_eq(rt_gpu_find(f->key), f);
        ck_assert(f->sm >= 70 && f->sm_count && f->memory_bytes > 1ull << 32 && f->shared_per_block_optin_bytes + f->shared_reserved_bytes <= f->shared_per_sm_bytes);
        ck_assert(f->max_threads_per_sm % 32 == 0 && f->clock_khz > 1000000);
    }
    ck_assert_str_eq(rt_gpu_find(NULL)->name, "NVIDIA H100 80GB HBM3");
    ck_assert_ptr_null(rt_gpu_find("gtx9000"));
}
END_TEST

int main(void)
{
    setenv("HEDDLE_OPTS", "--quiet", 1);
    Suite *s = suite_create("runtime streams");
    TCase *t = tcase_create("streams");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_stream_is_in_order);
    tcase_add_test(t, the_legacy_stream_and_blocking_streams_hold_each_other_up);
    tcase_add_test(t, events_order_streams);
    tcase_add_test(t, callbacks_get_handle_and_status);
    tcase_add_test(t, queued_copies_take_pageable_memory_at_once);
    tcase_add_test(t, each_thread_has_a_default_stream);
    tcase_add_test(t, many_threads_many_streams);
    tcase_add_test(t, a_child_forked_afterwards_has_no_device);
    tcase_add_test(t, limits_and_stores);
    tcase_add_test(t, handles_are_told_apart);
    tcase_add_test(t, gpus_are_described);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
