// NVRTC and nvJitLink by dlopen and dlsym, as Python's packages have them; RTLD_NEXT and RTLD_DEFAULT keep their meaning.
#include <cuda.h>
#include <dlfcn.h>

#include <string>

#include "check.h"
#include "jitlink.h"

template <class F> static F get(void *library, const char *name)
{
    F f = reinterpret_cast<F>(dlsym(library, name));
    if (!f) {
        std::printf("no %s: %s\nFAIL\n", name, dlerror());
        std::exit(1);
    }
    return f;
}

int main()
{
    void *rtc = dlopen("libnvrtc.so", RTLD_NOW | RTLD_LOCAL), *jit = dlopen("libnvJitLink.so", RTLD_NOW | RTLD_LOCAL);
    if (!rtc || !jit) {
        std::printf("%s\nFAIL\n", dlerror());
        return 1;
    }
    using Program = void *;
    auto create = get<int (*)(Program *, const char *, const char *, int, const char **, const char **)>(rtc, "nvrtcCreateProgram");
    auto compile = get<int (*)(Program, int, const char **)>(rtc, "nvrtcCompileProgram");
    auto size = get<int (*)(Program, size_t *)>(rtc, "nvrtcGetCUBINSize");
    auto text = get<int (*)(Program, char *)>(rtc, "nvrtcGetCUBIN");
    auto link_create = get<int (*)(void **, unsigned, const char **)>(jit, "nvJitLinkCreate");
    auto link_add = get<int (*)(void *, int, const void *, size_t, const char *)>(jit, "nvJitLinkAddData");
    auto link_complete = get<int (*)(void *)>(jit, "nvJitLinkComplete");
    auto link_size = get<int (*)(void *, size_t *)>(jit, "nvJitLinkGetLinkedCubinSize");
    auto link_get = get<int (*)(void *, void *)>(jit, "nvJitLinkGetLinkedCubin");
    auto link_destroy = get<int (*)(void **)>(jit, "nvJitLinkDestroy");

    int major = 0, minor = 0;
    OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    OK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    OK(cudaFree(nullptr));
    std::string sm = "sm_" + std::to_string(major) + std::to_string(minor), arch = "-arch=" + sm;
    const char *options[] = {arch.c_str(), "-rdc=true"};
    void *link = nullptr;
    OK(link_create(&link, 1, options));
    for (const char *source : {kernel_source, function_source}) {
        Program p;
        size_t bytes = 0;
        OK(create(&p, source, "unit.cu", 0, nullptr, nullptr));
        OK(compile(p, 2, options));
        OK(size(p, &bytes));
        std::vector<char> cubin(bytes);
        OK(text(p, cubin.data()));
        OK(link_add(link, 10, cubin.data(), cubin.size(), "unit"));        // 10: any type
    }
    OK(link_complete(link));
    size_t bytes = 0;
    OK(link_size(link, &bytes));
    std::vector<char> cubin(bytes);
    OK(link_get(link, cubin.data()));
    OK(link_destroy(&link));
    run_linked(cubin, "compiled and linked by opened libraries");

    void *own = dlopen(nullptr, RTLD_NOW);
    check(dlsym(own, "no_such_symbol") == nullptr && dlerror(), "an unknown symbol is an error");
    check(dlsym(RTLD_NEXT, "cudaGetLastError_of_nobody") == nullptr, "RTLD_NEXT");
    check(dlsym(RTLD_DEFAULT, "printf") == dlsym(RTLD_NEXT, "printf"), "RTLD_DEFAULT and RTLD_NEXT find printf");
    return report();
}
