/* Host functions in streams run on a thread of their own, because they may block on what another stream does. */
#include <signal.h>
#include <string.h>

#include "runtime/internal.h"

static pthread_t thread;
static bool runs;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static VEC(struct op *) calls;                 /* oldest first; all of this under the.lock */

/* Threads of ours take no signals: the program's handlers run on its own threads. */
bool thread_start(pthread_t *t, void *(*fn)(void *))
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool ok = pthread_create(t, NULL, fn, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return ok;
}

static void *run(void *unused)
{
    (void)unused;
    streams_enter();
    pthread_mutex_lock(&the.lock);
    for (;;) {
        while (!calls.n)
            pthread_cond_wait(&work, &the.lock);
        struct op *op = calls.at[0];
        memmove(calls.at, calls.at + 1, --calls.n * sizeof *calls.at);
        enum status st = context_status(op->stream->context);
        pthread_mutex_unlock(&the.lock);
        if (op->kind == OP_CALLBACK)
            op->u.call.callback(op->u.call.handle, status_cu(st), op->u.call.user);
        else if (st == ST_OK)
            op->u.call.host(op->u.call.user);
        pthread_mutex_lock(&the.lock);
        call_finished(op);
    }
    return NULL;
}

bool call_hand_over(struct op *op)
{
    if (!runs) {
        runs = thread_start(&thread, run);
        if (runs)
            pthread_detach(thread);
    }
    if (!runs || !vec_push(&calls, op))
        return false;
    pthread_cond_signal(&work);
    return true;
}
