/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_HOOKS_H
#define PEAL_TESTS_HOOKS_H

#include <peal/device/platform.h>

/* Message types, messages and states of programs/hooks.c and its tests. */

/** Message types to a guest or a singer. The payload is 8 ignored bytes. */
#define HOOKS_COUNT 1
#define HOOKS_FAIL 2
#define HOOKS_LEAVE 3 /* retires itself */

/** Message types to a maker. It emits the completed order at port 0. */
#define HOOKS_MAKE                                                             \
	11 /* spawns `n` guests, and tells each guest one HOOKS_COUNT */
#define HOOKS_END 12 /* retires `actor` */

/** Message types of a guest to its teller, which emits the message unchanged.
 * The payload is a uint64_t. Its low half is the guest's id, its high half
 * counts the guest's messages. */
#define HOOKS_BEGUN 21
#define HOOKS_ENDED 22

#define HOOKS_TELLS 8
#define HOOKS_ERROR (-71) /* PEAL_EPROTO */

/** A guest's state. Its initial bytes set the first three fields. */
struct hooks_state {
	uint32_t id;
	uint32_t teller; /* 1 + number of the teller; 0: none */
	uint32_t wish; /* bits HOOKS_FAILS_... and HOOKS_MEETS */
	uint32_t inits, exits;
	uint32_t messages;
	int32_t emitted; /* result of a singer's emit in its init */
	uint32_t odd; /* runs before the init or after the exit */
};

#define HOOKS_FAILS_INIT 1
#define HOOKS_FAILS_EXIT 2
#define HOOKS_MEETS 4 /* its init retires it */
#define HOOKS_INIT_BYTES 12

struct hooks_order {
	uint32_t n, teller;
	uint32_t wish;
	uint32_t actor;
	int32_t result;
	uint32_t reserved;
};

#endif
