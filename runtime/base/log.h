/* The log: human lines on a private file descriptor, never the application's stdout.
 * Thread-safe: one write(2) per line. Levels: error < warn < info < debug; default warn. */
#ifndef HEDDLE_BASE_LOG_H
#define HEDDLE_BASE_LOG_H
#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set(enum log_level level, int fd);    /* fd: owned by the caller; -1 keeps the present one */
enum log_level log_level(void);
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
/* True the first time it is called with this flag: `static bool once; if (log_first(&once)) log_warn(...)`. */
bool log_first(bool *flag);
/* Is told every line without its head and end, whatever the level lets through. Any thread; it must not log. One listener, set once. */
void log_listen(void (*listener)(enum log_level level, const char *text));
/* Writes text as it is (reports, summaries) to the log's descriptor. */
void log_text(const char *text);
unsigned long log_warnings(void);              /* how many warn lines so far, for the summary */

#endif
