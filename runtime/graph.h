/* Graphs: nodes and the order between them, capture of streams, and execution.
 *
 * A graph and its nodes are not synchronised among threads, as CUDA has it; capture is. A launch enqueues the nodes one after the other, in topological
 * order, into the launch's stream (those of another context into a stream of that context, with waits between): an order that every graph allows.
 * Memory nodes have their memory from node creation to the end of the last graph that has the node, or until it is freed later. */
#ifndef HEDDLE_GRAPH_H
#define HEDDLE_GRAPH_H
#include <stdio.h>

#include "runtime/runtime.h"

struct rt_graph; struct rt_node; struct rt_exec; struct rt_user_object;

/* CUgraphNodeType. */
enum rt_node_type {
    RT_NODE_KERNEL, RT_NODE_COPY, RT_NODE_SET, RT_NODE_HOST, RT_NODE_GRAPH, RT_NODE_EMPTY, RT_NODE_WAIT, RT_NODE_RECORD,
    RT_NODE_ALLOC = 10, RT_NODE_FREE = 11, RT_NODE_VALUES = 12, RT_NODE_CONDITION = 13
};
enum rt_condition { RT_CONDITION_IF, RT_CONDITION_WHILE, RT_CONDITION_SWITCH };    /* CUgraphConditionalNodeType */
struct rt_node_params {
    enum rt_node_type type;
    struct rt_context *context;                         /* where it runs */
    union {
        struct {
            struct rt_launch launch;                    /* stream NULL; params read at once. From rt_node_params: params point to the node's copies */
            const void *handle;                         /* the kernel as the program named it, given back to it */
        } kernel;
        struct rt_copy copy;
        struct { uint64_t dst, pitch; uint32_t value, elem_bytes; uint64_t width, height; } set;
        struct { rt_host_fn fn; void *user; } host;
        struct rt_graph *child;                         /* copied; from rt_node_params: the node's own */
        struct rt_event *event;
        struct { uint64_t address, bytes; int device; } alloc;      /* address: an answer */
        uint64_t free;
        struct { const struct rt_value_op *ops; size_t n; const void *given; size_t given_bytes; } values;      /* copied, as above; given: for the program's questions */
        /* bodies: an answer, graphs that belong to the node and are filled by the program. */
        struct { uint64_t handle; enum rt_condition type; uint32_t n; struct rt_graph **bodies; } condition;
    } u;
};

enum status rt_graph_create(struct rt_graph **out) MUST_CHECK;
enum status rt_graph_destroy(struct rt_graph *g);
/* ST_NOT_SUPPORTED: it has memory nodes or conditions. */
enum status rt_graph_clone(struct rt_graph **out, const struct rt_graph *g) MUST_CHECK;
struct rt_node *const *rt_graph_nodes(const struct rt_graph *g, size_t *n);       /* in order of creation */
struct rt_node *rt_graph_find_clone(const struct rt_graph *clone, const struct rt_node *original);    /* NULL: it has none */
/* params->u.alloc.address is filled in. ST_INVALID_VALUE: a dependency of another graph, parameters that are no good. */
enum status rt_node_add(struct rt_node **out, struct rt_graph *g, struct rt_node *const *deps, size_t n_deps, struct rt_node_params *p, struct error *err) MUST_CHECK;
enum status rt_node_destroy(struct rt_node *n);         /* ST_NOT_SUPPORTED: a memory node */
const struct rt_node_params *rt_node_params(const struct rt_node *n);
enum status rt_node_set_params(struct rt_node *n, const struct rt_node_params *p, struct error *err);   /* ST_INVALID_VALUE: another type */
struct rt_graph *rt_node_graph(const struct rt_node *n);
/* from[i] before to[i]. ST_INVALID_VALUE: the edge exists already (add), does not (remove), of two graphs, from a node to itself. */
enum status rt_graph_edges_add(struct rt_graph *g, struct rt_node *const *from, struct rt_node *const *to, size_t n);
enum status rt_graph_edges_remove(struct rt_graph *g, struct rt_node *const *from, struct rt_node *const *to, size_t n);
struct rt_node *const *rt_node_before(const struct rt_node *n, size_t *count);
struct rt_node *const *rt_node_after(const struct rt_node *n, size_t *count);
/* A value that decides about condition nodes of g and of their bodies; kernels set it. A handle goes with its graph and what was instantiated of it.
 * assign: every execution begins with `value`. */
enum status rt_condition_create(uint64_t *handle, struct rt_graph *g, struct rt_context *c, uint32_t value, bool assign) MUST_CHECK;
void rt_graph_print(const struct rt_graph *g, FILE *to);          /* in the language of dot */

/* Attributes of kernel nodes: kept for what asks for them; those that a launch has act. bytes: of one value, at most RT_NODE_ATTRIBUTE_BYTES. */
enum { RT_NODE_ATTRIBUTES = 17, RT_NODE_ATTRIBUTE_BYTES = 64 };
enum status rt_node_attribute(const struct rt_node *n, int id, void *value);
enum status rt_node_set_attribute(struct rt_node *n, int id, const void *value);
enum status rt_node_copy_attributes(struct rt_node *to, const struct rt_node *from);

struct rt_user_object;                                  /* something that graphs keep alive; destroy(p) with the last reference */
enum status rt_user_object_create(struct rt_user_object **out, void *p, rt_host_fn destroy, uint32_t refs) MUST_CHECK;
enum status rt_user_object_retain(struct rt_user_object *o, uint32_t refs);
enum status rt_user_object_release(struct rt_user_object *o, uint32_t refs);        /* ST_INVALID_VALUE: more than there are */
enum status rt_graph_retain(struct rt_graph *g, struct rt_user_object *o, uint32_t refs, bool move);
enum status rt_graph_release(struct rt_graph *g, struct rt_user_object *o, uint32_t refs);

/* ---- execution ---- */

enum { RT_EXEC_AUTO_FREE = 1, RT_EXEC_UPLOAD = 2, RT_EXEC_DEVICE_LAUNCH = 4, RT_EXEC_NODE_PRIORITY = 8 };
/* A copy of the graph as it is now. ST_INVALID_VALUE: it has a cycle (*bad: a node on it). For kernels to launch also: it is empty; ST_NOT_SUPPORTED, ST_INVALID_CONTEXT: *bad is
 * nothing for that, or of another context than those before it. */
enum status rt_exec_create(struct rt_exec **out, struct rt_graph *g, uint64_t flags, struct rt_node **bad) MUST_CHECK;
enum status rt_exec_destroy(struct rt_exec *x);         /* what it enqueued still runs */
uint64_t rt_exec_flags(const struct rt_exec *x);
void rt_exec_upload(struct rt_exec *x);                 /* from now on kernels may launch it; the host's launches do so, too */
/* ST_INVALID_VALUE: memory of an earlier launch has not been freed. A capturing stream gets a child graph. */
enum status rt_exec_launch(struct rt_exec *x, struct rt_stream *s, struct error *err);
struct rt_node *rt_exec_node(const struct rt_exec *x, const struct rt_node *n);     /* the copy of a node of the graph it was made of, or NULL */
enum rt_update { RT_UPDATE_SUCCESS, RT_UPDATE_ERROR, RT_UPDATE_TOPOLOGY, RT_UPDATE_NODE_TYPE, RT_UPDATE_FUNCTION, RT_UPDATE_PARAMETERS, RT_UPDATE_NOT_SUPPORTED };
struct rt_update_result { enum rt_update result; struct rt_node *node, *from; };
/* Takes the parameters of g, whose nodes must have the same types and order. ST_GRAPH_EXEC_UPDATE_FAILURE with the reason in *out. */
enum status rt_exec_update(struct rt_exec *x, struct rt_graph *g, struct rt_update_result *out);
enum status rt_exec_set_child(struct rt_node *n, struct rt_graph *g);    /* n: an exec's; the same, for one child graph. ST_INVALID_VALUE: it differs in more */
bool rt_node_enabled(const struct rt_node *n);
enum status rt_node_enable(struct rt_node *n, bool on); /* ST_INVALID_VALUE: no kernel, copy or fill */

enum rt_graph_memory { RT_GRAPH_USED, RT_GRAPH_USED_HIGH, RT_GRAPH_RESERVED, RT_GRAPH_RESERVED_HIGH, RT_GRAPH_MEMORIES };
uint64_t rt_graph_memory(int device, enum rt_graph_memory what);       /* bytes that memory nodes have, or had since the last trim */
void rt_graph_memory_trim(int device);                  /* to what is allocated now */
enum status rt_graph_memory_reset(int device, enum rt_graph_memory what);        /* the high marks only */

/* ---- capture ---- */

enum rt_capture_mode { RT_CAPTURE_GLOBAL, RT_CAPTURE_THREAD, RT_CAPTURE_RELAXED };
enum rt_capture_status { RT_CAPTURE_NONE, RT_CAPTURE_ACTIVE, RT_CAPTURE_INVALIDATED };
struct rt_capture_info { enum rt_capture_status status; uint64_t id; struct rt_graph *graph; struct rt_node *const *deps; size_t n_deps; };
/* g: where the nodes go, behind deps; NULL: a new graph. ST_STREAM_CAPTURE_UNSUPPORTED: the legacy stream; ST_ILLEGAL_STATE: it is capturing. */
enum status rt_capture_begin(struct rt_stream *s, enum rt_capture_mode mode, struct rt_graph *g, struct rt_node *const *deps, size_t n);
enum status rt_capture_end(struct rt_stream *s, struct rt_graph **out);       /* out NULL: nobody wants it */
/* ST_STREAM_CAPTURE_IMPLICIT: the legacy stream, while a blocking stream of its context captures. deps are good until the stream's next operation. */
enum status rt_capture_info(struct rt_stream *s, struct rt_capture_info *out);
/* As rt_event_record and rt_stream_wait_event, but in a capture a node, so that events of other streams can be met when the graph runs. */
enum status rt_event_record_external(struct rt_event *e, struct rt_stream *s);
enum status rt_stream_wait_external(struct rt_stream *s, struct rt_event *e);
enum status rt_capture_update(struct rt_stream *s, struct rt_node *const *deps, size_t n, bool replace);
enum rt_capture_mode rt_capture_exchange(enum rt_capture_mode mode);   /* the calling thread's; answers the one before */

#endif
