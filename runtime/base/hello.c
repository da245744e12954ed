#include "runtime/base/hello.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct hello_page *_Atomic page;
static atomic_flag said = ATOMIC_FLAG_INIT;

__attribute__((constructor)) static void hello_attach(void)
{
    const char *path = getenv(HELLO_ENV);
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    struct stat s;
    void *p = MAP_FAILED;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size >= (off_t)sizeof(struct hello_page))
        p = mmap(NULL, sizeof(struct hello_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        return;
    struct hello_page *hello = p;
    if (hello->magic != HELLO_MAGIC) {         /* the launcher is gone and something else has its number now */
        munmap(p, sizeof(struct hello_page));
        return;
    }
    atomic_fetch_add(&hello->loaded, 1);
    atomic_store(&page, hello);
}

void hello_cuda_called(void)
{
    struct hello_page *hello = atomic_load(&page);
    if (hello && !atomic_flag_test_and_set(&said))
        atomic_fetch_add(&hello->cuda_calls, 1);
}

bool hello_claim(void)
{
    struct hello_page *hello = atomic_load(&page);
    int nobody = 0;
    return !hello || atomic_compare_exchange_strong(&hello->owner, &nobody, (int)getpid());
}

void hello_failed(void)
{
    struct hello_page *hello = atomic_load(&page);
    if (hello)
        atomic_fetch_add(&hello->failed, 1);
}

void hello_stopped(void)
{
    struct hello_page *hello = atomic_load(&page);
    if (hello)
        atomic_fetch_add(&hello->stopped, 1);
}
