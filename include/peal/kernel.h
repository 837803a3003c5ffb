/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_KERNEL_H
#define PEAL_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include <peal/errors.h>
#include <peal/kernel_options.h>
#include <peal/worker.h>

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
struct peal_clock;
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

/**
 * A kernel and the sums over its workers.
 *
 * handled, emitted, mailbox_done and mailbox_dead of a busy worker are up to 96
 * messages or batches late. The counters of links are late on a GPU only.
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
 * @retval PEAL_EPROGRAM  there is no image for the device, or the image has other
 *                        features than the host code.
 * @retval PEAL_ENOTSUP   the program lacks the feature that an option needs (the
 *                        text names it), see peal/device/features.h.
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
 * Lets kernels that send messages to each other finish their work and end.
 *
 * peal_kernel_drain cannot end kernels with links in a cycle: each waits for
 * the end of its inputs. This call drains them as one group:
 *
 * 1. It waits until all other inputs of the group have ended (with END marks).
 * 2. It waits until the group has no message, one-shot timer or ask left.
 * 3. It ends the inputs from kernels of the group.
 * 4. Each kernel ends as after peal_kernel_drain.
 *
 * Links, forwarding links and topics between kernels of the group belong to it.
 * The call does not wait for forwarding links from other kernels.
 *
 * Periodic timers end when no other work is left. Messages that exit hooks send
 * to a kernel of the group may be dead, with reason "closed" or "stopped".
 *
 * The call counts the messages that were sent and handled, over all workers and
 * links of the group. No work is left if two successive counts are equal, and
 * all sent messages are handled. Source: F. Mattern, "Algorithms for
 * Distributed Termination Detection", Distributed Computing 2 (1987), the four
 * counter method.
 *
 * Thread-safe. Resumes suspended kernels. Blocks at most timeout_ns, plus the
 * answer of a worker (PEAL_CONTROL_TIMEOUT_MS). After a timeout the
 * kernels go on in the state PEAL_KERNEL_DRAINING, and another call waits
 * again. A kernel of the group that has ended is left as it is.
 *
 * @param kernels    n different kernels of one runtime, in any state.
 * @param n          number of kernels, at least 1.
 * @param timeout_ns ns to wait; negative: no limit; 0: count once, and end the
 *                   inputs if no work is left. With 0 the call returns 0 if the
 *                   kernels have not ended yet.
 * @return 0: all kernels have ended and have handled every message; or a
 *         negative error code:
 * @retval PEAL_ETIMEDOUT  a kernel has not ended; the text names the cause.
 * @retval PEAL_ESTOPPED   a kernel was stopped before it had drained.
 * @retval PEAL_EINVAL     kernels or a kernel is NULL, or n is 0. Or a kernel
 *     is listed twice, or the kernels are of several runtimes. Nothing is
 *     drained.
 * @retval PEAL_ELEASE     a kernel failed: its lease ended.
 * @retval PEAL_EDRIVER    a kernel failed: its driver reports an error.
 */
int peal_kernel_drain_many(struct peal_kernel *const *kernels, uint32_t n,
			   int64_t timeout_ns);

/**
 * Ends the kernel after the messages that its handlers work on.
 *
 * A busy worker of a GPU reads the request after up to 96 messages or batches.
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
 * In handlers, peal_budget_check then returns PEAL_EABORTED, peal_aborting 1. A
 * worker ends after the handler that got one of these.
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
 * Reads the relation of a kernel's device clock to the host's clock.
 *
 * The calls of peal/clock.h convert times by this relation.
 *
 * Thread-safe. Does not block.
 *
 * @param kernel    a kernel in any state.
 * @param clock_out filled on success: the bounds after the latest answer of a
 *                  worker.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN  no worker has reported its clock yet.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_kernel_clock(struct peal_kernel *kernel, struct peal_clock *clock_out);

/**
 * Sends a message to all actors of a kernel, and counts them.
 *
 * A worker puts a copy into the mailbox of each worker. Each worker then tells
 * its actors, one after another. It handles the messages of its other inputs in
 * between. Either all workers get the message, or none. See peal_tell_all for
 * actors that are spawned, retired or migrated meanwhile, and for handlers that
 * fail (peal/device/tell.h). Successive calls keep their order at each actor.
 * There is no order with messages of links.
 *
 * Thread-safe. The calls on a kernel run one after the other. Blocks at most
 * timeout_ns. If a worker does not answer until then, blocks up to
 * PEAL_CONTROL_TIMEOUT_MS. A suspended kernel accepts the message, and its
 * actors handle it after the resume.
 *
 * @param kernel     a kernel with mailboxes, and neither draining nor stopping.
 * @param type       the program's own number.
 * @param data       `bytes` bytes; copied. NULL if `bytes` is 0.
 * @param bytes      at most mailbox.message_bytes of the kernel less
 *                   PEAL_TO_ALL_BYTES, 8.
 * @param timeout_ns ns to wait; negative: no limit; 0: only for an answer.
 * @param told_out   receives the number of actors that have handled the
 *                   message, or to which a worker has forwarded it. NULL: the
 *                   call returns when the workers have the message.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN    too few mailbox slots were free until the timeout, or
 *                        another call was in progress. No actor gets the
 *                        message.
 * @retval PEAL_ETIMEDOUT not all actors have handled the message. The other
 *                        actors get it later.
 * @retval PEAL_EHUNG     a worker did not answer. The actors get the message
 *                        later, or no actor gets it.
 * @retval PEAL_ESTOPPED  the kernel ends or has ended. Some actors may have got
 *                        the message before.
 * @retval PEAL_EMSGSIZE  `bytes` is too large.
 * @retval PEAL_ENOSPC    the kernel can never have a free mailbox slot for each
 *                        worker. Increase its mailbox.slots.
 * @retval PEAL_ENOTSUP   the kernel was launched without mailboxes.
 * @retval PEAL_EINVAL    a pointer is NULL.
 */
int peal_kernel_tell_all(struct peal_kernel *kernel, uint16_t type,
			 const void *data, uint64_t bytes, int64_t timeout_ns,
			 uint64_t *told_out);

/**
 * Returns the name of a state, for example "running".
 *
 * Thread-safe, wait-free.
 *
 * @param state enum peal_kernel_state.
 * @return a static string; "?" for an unknown number.
 */
const char *peal_kernel_state_name(uint32_t state);

/**
 * Returns the name of a failure action: "continue" or "end".
 *
 * Thread-safe, wait-free.
 *
 * @param action enum peal_failure_action.
 * @return a static string; "?" for an unknown number.
 */
const char *peal_failure_action_name(uint32_t action);

PEAL_END_C
#endif
