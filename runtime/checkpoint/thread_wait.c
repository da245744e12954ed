#include "runtime/checkpoint/thread_wait.h"

#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static bool read_sleep(int tid, uint64_t *switches)
{
    char path[64], line[200], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    while (fgets(line, sizeof line, f)) {
        (void)sscanf(line, "State: %c", &state);
        (void)sscanf(line, "voluntary_ctxt_switches: %lu", switches);
    }
    fclose(f);
    return state == 'S';
}

bool thread_sleeps_on(int tid, struct sleep *last)
{
    struct sleep now = {0};
    now.asleep = tid && read_sleep(tid, &now.switches);
    bool still = now.asleep && last->asleep && last->switches == now.switches;
    *last = now;
    return still;
}

/* Locks wait by FUTEX_WAIT without a limit, all else by FUTEX_WAIT_BITSET. One that was let go has another word than it waits for. A mutex of glibc is a word for the futex, a count, and the owner's number; what other locks
 * have there is no number of a thread of ours. */
uint64_t thread_waits_for_lock(int tid, int *holder)
{
    char path[64];
    long call = -1;
    unsigned long a[4] = {0};
    int words[3] = {0, 0, 0};
    *holder = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
    FILE *f = fopen(path, "re");
    bool waits = f && fscanf(f, "%ld %lx %lx %lx %lx", &call, &a[0], &a[1], &a[2], &a[3]) == 5 && call == SYS_futex && (a[1] & 0x7f) == FUTEX_WAIT && !a[3];
    if (f)
        fclose(f);
    struct iovec here = {words, sizeof words}, there = {(void *)a[0], sizeof words};
    waits = waits && process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)sizeof words && (unsigned)words[0] == (unsigned)a[2];
    *holder = waits ? words[2] : 0;
    return waits ? a[0] : 0;
}
