// nvml: libnvidia-ml.so.1 by dlopen, as frameworks and monitors use it: before CUDA, in a forked child beside it, and with wrong arguments.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;
#define EXPECT(cond, ...) ((cond) ? (void)0 : (failures++, printf("FAIL: line %d: ", __LINE__), printf(__VA_ARGS__), (void)printf("\n")))

typedef void *Device;
struct Memory { unsigned long long total, free, used; };
struct Memory2 { unsigned version; unsigned long long total, reserved, free, used; };
struct Pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; };
struct Process { unsigned pid; unsigned long long used; unsigned gi, ci; };
struct Field { unsigned id, scope; long long at, latency; int type, result; unsigned long long value; };

static void *nvml, *cuda;
template <typename... A> static int call(const char *name, A... a)
{
    auto f = (int (*)(A...))dlsym(nvml, name);
    EXPECT(f, "no %s", name);
    return f ? f(a...) : -1;
}
template <typename... A> static int cu(const char *name, A... a) { return ((int (*)(A...))dlsym(cuda, name))(a...); }

enum { UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, VERSION_MISMATCH = 25 };

static void facts(Device d)
{
    char text[96], uuid[96];
    int major = 0, minor = 0;
    unsigned n = 99, now = 99, later = 99;
    EXPECT(call("nvmlDeviceGetName", d, text, 96u) == 0 && strstr(text, "H100"), "the name is %s", text);
    EXPECT(call("nvmlDeviceGetName", d, text, 3u) == INSUFFICIENT_SIZE, "a name in three bytes");
    EXPECT(call("nvmlDeviceGetUUID", d, uuid, 96u) == 0 && strncmp(uuid, "GPU-", 4) == 0 && strlen(uuid) == 40, "the UUID is %s", uuid);
    EXPECT(call("nvmlDeviceGetCudaComputeCapability", d, &major, &minor) == 0 && major == 9 && minor == 0, "capability %d.%d", major, minor);
    EXPECT(call("nvmlDeviceGetIndex", d, &n) == 0 && n == 1, "index %u", n);
    EXPECT(call("nvmlDeviceGetArchitecture", d, &n) == 0 && n == 9, "architecture %u", n);
    EXPECT(call("nvmlDeviceGetNumGpuCores", d, &n) == 0 && n == 132 * 128, "%u cores", n);
    EXPECT(call("nvmlDeviceGetMemoryBusWidth", d, &n) == 0 && n == 5120, "bus width %u", n);
    EXPECT(call("nvmlDeviceGetClockInfo", d, 1, &n) == 0 && n == 1980, "clock %u", n);
    EXPECT(call("nvmlDeviceGetClockInfo", d, 2, &n) == 0 && n == 2619, "memory clock %u", n);
    EXPECT(call("nvmlDeviceGetClockInfo", d, 7, &n) == INVALID_ARGUMENT, "a clock of no kind");
    EXPECT(call("nvmlDeviceGetTemperature", d, 0, &n) == 0 && n >= 20 && n < 100, "%u degrees", n);
    EXPECT(call("nvmlDeviceGetPowerManagementLimit", d, &n) == 0 && n == 700000, "limit %u mW", n);
    EXPECT(call("nvmlDeviceGetPowerUsage", d, &now) == 0 && now > 0 && now <= n, "%u mW", now);
    EXPECT(call("nvmlDeviceGetEccMode", d, &now, &later) == 0 && now == 1 && later == 1, "ECC %u %u", now, later);
    EXPECT(call("nvmlDeviceGetMigMode", d, &now, &later) == 0 && now == 0 && later == 0, "MIG %u %u", now, later);
    EXPECT(call("nvmlDeviceGetPersistenceMode", d, &now) == 0 && now == 1, "persistence %u", now);
    EXPECT(call("nvmlDeviceGetComputeMode", d, &now) == 0 && now == 0, "compute mode %u", now);
    EXPECT(call("nvmlDeviceGetFanSpeed", d, &now) == NOT_SUPPORTED, "a fan");
    EXPECT(call("nvmlDeviceGetVgpuUtilization", d, 0ull, &now, &now, nullptr) == NOT_SUPPORTED, "virtual GPUs");
    Device again;
    EXPECT(call("nvmlDeviceGetHandleByUUID", (const char *)uuid, &again) == 0 && again == d, "not found by its UUID");
    EXPECT(call("nvmlDeviceGetHandleByUUID", (const char *)"GPU-nothing", &again) == NOT_FOUND, "found by a wrong UUID");
    Pci pci;
    EXPECT(call("nvmlDeviceGetPciInfo_v3", d, &pci) == 0 && pci.bus == 2 && strcmp(pci.bus_id, "00000000:02:00.0") == 0 && pci.id >> 16 == 0x2330, "bus %u, %s", pci.bus, pci.bus_id);
    EXPECT(call("nvmlDeviceGetHandleByPciBusId_v2", (const char *)pci.bus_id, &again) == 0 && again == d, "not found by its place");
    EXPECT(call("nvmlDeviceGetHandleByPciBusId_v2", (const char *)"0000:77:00.0", &again) == NOT_FOUND, "found where nothing is");
    Field fields[] = {{1, 0, 0, 0, 0, -1, 0}, {83, 0, 0, 0, 0, -1, 0}, {9999, 0, 0, 0, 0, -1, 0}};
    EXPECT(call("nvmlDeviceGetFieldValues", d, 3, fields) == 0 && fields[0].result == 0 && (unsigned)fields[0].value == 1 && fields[1].result == 0 && fields[2].result == NOT_SUPPORTED,
           "fields: %d %d %d", fields[0].result, fields[1].result, fields[2].result);
}

static void memory(Device d)
{
    Memory before, after;
    Memory2 v2 = {2u << 24 | sizeof(Memory2)};
    unsigned n = 0;
    Process p[4];
    EXPECT(call("nvmlDeviceGetMemoryInfo", d, &before) == 0 && before.total == 84942979072ull && before.free + before.used == before.total, "%llu bytes", before.total);
    EXPECT(call("nvmlDeviceGetMemoryInfo_v2", d, &v2) == 0 && v2.total == before.total, "%llu bytes", v2.total);
    v2.version = 7;
    EXPECT(call("nvmlDeviceGetMemoryInfo_v2", d, &v2) == VERSION_MISMATCH, "a wrong version");
    EXPECT(call("nvmlDeviceGetComputeRunningProcesses_v3", d, &n, (Process *)nullptr) == 0 && n == 0, "%u processes before CUDA", n);
    void *context;
    unsigned long long at;
    EXPECT(cu("cuInit", 0u) == 0 && cu("cuCtxCreate_v2", &context, 0u, 0) == 0 && cu("cuMemAlloc_v2", &at, (size_t)64 << 20) == 0, "CUDA does not start");
    EXPECT(call("nvmlDeviceGetMemoryInfo", d, &after) == 0 && after.used >= before.used + (64 << 20), "%llu bytes used", after.used);
    n = 0;
    EXPECT(call("nvmlDeviceGetComputeRunningProcesses_v3", d, &n, p) == INSUFFICIENT_SIZE && n == 1, "%u processes", n);
    EXPECT(call("nvmlDeviceGetComputeRunningProcesses_v3", d, &n, p) == 0 && n == 1 && p[0].pid == (unsigned)getpid() && p[0].used == after.used, "process %u with %llu bytes", p[0].pid, p[0].used);
    EXPECT(cu("cuMemFree_v2", at) == 0, "free");
}

static void several(Device a, Device b)
{
    int level = -1, link = -1;
    unsigned n = 4;
    Device near[4];
    EXPECT(call("nvmlDeviceGetTopologyCommonAncestor", a, b, &level) == 0 && level == 30, "level %d", level);
    EXPECT(call("nvmlDeviceGetP2PStatus", a, b, 0, &link) == 0 && link == 0, "link %d", link);
    EXPECT(call("nvmlDeviceGetTopologyNearestGpus", a, 30, &n, near) == 0 && n == 1 && near[0] == b, "%u near", n);
}

int main()
{
    unsigned n = 0;
    int version = 0;
    Device d[2], bad = (Device)"no device";
    char text[80];
    nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!nvml || !cuda)
        return printf("FAIL: %s\n", dlerror()), 1;
    EXPECT(call("nvmlDeviceGetCount_v2", &n) == UNINITIALIZED, "counted before nvmlInit");
    EXPECT(call("nvmlDeviceGetFanSpeed", bad, &n) == UNINITIALIZED, "a fan before nvmlInit");
    EXPECT(call("nvmlShutdown") == UNINITIALIZED, "shut down before nvmlInit");
    EXPECT(call("nvmlInit_v2") == 0 && call("nvmlInitWithFlags", 0u) == 0 && call("nvmlShutdown") == 0, "nvmlInit");
    EXPECT(call("nvmlSystemGetDriverVersion", text, 80u) == 0 && atof(text) > 400, "driver %s", text);
    EXPECT(call("nvmlSystemGetCudaDriverVersion_v2", &version) == 0 && version >= 12000, "CUDA %d", version);
    EXPECT(call("nvmlDeviceGetCount_v2", &n) == 0 && n == 2, "%u devices", n); // CUDA_VISIBLE_DEVICES hides one, not from NVML
    EXPECT(call("nvmlDeviceGetHandleByIndex_v2", 0u, &d[0]) == 0 && call("nvmlDeviceGetHandleByIndex_v2", 1u, &d[1]) == 0, "handles");
    EXPECT(call("nvmlDeviceGetHandleByIndex_v2", 2u, &bad) == INVALID_ARGUMENT, "a third device");
    EXPECT(call("nvmlDeviceGetName", bad, text, 80u) == INVALID_ARGUMENT && call("nvmlDeviceGetIndex", (Device)0, &n) == INVALID_ARGUMENT, "a handle of nothing");
    facts(d[1]);
    several(d[0], d[1]);
    pid_t pid = fork(); // NVML asked before a fork leaves CUDA usable in the child
    if (pid == 0) {
        memory(d[1]);
        fflush(stdout);
        _exit(failures != 0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT(status == 0, "the child: %x", status);
    memory(d[1]);
    EXPECT(call("nvmlShutdown") == 0 && call("nvmlDeviceGetCount_v2", &n) == UNINITIALIZED, "nvmlShutdown");
    puts(failures ? "FAIL" : "PASS");
    return failures != 0;
}
