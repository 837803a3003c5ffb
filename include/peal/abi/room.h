/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_ROOM_H
#define PEAL_ABI_ROOM_H

#include <peal/device/platform.h>

/*
 * Slots for actors that handlers spawn. Each worker has spawn_rooms of them:
 * entries of the actor table behind those of the host, with a state each. The
 * worker takes and frees its slots without the host.
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
 * holds the generation of the present or next actor and its handler. `ports_of`
 * is 1 + the entry of the actor that has its ports (0: none).
 */
#define PEAL_ROOM(actor, handler, ports_of)                                    \
	((uint64_t)(ports_of) << 32 | ((uint32_t)(actor)&0xff000000u) |        \
	 (handler))
#define PEAL_ROOM_HANDLER(room) ((uint32_t)(room)&0xffffffu)
#define PEAL_ROOM_GENERATION(room) ((uint32_t)(room) >> 24)
#define PEAL_ROOM_PORTS_OF(room) ((uint32_t)((room) >> 32))
/** As the handler: the slot is free. */
#define PEAL_ROOM_FREE 0xffffffu

/** Flag in `shares` of an actor entry: the actor uses another actor's ports. */
#define PEAL_SHARES 0x80000000u

#endif
