/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_ACTOR_SLOT_H
#define PEAL_ABI_ACTOR_SLOT_H

#include <peal/device/platform.h>

/*
 * Slots for actors that handlers spawn, spawn.max_actors per worker. A slot
 * has an entry of the actor table and a state. These entries follow the entries
 * of the host's actors. The worker takes and frees its slots without the host.
 */

/** A handler, for spawning its actors. The launch writes one for each handler
 * of the program, in device memory. */
struct peal_handler_entry {
	/* as in struct peal_handler_info */
	uint32_t state_bytes;
	uint32_t output_bytes;
	uint16_t ports, emits, tells;
	uint16_t hooks;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_handler_entry) == 16, "handler entry");

/**
 * The owner of a slot, as a word in host memory. Only writer: the worker. It
 * holds the generation of the current or next actor, and its handler.
 * share_ports_with is 1 + the entry of the actor that has its ports (0: none).
 */
#define PEAL_ACTOR_SLOT(actor, handler, share_ports_with)                      \
	((uint64_t)(share_ports_with) << 32 |                                  \
	 ((uint32_t)(actor)&0xff000000u) | (handler))
#define PEAL_ACTOR_SLOT_HANDLER(slot) ((uint32_t)(slot)&0xffffffu)
#define PEAL_ACTOR_SLOT_GENERATION(slot) ((uint32_t)(slot) >> 24)
#define PEAL_ACTOR_SLOT_PORTS_OF(slot) ((uint32_t)((slot) >> 32))
/** As the handler: the slot is free. */
#define PEAL_ACTOR_SLOT_FREE 0xffffffu

/** Flag in `shares` of an actor entry: the actor uses another actor's ports. */
#define PEAL_SHARES_PORTS 0x80000000u

#endif
