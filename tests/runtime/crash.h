/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_CRASH_H
#define PEAL_TESTS_CRASH_H

#include <peal/device/platform.h>

/* Messages of programs/crash.c. Its handlers end their process. */

enum crash_how {
	CRASH_NONE, /* sends the message back, with the pid in `address` */
	CRASH_WRITE, /* stores to `address` */
	CRASH_ABORT,
	CRASH_EXIT, /* exit(3) */
	CRASH_STACK, /* has no end of calls */
	CRASH_COUNT /* sends back the value of a global, then increments it */
};

struct crash_order {
	uint64_t how, address;
};

#endif
