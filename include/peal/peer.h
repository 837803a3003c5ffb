/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PEER_H
#define PEAL_PEER_H

#include <stddef.h>
#include <stdint.h>

#include <peal/errors.h>
#include <peal/topology.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/** A copy that runs in the background. */
struct peal_copy;

/** What an ordered pair of devices can do. */
struct peal_peer_capability {
	int supported; /* `from` can map the memory of `to` */
	int enabled; /* and does now, by peal_peer_enable or a link */
	char kind[16]; /* "nvlink", "pcie", "none" */
	int atomics;
	enum peal_verdict verdict;
	uint64_t latency_ns; /* one way, half a round trip; 0: not measured */
	uint64_t bandwidth_bytes_per_s; /* 0: not measured */
};

/**
 * Whether `from` can map the memory of `to`.
 *
 * @param runtime an open runtime.
 * @param from    the device that would access.
 * @param to      the device whose memory it would access.
 * @return 1 or 0; 0 too for a device and itself; PEAL_ENODEV; PEAL_EINVAL.
 *         Thread-safe.
 */
int peal_peer_can_access(struct peal_runtime *runtime, int from, int to);

/**
 * Maps all memory of `to` into `from`. Counted: as many disables undo it.
 *
 * @param runtime an open runtime.
 * @param from    the device that gets access.
 * @param to      the device whose memory it gets.
 * @return 0; PEAL_ENOPEER the pair has no access (the text names it);
 *         PEAL_EINVAL a device and itself; PEAL_ENODEV; PEAL_EDRIVER.
 *         Thread-safe; may block behind a resident kernel on GPUs.
 */
int peal_peer_enable(struct peal_runtime *runtime, int from, int to);

/**
 * Undoes one peal_peer_enable.
 *
 * @param runtime an open runtime.
 * @param from    as at the enable.
 * @param to      as at the enable.
 * @return 0; PEAL_EINVAL it is not enabled; PEAL_EBUSY links or mappings use
 *         it and this was the last enable; PEAL_ENODEV. Thread-safe.
 */
int peal_peer_disable(struct peal_runtime *runtime, int from, int to);

/**
 * The address at which a remote device sees memory of a local one. Enables the
 * pair (remote to local) if it is not. Counted.
 *
 * @param runtime     an open runtime.
 * @param device      owner of the memory.
 * @param address     in its memory, as it sees it; a multiple of 16.
 * @param remote      the device that gets access.
 * @param bytes       1 or more, inside one allocation.
 * @param address_out the address for `remote`.
 * @return 0; PEAL_EFAULT the range is in no allocation of the device;
 *         PEAL_EINVAL size 0, an unaligned address, or the same device;
 *         PEAL_ENOPEER; PEAL_ENODEV. Thread-safe.
 */
int peal_peer_map(struct peal_runtime *runtime, int device, uint64_t address,
		  int remote, uint64_t bytes, uint64_t *address_out);

/**
 * Undoes one peal_peer_map.
 *
 * @param runtime an open runtime.
 * @param remote  the device that had access.
 * @param address what peal_peer_map gave.
 * @return 0; PEAL_EFAULT nothing is mapped there (also: unmapped already);
 *         PEAL_ENODEV. Thread-safe.
 */
int peal_peer_unmap(struct peal_runtime *runtime, int remote, uint64_t address);

/**
 * Copies between any two devices, or a device and the host, and waits. Its way is
 * that of peal_transfer_run (peal/transfer.h): direct, or staged where there is no
 * access.
 *
 * @param runtime   an open runtime.
 * @param to        the device that is written, or PEAL_HOST_MEMORY.
 * @param to_address   as that device sees it, or a host pointer.
 * @param from      the device that is read, or PEAL_HOST_MEMORY.
 * @param from_address as that device sees it, or a host pointer.
 * @param bytes     0 does nothing.
 * @return 0; PEAL_EFAULT a range is not inside an allocation; PEAL_ENODEV;
 *         PEAL_ENOMEM no memory to stage it; PEAL_EDRIVER. Thread-safe; blocking.
 */
int peal_peer_copy(struct peal_runtime *runtime, int to, uint64_t to_address,
		   int from, uint64_t from_address, uint64_t bytes);

/**
 * Starts a copy and returns; arguments as peal_peer_copy. The memory stays
 * allocated until the copy is done. Copies to one device are done one after
 * another, and so are those that touch the same memory, in the order in which
 * they were started.
 *
 * @param runtime  an open runtime.
 * @param to       as peal_peer_copy.
 * @param to_address   as peal_peer_copy.
 * @param from     as peal_peer_copy.
 * @param from_address as peal_peer_copy.
 * @param bytes    as peal_peer_copy.
 * @param copy_out the copy; the caller gives it to peal_copy_destroy.
 * @return 0; as peal_peer_copy, and PEAL_ENOMEM. Thread-safe.
 */
int peal_peer_copy_async(struct peal_runtime *runtime, int to,
			 uint64_t to_address, int from, uint64_t from_address,
			 uint64_t bytes, struct peal_copy **copy_out);

/**
 * Waits for a copy.
 *
 * @param copy       of peal_peer_copy_async.
 * @param timeout_ns 0 looks, -1 waits for ever.
 * @return 0 it is done; PEAL_ETIMEDOUT; PEAL_ECANCELED it was cancelled before
 *         its end, what it wrote so far is there; PEAL_ENOPEER, PEAL_ENOMEM as
 *         peal_transfer_run; PEAL_EDRIVER. Thread-safe.
 */
int peal_copy_wait(struct peal_copy *copy, int64_t timeout_ns);

/**
 * Asks a copy to end early. It may still end as done.
 *
 * @param copy of peal_peer_copy_async.
 * @return 0; PEAL_EINVAL. Thread-safe; does not wait.
 */
int peal_copy_cancel(struct peal_copy *copy);

/**
 * Waits for the copy's end and frees it.
 *
 * @param copy of peal_peer_copy_async; NULL does nothing.
 */
void peal_copy_destroy(struct peal_copy *copy);

/**
 * What an ordered pair can do.
 *
 * @param runtime an open runtime.
 * @param from    the device that would access.
 * @param to      the device whose memory it would access.
 * @param capability_out filled on success; `supported` 0 where the devices
 *                have no access to each other.
 * @return 0; PEAL_ENODEV; PEAL_EINVAL. Thread-safe; probes the pair if that
 *         was not done yet.
 */
int peal_peer_capability(struct peal_runtime *runtime, int from, int to,
			 struct peal_peer_capability *capability_out);

#ifdef __cplusplus
}
#endif
#endif
