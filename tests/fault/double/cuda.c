/* SPDX-License-Identifier: Apache-2.0 */
#include "front_cuda.h"
#include "ptx.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The front of the double of libcuda.so.1. It has the calls of CUDA's driver
 * API that the backend makes. cuGetProcAddress_v2 finds them. Numbers are those
 * of <cuda.h>.
 */

const struct double_vendor double_vendor = { "sm_90", 190, 1 };

/* ---- contexts ------------------------------------------------------------ */

struct context {
	int device, users, part;
	struct double_range units; /* of a part */
	uint64_t peers; /* enabled, bit per device */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct context primary[64];
static _Thread_local struct context *stack[16];
static _Thread_local int depth;
static int initialised;

int double_current(void)
{
	return depth ? stack[depth - 1]->device : -1;
}

static int check_device(int device)
{
	if (!initialised)
		return 3; /* not initialised */
	return device < 0 || device >= double_n_devices() ? DOUBLE_BAD_DEVICE :
							    0;
}

#define NEED_DEVICE(device)                                                    \
	do {                                                                   \
		int bad_ = check_device(device);                               \
                                                                               \
		if (bad_)                                                      \
			return bad_;                                           \
	} while (0)

static int context_retain(void **out, int device)
{
	CALL("cuDevicePrimaryCtxRetain");
	NEED_DEVICE(device);
	pthread_mutex_lock(&lock);
	primary[device].device = device;
	if (primary[device].users++ == 0)
		double_count(DOUBLE_CONTEXT, 1);
	pthread_mutex_unlock(&lock);
	*out = &primary[device];
	return 0;
}

static int context_release(int device)
{
	int left;

	CALL("cuDevicePrimaryCtxRelease");
	NEED_DEVICE(device);
	pthread_mutex_lock(&lock);
	left = --primary[device].users;
	if (left == 0) {
		primary[device].peers = 0;
		double_peers_set(device, 0);
		double_count(DOUBLE_CONTEXT, -1);
	}
	pthread_mutex_unlock(&lock);
	if (left < 0)
		double_broken("device %d is released more often than retained",
			      device);
	return 0;
}

static int context_push(void *context)
{
	CALL("cuCtxPushCurrent");
	if (depth == 16)
		double_broken("16 contexts are pushed and not popped");
	stack[depth++] = context;
	return 0;
}

static int context_pop(void **context)
{
	int error = double_call("cuCtxPopCurrent");

	NEED_CONTEXT();
	*context = stack[--depth];
	return error;
}

static int context_peer(void *context, unsigned flags)
{
	struct context *peer = context;
	int from;

	CALL("cuCtxEnablePeerAccess");
	NEED_CONTEXT();
	from = double_current();
	if (flags || !double_access(from, peer->device))
		return 217; /* peer access unsupported */
	if (primary[from].peers & 1ull << peer->device)
		return DOUBLE_PEER_TWICE;
	primary[from].peers |= 1ull << peer->device;
	double_peers_set(from, primary[from].peers);
	return 0;
}

/* ---- devices ------------------------------------------------------------- */

static int init(unsigned flags)
{
	CALL("cuInit");
	if (flags)
		return DOUBLE_INVALID;
	if (double_n_devices() < 1)
		return DOUBLE_NO_DEVICE;
	double_ptx_chosen(); /* checks the environment */
	double_read_queues();
	initialised = 1;
	return 0;
}

static int driver_version(int *version)
{
	CALL("cuDriverGetVersion");
	*version = double_version();
	return 0;
}

static int device_count(int *count)
{
	CALL("cuDeviceGetCount");
	*count = double_n_devices();
	return initialised ? 0 : 3;
}

static int device_get(int *device, int ordinal)
{
	CALL("cuDeviceGet");
	NEED_DEVICE(ordinal);
	*device = ordinal;
	return 0;
}

static int device_name(char *name, int bytes, int device)
{
	CALL("cuDeviceGetName");
	NEED_DEVICE(device);
	snprintf(name, (size_t)bytes,
		 double_ptx_chosen() ? "PTX machine %d" :
				       "double of an NVIDIA device %d",
		 device);
	return 0;
}

/* Devices with other links are other devices: Peal saves the probe's results of
 * real devices by their UUIDs. */
static void mix_links(uint8_t uuid[14])
{
	const char *text = double_links();
	size_t i;

	for (i = 0; text[i]; i++)
		uuid[i % 14] = (uint8_t)(uuid[i % 14] * 31 + text[i] + 1);
}

static int device_uuid(uint8_t uuid[16], int device)
{
	CALL("cuDeviceGetUuid");
	NEED_DEVICE(device);
	memset(uuid, 0xdd, 16);
	if (double_ptx_chosen())
		mix_links(uuid);
	uuid[14] = 0;
	uuid[15] = (uint8_t)device;
	return 0;
}

static int device_pci(char *name, int bytes, int device)
{
	CALL("cuDeviceGetPCIBusId");
	NEED_DEVICE(device);
	snprintf(name, (size_t)bytes, "FFFF:%02X:00.0", device);
	return 0;
}

static int device_attribute(int *value, int attribute, int device)
{
	CALL("cuDeviceGetAttribute");
	NEED_DEVICE(device);
	if (double_attribute(attribute, value))
		return 0;
	switch (attribute) {
	case 1: /* MAX_THREADS_PER_BLOCK */
		*value = 1024;
		return 0;
	case 17: /* KERNEL_EXEC_TIMEOUT */
		*value = double_watchdog_ms() > 0;
		return 0;
	case 16: /* MULTIPROCESSOR_COUNT */
		*value = (int)double_units();
		return 0;
	case 75: /* COMPUTE_CAPABILITY_MAJOR */
		*value = atoi(double_arch() + 3) / 10;
		return 0;
	case 76: /* COMPUTE_CAPABILITY_MINOR */
		*value = atoi(double_arch() + 3) % 10;
		return 0;
	case 97: /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
		*value = DOUBLE_SHARED_MOST;
		return 0;
	case 120: /* CLUSTER_LAUNCH */
		*value = atoi(double_arch() + 3) >= 90;
		return 0;
	case 19: /* CAN_MAP_HOST_MEMORY */
	case 41: /* UNIFIED_ADDRESSING */
	case 89: /* CONCURRENT_MANAGED_ACCESS */
	case 95: /* COOPERATIVE_LAUNCH */
	case 102: /* VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
	case 103: /* HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED */
		*value = 1;
		return 0;
	default:
		*value = 0;
		return attribute > 0 && attribute < 150 ? 0 : DOUBLE_INVALID;
	}
}

static int can_access(int *can, int device, int peer)
{
	CALL("cuDeviceCanAccessPeer");
	NEED_DEVICE(device);
	NEED_DEVICE(peer);
	*can = device != peer && double_access(device, peer) > 0;
	return 0;
}

static int pair_attribute(int *value, int attribute, int device, int peer)
{
	CALL("cuDeviceGetP2PAttribute");
	NEED_DEVICE(device);
	NEED_DEVICE(peer);
	*value = attribute == 3 && double_access(device, peer) > 1;
	return 0;
}

static int error_string(int error, const char **name)
{
	static const struct {
		int error;
		const char *name;
	} names[] = {
		{ 0, "CUDA_SUCCESS" },
		{ 1, "CUDA_ERROR_INVALID_VALUE" },
		{ 2, "CUDA_ERROR_OUT_OF_MEMORY" },
		{ 34, "CUDA_ERROR_STUB_LIBRARY" },
		{ 46, "CUDA_ERROR_DEVICE_UNAVAILABLE" },
		{ 100, "CUDA_ERROR_NO_DEVICE" },
		{ 101, "CUDA_ERROR_INVALID_DEVICE" },
		{ 200, "CUDA_ERROR_INVALID_IMAGE" },
		{ 201, "CUDA_ERROR_INVALID_CONTEXT" },
		{ 209, "CUDA_ERROR_NO_BINARY_FOR_GPU" },
		{ 218, "CUDA_ERROR_INVALID_PTX" },
		{ 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" },
		{ 500, "CUDA_ERROR_NOT_FOUND" },
		{ 700, "CUDA_ERROR_ILLEGAL_ADDRESS" },
		{ 702, "CUDA_ERROR_LAUNCH_TIMEOUT" },
		{ 711, "CUDA_ERROR_TOO_MANY_PEERS" },
		{ 714, "CUDA_ERROR_HARDWARE_STACK_ERROR" },
		{ 716, "CUDA_ERROR_MISALIGNED_ADDRESS" },
		{ 718, "CUDA_ERROR_INVALID_PC" },
		{ 719, "CUDA_ERROR_LAUNCH_FAILED" },
		{ 720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE" },
		{ 801, "CUDA_ERROR_NOT_SUPPORTED" },
		{ 999, "CUDA_ERROR_UNKNOWN" },
	};
	size_t i;

	CALL("cuGetErrorName");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].error == error) {
			*name = names[i].name;
			return 0;
		}
	return DOUBLE_INVALID;
}

/* ---- memory -------------------------------------------------------------- */

static int memory_info(size_t *left, size_t *all)
{
	CALL("cuMemGetInfo");
	NEED_CONTEXT();
	*left = (size_t)70 << 30;
	*all = (size_t)80 << 30;
	return 0;
}

static int memory_alloc(uint64_t *address, size_t bytes)
{
	CALL("cuMemAlloc");
	NEED_CONTEXT();
	return double_alloc(address, bytes);
}

static int memory_free(uint64_t address)
{
	CALL("cuMemFree");
	NEED_CONTEXT();
	return double_free(address);
}

static int host_alloc(void **address, size_t bytes, unsigned flags)
{
	CALL("cuMemHostAlloc");
	NEED_CONTEXT();
	if (flags != 3)
		double_broken("host memory that not all devices map");
	return double_host_alloc(address, bytes);
}

static int host_free(void *address)
{
	CALL("cuMemFreeHost");
	NEED_CONTEXT();
	return double_host_free(address);
}

static int host_register(void *address, size_t bytes, unsigned flags)
{
	CALL("cuMemHostRegister");
	NEED_CONTEXT();
	return flags == 3 ? double_host_register(address, bytes) :
			    DOUBLE_INVALID;
}

static int host_unregister(void *address)
{
	CALL("cuMemHostUnregister");
	NEED_CONTEXT();
	return double_host_unregister(address);
}

static int host_address(uint64_t *address, void *host, unsigned flags)
{
	CALL("cuMemHostGetDevicePointer");
	NEED_CONTEXT();
	*address = (uintptr_t)host;
	return flags || !double_is_host(*address, 1) ? DOUBLE_INVALID : 0;
}

/** CUmemAllocationProp_v1 and CUmemAccessDesc_v1. */
struct memory_kind {
	int type, handle_types;
	struct {
		int type, id;
	} location;
	void *reserved;
	unsigned char flags[8];
};

struct access {
	struct {
		int type, id;
	} location;
	int flags;
};

static int granularity(size_t *bytes, const struct memory_kind *kind,
		       int option)
{
	CALL("cuMemGetAllocationGranularity");
	*bytes = (size_t)2 << 20;
	return kind->type == 1 && kind->location.type == 1 && option < 2 ?
		       0 :
		       DOUBLE_INVALID;
}

static int reserve(uint64_t *address, size_t bytes, size_t align, uint64_t wish,
		   uint64_t flags)
{
	CALL("cuMemAddressReserve");
	(void)align;
	(void)wish;
	return flags ? DOUBLE_INVALID : double_reserve(address, bytes);
}

static int unreserve(uint64_t address, size_t bytes)
{
	CALL("cuMemAddressFree");
	return double_unreserve(address, bytes);
}

static int create(uint64_t *handle, size_t bytes,
		  const struct memory_kind *kind, uint64_t flags)
{
	CALL("cuMemCreate");
	if (kind->type != 1 || kind->location.type != 1 || flags)
		return DOUBLE_INVALID;
	return double_create(handle, bytes, kind->location.id,
			     kind->handle_types == 1);
}

static int export_memory(void *out, uint64_t handle, int type,
			 unsigned long long flags)
{
	CALL("cuMemExportToShareableHandle");
	return type != 1 || flags ? DOUBLE_INVALID : double_export(out, handle);
}

static int import_memory(uint64_t *handle, void *from, int type)
{
	CALL("cuMemImportFromShareableHandle");
	return type != 1 ? DOUBLE_INVALID :
			   double_import(handle, (int)(intptr_t)from);
}

static int release(uint64_t handle)
{
	CALL("cuMemRelease");
	return double_release(handle);
}

static int map(uint64_t address, size_t bytes, size_t offset, uint64_t handle,
	       uint64_t flags)
{
	CALL("cuMemMap");
	return offset || flags ? DOUBLE_INVALID :
				 double_map(address, bytes, handle);
}

static int unmap(uint64_t address, size_t bytes)
{
	CALL("cuMemUnmap");
	return double_unmap(address, bytes);
}

static int set_access(uint64_t address, size_t bytes,
		      const struct access *access, size_t count)
{
	size_t i;
	int error = 0;

	CALL("cuMemSetAccess");
	for (i = 0; !error && i < count; i++)
		error = access[i].flags == 3 && access[i].location.type == 1 ?
				double_set_access(address, bytes,
						  access[i].location.id) :
				DOUBLE_INVALID;
	return error;
}

static int copy(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
	CALL("cuMemcpyAsync");
	NEED_CONTEXT();
	return double_copy(to, from, bytes, stream);
}

static int fill(uint64_t to, uint8_t value, size_t bytes, void *stream)
{
	CALL("cuMemsetD8Async");
	NEED_CONTEXT();
	return double_fill(to, value, bytes, stream);
}

/* ---- streams, programs, kernels ------------------------------------------ */

static int stream_create(struct double_stream **stream, unsigned flags)
{
	CALL("cuStreamCreate");
	NEED_CONTEXT();
	if (flags != 1)
		double_broken("a stream that waits for the default stream");
	return double_stream_create(stream, (struct double_range){ 0, 0 });
}

static int stream_destroy(struct double_stream *stream)
{
	CALL("cuStreamDestroy");
	NEED_CONTEXT();
	return double_stream_destroy(stream);
}

/* A query reports the error of a kernel first: a planted error kills it. */
static int stream_query(struct double_stream *stream)
{
	int error = double_call("cuStreamQuery");

	NEED_CONTEXT();
	if (error)
		double_kill(stream, error);
	return double_stream_query(stream);
}

static int stream_wait(struct double_stream *stream)
{
	CALL("cuStreamSynchronize");
	NEED_CONTEXT();
	return double_stream_wait(stream);
}

static int module_load(void **module, const void *image)
{
	CALL("cuModuleLoadData");
	NEED_CONTEXT();
	return double_module_load(module, image);
}

static int module_unload(void *module)
{
	CALL("cuModuleUnload");
	NEED_CONTEXT();
	return double_module_unload(module);
}

static int module_function(struct double_function **function, void *module,
			   const char *name)
{
	CALL("cuModuleGetFunction");
	NEED_CONTEXT();
	return double_module_function(function, module, name);
}

static int function_load(void *function)
{
	CALL("cuFuncLoad");
	return function ? 0 : DOUBLE_INVALID;
}

/* ---- parts of a device --------------------------------------------------- */

/** CUdevResource, version 1. */
struct resource {
	int type;
	unsigned char padding[92];
	unsigned count, least, alignment;
	unsigned char rest[36];
};

static int resource_get(int device, struct resource *out, int type)
{
	CALL("cuDeviceGetDevResource");
	NEED_DEVICE(device);
	memset(out, 0, sizeof(*out));
	out->type = type;
	out->count = double_units();
	out->least = out->alignment = 2;
	return type == 1 ? 0 : DOUBLE_INVALID;
}

static int resource_split(struct resource *result, unsigned *n,
			  const struct resource *from, struct resource *rest,
			  unsigned flags, unsigned least)
{
	unsigned each, i;

	CALL("cuDevSmResourceSplitByCount");
	if (flags || !least)
		return DOUBLE_INVALID;
	each = (least + from->alignment - 1) / from->alignment *
	       from->alignment;
	if (*n > from->count / each)
		*n = from->count / each;
	for (i = 0; i < *n; i++) {
		result[i] = *from;
		result[i].count = each;
	}
	*rest = *from;
	rest->count = from->count - *n * each;
	return 0;
}

static int resource_describe(void **out, struct resource *resources, unsigned n)
{
	CALL("cuDevResourceGenerateDesc");
	*out = (void *)(uintptr_t)resources[0].count;
	return n == 1 && resources[0].count ? 0 : DOUBLE_INVALID;
}

static int part_create(void **out, void *description, int device,
		       unsigned flags)
{
	struct context *part;
	int first;

	CALL("cuGreenCtxCreate");
	NEED_DEVICE(device);
	if (flags != 1)
		return DOUBLE_INVALID;
	part = calloc(1, sizeof(*part));
	if (!part)
		return DOUBLE_NO_MEMORY;
	part->device = device;
	part->part = 1;
	part->units.n = (uint32_t)(uintptr_t)description;
	first = double_units_reserve(device, part->units.n);
	if (first < 0)
		double_broken("parts with more multiprocessors than device %d "
			      "has",
			      device);
	part->units.first = (uint32_t)first;
	*out = part;
	double_count(DOUBLE_PART, 1);
	return 0;
}

static int part_stream(struct double_stream **stream, void *context,
		       unsigned flags, int priority)
{
	struct context *part = context;

	CALL("cuGreenCtxStreamCreate");
	if (flags != 1 || priority || !part->part)
		return DOUBLE_INVALID;
	return double_stream_create(stream, part->units);
}

static int part_destroy(void *context)
{
	struct context *part = context;

	CALL("cuGreenCtxDestroy");
	double_units_release(part->device, part->units);
	free(part);
	double_count(DOUBLE_PART, -1);
	return 0;
}

/* ---- table of symbols ---------------------------------------------------- */

#define ROW(symbol, function)                                                  \
	{                                                                      \
		symbol, (void (*)(void))function                               \
	}
static const struct {
	const char *symbol;
	void (*function)(void);
} table[] = {
	ROW("cuInit", init),
	ROW("cuDriverGetVersion", driver_version),
	ROW("cuDeviceGetCount", device_count),
	ROW("cuDeviceGet", device_get),
	ROW("cuDeviceGetName", device_name),
	ROW("cuDeviceGetUuid", device_uuid),
	ROW("cuDeviceGetPCIBusId", device_pci),
	ROW("cuDeviceGetAttribute", device_attribute),
	ROW("cuMemGetInfo", memory_info),
	ROW("cuDeviceCanAccessPeer", can_access),
	ROW("cuDeviceGetP2PAttribute", pair_attribute),
	ROW("cuMemAlloc", memory_alloc),
	ROW("cuMemFree", memory_free),
	ROW("cuMemAllocManaged", double_cuda_managed_alloc),
	ROW("cuMemPrefetchAsync", double_cuda_prefetch),
	ROW("cuMemAdvise", double_cuda_advise),
	ROW("cuMemHostAlloc", host_alloc),
	ROW("cuMemFreeHost", host_free),
	ROW("cuMemHostRegister", host_register),
	ROW("cuMemHostUnregister", host_unregister),
	ROW("cuMemHostGetDevicePointer", host_address),
	ROW("cuMemGetAllocationGranularity", granularity),
	ROW("cuMemAddressReserve", reserve),
	ROW("cuMemAddressFree", unreserve),
	ROW("cuMemCreate", create),
	ROW("cuMemExportToShareableHandle", export_memory),
	ROW("cuMemImportFromShareableHandle", import_memory),
	ROW("cuMemRelease", release),
	ROW("cuMemMap", map),
	ROW("cuMemUnmap", unmap),
	ROW("cuMemSetAccess", set_access),
	ROW("cuMemcpyAsync", copy),
	ROW("cuMemsetD8Async", fill),
	ROW("cuStreamCreate", stream_create),
	ROW("cuStreamDestroy", stream_destroy),
	ROW("cuStreamQuery", stream_query),
	ROW("cuStreamSynchronize", stream_wait),
	ROW("cuModuleLoadData", module_load),
	ROW("cuModuleUnload", module_unload),
	ROW("cuModuleGetFunction", module_function),
	ROW("cuFuncLoad", function_load),
	ROW("cuFuncGetAttribute", double_cuda_function_attribute),
	ROW("cuOccupancyMaxActiveBlocksPerMultiprocessor",
	    double_cuda_occupancy),
	ROW("cuLaunchCooperativeKernel", double_cuda_launch_cooperative),
	ROW("cuLaunchKernel", double_cuda_launch),
	ROW("cuFuncSetAttribute", double_cuda_function_set),
	ROW("cuOccupancyMaxActiveClusters", double_cuda_clusters_fit),
	ROW("cuLaunchKernelEx", double_cuda_launch_grid),
	ROW("cuStreamBeginCapture", double_cuda_capture_begin),
	ROW("cuStreamEndCapture", double_cuda_capture_end),
	ROW("cuGraphInstantiateWithFlags", double_cuda_graph_instantiate),
	ROW("cuGraphDestroy", double_cuda_graph_destroy),
	ROW("cuGraphUpload", double_cuda_graph_upload),
	ROW("cuGraphLaunch", double_cuda_graph_launch),
	ROW("cuGraphExecDestroy", double_cuda_executable_destroy),
	ROW("cuDevicePrimaryCtxRetain", context_retain),
	ROW("cuDevicePrimaryCtxRelease", context_release),
	ROW("cuCtxPushCurrent", context_push),
	ROW("cuCtxPopCurrent", context_pop),
	ROW("cuCtxEnablePeerAccess", context_peer),
	ROW("cuCtxSetLimit", double_cuda_context_limit),
	ROW("cuCtxGetLimit", double_cuda_context_limit_get),
	ROW("cuGetErrorName", error_string),
	ROW("cuDeviceGetDevResource", resource_get),
	ROW("cuDevSmResourceSplitByCount", resource_split),
	ROW("cuDevResourceGenerateDesc", resource_describe),
	ROW("cuGreenCtxCreate", part_create),
	ROW("cuGreenCtxStreamCreate", part_stream),
	ROW("cuGreenCtxDestroy", part_destroy),
};

__attribute__((visibility("default"))) int
cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags,
		    int *status);
int cuGetProcAddress_v2(const char *symbol, void **out, int version,
			uint64_t flags, int *status)
{
	size_t i;

	*out = NULL;
	*status = 1;
	if (version < 2000 || flags)
		return DOUBLE_INVALID;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(table[i].symbol, symbol) != 0 ||
		    double_lacks(symbol))
			continue;
		memcpy(out, &table[i].function, sizeof(*out));
		*status = 0;
		return 0;
	}
	return DOUBLE_NOT_FOUND;
}

/* A symbol for programs that do not ask cuGetProcAddress. There is no cuInit:
 * NVRTC would look for it, and then call private tables of the driver. */

__attribute__((visibility("default"))) int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count)
{
	return device_count(count);
}
