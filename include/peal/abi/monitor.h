/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_MONITOR_H
#define PEAL_ABI_MONITOR_H

#include <peal/device/platform.h>

/*
 * Monitors in a kernel's memory (device/monitor.h). Any worker can change the
 * state of a record, by compare-and-swap. So exactly one of the workers that
 * learn of an actor's end sends the message.
 */

/** Reasons of down messages. */
enum peal_down_reason {
	PEAL_DOWN_RETIRED = 1, /* by peal_actor_retire or peal_retire */
	PEAL_DOWN_FAILED = 2, /* its handler failed; it had no supervisor */
	PEAL_DOWN_GIVEN_UP = 3, /* its supervisor, or one above it, gave up */
	PEAL_DOWN_BOUND = 4, /* an actor bound to it failed */
	PEAL_DOWN_RESTARTED = 5, /* it restarts: PEAL_MONITOR_RESTARTS */
	PEAL_DOWN_GONE = 6, /* there was no such actor any more */
	PEAL_DOWN_KERNEL = 7 /* its kernel has ended; only for endpoints */
};

/** Flags of a monitor. */
enum peal_monitor_flag {
	PEAL_MONITOR_RESTARTS = 1, /* also report a restart of the actor */
	PEAL_MONITOR_BINDS = 2 /* no message: if the actor ends by a failure,
				* the owner fails, too */
};

/** Payload of a down message. */
struct peal_down {
	uint64_t actor; /* address of the actor that has ended */
	uint64_t monitor; /* that sends the message, and is over now */
	uint64_t tag; /* of the monitor */
	uint32_t reason; /* enum peal_down_reason */
	int32_t error; /* of the handler that failed first, as in a dead
			* letter; 0: none failed since the monitor was set */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_down) == 32, "down size");

/** As the owner of a monitor: an endpoint. */
#define PEAL_MONITOR_HOST 0xffffffffu

/** A record's state: the unique number of its monitor, flags, phase. */
#define PEAL_MONITOR_STATE(number, flags, phase)                               \
	((uint64_t)(number) << 4 | (uint64_t)(flags) << 2 | (phase))
#define PEAL_MONITOR_NUMBER(state) ((state) >> 4)
#define PEAL_MONITOR_FLAGS(state) ((uint32_t)((state) >> 2) & 3u)
#define PEAL_MONITOR_PHASE(state) ((uint32_t)(state)&3u)

enum peal_monitor_phase {
	PEAL_MONITOR_FREE = 0,
	PEAL_MONITOR_TAKEN = 1, /* a worker fills it in */
	PEAL_MONITOR_SET = 2, /* its actor lives */
	PEAL_MONITOR_DUE = 3 /* a worker sends its message, or frees it */
};

/** The handle of a monitor: its number and the index of its record. */
#define PEAL_MONITOR_BITS 20
#define PEAL_MONITOR_HANDLE(number, place)                                     \
	((uint64_t)(number) << PEAL_MONITOR_BITS | (place))
#define PEAL_MONITOR_PLACE(handle)                                             \
	((uint32_t)(handle) & ((1u << PEAL_MONITOR_BITS) - 1))

/** A monitor. */
struct peal_monitor_record {
	uint64_t state; /* PEAL_MONITOR_STATE */
	uint64_t parties; /* owner's number << 32 | actor's number */
	uint64_t tag;
	uint16_t type; /* of its message */
	uint16_t reserved;
	uint32_t slot; /* owner is an endpoint: index of peal_down_slot */
	/* written by the sending worker */
	uint32_t reason;
	int32_t error;
	uint32_t next; /* 1 + index of the next due record; 0: none */
	uint32_t line_reserved[5];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_monitor_record) == 64, "monitor size");

/** A kernel's monitors; the records follow. */
struct peal_monitors {
	uint64_t slots; /* struct peal_down_slot, in host memory */
	uint64_t used; /* records that were ever used */
	uint64_t open; /* records that are due and not sent yet */
	uint64_t gate; /* increased by each setting of a monitor and each end
			* of an actor: the later one sees the earlier one */
	uint64_t hint; /* index of a record that is probably free */
	uint64_t reserved[11];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_monitors) == PEAL_SHARED_LINE,
		   "monitors size");

/** A down message for an endpoint. */
struct peal_down_slot {
	struct peal_down down;
	uint64_t posted; /* 1: `down` is valid; the host sets it to 0 */
	uint64_t reserved[3];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_down_slot) == 64, "slot size");

/** Control message: sets or removes a monitor. */
struct peal_control_monitor {
	uint64_t report; /* address of a uint64_t, for the new handle */
	uint64_t handle; /* of the monitor to remove; 0: set one */
	uint64_t tag;
	uint32_t owner, actor;
	uint32_t slot;
	uint16_t type, flags;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_control_monitor) == 40,
		   "monitor message");

#endif
