/* What the files of graphs share. */
#ifndef HEDDLE_GRAPH_INTERNAL_H
#define HEDDLE_GRAPH_INTERNAL_H
#include "runtime/graph.h"
#include "runtime/internal.h"

/* Memory of alloc nodes: one address for every launch. Under the.memory, but for the pointers to nodes. */
struct graph_memory {
    struct allocation *allocation;
    uint32_t refs;                                      /* alloc nodes that have it, in graphs and execs */
    bool live;                                          /* between an alloc node and a free, as launches were enqueued */
    const struct rt_node *freed_by;                     /* in the graph that made it: a later alloc node behind it may have it again */
};
enum status graph_memory_make(struct graph_memory **out, struct rt_context *c, int device, uint64_t bytes, struct error *err) MUST_CHECK;
void graph_memory_ref(struct graph_memory *m);
void graph_memory_unref(struct graph_memory *m);
void graph_memory_live(struct graph_memory *m, bool live);

typedef VEC(struct rt_node *) node_list;

struct node_attributes { unsigned char value[RT_NODE_ATTRIBUTES][RT_NODE_ATTRIBUTE_BYTES]; };

struct rt_node {
    struct object object;
    struct rt_graph *graph;
    uint64_t id, origin;                                /* origin: id of the node that this is a copy of; 0: none */
    struct rt_node_params p;
    void *block;                                        /* a kernel's parameters */
    void **pointers;                                    /* to each of them */
    struct graph_memory *memory;                        /* of an alloc node */
    struct node_attributes *attributes;                 /* NULL: none was set */
    node_list before, after;
    bool disabled;
    uint32_t mark;                                      /* for walks */
};

struct held { struct rt_user_object *object; uint32_t refs; };

/* The value of a condition: four bytes that kernels store to. It is shared by a graph and its copies. */
struct graph_condition { struct allocation *allocation; uint32_t refs, value; bool assign; };     /* refs: under the.memory */

/* Of an exec and of what is enqueued of it. All but graph and exec: under the.lock. */
struct graph_hold {
    struct rt_graph *graph;
    const struct rt_exec *exec;                         /* as kernels name it */
    struct rt_context *context;                         /* kernels may launch it, and this is where its nodes are. NULL: they may not */
    bool uploaded;
    uint32_t refs;
    uint32_t runs;                                      /* in environments (graph_device.c) */
};
void graph_unhold(struct graph_hold *h);
struct graph_hold *graph_hold_of(const struct rt_exec *x);       /* under the.lock */
/* All in s. env: what they run in, or NULL. */
enum status graph_run_nodes(struct rt_graph *g, struct graph_hold *h, struct graph_env *env, struct rt_stream *s, struct error *err) MUST_CHECK;

/* graph_device.c */
enum status graph_device_check(const node_list *order, struct rt_context **context, struct rt_node **bad) MUST_CHECK;
bool graph_device_launches(const struct rt_graph *g);   /* kernels of it may launch graphs */
/* For a launch by the host: an environment for its nodes, and what ends it, to be pushed behind them. NULL, NULL: no memory. */
struct graph_env *graph_device_enter(struct graph_hold *h, struct rt_stream *s, struct op *ends[2]);
void graph_device_leave(struct op *ends[2]);
struct rt_graph *graph_device_next(struct graph_env *env);       /* which graph runs now in env, NULL: none any more. Without locks */
void graph_device_done(struct graph_env *env);          /* without locks */
bool graph_device_alone(const struct graph_env *env);   /* what its graph launched beside itself has ended. Under the.lock */
struct graph_hold *graph_device_hold(const struct graph_env *env);

struct rt_graph {
    struct object object;
    node_list nodes;
    VEC(struct graph_condition *) conditions;
    VEC(struct held) held;
    struct rt_node *owner;                              /* the child graph node that has it; NULL: the program's */
    bool of_exec;
};

enum status graph_copy(struct rt_graph **out, const struct rt_graph *g, bool with_memory) MUST_CHECK;
/* The nodes, each behind those before it. NULL, or a node on a cycle. ST_OUT_OF_MEMORY in *st. */
struct rt_node *graph_order(const struct rt_graph *g, node_list *out, enum status *st);
/* Sets mark of these and all before them, clears that of the others. False: no memory. */
bool graph_mark_before(struct rt_graph *g, struct rt_node *const *from, size_t n);
enum status node_check(const struct rt_node_params *p, struct error *err) MUST_CHECK;
bool graph_has_memory(const struct rt_graph *g);
bool graph_is_single(const struct rt_graph *g);         /* memory or conditions: it cannot be cloned or be a child */

/* graph_condition.c */
enum status condition_check(const struct rt_node_params *p) MUST_CHECK;
bool condition_of(const struct rt_graph *g, uint64_t handle);       /* of g, or of a graph in whose condition it is */
enum status condition_bodies_make(struct rt_node *n, const struct rt_node_params *p, bool copy) MUST_CHECK;
void condition_bodies_drop(struct rt_node *n);
enum status conditions_share(struct rt_graph *to, const struct rt_graph *from) MUST_CHECK;
void conditions_drop(struct rt_graph *g);
enum status conditions_begin(const struct rt_graph *g, struct rt_stream *s) MUST_CHECK;        /* assigns what is to be assigned */

#endif
