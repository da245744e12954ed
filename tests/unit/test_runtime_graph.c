/* Graphs as the runtime has them: order, cycles, capture over streams, memory nodes, contexts that go. Host functions stand for work. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph.h"

static struct rt_context *context;
static int order[8], done;
static void step(void *user) { order[done++] = *(int *)user; }
static int number[] = {0, 1, 2, 3, 4, 5, 6, 7};

static void setup(void)
{
    ck_assert_int_eq(rt_start(NULL), ST_OK);
    ck_assert_int_eq(rt_primary_retain(&context, 0), ST_OK);
    done = 0;
}

static void teardown(void) { ck_assert_int_eq(rt_primary_release(0), ST_OK); }

static struct rt_node *host_node(struct rt_graph *g, struct rt_node *const *deps, size_t n, int i)
{
    struct rt_node_params p = {.type = RT_NODE_HOST, .context = context};
    struct rt_node *node;
    p.u.host.fn = step, p.u.host.user = &number[i];
    ck_assert_int_eq(rt_node_add(&node, g, deps, n, &p, NULL), ST_OK);
    return node;
}

static void launch(struct rt_graph *g)
{
    struct rt_exec *x;
    struct rt_node *bad;
    ck_assert_int_eq(rt_exec_create(&x, g, 0, &bad), ST_OK);
    ck_assert_int_eq(rt_exec_launch(x, rt_stream_legacy(context), NULL), ST_OK);
    ck_assert_int_eq(rt_exec_destroy(x), ST_OK);         /* what was enqueued still runs */
    ck_assert_int_eq(rt_stream_synchronize(rt_stream_legacy(context)), ST_OK);
}

START_TEST(edges_decide_the_order_and_cycles_are_found)
{
    struct rt_graph *g;
    ck_assert_int_eq(rt_graph_create(&g), ST_OK);
    struct rt_node *late = host_node(g, NULL, 0, 1), *early = host_node(g, NULL, 0, 0);
    ck_assert_int_eq(rt_graph_edges_add(g, &early, &late, 1), ST_OK);
    ck_assert_int_eq(rt_graph_edges_add(g, &early, &late, 1), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_graph_edges_add(g, &early, &early, 1), ST_INVALID_VALUE);
    launch(g);
    ck_assert_int_eq(done, 2);
    ck_assert(order[0] == 0 && order[1] == 1);
    ck_assert_int_eq(rt_graph_edges_add(g, &late, &early, 1), ST_OK);
    struct rt_exec *x;
    struct rt_node *bad = NULL;
    ck_assert_int_eq(rt_exec_create(&x, g, 0, &bad), ST_INVALID_VALUE);
    ck_assert(bad == late || bad == early);
    ck_assert_int_eq(rt_graph_destroy(g), ST_OK);
    ck_assert(!rt_is(late, RT_GRAPH_NODE));
}
END_TEST

START_TEST(a_capture_follows_events_into_other_streams)
{
    struct rt_stream *s, *t;
    struct rt_event *fork, *join;
    struct rt_graph *g;
    ck_assert_int_eq(rt_stream_create(&s, context, 0, 0), ST_OK);
    ck_assert_int_eq(rt_stream_create(&t, context, 0, 0), ST_OK);
    ck_assert_int_eq(rt_event_create(&fork, context, 0), ST_OK);
    ck_assert_int_eq(rt_event_create(&join, context, 0), ST_OK);
    ck_assert_int_eq(rt_capture_begin(s, RT_CAPTURE_GLOBAL, NULL, NULL, 0), ST_OK);
    ck_assert_int_eq(rt_stream_host(s, step, &number[0]), ST_OK);
    ck_assert_int_eq(rt_event_record(fork, s), ST_OK);
    ck_assert_int_eq(rt_stream_wait_event(t, fork), ST_OK);
    ck_assert_int_eq(rt_stream_host(t, step, &number[1]), ST_OK);
    ck_assert_int_eq(rt_event_record(join, t), ST_OK);
    ck_assert_int_eq(rt_stream_wait_event(s, join), ST_OK);
    ck_assert_int_eq(rt_stream_host(s, step, &number[2]), ST_OK);
    struct rt_capture_info info;
    ck_assert_int_eq(rt_capture_info(s, &info), ST_OK);
    ck_assert(info.status == RT_CAPTURE_ACTIVE && info.n_deps == 1);
    size_t before;
    (void)rt_node_before(info.deps[0], &before);
    ck_assert_uint_eq(before, 2);                        /* s's own node, and t's */
    ck_assert_int_eq(rt_capture_end(s, &g), ST_OK);
    ck_assert_int_eq(done, 0);
    launch(g);
    ck_assert(done == 3 && order[0] == 0 && order[1] == 1 && order[2] == 2);
    ck_assert_int_eq(rt_graph_destroy(g), ST_OK);
    ck_assert_int_eq(rt_event_destroy(fork), ST_OK);
    ck_assert_int_eq(rt_event_destroy(join), ST_OK);
    ck_assert_int_eq(rt_stream_destroy(s), ST_OK);
    ck_assert_int_eq(rt_stream_destroy(t), ST_OK);
}
END_TEST

START_TEST(a_stream_destroyed_in_capture_ends_it)
{
    struct rt_stream *s;
    uint64_t p;
    ck_assert_int_eq(rt_stream_create(&s, context, 0, 0), ST_OK);
    ck_assert_int_eq(rt_capture_begin(s, RT_CAPTURE_GLOBAL, NULL, NULL, 0), ST_OK);
    ck_assert_int_eq(rt_alloc_async(s, NULL, 1 << 20, &p, NULL), ST_OK);
    ck_assert_int_eq(rt_stream_host(s, step, &number[0]), ST_OK);
    ck_assert_int_eq(rt_stream_destroy(s), ST_OK);
    ck_assert_int_eq(rt_alloc(context, 64, &p, NULL), ST_OK);      /* nothing captures any more */
    ck_assert_int_eq(rt_free(p), ST_OK);
    ck_assert_int_eq(done, 0);
}
END_TEST

static uint64_t alloc_node(struct rt_graph *g, struct rt_node *const *deps, size_t n, struct rt_node **out)
{
    struct rt_node_params p = {.type = RT_NODE_ALLOC, .context = context};
    p.u.alloc.bytes = 4096;
    ck_assert_int_eq(rt_node_add(out, g, deps, n, &p, NULL), ST_OK);
    return p.u.alloc.address;
}

START_TEST(memory_of_a_graph_is_used_again_behind_its_free_node)
{
    struct rt_graph *g;
    struct rt_node *a, *f, *b, *c;
    ck_assert_int_eq(rt_graph_create(&g), ST_OK);
    uint64_t first = alloc_node(g, NULL, 0, &a);
    struct rt_node_params p = {.type = RT_NODE_FREE, .context = context};
    p.u.free = first;
    ck_assert_int_eq(rt_node_add(&f, g, &a, 1, &p, NULL), ST_OK);
    ck_assert_uint_ne(alloc_node(g, &a, 1, &c), first);            /* beside the free node, not behind it */
    ck_assert_uint_eq(alloc_node(g, &f, 1, &b), first);
    ck_assert_int_eq(rt_node_destroy(a), ST_NOT_SUPPORTED);
    p.u.free = first + 8;
    ck_assert_int_eq(rt_node_add(&b, g, &f, 1, &p, NULL), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_graph_destroy(g), ST_OK);
    struct rt_memory m;
    ck_assert(!rt_memory_find(first, &m));
}
END_TEST

/* A context takes its memory along; graphs that had some of it answer errors and can be destroyed. */
START_TEST(graphs_outlive_their_context)
{
    struct rt_context *own, *was = context;
    struct rt_graph *g;
    struct rt_node *a, *bad;
    struct rt_exec *x;
    struct rt_stream *s;
    ck_assert_int_eq(rt_context_create(&own, 0, 0), ST_OK);
    context = own;
    ck_assert_int_eq(rt_graph_create(&g), ST_OK);
    (void)alloc_node(g, NULL, 0, &a);
    ck_assert_int_eq(rt_exec_create(&x, g, 0, &bad), ST_OK);
    ck_assert_int_eq(rt_exec_launch(x, rt_stream_legacy(own), NULL), ST_OK);
    ck_assert_int_eq(rt_stream_create(&s, own, 0, 0), ST_OK);
    ck_assert_int_eq(rt_capture_begin(s, RT_CAPTURE_RELAXED, NULL, NULL, 0), ST_OK);
    ck_assert_int_eq(rt_stream_host(s, step, &number[0]), ST_OK);
    ck_assert_int_eq(rt_context_destroy(own), ST_OK);
    context = was;
    ck_assert_int_eq(rt_exec_launch(x, rt_stream_legacy(context), NULL), ST_INVALID_VALUE);
    ck_assert_int_eq(rt_exec_destroy(x), ST_OK);
    ck_assert_int_eq(rt_graph_destroy(g), ST_OK);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("runtime graph");
    TCase *t = tcase_create("graph");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, edges_decide_the_order_and_cycles_are_found);
    tcase_add_test(t, a_capture_follows_events_into_other_streams);
    tcase_add_test(t, a_stream_destroyed_in_capture_ends_it);
    tcase_add_test(t, memory_of_a_graph_is_used_again_behind_its_free_node);
    tcase_add_test(t, graphs_outlive_their_context);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
