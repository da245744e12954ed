/* What a program says of core dumps. No dump is written: the log's report of a kernel's error tells more than there is in one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/api.h"

/* CUcoredumpSettings. */
enum { ON_EXCEPTION = 1, TRIGGER_HOST, LIGHTWEIGHT, USER_TRIGGER, FILE_NAME, PIPE_NAME, FLAGS, SETTINGS };
/* CUCoredumpGenerationFlags; two older settings are another way to say them. */
enum { LIGHTWEIGHT_FLAGS = 1 | 2 | 4 | 8 | 32, SKIP_ABORT = 16, ALL_FLAGS = 63 };
enum { NAME_BYTES = 1024 };

struct dumps {
    bool on_exception, user_trigger;
    unsigned flags;
    char file[NAME_BYTES], pipe[NAME_BYTES];
    unsigned said;                             /* bits of what a context says for itself; the rest is as for all */
};
static struct dumps global;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void defaults(void)
{
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1);
    snprintf(global.file, sizeof global.file, "core.cuda.%s.%d", host, (int)getpid());
    snprintf(global.pipe, sizeof global.pipe, "corepipe.cuda.%s.%d", host, (int)getpid());
}

static size_t bytes_of(int which, const struct dumps *d)
{
    switch (which) {
    case FILE_NAME: return strlen(d->file) + 1;
    case PIPE_NAME: return strlen(d->pipe) + 1;
    case FLAGS: return sizeof d->flags;
    default: return sizeof(bool);
    }
}

static void get(int which, const struct dumps *d, void *value)
{
    const bool bits[SETTINGS] = {[ON_EXCEPTION] = d->on_exception, [TRIGGER_HOST] = !(d->flags & SKIP_ABORT),
                                 [LIGHTWEIGHT] = (d->flags & LIGHTWEIGHT_FLAGS) == LIGHTWEIGHT_FLAGS, [USER_TRIGGER] = d->user_trigger};
    const void *from = which == FILE_NAME ? (const void *)d->file : which == PIPE_NAME ? (const void *)d->pipe : which == FLAGS ? (const void *)&d->flags : &bits[which];
    memcpy(value, from, bytes_of(which, d));
}

static enum status set_name(char *to, const char *value, size_t bytes)
{
    size_t n = strnlen(value, bytes < NAME_BYTES ? bytes : NAME_BYTES);
    if (!n || n >= NAME_BYTES)
        return ST_INVALID_VALUE;
    memcpy(to, value, n);
    to[n] = 0;
    return ST_OK;
}

static enum status set(int which, struct dumps *d, const void *value, size_t bytes)
{
    unsigned flags;
    bool on;
    if (which == FILE_NAME || which == PIPE_NAME)
        return set_name(which == FILE_NAME ? d->file : d->pipe, value, bytes);
    if (bytes < bytes_of(which, d))
        return ST_INVALID_VALUE;
    if (which == FLAGS) {
        memcpy(&flags, value, sizeof flags);
        if (flags & ~(unsigned)ALL_FLAGS)
            return ST_INVALID_VALUE;
        d->flags = flags;
        return ST_OK;
    }
    on = *(const unsigned char *)value != 0;
    switch (which) {
    case ON_EXCEPTION: d->on_exception = on; break;
    case USER_TRIGGER: d->user_trigger = on; break;
    case TRIGGER_HOST: d->flags = on ? d->flags & ~(unsigned)SKIP_ABORT : d->flags | SKIP_ABORT; break;
    case LIGHTWEIGHT: d->flags = on ? d->flags | LIGHTWEIGHT_FLAGS : d->flags & ~(unsigned)LIGHTWEIGHT_FLAGS; break;
    }
    return ST_OK;
}

static void context_gone(void *c, void *key, void *own)
{
    (void)c;
    (void)key;
    free(own);
}

/* NULL: the context has nothing of its own. */
static struct dumps *own_of(struct rt_context *c)
{
    void *own;
    return rt_context_get(c, &global, &own) == ST_OK ? own : NULL;
}

/* Where the setting is kept that holds for c. */
static const struct dumps *holds(struct rt_context *c, int which)
{
    const struct dumps *own = c ? own_of(c) : NULL;
    return own && own->said & 1u << which ? own : &global;
}

static enum status asked(struct rt_context *c, int which, void *value, size_t *size)
{
    if (!size || which < ON_EXCEPTION || which >= SETTINGS)
        return ST_INVALID_VALUE;
    pthread_once(&once, defaults);
    pthread_mutex_lock(&lock);
    const struct dumps *d = holds(c, which);
    size_t bytes = bytes_of(which, d);
    enum status st = value && *size < bytes ? ST_INVALID_VALUE : ST_OK;
    if (!value)
        *size = bytes;
    else if (st == ST_OK)
        get(which, d, value);
    pthread_mutex_unlock(&lock);
    return st;
}

static enum status told(struct rt_context *c, int which, const void *value, size_t *size)
{
    if (!size || which < ON_EXCEPTION || which >= SETTINGS)
        return ST_INVALID_VALUE;
    if (c && (which == USER_TRIGGER || which == PIPE_NAME))
        return ST_NOT_PERMITTED;
    pthread_once(&once, defaults);
    pthread_mutex_lock(&lock);
    struct dumps *d = c ? own_of(c) : &global;
    enum status st = ST_OK;
    if (!value) {
        *size = which == FILE_NAME || which == PIPE_NAME ? NAME_BYTES : bytes_of(which, &global);
    } else {
        if (!d) {
            d = malloc(sizeof *d);
            st = d ? ST_OK : ST_OUT_OF_MEMORY;
            if (d) {
                *d = global;
                d->said = 0;
                st = rt_context_put(c, &global, d, context_gone);
            }
            if (st != ST_OK)
                free(d);
        }
        const unsigned both = 1u << TRIGGER_HOST | 1u << LIGHTWEIGHT | 1u << FLAGS;    /* one word behind them */
        st = st == ST_OK ? set(which, d, value, *size) : st;
        if (st == ST_OK)
            d->said |= both >> which & 1 ? both : 1u << which;
    }
    pthread_mutex_unlock(&lock);
    return st;
}

enum status cu_coredump_get(int attrib, void *value, size_t *size)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    return st == ST_OK ? asked(c, attrib, value, size) : st;
}

enum status cu_coredump_set(int attrib, void *value, size_t *size)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    return st == ST_OK ? told(c, attrib, value, size) : st;
}

enum status cu_coredump_get_global(int attrib, void *value, size_t *size) { return asked(NULL, attrib, value, size); }
enum status cu_coredump_set_global(int attrib, void *value, size_t *size) { return told(NULL, attrib, value, size); }
