#include "runtime/checkpoint/thread_name.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

#ifndef SANITIZED
typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
struct beginning { void *(*fn)(void *); void *arg; char name[THREAD_NAME_BYTES]; };

static void *begin(void *p)
{
    struct beginning b = *(struct beginning *)p;
    free(p);
    snprintf(me.name, sizeof me.name, "%s", b.name);
    return b.fn(b.arg);
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
