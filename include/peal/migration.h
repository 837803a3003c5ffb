/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_MIGRATION_H
#define PEAL_MIGRATION_H

/*
 * Migration moves an actor to another worker while messages arrive for it.
 *
 * The new worker belongs to the same kernel or to another kernel, also on
 * another device. The actor gets a new address. The former addresses keep
 * working.
 *
 *	struct peal_migration_options options = { .size = sizeof(options) };
 *
 *	options.kernel = other;		NULL: the actor stays in its kernel
 *	peal_actor_migrate(runtime, address, &options, &address);
 */

#include <stdint.h>

#include <peal/errors.h>
#include <peal/worker.h>

PEAL_BEGIN_C

struct peal_runtime;
struct peal_kernel;
struct peal_supervisor;

/*
 * Addresses. Every address that the actor has had continues to lead to it, for
 * the host, for links and for handlers. The worker that had the actor under an
 * address forwards the messages to that address. A handler of the actor finds
 * the newest number by peal_self.
 *
 * Messages. No message is lost or handled twice. Messages from one sender to
 * one address stay in order. Two orders are not kept:
 *
 * - Messages to a newer address take a shorter route. Such messages may
 *   overtake earlier messages to an older address.
 * - The actor itself may send by other ports than before. Messages by the new
 *   ports may overtake earlier messages by the old ports.
 *
 * A message to a former address takes one hop, however often the actor has
 * migrated. The hop is the mailbox of the actor's worker, or a forwarding link.
 * For this each migration changes the former entries and the proxies of the
 * actor. Their workers hold messages to these addresses meanwhile. A hold lasts
 * at most PEAL_CONTROL_TIMEOUT_MS / 500, by default 20 ms. An entry keeps its
 * old hop if its messages do not drain in that time. The next migration of the
 * actor tries again.
 *
 * Such a message from a link may have at most mailbox.message_bytes bytes. A
 * longer message becomes a dead letter with reason "too-long".
 *
 * Within a kernel, the actor keeps its state in place. The actor also keeps its
 * name, its monitors, and its supervisor with all counts. Timers that its
 * handler has set remain at the former worker. These timers fire, but the
 * handler cannot cancel them any more. Barriers are those of the new worker.
 *
 * Each migration takes one more of max_actors, until the actor is retired.
 */

/*
 * Migration to another kernel. The runtime copies the state of the actor. The
 * actor keeps its name.
 *
 * The former worker forwards messages over a forwarding link to the other
 * kernel. The worker's first migration or proxy (peal/proxy.h) to that kernel
 * creates the link. A later migration of the actor may create links from the
 * workers of all former addresses to the newest kernel. The link takes one of
 * the worker's max_ports. The link also takes one of max_inputs of a worker of
 * the other kernel. The link's capacity in messages is at least mailbox.slots +
 * mailbox.forward_slots of the former kernel. peal_link_list lists the link.
 * Both of the link's addresses end in PEAL_FWD_LINK_ACTOR. The link lasts until
 * one of its kernels is destroyed.
 * Actors may migrate back. Then there are forwarding links in both directions.
 *
 * Over a forwarding link:
 *
 * - A message of high priority continues with normal priority.
 * - A message longer than mailbox.message_bytes becomes a dead letter with
 *   reason "too-long".
 * - An ask to a former address fails with PEAL_ENOENT.
 * - A request of the host reaches the actor. The actor replies through its new
 *   ports, so the requester has to listen to these ports
 *   (peal_requester_listen).
 *
 * Flow control. A forwarded message keeps a mailbox slot of the sending kernel
 * until the receiving kernel has one for it. A receiving kernel that takes no
 * messages thus gets no more than the sending kernel has slots. Each kernel has
 * mailbox.forward_slots beside its mailbox.slots for forwarded messages. The
 * mailbox.forward_slots prevent deadlock among kernels that are full of
 * messages for each other. For two kernels any number of mailbox.forward_slots
 * suffices. For three kernels the default suffices. More kernels need more
 * mailbox.forward_slots: see struct peal_kernel_options. With too few of them,
 * the kernels may wait for each other in a cycle, which peal_stall_report
 * reports (peal/stall.h).
 *
 * End of a kernel. A drain of the receiving kernel does not wait for the
 * sending kernel. Messages that arrive later are dead, with reason "stopped" or
 * "closed". The forwarding link counts the dead messages until one of its
 * kernels is destroyed. A kernel with drain_when_inputs_end does wait for its
 * forwarding links. Two such kernels with links in both directions need
 * peal_kernel_drain.
 *
 * After peal_kernel_destroy of the receiving kernel:
 *
 * - Addresses of an actor that has left that kernel lead on to the actor. For
 *   this the forwarding worker may need another free port.
 * - Messages to actors that had not left become dead letters with reason
 *   "no-actor".
 * - Addresses in the destroyed kernel lead nowhere, even for actors that have
 *   left it.
 */

/** Options of a migration. A field of 0 takes its default. */
struct peal_migration_options {
	uint32_t size; /* sizeof(struct peal_migration_options) */
	/*
	 * PEAL_WORKER(index) of the new worker. PEAL_WORKER_ANY (0, the
	 * default): the worker of `share_ports_with`. Without that option: the
	 * next worker of the actor's kernel, or worker 0 of another kernel.
	 */
	uint32_t worker;
	/*
	 * Address of an actor of the new worker: the migrated actor shares that
	 * actor's ports, as in struct peal_actor_options. 0: the migrated actor
	 * gets ports of its own. An actor that shares ports now has to name a
	 * new owner here.
	 */
	uint64_t share_ports_with;
	struct peal_kernel *kernel; /* the new kernel, on any device; NULL: the
				     * actor stays in its kernel */
	/*
	 * The actor's new supervisor, in the new kernel. An actor with a
	 * supervisor needs one to change its kernel. The actor becomes the last
	 * member of the new supervisor. After a failure the actor restarts with
	 * the state that it was spawned with. NULL in all other cases.
	 */
	struct peal_supervisor *supervisor;
};

/**
 * Migrates an actor to another worker of its kernel or of another kernel.
 *
 * The former worker releases the actor between two messages. The new worker
 * takes the actor over before the actor's next message. Until then the actor
 * stays where it was and gets its messages there.
 *
 * Thread-safe. Blocks until both workers have answered. Each worker has at most
 * PEAL_CONTROL_TIMEOUT_MS. The call may also wait for a copy of the state. Then
 * it shortens the way from the former addresses, within about 100 ms.
 *
 * @param runtime an open runtime.
 * @param address any address that the actor has or has had.
 * @param options NULL: all defaults.
 * @param address_out receives the actor's newest address, also after an error
 *     if there is such an actor; NULL: not wanted.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no such actor, no such worker, or no actor
 *     `share_ports_with` in the new kernel.
 * @retval PEAL_EINVAL  runtime is NULL. Or the actor already belongs to that
 *     worker, or it cannot share these ports, or it needs `share_ports_with`.
 *     Or the other kernel belongs to another runtime or runs another program.
 *     Or `supervisor` is missing, not needed, or in the wrong kernel.
 * @retval PEAL_EBUSY  the actor's own ports have links or topics, or other
 *     actors share these ports. Or the actor is a member of a pool. The error
 *     text says which.
 * @retval PEAL_EEXIST  the actor is monitored. Monitors do not follow an actor
 *     to another kernel.
 * @retval PEAL_EAGAIN  the actor waits for answers to its asks, or for its init
 *     hook. Try again later.
 * @retval PEAL_ENOSPC  max_actors, max_ports, max_inputs or the arena is
 *     exhausted. The error text says which.
 * @retval PEAL_ENOTSUP  a program lacks PEAL_USE_MIGRATION, or a kernel has no
 *     mailboxes. Or a handler has made the actor, or the actor has a
 *     mailbox_limit. Or mailbox.forward_slots of the
 *     other kernel is less than one of its handlers may tell.
 * @retval PEAL_ESTOPPED  a kernel has ended, or its drain or stop has begun. Or
 *     the new worker is in another kernel, and the actor has ended by a
 *     failure.
 * @retval PEAL_EHUNG  a worker did not answer. The error text names the worker.
 *     If the former worker did not answer, the actor migrates when that worker
 *     continues. Call again to find out. If the new worker did not answer, the
 *     actor normally stays. An actor slot of the new kernel is then lost until
 *     that kernel ends. A new value in address_out says that the actor has
 *     moved.
 * @retval PEAL_ENOMEM  there is not enough memory.
 * @retval PEAL_EDRIVER  a driver call failed. If it was the copy of the state,
 *     call again.
 */
int peal_actor_migrate(struct peal_runtime *runtime, uint64_t address,
		       const struct peal_migration_options *options,
		       uint64_t *address_out);

PEAL_END_C
#endif
