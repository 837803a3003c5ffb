/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_HEARTBEAT_H
#define PEAL_EXAMPLES_HEARTBEAT_H

/* The types that 15_timers.c and programs/heartbeat.c share. */

#include <peal/device/typed_message.h>

#define PEERS 3

/** To a peer: start or stop the beats. */
struct begin {
	uint64_t period_ns; /* time between two beats; 0: stop */
	uint32_t watcher; /* the watcher's number in the kernel */
	uint32_t peer; /* the peer's number in its beats */
};

/** From a peer to the watcher, once per period. */
struct beat {
	uint32_t peer, reserved;
};

/**
 * From the watcher to itself: the timeout of a peer. If the peer's count of
 * beats is still `beats`, the peer was silent.
 */
struct late {
	uint64_t beats; /* count of beats when the timer was set */
	uint32_t peer, reserved;
};

/** To the host: a peer has become silent (1), or beats again (0). */
struct report {
	uint32_t peer, silent;
};

PEAL_TYPED_MESSAGE(begin, struct begin, 1)
PEAL_TYPED_MESSAGE(beat, struct beat, 2)
PEAL_TYPED_MESSAGE(late, struct late, 3)
PEAL_TYPED_MESSAGE(report, struct report, 4)

#endif
