/* What the host_*.c share. Records on the tape, in the order of the host thread's doings but for those with a key, which an operation of a stream made at any time. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_HOST_INTERNAL_H
#define HEDDLE_RUNTIME_CHECKPOINT_HOST_INTERNAL_H
#include "runtime/base/map.h"
#include "runtime/checkpoint/host.h"
#include "runtime/checkpoint/tape.h"
#include "runtime/checkpoint/thread_name.h"
#include "runtime/checkpoint/thread_wait.h"
#include "runtime/internal.h"

enum record {                                  /* head.type */
    REC_NAME = 1,                              /* number: of a site; its symbol and arguments' names, NUL-terminated each */
    REC_CALL,                                  /* number: the site; words of arguments, then the status of the call before */
    REC_ANSWER,                                /* host_answer */
    REC_VERIFY,                                /* host_verify */
    REC_TEXT,                                  /* of device printf that was shown */
    REC_THREAD,                                /* number: of a thread; its name */
    REC_TURN,                                  /* from here on it is thread number's; flags, step: how the one before ended its turn */
    REC_MEMORY,                                /* an address, then what is there since the host waited */
    REC_OP_COPY, REC_OP_FAULT,                 /* of an operation: its call's number first, head.step; then what it copied to the host, rows packed, or the status */
};

/* Why a thread gave up its turn; REC_TURN's flags are this of the thread before, its step which wait of the call, or before which operation. */
enum yield { YIELD_LEAVES, YIELD_WAITS, YIELD_FULL /* no room in the queues */ };
enum whereabouts { OUTSIDE, INSIDE, WAITS, AT_GATE };      /* of a host thread, as to calls */

struct host_wish { const struct host_site *site; const uint64_t *words; unsigned n; };        /* the call that a thread wants to make */

struct host_thread {
    char name[THREAD_NAME_BYTES];
    uint16_t number;                           /* on the tape, from 1; 0: not there yet */
    int tid;
    int place;                                 /* enum whereabouts */
    bool gone;                                 /* it has ended */
    struct sleep sleep;                        /* as it was last seen outside */

    /* its own */
    uint64_t call;                             /* its present or newest one */
    uint16_t as, was_as;                       /* in a replay: whose call it makes, and whose the one before was: another thread's where they changed places (host_replay.c) */
    struct host_wish wish;                     /* at the gate */
    bool beside;                               /* that call is not on the tape */
    uint64_t moved;                            /* host.moves as its newest turn began */
    uint32_t step, waits;                      /* operations, waits of the present call so far */
    bool said;                                 /* the present call has put something on the tape behind its head */
    enum status before;                        /* what the call before answered; ST_OK after polls */
    uint64_t poll, polled; bool answered;      /* 0, or what the present call asks for; the newest such question of a replay, and its answer */
};
enum hold { HOLDS_NOTHING, HOLDS_TURN, LENT_TURN /* while it waits */ };
struct host_me { struct host_thread *thread; int depth; bool known, waits, extra /* a poll that is not on the tape */; enum hold hold; };
extern _Thread_local struct host_me host_me;

struct event_age { uint64_t number /* of the handle */, age_ns /* since its newest record, at the checkpoint */; };
struct survivor { uint64_t call; uint32_t step, kind; bool made; /* the call */ };   /* an operation that was not finished at the checkpoint */
struct stretch { uint64_t lo, hi; };           /* of memory that kernels had written, and the host had not waited since */
struct moved { uint64_t then, now, bytes; };    /* registered memory of the program that is not where it was */
/* A turn on the tape, without its head, and what of a thread's turns was replayed so far. */
#define NO_TURN UINT32_MAX
struct turn { uint64_t at, end, calls /* made before it */; uint32_t next /* of the same thread; NO_TURN: none */, step; uint16_t owner; uint8_t how; /* it ended: enum yield, or 0xff */ };
struct lane { uint32_t turn; bool lent; /* in the middle of a call */ uint64_t at, calls; };
struct stood { uint32_t number; bool outside; };           /* where a thread was at the checkpoint: outside, asleep, or at a call */

struct host {
    pthread_mutex_t turn;                      /* RECORDED: held by the thread that is in a call, but for its waits; before the.lock */
    pthread_mutex_t lock;                      /* the fields below it; taken last */
    pthread_cond_t changed;
    VEC(struct host_thread *) threads;         /* that have called; they stay */
    bool stopping;                             /* a checkpoint wants the host to stand still */
    const char *spoiled;                       /* why this run cannot be replayed; NULL: it can */

    /* of the thread whose turn it is */
    uint64_t calls;                            /* begun so far */
    uint16_t owner;                            /* who had the newest turn, by number */
    enum yield yielded; uint32_t yielded_step; /* how it ended */
    struct tape *tape;                         /* RECORDED: what the host's threads do; */
    struct tape *op_tape;                      /* and records with a key, of any thread. One behind the other in the file */
    uint16_t sites, numbers;                   /* functions, threads numbered so far */
    VEC(uint64_t) open;                        /* calls on the tape that never happened: a checkpoint came when they waited, and they were made again after it */

    /* REPLAYED */
    struct hck_reader *file;
    char *bytes; uint64_t n;                   /* the tape */
    VEC(struct turn) turns; uint32_t head;     /* the first that is not over */
    VEC(struct lane) lanes;                    /* of threads, by number - 1 */
    bool active, ending;                       /* some thread has its turn; is at the end of the replay */
    uint64_t on_tape;                          /* calls */
    uint64_t moves;                            /* turns, and parts of them, that were begun */
    uint64_t last;                             /* calls that were begun at the checkpoint, and not open */
    VEC(struct survivor) survivors;            /* in the order in which they were enqueued */
    VEC(const char *) names;                   /* of sites, by number - 1: symbol, NUL, arguments */
    VEC(const char *) thread_names;            /* by number - 1 */
    VEC(struct stood) stood;
    VEC(struct stretch) written;
    struct map held;                           /* which of them, by key; a call with any has one more key, for host_call_survives */
    struct map keyed;                          /* record of an operation: offset, by key */
    VEC(struct event_age) events;
    VEC(struct moved) moved;
    bool diverged;
};
extern struct host host;

/* The next record of the calling thread, which has its turn, when it is of that type, and its contents; NULL: it is something else. */
const struct tape_head *host_next(enum record type, const char **contents);
const struct tape_head *host_peek(const char **contents);     /* whatever it is; NULL: the end */
enum { HOST_ALL_STEPS = 0xfffff };             /* in a key: any of the call's */
uint64_t host_key(uint64_t call, uint32_t step);
void host_skip_poll(void);                     /* the next record is one: what it and the program were given is put in place, no more */
bool host_open(uint64_t call);                 /* it is in host.open */

/* ---- host_threads.c ---- */

struct host_thread *host_thread(void);         /* the calling one; NULL: none of the program's, or no memory */
void host_turn_take(struct host_thread *t);    /* RECORDED: t's turn begins; it stands still first where a checkpoint wants that */
void host_turn_end(struct host_thread *t);     /* the call does */
bool host_is_call(const struct tape_head *h, const struct host_site *site, const uint64_t *words, unsigned n);

int host_place(const struct host_thread *t);   /* enum whereabouts */
void host_wait_a_little(void);                 /* for something to change, a few ms at most. Under host.lock, which it gives up meanwhile */

/* ---- host_replay.c ---- */

bool host_turns_load(void);                    /* finds them on the tape; false: it makes no sense, or no memory */
/* Waits for the turn of t's next call, which is this one. Also ST_OK: the replay is over. */
enum status host_gate(struct host_thread *t, const struct host_site *site, const uint64_t *words, unsigned n) MUST_CHECK;
void host_turn_over(struct host_thread *t, bool lent);         /* its call has ended, or waits */
void host_turn_again(struct host_thread *t);   /* takes the turn that it lent */
bool host_gave_up(const struct host_thread *t, enum yield how, uint32_t step);             /* the tape says that it gave up its turn here, and others had theirs */
uint64_t host_call_number(void);               /* of the calling thread's next one on the tape */
bool host_is_poll(const struct tape_head *h);

/* Reports once what the program did otherwise. Always ST_UNKNOWN. */
enum status host_diverged(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
enum status host_load(const char *path, struct error *err) MUST_CHECK;
enum status host_finish_replay(void) MUST_CHECK;              /* all threads are where they were at the checkpoint */
bool host_visible(uint64_t address);           /* the program may look there */

#endif
