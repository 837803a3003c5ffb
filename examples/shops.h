/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_SHOPS_H
#define PEAL_EXAMPLES_SHOPS_H

/* What 17_asks.c and programs/shops.c agree on. */

#include <peal/device/message_of.h>

#define SHOPS 3
#define NOBODY SHOPS
#define PATIENCE_NS 1000000000

/** Who wants what: to the broker, and from there to the shops. */
struct wanted {
	uint32_t item;
};

/** A shop's reply. It refuses what it does not have. */
struct price {
	uint64_t cents;
};

/** What the broker has found. */
struct offer {
	uint64_t cents;
	uint32_t item, shop; /* NOBODY: none has it */
	uint32_t refused, silent; /* shops that did, and that did not answer */
};

PEAL_MESSAGE_OF(wanted, struct wanted, 1)
PEAL_MESSAGE_OF(price, struct price, 2)
PEAL_MESSAGE_OF(offer, struct offer, 3)

/* What a shop does about an item: its price; 0 it does not have it, and of one
 * item it never says anything. */
static PEAL_DEV PEAL_UNUSED inline uint64_t price_at(uint32_t shop,
						     uint32_t item)
{
	return shop == 1 && item % 2 ? 0 : 100 + (item * 7 + shop * 13) % 20;
}

static PEAL_DEV PEAL_UNUSED inline int says_nothing(uint32_t shop,
						    uint32_t item)
{
	return shop == 2 && item == 3;
}

#endif
