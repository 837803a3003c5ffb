/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SPAWNS_H
#define PEAL_TESTS_SPAWNS_H

#include <peal/device/platform.h>

/* What the handlers of programs/spawns.c and the tests of actors that handlers
 * make agree on. */

/** Handlers, by their place in the program's list. */
#define SPAWNS_MAKER 0 /* obeys, and answers at port 0 */
#define SPAWNS_CHILD 1 /* has no ports */
#define SPAWNS_SPEAKER 2 /* as the child, and says its state at port 0 */
#define SPAWNS_WIDE 3 /* has a larger state */
#define SPAWNS_OTHER 4 /* emits messages of another size */
#define SPAWNS_MUTE 5 /* sends nothing: has many messages in a row */
#define SPAWNS_HANDLERS 6

/** Types of messages to a maker: its order comes back, filled in. */
#define SPAWNS_MAKE 1 /* n actors, each with `value`; until one fails */
#define SPAWNS_END 2 /* one */
#define SPAWNS_CHURN 3 /* makes and ends n of them, one after another */
#define SPAWNS_LATE 4 /* makes one, tells it n times, ends it, makes another */
#define SPAWNS_TELL 5 /* tells the actor to do as `value` says */
#define SPAWNS_STORM 6 /* n trees of depth `value`; leaves tell `actor` */
#define SPAWNS_LEAF 7 /* of a tree, or so many that there was no room for */
#define SPAWNS_LEAVES 8 /* how many came: in `value` */
#define SPAWNS_FAIL 9

/** And to those that it makes. */
#define SPAWNS_HELLO 11 /* once, first: its state is as it was made */
#define SPAWNS_COUNT 12 /* for who has that value; 0: for any */
#define SPAWNS_LEAVE 13 /* ends itself; can it make another one then? */
#define SPAWNS_SAY 14 /* a speaker says its state */
#define SPAWNS_BREED 15 /* a speaker makes another one */
#define SPAWNS_GROW 16 /* part of a tree */
#define SPAWNS_SPIN 17 /* until the kernel is aborted */
#define SPAWNS_DOWN 18 /* a monitor's */

#define SPAWNS_TELLS 4
#define SPAWNS_ERROR (-71) /* PEAL_EPROTO */
/** No handler, for an order. */
#define SPAWNS_NONE 77

/** An order, and what came of it. */
struct spawns_order {
	uint32_t handler, n;
	uint32_t ports_of, actor;
	uint64_t value;
	uint32_t init_bytes;
	int32_t result;
	uint32_t self, reserved;
};

/** The state of those that are made; `value` and `maker` are its init. */
struct spawns_state {
	uint64_t value;
	uint32_t maker, reserved;
	uint64_t hellos, count;
	uint32_t made; /* by LEAVE or BREED */
	int32_t result;
	uint64_t filler[2];
};

/** What grows to a tree. */
struct spawns_tree {
	uint32_t depth, teller;
};

#endif
