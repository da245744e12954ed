/* What a thread of this process waits for, as the system sees it. Linux; x86-64 for the second. Any thread. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_THREAD_WAIT_H
#define HEDDLE_RUNTIME_CHECKPOINT_THREAD_WAIT_H
#include <stdbool.h>
#include <stdint.h>

struct sleep { uint64_t switches; bool asleep; };         /* of a thread, when it was looked at last */
bool thread_sleeps_on(int tid, struct sleep *last);       /* it sleeps, and has slept since it was asked for last */
/* Where the lock of the C or C++ library is that it waits for; 0: it does not, or waits for a condition, a thread, time. *holder: the thread that has it; 0: that cannot be
 * known (a static variable that is made, pthread_once). */
uint64_t thread_waits_for_lock(int tid, int *holder);

#endif
