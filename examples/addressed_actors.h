/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_ADDRESSED_ACTORS_H
#define PEAL_EXAMPLES_ADDRESSED_ACTORS_H

/* The message of 11_million_actors.c, 12_dead_letters.c and their program. */

#include <peal/device/typed_message.h>

/** A call to a callee. The callee sends it back with its count of calls. */
struct call {
	/* number of the callee, which the callee also has in its state */
	uint64_t callee;
	uint64_t calls;
};

PEAL_TYPED_MESSAGE(call, struct call, 1)

#endif
