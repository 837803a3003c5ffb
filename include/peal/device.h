/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_H
#define PEAL_DEVICE_H

/*
 * Devices of a runtime: their number, their properties, and their selection.
 *
 * A device is a GPU, or a device that CPU threads emulate. The runtime numbers
 * the devices of all backends together, from 0. Other calls take this index.
 *
 *	filter.size = sizeof(filter);
 *	filter.capabilities = PEAL_CAN_PEER;
 *	device = peal_device_select(runtime, &filter);
 *	peal_device_info(runtime, device, &info);
 *	peal_kernel_launch(runtime, device, ...);
 */

#include <stdint.h>

#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_runtime;

/** Capabilities of a device, as bits of a mask. */
enum peal_device_capability {
	PEAL_CAN_PEER = 1, /* accesses the memory of another device */
	PEAL_CAN_UNIFIED = 2, /* maps host memory and shares it with the host */
	/*
	 * Native atomic read-modify-write operations work on host memory or on
	 * the memory of another device.
	 */
	PEAL_CAN_ATOMICS = 4,
	PEAL_CAN_COOPERATIVE = 8, /* guarantees that several workers are
				   * resident at the same time */
	/*
	 * Accesses managed memory while the host does (PEAL_BUFFER_MANAGED).
	 * Emulated devices of the host lack it: they share all memory.
	 */
	PEAL_CAN_MANAGED = 16
};

/** The properties of a device. */
struct peal_device_info {
	int index; /* the device's index in the runtime, from 0 */
	char backend[16]; /* "host", "cuda" or "hip" */
	int emulated; /* 1: CPU threads emulate the device; 0: hardware */
	char name[64]; /* a name for display */
	char uuid[40]; /* a stable identifier of the device */
	uint64_t memory_bytes; /* bytes of the device's heap */
	uint64_t memory_used_bytes; /* bytes of the heap in use now */
	uint32_t compute_units; /* CPU cores or SMs that can run workers */
	uint32_t max_lanes; /* largest number of lanes per worker */
	int numa_node; /* NUMA node of the device; -1: not known */
	uint32_t policies; /* 1 << enum peal_slot_policy for each publication
			    * policy that the device supports */
	uint32_t max_cluster_workers; /* workers per cluster; 0: no clusters */
	uint32_t capabilities; /* mask of enum peal_device_capability */
	char architecture[64]; /* "sm_90", "gfx90a:sramecc+:xnack-"; "host": the
				* device is CPU threads */
	int lost; /* 1: the device has failed, or a kernel of it has crashed.
		   * Open the runtime again to launch kernels there. */
};

/** Requirements for a device. A field of 0 or NULL requires nothing. A lost device
 * meets no requirements. */
struct peal_device_filter {
	uint32_t size; /* sizeof(struct peal_device_filter) */
	const char *backend; /* "host", "cuda" or "hip"; NULL: any */
	uint64_t min_memory_bytes; /* free bytes of the heap */
	uint32_t min_compute_units; /* CPU cores or SMs */
	int peer_of; /* 1 + the index of a device with memory that the selected
		      * device must access; 0: none */
	uint32_t capabilities; /* mask of enum peal_device_capability: all of
			        * them */
};

/**
 * Returns the number of devices of a runtime, over all backends.
 *
 * Thread-safe. Wait-free.
 *
 * @param runtime an open runtime.
 * @return the number of devices, 0 or more, or a negative error code:
 * @retval PEAL_EINVAL  runtime is NULL.
 */
int peal_device_count(struct peal_runtime *runtime);

/**
 * Reads the properties of one device.
 *
 * Thread-safe.
 *
 * @param runtime an open runtime.
 * @param device the device's index, 0 .. peal_device_count - 1.
 * @param info_out filled on success. The caller owns it.
 * @return 0, or a negative error code:
 * @retval PEAL_ENODEV  no device has this index. The error text says how many
 *     devices there are.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_device_info(struct peal_runtime *runtime, int device,
		     struct peal_device_info *info_out);

/**
 * Returns the name of a capability.
 *
 * The names are "peer", "unified", "atomics", "cooperative" and "managed".
 *
 * Thread-safe, wait-free.
 *
 * @param capability one capability, not a mask.
 * @return a static string; "?" for any other value.
 */
const char *peal_device_capability_name(enum peal_device_capability capability);

/**
 * Finds the first device that meets all requirements.
 *
 * Thread-safe.
 *
 * @param runtime an open runtime.
 * @param filter the requirements; NULL: none, every device meets them.
 * @return the device's index, or a negative error code:
 * @retval PEAL_ENODEV  no device meets the requirements. The error text names
 *     an unmet requirement per device. Or filter->peer_of names no device.
 * @retval PEAL_EINVAL  runtime is NULL, filter->size or ->capabilities has an
 *     unknown bit, or filter->backend is no backend.
 */
int peal_device_select(struct peal_runtime *runtime,
		       const struct peal_device_filter *filter);

/**
 * Finds all devices that meet all requirements.
 *
 * Thread-safe.
 *
 * @param runtime an open runtime.
 * @param filter the requirements; NULL: none, every device meets them.
 * @param most the capacity of devices_out in indexes, at least 1.
 * @param devices_out receives the indexes of the first `most` such devices, in
 *     ascending order.
 * @return the number of such devices, which may exceed `most`, or a negative
 *     error code:
 * @retval PEAL_ENODEV  no device meets the requirements. The error text names
 *     an unmet requirement per device. Or filter->peer_of names no device.
 * @retval PEAL_EINVAL  as peal_device_select, or most is less than 1, or
 *     devices_out is NULL.
 */
int peal_device_select_all(struct peal_runtime *runtime,
			   const struct peal_device_filter *filter, int most,
			   int *devices_out);

/** For peal_device_sync: all devices of the runtime. */
#define PEAL_ALL_DEVICES (-2)

/**
 * Waits for a moment at which a device has no work.
 *
 * Work is messages to handle, and jobs of executors that may use the device. So
 * are background copies from it or to it, and changes of its peer access in the
 * background. So are runs of graphs and collectives that use the device, until
 * they end on all their devices. A run or collective with an ended kernel does
 * not count. Pipelines work by messages.
 *
 * An idle device has no such job, copy, run or collective. No message for its
 * kernels waits or is in flight: all are handled or dead. Messages come from
 * links, topics and handlers that tell. If handlers tell each other for ever,
 * the device is never idle.
 *
 * The call also waits for messages of suspended kernels. The call ignores:
 * - messages for a kernel that has ended.
 * - messages to endpoints.
 * - timers that have not fired.
 * - asks without an answer.
 *
 * A link can lack a message for ever if its sending process has died. Such a
 * link keeps the device busy; destroy the link.
 *
 * On a GPU every worker has to confirm the idle state, which takes some
 * hundredths of a second.
 *
 * Thread-safe. Blocks until the device is idle, or until the timeout.
 *
 * @param runtime an open runtime.
 * @param device the index of a device, or PEAL_ALL_DEVICES.
 * @param timeout_ns ns. 0: only checks, which never succeeds on a GPU; -1: no
 *     limit.
 * @return 0, or a negative error code. After 0 the host sees all data that
 *     handlers had written at the idle moment.
 * @retval PEAL_EAGAIN  the timeout is 0 and the device is not idle.
 * @retval PEAL_ETIMEDOUT  the device was never idle. The error text names
 *     remaining work that is no message, or the messages that remain and their
 *     kernel or topic.
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_EINVAL  runtime is NULL.
 */
int peal_device_sync(struct peal_runtime *runtime, int device,
		     int64_t timeout_ns);

PEAL_END_C
#endif
