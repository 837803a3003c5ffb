/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_PLACE_H
#define PEAL_ABI_PLACE_H

#include <peal/device/platform.h>

/* Where an actor is: its entry in its kernel's table, and the word of that by which
 * all workers know it. */

/** One actor of a kernel; in device memory. */
struct peal_actor_entry {
	uint64_t state; /* address of its state */
	uint64_t place; /* PEAL_PLACE: whoever reads one half reads the other */
	uint32_t state_bytes;
	uint16_t ports; /* output ports 0 .. ports-1 that it may use */
	uint16_t emits; /* most messages per port for one input */
	uint16_t tells; /* most mailbox messages for one input */
	uint16_t port_base; /* of its ports in the worker's table */
	uint32_t shares; /* PEAL_SHARES and the index of whose ports it uses;
			  * else how many that handlers have made use its */
};

/** Index of a worker's port for dead letters, and of its actors' first one. */
#define PEAL_PORT_DEAD_LETTERS 0
#define PEAL_PORTS_FIRST 1u

/** An actor's number, the low half of its address: the index of its entry, and
 * above it a generation, another one for each that has the entry. */
#define PEAL_ACTOR_BITS 24
#define PEAL_ACTOR_INDEX(actor) ((uint32_t)(actor)&0xffffffu)
#define PEAL_ACTOR_GENERATION(actor) ((uint32_t)(actor)&0xff000000u)
#define PEAL_ACTOR_GENERATIONS 255u /* so that 1 + a number is a number */

#define PEAL_NO_HANDLER 0xffffffffu
/** An entry's generation, the actor's worker, and its handler: index in the
 * program, and above it 1 + the place of its limit, if it has one;
 * PEAL_NO_HANDLER for an entry that is free. */
#define PEAL_PLACE(actor, worker, handler)                                     \
	((uint64_t)(PEAL_ACTOR_GENERATION(actor) | (worker)) << 32 | (handler))
#define PEAL_PLACE_WORKER(place) ((uint32_t)((place) >> 32) & 0xffffu)
#define PEAL_PLACE_HANDLER(place) ((uint32_t)(place))
/** Set in a place by any worker, taken away by the actor's own: the actor begins
 * anew before its next message, see abi/supervisor.h. */
#define PEAL_PLACE_MARK 0x80000000u
/** The two parts of an actor's handler, and nothing of any other entry; between
 * them are NEW, AWAITED, LATER and HOOK, see below. */
#define PEAL_HANDLER_MASK 0xfffu
#define PEAL_LIMIT_SHIFT 16
#define PEAL_LIMITS_MAX 0x1fffu
#define PEAL_PLACE_LIMIT(place)                                                \
	((uint32_t)(place) >> PEAL_LIMIT_SHIFT & PEAL_LIMITS_MAX)
/** Whether no message can be handled there: it is free, or has the mark. */
#define PEAL_PLACE_IS_SHUT(place) ((uint32_t)(place)&PEAL_PLACE_MARK)
/*
 * An actor that moves to another worker gets another entry there. The one that
 * it had stays its worker's, which passes on what comes for it: it has the mark
 * and MOVED and says the next entry. Until the actor has had a message there, that
 * one has the mark and NEW, and at first AWAITED, too: its former worker has it
 * still. See device/migrate.h.
 */
#define PEAL_PLACE_MOVED 0x40000000u
/** It lived elsewhere in the kernel before. */
#define PEAL_PLACE_CAME 0x20000000u
#define PEAL_PLACE_NEW 0x8000u /* taken away by the actor's worker */
#define PEAL_PLACE_AWAITED 0x4000u /* taken away by the former worker */
/** Beside NEW: it begins anew before its first message. As the mark. Beside HOOK:
 * that is an exit. */
#define PEAL_PLACE_LATER 0x2000u
/** Beside the mark: its handler is to run for its begin, before it has messages, or
 * for its end, behind them; by the actor's worker, see device/hook.h. */
#define PEAL_PLACE_HOOK 0x1000u
#define PEAL_PLACE_ARRIVES                                                     \
	(PEAL_PLACE_MARK | PEAL_PLACE_CAME | PEAL_PLACE_NEW |                  \
	 PEAL_PLACE_AWAITED)
/** An entry whose actor has moved on to the one with the index `next`: that has
 * the place of its handler, and above the worker what the worker does not need. */
#define PEAL_PLACE_TO(place, next)                                             \
	(((place)&0xff00ffff00000000u) | ((uint64_t)(next)&0xff0000u) << 32 |  \
	 PEAL_PLACE_MARK | PEAL_PLACE_MOVED | ((place)&PEAL_PLACE_CAME) |      \
	 ((next)&0xffffu))
#define PEAL_PLACE_NEXT(place)                                                 \
	(((uint32_t)((place) >> 32) & 0xff0000u) | ((uint32_t)(place)&0xffffu))
/** As `next`, and no entry's index: the actor lives in another kernel, and what
 * comes for it leaves by a port of its worker's; see device/away.h. */
#define PEAL_PLACE_ELSEWHERE 0xffffffu
/** Of no entry that is free. */
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
/** Whether it begins anew before it has a message, or there is nobody. */
#define PEAL_PLACE_IS_DUE(place)                                               \
	((uint32_t)(place) & (PEAL_PLACE_IS_NEW(place)	? PEAL_PLACE_LATER :   \
			      PEAL_PLACE_IS_HOOK(place) ? 0u :                 \
							  PEAL_PLACE_MARK))
/** Whether an entry is that of the actor with the number, or of a pool. */
#define PEAL_PLACE_IS_OF(place, actor)                                         \
	(PEAL_PLACE_HANDLER(place) != PEAL_NO_HANDLER &&                       \
	 !PEAL_ACTOR_GENERATION((place) >> 32 ^ (actor)))
/** As the worker of an entry: it is no actor but a pool, whose number in the
 * workers' tables takes the handler's place. */
#define PEAL_POOL_WORKER 0xffffu
PEAL_STATIC_ASSERT(sizeof(struct peal_actor_entry) == 32, "actor entry");

#endif
