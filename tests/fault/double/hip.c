/* SPDX-License-Identifier: Apache-2.0 */
#include "double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The front of the double of libamdhip64.so. It has the calls of HIP's module
 * API that the backend makes. Numbers are those of <hip/hip_runtime_api.h>.
 */

const struct double_vendor double_vendor = { "gfx90a:sramecc+:xnack-", 224, 0 };

/* dlsym finds these functions: no caller needs a prototype. */
#define API __attribute__((visibility("default"))) int
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* ---- the current device -------------------------------------------------- */

static _Thread_local int current; /* a thread begins with device 0 */
static int initialised;
static uint64_t peers[64]; /* enabled, bit per device */

int double_current(void)
{
	return current;
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

API hipSetDevice(int device)
{
	CALL("hipSetDevice");
	NEED_DEVICE(device);
	current = device;
	return 0;
}

API hipGetDevice(int *device)
{
	CALL("hipGetDevice");
	*device = current;
	return initialised ? 0 : 3;
}

/* Peer access stays enabled: the backend never disables it. */
API hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
	CALL("hipDeviceEnablePeerAccess");
	NEED_DEVICE(peer);
	if (flags || !double_access(current, peer))
		return 217; /* peer access unsupported */
	if (peers[current] & 1ull << peer)
		return DOUBLE_PEER_TWICE;
	peers[current] |= 1ull << peer;
	double_peers_set(current, peers[current]);
	return 0;
}

#define CONCURRENT_MANAGED_ACCESS 9

/* Returns 1 unless PEAL_DOUBLE_ATTRIBUTES denies concurrent access. */
static int is_concurrent(void)
{
	int value = 1;

	double_attribute(CONCURRENT_MANAGED_ACCESS, &value);
	return value;
}

/* ---- devices ------------------------------------------------------------- */

API hipInit(unsigned flags)
{
	CALL("hipInit");
	if (flags)
		return DOUBLE_INVALID;
	if (double_n_devices() < 1)
		return DOUBLE_NO_DEVICE;
	initialised = 1;
	return 0;
}

API hipDriverGetVersion(int *version)
{
	CALL("hipDriverGetVersion");
	*version = 60300000;
	return 0;
}

API hipGetDeviceCount(int *count)
{
	CALL("hipGetDeviceCount");
	*count = double_n_devices();
	return initialised ? 0 : 3;
}

API hipDeviceGet(int *device, int ordinal)
{
	CALL("hipDeviceGet");
	NEED_DEVICE(ordinal);
	*device = ordinal;
	return 0;
}

API hipDeviceGetName(char *name, int bytes, int device)
{
	CALL("hipDeviceGetName");
	NEED_DEVICE(device);
	snprintf(name, (size_t)bytes, "double of an AMD device %d", device);
	return 0;
}

API hipDeviceGetUuid(uint8_t uuid[16], int device)
{
	CALL("hipDeviceGetUuid");
	NEED_DEVICE(device);
	memset(uuid, 0xda, 16);
	uuid[14] = 0;
	uuid[15] = (uint8_t)device;
	return 0;
}

API hipDeviceGetPCIBusId(char *name, int bytes, int device)
{
	CALL("hipDeviceGetPCIBusId");
	NEED_DEVICE(device);
	snprintf(name, (size_t)bytes, "fffe:%02x:00.0", device);
	return 0;
}

/* Fills the begin and the end of hipDeviceProp_tR0600. */
API hipGetDevicePropertiesR0600(char *properties, int device)
{
	CALL("hipGetDevicePropertiesR0600");
	NEED_DEVICE(device);
	memset(properties, 0, 1472);
	snprintf(properties, 256, "double of an AMD device %d", device);
	snprintf(properties + 1160, 256, "%s", double_arch());
	return 0;
}

API hipDeviceGetAttribute(int *value, int attribute, int device)
{
	CALL("hipDeviceGetAttribute");
	NEED_DEVICE(device);
	if (double_attribute(attribute, value))
		return 0;
	switch (attribute) {
	case 56: /* MaxThreadsPerBlock */
		*value = 1024;
		return 0;
	case 63: /* MultiprocessorCount */
		*value = (int)double_units();
		return 0;
	case 18: /* KernelExecTimeout */
		*value = double_watchdog_ms() > 0;
		return 0;
	case 10017: /* WallClockRate */
		*value = double_clock_khz();
		return 0;
	case 3: /* CanMapHostMemory */
	case CONCURRENT_MANAGED_ACCESS:
	case 10: /* CooperativeLaunch */
		*value = 1;
		return 0;
	default:
		*value = 0;
		return attribute >= 0 ? 0 : DOUBLE_INVALID;
	}
}

API hipDeviceCanAccessPeer(int *can, int device, int peer)
{
	CALL("hipDeviceCanAccessPeer");
	NEED_DEVICE(device);
	NEED_DEVICE(peer);
	*can = device != peer && double_access(device, peer) > 0;
	return 0;
}

API hipDeviceGetP2PAttribute(int *value, int attribute, int device, int peer)
{
	CALL("hipDeviceGetP2PAttribute");
	NEED_DEVICE(device);
	NEED_DEVICE(peer);
	*value = attribute == 2 && double_access(device, peer) > 1;
	return 0;
}

API hipDrvGetErrorName(int error, const char **name)
{
	static const struct {
		int error;
		const char *name;
	} names[] = {
		{ 0, "hipSuccess" },
		{ 1, "hipErrorInvalidValue" },
		{ 2, "hipErrorOutOfMemory" },
		{ 100, "hipErrorNoDevice" },
		{ 101, "hipErrorInvalidDevice" },
		{ 200, "hipErrorInvalidImage" },
		{ 209, "hipErrorNoBinaryForGpu" },
		{ 500, "hipErrorNotFound" },
		{ 700, "hipErrorIllegalAddress" },
		{ 719, "hipErrorLaunchFailure" },
		{ 720, "hipErrorCooperativeLaunchTooLarge" },
		{ 801, "hipErrorNotSupported" },
		{ 999, "hipErrorUnknown" },
	};
	size_t i;

	CALL("hipDrvGetErrorName");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].error == error) {
			*name = names[i].name;
			return 0;
		}
	return DOUBLE_INVALID;
}

/* ---- memory -------------------------------------------------------------- */

API hipMemGetInfo(size_t *left, size_t *all)
{
	CALL("hipMemGetInfo");
	*left = (size_t)70 << 30;
	*all = (size_t)80 << 30;
	return 0;
}

API hipMalloc(uint64_t *address, size_t bytes)
{
	CALL("hipMalloc");
	return double_alloc(address, bytes);
}

API hipFree(uint64_t address)
{
	CALL("hipFree");
	return double_free(address);
}

API hipMallocManaged(uint64_t *address, size_t bytes, unsigned flags)
{
	CALL("hipMallocManaged");
	return double_managed_alloc(address, bytes, flags);
}

API hipMemPrefetchAsync(uint64_t address, size_t bytes, int device,
			struct double_stream *stream)
{
	CALL("hipMemPrefetchAsync");
	if (double_lost(current))
		return double_lost(current);
	if (double_stream_query(stream))
		double_broken("a prefetch on a stream that a kernel runs on");
	return double_managed_request(address, bytes, device, DOUBLE_PREFETCH,
				      is_concurrent());
}

API hipMemAdvise(uint64_t address, size_t bytes, int advice, int device)
{
	CALL("hipMemAdvise");
	if (advice < 1 || advice > 6)
		return DOUBLE_INVALID;
	return double_managed_request(address, bytes, device, advice,
				      is_concurrent());
}

API hipHostMalloc(void **address, size_t bytes, unsigned flags)
{
	CALL("hipHostMalloc");
	if (flags != 3)
		double_broken("host memory that not all devices map");
	return double_host_alloc(address, bytes);
}

API hipHostFree(void *address)
{
	CALL("hipHostFree");
	return double_host_free(address);
}

API hipHostRegister(void *address, size_t bytes, unsigned flags)
{
	CALL("hipHostRegister");
	return flags == 3 ? double_host_register(address, bytes) :
			    DOUBLE_INVALID;
}

API hipHostUnregister(void *address)
{
	CALL("hipHostUnregister");
	return double_host_unregister(address);
}

API hipHostGetDevicePointer(uint64_t *address, void *host, unsigned flags)
{
	CALL("hipHostGetDevicePointer");
	*address = (uintptr_t)host;
	return flags || !double_is_host(*address, 1) ? DOUBLE_INVALID : 0;
}

API hipExtMallocWithFlags(uint64_t *address, size_t bytes, unsigned flags)
{
	CALL("hipExtMallocWithFlags");
	if (flags != 3 && flags != 1)
		return DOUBLE_INVALID;
	return double_alloc(address, bytes);
}

API hipMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, int kind,
		   void *stream)
{
	CALL("hipMemcpyAsync");
	if (kind != 4) /* hipMemcpyDefault */
		return 21;
	return double_copy(to, from, bytes, stream);
}

/* ---- streams, programs, kernels ------------------------------------------ */

API hipMemsetD8Async(uint64_t to, uint8_t value, size_t bytes, void *stream)
{
	CALL("hipMemsetD8Async");
	return double_fill(to, value, bytes, stream);
}

API hipStreamCreateWithFlags(struct double_stream **stream, unsigned flags)
{
	CALL("hipStreamCreateWithFlags");
	if (flags != 1)
		double_broken("a stream that waits for the default stream");
	return double_stream_create(stream, (struct double_range){ 0, 0 });
}

API hipStreamDestroy(struct double_stream *stream)
{
	CALL("hipStreamDestroy");
	return double_stream_destroy(stream);
}

API hipStreamQuery(struct double_stream *stream)
{
	int error = double_call("hipStreamQuery");

	if (error)
		double_kill(stream, error);
	return double_stream_query(stream);
}

API hipStreamSynchronize(struct double_stream *stream)
{
	CALL("hipStreamSynchronize");
	return double_stream_wait(stream);
}

API hipModuleLoadData(void **module, const void *image)
{
	CALL("hipModuleLoadData");
	return double_module_load(module, image);
}

API hipModuleUnload(void *module)
{
	CALL("hipModuleUnload");
	return double_module_unload(module);
}

API hipModuleGetFunction(struct double_function **function, void *module,
			 const char *name)
{
	CALL("hipModuleGetFunction");
	return double_module_function(function, module, name);
}

API hipModuleGetGlobal(uint64_t *address, size_t *bytes, void *module,
		       const char *name)
{
	CALL("hipModuleGetGlobal");
	*address = strcmp(name, "peali_clock_scale") ?
			   0 :
			   double_module_scale(module);
	*bytes = 2 * sizeof(uint64_t);
	return *address ? 0 : DOUBLE_NOT_FOUND;
}

API hipFuncGetAttribute(int *value, int attribute, void *function)
{
	CALL("hipFuncGetAttribute");
	if (!function)
		return DOUBLE_INVALID;
	*value = attribute == 0 ? double_function_lanes(function) : 0;
	return 0;
}

API hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
						       void *function,
						       int threads,
						       size_t shared_bytes)
{
	CALL("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
	return function && !shared_bytes ?
		       double_occupancy(blocks, function, threads, 0) :
		       DOUBLE_INVALID;
}

API hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
			  unsigned bx, unsigned by, unsigned bz,
			  unsigned shared_bytes, void *stream, void **arguments,
			  void **extra)
{
	const struct double_shape shape = { gx, bx, 1, 0 };

	CALL("hipModuleLaunchKernel");
	if (gy * gz * by * bz != 1 || shared_bytes || extra)
		return DOUBLE_INVALID;
	return double_launch(function, &shape, stream, arguments);
}

/* ---- graphs -------------------------------------------------------------- */

API hipStreamBeginCapture(struct double_stream *stream, int mode)
{
	CALL("hipStreamBeginCapture");
	return mode == 1 ? double_capture_begin(stream) : DOUBLE_INVALID;
}

/* Ends the recording also if the call fails, as the driver does. */
API hipStreamEndCapture(struct double_stream *stream, struct double_graph **out)
{
	int error = double_call("hipStreamEndCapture");

	double_capture_end(stream, out);
	if (error) {
		double_graph_destroy(*out);
		*out = NULL;
	}
	return error;
}

API hipGraphInstantiateWithFlags(struct double_graph **out,
				 struct double_graph *graph,
				 unsigned long long flags)
{
	CALL("hipGraphInstantiateWithFlags");
	return flags ? DOUBLE_INVALID : double_graph_instantiate(out, graph);
}

API hipGraphDestroy(struct double_graph *graph)
{
	CALL("hipGraphDestroy");
	return double_graph_destroy(graph);
}

API hipGraphUpload(struct double_graph *executable,
		   struct double_stream *stream)
{
	CALL("hipGraphUpload");
	return executable ? double_stream_query(stream) : DOUBLE_INVALID;
}

API hipGraphLaunch(struct double_graph *executable,
		   struct double_stream *stream)
{
	CALL("hipGraphLaunch");
	return double_graph_launch(executable, stream);
}

API hipGraphExecDestroy(struct double_graph *executable)
{
	CALL("hipGraphExecDestroy");
	return double_graph_destroy(executable);
}
