/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ACTOR_H
#define PEAL_ACTOR_H

#include <stddef.h>
#include <stdint.h>

#include <peal/abi/limit.h>
#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_kernel;
struct peal_runtime;
struct peal_supervisor;

/** Zero in a field: its default. */
struct peal_actor_options {
	uint32_t size; /* sizeof(struct peal_actor_options) */
	uint32_t worker; /* 1 + worker; 0: they take turns, and who has no room
			  * for one more is passed over; peal_kernel_balance
			  * may place it anew */
	const void *init; /* first bytes of the actor's state; the rest is 0 */
	uint64_t init_bytes; /* at most the handler's state */
	/*
	 * peal_actor_spawn_many: bytes from one actor's init to the next
	 * one's, at least init_bytes; 0: all begin alike
	 */
	uint64_t init_step;
	/*
	 * Address of an actor whose ports it uses, instead of ports of its own:
	 * so many actors send by a few links. That one has ports of its own and
	 * is of the same worker (which is the default then); its handler has
	 * as many ports or more and declares as many messages or more, of the
	 * same size. What they send says that it comes from that one. It cannot
	 * be retired before those that share its ports, nor in one call with
	 * them.
	 */
	uint64_t ports_of;
	const char *name; /* by which it is found, see peal/name.h; NULL: none.
			   * Of one actor. Copied. */
	struct peal_supervisor *supervisor; /* who restarts it when it fails,
					     * see peal/supervisor.h; NULL:
					     * nobody */
	/*
	 * Messages that may wait for it in its worker's mailbox, up to 2^20: told
	 * by handlers, or come by a link to another worker. Those of timers and
	 * down messages are let in beside them, as many as there can be of those.
	 * What comes by a link to its own worker is in no mailbox, and the message
	 * in hand does not wait. 0: no limit, and who sends waits for slots. Of a
	 * kernel with max_limits.
	 */
	uint32_t mailbox_limit;
	uint32_t mailbox_full; /* with a limit: enum peal_mailbox_full of
				* <peal/abi/limit.h>, what becomes of one more */
};

/** The mailbox of an actor that has a limit. */
struct peal_actor_mailbox_info {
	uint64_t limit;
	uint32_t full; /* enum peal_mailbox_full */
	uint32_t reserved;
	uint64_t waiting; /* messages that wait now */
	uint64_t most; /* that ever waited at a time */
	uint64_t dropped; /* messages that were dead for the limit, at once
			   * also where the worker has yet to come to them */
	uint64_t refused; /* times that peal_tell said PEAL_ENOSPC, or peal_ask
			   * for the limit */
};

/**
 * Makes an actor in a running kernel.
 *
 * It takes one of max_actors, its state in the arena (a multiple of 16 bytes),
 * and its ports; max_actors is some 80 bytes each, most of them host memory,
 * from the launch on. What a retired actor had is there for later ones,
 * soonest for those of the same handler on the same worker.
 *
 * @param kernel      a kernel that runs or is suspended; while it drains too: the
 *                    actor is over with it.
 * @param handler     name of its handler.
 * @param options     NULL for all defaults.
 * @param address_out its address: the name by which it is connected.
 * @return 0; PEAL_ENOENT no such handler (the text lists them), worker, or
 *         actor whose ports to share; PEAL_ENOSPC max_actors, max_ports,
 *         max_limits or the arena is used up (the text says which); PEAL_EINVAL
 *         more init bytes than state, ports that cannot be shared, a supervisor
 *         of another kernel, a limit without mailbox_full or the other way
 *         round, or a name that is too long; PEAL_ENOTSUP a limit, and the
 *         kernel has no max_limits; PEAL_EEXIST the name is taken; PEAL_ENOMEM;
 *         PEAL_ESTOPPED; PEAL_EHUNG the worker did not answer: then, and after
 *         PEAL_ESTOPPED of a kernel that goes on, what they would have is lost
 *         until the kernel's end. Thread-safe.
 */
int peal_actor_spawn(struct peal_kernel *kernel, const char *handler,
		     const struct peal_actor_options *options,
		     uint64_t *address_out);

/**
 * Makes n actors of one handler, all or none. Without a worker in the options
 * each gets its share of them, in one piece: the first ones the worker whose
 * turn it is. All shares have to fit.
 *
 * @param kernel        as peal_actor_spawn.
 * @param handler       name of their handler.
 * @param options       NULL for all defaults.
 * @param n             how many, at least 1.
 * @param addresses_out n addresses, in the order of the inits.
 * @return as peal_actor_spawn; PEAL_EINVAL also for a name of more than one
 *         actor. Thread-safe.
 */
int peal_actor_spawn_many(struct peal_kernel *kernel, const char *handler,
			  const struct peal_actor_options *options, uint32_t n,
			  uint64_t *addresses_out);

/**
 * Ends an actor. Messages for it that come later are dead, reason "no-actor",
 * also where another actor has its room: an address has the room's generation in
 * it, and is given again only when 254 others have had the room since.
 * Who has asked by one (peal/device/ask.h) hears so at once; answers to its own asks
 * are dead, too, and the asks are over. One whose handler has hooks has its exit
 * first (peal/device/hook.h), which has run when this returns 0.
 *
 * @param runtime an open runtime.
 * @param address of an actor.
 * @return 0; PEAL_ENOENT no such actor; PEAL_EAGAIN its exit waits for room for what
 *         it sends, and runs when there is some: messages for it are dead by
 *         now; call again; PEAL_EBUSY links come from or lead to
 *         it, actors share its ports, or it is a member of a pool;
 *         PEAL_ESTOPPED; PEAL_EHUNG the worker did not answer and may do it
 *         yet, call again; PEAL_ENOMEM; PEAL_EINVAL. Thread-safe.
 */
int peal_actor_retire(struct peal_runtime *runtime, uint64_t address);

/**
 * Ends n actors of one kernel, all or none; after PEAL_ESTOPPED, PEAL_EHUNG and
 * PEAL_EAGAIN some may have ended, and it is to be called again.
 *
 * @param runtime   an open runtime.
 * @param addresses of the actors.
 * @param n         how many, at least 1.
 * @return as peal_actor_retire; PEAL_EINVAL they are of several kernels, or one
 *         is there twice; PEAL_ENOMEM. Thread-safe.
 */
int peal_actor_retire_many(struct peal_runtime *runtime,
			   const uint64_t *addresses, uint32_t n);

/**
 * Copies an actor's state out. The kernel has ended or is suspended.
 *
 * @param runtime   an open runtime.
 * @param address   of an actor.
 * @param state_out `bytes` bytes.
 * @param bytes     at most the handler's state.
 * @return 0; PEAL_ENOENT; PEAL_EBUSY the kernel runs; PEAL_EINVAL more than
 *         the state. Thread-safe.
 */
int peal_actor_state(struct peal_runtime *runtime, uint64_t address,
		     void *state_out, size_t bytes);

/**
 * What waits for an actor that has a limit, and what became of messages too many.
 *
 * A limit holds exactly, whoever sends at the same time. Messages that are dropped
 * are dead, reason "full": as other dead letters they are sent to who takes those
 * (peal/dead_letter.h), and a request of the host's among them ends at once, with
 * PEAL_ENOSPC; but for requesters beyond 1,024, whose requests then time out. An
 * ask is never dropped as the newest: who asks is told. One that comes by a link and
 * is dropped is counted as dead there, all others in mail_full of struct
 * peal_kernel_info. Where the oldest is dropped it
 * keeps its slot until its worker comes to it, and its letter, its request's end and
 * mail_full follow then. An actor that begins anew keeps what waits; with one
 * that is retired its counts end.
 *
 * @param runtime  an open runtime.
 * @param address  of an actor.
 * @param info_out filled on success.
 * @return 0; PEAL_ENOENT no such actor, or it is a pool; PEAL_ENOTSUP it has no
 *         limit; PEAL_EHUNG all workers are in handlers, and one did not answer;
 *         PEAL_EINVAL. Thread-safe.
 */
int peal_actor_mailbox(struct peal_runtime *runtime, uint64_t address,
		       struct peal_actor_mailbox_info *info_out);

#ifdef __cplusplus
}
#endif
#endif
