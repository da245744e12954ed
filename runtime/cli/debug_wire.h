/* The client's side of the debugger's line protocol (runtime/debug/PROTOCOL.md): requests, answers, events over a stream socket.
 * One thread. Texts of an answer or event belong to it and go with it. */
#ifndef HEDDLE_CLI_DEBUG_WIRE_H
#define HEDDLE_CLI_DEBUG_WIRE_H
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/textbuf.h"
#include "runtime/base/vec.h"

/* One line, taken apart. Words without `=` have a NULL key. */
struct wire_pair { const char *key, *value; };
struct wire_line {
    char *text;                                /* holds the bytes of all the others */
    const char *kind;                          /* an event's word ("stopped"); "" in an answer */
    VEC(struct wire_pair) pairs;
};

struct wire_answer {
    bool ok;
    char error[1024];                          /* when it is not ok: one line, for the user */
    VEC(struct wire_line) lines;
};

struct wire {
    int fd;                                    /* -1: closed */
    uint64_t next;                             /* number of the next request */
    struct textbuf in;                         /* bytes that have come and make no line yet */
    VEC(struct wire_line) events;              /* that came while an answer was waited for */
    size_t events_read;
};

struct wire wire_open(int fd);
/* Closes the socket and forgets everything. */
void wire_close(struct wire *w);

/* Sends a request and waits for the end of its answer. False: *a says why (the server's message, or that the connection is gone).
 * The answer is to be freed either way. */
bool wire_call(struct wire *w, struct wire_answer *a, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void wire_answer_free(struct wire_answer *a);

enum wire_got { WIRE_EVENT, WIRE_NOTHING, WIRE_CLOSED };
/* The next event, to be freed with wire_line_free. WIRE_NOTHING: none is there yet; wait until fd is readable. Never blocks. */
enum wire_got wire_event(struct wire *w, struct wire_line *e);

/* Takes a line apart. False: it is none (a string that does not end, no memory). */
bool wire_parse(const char *line, struct wire_line *out);
void wire_line_free(struct wire_line *l);
/* The value, or NULL where the key is missing. */
const char *wire_get(const struct wire_line *l, const char *key);
const char *wire_text(const struct wire_line *l, const char *key);                    /* "" where it is missing */
uint64_t wire_number(const struct wire_line *l, const char *key, uint64_t otherwise);
/* Appends a word as the protocol wants it: in quotes where it has to be. */
void wire_add_word(struct textbuf *out, const char *word);

#endif
