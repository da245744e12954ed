/* Green contexts: the SMs of a device, cut into parts. */
#include <string.h>

#include "interpose/api.h"

enum { TYPE_INVALID, TYPE_SM };                            /* CUdevResourceType */
enum { FROM_QUERY = 1, FROM_SPLIT };
enum { MAGIC = 0x48534d73 };                               /* ours: a resource is nothing that a program makes itself */

/* The SMs of a part lie in the bytes that are the driver's own. */
struct inside { uint32_t magic, from; int device; uint32_t group; struct rt_sms sms; };
_Static_assert(sizeof(struct inside) <= sizeof((CUdevResource *)0)->internal, "room in CUdevResource");

static unsigned count(const struct rt_sms *s)
{
    unsigned n = 0;
    for (int i = 0; i < RT_SM_WORDS; i++)
        n += (unsigned)__builtin_popcountll(s->bits[i]);
    return n;
}

/* The least part, and what its size is a multiple of, as CUDA documents them for each architecture. */
static unsigned least(int device, unsigned flags)
{
    enum { IGNORE_COSCHEDULING = 1, LARGE_CLUSTERS = 2, LARGEST_CLUSTER = 16 };
    unsigned sm = (unsigned)rt_device_facts(device)->sm;
    if (flags & LARGE_CLUSTERS)
        return LARGEST_CLUSTER;
    return flags & IGNORE_COSCHEDULING || sm < 80 ? 2 : sm < 90 ? 4 : 8;
}

static unsigned step(int device, unsigned flags)
{
    unsigned sm = (unsigned)rt_device_facts(device)->sm;
    return sm >= 80 && sm < 90 ? 2 : least(device, flags);
}

static void fill(CUdevResource *r, int device, unsigned from, unsigned group, const struct rt_sms *sms)
{
    static const struct rt_sms none;
    struct inside in = {.magic = MAGIC, .from = from, .device = device, .group = group, .sms = sms ? *sms : none};
    memset(r, 0, sizeof *r);
    r->type = count(&in.sms) ? TYPE_SM : TYPE_INVALID;
    memcpy(r->internal, &in, sizeof in);
    r->sm.count = count(&in.sms);
    r->sm.least = least(device, 0);
    r->sm.alignment = step(device, 0);
}

static enum status look(const CUdevResource *r, struct inside *out)
{
    if (r->type != TYPE_SM)
        return ST_INVALID_RESOURCE_TYPE;
    memcpy(out, r->internal, sizeof *out);
    return out->magic == MAGIC && rt_device_facts(out->device) ? ST_OK : ST_INVALID_VALUE;
}

static enum status wanted(const CUdevResource *resource, int type)
{
    return !resource ? ST_INVALID_VALUE : type == TYPE_SM ? ST_OK : ST_INVALID_RESOURCE_TYPE;
}

static void fill_whole(CUdevResource *r, int device)
{
    struct rt_sms all = {{0}};
    for (unsigned i = 0; i < rt_device_facts(device)->sm_count && i < RT_SM_WORDS * 64; i++)
        all.bits[i / 64] |= (uint64_t)1 << i % 64;
    fill(r, device, FROM_QUERY, 0, &all);
}

enum status cu_device_get_dev_resource(CUdevice dev, CUdevResource *resource, int type)
{
    enum status st = api_device(dev);
    st = st == ST_OK ? wanted(resource, type) : st;
    if (st == ST_OK)
        fill_whole(resource, dev);
    return st;
}

enum status cu_ctx_get_dev_resource(CUcontext ctx, CUdevResource *resource, int type)
{
    struct rt_context *c;
    struct rt_green *g;
    enum status st = api_context_green(ctx, &c, &g);
    st = st == ST_OK ? wanted(resource, type) : st;
    if (st == ST_OK && g)
        fill(resource, rt_context_device(c), FROM_QUERY, 0, rt_green_sms(g));
    else if (st == ST_OK)
        fill_whole(resource, rt_context_device(c));
    return st;
}

static enum status green_check(CUgreenCtx green)
{
    enum status st = api_check(green, RT_GREEN);
    return st == ST_INVALID_HANDLE ? ST_INVALID_CONTEXT : st;
}

enum status cu_green_ctx_get_dev_resource(CUgreenCtx green, CUdevResource *resource, int type)
{
    enum status st = green_check(green);
    st = st == ST_OK ? wanted(resource, type) : st;
    if (st == ST_OK)
        fill(resource, rt_context_device(rt_green_context(green)), FROM_QUERY, 0, rt_green_sms(green));
    return st;
}

/* Moves the n lowest SMs out of *from. */
static struct rt_sms take(struct rt_sms *from, unsigned n)
{
    struct rt_sms out = {{0}};
    for (int i = 0; i < RT_SM_WORDS; i++)
        for (; n && from->bits[i]; n--) {
            uint64_t lowest = from->bits[i] & -from->bits[i];
            from->bits[i] &= ~lowest;
            out.bits[i] |= lowest;
        }
    return out;
}

enum status cu_dev_sm_resource_split(CUdevResource *result, unsigned *n_groups, const CUdevResource *input, CUdevResource *remaining, unsigned flags, unsigned min_count)
{
    enum { FLAGS = 3, LARGE_CLUSTERS = 2 };
    static unsigned splits;
    struct inside in;
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!n_groups || !input || flags & ~(unsigned)FLAGS)
        return ST_INVALID_VALUE;
    enum status st = look(input, &in);
    if (st != ST_OK)
        return st;
    if (in.from != FROM_QUERY || min_count > count(&in.sms))
        return ST_INVALID_RESOURCE_CONFIGURATION;      /* a part is split again through a green context of it */
    if (flags & LARGE_CLUSTERS && rt_device_facts(in.device)->sm < 90)
        return ST_INVALID_VALUE;
    unsigned unit = step(in.device, flags), size = (min_count + unit - 1) / unit * unit, possible;
    size = size < least(in.device, flags) ? least(in.device, flags) : size;
    possible = count(&in.sms) / size;
    unsigned n = !result || *n_groups > possible ? possible : *n_groups, group = __atomic_add_fetch(&splits, 1, __ATOMIC_RELAXED);
    if (!n)
        return ST_INVALID_RESOURCE_CONFIGURATION;
    for (unsigned i = 0; i < n; i++) {
        struct rt_sms part = take(&in.sms, size);
        if (result)
            fill(&result[i], in.device, FROM_SPLIT, group, &part);
    }
    if (remaining)
        fill(remaining, in.device, FROM_SPLIT, group, &in.sms);
    *n_groups = n;
    return ST_OK;
}

enum status cu_dev_resource_generate_desc(CUdevResourceDesc *desc, CUdevResource *resources, unsigned n)
{
    enum { MOST = RT_SM_WORDS * 64 };                  /* parts of one SM each: beyond that the count is none */
    struct inside first = {0}, in;
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!desc || !resources || !n || n > MOST)
        return ST_INVALID_VALUE;
    for (unsigned i = 0; i < n; i++) {
        enum status st = look(&resources[i], &in);
        if (st != ST_OK)
            return st;
        if (i == 0)
            first = in;
        else if (in.device != first.device || in.from != FROM_SPLIT || first.from != FROM_SPLIT || in.group != first.group)
            return ST_INVALID_RESOURCE_CONFIGURATION;
        for (int k = 0; k < RT_SM_WORDS; k++)
            first.sms.bits[k] |= in.sms.bits[k];
    }
    *desc = rt_resources_new(first.device, &first.sms);
    return *desc ? ST_OK : ST_OUT_OF_MEMORY;
}

enum status cu_green_ctx_create(CUgreenCtx *out, CUdevResourceDesc desc, CUdevice dev, unsigned flags)
{
    enum { DEFAULT_STREAM = 1 };
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    if (!out || !rt_is(desc, RT_RESOURCES) || rt_resources_device(desc) != dev || flags != DEFAULT_STREAM)
        return ST_INVALID_VALUE;
    return rt_green_create(out, desc);
}

enum status cu_green_ctx_destroy(CUgreenCtx green)
{
    enum status st = green_check(green);
    return st == ST_OK ? rt_green_destroy(green) : st;
}

enum status cu_ctx_from_green_ctx(CUcontext *out, CUgreenCtx green)
{
    enum status st = green_check(green);
    if (st != ST_OK)
        return st;
    if (!out)
        return ST_INVALID_VALUE;
    *out = api_context_handle(rt_green_context(green), green);
    return ST_OK;
}

enum status cu_green_ctx_get_id(CUgreenCtx green, uint64_t *id)
{
    enum status st = green_check(green);
    if (st != ST_OK)
        return st;
    if (!id)
        return ST_INVALID_VALUE;
    *id = rt_green_id(green);
    return ST_OK;
}

enum status cu_green_ctx_stream_create(CUstream *stream, CUgreenCtx green, unsigned flags, int priority)
{
    enum { NON_BLOCKING = 1 };
    enum status st = green_check(green);
    if (st != ST_OK)
        return st;
    return stream && flags == NON_BLOCKING ? rt_green_stream(stream, green, flags, priority) : ST_INVALID_VALUE;
}

/* ---- events of whole contexts ---- */

static enum status event_of(enum status st, CUevent event) { return st == ST_OK ? api_check(event, RT_EVENT) : st; }

enum status cu_green_ctx_record_event(CUgreenCtx green, CUevent event)
{
    enum status st = event_of(green_check(green), event);
    return st == ST_OK ? rt_context_record(rt_green_context(green), green, event) : st;
}

enum status cu_green_ctx_wait_event(CUgreenCtx green, CUevent event)
{
    enum status st = event_of(green_check(green), event);
    return st == ST_OK ? rt_context_wait(rt_green_context(green), green, event) : st;
}

enum status cu_ctx_record_event(CUcontext ctx, CUevent event)
{
    struct rt_context *c;
    struct rt_green *g;
    enum status st = event_of(api_context_green(ctx, &c, &g), event);
    return st == ST_OK ? rt_context_record(c, g, event) : st;
}

enum status cu_ctx_wait_event(CUcontext ctx, CUevent event)
{
    struct rt_context *c;
    struct rt_green *g;
    enum status st = event_of(api_context_green(ctx, &c, &g), event);
    return st == ST_OK ? rt_context_wait(c, g, event) : st;
}
