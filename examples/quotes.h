/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_QUOTES_H
#define PEAL_EXAMPLES_QUOTES_H

/* The types and prices that 17_asks.c and programs/quotes.c share. */

#include <peal/device/typed_message.h>

#define SHOPS 3
#define NO_SHOP SHOPS
#define TIMEOUT_NS 1000000000

/** To the broker from the host, and to each shop from the broker: an item. */
struct wanted {
	uint32_t item;
};

/** A shop's reply. A shop that does not have the item refuses instead. */
struct price {
	uint64_t cents;
};

/** To the host: the lowest price that the broker has found. */
struct offer {
	uint64_t cents;
	uint32_t item, shop; /* `NO_SHOP`: no shop has offered a price */
	/* shops that refused, shops that did not answer */
	uint32_t refused, silent;
};

PEAL_TYPED_MESSAGE(wanted, struct wanted, 1)
PEAL_TYPED_MESSAGE(price, struct price, 2)
PEAL_TYPED_MESSAGE(offer, struct offer, 3)

/* Returns a shop's price of an item; 0: the shop does not have the item. */
static PEAL_DEV PEAL_UNUSED inline uint64_t price_at(uint32_t shop,
						     uint32_t item)
{
	return shop == 1 && item % 2 ? 0 : 100 + (item * 7 + shop * 13) % 20;
}

/* Returns 1 if the shop does not answer a request for this item. */
static PEAL_DEV PEAL_UNUSED inline int says_nothing(uint32_t shop,
						    uint32_t item)
{
	return shop == 2 && item == 3;
}

#endif
