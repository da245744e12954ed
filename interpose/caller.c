/* Who calls. NVIDIA's libraries choose kernels by compute capability, and for every real one some of their kernels exist as machine code only.
 * To a capability that they do not know they offer kernels with PTX: so they are told 13.0 (setting library_sm), and everybody else the truth. */
#include <dlfcn.h>
#include <string.h>

#include "interpose/api.h"
#include "runtime/knobs.h"

/* Beginnings of file names. Warp's library has a compiler inside, which makes machine code for the GPUs that it knows. */
static const char libraries[] = "libcublas,libcufft,libcurand,libcusparse,libcusolver,libcudnn,libnccl,libnpp,libnvjpeg,warp.so";

static bool listed(const char *list, const char *file)
{
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, ",");
        if (n && strncmp(file, at, n) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

int api_caller_sm(void)
{
    Dl_info in;
    const struct rt_knobs *knobs = rt_knobs();
    if (!knobs->library_sm || !api_thread.caller || !dladdr(api_thread.caller, &in) || !in.dli_fname)
        return 0;
    const char *slash = strrchr(in.dli_fname, '/'), *file = slash ? slash + 1 : in.dli_fname;
    return listed(libraries, file) || listed(knobs->libraries, file) ? (int)knobs->library_sm : 0;
}
