#include "runtime/checkpoint/request.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct request_page *page;

bool request_open(void)
{
    enum { OUT_OF_THE_WAY = 700 };             /* programs expect low numbers in turn */
    int low = memfd_create(REQUEST_NAME, MFD_CLOEXEC), fd = low >= 0 ? fcntl(low, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY) : -1;
    if (low >= 0)
        close(low);
    if (fd < 0)
        return false;
    struct request_page *p = ftruncate(fd, sizeof *p) == 0 ? mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (p == MAP_FAILED) {
        close(fd);
        return false;
    }
    p->pid = (int32_t)getpid();
    p->magic = REQUEST_MAGIC;
    page = p;
    return true;
}

bool request_waits(void)
{
    const struct request_page *p = page;
    return p && atomic_load_explicit(&p->state, memory_order_acquire) == REQUEST_ASKED && p->pid == (int32_t)getpid();
}

void request_path(char *path, size_t n) { snprintf(path, n, "%.*s", REQUEST_PATH_BYTES - 1, page->path); }

void request_answer(enum status st, const char *text)
{
    snprintf(page->answer, sizeof page->answer, "%s", text);
    atomic_store_explicit(&page->state, st == ST_OK ? REQUEST_DONE : REQUEST_FAILED, memory_order_release);
}

/* ---- the other side ---- */

static int find_page(int pid)
{
    char folder[64], name[400], link[256];
    snprintf(folder, sizeof folder, "/proc/%d/fd", pid);
    DIR *d = opendir(folder);
    int fd = -1;
    for (struct dirent *e; d && fd < 0 && (e = readdir(d));) {
        snprintf(name, sizeof name, "%s/%.200s", folder, e->d_name);
        ssize_t n = readlink(name, link, sizeof link - 1);
        link[n > 0 ? n : 0] = 0;
        if (strstr(link, REQUEST_NAME))
            fd = open(name, O_RDWR | O_CLOEXEC);
    }
    if (d)
        closedir(d);
    return fd;
}

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); }

static enum status ask(struct request_page *p, int pid, const char *path, int seconds, char *answer, size_t n, struct error *err)
{
    int state = REQUEST_NONE, folder_gone;
    char folder[64];
    snprintf(folder, sizeof folder, "/proc/%d", pid);
    int was = atomic_load(&p->state);
    if (was == REQUEST_ASKED)
        return error_set(err, ST_NOT_READY, "process %d has another request to answer first", pid);
    snprintf(p->path, sizeof p->path, "%s", path);
    atomic_store_explicit(&p->state, REQUEST_ASKED, memory_order_release);
    for (int i = 0; seconds < 0 || i < seconds * 500; i++) {
        folder_gone = access(folder, F_OK);
        state = atomic_load_explicit(&p->state, memory_order_acquire);
        if (state != REQUEST_ASKED || folder_gone)
            break;
        nap();
    }
    if (state == REQUEST_ASKED && atomic_compare_exchange_strong(&p->state, &state, REQUEST_NONE))
        return error_set(err, ST_NOT_READY, access(folder, F_OK) ? "process %d has ended without taking the checkpoint" : "process %d runs no kernel: checkpoints are taken in kernels", pid);
    snprintf(answer, n, "%.*s", (int)sizeof p->answer - 1, p->answer);
    return state == REQUEST_DONE ? ST_OK : error_set(err, ST_UNKNOWN, "%s", answer);
}

enum status request_ask(int pid, const char *path, int seconds, char *answer, size_t n, struct error *err)
{
    int fd = find_page(pid);
    if (fd < 0) {
        error_set(err, ST_NOT_FOUND, "process %d is not one of heddle's, has not called CUDA yet, or belongs to another user", pid);
        error_hint(err, "the number is that of the program, not of the launcher:  pgrep -P %d  names its child", pid);
        return ST_NOT_FOUND;
    }
    struct request_page *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED || p->magic != REQUEST_MAGIC)
        return error_set(err, ST_UNKNOWN, "the page for requests of process %d cannot be read", pid);
    enum status st = ask(p, pid, path, seconds, answer, n, err);
    munmap(p, sizeof *p);
    return st;
}
