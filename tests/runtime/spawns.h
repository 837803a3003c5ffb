/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SPAWNS_H
#define PEAL_TESTS_SPAWNS_H

#include <peal/device/platform.h>

/* Message types, messages and states of programs/spawns.c and its tests. */

/** Handlers, by their place in the program's list. */
#define SPAWNS_MAKER 0 /* obeys orders, answers at port 0 */
#define SPAWNS_CHILD 1 /* has no ports */
#define SPAWNS_SPEAKER 2 /* as the child, and emits its state at port 0 */
#define SPAWNS_WIDE 3 /* has a larger state */
#define SPAWNS_OTHER 4 /* emits messages of another size */
#define SPAWNS_MUTE 5 /* sends nothing: runs for many messages in a row */
#define SPAWNS_HANDLERS 6

/** Message types to a maker. It emits the completed order at port 0. */
#define SPAWNS_MAKE 1 /* spawns up to n actors with `value` */
#define SPAWNS_END 2 /* retires `actor` */
#define SPAWNS_CHURN 3 /* spawns and retires n actors, one after another */
#define SPAWNS_LATE 4 /* spawn, n tells, retire, then spawn the next actor */
#define SPAWNS_TELL 5 /* tells `actor` a message of type n with `value` */
#define SPAWNS_STORM 6 /* grows n trees of depth `value`, counted by `actor` */
#define SPAWNS_LEAF 7 /* payload: leaves of a tree, grown or without a slot */
#define SPAWNS_LEAVES 8 /* returns the number of leaves in `value` */
#define SPAWNS_FAIL 9

/** Message types to spawned actors. */
#define SPAWNS_HELLO 11 /* first message: checks that the state is new */
#define SPAWNS_COUNT 12 /* payload: value of the receiver; 0: any */
#define SPAWNS_LEAVE 13 /* retires itself, then tries to spawn an actor */
#define SPAWNS_SAY 14 /* a speaker emits its state */
#define SPAWNS_BREED 15 /* a speaker spawns a speaker */
#define SPAWNS_GROW 16 /* payload: struct spawns_tree */
#define SPAWNS_SPIN 17 /* until the kernel is aborted */
#define SPAWNS_DOWN 18 /* a down message */

#define SPAWNS_TELLS 4
#define SPAWNS_ERROR (-71) /* PEAL_EPROTO */
/** A number that no handler has. */
#define SPAWNS_NONE 77

/** An order and its results. */
struct spawns_order {
	uint32_t handler, n;
	uint32_t share_ports_with, actor;
	uint64_t value;
	uint32_t init_bytes;
	int32_t result;
	uint32_t self, reserved;
};

/** State of a spawned actor. The initial bytes set `value` and `maker`. */
struct spawns_state {
	uint64_t value;
	uint32_t maker, reserved;
	uint64_t hellos, count;
	uint32_t made; /* number of the actor that BREED spawned */
	int32_t result;
	uint64_t filler[2];
};

/** A subtree. Its leaves report to the actor `teller`. */
struct spawns_tree {
	uint32_t depth, teller;
};

#endif
