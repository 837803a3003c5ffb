/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_PLACE_H
#define PEAL_ABI_PLACE_H

#include <peal/device/platform.h>

/* The table of a kernel's actors. All workers read the `place` word of an entry
 * to find its actor. */

/** An actor of a kernel, in device memory. */
struct peal_actor_entry {
	uint64_t state; /* address of its state */
	uint64_t place; /* PEAL_PLACE, read and written as one word */
	uint32_t state_bytes;
	uint16_t ports; /* number of its output ports, from 0 on */
	uint16_t emits; /* most messages per port for one message */
	uint16_t tells; /* most mailbox messages for one message */
	uint16_t port_base; /* of its ports in the worker's table */
	uint32_t shares; /* PEAL_SHARES | index of the entry that has its ports;
			  * else number of spawned actors that use its ports */
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
/** The place of an actor. Upper half: generation and worker. Lower half: index
 * of the handler, flags, 1 + index of the limit (0: none). The lower half of a
 * free entry is PEAL_NO_HANDLER. */
#define PEAL_PLACE(actor, worker, handler)                                     \
	((uint64_t)(PEAL_ACTOR_GENERATION(actor) | (worker)) << 32 | (handler))
#define PEAL_PLACE_WORKER(place) ((uint32_t)((place) >> 32) & 0xffffu)
#define PEAL_PLACE_HANDLER(place) ((uint32_t)(place))
/** The actor restarts before its next message, see abi/supervisor.h. Any worker
 * sets the mark, and the actor's worker clears it. */
#define PEAL_PLACE_MARK 0x80000000u
/** Handler and limit of an actor. Not valid in free and moved entries. Between
 * them are the flags NEW, AWAITED, LATER and HOOK. */
#define PEAL_HANDLER_MASK 0xfffu
#define PEAL_LIMIT_SHIFT 16
#define PEAL_LIMITS_MAX 0x1fffu
#define PEAL_PLACE_LIMIT(place)                                                \
	((uint32_t)(place) >> PEAL_LIMIT_SHIFT & PEAL_LIMITS_MAX)
/** Non-zero if no message can be handled: the entry is free or has the mark. */
#define PEAL_PLACE_IS_SHUT(place) ((uint32_t)(place)&PEAL_PLACE_MARK)
/*
 * Migration of an actor to another worker (device/migrate.h):
 *
 * 1. The actor gets a new entry, with the mark, NEW and AWAITED. The former
 *    worker still has the actor.
 * 2. The former worker writes the next entry to the old entry, with the mark
 *    and MOVED. From now on it forwards the actor's messages.
 * 3. The former worker clears AWAITED.
 * 4. Before the first message, the new worker clears the mark and NEW.
 */
#define PEAL_PLACE_MOVED 0x40000000u
/** The actor had another entry of the kernel before. */
#define PEAL_PLACE_CAME 0x20000000u
#define PEAL_PLACE_NEW 0x8000u /* cleared by the actor's worker */
#define PEAL_PLACE_AWAITED 0x4000u /* cleared by the former worker */
/** With NEW: the actor restarts before its first message; any worker sets it.
 * With HOOK: the hook is the exit hook. */
#define PEAL_PLACE_LATER 0x2000u
/** With the mark: a hook is due (device/hook.h). The actor's worker runs init
 * before all messages, or exit after all messages. */
#define PEAL_PLACE_HOOK 0x1000u
#define PEAL_PLACE_ARRIVES                                                     \
	(PEAL_PLACE_MARK | PEAL_PLACE_CAME | PEAL_PLACE_NEW |                  \
	 PEAL_PLACE_AWAITED)
/** An entry with an actor that has moved to the entry with the index `next`.
 * Bits 0..15 and 48..55 of the place hold that index. */
#define PEAL_PLACE_TO(place, next)                                             \
	(((place)&0xff00ffff00000000u) | ((uint64_t)(next)&0xff0000u) << 32 |  \
	 PEAL_PLACE_MARK | PEAL_PLACE_MOVED | ((place)&PEAL_PLACE_CAME) |      \
	 ((next)&0xffffu))
#define PEAL_PLACE_NEXT(place)                                                 \
	(((uint32_t)((place) >> 32) & 0xff0000u) | ((uint32_t)(place)&0xffffu))
/** As `next`, no index: the actor lives in another kernel. Its messages leave
 * by a port of the worker, see device/away.h. */
#define PEAL_PLACE_ELSEWHERE 0xffffffu
/** 1 if the actor has moved; 0 also for a free entry. */
#define PEAL_PLACE_IS_MOVED(place)                                             \
	(((uint32_t)(place)&0xdfff0000u) ==                                    \
	 (PEAL_PLACE_MARK | PEAL_PLACE_MOVED))
#define PEAL_PLACE_IS_AWAY(place)                                              \
	(PEAL_PLACE_IS_MOVED(place) &&                                         \
	 PEAL_PLACE_NEXT(place) == PEAL_PLACE_ELSEWHERE)
#define PEAL_PLACE_IS_NEW(place)                                               \
	(((uint32_t)(place) & (PEAL_PLACE_MOVED | PEAL_PLACE_NEW)) ==          \
	 PEAL_PLACE_NEW)
#define PEAL_PLACE_IS_HOOK(place)                                              \
	(((uint32_t)(place) & (PEAL_PLACE_MARK | PEAL_PLACE_MOVED |            \
			       PEAL_PLACE_NEW | PEAL_PLACE_HOOK)) ==           \
	 (PEAL_PLACE_MARK | PEAL_PLACE_HOOK))
#define PEAL_PLACE_IS_INIT(place)                                              \
	(PEAL_PLACE_IS_HOOK(place) && !((uint32_t)(place)&PEAL_PLACE_LATER))
#define PEAL_PLACE_IS_EXIT(place)                                              \
	(PEAL_PLACE_IS_HOOK(place) && (uint32_t)(place)&PEAL_PLACE_LATER)
/** Non-zero if the actor must restart first or has ended by a failure, or if
 * the entry is free. */
#define PEAL_PLACE_IS_DUE(place)                                               \
	((uint32_t)(place) & (PEAL_PLACE_IS_NEW(place)	? PEAL_PLACE_LATER :   \
			      PEAL_PLACE_IS_HOOK(place) ? 0u :                 \
							  PEAL_PLACE_MARK))
/** 1 if an entry is of the actor, or pool, with that number. */
#define PEAL_PLACE_IS_OF(place, actor)                                         \
	(PEAL_PLACE_HANDLER(place) != PEAL_NO_HANDLER &&                       \
	 !PEAL_ACTOR_GENERATION((place) >> 32 ^ (actor)))
/** As the worker of an entry: a pool. Its index in the workers' tables is in
 * place of the handler. */
#define PEAL_POOL_WORKER 0xffffu
PEAL_STATIC_ASSERT(sizeof(struct peal_actor_entry) == 32, "actor entry");

#endif
