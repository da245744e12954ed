/* The ABI of the CUDA driver and runtime APIs: the types and structs that programs pass, as far as Heddle reads or writes them.
 *
 * Written from the public interface description; no NVIDIA header is needed. Enumerations are plain ints, handles are pointers to the
 * runtime's own objects. Layouts hold for x86-64 Linux; tests/unit/test_interpose_abi.c checks their sizes. */
#ifndef HEDDLE_ABI_H
#define HEDDLE_ABI_H
#include <stddef.h>
#include <stdint.h>

typedef int CUdevice;
typedef uint64_t CUdeviceptr;                  /* in registers the same as a void * */
typedef struct rt_context *CUcontext;
typedef struct rt_module *CUmodule;
typedef struct rt_library *CUlibrary;
typedef struct rt_kernel *CUkernel;
typedef struct rt_function *CUfunction;        /* may really be a CUkernel: launches take either */
typedef struct rt_stream *CUstream;            /* or one of the STREAM_ values below */
typedef struct rt_event *CUevent;
typedef struct rt_pool *CUmemoryPool;
typedef struct rt_array *CUarray;
typedef struct rt_link *CUlinkState;
typedef struct rt_graph *CUgraph;
typedef struct rt_node *CUgraphNode;
typedef struct rt_exec *CUgraphExec;
typedef struct rt_user_object *CUuserObject;
typedef struct rt_resources *CUdevResourceDesc;
typedef struct rt_green *CUgreenCtx;
typedef struct CUgraphEdgeData { uint8_t from_port, to_port, type, reserved[5]; } CUgraphEdgeData;
typedef struct rt_mipmap *CUmipmappedArray;
typedef struct rt_texref *CUtexref, *CUsurfref;
typedef uint64_t CUtexObject, CUsurfObject;
typedef uint64_t CUmemGenericAllocationHandle; /* a struct rt_mapping * */
typedef struct CUuuid { uint8_t bytes[16]; } CUuuid;

/* Stream arguments that name no stream object. NULL is the legacy stream, or the per-thread one through a _ptsz or _ptds name. */
enum { STREAM_LEGACY = 1, STREAM_PER_THREAD = 2 };

typedef void (*CUhostFn)(void *user);
typedef void (*CUstreamCallback)(void *stream, int status, void *user);
typedef size_t (*CUoccupancyB2DSize)(int block_threads);
typedef void (*logs_callback)(void *data, int level, char *message, size_t length);

/* ---- driver API ---- */

typedef struct CUdevprop {
    int max_threads_per_block, max_threads_dim[3], max_grid_size[3], shared_mem_per_block, total_constant_memory, simd_width, mem_pitch, regs_per_block,
        clock_rate, texture_align;
} CUdevprop;

typedef struct CUexecAffinityParam { int type; unsigned sm_count; } CUexecAffinityParam;
typedef struct CUdevResource { int type; unsigned char internal[92]; union { struct { unsigned count, least, alignment; } sm; unsigned char room[48]; }; } CUdevResource;
/* Of other APIs: nothing is ever behind these handles. */
typedef struct external_memory *CUexternalMemory;
typedef struct external_semaphore *CUexternalSemaphore;
typedef struct CUexternalMemoryDesc { int type; union { int fd; struct { void *handle; const void *name; } win32; const void *nvsci; } handle; uint64_t bytes; unsigned flags; } CUexternalMemoryDesc;
typedef struct CUexternalSemaphoreDesc { int type; union { int fd; struct { void *handle; const void *name; } win32; const void *nvsci; } handle; unsigned flags; } CUexternalSemaphoreDesc;
typedef struct CUmulticastObjectProp { unsigned devices; size_t bytes; uint64_t handle_types, flags; } CUmulticastObjectProp;
typedef struct CUctxCreateParams { CUexecAffinityParam *affinity; int n_affinity; void *cig; } CUctxCreateParams;

enum { MEMORYTYPE_HOST = 1, MEMORYTYPE_DEVICE = 2, MEMORYTYPE_ARRAY = 3, MEMORYTYPE_UNIFIED = 4 };

typedef struct CUDA_MEMCPY2D {
    size_t src_x, src_y; int src_type; const void *src_host; CUdeviceptr src_device; CUarray src_array; size_t src_pitch;
    size_t dst_x, dst_y; int dst_type; void *dst_host; CUdeviceptr dst_device; CUarray dst_array; size_t dst_pitch;
    size_t width_bytes, height;
} CUDA_MEMCPY2D;

/* CUDA_MEMCPY3D has a reserved pointer where CUDA_MEMCPY3D_PEER has the context. */
typedef struct CUDA_MEMCPY3D_PEER {
    size_t src_x, src_y, src_z, src_lod; int src_type; const void *src_host; CUdeviceptr src_device; CUarray src_array; CUcontext src_context; size_t src_pitch, src_height;
    size_t dst_x, dst_y, dst_z, dst_lod; int dst_type; void *dst_host; CUdeviceptr dst_device; CUarray dst_array; CUcontext dst_context; size_t dst_pitch, dst_height;
    size_t width_bytes, height, depth;
} CUDA_MEMCPY3D_PEER, CUDA_MEMCPY3D;

typedef struct CUDA_ARRAY_DESCRIPTOR { size_t width, height; int format; unsigned channels; } CUDA_ARRAY_DESCRIPTOR;
typedef struct CUDA_ARRAY3D_DESCRIPTOR { size_t width, height, depth; int format; unsigned channels, flags; } CUDA_ARRAY3D_DESCRIPTOR;

typedef struct CUDA_ARRAY_SPARSE_PROPERTIES { unsigned tile[3], miptail_first_level; unsigned long long miptail_bytes; unsigned flags, reserved[4]; } CUDA_ARRAY_SPARSE_PROPERTIES;
typedef struct CUDA_ARRAY_MEMORY_REQUIREMENTS { size_t size, alignment; unsigned reserved[4]; } CUDA_ARRAY_MEMORY_REQUIREMENTS;

/* Textures: CU_RESOURCE_TYPE_, CU_TRSF_ and view formats have the numbers of runtime/texture.h. */
typedef struct CUDA_RESOURCE_DESC {
    int type;
    union {
        CUarray array;
        CUmipmappedArray mipmap;
        struct { CUdeviceptr address; int format; unsigned channels; size_t bytes; } linear;
        struct { CUdeviceptr address; int format; unsigned channels; size_t width, height, pitch; } pitch2d;
        int reserved[32];
    } res;
    unsigned flags;
} CUDA_RESOURCE_DESC;
typedef struct CUDA_TEXTURE_DESC {
    int address[3], filter; unsigned flags, anisotropy; int mip_filter; float bias, min_lod, max_lod, border[4]; int reserved[12];
} CUDA_TEXTURE_DESC;
typedef struct CUDA_RESOURCE_VIEW_DESC {
    int format; size_t width, height, depth; unsigned first_level, last_level, first_layer, last_layer, reserved[16];
} CUDA_RESOURCE_VIEW_DESC;

enum { LOCATION_INVALID, LOCATION_DEVICE, LOCATION_HOST, LOCATION_HOST_NUMA, LOCATION_HOST_NUMA_CURRENT };
typedef struct CUmemLocation { int type, id; } CUmemLocation;
typedef struct CUmemAccessDesc { CUmemLocation location; int flags; } CUmemAccessDesc;
typedef struct CUmemcpyAttributes { int src_order; CUmemLocation src_hint, dst_hint; unsigned flags; } CUmemcpyAttributes;
typedef struct CUmemcpy3DOperand {
    int type;
    union {
        struct { CUdeviceptr ptr; size_t row_length, layer_height; CUmemLocation hint; } ptr;
        struct { CUarray array; size_t x, y, z; } array;
    } op;
} CUmemcpy3DOperand;
typedef struct CUDA_MEMCPY3D_BATCH_OP { CUmemcpy3DOperand src, dst; size_t width, height, depth; int src_order; unsigned flags; } CUDA_MEMCPY3D_BATCH_OP;
typedef struct CUmemPoolProps { int alloc_type, handle_types; CUmemLocation location; void *security; size_t max_bytes; uint16_t usage; uint8_t reserved[54]; } CUmemPoolProps;
typedef struct CUmemAllocationProp {
    int type, handle_types; CUmemLocation location; void *win32;
    uint8_t compression, rdma; uint16_t usage; uint8_t reserved[4];
} CUmemAllocationProp;

/* Attributes of launches, streams and graph kernel nodes share one union. */
enum {
    ATTR_IGNORE, ATTR_ACCESS_WINDOW, ATTR_COOPERATIVE, ATTR_SYNC_POLICY, ATTR_CLUSTER_DIM, ATTR_CLUSTER_SCHEDULING, ATTR_STREAM_SERIALIZATION,
    ATTR_PROGRAMMATIC_EVENT, ATTR_PRIORITY, ATTR_SYNC_DOMAIN_MAP, ATTR_SYNC_DOMAIN, ATTR_PREFERRED_CLUSTER, ATTR_COMPLETION_EVENT, ATTR_UPDATABLE_NODE,
    ATTR_CARVEOUT, ATTR_NVLINK_SCHEDULING = 16
};
enum { CLUSTER_POLICY_DEFAULT, CLUSTER_POLICY_SPREAD, CLUSTER_POLICY_LOAD_BALANCING };
typedef union CUstreamAttrValue {
    char pad[64];
    void *pointer;
    int cooperative, priority, sync_policy, cluster_policy;
    struct { unsigned x, y, z; } cluster;
    struct { CUevent event; int flags, trigger_at_start; } event;
    unsigned carveout;
} CUlaunchAttributeValue, CUstreamAttrValue;
typedef struct CUlaunchAttribute { int id; char pad[4]; CUlaunchAttributeValue value; } CUlaunchAttribute;
typedef struct CUlaunchConfig {
    unsigned grid[3], block[3], shared_bytes; CUstream stream; CUlaunchAttribute *attrs; unsigned n_attrs;
} CUlaunchConfig;

/* ---- graphs: structs of the driver API; those that the runtime API has with the same layout are named by these too ---- */

/* kern and ctx: from 12.0, in the _v2 functions only. In the runtime API func is a host function. */
typedef struct CUDA_KERNEL_NODE_PARAMS {
    CUfunction func; unsigned grid[3], block[3], shared_bytes; void **params, **extra; CUkernel kern; CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;
typedef struct CUDA_MEMSET_NODE_PARAMS { CUdeviceptr dst; size_t pitch; unsigned value, elem_bytes; size_t width, height; } CUDA_MEMSET_NODE_PARAMS;
typedef struct CUDA_HOST_NODE_PARAMS { CUhostFn fn; void *user; } CUDA_HOST_NODE_PARAMS;
typedef struct CUDA_MEM_ALLOC_NODE_PARAMS {
    CUmemPoolProps pool; const CUmemAccessDesc *access; size_t n_access, bytes; CUdeviceptr dptr;
} CUDA_MEM_ALLOC_NODE_PARAMS;
typedef struct CUDA_GRAPH_INSTANTIATE_PARAMS { uint64_t flags; CUstream upload; CUgraphNode error_node; int result; } CUDA_GRAPH_INSTANTIATE_PARAMS;
typedef struct CUgraphExecUpdateResultInfo { int result; CUgraphNode error_node, error_from; } CUgraphExecUpdateResultInfo;
typedef union CUstreamBatchMemOpParams {
    int operation;
    struct { int operation; CUdeviceptr address; uint64_t value; unsigned flags; CUdeviceptr alias; } value;     /* 32-bit values: the low half */
    struct { int operation; unsigned flags; } barrier;
    uint64_t pad[6];
} CUstreamBatchMemOpParams;
typedef struct CUDA_BATCH_MEM_OP_NODE_PARAMS { CUcontext ctx; unsigned count; CUstreamBatchMemOpParams *ops; unsigned flags; } CUDA_BATCH_MEM_OP_NODE_PARAMS;
typedef struct CUgraphNodeParams {
    int type, reserved[3];
    union {
        long long pad[29];
        CUDA_KERNEL_NODE_PARAMS kernel;
        struct { int flags, reserved; CUcontext ctx; CUDA_MEMCPY3D copy; } copy;
        CUDA_MEMSET_NODE_PARAMS set;
        CUDA_HOST_NODE_PARAMS host;
        struct { CUgraph graph; int ownership; } graph;
        CUevent event;
        CUDA_MEM_ALLOC_NODE_PARAMS alloc;
        CUdeviceptr free;
        CUDA_BATCH_MEM_OP_NODE_PARAMS batch;
        struct { uint64_t handle; int type; unsigned size; CUgraph *bodies; CUcontext ctx; } condition;
    } u;
    long long reserved2;
} CUgraphNodeParams;

/* ---- runtime API ---- */

struct dim3 { unsigned x, y, z; };
struct cudaExtent { size_t width, height, depth; };
struct cudaPos { size_t x, y, z; };
struct cudaPitchedPtr { void *ptr; size_t pitch, xsize, ysize; };
struct cudaChannelFormatDesc { int x, y, z, w, f; };
struct cudaResourceDesc {
    int type;
    union {
        CUarray array;
        CUmipmappedArray mipmap;
        struct { CUdeviceptr address; struct cudaChannelFormatDesc desc; size_t bytes; } linear;
        struct { CUdeviceptr address; struct cudaChannelFormatDesc desc; size_t width, height, pitch; } pitch2d;
        int reserved[32];
    } res;
    unsigned flags;
};
struct cudaTextureDesc {                       /* before 12.0 it ended with max_lod (then disable_trilinear_optimization came) */
    int address[3], filter, read_mode, srgb; float border[4]; int normalized; unsigned anisotropy; int mip_filter; float bias, min_lod, max_lod;
    int disable_trilinear_optimization, seamless_cubemap;
};
struct textureReference {                      /* up to 11.8 */
    int normalized, filter, address[3]; struct cudaChannelFormatDesc desc; int srgb; unsigned anisotropy; int mip_filter; float bias, min_lod, max_lod;
    int disable_trilinear_optimization, reserved[14];
};
struct surfaceReference { struct cudaChannelFormatDesc desc; };
struct cudaMemcpy3DParms {
    CUarray src_array; struct cudaPos src_pos; struct cudaPitchedPtr src;
    CUarray dst_array; struct cudaPos dst_pos; struct cudaPitchedPtr dst;
    struct cudaExtent extent; int kind;
};
struct cudaMemcpy3DPeerParms {
    CUarray src_array; struct cudaPos src_pos; struct cudaPitchedPtr src; int src_device;
    CUarray dst_array; struct cudaPos dst_pos; struct cudaPitchedPtr dst; int dst_device;
    struct cudaExtent extent;
};
enum { COPY_HOST_TO_HOST, COPY_HOST_TO_DEVICE, COPY_DEVICE_TO_HOST, COPY_DEVICE_TO_DEVICE, COPY_DEFAULT };
struct cudaFuncAttributes {
    size_t shared_bytes, const_bytes, local_bytes;
    int max_threads, regs, ptx_version, binary_version, cache_mode_ca, max_dynamic_shared_bytes, carveout, cluster_must_be_set, cluster[3], cluster_policy,
        cluster_non_portable, reserved[16];
};
struct cudaPointerAttributes { int type, device; void *device_pointer, *host_pointer; long reserved[8]; };   /* reserved: from 13.0 */
struct cudaGraphNodeParams {
    int type, reserved[3];
    union {
        long long pad[29];
        CUDA_KERNEL_NODE_PARAMS kernel;        /* without its last two members */
        struct { int flags, reserved[3]; struct cudaMemcpy3DParms copy; } copy;
        CUDA_MEMSET_NODE_PARAMS set;
        CUDA_HOST_NODE_PARAMS host;
        struct { CUgraph graph; int ownership; } graph;
        CUevent event;
        CUDA_MEM_ALLOC_NODE_PARAMS alloc;
        CUdeviceptr free;
    } u;
    long long reserved2;
};
struct cudaLaunchConfig { struct dim3 grid, block; size_t shared_bytes; CUstream stream; CUlaunchAttribute *attrs; unsigned n_attrs; };

#endif
