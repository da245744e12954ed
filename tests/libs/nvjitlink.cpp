// nvJitLink, linked: two units of PTX, two of LTO-IR, and a link that cannot succeed.
#include <cuda.h>
#include <nvJitLink.h>
#include <nvrtc.h>

#include <string>

#include "check.h"
#include "jitlink.h"

static std::string arch;

static std::vector<char> compile(const char *source, bool lto)
{
    nvrtcProgram p;
    std::string option = "--gpu-architecture=compute_" + arch;
    const char *options[] = {option.c_str(), "--relocatable-device-code=true", "-dlto"};
    size_t bytes = 0;
    OK(nvrtcCreateProgram(&p, source, "unit.cu", 0, nullptr, nullptr));
    OK(nvrtcCompileProgram(p, lto ? 3 : 2, options));
    OK(lto ? nvrtcGetLTOIRSize(p, &bytes) : nvrtcGetPTXSize(p, &bytes));
    std::vector<char> out(bytes);
    OK(lto ? nvrtcGetLTOIR(p, out.data()) : nvrtcGetPTX(p, out.data()));
    OK(nvrtcDestroyProgram(&p));
    return out;
}

static void link(bool lto, const char *what)
{
    nvJitLinkHandle h;
    std::string option = "-arch=sm_" + arch;
    const char *options[] = {option.c_str(), "-lto"};
    auto type = lto ? NVJITLINK_INPUT_LTOIR : NVJITLINK_INPUT_PTX;
    std::vector<char> a = compile(kernel_source, lto), b = compile(function_source, lto);
    OK(nvJitLinkCreate(&h, lto ? 2 : 1, options));
    OK(nvJitLinkAddData(h, type, a.data(), a.size(), "kernel"));
    OK(nvJitLinkAddData(h, type, b.data(), b.size(), "function"));
    OK(nvJitLinkComplete(h));
    size_t bytes = 0;
    OK(nvJitLinkGetLinkedCubinSize(h, &bytes));
    std::vector<char> cubin(bytes);
    OK(nvJitLinkGetLinkedCubin(h, cubin.data()));
    OK(nvJitLinkDestroy(&h));
    run_linked(cubin, what);
}

int main()
{
    int major = 0, minor = 0;
    OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    OK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    OK(cudaFree(nullptr));
    arch = std::to_string(major) + std::to_string(minor);
    link(false, "PTX");
    link(true, "LTO-IR");

    nvJitLinkHandle h;
    std::string option = "-arch=sm_" + arch, bad = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry k() { no.such.instruction; }\n";
    const char *options[] = {option.c_str()};
    OK(nvJitLinkCreate(&h, 1, options));
    int rc = nvJitLinkAddData(h, NVJITLINK_INPUT_PTX, bad.data(), bad.size(), "bad.ptx");
    if (rc == NVJITLINK_SUCCESS) rc = nvJitLinkComplete(h);
    size_t bytes = 0;
    OK(nvJitLinkGetErrorLogSize(h, &bytes));
    std::string log(bytes, '\0');
    if (bytes) OK(nvJitLinkGetErrorLog(h, &log[0]));
    check(rc != NVJITLINK_SUCCESS && log.find("no.such") != std::string::npos, "what is wrong is named");
    OK(nvJitLinkDestroy(&h));
    return report();
}
