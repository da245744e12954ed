/* NVML (libnvidia-ml.so.1): what frameworks and monitors ask about the GPUs of the machine.
 *
 * The library of that name is Heddle's under another name (build/shims/nvml). NVML numbers the GPUs of the machine, whatever CUDA_VISIBLE_DEVICES says, and
 * asking it never starts the CUDA runtime: programs ask before they fork. Layouts are NVML's on x86-64. Any thread may call. */
#ifndef HEDDLE_NVML_H
#define HEDDLE_NVML_H
#include "interpose/args.h"
#include "runtime/runtime.h"

enum nvml_result {
    NVML_SUCCESS, NVML_UNINITIALIZED, NVML_INVALID_ARGUMENT, NVML_NOT_SUPPORTED, NVML_NO_PERMISSION, NVML_ALREADY_INITIALIZED, NVML_NOT_FOUND,
    NVML_INSUFFICIENT_SIZE, NVML_DRIVER_NOT_LOADED = 9, NVML_ARGUMENT_VERSION_MISMATCH = 25, NVML_UNKNOWN = 999
};

typedef const struct nvml_device *nvmlDevice_t;

struct nvml_pci { char legacy_id[16]; unsigned domain, bus, device, pci_device_id, subsystem_id; char bus_id[32]; };
struct nvml_memory { uint64_t total, free, used; };
struct nvml_memory_v2 { unsigned version; uint64_t total, reserved, free, used; };
struct nvml_utilization { unsigned gpu, memory; };
struct nvml_temperature { unsigned version; int sensor, celsius; };
struct nvml_process { unsigned pid; uint64_t used_bytes; unsigned gpu_instance, compute_instance; };
struct nvml_field { unsigned id, scope; int64_t timestamp_us, latency_us; int type, result; union { double d; unsigned ui; uint64_t ull; } value; };

#define NVML(symbol, handler, params) enum nvml_result handler(PARAMS params);
#include "interpose/nvml.def"

/* nvml.c, for the other file. NVML_SUCCESS, NVML_UNINITIALIZED, or NVML_INVALID_ARGUMENT for what is no device. */
enum nvml_result nvml_device(nvmlDevice_t device, int *number) __attribute__((warn_unused_result));
const struct rt_device_facts *nvml_facts(void);
unsigned nvml_busy_percent(int number);        /* of the time since it was last asked, or of the last second */
unsigned nvml_power_mw(int number);
/* Copies a text with its end: NVML_INSUFFICIENT_SIZE. */
enum nvml_result nvml_text(char *out, unsigned length, const char *text) __attribute__((warn_unused_result));

#endif
