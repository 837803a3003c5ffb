/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_MEMORY_H
#define PEAL_MEMORY_H

/*
 * Memory of devices, and host memory that all devices map. peal_memory_alloc
 * allocates memory. peal_peer_copy (peal/peer.h) copies between such memory.
 * peal_memory_free frees memory. peal_memory_info reports free memory.
 * peal_memory_limit limits the memory of buffers (peal/buffer.h).
 */

#include <stddef.h>
#include <stdint.h>

#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_runtime;

/** The device index that stands for host memory. */
#define PEAL_HOST_MEMORY (-1)

/**
 * Allocates zeroed memory on a device, or host memory that all devices map.
 *
 * The caller frees the memory with peal_memory_free.
 *
 * Thread-safe. Waits for no worker.
 *
 * @param runtime     an open runtime.
 * @param device      device index, or PEAL_HOST_MEMORY.
 * @param bytes       bytes, 1 or more.
 * @param address_out filled on success: the address as the device sees it,
 *                    aligned to 128 bytes. An address of host memory is also a
 *                    valid host pointer.
 * @return 0, or a negative error code:
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_EINVAL  a pointer is NULL, or `bytes` is 0.
 * @retval PEAL_ENOMEM  too little memory is free. The error text says how many
 *                      bytes are free.
 * @retval PEAL_EDRIVER a driver call failed.
 */
int peal_memory_alloc(struct peal_runtime *runtime, int device, uint64_t bytes,
		      uint64_t *address_out);

/**
 * Frees memory of peal_memory_alloc or peal_device_queue_create.
 *
 * The caller makes sure that no handler uses the memory any longer.
 *
 * Thread-safe. Waits for no worker.
 *
 * @param runtime an open runtime.
 * @param device  the `device` of the allocation.
 * @param address the address of the allocation.
 * @return 0, or a negative error code:
 * @retval PEAL_EFAULT  no allocation starts at `address`, or the address
 *                      belongs to a buffer.
 * @retval PEAL_EBUSY   the memory is mapped into a peer (peal_peer_map). Or a
 *                      copy, a job or a task of a graph uses the memory.
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_EINVAL  `runtime` is NULL.
 */
int peal_memory_free(struct peal_runtime *runtime, int device,
		     uint64_t address);

/** The memory of one device, or the host memory that all devices map. */
struct peal_memory_info {
	uint64_t total_bytes; /* bytes of the heap */
	uint64_t free_bytes; /* free bytes of the heap, in all pieces */
	uint64_t largest_bytes; /* bytes of the largest free piece */
	uint64_t limit_bytes; /* set by peal_memory_limit; 0: no limit */
	uint64_t buffer_bytes; /* bytes of all buffers there */
	uint64_t largest_buffer_bytes; /* that fits now */
	uint32_t n_buffers; /* number of buffers there */
};

/**
 * Reports the total and the free memory of a device.
 *
 * Other threads may allocate and free memory during the call.
 *
 * Thread-safe. Waits for no worker.
 *
 * @param runtime  an open runtime.
 * @param device   device index, or PEAL_HOST_MEMORY.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_memory_info(struct peal_runtime *runtime, int device,
		     struct peal_memory_info *info_out);

/**
 * Limits the memory of all buffers of a device together.
 *
 * Existing buffers keep their memory, even above the limit. peal_buffer_create
 * fails with PEAL_ENOSPC if a new buffer would exceed the limit. The limit does
 * not apply to kernels, links, staging buffers of copies, or peal_memory_alloc.
 *
 * Thread-safe. Waits for no worker.
 *
 * @param runtime an open runtime.
 * @param device  device index, or PEAL_HOST_MEMORY.
 * @param bytes   bytes of all buffers, at most. 0: no limit.
 * @return 0, or a negative error code:
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_EINVAL  `runtime` is NULL.
 */
int peal_memory_limit(struct peal_runtime *runtime, int device, uint64_t bytes);

PEAL_END_C
#endif
