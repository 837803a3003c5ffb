/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_METRICS_H
#define PEAL_METRICS_H

#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/*
 * What a runtime has done, in counters that only grow: two snapshots and their
 * difference say what went on between them. Of a single link see peal_link_info,
 * of a kernel or a worker peal_kernel_info and peal_worker_info.
 *
 * Time in handlers is sampled, and so costs handlers nothing: 40 to 67 times a
 * second, at moments that are no multiple of anything, it is looked what each
 * worker does, and that is taken to be what it did since the look before. A worker
 * counts as busy from when a message's handler begins to when it has looked at its
 * inputs twice and found nothing; in a barrier or another wait inside of a handler
 * it is busy, too. On emulated devices a thread that waits for a processor is where
 * it was. The error of a share p from n samples is about sqrt(p (1 - p) / n).
 */

/** Devices that a snapshot tells apart; more are in `total` alone. */
#define PEAL_METRICS_DEVICES 64

/** From where to where a copy went. */
enum peal_copy_way {
	PEAL_COPY_LOCAL = 0, /* within a device */
	PEAL_COPY_DEVICES =
		1, /* from one device to another, by their backend */
	PEAL_COPY_STAGED = 2, /* the same, through buffers of the host */
	PEAL_COPY_FROM_HOST = 3,
	PEAL_COPY_TO_HOST = 4,
	PEAL_COPY_HOST = 5, /* within host memory */
	PEAL_COPY_WAYS = 6
};

/** Copies of peal_peer_copy, peal_transfer and their like, and of what uses them. Those
 * of one call whose ranges lie end to end are one. */
struct peal_copy_counts {
	uint64_t copies; /* that have ended well */
	uint64_t bytes; /* that were copied, those of failed ones too */
	uint64_t ns; /* added up: from when the copy's turn came to its end;
		      * copies at the same time count each */
	uint64_t failed; /* or cancelled */
};

/** Messages of links, and their payload. */
struct peal_traffic {
	uint64_t messages, bytes;
};

/** What the threads that call Peal wait for. */
enum peal_wait_kind {
	PEAL_WAIT_KERNEL = 0, /* peal_kernel_wait, _drain, _stop, _abort */
	PEAL_WAIT_COPY = 1, /* peal_copy_wait, peal_copy_destroy */
	PEAL_WAIT_COLLECTIVE = 2, /* peal_collective_wait, _run */
	PEAL_WAIT_BARRIER = 3, /* peal_barrier_wait */
	PEAL_WAIT_GRAPH = 4, /* peal_graph_wait, _run */
	PEAL_WAIT_KINDS = 5
};

/** Calls with a timeout other than 0 that found at their first look that they had to
 * wait. */
struct peal_wait_counts {
	uint64_t waits;
	uint64_t ns; /* inside them, however they ended, added up: threads that
		      * wait at the same time count each */
};

/** A device, or the sum of all. */
struct peal_device_metrics {
	/* now; in a difference, at its end */
	int32_t device; /* its index; -1: all */
	uint32_t kernels, workers; /* that have not ended */
	uint32_t reserved;
	uint64_t memory_bytes, memory_used_bytes; /* of its heap */
	/* from the runtime's opening on, or in the interval */
	uint64_t handled, failed, emitted, told; /* messages, as in struct
						  * peal_kernel_info */
	struct peal_traffic sent; /* accepted by links that leave its actors */
	struct peal_traffic received; /* delivered by links to its actors */
	uint64_t samples; /* looks at one of its workers each */
	uint64_t worker_ns; /* for which there were workers, added up */
	uint64_t busy_ns; /* of those, in handlers, as sampled */
	uint64_t blocked_ns; /* of those, with nothing to do but a message that
			      * waits for room elsewhere, as sampled */
	struct peal_copy_counts read[PEAL_COPY_WAYS]; /* from its memory */
	struct peal_copy_counts written[PEAL_COPY_WAYS]; /* to its memory */
};

/** A snapshot, or the difference of two: some 32 KiB. */
struct peal_metrics {
	uint32_t size; /* sizeof(struct peal_metrics), by the caller */
	uint32_t n_devices;
	uint64_t runtime; /* which one of the process it is of */
	uint64_t at_ns; /* when, by CLOCK_MONOTONIC */
	uint64_t interval_ns; /* since the runtime was opened, or between */
	/*
	 * Compute, transfer and sync, each added up over those who do it at the
	 * same time: so they overlap, and any of them may be longer than the
	 * interval. Collectives are handlers, and messages of links are neither
	 * transfers nor waits.
	 */
	uint64_t compute_ns; /* busy_ns of all devices, sampled */
	uint64_t transfer_ns; /* ns of all copies */
	uint64_t sync_ns; /* ns of all waits */
	struct peal_copy_counts copies[PEAL_COPY_WAYS]; /* each once */
	struct peal_wait_counts waits[PEAL_WAIT_KINDS];
	struct peal_traffic host_sent, host_received; /* by endpoints */
	struct peal_device_metrics total;
	struct peal_device_metrics device[PEAL_METRICS_DEVICES];
};

/**
 * What a runtime has done since it was opened. What kernels and links have counted
 * stays when they are destroyed.
 *
 * @param runtime     an open runtime.
 * @param metrics_out its `size` is the caller's; filled on success.
 * @return 0; PEAL_EINVAL a NULL pointer, or `size` is that of another version.
 *         Thread-safe; does not stop anything, may wait for a call that changes
 *         kernels or links.
 */
int peal_metrics_snapshot(struct peal_runtime *runtime,
			  struct peal_metrics *metrics_out);

/**
 * What was done between two snapshots of a runtime.
 *
 * @param before    the earlier one.
 * @param after     the later one.
 * @param delta_out filled on success, its `size` too; may be one of the two.
 * @return 0; PEAL_EINVAL a NULL pointer, another version's `size`, two runtimes',
 *         differences themselves, or `before` is the later one. Thread-safe.
 */
int peal_metrics_delta(const struct peal_metrics *before,
		       const struct peal_metrics *after,
		       struct peal_metrics *delta_out);

/**
 * The share of its workers' time that a device was busy: its utilisation.
 *
 * @param device of a snapshot or a difference, or `total`.
 * @return from 0 to 1; -1 there is no sample. Thread-safe.
 */
double peal_metrics_busy_share(const struct peal_device_metrics *device);

/**
 * How unevenly devices are loaded: the largest share of them by the mean of all that
 * have samples.
 *
 * @param metrics a snapshot or a difference.
 * @return from 1, all alike, to the number of such devices; 0 nobody was busy.
 *         Thread-safe.
 */
double peal_metrics_imbalance(const struct peal_metrics *metrics);

/**
 * How fast copies were, one at a time.
 *
 * @param counts of a snapshot or a difference.
 * @return bytes by ns, as bytes a second; 0 there were none. Thread-safe.
 */
uint64_t peal_metrics_bandwidth(const struct peal_copy_counts *counts);

/**
 * The name of a way: "local", "devices", "staged", "from host", ...
 *
 * @param way enum peal_copy_way.
 * @return a static string. Thread-safe, wait-free.
 */
const char *peal_copy_way_name(uint32_t way);

/**
 * The name of what is waited for: "kernel", "copy", ...
 *
 * @param kind enum peal_wait_kind.
 * @return a static string. Thread-safe, wait-free.
 */
const char *peal_wait_kind_name(uint32_t kind);

#ifdef __cplusplus
}
#endif
#endif
