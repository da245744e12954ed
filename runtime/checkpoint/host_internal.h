/* What the host_*.c share. Records on the tape, in the order of the host thread's doings but for those with a key, which an operation of a stream made at any time. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_HOST_INTERNAL_H
#define HEDDLE_RUNTIME_CHECKPOINT_HOST_INTERNAL_H
#include "runtime/base/map.h"
#include "runtime/checkpoint/host.h"
#include "runtime/checkpoint/tape.h"
#include "runtime/internal.h"

enum record {                                  /* head.type */
    REC_NAME = 1,                              /* number: of a site; its symbol and arguments' names, NUL-terminated each */
    REC_CALL,                                  /* number: the site; words of arguments, then the status of the call before */
    REC_ANSWER,                                /* host_answer */
    REC_VERIFY,                                /* host_verify */
    REC_TEXT,                                  /* of device printf that was shown */
    REC_MEMORY,                                /* an address, then what is there since the host waited */
    REC_OP_COPY, REC_OP_FAULT,                 /* of an operation: its call's number first, head.step; then what it copied to the host, rows packed, or the status */
};

struct event_age { uint64_t number /* of the handle */, age_ns /* since its newest record, at the checkpoint */; };
struct survivor { uint64_t call; uint32_t step, kind; };   /* an operation that was not finished at the checkpoint */

struct host {
    pthread_mutex_t lock;                      /* the fields below it; taken last */
    pthread_cond_t changed;
    bool taken;                                /* some thread is the host thread */
    bool stopping;                             /* a checkpoint wants the host to stand still */
    int place;                                 /* enum whereabouts, host.c */
    const char *spoiled;                       /* why this run cannot be replayed; NULL: it can */

    /* the host thread's own */
    uint64_t calls;                            /* begun so far */
    uint32_t step;                             /* operations of the present call so far */
    bool said;                                 /* the present call has put something on the tape behind its head */
    enum status before;                        /* what the call before answered */

    struct tape *tape;                         /* RECORDED: what the host thread does; */
    struct tape *op_tape;                      /* and records with a key, of any thread. One behind the other in the file */
    uint16_t sites;                            /* numbered so far */

    /* REPLAYED */
    struct hck_reader *file;
    char *bytes; uint64_t n, at;               /* the tape, and what comes next for the host thread */
    uint64_t last;                             /* calls that were over at the checkpoint */
    VEC(struct survivor) survivors;            /* in the order in which they were enqueued */
    VEC(const char *) names;                   /* of sites, by number - 1: symbol, NUL, arguments */
    struct map held;                           /* which of them, by key; a call with any has one more key, for host_call_survives */
    struct map keyed;                          /* record of an operation: offset, by key */
    VEC(struct event_age) events;
    bool diverged;
};
extern struct host host;

/* The next record of the host thread when it is of that type, and its contents; NULL: it is something else. */
const struct tape_head *host_next(enum record type, const char **contents);
const struct tape_head *host_peek(const char **contents);     /* whatever it is; NULL: the end */
enum { HOST_ALL_STEPS = 0xfffff };             /* in a key: any of the call's */
uint64_t host_key(uint64_t call, uint32_t step);
uint64_t host_calls_over(void);                /* while the host stands still */
/* Reports once what the program did otherwise. Always ST_UNKNOWN. */
enum status host_diverged(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
enum status host_load(const char *path, struct error *err) MUST_CHECK;
enum status host_finish_replay(void) MUST_CHECK;              /* at the call behind the last one */
bool host_visible(uint64_t address);           /* the program may look there */

#endif
