/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_GUESTS_H
#define PEAL_EXAMPLES_GUESTS_H

/* What 11_million.c, 12_dead_letters.c and programs/guests.c agree on. */

#include <peal/device/message_of.h>

/** To a guest, and back: the guest fills in how often it was called. */
struct call {
	uint64_t guest; /* its number, which it knows itself */
	uint64_t calls;
};

PEAL_MESSAGE_OF(call, struct call, 1)

#endif
