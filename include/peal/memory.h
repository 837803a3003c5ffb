/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_MEMORY_H
#define PEAL_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/** Where a device index is asked for: the host itself. */
#define PEAL_HOST_MEMORY (-1)

/**
 * Takes zeroed memory on a device, or host memory that all devices map.
 *
 * @param runtime     an open runtime.
 * @param device      its index, or PEAL_HOST_MEMORY.
 * @param bytes       1 or more; aligned to 128 bytes.
 * @param address_out as the device sees it; host memory is a host pointer too.
 * @return 0; PEAL_ENODEV; PEAL_EINVAL size 0; PEAL_ENOMEM (the text says how
 *         much is free). Thread-safe.
 */
int peal_memory_alloc(struct peal_runtime *runtime, int device, uint64_t bytes,
		      uint64_t *address_out);

/**
 * Gives memory back.
 *
 * @param runtime an open runtime.
 * @param device  as at the allocation.
 * @param address what the allocation gave.
 * @return 0; PEAL_EFAULT no allocation starts there; PEAL_EBUSY it is mapped
 *         into a peer (peal_peer_map) or being copied. Thread-safe.
 */
int peal_memory_free(struct peal_runtime *runtime, int device,
		     uint64_t address);

/** The memory of a device, or host memory that all devices map. */
struct peal_memory_info {
	uint64_t total_bytes; /* of its heap */
	uint64_t free_bytes; /* of that, in pieces */
	uint64_t largest_bytes; /* the largest piece */
	uint64_t limit_bytes; /* of peal_memory_limit; 0: none */
	uint64_t buffer_bytes; /* what its buffers have */
	uint64_t room_bytes; /* the largest buffer that could be made now */
	uint32_t n_buffers;
};

/**
 * How much memory a device has, and has free.
 *
 * @param runtime  an open runtime.
 * @param device   its index, or PEAL_HOST_MEMORY.
 * @param info_out filled on success; others may take and free meanwhile.
 * @return 0; PEAL_ENODEV; PEAL_EINVAL a NULL pointer. Thread-safe.
 */
int peal_memory_info(struct peal_runtime *runtime, int device,
		     struct peal_memory_info *info_out);

/**
 * Limits what buffers may have of a device's memory, all of them together. What
 * they have already stays; kernels, links, what copies are staged through and
 * peal_memory_alloc are not limited.
 *
 * @param runtime an open runtime.
 * @param device  its index, or PEAL_HOST_MEMORY.
 * @param bytes   the most; 0: no limit.
 * @return 0; PEAL_ENODEV; PEAL_EINVAL a NULL runtime. Thread-safe.
 */
int peal_memory_limit(struct peal_runtime *runtime, int device, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
