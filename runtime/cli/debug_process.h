/* The program under the debugger: a process, its socket, and what wakes the launcher up. One program at a time; one thread. */
#ifndef HEDDLE_CLI_DEBUG_PROCESS_H
#define HEDDLE_CLI_DEBUG_PROCESS_H
#include <stdbool.h>
#include <sys/types.h>

#include "runtime/cli/debug_wire.h"
#include "runtime/cli/launch.h"

struct process {
    pid_t pid;                                 /* 0: there is none */
    bool ended;                                /* wait_status is its end; pid is still the number it had */
    int wait_status;
    struct wire wire;
};

/* Starts the program with one end of a socket pair in HEDDLE_DEBUG_FD. False: none was started (errno, or *exec_errno). */
bool process_start(struct process *p, const char *path, char **argv, const int fds[3], int *exec_errno);
/* Whether it has ended by now; never blocks. */
bool process_over(struct process *p);
/* Ends it at once and waits for that. */
void process_kill(struct process *p);

/* Handlers for SIGINT (noted, see interrupts_taken) and SIGCHLD (wakes process_wait). For the whole session. */
void process_signals(void);
/* How often Ctrl-C was pressed since the last question. */
int interrupts_taken(void);
/* Sleeps until the socket or `other` (-1: none) can be read, a signal comes, or the time is over (ms; -1: never). False: a signal or
 * the time. */
bool process_wait(const struct process *p, int other, int ms);

#endif
