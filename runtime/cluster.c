/* Clusters as the host sees them: which size a launch has, what a function asks for, how many fit.
 *
 * The blocks of a cluster run on SMs of one GPC, at the same time. GPCs get their SMs in pairs (TPCs), spread as evenly as it goes, as on full
 * parts; real ones may have lost other pairs, so that the counts for the largest clusters are those of a good part. */
#include <string.h>

#include "runtime/internal.h"

enum { NON_PORTABLE_MAX = 16 };

static uint32_t product(const uint32_t n[3])
{
    uint64_t p = 1;
    for (int i = 0; i < 3; i++) {
        p *= n[i];
        if (p > UINT32_MAX)
            return UINT32_MAX;
    }
    return (uint32_t)p;
}

/* The most blocks that a cluster of f may have. */
static uint32_t most_blocks(const struct rt_function *f)
{
    const struct rt_device_facts *d = f->module->context->device->facts;
    uint32_t most = !d->cluster_launch ? 1 : f->non_portable ? NON_PORTABLE_MAX : (uint32_t)d->max_cluster_ctas;
    return f->facts.max_cluster_rank && f->facts.max_cluster_rank < most ? f->facts.max_cluster_rank : most;
}

static enum status check_size(const struct rt_function *f, const uint32_t n[3], const char *name, struct error *err)
{
    const struct rt_device_facts *d = f->module->context->device->facts;
    uint32_t ctas = product(n), most = most_blocks(f);
    if (!ctas)
        return error_set(err, ST_INVALID_CLUSTER_SIZE, "%s: a cluster of %u x %u x %u blocks", name, n[0], n[1], n[2]);
    if (ctas == 1 || ctas <= most)
        return ST_OK;
    if (f->facts.max_cluster_rank && ctas > f->facts.max_cluster_rank)
        return error_set(err, ST_INVALID_CLUSTER_SIZE, "%s: a cluster of %u blocks, the kernel was compiled for at most %u", name, ctas, f->facts.max_cluster_rank);
    error_set(err, ST_INVALID_CLUSTER_SIZE, "%s: a cluster of %u blocks, %s takes %u", name, ctas, d->name, most);
    if (d->cluster_launch && ctas <= NON_PORTABLE_MAX)
        error_hint(err, "cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) allows up to %d", NON_PORTABLE_MAX);
    return ST_INVALID_CLUSTER_SIZE;
}

enum status function_cluster(const struct rt_function *f, const uint32_t asked[3], struct cluster_choice *out, const char *name, struct error *err)
{
    const uint32_t *own = f->facts.cluster;
    bool compiled = own[0] != 0, set = f->cluster[0] || f->cluster[1] || f->cluster[2];
    const uint32_t *from = asked[0] ? asked : compiled ? own : set ? f->cluster : NULL;
    out->asked = from != NULL;
    for (int i = 0; i < 3; i++)
        out->ctas[i] = !from ? 1 : from == own && !own[i] ? 1 : from[i];
    if (compiled && asked[0])
        for (int i = 0; i < 3; i++)
            if (asked[i] != (own[i] ? own[i] : 1))
                return error_set(err, ST_INVALID_CLUSTER_SIZE, "%s: clusters of %u x %u x %u blocks, the kernel was compiled for %u x %u x %u", name, asked[0], asked[1],
                                 asked[2], own[0], own[1] ? own[1] : 1, own[2] ? own[2] : 1);
    if (!from && f->facts.explicit_cluster)
        return error_set(err, ST_INVALID_CLUSTER_SIZE, "%s: the kernel was compiled to be launched with cluster dimensions, there are none", name);
    return check_size(f, out->ctas, name, err);
}

enum status rt_function_set_cluster(struct rt_function *f, int axis, int blocks)
{
    enum status st = function_known(f, NULL);
    if (st != ST_OK)
        return st;
    if (blocks < 0)
        return ST_INVALID_VALUE;
    if (f->facts.cluster[0])
        return ST_NOT_PERMITTED;
    f->cluster[axis] = (uint32_t)blocks;
    return ST_OK;
}

enum status rt_function_set_non_portable(struct rt_function *f, bool on)
{
    f->non_portable = on;
    return ST_OK;
}

enum status rt_function_set_cluster_policy(struct rt_function *f, int policy)
{
    enum { DEFAULT, SPREAD, LOAD_BALANCING };
    if (policy < DEFAULT || policy > LOAD_BALANCING)
        return ST_INVALID_VALUE;
    f->cluster_policy = policy;
    return ST_OK;
}

/* ---- occupancy ---- */

static uint64_t clusters_at_once(const struct rt_device_facts *d, uint64_t ctas_per_sm, uint32_t cluster)
{
    enum { SMS_PER_TPC = 2 };
    uint64_t tpcs = d->sm_count / SMS_PER_TPC, n = 0;
    for (uint64_t g = 0; g < d->gpc_count; g++)
        n += (tpcs / d->gpc_count + (g < tpcs % d->gpc_count)) * SMS_PER_TPC * ctas_per_sm / cluster;
    return n;
}

enum status rt_occupancy_clusters(struct rt_function *f, const uint32_t cluster[3], const uint32_t block[3], size_t dynamic_shared_bytes, int *clusters, struct error *err)
{
    enum status st = function_known(f, err);
    struct cluster_choice choice;
    const struct rt_device_facts *d = f->module->context->device->facts;
    if (st == ST_OK)
        st = function_cluster(f, cluster, &choice, rt_function_name(f), err);
    if (st != ST_OK)
        return st;
    if (!d->cluster_launch || !choice.asked)
        return error_set(err, ST_INVALID_CLUSTER_SIZE, "occupancy of %s: %s", rt_function_name(f), choice.asked ? "the GPU has no clusters" : "no cluster dimensions given");
    *clusters = (int)clusters_at_once(d, function_ctas_per_sm(f, product(block), dynamic_shared_bytes), product(choice.ctas));
    return ST_OK;
}

/* The largest cluster of which one at least runs; a kernel that was compiled for clusters has those. */
enum status rt_occupancy_cluster_size(struct rt_function *f, const uint32_t block[3], size_t dynamic_shared_bytes, int *ctas)
{
    enum status st = function_known(f, NULL);
    struct cluster_choice choice;
    static const uint32_t nothing[3];
    if (st != ST_OK)
        return st;
    if (f->facts.cluster[0] || f->cluster[0]) {
        st = function_cluster(f, nothing, &choice, rt_function_name(f), NULL);
        *ctas = (int)product(choice.ctas);
        return st;
    }
    const struct rt_device_facts *d = f->module->context->device->facts;
    uint64_t per_sm = function_ctas_per_sm(f, product(block), dynamic_shared_bytes);
    uint32_t n = most_blocks(f);
    while (n > 1 && !clusters_at_once(d, per_sm, n))
        n--;
    *ctas = (int)n;
    return ST_OK;
}
