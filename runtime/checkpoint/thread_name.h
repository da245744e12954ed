/* Names of the program's threads that are the same in every run: which child of which thread, as "0.2.1"; the first thread is "0". Known by pthread_create, which the
 * library exports for this alone. Threads that came about otherwise have none, and threads of ours are not counted: how many there are is a setting. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_THREAD_NAME_H
#define HEDDLE_RUNTIME_CHECKPOINT_THREAD_NAME_H

enum { THREAD_NAME_BYTES = 48 };
/* Of the calling thread; "": it has none. Good as long as the thread is. */
const char *thread_name(void);
int thread_tid(const char *name);              /* 0: no thread has that name now */

#endif
