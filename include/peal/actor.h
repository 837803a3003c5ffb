/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ACTOR_H
#define PEAL_ACTOR_H

#include <stddef.h>
#include <stdint.h>

#include <peal/abi/limit.h>
#include <peal/errors.h>
#include <peal/worker.h>

PEAL_BEGIN_C

/*
 * Actors of a running kernel.
 *
 * An actor has a handler, a state and ports, and belongs to one worker. Spawn
 * an actor by peal_actor_spawn and connect its address by peal_connect. Read
 * its state by peal_actor_state while the kernel is suspended. End the actor
 * by peal_actor_retire after its links are destroyed. An actor may have a
 * mailbox limit: peal_actor_mailbox returns its counts.
 */

struct peal_kernel;
struct peal_runtime;
struct peal_supervisor;

/** Options of an actor. A field that is 0 or NULL has its default. */
struct peal_actor_options {
	uint32_t size; /* sizeof(struct peal_actor_options) */
	/*
	 * PEAL_WORKER(index), for indexes from 0 to workers - 1. PEAL_WORKER_ANY
	 * (0, the default): the runtime takes the workers in turn and skips a
	 * worker without capacity. peal_kernel_balance may then migrate the
	 * actor later.
	 */
	uint32_t worker;
	const void *init; /* first bytes of the state, copied; the rest is 0 */
	uint64_t init_bytes; /* bytes at `init`, at most the handler's state */
	/*
	 * peal_actor_spawn_many: bytes from the init of one actor to the init
	 * of the next actor, at least init_bytes. 0: all actors start with the
	 * bytes at `init`.
	 */
	uint64_t init_stride;
	/*
	 * Address of an owner actor. The new actor sends by the ports of the
	 * owner, so that many actors need few links. 0: it has own ports.
	 *
	 * The owner has ports of its own and was not spawned by a handler. Both
	 * actors belong to one worker, which is the default of `worker`. The
	 * owner's handler has at least as many ports. It declares at least as
	 * many emitted messages, of equal size.
	 *
	 * Messages of the new actor carry the address of the owner as sender.
	 * Retire all sharing actors first, in an earlier call than the owner.
	 */
	uint64_t share_ports_with;
	/*
	 * Name to find the actor by, see peal/name.h. Copied. Only for one
	 * actor at a time. NULL: no name.
	 */
	const char *name;
	/*
	 * Supervisor that restarts the actor after a failure, see
	 * peal/supervisor.h. It belongs to this kernel. NULL: no supervisor.
	 */
	struct peal_supervisor *supervisor;
	/*
	 * Messages that may wait for the actor in the mailbox of its worker
	 * (1 .. 2^20). 0: no limit, and senders wait for free slots. A limit
	 * needs a kernel with mailbox.max_limits, and needs mailbox_overflow.
	 *
	 * Messages told by handlers count. Messages of a link that ends at
	 * another worker count, too. Timer messages, down messages and answers
	 * to the actor's asks do not count. Messages of a link that ends at the
	 * actor's own worker wait in the link and do not count. A message in
	 * its handler no longer counts.
	 */
	uint32_t mailbox_limit;
	/*
	 * Action for a message above the limit: enum peal_mailbox_overflow of
	 * <peal/abi/limit.h>. 0 if and only if mailbox_limit is 0.
	 */
	uint32_t mailbox_overflow;
};

/** Mailbox counts of an actor with a limit. */
struct peal_actor_mailbox_info {
	uint64_t limit; /* mailbox_limit of its options, messages */
	uint32_t overflow; /* enum peal_mailbox_overflow */
	uint32_t reserved;
	uint64_t waiting; /* messages that wait now */
	uint64_t max_waiting; /* largest number that ever waited at a time */
	/*
	 * Messages dropped because of the limit. A dropped oldest message
	 * counts at once, before the worker takes it from the mailbox.
	 */
	uint64_t dropped;
	/* times the limit made peal_tell or peal_ask return PEAL_ENOSPC */
	uint64_t refused;
};

/**
 * Spawns an actor in a running kernel.
 *
 * The actor takes one slot of max_actors, its ports, and arena bytes for its
 * state (rounded up to 16). A slot costs about 80 bytes, mostly host memory,
 * from the launch on. Retired actors leave their slots, arena bytes and ports
 * to later actors. An actor of the same handler and worker reuses them first.
 *
 * If the kernel drains, the actor ends with the kernel.
 *
 * Thread-safe. Blocks until the worker has answered, at most
 * PEAL_CONTROL_TIMEOUT_MS per control message.
 *
 * @param kernel      a kernel that is running, suspended or draining.
 * @param handler     name of the handler in the kernel's program.
 * @param options     copied; NULL: all defaults.
 * @param address_out address of the actor, set on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL   a pointer is NULL, or an option is out of its range.
 *                       Or init_bytes exceeds the state or, if set,
 *                       init_stride. Or the `share_ports_with` actor cannot
 *                       share its ports. Or the supervisor belongs to another
 *                       kernel. Or one of mailbox_limit, mailbox_overflow is
 *                       missing. Or the name is empty or too long.
 * @retval PEAL_ENOENT   no such handler (the text lists them), no such worker,
 *                       or no `share_ports_with` actor in this kernel.
 * @retval PEAL_ENOSPC   no capacity is left of max_actors, max_ports,
 *                       mailbox.max_limits or arena_bytes. See the text.
 * @retval PEAL_ENOTSUP  mailbox_limit is set, but mailbox.max_limits is 0.
 * @retval PEAL_EEXIST   the name is taken.
 * @retval PEAL_ENOMEM   no memory.
 * @retval PEAL_EDRIVER  a driver call failed.
 * @retval PEAL_ESTOPPED the kernel has ended, or only the worker. While other
 *                       workers run, capacity stays reserved as below.
 * @retval PEAL_EHUNG    the worker did not answer in time. The slot, the arena
 *                       bytes and the ports stay reserved until the end of the
 *                       kernel.
 */
int peal_actor_spawn(struct peal_kernel *kernel, const char *handler,
		     const struct peal_actor_options *options,
		     uint64_t *address_out);

/**
 * Spawns n actors of one handler, all or none.
 *
 * Without a worker in the options the runtime divides the actors into one
 * consecutive share per worker. The first share goes to the worker next in
 * turn. Every worker needs capacity for its share.
 *
 * Thread-safe. Blocks as peal_actor_spawn.
 *
 * @param kernel        as peal_actor_spawn.
 * @param handler       as peal_actor_spawn.
 * @param options       as peal_actor_spawn. `name` is NULL unless n is 1.
 * @param n             number of actors, at least 1.
 * @param addresses_out n addresses in the order of the inits, set on success.
 * @return as peal_actor_spawn, and:
 * @retval PEAL_EINVAL  n is 0, or there is one name for several actors.
 */
int peal_actor_spawn_many(struct peal_kernel *kernel, const char *handler,
			  const struct peal_actor_options *options, uint32_t n,
			  uint64_t *addresses_out);

/**
 * Ends an actor and frees its slot.
 *
 * Messages that the actor has not handled become dead letters with reason
 * "no-actor". So do messages that arrive later, even if another actor has the
 * slot. An address is valid again only after 254 other actors have had the
 * slot. The sender of an ask (peal/device/ask.h) among these messages gets an
 * error at once. Asks of the ended actor end, and their answers become dead
 * letters.
 *
 * If the handler has hooks, the worker runs the exit hook first
 * (peal/device/lifecycle.h). The hook has returned when this call returns 0.
 *
 * Thread-safe. Blocks until the worker has answered and the exit hook has
 * run, at most PEAL_CONTROL_TIMEOUT_MS for each.
 *
 * @param runtime an open runtime.
 * @param address address of the actor, also one from before a migration.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL   the runtime is NULL.
 * @retval PEAL_ENOENT   there is no such actor.
 * @retval PEAL_EBUSY    a link leads to or from the actor. Or another actor
 *                       shares its ports. Or it is a member of a pool.
 * @retval PEAL_EAGAIN   the exit hook waits for free slots for its messages.
 *                       It runs later. Messages for the actor are dead letters
 *                       already. Call again.
 * @retval PEAL_ESTOPPED the kernel has ended.
 * @retval PEAL_EHUNG    the worker did not answer in time. It may end the actor
 *                       later. Call again.
 * @retval PEAL_ENOMEM   no memory.
 */
int peal_actor_retire(struct peal_runtime *runtime, uint64_t address);

/**
 * Ends n actors of one kernel, all or none.
 *
 * After PEAL_ESTOPPED, PEAL_EHUNG or PEAL_EAGAIN some actors may have ended.
 * Call again with all addresses.
 *
 * Thread-safe. Blocks as peal_actor_retire.
 *
 * @param runtime   an open runtime.
 * @param addresses n addresses of different actors.
 * @param n         number of actors, at least 1.
 * @return as peal_actor_retire, and:
 * @retval PEAL_EINVAL  `addresses` is NULL or n is 0. Or the actors belong to
 *                      several kernels. Or an actor is given twice.
 */
int peal_actor_retire_many(struct peal_runtime *runtime,
			   const uint64_t *addresses, uint32_t n);

/**
 * Copies the first bytes of an actor's state to the caller.
 *
 * Thread-safe. Blocks for the copy, and may wait for other calls that change
 * the runtime.
 *
 * @param runtime   an open runtime.
 * @param address   address of an actor. Its kernel is suspended or has ended.
 * @param state_out `bytes` bytes of host memory, filled on success.
 * @param bytes     bytes to copy, at most the state of the handler; 0: none.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL   a pointer is NULL, or `bytes` exceeds the state.
 * @retval PEAL_ENOENT   there is no such actor.
 * @retval PEAL_EBUSY    the kernel is running or draining.
 * @retval PEAL_EDRIVER  a driver call failed.
 */
int peal_actor_state(struct peal_runtime *runtime, uint64_t address,
		     void *state_out, size_t bytes);

/**
 * Returns the mailbox counts of an actor with a limit.
 *
 * The limit holds exactly, also while several workers send. A dropped message
 * becomes a dead letter with reason "full" (peal/dead_letter.h). A host
 * request that is dropped ends at once with PEAL_ENOSPC. Only 1,024 requesters
 * at a time get this error. Dropped requests of other requesters time out. An
 * ask is never dropped as the newest message: peal_ask returns PEAL_ENOSPC.
 *
 * A link message that is dropped on arrival counts in `dead` of struct
 * peal_link_info. All other dropped messages count in mailbox_dropped of struct
 * peal_kernel_info. With PEAL_OVERFLOW_DROP_OLDEST the dropped message keeps
 * its slot until the worker takes it. Only then follow the dead letter, the end
 * of the request and mailbox_dropped.
 *
 * A restarted actor keeps its waiting messages and counts. The counts of a
 * retired actor are gone.
 *
 * Thread-safe. Waits at most PEAL_CONTROL_TIMEOUT_MS for a worker. If
 * the kernel has ended, the call reads the memory of the kernel instead.
 *
 * @param runtime  an open runtime.
 * @param address  address of an actor.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL   a pointer is NULL.
 * @retval PEAL_ENOENT   there is no such actor, or the address is of a pool.
 * @retval PEAL_ENOTSUP  the actor has no limit.
 * @retval PEAL_EHUNG    no worker answered in time: all run handlers.
 * @retval PEAL_EDRIVER  a driver call failed.
 */
int peal_actor_mailbox(struct peal_runtime *runtime, uint64_t address,
		       struct peal_actor_mailbox_info *info_out);

PEAL_END_C
#endif
