/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_WARD_H
#define PEAL_TESTS_WARD_H

#include <peal/device/platform.h>

/* Message types and states of programs/ward.c and the tests of supervisors. */

/** Types of messages to a ward. */
#define WARD_COUNT 1 /* counts */
#define WARD_FAIL 2 /* counts, spoils the state, and fails with WARD_ERROR */
#define WARD_ASK 3 /* emits its state at port 0 */

#define WARD_ERROR (-71) /* PEAL_EPROTO */

/** State of a ward. The initial bytes set `name`. The rest begins as 0. */
struct ward {
	uint64_t name;
	uint64_t count; /* messages since the ward began */
	uint64_t spoilt;
};

/** A state that takes long to fill. */
#define WARD_LARGE_WORDS 8192
struct ward_large {
	struct ward ward;
	uint64_t word[WARD_LARGE_WORDS]; /* word i is i, unless spoilt */
};

#endif
