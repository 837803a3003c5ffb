/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_MONITOR_H
#define PEAL_MONITOR_H

#include <stdint.h>

#include <peal/abi/monitor.h>
#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_kernel;

/*
 * Monitors. Who monitors an actor gets one message when that ends, the down
 * message: which actor, and why. Its owner is an actor of the same kernel, which
 * gets it by its worker's mailbox, or an endpoint.
 *
 *	options.type = DOWN;
 *	peal_monitor(kernel, peal_endpoint_address(host), actor, &options, NULL);
 *	...
 *	peal_receive(host, &down, sizeof(down), &got, SECOND);
 *	if (got.down && down.reason == PEAL_DOWN_FAILED) ...
 *
 * Handlers set monitors too, and know the message as one: peal_monitor_set and
 * peal_down_in_hand of peal/device/monitor.h.
 *
 * An actor ends when it is retired, when its supervisor gives up, and, in a
 * kernel with monitors, when its handler fails and it has no supervisor: then it
 * gets no messages any more, they are dead, reason "down", until it is retired.
 * (In kernels without monitors it goes on as if nothing had been. So does,
 * everywhere, who fails as a member of a pool.) One that its supervisor restarts
 * has not ended; who wants to hear of that too says PEAL_MONITOR_RESTARTS.
 *
 * - A monitor sends one message, ever, and is over with it. One that is set on an
 *   actor that has ended sends it at once.
 * - What the message needs is there from the launch on, max_monitors: it waits
 *   for room in the mailbox and for nothing else, and nothing waits for it. The
 *   message comes behind all that the actor told its owner before it failed.
 * - It counts as told like any other. A kernel that drains, or ends with its
 *   inputs, sends first what is due by then; one that is stopped does not.
 * - The owner's monitors end with it.
 *
 * Bonds. Two actors that are bound to each other end together: if one ends by a
 * failure, so does the other, as if its own handler had failed: it begins anew if
 * it has a supervisor, else it is over, reason PEAL_DOWN_BOUND. That goes on from
 * actor to actor. Who is retired takes nobody with it.
 *
 * To end an actor, or to set a monitor, a worker looks at up to as many monitors
 * as were ever set at a time. Other workers hear of a bond's end at the latest at
 * their next look at the control words, as of supervisors' (peal/supervisor.h).
 */

/** Zero in a field: its default. */
struct peal_monitor_options {
	uint32_t size; /* sizeof(struct peal_monitor_options) */
	uint32_t flags; /* of enum peal_monitor_flag; 0 */
	uint64_t tag; /* comes back in the message; 0 */
	uint32_t type; /* of the message, the program's own number; 0 */
	uint32_t reserved; /* 0 */
};

/**
 * Sets a monitor: its owner gets a message, once, when an actor ends. The payload
 * is a struct peal_down; struct peal_received says `down`.
 *
 * It takes one of the kernel's max_monitors; those of endpoints have as many
 * places beside. An endpoint that has monitors waits for them as for messages;
 * when the kernel ends each of them sends reason PEAL_DOWN_KERNEL.
 *
 * @param kernel      whose actors are monitored; it runs or is suspended and was
 *                    launched with max_monitors.
 * @param owner       address of an endpoint, or of an actor of the kernel, which
 *                    then has mailboxes.
 * @param actor       address that an actor of the kernel has, or had.
 * @param options     NULL for all defaults.
 * @param monitor_out to take it off by; NULL: nobody will.
 * @return 0; PEAL_ENOSPC all of max_monitors are set; PEAL_ENOENT owner or actor
 *         are none; PEAL_EINVAL an option (named), the owner is of another kernel
 *         or the actor itself, or an endpoint with PEAL_MONITOR_BINDS;
 *         PEAL_ENOTSUP the kernel was launched without max_monitors, or without
 *         mailboxes for an actor's; PEAL_ESTOPPED; PEAL_EHUNG a worker did not
 *         answer, and may set it yet. Thread-safe.
 */
int peal_monitor(struct peal_kernel *kernel, uint64_t owner, uint64_t actor,
		 const struct peal_monitor_options *options,
		 uint64_t *monitor_out);

/**
 * Takes a monitor off, whoever has set it.
 *
 * @param kernel  whose actors it is about.
 * @param monitor of peal_monitor or peal_monitor_set.
 * @return 0 no message of it will come; PEAL_ENOENT it was over: its message has
 *         been sent, or is about to be, it was taken off, or is none;
 *         PEAL_EINVAL; PEAL_ENOTSUP; PEAL_ESTOPPED; PEAL_EHUNG a worker did not
 *         answer. Thread-safe.
 */
int peal_unmonitor(struct peal_kernel *kernel, uint64_t monitor);

/**
 * Binds two actors to each other: two monitors with PEAL_MONITOR_BINDS. Where one
 * shall get down messages instead of ending, set a monitor for it, and one with
 * that flag for the other.
 *
 * @param kernel   of both; with mailboxes.
 * @param a        address of an actor.
 * @param b        address of another one.
 * @param bond_out the two monitors, to take them off by; NULL: nobody will.
 * @return as peal_monitor; PEAL_ENOENT also where one is retired. After an error
 *         neither is set. Thread-safe.
 */
int peal_bond(struct peal_kernel *kernel, uint64_t a, uint64_t b,
	      uint64_t bond_out[2]);

#ifdef __cplusplus
}
#endif
#endif
