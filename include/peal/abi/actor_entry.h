/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_ACTOR_ENTRY_H
#define PEAL_ABI_ACTOR_ENTRY_H

#include <peal/device/platform.h>

/* The table of a kernel's actors. All workers read `location` of an entry
 * to find its actor. */

/** An actor of a kernel, in device memory. */
struct peal_actor_entry {
	uint64_t state; /* address of its state */
	uint64_t location; /* PEAL_ENTRY, read and written as one word */
	uint32_t state_bytes;
	uint16_t ports; /* number of its output ports, from 0 on */
	uint16_t emits; /* most messages per port for one message */
	uint16_t tells; /* most mailbox messages for one message */
	uint16_t port_base; /* of its ports in the worker's table */
	uint32_t shares; /* PEAL_SHARES_PORTS | index of the entry that has its
			  * ports; else number of spawned actors that use its
			  * ports */
};

/** Indices of a worker's ports: for dead letters, and its actors' first. */
#define PEAL_PORT_DEAD_LETTERS 0
#define PEAL_PORTS_FIRST 1u

/** An actor's number, the low half of its address. Low 24 bits: index of its
 * entry. Upper 8 bits: a generation, changed for each actor in the entry. */
#define PEAL_ACTOR_BITS 24
#define PEAL_ACTOR_INDEX(actor) ((uint32_t)(actor)&0xffffffu)
#define PEAL_ACTOR_GENERATION(actor) ((uint32_t)(actor)&0xff000000u)
#define PEAL_ACTOR_GENERATIONS 255u /* 1 + a number does not overflow */

#define PEAL_NO_HANDLER 0xffffffffu
/** Location of an actor. Upper half: generation and worker. Lower half: index
 * of the handler, flags, 1 + index of the limit (0: none). The lower half of a
 * free entry is PEAL_NO_HANDLER. */
#define PEAL_ENTRY(actor, worker, handler)                                     \
	((uint64_t)(PEAL_ACTOR_GENERATION(actor) | (worker)) << 32 | (handler))
#define PEAL_ENTRY_WORKER(place) ((uint32_t)((place) >> 32) & 0xffffu)
#define PEAL_ENTRY_HANDLER(place) ((uint32_t)(place))
/** The actor restarts before its next message, see abi/supervisor.h. Any worker
 * sets the flag, and the actor's worker clears it. */
#define PEAL_ENTRY_RESTART_PENDING 0x80000000u
/** Handler and limit of an actor. Invalid in free and forwarded entries.
 * Between them: ARRIVING, STATE_PENDING, RESTART_ON_ARRIVAL, HOOK. */
#define PEAL_HANDLER_MASK 0xfffu
#define PEAL_LIMIT_SHIFT 16
#define PEAL_LIMITS_MAX 0x1fffu
#define PEAL_ENTRY_LIMIT(place)                                                \
	((uint32_t)(place) >> PEAL_LIMIT_SHIFT & PEAL_LIMITS_MAX)
/** Non-zero if no message can be handled: the entry is free or
 * RESTART_PENDING. */
#define PEAL_ENTRY_IS_CLOSED(place)                                            \
	((uint32_t)(place)&PEAL_ENTRY_RESTART_PENDING)
/*
 * Migration of an actor to another worker (impl/worker/migrate.h):
 *
 * 1. The actor gets a new entry with ARRIVAL_FLAGS. Until step 3 the former
 *    worker still has the actor.
 * 2. The former worker writes the next entry to the old entry, with
 *    RESTART_PENDING and FORWARDED. It forwards the actor's messages.
 * 3. The former worker clears STATE_PENDING.
 * 4. Before the first message, the new worker clears the other flags.
 */
#define PEAL_ENTRY_FORWARDED 0x40000000u
/** The actor had another entry of the kernel before. */
#define PEAL_ENTRY_MIGRATED_IN 0x20000000u
#define PEAL_ENTRY_ARRIVING 0x8000u /* cleared by the actor's worker */
#define PEAL_ENTRY_STATE_PENDING 0x4000u /* cleared by the former worker */
/** With ARRIVING: the actor restarts before its first message; set by any
 * worker. With HOOK: the hook is the exit hook. */
#define PEAL_ENTRY_RESTART_ON_ARRIVAL 0x2000u
/** With RESTART_PENDING: a hook is due (device/lifecycle.h). The actor's worker
 * runs init before all messages, or exit after all messages. */
#define PEAL_ENTRY_HOOK 0x1000u
#define PEAL_ENTRY_ARRIVAL_FLAGS                                               \
	(PEAL_ENTRY_RESTART_PENDING | PEAL_ENTRY_MIGRATED_IN |                 \
	 PEAL_ENTRY_ARRIVING | PEAL_ENTRY_STATE_PENDING)
/** An entry with an actor that has migrated to the entry with the index `next`.
 * Bits 0..15 and 48..55 of the location hold that index. */
#define PEAL_ENTRY_FORWARD_TO(place, next)                                     \
	(((place)&0xff00ffff00000000u) | ((uint64_t)(next)&0xff0000u) << 32 |  \
	 PEAL_ENTRY_RESTART_PENDING | PEAL_ENTRY_FORWARDED |                   \
	 ((place)&PEAL_ENTRY_MIGRATED_IN) | ((next)&0xffffu))
#define PEAL_ENTRY_NEXT(place)                                                 \
	(((uint32_t)((place) >> 32) & 0xff0000u) | ((uint32_t)(place)&0xffffu))
/** As `next`, no index: the actor lives in another kernel. Its messages leave
 * by a port of the worker, see impl/loop/actor_forward.h. */
#define PEAL_ENTRY_OTHER_KERNEL 0xffffffu
/** 1 if the actor has migrated; 0 also for a free entry. */
#define PEAL_ENTRY_IS_FORWARDED(place)                                         \
	(((uint32_t)(place)&0xdfff0000u) ==                                    \
	 (PEAL_ENTRY_RESTART_PENDING | PEAL_ENTRY_FORWARDED))
#define PEAL_ENTRY_IS_OTHER_KERNEL(place)                                      \
	(PEAL_ENTRY_IS_FORWARDED(place) &&                                     \
	 PEAL_ENTRY_NEXT(place) == PEAL_ENTRY_OTHER_KERNEL)
#define PEAL_ENTRY_IS_ARRIVING(place)                                          \
	(((uint32_t)(place) & (PEAL_ENTRY_FORWARDED | PEAL_ENTRY_ARRIVING)) == \
	 PEAL_ENTRY_ARRIVING)
#define PEAL_ENTRY_IS_HOOK(place)                                              \
	(((uint32_t)(place) &                                                  \
	  (PEAL_ENTRY_RESTART_PENDING | PEAL_ENTRY_FORWARDED |                 \
	   PEAL_ENTRY_ARRIVING | PEAL_ENTRY_HOOK)) ==                          \
	 (PEAL_ENTRY_RESTART_PENDING | PEAL_ENTRY_HOOK))
#define PEAL_ENTRY_IS_INIT(place)                                              \
	(PEAL_ENTRY_IS_HOOK(place) &&                                          \
	 !((uint32_t)(place)&PEAL_ENTRY_RESTART_ON_ARRIVAL))
#define PEAL_ENTRY_IS_EXIT(place)                                              \
	(PEAL_ENTRY_IS_HOOK(place) &&                                          \
	 (uint32_t)(place)&PEAL_ENTRY_RESTART_ON_ARRIVAL)
/** Non-zero if the actor must restart first or has ended by a failure, or if
 * the entry is free. */
#define PEAL_ENTRY_NEEDS_RESTART(place)                                        \
	((uint32_t)(place) &                                                   \
	 (PEAL_ENTRY_IS_ARRIVING(place) ? PEAL_ENTRY_RESTART_ON_ARRIVAL :      \
	  PEAL_ENTRY_IS_HOOK(place)	? 0u :                                 \
					  PEAL_ENTRY_RESTART_PENDING))
/** 1 if an entry is of the actor, or pool, with that number. */
#define PEAL_ENTRY_IS_OF(place, actor)                                         \
	(PEAL_ENTRY_HANDLER(place) != PEAL_NO_HANDLER &&                       \
	 !PEAL_ACTOR_GENERATION((place) >> 32 ^ (actor)))
/** As the worker of an entry: a pool. Its index in the workers' tables is in
 * bits of the handler. */
#define PEAL_POOL_WORKER 0xffffu
PEAL_STATIC_ASSERT(sizeof(struct peal_actor_entry) == 32, "actor entry");

#endif
