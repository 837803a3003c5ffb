/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_MONITOR_H
#define PEAL_MONITOR_H

/*
 * Monitors: the owner of a monitor gets a message when an actor ends.
 *
 * This down message says which actor has ended, and why. The owner is an
 * endpoint, or an actor of the same kernel. The kernel needs max_monitors in
 * its struct peal_kernel_options.
 *
 *	options.type = DOWN;
 *	owner = peal_endpoint_address(host);
 *	peal_monitor(kernel, owner, actor, &options, NULL);
 *	...
 *	peal_receive(host, &down, sizeof(down), &got, SECOND);
 *	if (got.down && down.reason == PEAL_DOWN_FAILED) ...
 *
 * Handlers set monitors by peal_monitor_set. Handlers read down messages by
 * peal_down_current (peal/device/monitor.h).
 */

#include <stdint.h>

#include <peal/abi/monitor.h>
#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_kernel;

/*
 * An actor ends in one of these cases:
 *
 * - The host or a handler retires the actor.
 * - The actor's supervisor gives up (peal/supervisor.h).
 * - The handler of an actor without a supervisor fails, and the kernel has
 *   the option on_failure = PEAL_FAILURE_END.
 * - The init hook of an actor without a supervisor fails.
 *
 * Messages to an actor that ended by a failure become dead letters with reason
 * "down". The host can then still retire the actor. By default an actor without
 * a supervisor continues after a failure of its handler: see
 * enum peal_failure_action. A member of a pool continues in every kernel. An
 * actor that a supervisor restarts has not ended. A monitor with
 * PEAL_MONITOR_RESTARTS reports restarts, too.
 *
 * Down messages:
 *
 * - A monitor sends one message and is then over. A monitor on an actor that
 *   has already ended sends its message at once.
 * - No down message is lost. The launch reserves memory for the messages of all
 *   max_monitors monitors.
 * - A down message to an actor waits for a free slot in the mailbox of that
 *   actor's worker. Nothing else waits for a down message. struct
 *   peal_kernel_info counts the down message as `mailbox_sends`.
 * - If the owner is an actor, a down message comes last. The owner first gets
 *   all messages that the failed actor told it.
 * - An endpoint receives its down messages before the messages of its links.
 * - A kernel that drains, or ends with its inputs, first sends the down
 *   messages that are due. A kernel that is stopped does not.
 * - The monitors of an owner end with the owner.
 *
 * Bindings. Two bound actors end together. If one of them ends by a failure,
 * the runtime treats the other as if its own handler had failed. The other
 * actor restarts if it has a supervisor. Otherwise that actor ends, with reason
 * PEAL_DOWN_BOUND. The other actor's own bindings then have the same effect.
 * The retirement of an actor does not end the actors bound to it.
 *
 * Cost. A worker that ends an actor or sets a monitor scans all monitors. The
 * scan covers at most the largest number that was ever set at one time. A
 * worker learns of a binding's end on another worker at its next look at the
 * control words. Each worker takes such a look about every 64 turns.
 */

/** Options of a monitor. A field of 0 takes its default. */
struct peal_monitor_options {
	uint32_t size; /* sizeof(struct peal_monitor_options) */
	uint32_t flags; /* mask of enum peal_monitor_flag (default 0) */
	uint64_t tag; /* any value; the message returns it (default 0) */
	uint32_t type; /* type of the message, 0..65535 (default 0) */
	uint32_t reserved; /* 0 */
};

/**
 * Sets a monitor: its owner gets one message when the actor ends.
 *
 * The payload of the message is a struct peal_down. At an endpoint, `down` of
 * struct peal_received is 1.
 *
 * The monitor takes one of the kernel's max_monitors until it is over.
 * Endpoints can have max_monitors monitors of the kernel at a time. Such a
 * monitor counts until its endpoint has received the message. While an endpoint
 * has monitors, peal_receive waits even if all its links have ended. If the
 * kernel ends, each monitor of an endpoint reports PEAL_DOWN_KERNEL.
 *
 * Thread-safe. Waits at most PEAL_CONTROL_TIMEOUT_MS for a worker.
 *
 * @param kernel the actor's kernel, which runs or is suspended.
 * @param owner the address of an endpoint, or of another actor of the kernel.
 *     For an actor the kernel needs mailboxes.
 * @param actor an address that an actor of the kernel has or had.
 * @param options NULL: all defaults.
 * @param monitor_out receives the monitor, for peal_unmonitor; NULL: not
 *     wanted.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOSPC  all max_monitors are set.
 * @retval PEAL_ENOENT  owner is neither an endpoint nor an actor. Or no actor
 *     of the kernel can have the address `actor`.
 * @retval PEAL_EINVAL  kernel is NULL, or an option is out of range (the error
 *     text names it). Or the owner is the actor itself or belongs to another
 *     kernel. Or the owner is an endpoint, and flags has PEAL_MONITOR_BINDS.
 * @retval PEAL_ENOTSUP  the kernel has no max_monitors. Or the owner is an
 *     actor, and the kernel has no mailboxes.
 * @retval PEAL_ESTOPPED  the kernel has ended.
 * @retval PEAL_EHUNG  the worker did not answer. The worker may still set the
 *     monitor.
 */
int peal_monitor(struct peal_kernel *kernel, uint64_t owner, uint64_t actor,
		 const struct peal_monitor_options *options,
		 uint64_t *monitor_out);

/**
 * Removes a monitor that the host or a handler has set.
 *
 * Thread-safe. Waits at most PEAL_CONTROL_TIMEOUT_MS for a worker.
 *
 * @param kernel the monitored actor's kernel.
 * @param monitor from peal_monitor, peal_actor_bind or peal_monitor_set.
 * @return 0: the monitor sends no message. Or a negative error code:
 * @retval PEAL_ENOENT  the monitor is over: it has sent its message or is about
 *     to send it. Or it was removed, or there is no such monitor.
 * @retval PEAL_EINVAL  kernel is NULL.
 * @retval PEAL_ENOTSUP  the kernel has no max_monitors.
 * @retval PEAL_ESTOPPED  the kernel has ended.
 * @retval PEAL_EHUNG  the worker did not answer. The worker may still remove
 *     the monitor.
 */
int peal_unmonitor(struct peal_kernel *kernel, uint64_t monitor);

/**
 * Binds two actors, so that a failure of one ends or restarts the other.
 *
 * The call sets two monitors with PEAL_MONITOR_BINDS, one on each actor. If one
 * actor shall get a down message instead of ending, use peal_monitor twice.
 * This actor owns a monitor without the flag. The other actor owns a monitor
 * with PEAL_MONITOR_BINDS.
 *
 * Thread-safe. Blocks until the workers have answered. Each worker has at most
 * PEAL_CONTROL_TIMEOUT_MS.
 *
 * @param kernel the kernel of both actors, with mailboxes.
 * @param a the address of an actor.
 * @param b the address of another actor.
 * @param monitors_out receives the two monitors, for peal_unmonitor; NULL: not
 *     wanted.
 * @return as peal_monitor, and:
 * @retval PEAL_ENOENT  one of the actors is retired.
 * @retval PEAL_EINVAL  a or b is an endpoint.
 * @retval PEAL_EHUNG  a worker did not answer. One of the monitors may be set.
 *     After any other error neither is set.
 */
int peal_actor_bind(struct peal_kernel *kernel, uint64_t a, uint64_t b,
		    uint64_t monitors_out[2]);

PEAL_END_C
#endif
