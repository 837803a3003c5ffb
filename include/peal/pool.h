/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_POOL_H
#define PEAL_POOL_H

#include <stdint.h>

#include <peal/abi/message.h>
#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_kernel;
struct peal_runtime;

/*
 * A pool is an address whose messages several actors of a kernel handle, each
 * on a worker of its own: its members. Whichever of those workers is free takes
 * the next message, so that work of uneven length spreads by itself. It is sent
 * to like an actor, by links (peal_connect) and by peal_tell; it sends nothing.
 *
 * Messages lie in work queues, one for each worker of the kernel: who sends
 * puts into its own worker's, who is free takes from its own, then from others'
 * (include/peal/device/steal.h). Each is handled once; in what order is not
 * said. A link ends at a worker without a member if there is one, which passes
 * messages on at once. Where the queue of the worker at which it ends is full, that worker
 * handles the link's next message itself if it has a member, and else the link
 * holds it back. A handler that may tell runs only when what it may tell fits
 * into its worker's queue of every pool of the kernel: so where handlers tell
 * their own pool, its capacity has to hold what they keep in flight, or they
 * wait for room that they themselves would make; and a pool that is full, for
 * want of members too, stops all handlers of the kernel that may tell. A kernel
 * ends by itself only when its pools are empty.
 *
 * A link counts a message as delivered when the pool has it, or a worker that
 * helped itself has handled it; from there on it is counted in peal_kernel_info,
 * as told and as mail_done.
 *
 * Over devices: a member whose handler emits to a link that leads to a pool on
 * another device hands work over as fast as the other one takes it.
 */

/** Zero in a field: its default. */
struct peal_pool_options {
	uint32_t size; /* sizeof(struct peal_pool_options) */
	uint32_t capacity; /* messages that one worker's queue holds, a power
			    * of two up to 2^20; 64 */
	uint32_t message_bytes; /* the largest; 48. At most 4080, with the
				 * policies atom16 and atom8 3064 and 1016 */
	uint32_t policy; /* enum peal_policy; the backend's default */
};

/** A pool. What was told and done is in peal_kernel_info, for all pools and
 * mailboxes of a kernel together. */
struct peal_pool_info {
	uint32_t capacity; /* of each worker's queue */
	uint32_t message_bytes;
	uint32_t policy;
	uint32_t members;
	uint64_t memory_bytes; /* on the kernel's device */
};

/**
 * Makes a pool in a kernel. Messages may come at once; they are handled when it
 * has members.
 *
 * @param kernel      a kernel that runs or is suspended.
 * @param options     NULL for all defaults.
 * @param address_out the pool's address, for peal_connect; its low 32 bits are
 *                    its number for peal_tell.
 * @return 0; PEAL_EINVAL an option (named); PEAL_ENOTSUP the kernel's program
 *         does not define PEAL_USES_POOLS; PEAL_ENOSPC max_pools or max_actors
 *         of struct peal_kernel_options is used up; PEAL_ENOMEM; PEAL_ESTOPPED
 *         the kernel or one of its workers has ended; PEAL_EHUNG a worker did
 *         not answer: one of max_pools and of max_actors is used up.
 *         Thread-safe.
 */
int peal_pool_create(struct peal_kernel *kernel,
		     const struct peal_pool_options *options,
		     uint64_t *address_out);

/**
 * Makes an actor a member.
 *
 * @param runtime an open runtime.
 * @param pool    address of a pool.
 * @param actor   address of an actor of the same kernel.
 * @return 0; PEAL_ENOENT no such pool or actor; PEAL_EEXIST the actor is a
 *         member of a pool, or its worker has one of this pool (named);
 *         PEAL_EINVAL the actor is of another kernel, a handler has made it, it
 *         has a supervisor, or its handler or those of the links to the pool
 *         declare messages of another length;
 *         PEAL_EBUSY the pool's end has begun; PEAL_ESTOPPED; PEAL_EHUNG the
 *         worker did not answer: the actor is a member once it does.
 *         Thread-safe.
 */
int peal_pool_join(struct peal_runtime *runtime, uint64_t pool, uint64_t actor);

/**
 * Ends that. What its worker has in its queue others take.
 *
 * @param runtime an open runtime.
 * @param pool    address of a pool.
 * @param actor   address of a member.
 * @return 0; PEAL_ENOENT no such pool, or the actor is not a member;
 *         PEAL_EHUNG. Thread-safe.
 */
int peal_pool_leave(struct peal_runtime *runtime, uint64_t pool,
		    uint64_t actor);

/**
 * Ends a pool. What it holds is counted as told, done and dead.
 *
 * @param runtime an open runtime.
 * @param pool    address of a pool.
 * @return 0; PEAL_ENOENT no such pool; PEAL_EBUSY it has members, or links lead
 *         to it; PEAL_EHUNG a worker did not answer: the pool takes nothing any
 *         more, call again. Thread-safe. A pool of a kernel that has ended
 *         goes with that.
 */
int peal_pool_destroy(struct peal_runtime *runtime, uint64_t pool);

/**
 * A pool.
 *
 * @param runtime  an open runtime.
 * @param pool     address of a pool.
 * @param info_out filled on success.
 * @return 0; PEAL_ENOENT; PEAL_EINVAL. Thread-safe.
 */
int peal_pool_info(struct peal_runtime *runtime, uint64_t pool,
		   struct peal_pool_info *info_out);

#ifdef __cplusplus
}
#endif
#endif
