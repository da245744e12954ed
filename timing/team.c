#include "timing/team.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SPINS = 2000 };

struct member { struct team *team; unsigned number; pthread_t thread; struct emu_worker *worker; };
struct team {
    unsigned n;
    struct member members[TEAM_MOST];
    void (*fn)(void *user, uint32_t i); void *user; uint32_t count;
    atomic_uint round, done;                   /* a new round starts the others; they count themselves done */
    atomic_bool ends;
    pthread_mutex_t lock; pthread_cond_t wake; /* for those that have spun long enough */
};

static void share(struct team *t, unsigned k)
{
    for (uint32_t i = k; i < t->count; i += t->n)
        t->fn(t->user, i);
}

static void await_round(struct team *t, unsigned seen)
{
    for (unsigned i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&t->round, memory_order_acquire) != seen)
            return;
        if (i % 64 == 63)
            sched_yield();
    }
    pthread_mutex_lock(&t->lock);
    while (atomic_load_explicit(&t->round, memory_order_acquire) == seen)
        pthread_cond_wait(&t->wake, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

static void *work(void *user)
{
    struct member *m = user;
    struct team *t = m->team;
    fesetenv(FE_DFL_ENV);                      /* the program may run with another rounding */
    for (unsigned seen = 0;; seen++) {
        await_round(t, seen);
        if (atomic_load(&t->ends))
            return NULL;
        share(t, m->number);
        atomic_fetch_add_explicit(&t->done, 1, memory_order_release);
    }
}

static void next_round(struct team *t)
{
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add_explicit(&t->round, 1, memory_order_release);
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

enum status team_create(struct team **out, unsigned threads, struct error *err)
{
    struct team *t = *out = calloc(1, sizeof *t);
    if (!t)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for simulation threads");
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    threads = threads < 1 ? 1 : threads > TEAM_MOST ? TEAM_MOST : threads;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);  /* the program's handlers run on its own threads */
    enum status st = ST_OK;
    for (unsigned i = 0; i < threads && st == ST_OK; i++) {
        struct member *m = &t->members[i];
        *m = (struct member){.team = t, .number = i};
        st = emu_worker_create(&m->worker, err);
        if (st == ST_OK && i && pthread_create(&m->thread, NULL, work, m) != 0) {
            emu_worker_free(m->worker);
            break;                             /* fewer threads, same result */
        }
        t->n = i + 1;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (st != ST_OK) {
        team_free(t);
        *out = NULL;
    }
    return st;
}

void team_free(struct team *t)
{
    if (!t)
        return;
    atomic_store(&t->ends, true);
    next_round(t);
    for (unsigned i = 0; i < t->n; i++) {
        if (i)
            pthread_join(t->members[i].thread, NULL);
        emu_worker_free(t->members[i].worker);
    }
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void team_run(struct team *t, uint32_t n, void (*fn)(void *user, uint32_t i), void *user)
{
    t->fn = fn;
    t->user = user;
    t->count = n;
    if (t->n == 1) {
        share(t, 0);
        return;
    }
    atomic_store_explicit(&t->done, 0, memory_order_relaxed);
    next_round(t);
    share(t, 0);
    for (unsigned i = 0; atomic_load_explicit(&t->done, memory_order_acquire) < t->n - 1; i++)
        if (i % 256 == 255)
            sched_yield();
}

struct emu_worker *team_worker(const struct team *t, uint32_t i) { return t->members[i % t->n].worker; }

unsigned team_size(const struct team *t) { return t->n; }
