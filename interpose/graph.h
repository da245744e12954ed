/* Graphs, as both APIs make them. */
#ifndef HEDDLE_INTERPOSE_GRAPH_H
#define HEDDLE_INTERPOSE_GRAPH_H
#include "interpose/api.h"
#include "runtime/graph.h"

/* Live handles; ST_INVALID_VALUE for others. */
enum status graph_check(CUgraph g) MUST_CHECK;
enum status node_check_handle(CUgraphNode n, enum rt_node_type type) MUST_CHECK;
/* Parameters in the runtime's words. with_kern: the struct has its last two members. handle: what the program called the kernel; NULL: p->func. */
enum status graph_kernel(const CUDA_KERNEL_NODE_PARAMS *p, CUfunction func, const void *handle, struct rt_node_params *out) MUST_CHECK;
enum status graph_copy_params(const struct rt_copy *c, struct rt_node_params *out) MUST_CHECK;
enum status graph_set_params(const CUDA_MEMSET_NODE_PARAMS *p, struct rt_node_params *out) MUST_CHECK;
enum status graph_values_params(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, struct rt_node_params *out) MUST_CHECK;       /* out->u.values.ops: values_free */
void graph_values_free(struct rt_node_params *p);
/* The calls. */
enum status graph_add(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n, struct rt_node_params *p);
enum status graph_set(CUgraphNode node, const struct rt_node_params *p);
enum status graph_exec_set(CUgraphExec exec, CUgraphNode node, const struct rt_node_params *p);
enum status graph_instantiate(CUgraphExec *out, CUgraph graph, uint64_t flags, CUgraphNode *bad);

#endif
