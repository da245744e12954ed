#include "runtime/checkpoint/thread_name.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/sanitized.h"

static _Thread_local struct { unsigned children; char name[THREAD_NAME_BYTES]; } me;

const char *thread_name(void)
{
    if (!me.name[0] && (long)getpid() == syscall(SYS_gettid))
        me.name[0] = '0';
    return me.name;
}

struct beginning { struct beginning *next; void *(*fn)(void *); void *arg; int tid; char name[THREAD_NAME_BYTES]; };
static struct beginning *alive;                /* under lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int thread_tid(const char *name)
{
    int tid = strcmp(name, "0") == 0 ? (int)getpid() : 0;
    pthread_mutex_lock(&lock);
    for (const struct beginning *b = alive; b; b = b->next)
        if (strcmp(b->name, name) == 0)
            tid = b->tid;
    pthread_mutex_unlock(&lock);
    return tid;
}

#ifndef SANITIZED
typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static void end(void *p)
{
    struct beginning **at = &alive;
    pthread_mutex_lock(&lock);
    while (*at && *at != p)
        at = &(*at)->next;
    if (*at)
        *at = (*at)->next;
    pthread_mutex_unlock(&lock);
    free(p);
}

static void *begin(void *p)
{
    struct beginning *b = p;
    void *result;
    snprintf(me.name, sizeof me.name, "%s", b->name);
    b->tid = (int)syscall(SYS_gettid);
    pthread_mutex_lock(&lock);
    b->next = alive;
    alive = b;
    pthread_mutex_unlock(&lock);
    pthread_cleanup_push(end, b);
    result = b->fn(b->arg);
    pthread_cleanup_pop(1);
    return result;
}

static create_fn *real(void)
{
    static create_fn *found;
    create_fn *f = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
    if (!f) {
        f = (create_fn *)(uintptr_t)dlvsym(RTLD_NEXT, "pthread_create", "GLIBC_2.34");
        if (!f)
            f = (create_fn *)(uintptr_t)dlvsym(RTLD_NEXT, "pthread_create", "GLIBC_2.2.5");
        __atomic_store_n(&found, f, __ATOMIC_RELEASE);
    }
    return f;
}

static int named(create_fn *make, pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    const char *own = thread_name();
    struct beginning *b = *own ? malloc(sizeof *b) : NULL;
    if (!b)
        return make(t, attr, fn, arg);
    *b = (struct beginning){.fn = fn, .arg = arg};
    int n = snprintf(b->name, sizeof b->name, "%s.%u", own, ++me.children);
    if (n >= (int)sizeof b->name)
        b->name[0] = 0;
    int e = make(t, attr, begin, b);
    if (e)
        free(b);
    return e;
}

static bool ours(void *caller)
{
    Dl_info it, us;
    return dladdr(caller, &it) && dladdr((void *)(uintptr_t)begin, &us) && it.dli_fbase == us.dli_fbase;
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *restrict t, const pthread_attr_t *restrict attr, void *(*fn)(void *), void *restrict arg)
{
    return ours(__builtin_return_address(0)) ? real()(t, attr, fn, arg) : named(real(), t, attr, fn, arg);
}
#endif
