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

#ifdef __cplusplus
}
#endif
#endif
