/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_BEATS_H
#define PEAL_EXAMPLES_BEATS_H

/* What 15_timers.c and programs/beats.c agree on. */

#include <peal/device/message_of.h>

#define PEERS 3

/** To a peer: it beats from now on, so often, or no more. */
struct begin {
	uint64_t period_ns; /* 0: falls silent */
	uint32_t watcher; /* whom it tells */
	uint32_t peer; /* its number there */
};

/** From a peer, again and again. */
struct beat {
	uint32_t peer, reserved;
};

/** From the watcher to itself: so much later the peer has not beaten again. */
struct late {
	uint64_t beats; /* that had come when this was sent */
	uint32_t peer, reserved;
};

/** To the host: a peer has fallen silent, or is heard of again. */
struct report {
	uint32_t peer, silent;
};

PEAL_MESSAGE_OF(begin, struct begin, 1)
PEAL_MESSAGE_OF(beat, struct beat, 2)
PEAL_MESSAGE_OF(late, struct late, 3)
PEAL_MESSAGE_OF(report, struct report, 4)

#endif
