/* Requests from outside (`heddle checkpoint PID`): a page of shared memory that the process makes and anybody of the same user finds as a link in /proc/PID/fd. No
 * thread, no socket, no signal: the process looks at one word of it between blocks of kernels. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_REQUEST_H
#define HEDDLE_RUNTIME_CHECKPOINT_REQUEST_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

enum { REQUEST_PATH_BYTES = 4096 };
enum request_state { REQUEST_NONE, REQUEST_ASKED, REQUEST_DONE, REQUEST_FAILED };
#define REQUEST_NAME  "heddle-requests"        /* of the memfd */
#define REQUEST_MAGIC 0x6b63682d65647568u

struct request_page {
    uint64_t magic;
    int32_t pid;                               /* who answers: not its children */
    atomic_int state;                          /* enum request_state */
    char path[REQUEST_PATH_BYTES];             /* absolute; "": the setting `to` */
    char answer[1400];                         /* the file, or why there is none */
};

/* The process's side. */
bool request_open(void);                       /* false: there is no page to be had; nothing else suffers */
bool request_waits(void);                      /* any thread */
void request_path(char *path, size_t n);
void request_answer(enum status st, const char *text);

/* The other side: asks process pid and waits for the answer. 0 <= seconds: no longer than that. */
enum status request_ask(int pid, const char *path, int seconds, char *answer, size_t n, struct error *err) MUST_CHECK;

#endif
