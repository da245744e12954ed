/* Capture: operations of a capturing stream become nodes of a graph instead of being enqueued.
 *
 * A capturing stream holds the nodes that its next one will depend on; an event recorded in it holds those of that moment, and a stream that waits for such
 * an event joins the capture. Whatever breaks the rules invalidates the capture: it answers errors until it is ended. */
#include <stdlib.h>
#include <string.h>

#include "runtime/graph_internal.h"

struct capture {
    struct capture *next;
    uint64_t id;
    struct rt_graph *graph;
    bool own_graph, invalid;
    enum rt_capture_mode mode;
    pthread_t thread;
    struct rt_stream *origin;
    VEC(struct stream_capture *) members;
};
struct stream_capture { struct capture *capture; struct rt_stream *stream; node_list tips; };     /* stream NULL: it was destroyed */
struct event_capture { uint64_t id; node_list tips; };

atomic_int captures_active;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;       /* taken before all others; all below is under it */
static struct capture *captures;
static uint64_t last_id;
static _Thread_local enum rt_capture_mode thread_mode = RT_CAPTURE_GLOBAL;

static struct capture *by_id(uint64_t id)
{
    struct capture *c = captures;
    while (c && c->id != id)
        c = c->next;
    return c;
}

/* ---- sets of nodes ---- */

static bool merge(struct capture *c, node_list *into, const node_list *from)
{
    for (size_t i = 0; i < from->n; i++) {
        struct rt_node *n = from->at[i];
        bool there = !rt_is(n, RT_GRAPH_NODE) || n->graph != c->graph;     /* the program has destroyed it */
        for (size_t k = 0; k < into->n && !there; k++)
            there = into->at[k] == n;
        if (!there && !vec_push(into, n))
            return false;
    }
    return true;
}

static struct stream_capture *join(struct capture *c, struct rt_stream *s)
{
    struct stream_capture *m = calloc(1, sizeof *m);
    if (!m || !vec_push(&c->members, m)) {
        free(m);
        return NULL;
    }
    *m = (struct stream_capture){.capture = c, .stream = s};
    s->capture = m;
    return m;
}

static void end(struct capture *c)
{
    for (struct capture **at = &captures; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    for (size_t i = 0; i < c->members.n; i++) {
        if (c->members.at[i]->stream)
            c->members.at[i]->stream->capture = NULL;
        vec_free(&c->members.at[i]->tips);
        free(c->members.at[i]);
    }
    vec_free(&c->members);
    free(c);
    captures_active--;
}

/* ---- what operations ask ---- */

/* The legacy stream would wait for a capturing blocking stream of its context. That breaks the capture. */
static bool implicit(const struct rt_stream *s)
{
    bool broken = false;
    for (struct capture *c = captures; c && s->is_legacy; c = c->next)
        for (size_t i = 0; i < c->members.n; i++) {
            const struct rt_stream *t = c->members.at[i]->stream;
            if (t && t->context == s->context && !(t->flags & RT_STREAM_NON_BLOCKING))
                broken = c->invalid = true;
        }
    return broken;
}

static enum status add(struct stream_capture *m, struct rt_node_params *p, struct error *err)
{
    struct capture *c = m->capture;
    if (c->invalid)
        return ST_STREAM_CAPTURE_INVALIDATED;
    struct rt_node *n;
    node_list tips = {0};
    enum status st = merge(c, &tips, &m->tips) ? rt_node_add(&n, c->graph, tips.at, tips.n, p, err) : ST_OUT_OF_MEMORY;
    vec_free(&tips);
    if (st == ST_OK) {
        m->tips.n = 0;
        if (!vec_push(&m->tips, n))
            st = ST_OUT_OF_MEMORY;
    }
    c->invalid = st != ST_OK;
    return st;
}

bool capture_take(struct rt_stream *s, struct rt_node_params *p, struct error *err, enum status *st)
{
    pthread_mutex_lock(&lock);
    bool taken = true;
    if (s->capture)
        *st = add(s->capture, p, err);
    else if (implicit(s))
        *st = ST_STREAM_CAPTURE_IMPLICIT;
    else
        taken = false;
    pthread_mutex_unlock(&lock);
    return taken;
}

enum status capture_refuse(struct rt_stream *s)
{
    enum status st = ST_OK;
    pthread_mutex_lock(&lock);
    if (s->capture) {
        st = s->capture->capture->invalid ? ST_STREAM_CAPTURE_INVALIDATED : ST_STREAM_CAPTURE_UNSUPPORTED;
        s->capture->capture->invalid = true;
    } else if (implicit(s)) {
        st = ST_STREAM_CAPTURE_IMPLICIT;
    }
    pthread_mutex_unlock(&lock);
    return st;
}

enum status capture_refuse_context(const struct rt_context *c)
{
    enum status st = ST_OK;
    pthread_mutex_lock(&lock);
    for (struct capture *k = captures; k; k = k->next)
        for (size_t i = 0; i < k->members.n; i++)
            if (k->members.at[i]->stream && k->members.at[i]->stream->context == c) {
                k->invalid = true;
                st = ST_STREAM_CAPTURE_UNSUPPORTED;
            }
    pthread_mutex_unlock(&lock);
    return st;
}

enum status capture_refuse_unsafe(void)
{
    enum status st = ST_OK;
    if (thread_mode == RT_CAPTURE_RELAXED)
        return st;
    pthread_mutex_lock(&lock);
    for (struct capture *c = captures; c; c = c->next) {
        bool mine = pthread_equal(c->thread, pthread_self());
        if ((c->mode == RT_CAPTURE_GLOBAL && (mine || thread_mode == RT_CAPTURE_GLOBAL)) || (c->mode == RT_CAPTURE_THREAD && mine)) {
            c->invalid = true;
            st = ST_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    pthread_mutex_unlock(&lock);
    return st;
}

bool capture_goes_to(const struct rt_graph *g)
{
    pthread_mutex_lock(&lock);
    bool yes = false;
    for (struct capture *c = captures; c; c = c->next)
        yes |= c->graph == g;
    pthread_mutex_unlock(&lock);
    return yes;
}

/* ---- events ---- */

void capture_forget_event(struct rt_event *e)
{
    if (e->captured) {
        vec_free(&e->captured->tips);
        free(e->captured);
    }
    e->captured = NULL;
}

bool capture_record(struct rt_event *e, struct rt_stream *s, enum status *st)
{
    pthread_mutex_lock(&lock);
    bool taken = true;
    struct stream_capture *m = s->capture;
    if (!m && implicit(s)) {
        *st = ST_STREAM_CAPTURE_IMPLICIT;
    } else if (!m) {
        capture_forget_event(e);
        taken = false;
    } else if (m->capture->invalid) {
        *st = ST_STREAM_CAPTURE_INVALIDATED;
    } else {
        capture_forget_event(e);
        e->captured = calloc(1, sizeof *e->captured);
        *st = e->captured && merge(m->capture, &e->captured->tips, &m->tips) ? ST_OK : ST_OUT_OF_MEMORY;
        if (e->captured)
            e->captured->id = m->capture->id;
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

static enum status wait_in_capture(struct rt_stream *s, struct rt_event *e)
{
    struct capture *c = e->captured ? by_id(e->captured->id) : NULL;
    struct stream_capture *m = s->capture;
    if (m && m->capture->invalid)
        return ST_STREAM_CAPTURE_INVALIDATED;
    if (e->captured && !c) {                            /* its capture has ended */
        if (m)
            m->capture->invalid = true;
        return ST_CAPTURED_EVENT;
    }
    if (!c) {                                           /* recorded, if ever, in a stream outside */
        m->capture->invalid = true;
        return ST_STREAM_CAPTURE_ISOLATION;
    }
    if (c->invalid)
        return ST_STREAM_CAPTURE_INVALIDATED;
    if (m && m->capture != c) {
        m->capture->invalid = c->invalid = true;
        return ST_STREAM_CAPTURE_MERGE;
    }
    if (!m && s->is_legacy) {
        c->invalid = true;
        return ST_STREAM_CAPTURE_IMPLICIT;
    }
    if (!m && !(m = join(c, s)))
        return ST_OUT_OF_MEMORY;
    return merge(c, &m->tips, &e->captured->tips) ? ST_OK : ST_OUT_OF_MEMORY;
}

bool capture_wait(struct rt_stream *s, struct rt_event *e, enum status *st)
{
    pthread_mutex_lock(&lock);
    bool taken = true;
    if (s->capture || e->captured)
        *st = wait_in_capture(s, e);
    else if (implicit(s))
        *st = ST_STREAM_CAPTURE_IMPLICIT;
    else
        taken = false;
    pthread_mutex_unlock(&lock);
    return taken;
}

static bool external(struct rt_stream *s, struct rt_event *e, enum rt_node_type type, enum status *st)
{
    struct rt_node_params p = {.type = type, .context = s->context};
    p.u.event = e;
    return capture_any() && capture_take(s, &p, NULL, st);
}

enum status rt_event_record_external(struct rt_event *e, struct rt_stream *s)
{
    enum status st;
    return external(s, e, RT_NODE_RECORD, &st) ? st : rt_event_record(e, s);
}

enum status rt_stream_wait_external(struct rt_stream *s, struct rt_event *e)
{
    enum status st;
    return external(s, e, RT_NODE_WAIT, &st) ? st : rt_stream_wait_event(s, e);
}

enum status capture_refuse_event(struct rt_event *e)
{
    pthread_mutex_lock(&lock);
    enum status st = e->captured ? ST_CAPTURED_EVENT : ST_OK;
    struct capture *c = e->captured ? by_id(e->captured->id) : NULL;
    if (c)
        c->invalid = true;
    pthread_mutex_unlock(&lock);
    return st;
}

/* ---- begin, end, questions ---- */

/* A graph that deps' nodes are of, each once. */
static enum status set_tips(struct stream_capture *m, struct rt_node *const *deps, size_t n, bool replace)
{
    for (size_t i = 0; i < n; i++)
        if (!rt_is(deps[i], RT_GRAPH_NODE) || deps[i]->graph != m->capture->graph)
            return ST_INVALID_VALUE;
    node_list given = {0};
    for (size_t i = 0; i < n; i++)
        if (!vec_push(&given, deps[i])) {
            vec_free(&given);
            return ST_OUT_OF_MEMORY;
        }
    if (replace)
        m->tips.n = 0;
    enum status st = merge(m->capture, &m->tips, &given) ? ST_OK : ST_OUT_OF_MEMORY;
    vec_free(&given);
    return st;
}

static enum status begin(struct rt_stream *s, enum rt_capture_mode mode, struct rt_graph *g, struct rt_node *const *deps, size_t n)
{
    if (s->is_legacy)
        return ST_STREAM_CAPTURE_UNSUPPORTED;
    if (s->capture)
        return ST_ILLEGAL_STATE;
    struct capture *c = calloc(1, sizeof *c);
    enum status st = c ? ST_OK : ST_OUT_OF_MEMORY;
    if (st == ST_OK) {
        *c = (struct capture){.next = captures, .id = ++last_id, .graph = g, .own_graph = !g, .mode = mode, .thread = pthread_self(), .origin = s};
        st = g ? ST_OK : rt_graph_create(&c->graph);
    }
    if (st != ST_OK) {
        free(c);
        return st;
    }
    captures = c;
    captures_active++;
    struct stream_capture *m = join(c, s);
    st = m ? set_tips(m, deps, n, true) : ST_OUT_OF_MEMORY;
    if (st != ST_OK) {
        if (!g)
            graph_drop(c->graph);
        end(c);
    }
    return st;
}

enum status rt_capture_begin(struct rt_stream *s, enum rt_capture_mode mode, struct rt_graph *g, struct rt_node *const *deps, size_t n)
{
    enum status st = context_status(s->context);
    if (st != ST_OK)
        return st;
    if (g && (g->of_exec || capture_goes_to(g)))
        return ST_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    st = begin(s, mode, g, deps, n);
    pthread_mutex_unlock(&lock);
    return st;
}

/* Everything that other streams did comes before the end of the origin's. */
static bool joined(const struct capture *c)
{
    const node_list *own = &c->origin->capture->tips;
    if (!graph_mark_before(c->graph, own->at, own->n))
        return false;
    for (size_t k = 0; k < c->members.n; k++)
        for (size_t i = 0; i < c->members.at[k]->tips.n; i++) {
            const struct rt_node *n = c->members.at[k]->tips.at[i];
            if (rt_is(n, RT_GRAPH_NODE) && n->graph == c->graph && !n->mark)
                return false;
        }
    return true;
}

enum status rt_capture_end(struct rt_stream *s, struct rt_graph **out)
{
    if (out)
        *out = NULL;
    pthread_mutex_lock(&lock);
    struct stream_capture *m = s->capture;
    struct capture *c = m ? m->capture : NULL;
    enum status st = ST_OK;
    bool over = true;
    if (!c) {
        st = ST_ILLEGAL_STATE;
        over = false;
    } else if (c->origin != s) {
        st = ST_STREAM_CAPTURE_UNMATCHED;
        c->invalid = true;
        over = false;
    } else if (c->mode != RT_CAPTURE_RELAXED && !pthread_equal(c->thread, pthread_self())) {
        st = ST_STREAM_CAPTURE_WRONG_THREAD;
        over = false;
    } else if (c->invalid) {
        st = ST_STREAM_CAPTURE_INVALIDATED;
    } else if (!joined(c)) {
        st = ST_STREAM_CAPTURE_UNJOINED;
    }
    struct rt_graph *g = over ? c->graph : NULL, *left = over && (st != ST_OK || !out) && c->own_graph ? c->graph : NULL;
    if (over)
        end(c);
    pthread_mutex_unlock(&lock);
    if (left)
        graph_drop(left);
    else if (st == ST_OK && out)
        *out = g;
    return st;
}

enum status rt_capture_info(struct rt_stream *s, struct rt_capture_info *out)
{
    *out = (struct rt_capture_info){.status = RT_CAPTURE_NONE};
    if (!capture_any())
        return ST_OK;
    pthread_mutex_lock(&lock);
    struct stream_capture *m = s->capture;
    enum status st = ST_OK;
    if (m)
        *out = (struct rt_capture_info){m->capture->invalid ? RT_CAPTURE_INVALIDATED : RT_CAPTURE_ACTIVE, m->capture->id, m->capture->graph, m->tips.at, m->tips.n};
    else if (implicit(s))
        st = ST_STREAM_CAPTURE_IMPLICIT;
    pthread_mutex_unlock(&lock);
    return st;
}

enum status rt_capture_update(struct rt_stream *s, struct rt_node *const *deps, size_t n, bool replace)
{
    pthread_mutex_lock(&lock);
    struct stream_capture *m = s->capture;
    enum status st = !m ? ST_ILLEGAL_STATE : m->capture->invalid ? ST_STREAM_CAPTURE_INVALIDATED : set_tips(m, deps, n, replace);
    pthread_mutex_unlock(&lock);
    return st;
}

enum rt_capture_mode rt_capture_exchange(enum rt_capture_mode mode)
{
    enum rt_capture_mode was = thread_mode;
    thread_mode = mode;
    return was;
}

struct rt_graph *capture_forget_stream(struct rt_stream *s)
{
    struct rt_graph *left = NULL;
    if (!s->capture)
        return NULL;
    pthread_mutex_lock(&lock);
    struct stream_capture *m = s->capture;
    if (m && m->capture->origin == s) {
        left = m->capture->own_graph ? m->capture->graph : NULL;
        end(m->capture);
    } else if (m) {
        m->stream = NULL;
        s->capture = NULL;
    }
    pthread_mutex_unlock(&lock);
    return left;
}
