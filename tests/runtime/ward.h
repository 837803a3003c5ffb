/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_WARD_H
#define PEAL_TESTS_WARD_H

#include <peal/device/platform.h>

/* What the handlers of programs/ward.c and the tests of supervisors agree on. */

/** Types of messages to a ward. */
#define WARD_COUNT 1 /* counts */
#define WARD_FAIL 2 /* counts, spoils the state, and fails by WARD_ERROR */
#define WARD_ASK 3 /* sends its state to port 0 */

#define WARD_ERROR (-71) /* PEAL_EPROTO */

/** Its state: begins with `name`, and with zeros behind that. */
struct ward {
	uint64_t name;
	uint64_t count; /* messages since it began */
	uint64_t spoilt;
};

/** A state that takes long to fill. */
#define WARD_LARGE_WORDS 8192
struct ward_large {
	struct ward ward;
	uint64_t word[WARD_LARGE_WORDS]; /* of word i: i, or spoilt */
};

#endif
