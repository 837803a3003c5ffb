/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SUPERVISED_H
#define PEAL_TESTS_SUPERVISED_H

#include <peal/device/platform.h>

/* Message types and states of programs/supervised.c and the tests of
 * supervisors. */

/** Types of messages to an actor. */
#define SUPERVISED_COUNT 1 /* counts */
#define SUPERVISED_FAIL                                                        \
	2 /* counts, spoils the state, and fails with SUPERVISED_ERROR */
#define SUPERVISED_ASK 3 /* emits its state at port 0 */
#define SUPERVISED_ONCE 4 /* counts, sets a one-shot timer, and fails */
#define SUPERVISED_TICKS 5 /* counts, sets a periodic timer, and fails */
#define SUPERVISED_LATER 6 /* counts, and sets a one-shot timer */

#define SUPERVISED_ERROR (-71) /* PEAL_EPROTO */

/** State of an actor. The initial bytes set `name`. The rest begins as 0. */
struct supervised {
	uint64_t name;
	uint64_t count; /* messages since the last start */
	uint64_t spoilt;
};

/** A state that takes long to fill. */
#define SUPERVISED_LARGE_WORDS 8192
struct supervised_large {
	struct supervised base;
	uint64_t word[SUPERVISED_LARGE_WORDS]; /* word i is i, unless spoilt */
};

#endif
