/* cuGetErrorName, cuGetErrorString. */
#include "interpose/api.h"

static bool known(int error, enum status *st)
{
    *st = status_from_cu(error);
    return status_cu(*st) == error && status_cu_name(*st);
}

enum status cu_get_error_name(int error, const char **text)
{
    enum status st;
    if (!text)
        return ST_INVALID_VALUE;
    *text = known(error, &st) ? status_cu_name(st) : NULL;
    return *text ? ST_OK : ST_INVALID_VALUE;
}

enum status cu_get_error_string(int error, const char **text)
{
    enum status st;
    if (!text)
        return ST_INVALID_VALUE;
    *text = known(error, &st) ? status_text(st) : NULL;
    return *text ? ST_OK : ST_INVALID_VALUE;
}

enum status cu_profiler_initialize(const char *config_file, const char *output_file, int output_mode)
{
    (void)config_file, (void)output_file, (void)output_mode;
    return ST_PROFILER_DISABLED;               /* as on every driver since 11.0 */
}

/* Profilers attach from outside; without one, starting and stopping are accepted and do nothing. */
enum status cu_profiler_start(void) { return rt_started() ? ST_OK : ST_NOT_INITIALIZED; }
enum status cu_profiler_stop(void) { return rt_started() ? ST_OK : ST_NOT_INITIALIZED; }
