/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_GPU_DRIVER_H
#define PEALI_GPU_DRIVER_H

#include <stddef.h>
#include <stdint.h>

/*
 * A GPU vendor's driver as a table of functions. Most calls of CUDA's driver
 * API and of HIP's module API have equal arguments and different names. So the
 * loaders in ../cuda and ../hip put the driver's symbols into one table. For
 * other calls the loader has a function.
 *
 * The prototypes are our own, so the build needs no toolkit. A call returns 0
 * or the driver's error. The relevant error numbers are equal for both vendors,
 * see errors.c. Device addresses and integer handles are uint64_t.
 */

/*
 * When a call may be made. BEFORE: only while no kernel is resident on a device
 * of the driver. Such a call may wait for the kernel's end (CUDA C++
 * Programming Guide, "Implicit Synchronization" and "Lazy Loading"). RESIDENT:
 * at any time. This list is the only one. The driver doubles of tests/fault
 * enforce it.
 */
#define PEALI_GPU_BEFORE 0
#define PEALI_GPU_RESIDENT 1

/** The loss if a driver lacks a call. */
enum peali_gpu_need {
	PEALI_GPU_NEEDED, /* the backend cannot be used */
	/* heaps at chosen addresses; plain heaps are used instead */
	PEALI_GPU_VMM,
	PEALI_GPU_PARTS, /* isolated parts of a device */
	PEALI_GPU_GRAPHS, /* recorded launches */
	PEALI_GPU_CLUSTERS, /* clusters of blocks */
	PEALI_GPU_OPTION /* see the comment of the call */
};

/** cuMemCreate's properties (CUmemAllocationProp_v1). */
struct peali_gpu_memory_kind {
	int type; /* 1: pinned to its place */
	int handle_types; /* 1: exportable as a file descriptor; 0 not */
	int location_type; /* 1: a device */
	int location_id;
	void *reserved;
	uint8_t flags[8];
};

/** cuMemSetAccess's description (CUmemAccessDesc_v1). */
struct peali_gpu_access {
	int location_type; /* 1: a device */
	int location_id;
	int flags; /* 3: read and write */
};

/** One of a launch's attributes (CUlaunchAttribute). */
struct peali_gpu_launch_attribute {
	int id; /* enum peali_gpu_launch_attribute_id */
	uint8_t padding[4];
	unsigned value[16]; /* of a cluster's size: x, y, z */
};

enum peali_gpu_launch_attribute_id {
	PEALI_GPU_LAUNCH_COOPERATIVE = 2,
	PEALI_GPU_LAUNCH_CLUSTER = 4
};

/** A grid that has attributes (CUlaunchConfig). */
struct peali_gpu_grid {
	unsigned gx, gy, gz, bx, by, bz; /* blocks, and threads of each */
	unsigned shared_bytes; /* of each block, added to the code's own */
	void *stream;
	struct peali_gpu_launch_attribute *attributes;
	unsigned n_attributes;
};

/*
 * X(member, arguments, CUDA's symbol, since CUDA version, HIP's symbol, need,
 * when). With an empty symbol the vendor's loader fills the member, or it stays
 * NULL.
 *
 * launch_cooperative stays NULL for HIP. ROCm runs all cooperative kernels of a
 * device in one queue (ROCclr's VirtualGPU::submitKernel). So a second kernel
 * would wait for the first one for ever.
 */
#define PEALI_GPU_CALLS(X)                                                     \
	X(init, (unsigned flags), "cuInit", 2000, "hipInit", NEEDED, BEFORE)   \
	X(driver_version, (int *version), "cuDriverGetVersion", 2020,          \
	  "hipDriverGetVersion", NEEDED, RESIDENT)                             \
	X(device_count, (int *count), "cuDeviceGetCount", 2000,                \
	  "hipGetDeviceCount", NEEDED, RESIDENT)                               \
	X(device_get, (int *device, int ordinal), "cuDeviceGet", 2000,         \
	  "hipDeviceGet", NEEDED, RESIDENT)                                    \
	X(device_name, (char *name, int bytes, int device), "cuDeviceGetName", \
	  2000, "hipDeviceGetName", NEEDED, RESIDENT)                          \
	X(device_uuid, (uint8_t uuid[16], int device), "cuDeviceGetUuid",      \
	  11040, "hipDeviceGetUuid", OPTION /* the PCI address is taken */,    \
	  RESIDENT)                                                            \
	X(device_pci, (char *name, int bytes, int device),                     \
	  "cuDeviceGetPCIBusId", 4010, "hipDeviceGetPCIBusId",                 \
	  OPTION /* no NUMA node, no address in texts */, RESIDENT)            \
	X(device_attribute, (int *value, int attribute, int device),           \
	  "cuDeviceGetAttribute", 2000, "hipDeviceGetAttribute", NEEDED,       \
	  RESIDENT)                                                            \
	X(memory_info, (size_t * free, size_t * total), "cuMemGetInfo", 3020,  \
	  "hipMemGetInfo", NEEDED, RESIDENT)                                   \
	X(can_access, (int *can, int device, int peer),                        \
	  "cuDeviceCanAccessPeer", 4000, "hipDeviceCanAccessPeer", NEEDED,     \
	  RESIDENT)                                                            \
	X(pair_attribute, (int *value, int attribute, int device, int peer),   \
	  "cuDeviceGetP2PAttribute", 8000, "hipDeviceGetP2PAttribute",         \
	  OPTION /* a pair's atomics are taken to be missing */, RESIDENT)     \
	X(memory_alloc, (uint64_t * address, size_t bytes), "cuMemAlloc",      \
	  3020, "hipMalloc", NEEDED, BEFORE)                                   \
	X(memory_alloc_flags,                                                  \
	  (uint64_t * address, size_t bytes, unsigned flags), "", 0,           \
	  "hipExtMallocWithFlags", OPTION /* coarse memory */, BEFORE)         \
	X(memory_free, (uint64_t address), "cuMemFree", 3020, "hipFree",       \
	  NEEDED, BEFORE)                                                      \
	X(managed_alloc, (uint64_t * address, size_t bytes, unsigned flags),   \
	  "cuMemAllocManaged", 6000, "hipMallocManaged",                       \
	  OPTION /* pinned host memory is used instead */, BEFORE)             \
	X(prefetch,                                                            \
	  (uint64_t address, size_t bytes, int device, void *stream),          \
	  "cuMemPrefetchAsync", 8000, "hipMemPrefetchAsync",                   \
	  OPTION /* as above */, RESIDENT)                                     \
	X(advise, (uint64_t address, size_t bytes, int advice, int device),    \
	  "cuMemAdvise", 8000, "hipMemAdvise", OPTION /* as above */, BEFORE)  \
	X(host_alloc, (void **address, size_t bytes, unsigned flags),          \
	  "cuMemHostAlloc", 2020, "hipHostMalloc", NEEDED, BEFORE)             \
	X(host_free, (void *address), "cuMemFreeHost", 2000, "hipHostFree",    \
	  NEEDED, BEFORE)                                                      \
	X(host_register, (void *address, size_t bytes, unsigned flags),        \
	  "cuMemHostRegister", 6050, "hipHostRegister",                        \
	  OPTION /* no links with devices of another vendor */, BEFORE)        \
	X(host_unregister, (void *address), "cuMemHostUnregister", 4000,       \
	  "hipHostUnregister", OPTION /* as above */, BEFORE)                  \
	X(host_address, (uint64_t * address, void *host, unsigned flags),      \
	  "cuMemHostGetDevicePointer", 3020, "hipHostGetDevicePointer",        \
	  NEEDED, RESIDENT)                                                    \
	X(granularity,                                                         \
	  (size_t * bytes, const struct peali_gpu_memory_kind *kind,           \
	   int option),                                                        \
	  "cuMemGetAllocationGranularity", 10020, "", VMM, RESIDENT)           \
	X(reserve,                                                             \
	  (uint64_t * address, size_t bytes, size_t align, uint64_t wish,      \
	   uint64_t flags),                                                    \
	  "cuMemAddressReserve", 10020, "", VMM, BEFORE)                       \
	X(unreserve, (uint64_t address, size_t bytes), "cuMemAddressFree",     \
	  10020, "", VMM, BEFORE)                                              \
	X(create,                                                              \
	  (uint64_t * handle, size_t bytes,                                    \
	   const struct peali_gpu_memory_kind *kind, uint64_t flags),          \
	  "cuMemCreate", 10020, "", VMM, BEFORE)                               \
	X(release, (uint64_t handle), "cuMemRelease", 10020, "", VMM, BEFORE)  \
	X(map,                                                                 \
	  (uint64_t address, size_t bytes, size_t offset, uint64_t handle,     \
	   uint64_t flags),                                                    \
	  "cuMemMap", 10020, "", VMM, BEFORE)                                  \
	X(unmap, (uint64_t address, size_t bytes), "cuMemUnmap", 10020, "",    \
	  VMM, BEFORE)                                                         \
	X(set_access,                                                          \
	  (uint64_t address, size_t bytes,                                     \
	   const struct peali_gpu_access *access, size_t count),               \
	  "cuMemSetAccess", 10020, "", VMM, BEFORE)                            \
	X(export_memory,                                                       \
	  (void *out, uint64_t handle, int type, unsigned long long flags),    \
	  "cuMemExportToShareableHandle", 10020, "",                           \
	  OPTION /* links between processes are staged */, BEFORE)             \
	X(import_memory, (uint64_t * handle, void *from, int type),            \
	  "cuMemImportFromShareableHandle", 10020, "", OPTION /* as above */,  \
	  BEFORE)                                                              \
	X(copy, (uint64_t to, uint64_t from, size_t bytes, void *stream),      \
	  "cuMemcpyAsync", 4000, "", NEEDED, RESIDENT)                         \
	X(copy_kind,                                                           \
	  (uint64_t to, uint64_t from, size_t bytes, int kind, void *stream),  \
	  "", 0, "hipMemcpyAsync", NEEDED, RESIDENT)                           \
	X(fill, (uint64_t to, uint8_t value, size_t bytes, void *stream),      \
	  "cuMemsetD8Async", 3020, "hipMemsetD8Async", NEEDED, BEFORE)         \
	X(stream_create, (void **stream, unsigned flags), "cuStreamCreate",    \
	  2000, "hipStreamCreateWithFlags", NEEDED, BEFORE)                    \
	X(stream_destroy, (void *stream), "cuStreamDestroy", 4000,             \
	  "hipStreamDestroy", NEEDED, BEFORE)                                  \
	X(stream_query, (void *stream), "cuStreamQuery", 2000,                 \
	  "hipStreamQuery", NEEDED, RESIDENT)                                  \
	X(stream_wait, (void *stream), "cuStreamSynchronize", 2000,            \
	  "hipStreamSynchronize", NEEDED, RESIDENT)                            \
	X(module_load, (void **module, const void *image), "cuModuleLoadData", \
	  2000, "hipModuleLoadData", NEEDED, BEFORE)                           \
	X(module_unload, (void *module), "cuModuleUnload", 2000,               \
	  "hipModuleUnload", NEEDED, BEFORE)                                   \
	X(module_function, (void **function, void *module, const char *name),  \
	  "cuModuleGetFunction", 2000, "hipModuleGetFunction", NEEDED, BEFORE) \
	X(module_global,                                                       \
	  (uint64_t * address, size_t * bytes, void *module,                   \
	   const char *name),                                                  \
	  "", 0, "hipModuleGetGlobal", OPTION /* rates of old clocks */,       \
	  BEFORE)                                                              \
	X(function_load, (void *function), "cuFuncLoad", 12040, "",            \
	  OPTION /* asking for an attribute loads it as well */, BEFORE)       \
	X(function_attribute, (int *value, int attribute, void *function),     \
	  "cuFuncGetAttribute", 2020, "hipFuncGetAttribute", NEEDED, BEFORE)   \
	X(occupancy,                                                           \
	  (int *blocks, void *function, int threads, size_t shared_bytes),     \
	  "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050,                 \
	  "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", NEEDED,        \
	  RESIDENT)                                                            \
	X(launch_cooperative,                                                  \
	  (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, \
	   unsigned by, unsigned bz, unsigned shared_bytes, void *stream,      \
	   void **arguments),                                                  \
	  "cuLaunchCooperativeKernel", 9000, "",                               \
	  OPTION /* an ordinary launch of a grid that fits */, RESIDENT)       \
	X(launch,                                                              \
	  (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, \
	   unsigned by, unsigned bz, unsigned shared_bytes, void *stream,      \
	   void **arguments, void **extra),                                    \
	  "cuLaunchKernel", 4000, "hipModuleLaunchKernel", NEEDED, RESIDENT)   \
	X(function_set, (void *function, int attribute, int value),            \
	  "cuFuncSetAttribute", 9000, "", CLUSTERS, BEFORE)                    \
	X(clusters_fit,                                                        \
	  (int *clusters, void *function, const struct peali_gpu_grid *grid),  \
	  "cuOccupancyMaxActiveClusters", 11070, "", CLUSTERS, RESIDENT)       \
	X(launch_grid,                                                         \
	  (const struct peali_gpu_grid *grid, void *function,                  \
	   void **arguments, void **extra),                                    \
	  "cuLaunchKernelEx", 11060, "", CLUSTERS, RESIDENT)                   \
	X(capture_begin, (void *stream, int mode), "cuStreamBeginCapture",     \
	  10010, "hipStreamBeginCapture", GRAPHS, BEFORE)                      \
	X(capture_end, (void *stream, void **graph), "cuStreamEndCapture",     \
	  10000, "hipStreamEndCapture", GRAPHS, BEFORE)                        \
	X(graph_instantiate,                                                   \
	  (void **executable, void *graph, unsigned long long flags),          \
	  "cuGraphInstantiateWithFlags", 11040,                                \
	  "hipGraphInstantiateWithFlags", GRAPHS, BEFORE)                      \
	X(graph_destroy, (void *graph), "cuGraphDestroy", 10000,               \
	  "hipGraphDestroy", GRAPHS, BEFORE)                                   \
	X(graph_upload, (void *executable, void *stream), "cuGraphUpload",     \
	  11010, "hipGraphUpload", OPTION /* at the first launch */, BEFORE)   \
	X(graph_launch, (void *executable, void *stream), "cuGraphLaunch",     \
	  10000, "hipGraphLaunch", GRAPHS, RESIDENT)                           \
	X(executable_destroy, (void *executable), "cuGraphExecDestroy", 10000, \
	  "hipGraphExecDestroy", GRAPHS, BEFORE)                               \
	X(context_retain, (void **context, int device),                        \
	  "cuDevicePrimaryCtxRetain", 7000, "", NEEDED, BEFORE)                \
	X(context_release, (int device), "cuDevicePrimaryCtxRelease", 11000,   \
	  "", NEEDED, BEFORE)                                                  \
	X(context_limit, (int limit, size_t value), "cuCtxSetLimit", 3010, "", \
	  OPTION /* a launch may wait for a resident kernel */, BEFORE)        \
	X(context_limit_get, (size_t * value, int limit), "cuCtxGetLimit",     \
	  3010, "", OPTION /* as above */, BEFORE)                             \
	X(context_push, (void *context), "cuCtxPushCurrent", 4000, "", NEEDED, \
	  RESIDENT)                                                            \
	X(context_pop, (void **context), "cuCtxPopCurrent", 4000, "", NEEDED,  \
	  RESIDENT)                                                            \
	X(context_peer, (void *context, unsigned flags),                       \
	  "cuCtxEnablePeerAccess", 4000, "", NEEDED, BEFORE)                   \
	X(device_set, (int device), "", 0, "hipSetDevice", NEEDED, RESIDENT)   \
	X(device_current, (int *device), "", 0, "hipGetDevice", NEEDED,        \
	  RESIDENT)                                                            \
	X(device_peer, (int peer, unsigned flags), "", 0,                      \
	  "hipDeviceEnablePeerAccess", NEEDED, BEFORE)                         \
	X(device_properties, (void *properties, int device), "", 0,            \
	  "hipGetDevicePropertiesR0600", OPTION /* from the kfd instead */,    \
	  RESIDENT)                                                            \
	X(error_string, (int error, const char **name), "cuGetErrorName",      \
	  6000, "hipDrvGetErrorName", OPTION /* texts have the number */,      \
	  RESIDENT)                                                            \
	X(resource_get, (int device, void *resource, int type),                \
	  "cuDeviceGetDevResource", 12040, "", PARTS, BEFORE)                  \
	X(resource_split,                                                      \
	  (void *result, unsigned *n, const void *from, void *rest,            \
	   unsigned flags, unsigned least),                                    \
	  "cuDevSmResourceSplitByCount", 12040, "", PARTS, BEFORE)             \
	X(resource_describe, (void **out, void *resources, unsigned n),        \
	  "cuDevResourceGenerateDesc", 12040, "", PARTS, BEFORE)               \
	X(part_create,                                                         \
	  (void **context, void *description, int device, unsigned flags),     \
	  "cuGreenCtxCreate", 12040, "", PARTS, BEFORE)                        \
	X(part_stream,                                                         \
	  (void **stream, void *context, unsigned flags, int priority),        \
	  "cuGreenCtxStreamCreate", 12050, "", PARTS, BEFORE)                  \
	X(part_destroy, (void *context), "cuGreenCtxDestroy", 12040, "",       \
	  PARTS, BEFORE)

/** Queries of device_attribute. The vendor's loader knows their numbers. */
enum peali_gpu_attribute {
	PEALI_GPU_MAX_THREADS, /* in a block */
	PEALI_GPU_MULTIPROCESSORS,
	PEALI_GPU_MAJOR, /* of the compute capability; CUDA only */
	PEALI_GPU_MINOR,
	PEALI_GPU_COOPERATIVE,
	PEALI_GPU_CLUSTER_LAUNCH, /* blocks in clusters; CUDA only */
	PEALI_GPU_SHARED_BYTES, /* of a block that asks for more; CUDA only */
	PEALI_GPU_WATCHDOG, /* kernels have a time limit */
	PEALI_GPU_INTEGRATED,
	PEALI_GPU_COMPUTE_MODE,
	PEALI_GPU_VMM_SUPPORT,
	PEALI_GPU_FD_SUPPORT, /* of exporting memory */
	PEALI_GPU_HOST_ATOMICS, /* across the bus to the host */
	PEALI_GPU_MAPS_HOST, /* sees pinned host memory */
	PEALI_GPU_CLOCK_KHZ, /* rate of the clock that handlers read; HIP only */
	/* accesses managed memory while the host does */
	PEALI_GPU_CONCURRENT_MANAGED,
	PEALI_GPU_ATTRIBUTES
};

struct peali_gpu_driver;

/** Constants of a vendor, apart from the symbols. */
struct peali_gpu_vendor {
	const char *name; /* "cuda", "hip": the backend's name */
	const char *library; /* file name for dlopen */
	const char *peer_kinds[2]; /* of a pair without and with atomics */
	int attribute[PEALI_GPU_ATTRIBUTES]; /* -1: does not exist */
	int pair_atomics; /* number of the pair attribute for atomics */
	uint32_t policies; /* bit (1 << enum peal_slot_policy) */
	uint32_t default_policy;
	unsigned polled_flags[2]; /* of memory_alloc_flags, best first */
	/*
	 * Hardware queues of a device without the environment variable. Two
	 * streams in one queue wait for each other.
	 */
	int queues;
	const char *queues_variable;
	/*
	 * Variables that the driver reads once, and their values unless the
	 * user has set them. A name of NULL ends the list. See variables.c.
	 */
	const char *settings[4][2];
	/*
	 * A call that fails until the driver is initialised, and then reads the
	 * variables. NULL: the driver reads them when it is loaded.
	 */
	const char *count_symbol;
	/* Fills the table. Returns 0, or an error code and fills `reason`. */
	int (*load)(struct peali_gpu_driver *driver, char *reason,
		    size_t reason_bytes);
};

struct peali_gpu_driver {
	const struct peali_gpu_vendor *vendor;
	void *library; /* of dlopen */
	int emulates; /* 1: a driver double of the tests that runs host code */
	int queues; /* hardware queues of a device */
#define PEALI_GPU_MEMBER(member, arguments, cuda, version, hip, need, when)    \
	int(*member) arguments;
	PEALI_GPU_CALLS(PEALI_GPU_MEMBER)
#undef PEALI_GPU_MEMBER
	/*
	 * Calls that differ between the vendors, made of the calls above. On
	 * failure a function with symbol_out sets it to the failed call.
	 */

	/* Acquires and releases a device for this process. */
	int (*device_open)(struct peali_gpu_driver *driver, int device,
			   void **state_out, const char **symbol_out);
	void (*device_close)(struct peali_gpu_driver *driver, int device,
			     void *state);
	/* Makes the device current. leave() restores `before`. */
	int (*enter)(struct peali_gpu_driver *driver, int device, void *state,
		     void **before, const char **symbol_out);
	void (*leave)(struct peali_gpu_driver *driver, void *before);
	/* Lets the current device access a peer. */
	int (*peer_enable)(struct peali_gpu_driver *driver, int peer,
			   void *peer_state);
	/* "sm_90", "gfx90a:sramecc+:xnack-". */
	int (*architecture)(struct peali_gpu_driver *driver, int device,
			    char *out, size_t out_bytes,
			    const char **symbol_out);
	/* Starts a copy between any addresses that the driver knows. */
	int (*transfer)(struct peali_gpu_driver *driver, uint64_t to,
			uint64_t from, size_t bytes, void *stream);
	/*
	 * Creates streams that are isolated to parts of a device: `streams` for
	 * each part. units_out: multiprocessors of each part. NULL: the driver
	 * cannot do this.
	 */
	int (*partition)(struct peali_gpu_driver *driver, int device, int parts,
			 int streams, void **stream_out, void **context_out,
			 uint32_t *units_out);
};

extern const struct peali_gpu_vendor peali_cuda_vendor, peali_hip_vendor;

/* Returns the driver's name for an error; static. */
const char *peali_gpu_error_name(struct peali_gpu_driver *driver, int error);

/* Returns the vendor's symbol of a member, for error texts. */
const char *peali_gpu_symbol(const struct peali_gpu_driver *driver,
			     size_t member_offset);
#define PEALI_GPU_SYMBOL_OF(driver, member)                                    \
	peali_gpu_symbol(driver, offsetof(struct peali_gpu_driver, member))

/*
 * Fills all members by `find`. Returns 0, or PEAL_ENOTSUP and names the first
 * missing symbol with need NEEDED. A missing symbol of VMM, PARTS, GRAPHS or
 * CLUSTERS sets all symbols of its group to NULL.
 */
int peali_gpu_fill(struct peali_gpu_driver *driver,
		   void *(*find)(struct peali_gpu_driver *driver,
				 const char *symbol, int version),
		   char *reason, size_t reason_bytes);

#endif
