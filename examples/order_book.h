/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_ORDER_BOOK_H
#define PEAL_EXAMPLES_ORDER_BOOK_H

#include <peal/device/message_of.h>

/* What 14_order_matching.c and programs/order_book.c agree on. */

/* What a book has room for. */
#define ORDERS 24 /* that rest, of both sides */
#define LEVELS 6 /* prices of a side */
#define WAITING 8 /* orders that came while it was busy with another one */
#define FILLS 4 /* of a report */

enum side { SIDE_BUY, SIDE_SELL };
enum kind { KIND_LIMIT, KIND_MARKET, KIND_CANCEL };

/** To a book: an order, or that one is to be cancelled. */
struct order {
	uint32_t id;
	uint32_t kind; /* enum kind */
	uint32_t side; /* enum side */
	uint32_t price; /* of a limit order */
	uint32_t quantity;
	uint32_t target; /* which order is to be cancelled */
};

/** To a book from itself: go on with what you are busy with. */
struct go_on {
	uint64_t none;
};

/* What has become of an order. */
enum outcome {
	OUTCOME_GOES_ON, /* there are more reports of it */
	OUTCOME_FILLED,
	OUTCOME_RESTS,
	OUTCOME_CANCELLED,
	OUTCOME_EMPTY, /* a market order, and nobody on the other side */
	OUTCOME_NO_ROOM, /* so many orders rest already */
	OUTCOME_NO_LEVEL, /* at so many prices already */
	OUTCOME_UNKNOWN, /* no such order rests */
	OUTCOME_SAME_ID, /* one of that number rests already */
	OUTCOME_INVALID,
	OUTCOME_BUSY, /* too many came while it was busy */
	OUTCOME_COUNT
};

/** A trade, at the price of the order that rested. */
struct fill {
	uint32_t order; /* that one */
	uint32_t price, quantity;
};

/** To the host: trades of an order, and what has become of it. */
struct report {
	uint32_t symbol; /* number of the book */
	uint32_t order;
	uint32_t outcome; /* enum outcome */
	uint32_t quantity; /* that is left */
	uint32_t n; /* trades */
	uint32_t reserved;
	struct fill fill[FILLS];
};

PEAL_MESSAGE_OF(order, struct order, 1)
PEAL_MESSAGE_OF(go_on, struct go_on, 2)
PEAL_MESSAGE_OF(report, struct report, 3)

#endif
