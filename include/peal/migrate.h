/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_MIGRATE_H
#define PEAL_MIGRATE_H

#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;
struct peal_kernel;
struct peal_supervisor;

/** Zero in a field: its default. */
struct peal_migrate_options {
	uint32_t size; /* sizeof(struct peal_migrate_options) */
	uint32_t worker; /* 1 + the worker that it moves to; 0: that of
			  * `ports_of`, or the one behind its own; in another
			  * kernel the first */
	/*
	 * Address of an actor of that worker whose ports it uses from then on,
	 * as in struct peal_actor_options; for one that shares ports, and has
	 * to leave those, needed. 0: it has ports of its own there
	 */
	uint64_t ports_of;
	struct peal_kernel *kernel; /* that it moves to, also on another device;
				     * NULL: it stays in its own */
	/*
	 * In the other kernel, for an actor that has one: whose member it is from
	 * then on, the last one that was made; it begins anew with what it was
	 * spawned with
	 */
	struct peal_supervisor *supervisor;
};

/**
 * Moves an actor to another worker of its kernel, or to another kernel, also on
 * another device, while messages come for it.
 *
 * It has another address then. All that it had lead to it for ever, for calls of
 * the host, for links and for handlers: what comes by them is passed on by the
 * worker that it was of at the time. Its state stays where it is, and so do its
 * name, its supervisor with what it has counted, and who monitors it. Between two
 * messages the one worker lets go of it; the other takes it over before its next
 * message.
 *
 * Nothing is lost or comes twice, and what one sender sends to one of its
 * addresses stays in order. Not so what is sent to a newer address meanwhile, for
 * that takes a shorter way; nor what the actor itself sends by other ports than
 * before. A handler finds its newest address by peal_self.
 *
 * For each of its moves it keeps an entry of max_actors, until it is retired, and
 * what comes by an older address goes through the mailbox of one more worker.
 * Messages go on by mailboxes: of those that a link brings to an older address,
 * what is longer than mailbox_message_bytes is dead, reason "too-long". Timers
 * that its handler has set stay with the worker that it was of: they fire, but
 * cannot be cancelled by it any more. A barrier is that of its new worker.
 *
 * To another kernel (`kernel`) its state is copied, and the former worker passes
 * messages on by a passage: a link to the other kernel, which takes a port of that
 * worker, an input there and slots for as many messages as there are mailbox_slots
 * and passage_slots here, and is in peal_link_list with addresses that end in
 * PEAL_PASSAGE_ACTOR. It is made with the first actor that moves from the one to the
 * other, or that has a proxy (peal/proxy.h), and goes with the first of the two
 * kernels that is destroyed. High priority ends there. Actors may move back, and
 * there are passages both ways then.
 *
 * A message has a slot of the mailboxes that it comes from until the other kernel
 * has taken it, and has one for it: of one that takes nothing it gets no more than
 * these have. For what passages bring each kernel has `passage_slots` beside, so that
 * kernels that are full of messages for each other go on, two with any number of
 * them, three with those that they have if nothing else is said, more with more
 * (struct peal_kernel_options). With too few they may wait for each other in a
 * circle: peal/stuck.h names them then.
 *
 * What is longer than the mailboxes' message_bytes is dead, reason "too-long". An
 * ask that comes by a former address is answered with PEAL_ENOENT; requests of the
 * host are replied to by the ports there, for which peal_requester_listen is
 * needed. A drain of the other kernel does not wait for the former one: what that
 * still sends is dead, reason "stopped" or "closed"; the passage counts it until it
 * goes with one of the kernels. Once that kernel is destroyed the addresses that led
 * there lead on to who has left it in time, if the worker has a port for it; what
 * comes for others is dead, "no-actor". Its own addresses are nobody's then, also
 * those of who has left it. Kernels that end with their inputs wait for passages: two
 * that have them both ways need a drain.
 *
 * @param runtime     an open runtime.
 * @param address     of an actor: any that it has had.
 * @param options     NULL for all defaults.
 * @param address_out its newest address, also after an error; NULL: nobody wants
 *                    to know.
 * @return 0; PEAL_ENOENT no such actor or worker, or none to share ports of;
 *         PEAL_EINVAL it is of that worker, ports cannot be shared, the other
 *         kernel is of another runtime or program, or `supervisor` is missing,
 *         too much or another kernel's;
 *         PEAL_EBUSY links or topics are at its own ports, others share them, or
 *         it is a member of a pool (the text says which); PEAL_EEXIST it is
 *         monitored, which does not follow to another kernel; PEAL_EAGAIN it
 *         waits for answers to its asks, or for its init: again later; PEAL_ENOSPC max_actors
 *         or max_ports are used up; PEAL_ENOTSUP the kernel has no mailboxes,
 *         a handler has made the actor, it has a limit (mailbox_limit), or the
 *         other kernel has too few passage_slots for its handlers;
 *         PEAL_ESTOPPED a kernel has ended, or is about to, or the actor
 *         has failed and is over; PEAL_EHUNG a worker
 *         did not answer (the text says which): if the one that it moves to,
 *         nothing has moved and its entry there is lost until the kernel's end;
 *         if its own, it moves when that goes on, and calling again says whether
 *         it has; PEAL_ENOMEM. Until it has moved it stays where it was, and gets
 *         its messages there. Thread-safe.
 */
int peal_actor_migrate(struct peal_runtime *runtime, uint64_t address,
		       const struct peal_migrate_options *options,
		       uint64_t *address_out);

#ifdef __cplusplus
}
#endif
#endif
