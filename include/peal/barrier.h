/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BARRIER_H
#define PEAL_BARRIER_H

#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_kernel;
struct peal_runtime;

/**
 * A barrier among workers of several devices, and the host if invited. Inside
 * handlers peal_arrive and peal_await use it; no host takes part in that.
 */
struct peal_barrier;

/** Zero in a field: its default. */
struct peal_barrier_options {
	uint32_t size; /* sizeof(struct peal_barrier_options) */
	uint32_t host_participants; /* 0 */
};

/** A barrier's state. */
struct peal_barrier_info {
	uint32_t participants; /* in all */
	uint32_t joined; /* workers that have a place */
	uint64_t generation; /* phases that every participant arrived at */
	uint64_t arrived; /* participants that arrived at the next one */
	int aborted;
};

/**
 * Makes a barrier.
 *
 * @param runtime     an open runtime.
 * @param devices     n_devices indexes, each once.
 * @param n_devices   1 or more.
 * @param participants_per_device workers of each device; 1 or more.
 * @param options     NULL for all defaults.
 * @param barrier_out the barrier; the caller destroys it.
 * @return 0; PEAL_EINVAL a device twice, no participants, or more than 256;
 *         PEAL_ENODEV; PEAL_ENOMEM; PEAL_EDRIVER. Thread-safe.
 */
int peal_barrier_create(struct peal_runtime *runtime, const int *devices,
			uint32_t n_devices, uint32_t participants_per_device,
			const struct peal_barrier_options *options,
			struct peal_barrier **barrier_out);

/**
 * Gives a worker the next free place of its device.
 *
 * @param barrier a barrier.
 * @param kernel  a running kernel on one of the barrier's devices.
 * @param worker  of that kernel.
 * @return the index by which that worker's handlers name the barrier, from 0;
 *         PEAL_ENOENT no such worker, or the device is not the barrier's;
 *         PEAL_ENOSPC all places of the device are taken, or the worker's
 *         max_barriers; PEAL_EALREADY it has joined; PEAL_ESTOPPED; PEAL_EHUNG.
 *         Thread-safe.
 */
int peal_barrier_join(struct peal_barrier *barrier, struct peal_kernel *kernel,
		      uint32_t worker);

/**
 * Arrives at the next phase as a host participant, without waiting.
 *
 * @param barrier     a barrier.
 * @param participant 0 .. host_participants - 1.
 * @return 0; PEAL_ENOENT no such participant; PEAL_EABORTED. One thread at a
 *         time per participant; wait-free.
 */
int peal_barrier_arrive(struct peal_barrier *barrier, uint32_t participant);

/**
 * Waits until all have arrived at the phase that this participant arrived at
 * last.
 *
 * @param barrier     a barrier.
 * @param participant 0 .. host_participants - 1.
 * @param timeout_ns  0 looks, -1 for ever. After a time-out wait again.
 * @return 0; PEAL_ETIMEDOUT; PEAL_EABORTED; PEAL_EINVAL it has not arrived;
 *         PEAL_ENOENT. One thread at a time per participant.
 */
int peal_barrier_wait(struct peal_barrier *barrier, uint32_t participant,
		      int64_t timeout_ns);

/**
 * Makes all waits of the barrier return PEAL_EABORTED, now and later.
 *
 * @param barrier a barrier.
 * @return 0; PEAL_EINVAL. Thread-safe.
 */
int peal_barrier_abort(struct peal_barrier *barrier);

/**
 * The barrier's state, without stopping anything.
 *
 * @param barrier  a barrier.
 * @param info_out filled on success.
 * @return 0; PEAL_EINVAL. Thread-safe.
 */
int peal_barrier_info(struct peal_barrier *barrier,
		      struct peal_barrier_info *info_out);

/**
 * Frees a barrier. The kernels that joined it have ended.
 *
 * @param barrier a barrier; NULL does nothing.
 * @return 0; PEAL_EBUSY a kernel that joined runs (named).
 */
int peal_barrier_destroy(struct peal_barrier *barrier);

#ifdef __cplusplus
}
#endif
#endif
