/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_MONITOR_H
#define PEAL_ABI_MONITOR_H

#include <peal/device/platform.h>

/*
 * Monitors in a kernel's memory: who is told when an actor ends. A record is its
 * state's, which any worker changes by comparing first: so of all that come to
 * know of an end one sends the message. See device/monitor.h.
 */

/** Why there is a down message. */
enum peal_down_reason {
	PEAL_DOWN_RETIRED = 1, /* by peal_actor_retire */
	PEAL_DOWN_FAILED = 2, /* its handler failed, and it had no supervisor */
	PEAL_DOWN_GIVEN_UP = 3, /* its supervisor, or one above it, gave up */
	PEAL_DOWN_BOUND = 4, /* an actor failed that it is bound to */
	PEAL_DOWN_RESTARTED = 5, /* it begins anew: PEAL_MONITOR_RESTARTS */
	PEAL_DOWN_GONE = 6, /* there was no such actor any more */
	PEAL_DOWN_KERNEL = 7 /* its kernel has ended; for endpoints alone */
};

/** What a monitor can be asked for. */
enum peal_monitor_flag {
	PEAL_MONITOR_RESTARTS = 1, /* that the actor begins anew is told, too */
	PEAL_MONITOR_BINDS = 2 /* instead of a message: if the actor ends by a
				* failure, so does the monitor's owner */
};

/** What a down message says: its payload. */
struct peal_down {
	uint64_t actor; /* address of the actor that has ended */
	uint64_t monitor; /* that has told so, and is over with it */
	uint64_t tag; /* as the monitor was set */
	uint32_t reason; /* enum peal_down_reason */
	int32_t error; /* what the handler has returned that failed first, as
			* in a dead letter; 0: none has, or it was before the
			* monitor was set */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_down) == 32, "down size");

/** As the owner of a monitor: it is an endpoint's. */
#define PEAL_MONITOR_HOST 0xffffffffu

/** A record's state: its number, of which no two are the same, flags, phase. */
#define PEAL_MONITOR_STATE(number, flags, phase)                               \
	((uint64_t)(number) << 4 | (uint64_t)(flags) << 2 | (phase))
#define PEAL_MONITOR_NUMBER(state) ((state) >> 4)
#define PEAL_MONITOR_FLAGS(state) ((uint32_t)((state) >> 2) & 3u)
#define PEAL_MONITOR_PHASE(state) ((uint32_t)(state)&3u)

enum peal_monitor_phase {
	PEAL_MONITOR_FREE = 0,
	PEAL_MONITOR_TAKEN = 1, /* somebody fills it in */
	PEAL_MONITOR_SET = 2, /* its actor lives */
	PEAL_MONITOR_DUE = 3 /* a worker sends its message */
};

/** A monitor as its handle: its number, and the place of its record. */
#define PEAL_MONITOR_BITS 20
#define PEAL_MONITOR_HANDLE(number, place)                                     \
	((uint64_t)(number) << PEAL_MONITOR_BITS | (place))
#define PEAL_MONITOR_PLACE(handle)                                             \
	((uint32_t)(handle) & ((1u << PEAL_MONITOR_BITS) - 1))

/** One monitor. */
struct peal_monitor_record {
	uint64_t state; /* PEAL_MONITOR_STATE */
	uint64_t who; /* owner's number << 32 | the actor's */
	uint64_t tag;
	uint16_t type; /* of its message */
	uint16_t reserved;
	uint32_t slot; /* of an endpoint's: where its message goes */
	/* written by the worker that sends */
	uint32_t reason;
	int32_t error;
	uint32_t next; /* 1 + the place of who is due after it; 0: nobody */
	uint32_t line_reserved[5];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_monitor_record) == 64, "monitor size");

/** A kernel's monitors; the records follow. */
struct peal_monitors {
	uint64_t slots; /* struct peal_down_slot, in host memory */
	uint64_t used; /* records that were ever used */
	uint64_t open; /* those that are due, and not sent yet */
	uint64_t gate; /* added to by who sets one and by who ends: the later
			* one knows of the other */
	uint64_t hint; /* a record that is probably free */
	uint64_t reserved[11];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_monitors) == PEAL_SHARED_LINE,
		   "monitors size");

/** Where an endpoint finds its message. */
struct peal_down_slot {
	struct peal_down down;
	uint64_t posted; /* 1: it is there; 0 again by the host */
	uint64_t reserved[3];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_down_slot) == 64, "slot size");

/** Control message: sets a monitor, or takes it off. */
struct peal_control_monitor {
	uint64_t report; /* address of a uint64_t: the handle of the one set */
	uint64_t handle; /* of the one to take off; 0: one is set */
	uint64_t tag;
	uint32_t owner, actor;
	uint32_t slot;
	uint16_t type, flags;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_control_monitor) == 40,
		   "monitor message");

#endif
