/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_ROOM_H
#define PEAL_ABI_ROOM_H

#include <peal/device/platform.h>

/*
 * Rooms for actors that handlers make: a worker has so many of its own, entries
 * of the actor table behind those of the host, and a state for each. It takes
 * them and gets them back by itself.
 */

/** What making an actor of a handler takes, and its end; in device memory, one for each
 * handler of the program, written at the launch. */
struct peal_handler_entry {
	uint32_t state_bytes; /* as in struct peal_handler_info, all of it */
	uint32_t output_bytes;
	uint16_t ports, emits, tells;
	uint16_t hooks;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_handler_entry) == 16, "handler entry");

/**
 * Who has a room, for the host: a word in host memory, only writer the worker.
 * The number of the actor that has it, or is to have it next; its handler; and 1
 * + the entry of the actor whose ports it shares, or 0.
 */
#define PEAL_ROOM(actor, handler, ports_of)                                    \
	((uint64_t)(ports_of) << 32 | ((uint32_t)(actor)&0xff000000u) |        \
	 (handler))
#define PEAL_ROOM_HANDLER(room) ((uint32_t)(room)&0xffffffu)
#define PEAL_ROOM_GENERATION(room) ((uint32_t)(room) >> 24)
#define PEAL_ROOM_PORTS_OF(room) ((uint32_t)((room) >> 32))
/** As the handler: nobody has it. */
#define PEAL_ROOM_FREE 0xffffffu

/** Beside the index of whose ports an actor shares, in its entry. */
#define PEAL_SHARES 0x80000000u

#endif
