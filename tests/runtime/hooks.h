/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_HOOKS_H
#define PEAL_TESTS_HOOKS_H

#include <peal/device/platform.h>

/* What the handlers of programs/hooks.c and the tests of inits and exits agree
 * on. */

/** Types of messages to a guest, or a singer: 8 bytes, which are ignored. */
#define HOOKS_COUNT 1
#define HOOKS_FAIL 2
#define HOOKS_LEAVE 3 /* ends itself */

/** To a maker, which says its order at port 0, filled in. */
#define HOOKS_MAKE                                                             \
	11 /* makes n guests, tells each COUNT, ends each that is odd */
#define HOOKS_END 12 /* ends `actor` */

/** What a guest tells its teller: its id in the low half, above it messages that
 * it has counted. The teller emits it as it comes. */
#define HOOKS_BEGUN 21
#define HOOKS_ENDED 22

#define HOOKS_TELLS 8
#define HOOKS_ERROR (-71) /* PEAL_EPROTO */

/** A guest's state: the first three are its init. */
struct hooks_state {
	uint32_t id;
	uint32_t teller; /* 1 + its number; 0: it tells nobody */
	uint32_t wish; /* HOOKS_FAILS_... */
	uint32_t inits, exits;
	uint32_t messages;
	int32_t emitted; /* what an emit in its init came to */
	uint32_t odd; /* messages before its init, or behind its exit */
};

#define HOOKS_FAILS_INIT 1
#define HOOKS_FAILS_EXIT 2
#define HOOKS_MEETS 4 /* its init ends it */
#define HOOKS_INIT_BYTES 12

struct hooks_order {
	uint32_t n, teller;
	uint32_t wish;
	uint32_t actor;
	int32_t result;
	uint32_t reserved;
};

#endif
