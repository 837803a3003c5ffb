/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_H
#define PEAL_DEVICE_H

#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/** What a device can do; bits, for masks. */
enum peal_device_capability {
	PEAL_CAN_PEER = 1, /* has access to the memory of another device */
	PEAL_CAN_UNIFIED = 2, /* sees host memory that the host sees too */
	PEAL_CAN_ATOMICS = 4, /* native read-modify-write works across, to host
			       * memory or to that of another device */
	PEAL_CAN_COOPERATIVE = 8 /* keeps several workers resident together, for
				  * certain */
};

/** What is known of a device. */
struct peal_device_info {
	int index; /* in the runtime, from 0 */
	char backend[16]; /* "host", "cuda", "hip" */
	int emulated; /* 1: CPU threads stand in for the device */
	char name[64];
	char uuid[40]; /* stable name of the device */
	uint64_t memory_bytes; /* of its heap */
	uint64_t memory_used_bytes;
	uint32_t compute_units; /* cores or SMs that workers can run on */
	uint32_t max_lanes; /* per worker */
	int numa_node; /* -1: not known */
	uint32_t policies; /* bit (1 << enum peal_policy) per policy */
	uint32_t max_cluster_workers; /* of a cluster; 0: it has no clusters */
	uint32_t capabilities; /* enum peal_device_capability, by bits */
};

/** What a caller wants of a device; zero in a field: no wish. */
struct peal_device_wish {
	uint32_t size; /* sizeof(struct peal_device_wish) */
	const char *backend;
	uint64_t min_memory_bytes; /* free */
	uint32_t min_compute_units;
	int peer_of; /* 1 + index of a device that it must have access to */
	uint32_t needs; /* enum peal_device_capability, by bits: all of them */
};

/**
 * How many devices the runtime has, over all backends.
 *
 * @param runtime an open runtime.
 * @return the count, at least 0; PEAL_EINVAL for a NULL runtime. Thread-safe,
 *         wait-free.
 */
int peal_device_count(struct peal_runtime *runtime);

/**
 * What is known of one device.
 *
 * @param runtime  an open runtime.
 * @param device   index, 0 .. peal_device_count - 1.
 * @param info_out filled on success; the caller's.
 * @return 0; PEAL_ENODEV no such index (the text says how many there are);
 *         PEAL_EINVAL a NULL pointer. Thread-safe.
 */
int peal_device_info(struct peal_runtime *runtime, int device,
		     struct peal_device_info *info_out);

/**
 * The first device that meets a wish.
 *
 * @param runtime an open runtime.
 * @param wish    what it must have; NULL: any device.
 * @return its index; PEAL_ENODEV none does (the text says which wish failed on
 *         each); PEAL_EINVAL. Thread-safe.
 */
int peal_device_select(struct peal_runtime *runtime,
		       const struct peal_device_wish *wish);

/**
 * All devices that meet a wish.
 *
 * @param runtime     an open runtime.
 * @param wish        what they must have; NULL: every device.
 * @param most        room in devices_out, 1 or more.
 * @param devices_out their indexes in order, the first `most` of them.
 * @return how many meet it, which may be more than `most`; PEAL_ENODEV none
 *         does (the text says which wish failed on each); PEAL_EINVAL.
 *         Thread-safe.
 */
int peal_device_select_all(struct peal_runtime *runtime,
			   const struct peal_device_wish *wish, int most,
			   int *devices_out);

#ifdef __cplusplus
}
#endif
#endif
