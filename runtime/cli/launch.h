/* Runs a program as a child such that stdin, stdout, stderr, signals, job control and exit status pass through. */
#ifndef HEDDLE_CLI_LAUNCH_H
#define HEDDLE_CLI_LAUNCH_H
#include <stdbool.h>
#include <sys/types.h>

struct child_end { int wait_status; int exec_errno; };     /* exec_errno != 0: it never ran */

/* path: with a slash. argv ends with NULL; environ is the child's. False: no process could be made (errno). */
bool child_run(const char *path, char **argv, struct child_end *end);

/* Starts a program and goes on. It leads a session of its own, so what is typed at the terminal (^C) sends it no signal. fds: what
 * becomes its standard input, output and error; keep: a further descriptor that it inherits. False: no process (errno); a program
 * that could not be executed is a child that has ended, and end->exec_errno says why. */
struct child_files { int fds[3]; int keep; };
bool child_start(const char *path, char **argv, const struct child_files *files, pid_t *pid, struct child_end *end);
/* Ends the launcher as the child ended: with its exit status, or by the same signal. */
int child_pass_on(int wait_status);

#endif
