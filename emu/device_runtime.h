/* What kernels ask of the device runtime: launches of other kernels, streams, events, facts. Who makes a grid provides it (struct emu_host); builtin_device.c is
 * what kernels call.
 *
 * Functions are called by the worker that runs the thread, in the middle of an instruction, a lane at a time. Addresses of functions are those that kernels
 * see (EMU_CODE_WINDOW). Streams and events are numbers that only their grid knows. */
#ifndef HEDDLE_EMU_DEVICE_RUNTIME_H
#define HEDDLE_EMU_DEVICE_RUNTIME_H
#include "emu/emu.h"

struct emu_caller {
    void *launcher;                            /* of the grid's struct emu_host */
    uint64_t block; uint32_t thread;           /* numbers, x fastest: of the block in the grid, of the thread in the block */
    uint64_t cycle;                            /* of the timing model; 0: there is none */
    bool yield;                                /* out: the block should let others run soon */
};

struct emu_child { uint64_t function; uint32_t grid[3], block[3], shared_bytes; };

enum emu_fact {                                /* arguments */
    EMU_FACT_DEVICE, EMU_FACT_DEVICES,
    EMU_FACT_ATTRIBUTE,                        /* number as in cudaDeviceAttr, device */
    EMU_FACT_LIMIT,                            /* number as in cudaLimit */
    EMU_FACT_FUNCTION,                         /* number as in CUfunction_attribute, address */
    EMU_FACT_OCCUPANCY,                        /* address, threads of a block, bytes of dynamic shared memory: blocks on an SM */
};

struct emu_device_runtime {
    /* Checks a launch and gives memory for its parameters, which the thread fills. child->function 0: what is launched the launch will say, `bytes` are wanted. */
    enum status (*buffer)(struct emu_caller *c, const struct emu_child *child, uint64_t bytes, uint64_t *address);
    enum status (*launch)(struct emu_caller *c, uint64_t buffer, const struct emu_child *child /* NULL: as the buffer was asked for */, uint64_t stream);
    enum status (*graph_launch)(struct emu_caller *c, uint64_t graph, uint64_t stream);
    enum status (*stream_create)(struct emu_caller *c, uint32_t flags, uint64_t *stream);
    enum status (*stream_destroy)(struct emu_caller *c, uint64_t stream);
    enum status (*stream_wait)(struct emu_caller *c, uint64_t stream, uint64_t event);
    enum status (*event_create)(struct emu_caller *c, uint32_t flags, uint64_t *event);
    enum status (*event_record)(struct emu_caller *c, uint64_t event, uint64_t stream);
    enum status (*event_destroy)(struct emu_caller *c, uint64_t event);
    /* The thread's last error, a cudaError_t. */
    uint32_t (*error)(struct emu_caller *c);
    void (*set_error)(struct emu_caller *c, uint32_t error);
    enum status (*fact)(struct emu_caller *c, enum emu_fact what, const uint64_t arguments[3], uint64_t *value);
};

#endif
