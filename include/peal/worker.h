/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_WORKER_H
#define PEAL_WORKER_H

/*
 * Workers of a kernel: their numbers in options, their state and counters.
 */

#include <stdint.h>

#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_kernel;

/**
 * Values of the option `worker` of actors, migrations and proxies. The first one
 * names a worker by its index, from 0. The second one names no worker.
 */
#define PEAL_WORKER(index) ((uint32_t)(index) + 1)
#define PEAL_WORKER_ANY 0u

/**
 * Timers of a kernel or a worker.
 *
 * At the kernel's end, and at any moment except for changes in progress:
 *
 *	set = fired + cancelled + gone + drained + stopped + waiting
 */
struct peal_timer_counts {
	uint64_t set; /* by peal_tell with a timer, and by peal_ask */
	uint64_t fired; /* one-shot timers and timeouts of asks that were due */
	uint64_t cancelled; /* before their first or next message */
	uint64_t gone; /* periodic: ended by a message for a missing actor */
	uint64_t drained; /* periodic: ended as the kernel's inputs had ended */
	uint64_t stopped; /* were pending when the kernel stopped or failed */
	uint64_t waiting; /* are pending now */
	uint64_t held; /* of `waiting`: due, but the mailbox or pool is full */
	uint64_t ticks; /* messages of periodic timers. Without asks, all
			 * messages of timers are fired + gone + ticks */
	uint64_t missed; /* times that a periodic timer skipped, as its message
			  * before was late */
};

/**
 * Asks of a kernel, or of a worker's actors.
 *
 * At the kernel's end, and at any moment except for changes in progress:
 *
 *	asked = answered + error_replies + timed_out + failed + stopped + open
 *
 * The worker counts the outcome when the handler of the answer has returned, or
 * when the answer is dead.
 */
struct peal_ask_counts {
	uint64_t asked; /* by peal_ask */
	uint64_t answered; /* by a reply */
	uint64_t error_replies; /* by the asked actor */
	uint64_t timed_out;
	uint64_t failed; /* the request was a dead letter */
	uint64_t stopped; /* were open when the kernel stopped or failed */
	uint64_t open; /* now */
	uint64_t late; /* replies of the worker's actors to asks that were over;
			* the worker did not send them */
};

/** A worker. */
struct peal_worker_info {
	uint64_t phase; /* enum peal_worker_phase of <peal/abi/control.h> */
	uint64_t heartbeat; /* changes while the worker's loop runs */
	/* as in struct peal_kernel_info */
	uint64_t handled, emitted, mailbox_sends, mailbox_done, mailbox_dead,
		failed;
	uint64_t idle_turns; /* loop turns without a message */
	int64_t actor; /* number (low half of the address) of the running actor;
			* -1: none */
	int64_t blocked_port; /* port with a waiting message; PEAL_BLOCKED_* of
			       * <peal/abi/control.h>; -1: none */
	int64_t blocked_actor; /* number of that port's actor; -1: none; 0 for
				* PEAL_BLOCKED_GATE */
	int result; /* PEAL_E... of a failed worker, else 0 */
	uint64_t since_heartbeat_ns; /* since the watchdog saw `heartbeat`
				      * change */
	struct peal_timer_counts timers;
	struct peal_ask_counts asks;
};

/**
 * Reads a worker's counters, without stopping it. Thread-safe.
 *
 * @param kernel   a kernel in any state.
 * @param worker   0 to workers - 1.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no such worker.
 * @retval PEAL_EINVAL  a pointer is NULL.
 */
int peal_worker_info(struct peal_kernel *kernel, uint32_t worker,
		     struct peal_worker_info *info_out);

PEAL_END_C
#endif
