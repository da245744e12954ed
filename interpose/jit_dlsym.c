/* dlsym, exported: a program that opens NVRTC or nvJitLink gets our functions of jit.def. Everything else goes on to the C library by a jump, not a call:
 * what RTLD_NEXT and RTLD_DEFAULT mean depends on where dlsym was called from. */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "interpose/jit.h"
#include "runtime/base/sanitized.h"

typedef void *dlsym_fn(void *, const char *);

__attribute__((visibility("hidden"), used)) dlsym_fn *jit_real_dlsym;
__attribute__((visibility("hidden"), used)) void *jit_dlsym_begin(void *handle, const char *name);

static dlsym_fn *real(void)
{
    dlsym_fn *f = __atomic_load_n(&jit_real_dlsym, __ATOMIC_ACQUIRE);
    if (!f) {
        f = (dlsym_fn *)(uintptr_t)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
        __atomic_store_n(&jit_real_dlsym, f, __ATOMIC_RELEASE);
    }
    return f;
}

void *jit_dlsym(void *handle, const char *name) { return real()(handle, name); }

/* The answer, or NULL: let the C library give it. */
void *jit_dlsym_begin(void *handle, const char *name)
{
    (void)real();
    if (!name || !(strncmp(name, "nvrtcGetCUBIN", 13) == 0 || strncmp(name, "nvJitLink", 9) == 0 || strncmp(name, "__nvJitLink", 11) == 0))
        return NULL;
    if (handle == RTLD_NEXT || handle == RTLD_DEFAULT)
        return NULL;
    return jit_answer(name, jit_dlsym(handle, name));
}

#ifndef SANITIZED
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "  .cfi_startproc\n"
        "  endbr64\n"
        "  pushq %rdi\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  pushq %rsi\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  subq $8, %rsp\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  call jit_dlsym_begin\n"
        "  addq $8, %rsp\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  popq %rsi\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  popq %rdi\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  testq %rax, %rax\n"
        "  jne 1f\n"
        "  movq jit_real_dlsym(%rip), %rax\n"
        "  jmp *%rax\n"
        "1: ret\n"
        "  .cfi_endproc\n"
        ".size dlsym, . - dlsym\n");
#endif
