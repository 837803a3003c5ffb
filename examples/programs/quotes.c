/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handlers of 17_asks.c. The broker asks all shops at the same time. When
 * each ask is answered or has timed out, it names the cheapest shop.
 */
#include <peal/device/kernel.h>

#include "../quotes.h"

struct shop {
	uint32_t number;
};

/* Replies with the price of an item. Refuses if the shop does not have it. */
static PEAL_DEV int shop(struct peal_worker *w)
{
	const struct shop *self = (const struct shop *)peal_state(w);
	const struct wanted *in = wanted_data(w);
	struct price out;

	if (!in)
		return PEAL_EPROTO;
	if (says_nothing(self->number, in->item)) {
		peal_request_current(w); /* keeps the ask open */
		return 0;
	}
	out.cents = price_at(self->number, in->item);
	if (!out.cents)
		return peal_reply_error(w, 0, PEAL_ENOENT);
	return price_reply(w, 0, &out); /* a reply to an ask ignores the port */
}

struct broker {
	uint32_t shop[SHOPS]; /* numbers of the shops; the host fills them in */
	uint32_t answers;
	uint64_t ask[SHOPS]; /* number of the ask to each shop */
	struct offer best;
};

/* Asks all shops. */
static PEAL_DEV int begin(struct peal_worker *w, struct wanted wanted)
{
	struct broker *b = (struct broker *)peal_state(w);
	struct offer none = { 0, wanted.item, NO_SHOP, 0, 0 };
	uint64_t ask = 0;
	uint32_t i;
	int result = 0;

	for (i = 0; i < SHOPS && !result; i++) {
		result = wanted_ask(w, b->shop[i], &wanted, price_number,
				    TIMEOUT_NS, &ask);
		if (peal_is_leader(w))
			b->ask[i] = ask;
	}
	if (peal_is_leader(w)) {
		b->answers = 0;
		b->best = none;
	}
	return result;
}

/*
 * Handles the end of one ask: a price, a refusal or a timeout. Called by the
 * leader only.
 */
static PEAL_DEV void take(struct peal_worker *w, struct broker *b)
{
	const struct price *price = price_data(w);
	uint32_t i;

	b->answers++;
	if (!price) { /* no price: an error */
		b->best.silent += peal_answer_error(w) == PEAL_ETIMEDOUT;
		b->best.refused += peal_answer_error(w) == PEAL_ENOENT;
		return;
	}
	if (b->best.shop != NO_SHOP && price->cents >= b->best.cents)
		return;
	for (i = 0; i < SHOPS; i++)
		if (b->ask[i] == peal_answer_current(w))
			b->best.shop = i;
	b->best.cents = price->cents;
}

/* Handles an item of the host, or the end of an ask. */
static PEAL_DEV int broker(struct peal_worker *w)
{
	struct broker *b = (struct broker *)peal_state(w);

	if (wanted_data(w))
		return begin(w, *wanted_data(w));
	if (!peal_answer_current(w))
		return PEAL_EPROTO;
	if (peal_is_leader(w))
		take(w, b);
	peal_sync(w); /* all lanes see the new state */
	return b->answers == SHOPS ? offer_emit(w, 0, &b->best, 0) : 0;
}

#define HANDLERS(X)                                                            \
	X(shop, sizeof(struct shop), PEAL_SINK)                                \
	X(broker, sizeof(struct broker), PEAL_LIMITS(1, 1, SHOPS, 0, 0))
PEAL_PROGRAM(quotes, HANDLERS);
