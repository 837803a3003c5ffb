/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_GUESTS_H
#define PEAL_EXAMPLES_GUESTS_H

/* The message of 11_million.c, 12_dead_letters.c and programs/guests.c. */

#include <peal/device/message_of.h>

/** A call to a guest. The guest sends it back with its count of calls. */
struct call {
	/* number of the guest, which the guest also has in its state */
	uint64_t guest;
	uint64_t calls;
};

PEAL_MESSAGE_OF(call, struct call, 1)

#endif
