/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_METRICS_H
#define PEAL_METRICS_H

#include <stdint.h>

#include <peal/copy.h>
#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_runtime;

/*
 * Counters of a runtime: messages, copies, waits and the load of workers.
 *
 * Take a snapshot by peal_metrics_snapshot before and after an interval. Then
 * peal_metrics_delta gives the counts of the interval. Counters only grow. For
 * one link see peal_link_info, for one kernel peal_kernel_info, for one worker
 * peal_worker_info.
 */

/*
 * The runtime samples the time in handlers, so handlers pay nothing. At 40 to
 * 67 random moments per second it looks at each worker. It counts the whole
 * time since the last sample for the state that it finds. The standard error
 * of a share p from n samples is about sqrt(p (1 - p) / n).
 *
 * A worker is busy from the start of a handler until it has found no message
 * twice. A wait inside a handler, such as a barrier, is busy time, too.
 * On emulated devices a preempted thread keeps its last state.
 */

/** Devices with an entry in a snapshot. Further devices count in `total`. */
#define PEAL_METRICS_DEVICES 64

/** Messages of links. */
struct peal_traffic {
	uint64_t messages, bytes; /* number; bytes of payload */
};

/** Blocking calls of host threads, by their object. */
enum peal_wait_kind {
	PEAL_WAIT_KERNEL = 0, /* peal_kernel_wait, _drain, _drain_many, _stop,
			       * _abort, _suspend */
	PEAL_WAIT_COPY = 1, /* peal_copy_wait, _destroy; changes of peer
			     * access behind earlier ones */
	PEAL_WAIT_COLLECTIVE = 2, /* peal_collective_wait, _run */
	PEAL_WAIT_BARRIER = 3, /* peal_barrier_wait */
	PEAL_WAIT_GRAPH = 4, /* peal_graph_wait, _run */
	PEAL_WAIT_SEND = 5, /* peal_send and its kind: for a free slot */
	PEAL_WAIT_RECEIVE = 6, /* peal_receive, _peek: for a message */
	PEAL_WAIT_REQUEST = 7, /* requests and replies of the host */
	PEAL_WAIT_PIPELINE = 8, /* pushing and pulling batches, closing */
	PEAL_WAIT_EXECUTOR = 9, /* peal_executor_wait, _run */
	PEAL_WAIT_DEVICE = 10, /* peal_device_sync */
	PEAL_WAIT_EVENT = 11, /* peal_event_wait */
	PEAL_WAIT_KINDS = 12
};

/**
 * Blocking calls that had to wait.
 *
 * A call with timeout 0 does not count. A wait for a kernel, copy, barrier or
 * device counts unless the call finds it ready at once. A wait for a collective,
 * graph or job counts if one was started. A wait for a pipeline counts unless the
 * batch, or the free slot, is there at once. Other waits are those to send, to
 * receive, for a reply, and for an event. They count from the moment at which the
 * thread stops to spin. So short waits cost nothing. A request may wait several
 * times. Waits for the answer of a worker do not count: peal_connect,
 * peal_link_destroy, peal_link_set_route, peal_actor_spawn, peal_actor_retire,
 * peal_kernel_tell_all.
 */
struct peal_wait_counts {
	uint64_t waits; /* of calls that succeed or fail */
	uint64_t ns; /* sum of their durations; concurrent calls each add */
};

/** Counts of a device, or of all devices together. */
struct peal_device_metrics {
	/* Current values. In a difference: the values at its end. */
	int32_t device; /* index; -1: all devices */
	uint32_t kernels, workers; /* that have not ended */
	uint32_t reserved;
	uint64_t memory_bytes, memory_used_bytes; /* of the device's heap */
	/*
	 * Counters since the runtime was opened. In a difference: of its
	 * interval.
	 */
	/* messages, as in struct peal_kernel_info */
	uint64_t handled, failed, emitted, mailbox_sends;
	struct peal_traffic sent; /* accepted by links from its actors */
	struct peal_traffic received; /* delivered by links to its actors */
	uint64_t samples; /* each is one look at one worker */
	uint64_t worker_ns; /* ns with a worker, summed over workers, sampled */
	uint64_t busy_ns; /* part of worker_ns in handlers, sampled */
	/*
	 * Part of worker_ns in which a worker waits for free slots elsewhere
	 * and has no other work, sampled.
	 */
	uint64_t blocked_ns;
	struct peal_copy_counts read[PEAL_COPY_KINDS]; /* from its memory */
	struct peal_copy_counts written[PEAL_COPY_KINDS]; /* to its memory */
};

/** A snapshot, or the difference of two snapshots. About 33 KiB. */
struct peal_metrics {
	uint32_t size; /* sizeof(struct peal_metrics), set by the caller */
	uint32_t n_devices; /* devices of the runtime, may be above 64 */
	uint64_t runtime; /* number of the runtime in this process, from 1 */
	uint64_t at_ns; /* time of the snapshot by CLOCK_MONOTONIC */
	/* ns since the runtime was opened, or between two snapshots */
	uint64_t interval_ns;
	/*
	 * Sums over all workers and threads. The three times overlap, and each
	 * may exceed the interval. Collectives run as handlers, so they count
	 * as compute. Messages of links are no transfers.
	 */
	uint64_t compute_ns; /* busy_ns of all devices, sampled */
	uint64_t transfer_ns; /* ns of all copies */
	uint64_t sync_ns; /* ns of all waits */
	struct peal_copy_counts copies[PEAL_COPY_KINDS]; /* each copy once */
	struct peal_wait_counts waits[PEAL_WAIT_KINDS];
	struct peal_traffic host_sent, host_received; /* by endpoints */
	struct peal_device_metrics total; /* all devices together */
	struct peal_device_metrics device[PEAL_METRICS_DEVICES]; /* by index */
};

/**
 * Takes a snapshot of all counters of a runtime.
 *
 * The counters include kernels and links that are destroyed.
 *
 * Thread-safe. Kernels continue to run. The call may wait for another call
 * that changes kernels or links.
 *
 * @param runtime     an open runtime.
 * @param metrics_out the caller sets `size`. Filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  a pointer is NULL, or `size` is that of another version.
 * @retval PEAL_ENOMEM  no host memory for the snapshot.
 */
int peal_metrics_snapshot(struct peal_runtime *runtime,
			  struct peal_metrics *metrics_out);

/**
 * Computes the counts between two snapshots of one runtime.
 *
 * Thread-safe. Does not block.
 *
 * @param before    the earlier snapshot.
 * @param after     the later snapshot.
 * @param delta_out filled on success, with its `size`. It may be `before` or
 *                  `after`.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  a pointer is NULL, or a `size` is that of another
 *                      version. Or `before` is the later snapshot. Or the
 *                      snapshots are of two runtimes. Or an argument is itself
 *                      a difference.
 */
int peal_metrics_delta(const struct peal_metrics *before,
		       const struct peal_metrics *after,
		       struct peal_metrics *delta_out);

/**
 * Returns the utilisation of a device: busy_ns / worker_ns.
 *
 * Thread-safe.
 *
 * @param device an entry or the total of a snapshot or of a difference.
 * @return 0 to 1; -1 if `device` is NULL or has no sample.
 */
double peal_metrics_busy_share(const struct peal_device_metrics *device);

/**
 * Returns the load imbalance: the largest busy share over the mean busy share.
 *
 * Only devices with samples and with an entry in `device` count.
 *
 * Thread-safe.
 *
 * @param metrics a snapshot or a difference.
 * @return 1 (equal load) to the number of counted devices (one has all load).
 *         0 if `metrics` is NULL or no device was busy. `peal run --profile`
 *         also prints 100 * (imbalance - 1) percent.
 */
double peal_metrics_imbalance(const struct peal_metrics *metrics);

/**
 * Returns the mean bandwidth of copies: bytes / ns.
 *
 * Thread-safe.
 *
 * @param counts of a snapshot or of a difference.
 * @return bytes per second; 0 if `counts` is NULL or has no copies.
 */
uint64_t peal_metrics_bandwidth(const struct peal_copy_counts *counts);

/**
 * Returns the name of a kind of wait: "kernel", "copy", "collective", ...
 *
 * Thread-safe, wait-free.
 *
 * @param kind enum peal_wait_kind.
 * @return a static string; "?" for any other number.
 */
const char *peal_wait_kind_name(uint32_t kind);

PEAL_END_C
#endif
