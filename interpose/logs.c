/* Error logs (cuLogs*): the newest errors and warnings, to read, and to hear of as they come. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "interpose/api.h"
#include "runtime/base/log.h"

enum { ENTRIES = 64, ENTRY_BYTES = 400, LISTENERS = 16 };
enum { LEVEL_ERROR, LEVEL_WARNING };           /* CUlogLevel */

struct entry { char text[ENTRY_BYTES]; };
struct listener { logs_callback fn; void *data; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry entries[ENTRIES];          /* number i stands at i % ENTRIES */
static uint32_t end;                           /* number of the next one: what an iterator is */
static struct listener listeners[LISTENERS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void heard(enum log_level level, const char *text)
{
    if (level > LOG_WARN)
        return;
    char line[ENTRY_BYTES];
    struct listener tell[LISTENERS];
    struct timespec t;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &t);
    localtime_r(&t.tv_sec, &tm);
    int head = snprintf(line, sizeof line, "[%02d:%02d:%02d.%03ld][CUDA][%c] ", tm.tm_hour, tm.tm_min, tm.tm_sec, t.tv_nsec / 1000000, level == LOG_ERROR ? 'E' : 'W');
    snprintf(line + head, sizeof line - (size_t)head, "%s", text);
    pthread_mutex_lock(&lock);
    memcpy(entries[end++ % ENTRIES].text, line, sizeof line);
    memcpy(tell, listeners, sizeof tell);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < LISTENERS; i++)
        if (tell[i].fn)
            tell[i].fn(tell[i].data, level == LOG_ERROR ? LEVEL_ERROR : LEVEL_WARNING, line, strlen(line));
}

static void hook(void) { log_listen(heard); }
void api_logs_start(void) { pthread_once(&once, hook); }

enum status cu_logs_register(logs_callback fn, void *data, void **handle)
{
    if (!fn)
        return ST_INVALID_VALUE;
    struct listener *free_one = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < LISTENERS && !free_one; i++)
        if (!listeners[i].fn)
            free_one = &listeners[i];
    if (free_one)
        *free_one = (struct listener){fn, data};
    pthread_mutex_unlock(&lock);
    if (free_one && handle)
        *handle = free_one;
    return free_one ? ST_OK : ST_OUT_OF_MEMORY;
}

enum status cu_logs_unregister(void *handle)
{
    enum status st = ST_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < LISTENERS; i++)
        if (handle == &listeners[i] && listeners[i].fn) {
            listeners[i] = (struct listener){0};
            st = ST_OK;
        }
    pthread_mutex_unlock(&lock);
    return st;
}

enum status cu_logs_current(uint32_t *iterator, unsigned flags)
{
    if (!iterator || flags)
        return ST_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    *iterator = end;
    pthread_mutex_unlock(&lock);
    return ST_OK;
}

static const char truncated[] = "older messages are not here\n";

/* The first number from the iterator on that is still there. Under the lock. */
static uint32_t first_from(const uint32_t *iterator, bool *lost)
{
    uint32_t oldest = end < ENTRIES ? 0 : end - ENTRIES, from = iterator && *iterator <= end ? *iterator : 0;
    *lost = from < oldest;
    return *lost ? oldest : from;
}

enum status cu_logs_dump_to_file(uint32_t *iterator, const char *path, unsigned flags)
{
    if (!path || flags)
        return ST_INVALID_VALUE;
    FILE *f = fopen(path, "we");
    if (!f)
        return ST_INVALID_VALUE;
    bool lost;
    pthread_mutex_lock(&lock);
    uint32_t i = first_from(iterator, &lost);
    if (lost)
        fputs(truncated, f);
    for (; i < end; i++)
        fprintf(f, "%s\n", entries[i % ENTRIES].text);
    if (iterator)
        *iterator = end;
    pthread_mutex_unlock(&lock);
    return fclose(f) == 0 ? ST_OK : ST_INVALID_VALUE;
}

/* As many of the newest ones as fit. */
enum status cu_logs_dump_to_memory(uint32_t *iterator, char *buffer, size_t *size, unsigned flags)
{
    if (!buffer || !size || !*size || flags)
        return ST_INVALID_VALUE;
    bool lost;
    size_t room = *size - 1, need = 0, at = 0;
    pthread_mutex_lock(&lock);
    uint32_t first = first_from(iterator, &lost), i = first, last = end;
    for (uint32_t k = i; k < last; k++)
        need += strlen(entries[k % ENTRIES].text) + 1;
    while (i < last && need + (lost || i > first ? sizeof truncated - 1 : 0) > room)
        need -= strlen(entries[i++ % ENTRIES].text) + 1;
    bool nothing_fits = i == last && first < last;
    if (!nothing_fits && (lost || i > first)) {
        memcpy(buffer, truncated, sizeof truncated - 1);
        at = sizeof truncated - 1;
    }
    for (; i < last; i++) {
        size_t n = strlen(entries[i % ENTRIES].text);
        memcpy(buffer + at, entries[i % ENTRIES].text, n);
        buffer[at + n] = '\n';
        at += n + 1;
    }
    if (iterator && !nothing_fits)
        *iterator = last;
    pthread_mutex_unlock(&lock);
    buffer[at] = '\0';
    *size = at;
    return nothing_fits ? ST_INVALID_VALUE : ST_OK;
}
