#include "runtime/cli/debug_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t interrupts;

static void on_interrupt(int sig)
{
    (void)sig;
    interrupts++;
}

static void on_child(int sig) { (void)sig; }

void process_signals(void)
{
    struct sigaction interrupt = {.sa_handler = on_interrupt}, child = {.sa_handler = on_child};
    sigset_t block;
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGCHLD, &child, NULL);
    /* They come while we wait, and at no other time: no wake-up is lost between a look and a sleep. */
    sigemptyset(&block);
    sigaddset(&block, SIGCHLD);
    sigaddset(&block, SIGINT);
    sigprocmask(SIG_BLOCK, &block, NULL);
}

int interrupts_taken(void)
{
    int n = interrupts;
    interrupts = 0;
    return n;
}

bool process_wait(const struct process *p, int other, int ms)
{
    struct pollfd fds[2] = {{.fd = p ? p->wire.fd : -1, .events = POLLIN}, {.fd = other, .events = POLLIN}};
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    sigset_t none;
    sigemptyset(&none);
    return ppoll(fds, 2, ms < 0 ? NULL : &time, &none) > 0;
}

bool process_start(struct process *p, const char *path, char **argv, const int fds[3], int *exec_errno)
{
    int pair[2];
    char number[16];
    struct child_end end;
    *p = (struct process){.wire = wire_open(-1)};
    *exec_errno = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    snprintf(number, sizeof number, "%d", pair[1]);
    setenv("HEDDLE_DEBUG_FD", number, 1);
    struct child_files files = {.fds = {fds[0], fds[1], fds[2]}, .keep = pair[1]};
    bool started = child_start(path, argv, &files, &p->pid, &end);
    unsetenv("HEDDLE_DEBUG_FD");
    close(pair[1]);
    if (!started || end.exec_errno) {
        if (started)
            waitpid(p->pid, NULL, 0);
        close(pair[0]);
        p->pid = 0;
        *exec_errno = end.exec_errno;
        return false;
    }
    p->wire = wire_open(pair[0]);
    return true;
}

bool process_over(struct process *p)
{
    if (!p->pid || p->ended)
        return true;
    pid_t got;
    while ((got = waitpid(p->pid, &p->wait_status, WNOHANG)) < 0 && errno == EINTR)
        ;
    p->ended = got != 0;
    return p->ended;
}

void process_kill(struct process *p)
{
    if (p->pid && !p->ended) {
        kill(-p->pid, SIGKILL);                /* it leads a session: what it started ends with it */
        while (waitpid(p->pid, &p->wait_status, 0) < 0 && errno == EINTR)
            ;
        p->ended = true;
    }
    wire_close(&p->wire);
}
