/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that our numbers and layouts of CUDA's driver API are those of the
 * toolkit. check_drivers includes <cuda.h> before this file, compiles it and
 * runs it.
 */
#include <peal/buffer.h>
#include "runtime/device/cuda/cuda.c"
#include "runtime/device/gpu/errors.c"

#define SAME(ours, theirs) _Static_assert((ours) == (theirs), #theirs)
#define LAYOUT(type, member, theirs, their_member)                             \
	SAME(offsetof(struct type, member), offsetof(theirs, their_member));   \
	SAME(sizeof(((struct type *)0)->member),                               \
	     sizeof(((theirs *)0)->their_member))

SAME(sizeof(CUdeviceptr), sizeof(uint64_t));
SAME(sizeof(CUdevice), sizeof(int));
SAME(sizeof(CUuuid), 16);
SAME(sizeof(CUmemGenericAllocationHandle), sizeof(uint64_t));

SAME(sizeof(struct peali_gpu_memory_kind), sizeof(CUmemAllocationProp));
LAYOUT(peali_gpu_memory_kind, type, CUmemAllocationProp, type);
LAYOUT(peali_gpu_memory_kind, handle_types, CUmemAllocationProp,
       requestedHandleTypes);
LAYOUT(peali_gpu_memory_kind, location_type, CUmemAllocationProp,
       location.type);
LAYOUT(peali_gpu_memory_kind, location_id, CUmemAllocationProp, location.id);
LAYOUT(peali_gpu_memory_kind, flags, CUmemAllocationProp, allocFlags);
SAME(1, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
SAME(1, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(1, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);

SAME(sizeof(struct peali_gpu_access), sizeof(CUmemAccessDesc));
LAYOUT(peali_gpu_access, location_type, CUmemAccessDesc, location.type);
LAYOUT(peali_gpu_access, location_id, CUmemAccessDesc, location.id);
LAYOUT(peali_gpu_access, flags, CUmemAccessDesc, flags);
SAME(3, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

SAME(sizeof(struct peali_gpu_launch_attribute), sizeof(CUlaunchAttribute));
LAYOUT(peali_gpu_launch_attribute, id, CUlaunchAttribute, id);
LAYOUT(peali_gpu_launch_attribute, value, CUlaunchAttribute, value);
SAME(offsetof(CUlaunchAttributeValue, clusterDim.y), sizeof(unsigned));
SAME(offsetof(CUlaunchAttributeValue, cooperative), 0);
SAME(PEALI_GPU_LAUNCH_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME(PEALI_GPU_LAUNCH_CLUSTER, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME(sizeof(struct peali_gpu_grid), sizeof(CUlaunchConfig));
LAYOUT(peali_gpu_grid, gx, CUlaunchConfig, gridDimX);
LAYOUT(peali_gpu_grid, bx, CUlaunchConfig, blockDimX);
LAYOUT(peali_gpu_grid, shared_bytes, CUlaunchConfig, sharedMemBytes);
LAYOUT(peali_gpu_grid, stream, CUlaunchConfig, hStream);
LAYOUT(peali_gpu_grid, attributes, CUlaunchConfig, attrs);
LAYOUT(peali_gpu_grid, n_attributes, CUlaunchConfig, numAttrs);

SAME(3, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
SAME(3, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
SAME(1, CU_MEM_ATTACH_GLOBAL);
SAME(-1, CU_DEVICE_CPU);
SAME(PEAL_ADVICE_READ_MOSTLY, CU_MEM_ADVISE_SET_READ_MOSTLY);
SAME(PEAL_ADVICE_NOT_READ_MOSTLY, CU_MEM_ADVISE_UNSET_READ_MOSTLY);
SAME(PEAL_ADVICE_PREFERRED, CU_MEM_ADVISE_SET_PREFERRED_LOCATION);
SAME(PEAL_ADVICE_NOT_PREFERRED, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION);
SAME(PEAL_ADVICE_ACCESSED_BY, CU_MEM_ADVISE_SET_ACCESSED_BY);
SAME(PEAL_ADVICE_NOT_ACCESSED_BY, CU_MEM_ADVISE_UNSET_ACCESSED_BY);
SAME(1, CU_STREAM_NON_BLOCKING);
SAME(0, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(1, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(0, CU_LIMIT_STACK_SIZE);
SAME(8, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(PEALI_GPU_NOT_READY, CUDA_ERROR_NOT_READY);

/* Parts of devices: the layout for the calls of CUDA 12.4 and 12.5. */
SAME(sizeof(struct resource), sizeof(CUdevResource));
SAME(offsetof(struct resource, of), offsetof(CUdevResource, sm));
LAYOUT(resource, type, CUdevResource, type);
LAYOUT(resource, of.sm.count, CUdevResource, sm.smCount);
SAME(1, CU_DEV_RESOURCE_TYPE_SM);
SAME(1, CU_GREEN_CTX_DEFAULT_STREAM);

#define ATTRIBUTE(ours, theirs)                                                \
	{                                                                      \
		PEALI_GPU_##ours, CU_DEVICE_ATTRIBUTE_##theirs, #theirs        \
	}
static const struct {
	enum peali_gpu_attribute ours;
	int theirs;
	const char *name;
} attributes[] = {
	ATTRIBUTE(MAX_THREADS, MAX_THREADS_PER_BLOCK),
	ATTRIBUTE(MULTIPROCESSORS, MULTIPROCESSOR_COUNT),
	ATTRIBUTE(WATCHDOG, KERNEL_EXEC_TIMEOUT),
	ATTRIBUTE(INTEGRATED, INTEGRATED),
	ATTRIBUTE(MAPS_HOST, CAN_MAP_HOST_MEMORY),
	ATTRIBUTE(COMPUTE_MODE, COMPUTE_MODE),
	ATTRIBUTE(MAJOR, COMPUTE_CAPABILITY_MAJOR),
	ATTRIBUTE(MINOR, COMPUTE_CAPABILITY_MINOR),
	ATTRIBUTE(COOPERATIVE, COOPERATIVE_LAUNCH),
	ATTRIBUTE(CLUSTER_LAUNCH, CLUSTER_LAUNCH),
	ATTRIBUTE(SHARED_BYTES, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
	ATTRIBUTE(VMM_SUPPORT, VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED),
	ATTRIBUTE(FD_SUPPORT, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED),
	ATTRIBUTE(HOST_ATOMICS, HOST_NATIVE_ATOMIC_SUPPORTED),
	ATTRIBUTE(CONCURRENT_MANAGED, CONCURRENT_MANAGED_ACCESS),
};

static const CUresult errors[] = {
	CUDA_ERROR_INVALID_VALUE,
	CUDA_ERROR_OUT_OF_MEMORY,
	CUDA_ERROR_STUB_LIBRARY,
	CUDA_ERROR_DEVICE_UNAVAILABLE,
	CUDA_ERROR_NO_DEVICE,
	CUDA_ERROR_INVALID_DEVICE,
	CUDA_ERROR_INVALID_IMAGE,
	CUDA_ERROR_NO_BINARY_FOR_GPU,
	CUDA_ERROR_ECC_UNCORRECTABLE,
	CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
	CUDA_ERROR_INVALID_PTX,
	CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
	CUDA_ERROR_NOT_FOUND,
	CUDA_ERROR_ILLEGAL_ADDRESS,
	CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
	CUDA_ERROR_LAUNCH_TIMEOUT,
	CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
	CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
	CUDA_ERROR_TOO_MANY_PEERS,
	CUDA_ERROR_LAUNCH_FAILED,
	CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
	CUDA_ERROR_NOT_SUPPORTED,
	CUDA_ERROR_SYSTEM_NOT_READY,
	CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
	(CUresult)35, /* "insufficient driver" of the runtime API and HIP */
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int main(void)
{
	size_t i, e;
	int bad = 0;

	for (i = 0; i < COUNT(attributes); i++)
		if (peali_cuda_vendor.attribute[attributes[i].ours] !=
		    attributes[i].theirs) {
			printf("FAIL: cuda.c: attribute %s is %d\n",
			       attributes[i].name, attributes[i].theirs);
			bad = 1;
		}
	/* CLOCK_KHZ is of HIP only. */
	if (COUNT(attributes) + 1 != PEALI_GPU_ATTRIBUTES)
		printf("FAIL: drivers_cuda.c: not all attributes\n");
	for (i = 0; i < COUNT(meanings); i++) {
		for (e = 0; e < COUNT(errors); e++)
			if ((int)errors[e] == meanings[i].error)
				break;
		if (e == COUNT(errors)) {
			printf("FAIL: errors.c: %d is no error of cuda.h that "
			       "is known here\n",
			       meanings[i].error);
			bad = 1;
		}
	}
	if (peali_cuda_vendor.pair_atomics !=
	    CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED) {
		printf("FAIL: cuda.c: pair_atomics\n");
		bad = 1;
	}
	return bad || COUNT(attributes) + 1 != PEALI_GPU_ATTRIBUTES;
}
