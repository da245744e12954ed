/* What the processor did for this process's threads: on a busy machine the host is slow, not quiet. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/internal.h"

/* The first line of a thread's file, at most n - 1 bytes; "" when it has ended. */
static void read_of(const char *thread, const char *what, char *line, int n)
{
    char path[320];
    snprintf(path, sizeof path, "/proc/self/task/%s/%s", thread, what);
    FILE *f = fopen(path, "re");
    if (!f || !fgets(line, n, f))
        *line = 0;
    if (f)
        fclose(f);
}

struct host_share threads_share(void)
{
    struct host_share sum = {0};
    DIR *all = opendir("/proc/self/task");
    for (const struct dirent *d; all && (d = readdir(all));) {
        char line[512];
        uint64_t ran, starved;
        if (*d->d_name == '.')
            continue;
        read_of(d->d_name, "schedstat", line, sizeof line);
        if (sscanf(line, "%" SCNu64 " %" SCNu64, &ran, &starved) == 2) {
            sum.ran_ns += ran;
            sum.starved_ns += starved;         /* known when it runs again */
        }
        read_of(d->d_name, "stat", line, sizeof line);
        const char *state = strrchr(line, ')');
        sum.ready |= state && state[1] && (state[2] == 'R' || state[2] == 'D' /* for a disk */) && atol(d->d_name) != syscall(SYS_gettid);
    }
    if (all)
        closedir(all);
    return sum;
}
