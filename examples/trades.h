/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_TRADES_H
#define PEAL_EXAMPLES_TRADES_H

#include <peal/device/platform.h>

/* Messages and state of 27_batches.c and its handler. */

/** A trade, to the account and back. */
struct trade {
	uint64_t price, shares;
	uint64_t value; /* the account fills it in */
};

/** The state of the account. */
struct trades {
	uint64_t trades, value; /* of all trades */
	uint64_t batches; /* runs of the handler */
};

#endif
