/* Memory, pools and events between processes.
 *
 * A handle is 64 bytes that a program may pass to another process of the same user by any way; file descriptors go by a socket. Both processes need
 * the same GPU (by its number in the machine) among their visible devices. Any thread may call these. */
#ifndef HEDDLE_SHARE_H
#define HEDDLE_SHARE_H
#include "runtime/runtime.h"

struct rt_share { uint64_t word[8]; };         /* a CUipcMemHandle, CUipcEventHandle or CUmemPoolPtrExportData */

/* A handle for the cudaMalloc allocation that holds address. ST_INVALID_VALUE: there is none; ST_OUT_OF_MEMORY. */
enum status rt_share_memory(uint64_t address, struct rt_share *out) MUST_CHECK;
/* Maps it; c holds it until it is closed as often as it was opened. ST_INVALID_CONTEXT: the process's own; ST_INVALID_HANDLE: its process has gone,
 * or no handle; ST_INVALID_VALUE: of a device that is not visible here; ST_MAP_FAILED. */
enum status rt_share_memory_open(struct rt_context *c, const struct rt_share *handle, uint64_t *address, struct error *err) MUST_CHECK;
enum status rt_share_memory_close(uint64_t address);                     /* waits for the device; ST_INVALID_VALUE: not opened */

/* The event must have been made with RT_EVENT_IPC (ST_INVALID_VALUE). Records in any of the processes are the event's. */
enum status rt_share_event(struct rt_event *e, struct rt_share *out) MUST_CHECK;
enum status rt_share_event_open(struct rt_event **out, struct rt_context *c, const struct rt_share *handle) MUST_CHECK;

/* Pools made with `shared`. fd: the caller's to close. What an imported pool gives is only what its owner's pointers name. */
enum status rt_pool_create_shared(struct rt_pool **out, int device, uint64_t max_bytes) MUST_CHECK;
bool rt_pool_is_shared(const struct rt_pool *p);
enum status rt_pool_export(const struct rt_pool *p, int *fd) MUST_CHECK;              /* ST_INVALID_VALUE: not shared, or imported */
enum status rt_pool_import(struct rt_pool **out, int fd) MUST_CHECK;                  /* ST_INVALID_VALUE: no pool's file */
enum status rt_pool_export_pointer(uint64_t address, struct rt_share *out) MUST_CHECK;
enum status rt_pool_import_pointer(struct rt_pool *p, struct rt_context *c, const struct rt_share *handle, uint64_t *address, struct error *err) MUST_CHECK;

/* cuMemCreate's allocations. fd as above. */
enum status rt_physical_export(const struct rt_mapping *m, int *fd) MUST_CHECK;
enum status rt_physical_import(struct rt_mapping **out, int fd) MUST_CHECK;           /* ST_INVALID_VALUE: no such file, or its device is not visible */

#endif
