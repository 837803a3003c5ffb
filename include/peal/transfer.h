/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TRANSFER_H
#define PEAL_TRANSFER_H

/*
 * Transfers copy ranges of buffers to ranges of buffers, on any devices.
 *
 * One call takes many copies. peal_transfer_run copies and waits.
 * peal_transfer_start returns at once; peal_copy_wait then waits for the end.
 *
 *	peal_transfer_start(runtime, transfers, n, NULL, &copy);
 *	peal_copy_progress(copy, &progress);		optional
 *	peal_copy_wait(copy, -1);
 *	peal_copy_result(copy, &result);		optional
 *	peal_copy_destroy(copy);
 */

#include <stdint.h>

#include <peal/buffer.h>
#include <peal/copy.h>
#include <peal/errors.h>
#include <peal/peer.h>
#include <peal/topology.h>

PEAL_BEGIN_C

struct peal_runtime;

/*
 * Routes. The route of a copy depends on the two places:
 *
 *	local		within one device, or within the host
 *	peer		between two devices, by a copy engine; one of them
 *			has access to the other, and no probe of the pair
 *			has failed (peal_topology_pair)
 *	mapped-host	between a device and host memory that it maps
 *	staged		all other copies: between devices without access,
 *			between devices of two backends, and between a GPU
 *			and unpinned memory of the process
 *
 * A staged copy runs in chunks through two buffers of pinned host memory. One
 * buffer fills while the other empties.
 *
 * peal_peer_copy, peal_buffer_write and peal_buffer_read use these routes too.
 * The first staged copy of a pair of devices writes a warning with the cause to
 * standard error. A process warns of a pair once. So does the first link of the
 * pair through the host.
 * PEAL_LOG=0 disables both.
 */

#define PEAL_TRANSFERS_MAX (1 << 24) /* copies in one call */
#define PEAL_TRANSFER_CHUNK_MIN 4096
#define PEAL_TRANSFER_CHUNK_MAX (2 << 20)

/** One copy. Both ranges have the same number of bytes. */
struct peal_transfer {
	struct peal_range to, from;
};

/** Options of a transfer. A field of 0 takes its default. */
struct peal_transfer_options {
	uint32_t size; /* sizeof(struct peal_transfer_options) */
	/*
	 * Mask of enum peal_route: the routes that copies may take (0: any).
	 * A copy with another route is staged if the mask has
	 * PEAL_ROUTE_STAGED. Otherwise the transfer fails with PEAL_ENOPEER.
	 */
	uint32_t routes;
	/*
	 * Bytes of a chunk of a staged copy: PEAL_TRANSFER_CHUNK_MIN to
	 * PEAL_TRANSFER_CHUNK_MAX. 0: 128 KiB between emulated devices or
	 * between them and the host, otherwise 1 MiB.
	 */
	uint64_t chunk_bytes;
};

/** Copies from one place to another since the runtime was opened. */
struct peal_transfer_counts {
	uint64_t copies; /* completed copies, counted as n_copies */
	uint64_t bytes; /* bytes copied */
	uint64_t staged_bytes; /* part of `bytes` by the staged route */
	uint64_t nanoseconds; /* sum of the durations of all calls */
	uint32_t warnings; /* 1: a copy or link by host memory */
};

/**
 * Copies ranges of buffers and waits until all copies are done.
 *
 * The copies have no order. The runtime merges neighbours in the array if they
 * are adjacent in both memories. The runtime batches small copies between two
 * places.
 *
 * After 0 the data is visible to every thread and handler that the caller then
 * notifies. After PEAL_EDRIVER some copies may be done.
 *
 * Thread-safe. Blocks until all copies have ended.
 *
 * @param runtime the open runtime of all these buffers.
 * @param transfers n copies. A written range must not overlap any other range
 *     of the call.
 * @param n 1..PEAL_TRANSFERS_MAX.
 * @param options NULL: all defaults.
 * @param result_out filled on success; NULL: not wanted.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  runtime or transfers is NULL, n or an option is out of
 *     range, or a range has no buffer. Or two ranges differ in length, a range
 *     has 0 bytes, or a buffer belongs to another runtime. Or a written range
 *     overlaps another; the error text names the two copies.
 * @retval PEAL_EFAULT  a range is not inside its buffer.
 * @retval PEAL_ENOPEER  `routes` contains no route for a copy. The error text
 *     names the two places.
 * @retval PEAL_ENOMEM  there is not enough pinned memory to stage a copy, or
 *     not enough host memory.
 * @retval PEAL_EDRIVER  a driver or system call failed.
 */
int peal_transfer_run(struct peal_runtime *runtime,
		      const struct peal_transfer *transfers, uint32_t n,
		      const struct peal_transfer_options *options,
		      struct peal_copy_result *result_out);

/**
 * Starts copies of ranges of buffers and returns.
 *
 * peal_copy_wait, peal_copy_cancel and peal_copy_destroy of peal/copy.h accept
 * the copy. The caller keeps the buffers until the copy has ended.
 *
 * Copies to one destination, a device or the host, run one after another in the
 * order of their starts. Copies that touch common memory run in this order too.
 * A copy that waits for an event (peal_event_await_before) may be overtaken by
 * later copies that touch other memory.
 *
 * Thread-safe. Does not wait for the copies.
 *
 * @param runtime the open runtime of all these buffers.
 * @param transfers n copies, as for peal_transfer_run. The call copies the
 *     array.
 * @param n 1..PEAL_TRANSFERS_MAX.
 * @param options NULL: all defaults.
 * @param copy_out receives the copy. The caller frees it by peal_copy_destroy.
 * @return 0, or a negative error code. peal_copy_wait returns the errors of the
 *     copies themselves: PEAL_ENOPEER, PEAL_ENOMEM, PEAL_EDRIVER.
 * @retval PEAL_EINVAL  copy_out is NULL, or as peal_transfer_run.
 * @retval PEAL_EFAULT  a range is not inside its buffer.
 * @retval PEAL_ENOMEM  there is not enough host memory.
 * @retval PEAL_EDRIVER  the runtime could not start a thread.
 */
int peal_transfer_start(struct peal_runtime *runtime,
			const struct peal_transfer *transfers, uint32_t n,
			const struct peal_transfer_options *options,
			struct peal_copy **copy_out);

/**
 * Reads the counters of copies from one place to another.
 *
 * The counters include the copies of every call that copies.
 *
 * Thread-safe.
 *
 * @param runtime an open runtime.
 * @param from the index of a device, or PEAL_HOST_MEMORY.
 * @param to the index of a device, or PEAL_HOST_MEMORY.
 * @param counts_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_transfer_counts(struct peal_runtime *runtime, int from, int to,
			 struct peal_transfer_counts *counts_out);

PEAL_END_C
#endif
