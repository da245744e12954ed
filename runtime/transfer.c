/* Copies and fills on the simulated GPU. Memory changes when one begins; its operation ends when the engine of its direction has had the time that it takes. While kernels
 * run, their cycles are that time; when nothing else goes on, the clock moves on to the end of the next transfer.
 *
 * All is under the.lock, and only the thread that drives the queues changes anything. */
#include <math.h>

#include "runtime/base/bytes.h"
#include "runtime/internal.h"
#include "timing/timing.h"

enum engine { TO_DEVICE, TO_HOST, INSIDE, ENGINES };

struct transfer { struct op *op; struct device *device; uint64_t end; };     /* end: core cycle */
static VEC(struct transfer) transfers;
static uint64_t engine_from[MAX_DEVICES][ENGINES];         /* core cycle at which it is free */
struct begun { uint64_t stream, end; };
static VEC(struct begun) begun;        /* of a checkpoint: those of streams' first operations, which will be begun again; end 0: it was */

static enum engine engine_of(const struct op *op)
{
    if (op->kind == OP_SET)
        return INSIDE;
    bool from = memory_place(op->u.copy.src, 1) == PLACE_DEVICE, to = memory_place(op->u.copy.dst, 1) == PLACE_DEVICE;
    return from && to ? INSIDE : to ? TO_DEVICE : TO_HOST;
}

/* 0: it takes no time. */
static uint64_t cycles_of(const struct timing_config *c, const struct op *op, enum engine e)
{
    const double rates[ENGINES] = {c->copy.to_device, c->copy.to_host, c->copy.device};
    const struct rt_copy *k = &op->u.copy;
    const struct set *s = &op->u.set;
    double bytes = op->kind == OP_SET ? (double)s->width * s->elem_bytes * (double)s->height / 2 : (double)k->width * (double)k->height * (double)k->depth;     /* fills only write */
    return rates[e] > 0 ? c->copy.latency + (uint64_t)ceil(bytes * c->clock.core / (rates[e] * 1000)) : 0;
}

/* What comes from the host is in L2 afterwards, when the configuration says so. */
static void fill_l2(struct device *d, const struct rt_copy *c)
{
    for (uint64_t z = 0; z < c->depth; z++)
        for (uint64_t y = 0; y < c->height; y++)
            timing_copy_to_device(d->gpu, c->dst + z * c->dst_slice + y * c->dst_pitch, c->width);
}

/* The end that was set before the checkpoint; 0: it begins now. */
static uint64_t end_set(const struct rt_stream *s)
{
    for (size_t i = 0; i < begun.n; i++)
        if (begun.at[i].stream == rt_stream_id(s)) {
            uint64_t end = begun.at[i].end;
            begun.at[i].end = 0;
            return end;
        }
    return 0;
}

bool transfer_begin(struct op *op)
{
    struct device *d = op->stream->context->device;
    if (!sim_ready(d))
        return false;
    uint64_t set = end_set(op->stream);
    if (set)
        return vec_push(&transfers, ((struct transfer){op, d, set}));
    enum engine e = engine_of(op);
    if (e == TO_DEVICE)
        fill_l2(d, &op->u.copy);
    uint64_t cycles = cycles_of(timing_gpu_config(d->gpu), op, e), now = timing_gpu_cycle(d->gpu), *from = &engine_from[d->ordinal][e];
    if (!cycles)
        return false;
    uint64_t end = (*from > now ? *from : now) + cycles;
    if (!vec_push(&transfers, ((struct transfer){op, d, end})))
        return false;
    *from = end;
    return true;
}

bool transfers_any(void) { return transfers.n != 0; }

uint64_t transfers_next(const struct device *d)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < transfers.n; i++)
        if (transfers.at[i].device == d && transfers.at[i].end < next)
            next = transfers.at[i].end;
    return next;
}

struct op *transfer_ended(bool alone)
{
    size_t first = 0;
    for (size_t i = 1; i < transfers.n; i++)
        if (transfers.at[i].end < transfers.at[first].end)
            first = i;
    if (!transfers.n)
        return NULL;
    struct transfer t = transfers.at[first];
    if (timing_gpu_cycle(t.device->gpu) < t.end && !alone)
        return NULL;
    sim_pass(t.device, t.end);
    transfers.at[first] = transfers.at[--transfers.n];
    return t.op;
}

void transfers_save(struct sink *to)
{
    put(to, engine_from, sizeof engine_from);
    put_u32(to, (uint32_t)transfers.n);
    for (size_t i = 0; i < transfers.n; i++) {
        put_u64(to, rt_stream_id(transfers.at[i].op->stream));
        put_u64(to, transfers.at[i].end);
    }
}

bool transfers_restore(struct source *from)
{
    get(from, engine_from, sizeof engine_from);
    begun.n = 0;
    for (uint32_t n = get_u32(from); n && !from->failed; n--) {
        if (!vec_reserve(&begun, begun.n + 1))
            return false;
        begun.at[begun.n].stream = get_u64(from);
        begun.at[begun.n++].end = get_u64(from);
    }
    return !from->failed;
}
