/* Who calls. NVIDIA's libraries choose kernels by compute capability, and for every real one some of their kernels exist as machine code only.
 * To a capability that they do not know they offer kernels with PTX: so they are told 13.0, and everybody else the truth. */
#include <dlfcn.h>
#include <string.h>

#include "interpose/api.h"

/* Beginnings of file names. */
static const char *const libraries[] = {"libcublas", "libcufft", "libcurand", "libcusparse", "libcusolver", "libcudnn", "libnccl", "libnpp", "libnvjpeg"};

bool api_caller_is_library(void)
{
    Dl_info in;
    if (!api_thread.caller || !dladdr(api_thread.caller, &in) || !in.dli_fname)
        return false;
    const char *slash = strrchr(in.dli_fname, '/'), *file = slash ? slash + 1 : in.dli_fname;
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        if (strncmp(file, libraries[i], strlen(libraries[i])) == 0)
            return true;
    return false;
}
