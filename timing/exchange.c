/* The mail between the halves of a window: every host thread takes what is for its own SMs before it runs them, and what is for its own channels before those. */
#include "timing/model.h"

#include <string.h>

/* Drops what was read of a sorted vector. */
#define vec_drop(v, first)                                                                                                                                                       \
    do {                                                                                                                                                                         \
        if (first)                                                                                                                                                               \
            memmove((v)->at, (v)->at + (first), ((v)->n - (first)) * sizeof *(v)->at);                                                                                            \
        (v)->n -= (first);                                                                                                                                                       \
        (first) = 0;                                                                                                                                                             \
    } while (0)

void exchange_replies(struct timing_gpu *g, unsigned t)
{
    struct exchange *e = &g->exchange[t];
    struct mail *m = &e->mail;
    mail_begin(m);
    for (uint32_t i = 0; i < g->n_channels; i++)
        for (uint32_t k = 0; k < g->config.mem.slices; k++) {
            struct slice *l = &g->channels[i].slices[k];
            e->no_memory |= !mail_add(m, l->out[t].at, l->out[t].n) || !mail_add(m, l->far[t].at, l->far[t].n);
            l->out[t].n = l->far[t].n = 0;
        }
    mail_sort(m);
    for (uint32_t i = 0; i < g->n_sms; i++) {
        struct sm *s = &g->sms[i];
        if (thread_of_sm(g, i) != t)
            continue;
        vec_drop(&s->inbox, s->inbox_at);
        s->inbox_old = s->inbox.n;
        for (unsigned k = 0; k < g->n_threads; k++) {
            s->in_network -= g->exchange[k].granted[i];
            g->exchange[k].granted[i] = 0;
        }
    }
    for (size_t i = 0; i < m->n; i++) {
        struct message *to = vec_add(&g->sms[packet_sm(m->items[i].packet)].inbox);
        e->no_memory |= !to;
        if (to)
            *to = m->items[i];
    }
    for (uint32_t i = 0; i < g->n_sms; i++)
        if (thread_of_sm(g, i) == t)
            e->no_memory |= !mail_merge(m, g->sms[i].inbox.at, g->sms[i].inbox_old, g->sms[i].inbox.n);
}

void exchange_requests(struct timing_gpu *g, unsigned t)
{
    struct exchange *e = &g->exchange[t];
    struct mail *m = &e->mail;
    uint32_t per = g->config.mem.slices;
    mail_begin(m);
    for (uint32_t i = 0; i < g->n_sms; i++) {
        e->no_memory |= !mail_add(m, g->sms[i].out[t].at, g->sms[i].out[t].n);
        g->sms[i].out[t].n = 0;
    }
    mail_sort(m);
    for (uint32_t i = t; i < g->n_channels; i += g->n_threads)
        for (uint32_t k = 0; k < per; k++) {
            struct slice *l = &g->channels[i].slices[k];
            vec_drop(&l->arrivals, l->arrivals_at);
            l->arrivals_old = l->arrivals.n;
        }
    for (size_t i = 0; i < m->n; i++) {
        struct channel *c = &g->channels[m->items[i].slice / per];
        struct message *to = vec_add(&c->slices[m->items[i].slice % per].arrivals);
        e->no_memory |= !to;
        if (to)
            *to = m->items[i];
        c->fresh = true;
    }
    for (uint32_t i = t; i < g->n_channels; i += g->n_threads)
        for (uint32_t k = 0; k < per; k++) {
            struct slice *l = &g->channels[i].slices[k];
            e->no_memory |= !mail_merge(m, l->arrivals.at, l->arrivals_old, l->arrivals.n);
        }
}
