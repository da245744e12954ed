#include "runtime/cli/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static volatile sig_atomic_t child_pid;

/* What somebody sends to the launcher is meant for the program. What the terminal sends goes to the whole process group: the
 * program has it already. */
static void forward(int sig, siginfo_t *info, void *context)
{
    (void)context;
    if (child_pid > 0 && info->si_code <= 0)
        kill((pid_t)child_pid, sig);
}

static const int forwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGPIPE, SIGCONT};
enum { N_FORWARDED = sizeof forwarded / sizeof *forwarded };

static void child_exec(const char *path, char **argv, const sigset_t *mask, int report)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);          /* a killed launcher leaves no orphan */
    sigprocmask(SIG_SETMASK, mask, NULL);
    execve(path, argv, environ);
    int e = errno;
    if (e == ENOEXEC) {                        /* as execvp does: a text without #! is for the shell */
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        char magic[4] = {0};
        if (fd >= 0 && read(fd, magic, sizeof magic) >= 0 && memcmp(magic, "\177ELF", 4) != 0)
            execvp(path, argv);
    }
    (void)!write(report, &e, sizeof e);
    _exit(127);
}

/* Waits to the end; a child that stops (Ctrl-Z, SIGSTOP) stops the launcher with it, so that the shell sees one job. */
static int wait_to_the_end(pid_t pid)
{
    int status = 0;
    for (;;) {
        if (waitpid(pid, &status, WUNTRACED) < 0) {
            if (errno == EINTR)
                continue;
            return 0;
        }
        if (!WIFSTOPPED(status))
            return status;
        raise(SIGSTOP);
        kill(pid, SIGCONT);
    }
}

bool child_run(const char *path, char **argv, struct child_end *end)
{
    int report[2];
    *end = (struct child_end){0};
    if (pipe2(report, O_CLOEXEC) != 0)
        return false;
    sigset_t block, before;
    struct sigaction old[N_FORWARDED], forwarding = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&block);
    for (int i = 0; i < N_FORWARDED; i++)
        sigaddset(&block, forwarded[i]);
    sigprocmask(SIG_BLOCK, &block, &before);   /* none may arrive between fork and the handlers */
    pid_t pid = fork();
    if (pid == 0)
        child_exec(path, argv, &before, report[1]);
    close(report[1]);
    if (pid < 0) {
        close(report[0]);
        sigprocmask(SIG_SETMASK, &before, NULL);
        return false;
    }
    child_pid = pid;
    for (int i = 0; i < N_FORWARDED; i++) {
        sigaction(forwarded[i], NULL, &old[i]);
        if (old[i].sa_handler != SIG_IGN)      /* nohup: ignored by us, and by the program */
            sigaction(forwarded[i], &forwarding, NULL);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    ssize_t n;
    while ((n = read(report[0], &end->exec_errno, sizeof end->exec_errno)) < 0 && errno == EINTR)
        ;
    close(report[0]);
    end->wait_status = wait_to_the_end(pid);
    child_pid = 0;
    for (int i = 0; i < N_FORWARDED; i++)
        sigaction(forwarded[i], &old[i], NULL);
    return true;
}

/* The child's side of child_start. */
static void place_files(const struct child_files *files)
{
    int moved[3];
    for (int i = 0; i < 3; i++)                /* out of each other's way first */
        moved[i] = fcntl(files->fds[i], F_DUPFD_CLOEXEC, 10);
    for (int i = 0; i < 3; i++)
        dup2(moved[i], i);
    fcntl(files->keep, F_SETFD, 0);
    setsid();
}

bool child_start(const char *path, char **argv, const struct child_files *files, pid_t *pid, struct child_end *end)
{
    int report[2];
    sigset_t none;
    *end = (struct child_end){0};
    if (pipe2(report, O_CLOEXEC) != 0)
        return false;
    sigemptyset(&none);
    *pid = fork();
    if (*pid == 0) {
        signal(SIGPIPE, SIG_DFL);
        place_files(files);
        child_exec(path, argv, &none, report[1]);
    }
    close(report[1]);
    ssize_t n = -1;
    while (*pid > 0 && (n = read(report[0], &end->exec_errno, sizeof end->exec_errno)) < 0 && errno == EINTR)
        ;
    close(report[0]);
    return *pid > 0;
}

int child_pass_on(int wait_status)
{
    if (WIFSIGNALED(wait_status)) {
        int sig = WTERMSIG(wait_status);
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);         /* the program's core is the one that counts */
        signal(sig, SIG_DFL);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, sig);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        raise(sig);
        return 128 + sig;
    }
    return WEXITSTATUS(wait_status);
}
