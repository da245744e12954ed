/* Memory of graphs: an address that stays from launch to launch. */
#include <stdlib.h>

#include "runtime/graph_internal.h"

static uint64_t figures[MAX_DEVICES][RT_GRAPH_MEMORIES], in_use[MAX_DEVICES];    /* under the.memory */

/* What graphs once used stays theirs until it is trimmed, and serves the next graph. */
static void associate(int device, uint64_t bytes)
{
    static const enum rt_graph_memory pairs[] = {RT_GRAPH_USED, RT_GRAPH_RESERVED};
    for (size_t i = 0; i < 2; i++) {
        uint64_t *f = &figures[device][pairs[i]];
        f[0] = bytes;
        f[1] = f[1] < bytes ? bytes : f[1];
    }
}

static void account(const struct graph_memory *m, bool live)
{
    int d = m->allocation->device->ordinal;
    in_use[d] = live ? in_use[d] + m->allocation->bytes : in_use[d] - m->allocation->bytes;
    if (in_use[d] > figures[d][RT_GRAPH_USED])
        associate(d, in_use[d]);
}

void rt_graph_memory_trim(int device)
{
    pthread_mutex_lock(&the.memory);
    associate(device, in_use[device]);
    pthread_mutex_unlock(&the.memory);
}

enum status graph_memory_make(struct graph_memory **out, struct rt_context *c, int device, uint64_t bytes, struct error *err)
{
    struct graph_memory *m = calloc(1, sizeof *m);
    if (!m)
        return ST_OUT_OF_MEMORY;
    struct allocation_request q = {.context = c, .device = device_at(device), .kind = RT_MEMORY_ASYNC, .bytes = bytes, .what = "memory of a graph"};
    enum status st = allocation_make(&m->allocation, &q, err);
    if (st != ST_OK) {
        free(m);
        return st;
    }
    pthread_mutex_lock(&the.memory);
    m->refs = 1;
    m->allocation->graph = m;
    pthread_mutex_unlock(&the.memory);
    *out = m;
    return ST_OK;
}

void graph_memory_ref(struct graph_memory *m)
{
    pthread_mutex_lock(&the.memory);
    m->refs++;
    pthread_mutex_unlock(&the.memory);
}

/* Frees it once neither a node nor the program has it, behind what the device still does. */
static void settle(struct graph_memory *m, bool gone)
{
    if (!gone)
        return;
    if (m->allocation && !streams_in_simulation() && context_status(m->allocation->context) == ST_OK) {
        pthread_mutex_lock(&the.lock);
        context_wait(m->allocation->context);
        pthread_mutex_unlock(&the.lock);
    }
    if (m->allocation) {
        m->allocation->graph = NULL;
        allocation_drop(m->allocation);
    }
    free(m);
}

void graph_memory_lost(struct graph_memory *m)
{
    if (m->live)
        account(m, false);
    m->live = false;
    m->allocation = NULL;
}

void graph_memory_unref(struct graph_memory *m)
{
    pthread_mutex_lock(&the.memory);
    bool gone = --m->refs == 0 && !m->live;
    pthread_mutex_unlock(&the.memory);
    settle(m, gone);
}

void graph_memory_live(struct graph_memory *m, bool live)
{
    pthread_mutex_lock(&the.memory);
    if (m->live != live && m->allocation)
        account(m, live);
    m->live = live;
    bool gone = !m->refs && !live;
    pthread_mutex_unlock(&the.memory);
    settle(m, gone);
}

enum status graph_memory_free(struct graph_memory *m)
{
    if (!m->live)
        return ST_INVALID_VALUE;
    graph_memory_live(m, false);
    return ST_OK;
}

uint64_t rt_graph_memory(int device, enum rt_graph_memory what)
{
    pthread_mutex_lock(&the.memory);
    uint64_t bytes = figures[device][what];
    pthread_mutex_unlock(&the.memory);
    return bytes;
}

enum status rt_graph_memory_reset(int device, enum rt_graph_memory what)
{
    if (what != RT_GRAPH_USED_HIGH && what != RT_GRAPH_RESERVED_HIGH)
        return ST_INVALID_VALUE;
    pthread_mutex_lock(&the.memory);
    figures[device][what] = figures[device][what - 1];
    pthread_mutex_unlock(&the.memory);
    return ST_OK;
}
