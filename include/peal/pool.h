/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_POOL_H
#define PEAL_POOL_H

/*
 * Pools balance the load of messages among actors of one kernel.
 *
 * A pool is one address that several actors serve: its members. Each member
 * runs on a worker of its own. The next free worker takes the next message.
 * Senders use the address like an actor's: by a link or by peal_tell.
 * The host makes a pool, adds members and connects senders:
 *
 *	peal_pool_create(kernel, NULL, &pool);
 *	peal_pool_join(runtime, pool, actor);		each member
 *	peal_connect(runtime, from, 0, pool, NULL, &link);
 *	...
 *	peal_link_destroy(link);
 *	peal_pool_leave(runtime, pool, actor);		each member
 *	peal_pool_destroy(runtime, pool);
 */

#include <stdint.h>

#include <peal/abi/message.h>
#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_kernel;
struct peal_runtime;

/*
 * Queues. A pool has one work queue for each worker of the kernel. A worker
 * puts messages into its own queue. A member's worker takes from its own queue
 * first. A worker with an empty queue steals from the other queues
 * (include/peal/device/work_set.h). One member handles each message, once. The
 * order of the messages is not specified.
 *
 * Links. A pool receives messages by links, but sends none. A link to a pool
 * ends at one worker of the kernel. peal_connect prefers a worker without a
 * member. The worker puts the link's messages into its queue. If this queue is
 * full, the worker's member handles the next message directly. If the worker
 * has no member, the link holds the message back.
 *
 * Stalls. A handler that may tell runs only while all its messages would fit.
 * The worker's queue of every pool of the kernel must have free slots for the
 * messages. A full pool therefore stalls such handlers. A pool without members
 * fills up too. Handlers that tell their own pool can deadlock. To prevent
 * this, the capacity must hold all messages that these handlers keep in flight.
 *
 * Counters. struct peal_kernel_info counts a message in a pool as
 * `mailbox_sends`. After the handler the message also counts as `mailbox_done`.
 * A link counts a message as delivered when the pool has the message. If a
 * member handles a message directly, only the link counts the message.
 *
 * End. A kernel ends by itself only when its pools are empty.
 *
 * Devices. A member can emit to a link to a pool on another device. The member
 * then sends as fast as the other pool takes messages.
 */

/** Options of a pool. A field of 0 takes its default. */
struct peal_pool_options {
	uint32_t size; /* sizeof(struct peal_pool_options) */
	/*
	 * Messages in the queue of each worker (default 64; a power of two,
	 * 1..2^20). At least the largest `tells` of the program's handlers; the
	 * text of PEAL_EINVAL gives the exact minimum.
	 */
	uint32_t capacity;
	/*
	 * Bytes of the largest payload (default 48). At most 4080, or 3064 with
	 * policy atom16, or 1016 with policy atom8.
	 */
	uint32_t message_bytes;
	uint32_t policy; /* enum peal_slot_policy (0: the backend's default) */
};

/**
 * A pool as peal_pool_info reports it. The message counters are in struct
 * peal_kernel_info, as sums over all pools and mailboxes of a kernel.
 */
struct peal_pool_info {
	uint32_t capacity; /* messages in the queue of each worker */
	uint32_t message_bytes; /* bytes of the largest payload */
	uint32_t policy; /* enum peal_slot_policy, never PEAL_POLICY_DEFAULT */
	uint32_t members; /* actors that serve the pool now */
	uint64_t memory_bytes; /* bytes on the kernel's device */
};

/**
 * Makes a pool in a kernel.
 *
 * The pool accepts messages at once. The messages wait until the pool has
 * members. A pool takes an actor slot of the kernel (max_actors).
 * peal_kernel_destroy frees the pools of its kernel.
 *
 * Thread-safe. Blocks until every worker has answered; each has at most
 * PEAL_CONTROL_TIMEOUT_MS. A worker answers between two messages.
 *
 * @param kernel a kernel that runs or is suspended. Its program must define
 *     PEAL_USES with PEAL_USE_POOLS, see <peal/device/features.h>.
 * @param options NULL: all defaults.
 * @param address_out receives the pool's address, for peal_connect. Its low 32
 *     bits are the number for peal_tell.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  an argument is NULL, or an option is out of range. The
 *     error text names the option.
 * @retval PEAL_ENOTSUP  the program lacks the feature PEAL_USE_POOLS.
 * @retval PEAL_ENOSPC  max_pools or max_actors of struct peal_kernel_options is
 *     exhausted.
 * @retval PEAL_ENOMEM  there is not enough memory.
 * @retval PEAL_ESTOPPED  the kernel or one of its workers has ended.
 * @retval PEAL_EHUNG  a worker did not answer. The call has used up one of
 *     max_pools and an actor slot.
 */
int peal_pool_create(struct peal_kernel *kernel,
		     const struct peal_pool_options *options,
		     uint64_t *address_out);

/**
 * Makes an actor a member of a pool.
 *
 * A worker can have one member of each pool.
 *
 * Thread-safe. Blocks until the actor's worker has answered, at most
 * PEAL_CONTROL_TIMEOUT_MS.
 *
 * @param runtime an open runtime.
 * @param pool the address of a pool.
 * @param actor the address of an actor of the same kernel.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no such pool or actor.
 * @retval PEAL_EEXIST  the actor is a member of a pool already. Or its worker
 *     has a member of this pool; the error text names this member.
 * @retval PEAL_EINVAL  the runtime is NULL, or the actor belongs to another
 *     kernel. Or a handler has made the actor, or the actor has a supervisor.
 *     Or the actor's handler declares a message length that does not fit. It
 *     must fit the pool, the other members and the links to the pool.
 * @retval PEAL_EBUSY  peal_pool_destroy has begun on this pool.
 * @retval PEAL_ESTOPPED  the kernel has ended.
 * @retval PEAL_EHUNG  the worker did not answer. The actor becomes a member as
 *     soon as the worker does.
 */
int peal_pool_join(struct peal_runtime *runtime, uint64_t pool, uint64_t actor);

/**
 * Ends the membership of an actor in a pool.
 *
 * Messages in the queue of the actor's worker stay in the pool for the other
 * members.
 *
 * Thread-safe. Blocks until the actor's worker has answered, at most
 * PEAL_CONTROL_TIMEOUT_MS.
 *
 * @param runtime an open runtime.
 * @param pool the address of a pool.
 * @param actor the address of a member.
 * @return 0, also if the kernel has ended, or a negative error code:
 * @retval PEAL_ENOENT  there is no such pool, or the actor is not a member.
 * @retval PEAL_EINVAL  the runtime is NULL.
 * @retval PEAL_EHUNG  the worker did not answer; call again.
 */
int peal_pool_leave(struct peal_runtime *runtime, uint64_t pool,
		    uint64_t actor);

/**
 * Ends a pool and frees it.
 *
 * Messages in the pool become dead letters with reason "no-actor".
 * They count as `mailbox_sends`, `mailbox_done` and `mailbox_dead`.
 *
 * Thread-safe. Blocks until every worker has answered; each has at most
 * PEAL_CONTROL_TIMEOUT_MS.
 *
 * @param runtime an open runtime.
 * @param pool the address of a pool.
 * @return 0, also if the kernel has ended, or a negative error code:
 * @retval PEAL_ENOENT  there is no such pool.
 * @retval PEAL_EINVAL  the runtime is NULL.
 * @retval PEAL_EBUSY  the pool has members, or links lead to it.
 * @retval PEAL_EHUNG  a worker did not answer. The pool accepts no links and no
 *     members any more; call again.
 */
int peal_pool_destroy(struct peal_runtime *runtime, uint64_t pool);

/**
 * Reads the properties of a pool.
 *
 * Thread-safe. The call involves no worker.
 *
 * @param runtime an open runtime.
 * @param pool the address of a pool.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no such pool.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_pool_info(struct peal_runtime *runtime, uint64_t pool,
		   struct peal_pool_info *info_out);

PEAL_END_C
#endif
