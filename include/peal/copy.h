/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_COPY_H
#define PEAL_COPY_H

/*
 * Copies in the background: waiting, progress, result, and counters by kind.
 *
 * peal_peer_copy_async (peal/peer.h) and peal_transfer_start (peal/transfer.h)
 * start a copy. A change of peer access in the background, such as
 * peal_peer_enable_async, has the same calls, and no bytes.
 */

#include <stdint.h>

#include <peal/errors.h>
#include <peal/topology.h>

PEAL_BEGIN_C

/**
 * A copy, or a change of peer access, in the background. The caller frees it by
 * peal_copy_destroy before peal_runtime_shutdown, which frees all others.
 */
struct peal_copy;

/** The result of a transfer. */
struct peal_copy_result {
	/* The slowest route of all copies: local, peer, mapped-host, staged. */
	enum peal_route route;
	uint32_t n_copies; /* requested copies, with adjacent ones merged */
	uint64_t bytes; /* bytes copied, also by a cancelled transfer */
	uint64_t staged_bytes; /* part of `bytes` by the staged route */
	uint64_t chunks; /* chunks of the staged bytes */
	uint64_t nanoseconds; /* from the start of the first copy to the end */
};

/** The progress of a transfer. */
struct peal_copy_progress {
	uint64_t bytes; /* bytes of all copies */
	uint64_t done_bytes; /* bytes copied so far */
};

/** Source and destination of a copy. */
enum peal_copy_kind {
	PEAL_COPY_LOCAL = 0, /* within one device */
	PEAL_COPY_DEVICES = 1, /* device to device, directly */
	PEAL_COPY_STAGED = 2, /* device to device, through host buffers */
	PEAL_COPY_FROM_HOST = 3, /* host memory to device */
	PEAL_COPY_TO_HOST = 4, /* device to host memory */
	PEAL_COPY_HOST = 5, /* within host memory */
	PEAL_COPY_KINDS = 6
};

/**
 * Copies by peal_peer_copy, peal_transfer_run, buffers and all their callers.
 *
 * Copies of one call with ranges adjacent on both sides count as one.
 */
struct peal_copy_counts {
	uint64_t copies; /* completed copies */
	uint64_t bytes; /* copied bytes, also of failed copies */
	/*
	 * Sum of durations in ns, without the time in a queue. Concurrent
	 * calls each add their durations. Copies of one call between the same
	 * two places have one duration.
	 */
	uint64_t ns;
	uint64_t failed; /* failed or cancelled copies */
};

/**
 * Waits for the end of a copy.
 *
 * Thread-safe: several threads may wait for one copy.
 *
 * @param copy       of peal_peer_copy_async or peal_transfer_start.
 * @param timeout_ns longest wait in ns; 0: check only; negative: no limit.
 * @return 0 the copy is complete, or a negative error code:
 * @retval PEAL_EINVAL     the copy is NULL. Or a change of access failed: no
 *                         enable is left to undo.
 * @retval PEAL_ETIMEDOUT  the copy has not ended in time.
 * @retval PEAL_ECANCELED  the copy was cancelled before its end. Bytes that it
 *                         had written stay written.
 * @retval PEAL_ENOPEER    the options of peal_transfer_start allow no route, or
 *                         the pair has no peer access.
 * @retval PEAL_ENOMEM     no pinned host memory to stage the copy, or no host
 *                         memory for the record of a mapping.
 * @retval PEAL_EDRIVER    a driver call failed. Some bytes may be copied.
 * @retval PEAL_EBUSY      a change of access failed: the pair is in use.
 * @retval PEAL_EFAULT     a change of access failed: there is no such memory,
 *                         or no such mapping.
 */
int peal_copy_wait(struct peal_copy *copy, int64_t timeout_ns);

/**
 * Asks a copy to end early.
 *
 * The copy may still complete: peal_copy_wait then returns 0. A change of access
 * that has begun completes. One that has not begun takes no effect.
 *
 * Thread-safe. Does not wait for the end of the copy.
 *
 * @param copy of peal_peer_copy_async or peal_transfer_start.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  the copy is NULL.
 */
int peal_copy_cancel(struct peal_copy *copy);

/**
 * Waits for the end of a copy and frees it.
 *
 * Blocks without a time limit. No other call on this copy may run at the same
 * time or later.
 *
 * @param copy of peal_peer_copy_async or peal_transfer_start; NULL: no-op.
 */
void peal_copy_destroy(struct peal_copy *copy);

/**
 * Reads the progress of a copy.
 *
 * The progress of staged copies grows by chunks. The progress of other copies
 * grows in steps of up to 8 MiB.
 *
 * Thread-safe and wait-free.
 *
 * @param copy made by peal_transfer_start or peal_peer_copy_async.
 * @param progress_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_copy_progress(const struct peal_copy *copy,
		       struct peal_copy_progress *progress_out);

/**
 * Reads the result of a copy that has ended.
 *
 * A cancelled or failed copy has a result too: the part that was done.
 *
 * Thread-safe and wait-free.
 *
 * @param copy made by peal_transfer_start or peal_peer_copy_async.
 * @param result_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN  the copy has not ended yet.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_copy_result(const struct peal_copy *copy,
		     struct peal_copy_result *result_out);

/**
 * Returns the name of a kind: "local", "devices", "staged", "from host", ...
 *
 * Thread-safe, wait-free.
 *
 * @param kind enum peal_copy_kind.
 * @return a static string; "?" for any other number.
 */
const char *peal_copy_kind_name(uint32_t kind);

PEAL_END_C
#endif
