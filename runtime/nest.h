/* Dynamic parallelism: grids that kernels launch, and in which order they run (queue.c executes them as it does the host's).
 *
 * A grid that asks the device runtime for something gets a nest: streams of its own and what is in them. A launch is complete when its blocks have ended,
 * then all in the nest but the tail stream, then that. Until then it stays at the head of its stream.
 *
 * Grids run in an order that depends on the program alone. What a turn of the queue made ready goes, in the order of the launches, before what was ready
 * earlier: so recursion goes into depth, and what waits stays short. Blocks of kernels that launch run on one host thread.
 *
 * All functions under the.lock, unless said otherwise. */
#ifndef HEDDLE_RUNTIME_NEST_H
#define HEDDLE_RUNTIME_NEST_H
#include "emu/device_runtime.h"
#include "runtime/base/map.h"
#include "runtime/internal.h"

enum { NEST_DEPTH = 24 };                      /* levels below the host's launch, as CUDA has it */
enum { NEST_RUNNING = 128 };                   /* kernels at once beyond which no nested one begins: what a GPU holds */

struct op_list { struct op *first, *last; };   /* through next_ready */

struct nest_stream {
    struct rt_stream stream;                   /* outside the ring of queue.c and the lists of contexts */
    struct nest *nest;
    uint64_t key;                              /* in nest->streams */
    bool named, destroyed;
    bool recorded;                             /* an event knows it: it stays as long as the nest */
};

struct nest;
struct nest_call {                             /* of a kernel; nest_calls.c */
    enum status (*fn)(struct nest *n, struct nest_call *k);
    uint64_t block; uint32_t thread;           /* whose */
    uint32_t bytes, error;
    uint64_t cycle, buffer, stream, event;
    struct launch_op launch;
    uint64_t answer;
};

struct nest_event { struct nest_stream *stream; uint64_t seq; bool live; uint32_t next_free; };

struct nest {
    struct op *parent;
    bool blocks_ended;
    size_t unfinished;                         /* operations of all streams but the tail */
    struct map streams;                        /* key -> struct nest_stream * */
    struct nest_stream *tail; bool tail_runs;
    uint64_t named, launched;                  /* streams made, and launches that are forgotten, so far */
    VEC(struct nest_event) events; uint32_t free_event, live_events;       /* free_event: 1 + index */
    struct map buffers;                        /* address -> struct op * of a launch to come */
    struct map errors;                         /* thread -> cudaError_t */
    struct op_list held;                       /* ready, but a debugger may run the blocks again; then also: */
    VEC(struct nest_call) calls;               /* all that changed something */
    VEC(struct graph_asked) graphs;            /* graphs it launched, which begin when its blocks have ended */
};

/* ---- for the queue ---- */

struct op *nest_next(size_t running);          /* takes the next operation that may run; NULL: there is none. running: kernels that have begun */
void nest_begins(struct op *op);               /* it runs, or is dropped: no longer a pending launch */
/* An operation is over: it leaves its stream. The launch that is complete with it, NULL: none. */
struct op *nest_finish(struct op *op);
bool nest_blocks_ended(struct op *op);         /* of a launch; true: it is complete */
/* For a debugger: where a launch stands with its nest, and going back there. Nothing of the nest has begun. They take the.lock. */
uint64_t nest_moment(const struct op *op);
void nest_back(struct op *op, uint64_t moment);
bool nest_any(void);                           /* some launch has a nest. Any thread */

/* ---- for nest_calls.c ---- */

struct nest *nest_of(struct op *parent);       /* makes it; NULL: no memory */
struct nest_stream *nest_stream(struct nest *n, uint64_t key);         /* makes it; NULL: no memory */
void nest_stream_idle(struct nest_stream *s);  /* goes when it has nothing to do and nobody can name it */
void nest_push(struct nest_stream *s, struct op *op);
void nest_empty(struct nest *n);               /* no streams, events, launches, errors any more; memory for parameters stays with the calls */

extern const struct emu_device_runtime nest_calls;
void nest_module(struct rt_module *m);         /* has been made. Under the.code */

#endif
