/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BARRIER_H
#define PEAL_BARRIER_H

/*
 * Barriers across devices: workers of several devices wait for each other.
 *
 * The host sets a barrier up. Handlers then use it without the host, by
 * peal_barrier_arrive_lanes and peal_barrier_wait_lanes
 * (peal/device/barrier.h). The host takes part itself if the barrier has host
 * participants.
 *
 *	peal_barrier_create(runtime, devices, 2, 1, NULL, &barrier);
 *	number = peal_barrier_join(barrier, kernel, worker);	each worker
 *	...			handlers arrive at `number` and wait
 *	peal_kernel_drain(kernel, SECOND);			each kernel
 *	peal_barrier_destroy(barrier);
 *	peal_kernel_destroy(kernel);				each kernel
 *
 * A phase is complete when all participants have arrived. A place without a
 * worker never arrives, so all workers have to join first.
 */

#include <stdint.h>

#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_kernel;
struct peal_runtime;

/** A barrier among workers of several devices, and optionally the host. */
struct peal_barrier;

/** Options of a barrier. A field of 0 takes its default. */
struct peal_barrier_options {
	uint32_t size; /* sizeof(struct peal_barrier_options) */
	/*
	 * Participants of the host (default 0). With at least one, all words of
	 * the barrier lie in host memory.
	 */
	uint32_t host_participants;
};

/** A barrier's state. */
struct peal_barrier_info {
	uint32_t participants; /* workers and host participants together */
	uint32_t joined; /* workers that have joined */
	uint64_t generation; /* phases that are complete */
	uint64_t arrived; /* participants that have arrived at the next phase */
	int aborted; /* 1: peal_barrier_abort was called */
};

/**
 * Creates a barrier for workers of one or more devices.
 *
 * The barrier's words normally lie in host memory. They lie in device memory if
 * all devices have peer access to each other and the host takes no part.
 *
 * Thread-safe. May block while the runtime probes pairs of devices.
 *
 * @param runtime an open runtime.
 * @param devices the indexes of n_devices different devices.
 * @param n_devices at least 1.
 * @param participants_per_device the number of workers of each device, at least
 *     1.
 * @param options NULL: all defaults.
 * @param barrier_out receives the barrier. The caller destroys it.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  an argument is NULL, or a device is named twice. Or
 *     there are no participants, or more than 256 in all.
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_ENOMEM  there is not enough memory.
 * @retval PEAL_EDRIVER  a driver call failed.
 */
int peal_barrier_create(struct peal_runtime *runtime, const int *devices,
			uint32_t n_devices, uint32_t participants_per_device,
			const struct peal_barrier_options *options,
			struct peal_barrier **barrier_out);

/**
 * Gives a worker the next free place of its device.
 *
 * The worker keeps its place until the barrier is destroyed. The join counts
 * toward the worker's max_barriers until the kernel ends.
 *
 * Thread-safe. Waits at most PEAL_CONTROL_TIMEOUT_MS for the worker.
 *
 * @param barrier a barrier.
 * @param kernel a running kernel on one of the barrier's devices.
 * @param worker the worker's index in the kernel.
 * @return the barrier's number for peal_barrier_arrive_lanes and
 *     peal_barrier_wait_lanes in handlers of this worker, from 0, or a negative
 *     error code:
 * @retval PEAL_EINVAL  an argument is NULL, or the kernel belongs to another
 *     runtime.
 * @retval PEAL_ENOENT  the kernel has no such worker, or its device is not one
 *     of the barrier's.
 * @retval PEAL_ENOSPC  all places of the device are taken, or the worker has
 *     joined max_barriers barriers.
 * @retval PEAL_EALREADY  the worker has joined this barrier.
 * @retval PEAL_ESTOPPED  the kernel has ended.
 * @retval PEAL_EHUNG  the worker did not answer.
 */
int peal_barrier_join(struct peal_barrier *barrier, struct peal_kernel *kernel,
		      uint32_t worker);

/**
 * Arrives at the next phase as a host participant, without waiting.
 *
 * All participants that complete this phase see the caller's earlier writes.
 *
 * One thread at a time per participant. Wait-free.
 *
 * @param barrier a barrier.
 * @param participant the host participant, 0 .. host_participants - 1.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  barrier is NULL.
 * @retval PEAL_ENOENT  there is no such host participant.
 * @retval PEAL_EABORTED  the barrier was aborted.
 */
int peal_barrier_arrive(struct peal_barrier *barrier, uint32_t participant);

/**
 * Waits as a host participant until its latest phase is complete.
 *
 * The phase is the one at which the participant arrived last. After a time-out
 * the caller waits again without another arrival.
 *
 * One thread at a time per participant. Blocks until all participants have
 * arrived, at most timeout_ns.
 *
 * @param barrier a barrier.
 * @param participant the host participant, 0 .. host_participants - 1.
 * @param timeout_ns in ns; 0: the call does not wait; -1: no time limit.
 * @return 0, or a negative error code:
 * @retval PEAL_ETIMEDOUT  the phase is not complete, also if timeout_ns is 0.
 * @retval PEAL_EABORTED  the barrier was aborted before the phase was complete.
 * @retval PEAL_EINVAL  barrier is NULL, or the participant has not arrived
 *     since its last wait that returned 0.
 * @retval PEAL_ENOENT  there is no such host participant.
 */
int peal_barrier_wait(struct peal_barrier *barrier, uint32_t participant,
		      int64_t timeout_ns);

/**
 * Aborts a barrier for good.
 *
 * Current and later waits for incomplete phases return PEAL_EABORTED, also in
 * handlers. A wait for a complete phase still returns 0.
 *
 * Thread-safe. Does not block.
 *
 * @param barrier a barrier.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  barrier is NULL.
 */
int peal_barrier_abort(struct peal_barrier *barrier);

/**
 * Reads a barrier's state without stopping any participant.
 *
 * Thread-safe. Does not block.
 *
 * @param barrier a barrier.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_barrier_info(struct peal_barrier *barrier,
		      struct peal_barrier_info *info_out);

/**
 * Frees a barrier.
 *
 * All kernels that joined the barrier must have ended. The caller destroys the
 * barrier before these kernels: until then peal_kernel_destroy fails.
 *
 * No other call on the barrier may run at the same time.
 *
 * @param barrier a barrier; NULL: the call does nothing.
 * @return 0, or a negative error code:
 * @retval PEAL_EBUSY  a kernel that joined the barrier still runs. The error
 *     text names it.
 */
int peal_barrier_destroy(struct peal_barrier *barrier);

PEAL_END_C
#endif
