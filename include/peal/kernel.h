/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_KERNEL_H
#define PEAL_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;
struct peal_program;

/** A ring kernel: one persistent launch of a program on a device. */
struct peal_kernel;

/** created -> running <-> suspended -> draining -> stopped | failed */
enum peal_kernel_state {
	PEAL_KERNEL_RUNNING = 0,
	PEAL_KERNEL_SUSPENDED = 1,
	PEAL_KERNEL_DRAINING = 2,
	PEAL_KERNEL_STOPPED = 3, /* by stop, abort or a finished drain */
	PEAL_KERNEL_FAILED = 4 /* by itself: lease, protocol, hung */
};

/** Zero in a field: its default. */
struct peal_kernel_options {
	uint32_t size; /* sizeof(struct peal_kernel_options) */
	uint32_t workers; /* 1 */
	uint32_t lanes; /* per worker; 1 */
	uint32_t max_actors; /* 64 */
	uint32_t max_inputs; /* links into each worker; 16 */
	uint32_t max_ports; /* ports of all actors of a worker; 16 */
	uint32_t max_barriers; /* per worker; 4 */
	/*
	 * Messages that may be in the mailboxes of all workers together; each
	 * worker's has as many slots. A power of two. Where handlers tell up to
	 * n messages for one it is at least n for each worker and n more, with
	 * timers 1 more for each worker, and with monitors another. Links wait
	 * while there is only a quarter of it left: that is for handlers that
	 * tell more messages than they are told. If those need more they wait
	 * for ever, which peal/stuck.h tells. 0: no mailboxes.
	 */
	uint32_t mailbox_slots;
	uint32_t mailbox_message_bytes; /* 48; at most 4080, with the policies
					 * atom16 and atom8 3064 and 1016 */
	uint32_t end_with_inputs; /* 1: end when all inputs have ended */
	uint64_t arena_bytes; /* for the states of actors; 1 MiB */
	uint64_t lease_ns; /* the runtime's */
	uint64_t epoch_ns; /* return so often to be launched again; never */
	const char *name; /* for texts; the program's name. Copied. */
	uint32_t mailbox_policy; /* enum peal_policy; the backend's default */
	uint32_t max_pools; /* 1 */
	/*
	 * Workers of a cluster, a power of two up to 8 of which `workers` is a
	 * multiple: on a GPU that has clusters (NVIDIA, from sm_90 on) those
	 * run close together and links among them lie in memory that they
	 * share, where a look should take a fraction of the time (it has not
	 * been measured). Elsewhere such links
	 * are as all others; peal_kernel_info and peal_link_info say which it
	 * is. 0 and 1: none.
	 */
	uint32_t cluster_workers;
	uint32_t cluster_bytes; /* of that memory for the rings into a worker,
				 * as far as they fit; 32 KiB. Rounded up to
				 * 128, at most what a block can have */
	uint32_t max_supervisors; /* see peal/supervisor.h; 0, up to 65535 */
	uint32_t timers; /* most that wait at a time for each worker, up to
			  * 2^20: peal/device/timer.h. They need mailboxes. 0:
			  * there are none */
	uint32_t max_monitors; /* set at a time, up to 2^20, 64 bytes each and
				* as much host memory: peal/monitor.h. With
				* them, who fails without a supervisor ends. 0:
				* there are none */
	uint32_t asks; /* most that are open at a time for each worker, up to
			* 65535, a mailbox slot and some 200 bytes each:
			* peal/device/ask.h. They need mailboxes. 0: there are
			* none */
	uint32_t max_limits; /* actors at a time whose mailbox has a limit, up
			      * to 8191, 64 bytes each: mailbox_limit of struct
			      * peal_actor_options. 0: there are none */
	/*
	 * What a handler may use for one message, if it asks by peal_step, see
	 * peal/device/budget.h: then it returns PEAL_EBUDGET, and its message
	 * is dead. 0: no bound.
	 */
	uint64_t max_steps;
	uint64_t max_handler_ns;
	uint32_t spawn_rooms; /* for actors that handlers make, of each worker,
			       * beside max_actors, some 80 bytes each and as
			       * much state: peal/device/spawn.h. 0: none */
	uint32_t spawn_state_bytes; /* most that the state of such an actor has;
				     * the largest of the program's handlers */
	/*
	 * 1: each worker has a second mailbox, as large as the first one, for
	 * messages of high priority: those of peal_tell_high, and those of links
	 * that have it for an actor of another worker. They share mailbox_slots
	 * with all others. 0: such messages go as the others do.
	 */
	uint32_t high_mailboxes;
	/*
	 * Of each mailbox, beside mailbox_slots: for messages that come from
	 * other kernels by passages (peal/migrate.h, peal/proxy.h) while all
	 * slots are used. At least what a handler tells, and with mailbox_slots
	 * and asks at most 2^20. Of K kernels that are full of messages for each
	 * other none waits for ever for another one if each has more than half
	 * of the mailbox_slots of K - 2 of them: of two with any number. Default:
	 * mailbox_slots, or what is left of 2^20; enough for three.
	 */
	uint32_t passage_slots;
};

/**
 * Timers of a kernel or a worker. At its end, and at any moment but for what
 * changes just then,
 *
 *	set = fired + cancelled + gone + drained + stopped + waiting
 */
struct peal_timer_counts {
	uint64_t set; /* by peal_tell_after and peal_tell_every */
	uint64_t fired; /* of those that send once: have sent */
	uint64_t cancelled; /* before they were to fire, or to fire again */
	uint64_t gone; /* periodic: over with the first message whose actor was
			* no more */
	uint64_t drained; /* periodic: over when the kernel's inputs had ended */
	uint64_t stopped; /* waited when the kernel was stopped or failed */
	uint64_t waiting; /* now */
	uint64_t held; /* of those: due, and the mailbox or pool is full */
	uint64_t ticks; /* messages of periodic ones; with `fired` and `gone`
			 * all that timers have told */
	uint64_t missed; /* times at which a periodic one was due while its
			  * message before was late, and sent none */
};

/**
 * Asks of a kernel, or of a worker's actors. At its end, and at any moment but for
 * what changes just then,
 *
 *	asked = answered + refused + timed_out + failed + stopped + open
 *
 * Each is counted when the handler of its answer has returned, or that was found
 * dead. The timeout of each counts as a timer, too: set, and fired or cancelled.
 */
struct peal_ask_counts {
	uint64_t asked; /* by peal_ask */
	uint64_t answered; /* by a reply */
	uint64_t refused; /* by who was asked */
	uint64_t timed_out;
	uint64_t failed; /* the request was a dead letter */
	uint64_t stopped; /* open when the kernel was stopped or failed */
	uint64_t open; /* now */
	uint64_t late; /* replies to asks that were over, by the worker's
			* actors; their messages were never sent */
};

/** A kernel and the sums over its workers. */
struct peal_kernel_info {
	char name[48];
	char program[48];
	int device;
	uint32_t workers, lanes;
	uint32_t actors; /* that there are, those of handlers among them */
	enum peal_kernel_state state;
	int result; /* PEAL_E... of a failed kernel */
	uint64_t handled; /* messages whose handler returned; of a busy worker
			   * up to 96 behind, links' counts never are */
	uint64_t failed; /* of those, with an error */
	uint64_t emitted; /* messages sent through ports; as handled */
	uint64_t told; /* messages put into mailboxes and pools */
	uint64_t mail_done, mail_dead; /* of those, taken off, handled or not;
					* and of these that are dead; as
					* handled */
	uint64_t memory_bytes; /* of the kernel itself, without links */
	uint64_t mail_poisoned; /* of mail_dead: a worker died while it told
				 * them */
	uint32_t cluster_workers; /* of a cluster; 0: there are none */
	uint32_t cluster_bytes; /* of its memory that each worker has */
	struct peal_timer_counts timers;
	uint64_t mail_expired; /* of mail_dead: their deadline had passed */
	uint64_t spawned; /* actors that handlers have made */
	uint64_t retired; /* of those, ended, by whomever */
	struct peal_ask_counts asks;
	uint64_t mail_full; /* of mail_dead: their actor's limit was reached;
			     * one that was dropped as the oldest once its
			     * worker has come to it */
	uint64_t inits, exits; /* of actors whose handlers have hooks, that have
				* run: no messages, not among `handled`; those
				* that fail are among `failed` */
	uint64_t mail_duplicate; /* of mail_dead: their actor has had them, see
				  * peal/device/once.h; not among `failed` */
};

/** One worker. */
struct peal_worker_info {
	uint64_t phase; /* enum peal_worker_phase of <peal/abi/control.h> */
	uint64_t beat; /* moves as long as the worker turns */
	uint64_t handled, emitted, told, mail_done, mail_dead, failed;
	uint64_t idle_turns;
	int64_t actor; /* whose handler runs, by its number, the low half of its
			* address; -1: nothing to do just now */
	int64_t blocked_port; /* that keeps a message waiting; -1: none */
	int64_t blocked_actor; /* whose port that is, the same; -1: none */
	int result;
	uint64_t silent_ns; /* since the beat moved, as the watchdog saw it */
	struct peal_timer_counts timers;
	struct peal_ask_counts asks;
};

/**
 * Launches a program on a device and waits until every worker has checked in.
 *
 * @param runtime    an open runtime.
 * @param device     its index.
 * @param program    of peal_program_find or a program source's own.
 * @param options    NULL for all defaults.
 * @param kernel_out the kernel; the caller destroys it.
 * @return 0; PEAL_ENODEV; PEAL_EINVAL an option out of its range (named);
 *         PEAL_ENOMEM; PEAL_EPROGRAM no image for the device's backend;
 *         PEAL_ENOSPC more workers than fit (the text says how many do);
 *         PEAL_EHUNG "k of n workers resident". Thread-safe; blocks for at
 *         most some seconds.
 */
int peal_kernel_launch(struct peal_runtime *runtime, int device,
		       const struct peal_program *program,
		       const struct peal_kernel_options *options,
		       struct peal_kernel **kernel_out);

/**
 * Makes all workers pause between two messages; queues keep what they hold.
 *
 * @param kernel     a running kernel; a suspended one stays so.
 * @param timeout_ns until all have; -1 for ever. 0 says it to them and does not
 *                   wait: the result is 0 whether they pause or not.
 * @return 0; PEAL_ETIMEDOUT some are still in a handler, they pause later;
 *         PEAL_ESTOPPED; PEAL_EINVAL. Thread-safe.
 */
int peal_kernel_suspend(struct peal_kernel *kernel, int64_t timeout_ns);

/**
 * Makes suspended workers go on.
 *
 * @param kernel a kernel that runs or is suspended.
 * @return 0; PEAL_ESTOPPED; PEAL_EINVAL. Thread-safe; does not wait.
 */
int peal_kernel_resume(struct peal_kernel *kernel);

/**
 * Lets the kernel finish: it ends once all its inputs have ended (END marks
 * came) and are empty, its mailboxes are, every timer that sends once has sent,
 * and every ask has its answer; then it sends END on its ports. Periodic timers are over when all its
 * inputs have ended.
 *
 * @param kernel     a kernel that runs or is suspended (it is resumed).
 * @param timeout_ns -1 for ever. 0 says it to them and does not wait: the result
 *                   is 0 whether it has ended or not, which
 *                   peal_kernel_wait(kernel, 0) knows.
 * @return 0 it has ended and every message was handled; PEAL_ETIMEDOUT (the
 *         text names what keeps it); PEAL_ESTOPPED it was stopped before;
 *         PEAL_EINVAL; or why the kernel failed. Thread-safe.
 */
int peal_kernel_drain(struct peal_kernel *kernel, int64_t timeout_ns);

/**
 * Ends the kernel after the messages in hand. What its inputs still hold is
 * then counted as dead with reason "stopped" (peal_link_info says how many and
 * from which sequence on). What its mailboxes and pools still hold is told -
 * mail_done of struct peal_kernel_info; timers that wait are timers.stopped, asks
 * that are open asks.stopped.
 *
 * @param kernel     a kernel in any state.
 * @param timeout_ns -1 for ever. 0 says it to them and does not wait: the result
 *                   is 0 whether it has ended or not, which
 *                   peal_kernel_wait(kernel, 0) knows.
 * @return 0 it has ended (also: before); PEAL_ETIMEDOUT a handler still runs
 *         (named); PEAL_EINVAL. Thread-safe.
 */
int peal_kernel_stop(struct peal_kernel *kernel, int64_t timeout_ns);

/**
 * Like stop, and ends waits inside handlers too.
 *
 * @param kernel     a kernel in any state.
 * @param timeout_ns -1 for ever. 0 says it to them and does not wait: the result
 *                   is 0 whether it has ended or not, which
 *                   peal_kernel_wait(kernel, 0) knows.
 * @return as peal_kernel_stop; PEAL_EHUNG instead of PEAL_ETIMEDOUT.
 *         Thread-safe.
 */
int peal_kernel_abort(struct peal_kernel *kernel, int64_t timeout_ns);

/**
 * Waits for the kernel's end, whoever causes it.
 *
 * @param kernel     a kernel in any state.
 * @param timeout_ns -1 for ever, 0 looks.
 * @return 0 it has ended; PEAL_ETIMEDOUT; PEAL_EINVAL; or why it failed.
 *         Thread-safe.
 */
int peal_kernel_wait(struct peal_kernel *kernel, int64_t timeout_ns);

/**
 * Frees a kernel that has ended and has no links left. What it has passed on to
 * other kernels, for actors that have moved or by proxies, is to be taken there
 * before.
 *
 * @param kernel a kernel; NULL does nothing.
 * @return 0; PEAL_EBUSY it runs, links or barriers name it, or what it has passed on
 *         has not been taken within PEAL_ANSWER_MS (the text says which); PEAL_EHUNG
 *         a worker of another kernel did not answer. No other call on it may run at
 *         the same time.
 */
int peal_kernel_destroy(struct peal_kernel *kernel);

/**
 * The kernel and its counters, without stopping anything.
 *
 * @param kernel   a kernel in any state.
 * @param info_out filled on success.
 * @return 0; PEAL_EINVAL. Thread-safe.
 */
int peal_kernel_info(struct peal_kernel *kernel,
		     struct peal_kernel_info *info_out);

/**
 * One worker and its counters, without stopping anything.
 *
 * @param kernel   a kernel in any state.
 * @param worker   0 .. workers - 1.
 * @param info_out filled on success.
 * @return 0; PEAL_ENOENT no such worker; PEAL_EINVAL. Thread-safe.
 */
int peal_worker_info(struct peal_kernel *kernel, uint32_t worker,
		     struct peal_worker_info *info_out);

#ifdef __cplusplus
}
#endif
#endif
