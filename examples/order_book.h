/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_ORDER_BOOK_H
#define PEAL_EXAMPLES_ORDER_BOOK_H

#include <peal/device/typed_message.h>

/* The types that 14_order_matching.c and programs/order_book.c share. */

/* Capacities of a book. */
#define ORDERS 24 /* resting orders of both sides */
#define LEVELS 6 /* prices of a side */
#define WAITING 8 /* orders that arrive while the book is busy */
#define FILLS 4 /* trades in a report */

enum side { SIDE_BUY, SIDE_SELL };
enum kind { KIND_LIMIT, KIND_MARKET, KIND_CANCEL };

/** To a book: a new order, or the cancellation of a resting order. */
struct order {
	uint32_t id;
	uint32_t kind; /* enum kind */
	uint32_t side; /* enum side */
	uint32_t price; /* of a limit order */
	uint32_t quantity;
	uint32_t target; /* id of the order to cancel */
};

/** To a book from itself: continue with the current order. */
struct go_on {
	uint64_t none;
};

/* Outcome of an order. */
enum outcome {
	OUTCOME_GOES_ON, /* more reports follow */
	OUTCOME_FILLED,
	OUTCOME_RESTS,
	OUTCOME_CANCELLED,
	/* market order: no resting order is left to trade with */
	OUTCOME_EMPTY,
	OUTCOME_FULL, /* ORDERS orders rest already */
	OUTCOME_NO_LEVEL, /* LEVELS prices are in use already */
	OUTCOME_UNKNOWN, /* no resting order has this id */
	OUTCOME_SAME_ID, /* a resting order has the same id */
	OUTCOME_INVALID,
	OUTCOME_BUSY, /* WAITING orders wait already */
	OUTCOME_COUNT
};

/** A trade, at the price of the resting order. */
struct fill {
	uint32_t order; /* id of the resting order */
	uint32_t price, quantity;
};

/** To the host: trades of an order, and its outcome. */
struct report {
	uint32_t symbol; /* number of the book */
	uint32_t order;
	uint32_t outcome; /* enum outcome */
	uint32_t quantity; /* quantity that has not traded */
	uint32_t n; /* number of trades */
	uint32_t reserved;
	struct fill fill[FILLS];
};

PEAL_TYPED_MESSAGE(order, struct order, 1)
PEAL_TYPED_MESSAGE(go_on, struct go_on, 2)
PEAL_TYPED_MESSAGE(report, struct report, 3)

#endif
