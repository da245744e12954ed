/* NVRTC: the PTX of a program, where its cubin is asked for. */
#include "interpose/jit.h"

enum { NVRTC_ERROR_INVALID_INPUT = 3, NVRTC_ERROR_INTERNAL_ERROR = 11 };

typedef int size_fn(void *, size_t *);
typedef int text_fn(void *, char *);

/* 0 bytes say that the program was compiled for a virtual architecture and has no cubin: that stays so. */
int jit_nvrtc_cubin_size(const struct jit_library *l, void *program, size_t *size)
{
    size_fn *cubin_size = (size_fn *)(uintptr_t)jit_real(l, "nvrtcGetCUBINSize"), *ptx_size = (size_fn *)(uintptr_t)jit_real(l, "nvrtcGetPTXSize");
    if (!cubin_size || !ptx_size)
        return NVRTC_ERROR_INTERNAL_ERROR;
    int rc = cubin_size(program, size);
    return rc == 0 && *size ? ptx_size(program, size) : rc;
}

int jit_nvrtc_cubin(const struct jit_library *l, void *program, char *cubin)
{
    text_fn *ptx = (text_fn *)(uintptr_t)jit_real(l, "nvrtcGetPTX"), *own = (text_fn *)(uintptr_t)jit_real(l, "nvrtcGetCUBIN");
    size_fn *size = (size_fn *)(uintptr_t)jit_real(l, "nvrtcGetCUBINSize");
    size_t n = 0;
    if (!ptx || !own || !size)
        return NVRTC_ERROR_INTERNAL_ERROR;
    if (!cubin)
        return NVRTC_ERROR_INVALID_INPUT;
    return size(program, &n) == 0 && n ? ptx(program, cubin) : own(program, cubin);
}
