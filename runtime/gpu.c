/* The table of GPUs as data. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "runtime/runtime.h"

enum {
#define GPU(id, gpu_key, gpu_name) id,
#include "runtime/gpus.def"
    GPUS
};

/* One pass per column: FACT rows become designated members of that GPU's struct. */
static const struct rt_device_facts gpus[GPUS] = {
#define FACT(field, unit, v100, t4, rtx2060, rtx3070, a40, l40, a100, h100, h200) \
    [V100].field = v100, [T4].field = t4, [RTX2060].field = rtx2060, [RTX3070].field = rtx3070, [A40].field = a40, [L40].field = l40, [A100].field = a100, [H100].field = h100, \
    [H200].field = h200,
#include "runtime/gpus.def"
#define GPU(id, gpu_key, gpu_name) [id].key = gpu_key, [id].name = gpu_name,
#include "runtime/gpus.def"
};

const struct rt_device_facts *rt_gpu_at(size_t i) { return i < GPUS ? &gpus[i] : NULL; }

char *rt_gpu_keys(char *buf, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < GPUS && at < n; i++)
        at += (size_t)snprintf(buf + at, n - at, "%s%s", i ? ", " : "", gpus[i].key);
    return buf;
}

const struct rt_device_facts *rt_gpu_find(const char *key)
{
    if (!key || !*key)
        return &gpus[H100];
    for (size_t i = 0; i < GPUS; i++)
        if (strcasecmp(gpus[i].key, key) == 0)
            return &gpus[i];
    return NULL;
}
