/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_KERNEL_H
#define PEAL_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include <peal/errors.h>

PEAL_BEGIN_C

/*
 * Ring kernels: launch, control and counters.
 *
 * A launch starts the workers of a program on a device. The workers stay there.
 * The host then spawns actors (peal/actor.h) and connects links (peal/link.h).
 * The actors' handlers run in the workers, one message at a time per worker.
 *
 *	peal_kernel_launch(runtime, device, program, NULL, &kernel);
 *	peal_actor_spawn(kernel, "handler", NULL, &actor);
 *	peal_connect(runtime, endpoint, port, actor, NULL, &link);
 *	(send and receive: peal/endpoint.h)
 *	peal_kernel_drain(kernel, -1);
 *	peal_link_destroy(link);
 *	peal_kernel_destroy(kernel);
 */
struct peal_runtime;
struct peal_program;

/** A ring kernel: one persistent launch of a program on a device. */
struct peal_kernel;

/** A kernel's state: running <-> suspended -> draining -> stopped | failed. */
enum peal_kernel_state {
	PEAL_KERNEL_RUNNING = 0,
	PEAL_KERNEL_SUSPENDED = 1,
	PEAL_KERNEL_DRAINING = 2, /* a drain, stop or abort is in progress */
	PEAL_KERNEL_STOPPED = 3, /* by stop, by abort or by a finished drain */
	PEAL_KERNEL_FAILED = 4 /* the lease ended, or a driver call failed */
};

/** Options of a kernel; a field that is 0 has its default. */
struct peal_kernel_options {
	uint32_t size; /* sizeof(struct peal_kernel_options) */
	uint32_t workers; /* (default 1, 1..65535) */
	uint32_t lanes; /* per worker (default 1, 1..1024) */
	uint32_t max_actors; /* that the host spawns (default 64, 1..2^24) */
	uint32_t max_inputs; /* links into a worker (default 16, 1..4096) */
	uint32_t max_ports; /* of a worker's actors (default 16, 1..4096) */
	uint32_t max_barriers; /* per worker (default 4, 1..256) */
	/*
	 * Messages that all mailboxes together may hold; each worker's mailbox
	 * has as many slots. A power of two up to 2^20 (default 0: no mailbox).
	 *
	 * Let n be the most messages that a handler tells for one message. The
	 * least value is workers * n + n (plus 1 if n is 0). Add one per worker
	 * for timers, and one per worker for monitors. Links and timers wait
	 * while only a quarter is free. That quarter serves handlers that tell
	 * more messages than they receive. If such handlers need more slots,
	 * they stall, and peal/stall.h reports the stall.
	 */
	uint32_t mailbox_slots;
	uint32_t mailbox_message_bytes; /* payload (default 48, up to 4080; with
					 * policy atom16 3064, atom8 1016) */
	uint32_t drain_when_inputs_end; /* 1: end when all inputs have ended */
	uint64_t arena_bytes; /* for actors' states (default 1 MiB, to 2^40) */
	uint64_t lease_ns; /* the kernel fails if the host is silent for so long
			    * (default: the runtime's; 10 ms or more) */
	uint64_t epoch_ns; /* return after this time and launch again, for GPUs
			    * that limit run times (default 0: never) */
	const char *name; /* for texts (default: the program's name); copied */
	uint32_t mailbox_policy; /* enum peal_slot_policy (0: the backend's) */
	uint32_t max_pools; /* (default 1, 1..64) */
	/*
	 * Workers per cluster: 2, 4 or 8; a divisor of `workers` (default 0: no
	 * clusters). On a GPU with clusters (NVIDIA, sm_90 and later), links
	 * within a cluster use its shared memory. Polls there should be faster
	 * (not measured). On other devices these links are ordinary.
	 * peal_kernel_info and peal_link_info report the result.
	 */
	uint32_t cluster_workers;
	uint32_t cluster_bytes; /* shared memory per worker for its input rings,
				 * as many as fit (default 32 KiB). Rounded up
				 * to 128; at most 1 MiB and a block's limit */
	uint32_t max_supervisors; /* (default 0, 0..65535), peal/supervisor.h */
	uint32_t max_timers; /* pending timers per worker (default 0, 0..2^20).
			  * Needs mailboxes; see peal/device/timer.h */
	/*
	 * Most monitors at a time (default 0, 0..2^20), see peal/monitor.h.
	 * Each takes 64 bytes on the device and as much on the host. With
	 * monitors, an actor without a supervisor ends when its handler fails.
	 */
	uint32_t max_monitors;
	uint32_t max_asks; /* open asks per worker (default 0, 0..65535), some
			 * 200 bytes each. Needs mailboxes: device/ask.h */
	uint32_t max_mailbox_limits; /* actors with a mailbox_limit (default
			      * 0, 0..8191), 64 bytes each. Needs mailboxes */
	/*
	 * Budget of a handler for one message (default 0: no limit). Beyond the
	 * budget, peal_budget_check (device/budget.h) returns PEAL_EBUDGET. The
	 * handler returns that error, and its message becomes a dead letter.
	 */
	uint64_t max_steps;
	uint64_t max_handler_ns;
	/*
	 * Actor slots per worker for actors that handlers spawn (default 0), of
	 * some 80 bytes and a state each. See peal/device/spawn.h. A kernel has
	 * at most 2^24 actor slots, including max_actors.
	 */
	uint32_t max_spawned_actors;
	uint32_t spawned_state_bytes; /* their state (default: the largest) */
	/*
	 * 1: each worker has a second mailbox, as large, for messages of high
	 * priority. These messages come by peal_tell with high priority, or by
	 * high-priority links for an actor of another worker. Both mailboxes share
	 * mailbox_slots. Needs mailboxes. 0: mailboxes ignore the priority.
	 */
	uint32_t priority_mailboxes;
	/*
	 * Slots per mailbox for messages from other kernels while all of
	 * mailbox_slots are in use. Such messages come by forwarding links
	 * (peal/migration.h, peal/proxy.h), which need at least n slots, n as
	 * above. Default: mailbox_slots, or the rest of 2^20 if less. The sum
	 * mailbox_slots + forward_slots + max_asks is at most 2^20.
	 *
	 * K kernels that fill each other's mailboxes may deadlock. They do not
	 * if forward_slots of each exceed half the sum of mailbox_slots over
	 * any K - 2 of them. Two kernels need only n. The default serves three
	 * kernels of equal size.
	 */
	uint32_t forward_slots;
};

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

/**
 * A kernel and the sums over its workers.
 *
 * handled, emitted, mailbox_done and mailbox_dead of a busy worker are up to 96
 * messages late. The counters of links are never late.
 */
struct peal_kernel_info {
	char name[48];
	char program[48];
	int device; /* index */
	uint32_t workers, lanes; /* lanes per worker */
	uint32_t actors; /* now, including those that handlers spawned */
	enum peal_kernel_state state;
	int result; /* PEAL_E... of a failed kernel, else 0 */
	uint64_t handled; /* messages that a handler has returned from */
	uint64_t failed; /* handler runs that returned an error */
	uint64_t emitted; /* messages sent through ports */
	uint64_t mailbox_sends; /* messages put into mailboxes and pools */
	uint64_t mailbox_done, mailbox_dead; /* of mailbox_sends: taken; of
					* mailbox_done: dead */
	uint64_t memory_bytes; /* of the kernel itself, without links */
	uint64_t mailbox_abandoned; /* of mailbox_dead: a worker died */
	uint32_t cluster_workers; /* per cluster; 0: no clusters */
	uint32_t cluster_bytes; /* of cluster memory per worker */
	struct peal_timer_counts timers;
	uint64_t mailbox_expired; /* of mailbox_dead: the deadline had passed */
	uint64_t spawned; /* actors that handlers have spawned */
	uint64_t retired; /* of spawned: ended, by a handler or the host */
	struct peal_ask_counts asks;
	uint64_t mailbox_dropped; /* of mailbox_dead: above the limit; a dropped
			     * oldest message counts when its worker finds it */
	uint64_t inits, exits; /* hook runs; not in handled, but in failed if
				* they fail */
	uint64_t mailbox_duplicates; /* of mailbox_dead, not in failed; see
				  * peal/device/dedup.h */
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
	int64_t blocked_actor; /* number of that port's actor; -1: none */
	int result; /* PEAL_E... of a failed worker, else 0 */
	uint64_t since_heartbeat_ns; /* since the watchdog saw `heartbeat`
				      * change */
	struct peal_timer_counts timers;
	struct peal_ask_counts asks;
};

/**
 * Launches a program on a device and waits until every worker has checked in.
 *
 * Thread-safe. Waits at most 5 s for the workers, or PEAL_CONTROL_TIMEOUT_MS if
 * that is more. Loading or compiling the program takes additional time.
 *
 * @param runtime    an open runtime.
 * @param device     device index.
 * @param program    from peal_program_find, or the source's own.
 * @param options    NULL: all defaults.
 * @param kernel_out receives the kernel; the caller destroys it.
 * @return 0, or a negative error code:
 * @retval PEAL_ENODEV    there is no such device.
 * @retval PEAL_EINVAL    a pointer is NULL, or an option is out of range (the
 *                        text names it).
 * @retval PEAL_ENOMEM    there is too little memory.
 * @retval PEAL_EPROGRAM  there is no image for the device.
 * @retval PEAL_ENOSPC    too many workers or kernels; the text says the limit.
 * @retval PEAL_EBUSY     a GPU with a resident kernel cannot load the program.
 *                        Call peal_program_add before the first launch.
 * @retval PEAL_EHUNG     not all workers have checked in; the text says how
 *                        many.
 * @retval PEAL_EDRIVER   a driver call failed.
 */
int peal_kernel_launch(struct peal_runtime *runtime, int device,
		       const struct peal_program *program,
		       const struct peal_kernel_options *options,
		       struct peal_kernel **kernel_out);

/**
 * Makes all workers pause between two messages.
 *
 * Queues keep their messages. A suspended kernel remains suspended.
 * Thread-safe. Blocks until each running handler has returned.
 *
 * @param kernel     a running or suspended kernel.
 * @param timeout_ns ns to wait; negative: no limit; 0: only request the pause
 *                   and return 0.
 * @return 0, or a negative error code:
 * @retval PEAL_ETIMEDOUT  handlers still run; their workers pause later.
 * @retval PEAL_ESTOPPED   the kernel has ended.
 * @retval PEAL_EINVAL     kernel is NULL.
 */
int peal_kernel_suspend(struct peal_kernel *kernel, int64_t timeout_ns);

/**
 * Resumes suspended workers. Thread-safe; does not wait.
 *
 * @param kernel a running or suspended kernel.
 * @return 0, or a negative error code:
 * @retval PEAL_ESTOPPED  the kernel has ended.
 * @retval PEAL_EINVAL    kernel is NULL.
 */
int peal_kernel_resume(struct peal_kernel *kernel);

/**
 * Lets the kernel finish its work and end.
 *
 * The kernel ends when the following holds. Its inputs have ended (with END
 * marks) and are empty. Its mailboxes and pools are empty. Each one-shot timer
 * has sent, and each ask has its answer. Periodic timers end with the inputs.
 * The exit hooks have run. Then the kernel sends END on its ports.
 *
 * Thread-safe. Resumes a suspended kernel. Blocks until the senders have ended
 * the inputs and the receivers have taken the output, at most timeout_ns.
 *
 * @param kernel     a kernel in any state.
 * @param timeout_ns ns to wait; negative: no limit; 0: only request the drain.
 *                   With 0 the call returns 0 if the kernel has not ended yet:
 *                   use peal_kernel_wait.
 * @return 0: the kernel has ended and has handled every message; or a negative
 *         error code:
 * @retval PEAL_ETIMEDOUT  the kernel has not ended; the text names the cause.
 * @retval PEAL_ESTOPPED   the kernel was stopped before it had drained.
 * @retval PEAL_EINVAL     kernel is NULL.
 * @retval PEAL_ELEASE     the kernel failed: its lease ended.
 * @retval PEAL_EDRIVER    the kernel failed: its driver reports an error.
 */
int peal_kernel_drain(struct peal_kernel *kernel, int64_t timeout_ns);

/**
 * Ends the kernel after the messages that its handlers work on.
 *
 * Messages in the inputs become dead with reason "stopped". peal_link_info
 * says how many, and from which sequence number on. Mailboxes and pools lose
 * their messages: mailbox_sends - mailbox_done of struct peal_kernel_info.
 * Pending timers count as timers.stopped, and open asks as asks.stopped.
 *
 * Thread-safe. Blocks until the running handlers have returned.
 *
 * @param kernel     a kernel in any state.
 * @param timeout_ns ns to wait; negative: no limit; 0: only request the end and
 *                   return 0 (use peal_kernel_wait).
 * @return 0: the kernel has ended, now or before; or a negative error code:
 * @retval PEAL_ETIMEDOUT  a handler still runs; the text names it.
 * @retval PEAL_EINVAL     kernel is NULL.
 */
int peal_kernel_stop(struct peal_kernel *kernel, int64_t timeout_ns);

/**
 * Ends the kernel as peal_kernel_stop, and tells handlers to return early.
 *
 * In handlers, peal_budget_check then returns PEAL_EABORTED, peal_aborting 1.
 * Thread-safe. Blocks as peal_kernel_stop.
 *
 * @param kernel     a kernel in any state.
 * @param timeout_ns as peal_kernel_stop.
 * @return as peal_kernel_stop, but PEAL_EHUNG instead of PEAL_ETIMEDOUT.
 */
int peal_kernel_abort(struct peal_kernel *kernel, int64_t timeout_ns);

/**
 * Waits for the kernel's end, without causing it. Thread-safe.
 *
 * @param kernel     a kernel in any state.
 * @param timeout_ns ns to wait; negative: no limit; 0: do not wait.
 * @return 0: the kernel has ended; else as peal_kernel_drain, but never
 *         PEAL_ESTOPPED.
 */
int peal_kernel_wait(struct peal_kernel *kernel, int64_t timeout_ns);

/**
 * Frees a kernel that has ended and has no links.
 *
 * Other kernels must first take the messages that this kernel has forwarded for
 * migrated actors or by proxies. The call waits for that, at most
 * PEAL_CONTROL_TIMEOUT_MS. No other call on the kernel may run meanwhile.
 *
 * @param kernel a kernel; NULL does nothing.
 * @return 0, or a negative error code:
 * @retval PEAL_EBUSY  the kernel runs. Or a link, topic or barrier names it, or
 *                     forwarded messages remain. The text says which.
 * @retval PEAL_EHUNG  a worker of another kernel did not answer.
 */
int peal_kernel_destroy(struct peal_kernel *kernel);

/**
 * Reads a kernel's counters, without stopping it. Thread-safe.
 *
 * @param kernel   a kernel in any state.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  a pointer is NULL.
 */
int peal_kernel_info(struct peal_kernel *kernel,
		     struct peal_kernel_info *info_out);

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
