/* How the launcher learns that the library was loaded into the program, or into one of its children, and whether CUDA was called.
 *
 * The launcher owns a page of shared memory and names it in the environment as /proc/PID/fd/N, so that the program inherits no
 * descriptor. The library maps the page when it is loaded. Counters only grow; any number of processes may add to them. */
#ifndef HEDDLE_BASE_HELLO_H
#define HEDDLE_BASE_HELLO_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HELLO_ENV "HEDDLE_HELLO"
#define HELLO_MAGIC 0x6F6C6C6568646568u        /* "hedhello" */

struct hello_page {
    uint64_t magic;
    atomic_uint loaded;        /* processes in which the library's constructor ran */
    atomic_uint cuda_calls;    /* of them, how many called CUDA */
    atomic_int owner;          /* the process that is recorded or resumed; 0: none yet */
    atomic_uint failed;        /* a resume went wrong: the launcher ends with its own status */
    atomic_uint stopped;       /* a process was ended at its checkpoint, as it was asked: the launcher ends with 0 */
};

/* Library side. To be called at the first CUDA call of the process; cheap when repeated; any thread. */
void hello_cuda_called(void);
bool hello_claim(void);        /* the calling process is the first of the run to ask; true without a launcher */
void hello_failed(void);
void hello_stopped(void);

#endif
