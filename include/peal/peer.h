/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PEER_H
#define PEAL_PEER_H

#include <stddef.h>
#include <stdint.h>

#include <peal/copy.h>
#include <peal/errors.h>
#include <peal/topology.h>

PEAL_BEGIN_C

/*
 * Access of one device to the memory of another device, and copies.
 *
 * All calls name an ordered pair: device `from` accesses memory of device
 * `to`. Ask for access by peal_peer_can_access. Enable it by peal_peer_enable
 * for all memory, or by peal_peer_map for one range. Disable or unmap once per
 * call. Copies need no enabled pair: peal_peer_copy blocks, and
 * peal_peer_copy_async needs peal_copy_wait and peal_copy_destroy
 * (peal/copy.h).
 *
 * Calls that end in _async start a change of access in the background. The
 * caller waits for the change by peal_copy_wait with a timeout, cancels it by
 * peal_copy_cancel, and frees it by peal_copy_destroy:
 *
 *	peal_peer_map_async(runtime, 1, address, 0, bytes, &change);
 *	...
 *	if (!peal_copy_wait(change, timeout_ns))
 *		peal_peer_mapped(change, &mapped);
 *	peal_copy_destroy(change);
 *
 * A change is work of the device that gets or loses access. It takes effect
 * behind the changes and background copies of that device that were started
 * earlier. Later ones wait for it. It also waits for the events of
 * peal_event_await_before, and peal_device_sync waits for it. A change takes
 * effect wholly or not at all: after any error, a cancellation included, the
 * access is as before. peal_runtime_shutdown cancels the changes that have not
 * begun.
 *
 * The blocking forms wait only for the changes of that device that were started
 * before the call.
 */

struct peal_runtime;

struct peal_copy;

/** Capabilities of an ordered pair of devices. */
struct peal_peer_capability {
	int supported; /* 1: `from` can map memory of `to`; 0: it cannot */
	int enabled; /* 1: an enable, mapping, link or buffer uses the pair */
	char kind[16]; /* "nvlink", "xgmi", "pcie", "same-gpu", "self" or
			* "none" */
	int atomics; /* 1: native read-modify-write works across the pair */
	enum peal_verdict verdict; /* result of the probe */
	uint64_t latency_ns; /* one way, half a round trip; 0: not measured */
	uint64_t bandwidth_bytes_per_s; /* bytes/s; 0: not measured */
};

/**
 * Tells whether `from` can map the memory of `to`.
 *
 * Thread-safe. Does not block.
 *
 * @param runtime an open runtime.
 * @param from    index of the device that would access.
 * @param to      index of the device that owns the memory.
 * @return 1 it can, 0 it cannot or `from` is `to`, or a negative error code:
 * @retval PEAL_EINVAL   the runtime is NULL.
 * @retval PEAL_ENODEV   a device index is out of range.
 * @retval PEAL_EDRIVER  a driver call failed.
 */
int peal_peer_can_access(struct peal_runtime *runtime, int from, int to);

/**
 * Maps all memory of `to` into the address space of `from`.
 *
 * The runtime counts the enables of a pair. The caller calls
 * peal_peer_disable once for each successful peal_peer_enable.
 *
 * Thread-safe. Blocks only for earlier changes in the background. Waits for no
 * kernel.
 *
 * @param runtime an open runtime.
 * @param from    index of the device that gets access.
 * @param to      index of the device that owns the memory.
 * @param timeout_ns longest wait for earlier changes of device `from`, in ns;
 *                0: does not wait; negative: no limit.
 * @return 0, or a negative error code, with nothing changed:
 * @retval PEAL_EINVAL   the runtime is NULL, or `from` is `to`.
 * @retval PEAL_ENODEV   a device index is out of range.
 * @retval PEAL_ENOPEER  the pair has no peer access. The text names the pair.
 * @retval PEAL_ETIMEDOUT an earlier change of device `from` is incomplete.
 * @retval PEAL_EDRIVER  a driver call failed.
 */
int peal_peer_enable(struct peal_runtime *runtime, int from, int to,
		     int64_t timeout_ns);

/**
 * Starts a peal_peer_enable in the background.
 *
 * peal_copy_wait returns the result, as peal_peer_enable has it.
 *
 * Thread-safe. Does not wait. A runtime thread makes the change.
 *
 * @param runtime    an open runtime.
 * @param from       as peal_peer_enable.
 * @param to         as peal_peer_enable.
 * @param change_out the change, set on success. The caller frees it by
 *                   peal_copy_destroy. The access stays then.
 * @return 0, or a negative error code, with nothing started:
 * @retval PEAL_EINVAL   a pointer is NULL, or `from` is `to`.
 * @retval PEAL_ENODEV   a device index is out of range.
 * @retval PEAL_ENOMEM   no host memory for the change.
 * @retval PEAL_EDRIVER  the thread for copies could not start.
 */
int peal_peer_enable_async(struct peal_runtime *runtime, int from, int to,
			   struct peal_copy **change_out);

/**
 * Undoes one peal_peer_enable.
 *
 * The access ends with the last use of the pair.
 *
 * Thread-safe. Blocks only for earlier changes in the background. Waits for no
 * kernel.
 *
 * @param runtime an open runtime.
 * @param from    as for peal_peer_enable.
 * @param to      as for peal_peer_enable.
 * @param timeout_ns as for peal_peer_enable.
 * @return 0, or a negative error code, with nothing changed:
 * @retval PEAL_EINVAL  the runtime is NULL, `from` is `to`, or no enable is
 *                      left to undo.
 * @retval PEAL_ENODEV  a device index is out of range.
 * @retval PEAL_EBUSY   it is the last enable and a link, a mapping or a buffer
 *                      uses the pair.
 * @retval PEAL_ETIMEDOUT an earlier change of device `from` is incomplete.
 */
int peal_peer_disable(struct peal_runtime *runtime, int from, int to,
		      int64_t timeout_ns);

/**
 * Starts a peal_peer_disable in the background.
 *
 * peal_copy_wait returns the result, as peal_peer_disable has it.
 *
 * Thread-safe. Does not wait. A runtime thread makes the change.
 *
 * @param runtime    an open runtime.
 * @param from       as peal_peer_enable.
 * @param to         as peal_peer_enable.
 * @param change_out as peal_peer_enable_async.
 * @return 0, or a negative error code, with nothing started:
 * @retval PEAL_EINVAL   a pointer is NULL, or `from` is `to`.
 * @retval PEAL_ENODEV   a device index is out of range.
 * @retval PEAL_ENOMEM   no host memory for the change.
 * @retval PEAL_EDRIVER  the thread for copies could not start.
 */
int peal_peer_disable_async(struct peal_runtime *runtime, int from, int to,
			    struct peal_copy **change_out);

/**
 * Returns the address at which a remote device sees memory of another device.
 *
 * The call enables the pair (remote to device) if it is not enabled. The
 * runtime counts mappings. The caller calls peal_peer_unmap once for each
 * successful peal_peer_map. Mapped memory cannot be freed: peal_memory_free
 * returns PEAL_EBUSY.
 *
 * Thread-safe. Blocks only for earlier changes in the background. Waits for no
 * kernel.
 *
 * @param runtime     an open runtime.
 * @param device      index of the device that owns the memory.
 * @param address     start of the range as `device` sees it, a multiple of 16.
 * @param remote      index of the device that gets access.
 * @param bytes       1 or more. The range lies inside one allocation.
 * @param timeout_ns  longest wait for earlier changes of device `remote`, in
 *                    ns; 0: does not wait; negative: no limit.
 * @param address_out the address for `remote`, set on success.
 * @return 0, or a negative error code, with nothing changed:
 * @retval PEAL_EINVAL   a pointer is NULL, `bytes` is 0, `address` is no
 *                       multiple of 16, or `remote` is `device`.
 * @retval PEAL_ENODEV   a device index is out of range.
 * @retval PEAL_EFAULT   the range is in no allocation of `device`.
 * @retval PEAL_ENOPEER  the pair has no peer access.
 * @retval PEAL_ETIMEDOUT an earlier change of device `remote` is incomplete.
 * @retval PEAL_ENOMEM   no host memory for the record of the mapping.
 * @retval PEAL_EDRIVER  a driver call failed.
 */
int peal_peer_map(struct peal_runtime *runtime, int device, uint64_t address,
		  int remote, uint64_t bytes, int64_t timeout_ns,
		  uint64_t *address_out);

/**
 * Starts a peal_peer_map in the background.
 *
 * peal_copy_wait returns the result, as peal_peer_map has it. peal_peer_mapped
 * then returns the address. The memory is not kept until the mapping is made:
 * after a peal_memory_free the result is PEAL_EFAULT.
 *
 * Thread-safe. Does not wait. A runtime thread makes the mapping.
 *
 * @param runtime    an open runtime.
 * @param device     as peal_peer_map.
 * @param address    as peal_peer_map.
 * @param remote     as peal_peer_map.
 * @param bytes      as peal_peer_map.
 * @param change_out the change, set on success. The caller frees it by
 *                   peal_copy_destroy. A mapping stays then.
 * @return 0, or a negative error code, with nothing started:
 * @retval PEAL_EINVAL   a pointer is NULL, `bytes` is 0, `address` is no
 *                       multiple of 16, or `remote` is `device`.
 * @retval PEAL_ENODEV   a device index is out of range.
 * @retval PEAL_ENOMEM   no host memory for the change.
 * @retval PEAL_EDRIVER  the thread for copies could not start.
 */
int peal_peer_map_async(struct peal_runtime *runtime, int device,
			uint64_t address, int remote, uint64_t bytes,
			struct peal_copy **change_out);

/**
 * Returns the address of a mapping that was made in the background.
 *
 * Thread-safe. Does not wait.
 *
 * @param map         of peal_peer_map_async.
 * @param address_out the address for the remote device, set on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN  the change is incomplete.
 * @retval PEAL_EINVAL  a pointer is NULL, or `map` is no mapping.
 * @retval others       the mapping was not made: as peal_copy_wait.
 */
int peal_peer_mapped(const struct peal_copy *map, uint64_t *address_out);

/**
 * Undoes one peal_peer_map.
 *
 * Thread-safe. Blocks only for earlier changes in the background. Waits for no
 * kernel.
 *
 * @param runtime an open runtime.
 * @param remote  index of the device that has access.
 * @param address the address that peal_peer_map returned.
 * @param timeout_ns as for peal_peer_map.
 * @return 0, or a negative error code, with nothing changed:
 * @retval PEAL_EINVAL  the runtime is NULL.
 * @retval PEAL_ENODEV  the device index is out of range.
 * @retval PEAL_EFAULT  no mapping starts at this address, or every mapping
 *                      there is unmapped already.
 * @retval PEAL_ETIMEDOUT an earlier change of device `remote` is incomplete.
 */
int peal_peer_unmap(struct peal_runtime *runtime, int remote, uint64_t address,
		    int64_t timeout_ns);

/**
 * Starts a peal_peer_unmap in the background.
 *
 * peal_copy_wait returns the result, as peal_peer_unmap has it. An unmap behind
 * a pending map of the same memory finds the mapping.
 *
 * Thread-safe. Does not wait. A runtime thread makes the change.
 *
 * @param runtime    an open runtime.
 * @param remote     as peal_peer_unmap.
 * @param address    as peal_peer_unmap.
 * @param change_out as peal_peer_enable_async.
 * @return 0, or a negative error code, with nothing started:
 * @retval PEAL_EINVAL   a pointer is NULL.
 * @retval PEAL_ENODEV   the device index is out of range.
 * @retval PEAL_ENOMEM   no host memory for the change.
 * @retval PEAL_EDRIVER  the thread for copies could not start.
 */
int peal_peer_unmap_async(struct peal_runtime *runtime, int remote,
			  uint64_t address, struct peal_copy **change_out);

/**
 * Copies between any two devices, or between a device and the host, and waits.
 *
 * The runtime chooses the route as peal_transfer_run does: direct, or staged
 * through host memory where the devices have no access. Ranges on one device
 * may overlap. A device address is an address in memory of that device or an
 * address of peal_peer_map for that device. It may also point to host memory
 * of peal_memory_alloc.
 *
 * Thread-safe. Blocks until the copy has ended.
 *
 * @param runtime      an open runtime.
 * @param to           index of the written device, or PEAL_HOST_MEMORY.
 * @param to_address   address as `to` sees it, or a host pointer.
 * @param from         index of the read device, or PEAL_HOST_MEMORY.
 * @param from_address address as `from` sees it, or a host pointer.
 * @param bytes        length; 0: the call checks the devices only.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL   the runtime is NULL.
 * @retval PEAL_ENODEV   a device index is out of range.
 * @retval PEAL_EFAULT   a range is not inside an allocation. Nothing is copied.
 * @retval PEAL_ENOMEM   no pinned host memory to stage the copy.
 * @retval PEAL_EDRIVER  a driver call failed. Some bytes may be copied.
 */
int peal_peer_copy(struct peal_runtime *runtime, int to, uint64_t to_address,
		   int from, uint64_t from_address, uint64_t bytes);

/**
 * Starts a copy in the background.
 *
 * Copies to one device run one after another, in the order of their starts.
 * Copies to different devices keep that order, too, if they touch the same
 * memory. A copy that waits for an event (peal_event_await_before) may be
 * overtaken by later copies that touch other memory. The caller keeps all
 * memory allocated until the copy has ended. The caller frees the copy by
 * peal_copy_destroy.
 *
 * Thread-safe. Does not wait for the copy. A runtime thread performs it.
 *
 * @param runtime      an open runtime.
 * @param to           as peal_peer_copy.
 * @param to_address   as peal_peer_copy.
 * @param from         as peal_peer_copy.
 * @param from_address as peal_peer_copy.
 * @param bytes        as peal_peer_copy.
 * @param copy_out     the copy, set on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL   the runtime or `copy_out` is NULL.
 * @retval PEAL_ENODEV   a device index is out of range.
 * @retval PEAL_EFAULT   a range is not inside an allocation.
 * @retval PEAL_ENOMEM   no host memory for the copy.
 * @retval PEAL_EDRIVER  the thread for copies could not start.
 */
int peal_peer_copy_async(struct peal_runtime *runtime, int to,
			 uint64_t to_address, int from, uint64_t from_address,
			 uint64_t bytes, struct peal_copy **copy_out);

/**
 * Returns the capabilities of an ordered pair of devices.
 *
 * The first call for a pair probes it, unless the setting PEAL_PROBE is "off".
 * For `from` equal to `to` the kind is "self" and `supported` is 0.
 *
 * Thread-safe. Blocks while the runtime probes the pair.
 *
 * @param runtime        an open runtime.
 * @param from           index of the device that would access.
 * @param to             index of the device that owns the memory.
 * @param capability_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL   a pointer is NULL, or the setting PEAL_PROBE is wrong.
 * @retval PEAL_ENODEV   a device index is out of range.
 * @retval PEAL_ENOMEM   no memory for the probe.
 * @retval PEAL_EDRIVER  the probe did not finish.
 */
int peal_peer_capability(struct peal_runtime *runtime, int from, int to,
			 struct peal_peer_capability *capability_out);

PEAL_END_C
#endif
