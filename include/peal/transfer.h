/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TRANSFER_H
#define PEAL_TRANSFER_H

#include <stdint.h>

#include <peal/buffer.h>
#include <peal/errors.h>
#include <peal/peer.h>
#include <peal/topology.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/*
 * Transfers: ranges of buffers to ranges of buffers, wherever those are. How one
 * goes is its route:
 *
 *	local		within one device, or within the host
 *	peer		between two devices of which one has access to the other,
 *			by a copy engine; not where the proof of the pair has
 *			failed (peal_topology_pair)
 *	mapped-host	between a device and host memory that it maps
 *	staged		all else: between two devices without access, or of two
 *			backends, and between a GPU and memory of the process
 *			that is not pinned. Chunk by chunk through two buffers
 *			of pinned host memory, of which one is filled while the
 *			other is emptied
 *
 * peal_peer_copy and what reads and writes buffers go the same ways. The first
 * time that a pair of devices is staged the log says so (PEAL_LOG=1).
 */

#define PEAL_TRANSFERS_MAX (1 << 24) /* in one call */
#define PEAL_TRANSFER_CHUNK_MIN 4096
#define PEAL_TRANSFER_CHUNK_MAX (2 << 20)

/** One copy; both ranges have the same number of bytes. */
struct peal_transfer {
	struct peal_range to, from;
};

/** Zero in a field: its default. */
struct peal_transfer_options {
	uint32_t size; /* sizeof(struct peal_transfer_options) */
	uint32_t routes; /* that it may take, enum peal_route by bits; any. Where
			  * its own is not among them and staged is, it is
			  * staged */
	uint64_t chunk_bytes; /* of a staged one, PEAL_TRANSFER_CHUNK_MIN ..
			       * PEAL_TRANSFER_CHUNK_MAX; 128 KiB between
			       * emulated devices, else 1 MiB */
};

/** How a copy went. */
struct peal_copy_result {
	enum peal_route route; /* of several the slowest, as above */
	uint32_t n_copies; /* that were asked for: adjacent ones are one */
	uint64_t bytes; /* of all; of a cancelled one those that are there */
	uint64_t staged_bytes; /* of them, by the route staged */
	uint64_t chunks; /* of those */
	uint64_t nanoseconds; /* from its first byte on to its last */
};

/** How far a copy has come. */
struct peal_copy_progress {
	uint64_t bytes; /* of all */
	uint64_t done_bytes; /* that are there */
};

/** Copies from one place to another, since the runtime was opened. */
struct peal_transfer_counts {
	uint64_t copies; /* as in n_copies */
	uint64_t bytes;
	uint64_t staged_bytes; /* of them */
	uint64_t nanoseconds; /* that they took, of each call by itself */
	uint32_t warnings; /* that the pair is staged: 0 or 1 */
};

/**
 * Copies, and waits for the end of all. Neighbours in the array whose ranges lie
 * end to end on both sides are done as one; small ones of one pair travel
 * together.
 *
 * @param runtime    an open runtime, that of the buffers.
 * @param transfers  n copies, in no order: no range that is written may overlap
 *                   any other one.
 * @param n          1 .. PEAL_TRANSFERS_MAX.
 * @param options    NULL for all defaults.
 * @param result_out how they went; NULL: nobody asks.
 * @return 0, and whoever is told of it from now on sees what was written;
 *         PEAL_EINVAL two ranges of different lengths or of 0 bytes, one that
 *         is written overlaps another (the text says which two copies), an
 *         option is out of its range, or a buffer is of another runtime;
 *         PEAL_EFAULT a range is not in its buffer; PEAL_ENOPEER `routes` has
 *         no route for one (named); PEAL_ENOMEM no pinned memory to stage it.
 *         After PEAL_EDRIVER some may be done. Thread-safe; blocking.
 */
int peal_transfer_run(struct peal_runtime *runtime,
		      const struct peal_transfer *transfers, uint32_t n,
		      const struct peal_transfer_options *options,
		      struct peal_copy_result *result_out);

/**
 * Starts them and returns; peal_copy_wait, _cancel and _destroy as for
 * peal_peer_copy_async. The buffers stay until it has ended. Copies to one
 * device are done one after another, and so are those that touch the same memory,
 * in the order in which they were started.
 *
 * @param runtime   as peal_transfer_run.
 * @param transfers as there; copied.
 * @param n         as there.
 * @param options   as there.
 * @param copy_out  the copy; the caller gives it to peal_copy_destroy.
 * @return as peal_transfer_run, but that PEAL_ENOPEER, no pinned memory and
 *         what a driver says come from peal_copy_wait; PEAL_ENOMEM, PEAL_EDRIVER
 *         no thread for it. Thread-safe.
 */
int peal_transfer_start(struct peal_runtime *runtime,
			const struct peal_transfer *transfers, uint32_t n,
			const struct peal_transfer_options *options,
			struct peal_copy **copy_out);

/**
 * How far a copy has come; it grows by chunks, of some MiB where nothing is
 * staged.
 *
 * @param copy         of peal_transfer_start or peal_peer_copy_async.
 * @param progress_out filled on success.
 * @return 0; PEAL_EINVAL. Thread-safe, wait-free.
 */
int peal_copy_progress(const struct peal_copy *copy,
		       struct peal_copy_progress *progress_out);

/**
 * How a copy went, once it has ended, also one that was cancelled.
 *
 * @param copy       of peal_transfer_start or peal_peer_copy_async.
 * @param result_out filled on success.
 * @return 0; PEAL_EAGAIN it goes on; PEAL_EINVAL. Thread-safe, wait-free.
 */
int peal_copy_result(const struct peal_copy *copy,
		     struct peal_copy_result *result_out);

/**
 * What was copied from one place to another so far, by whatever call.
 *
 * @param runtime    an open runtime.
 * @param from       a device, or PEAL_HOST_MEMORY.
 * @param to         the same.
 * @param counts_out filled on success.
 * @return 0; PEAL_ENODEV; PEAL_EINVAL. Thread-safe.
 */
int peal_transfer_counts(struct peal_runtime *runtime, int from, int to,
			 struct peal_transfer_counts *counts_out);

#ifdef __cplusplus
}
#endif
#endif
