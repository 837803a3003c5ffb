/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler of 14_order_matching.c: the limit order book of a symbol. Orders
 * with the best price trade first. At one price the oldest order trades first.
 *
 * An order may trade with many resting orders, but a report holds only FILLS
 * trades. With the remaining trades the book continues at a message to itself.
 * Orders that arrive before that message wait in the book, so no order
 * overtakes another.
 */
#include <peal/device/kernel.h>

#include "../order_book.h"

/* A resting order. Quantity 0: a free entry. */
struct resting {
	uint32_t id, side, price, quantity;
	uint32_t next; /* the next order at its price: index + 1; 0: none */
};

/* A price and the queue of its orders (index + 1). */
struct level {
	uint32_t price, first, last;
};

struct book {
	uint32_t symbol; /* number of the book; the host fills it in */
	uint32_t busy; /* 1: a message to itself is in flight */
	uint32_t begun; /* 1: `order` has traded and continues */
	uint32_t n_levels[2]; /* of each side */
	uint32_t first_waiting, n_waiting;
	struct level level[2][LEVELS]; /* the best price first */
	struct resting resting[ORDERS];
	struct order order; /* the current order */
	struct order waiting[WAITING]; /* a ring buffer */
	struct report report;
};

/* ---- levels (called by the leader only) ---------------------------------- */

/* Returns 1 if a price of a side is as good as another price, or better. */
static PEAL_DEV int reaches(uint32_t side, uint32_t price, uint32_t other)
{
	return side == SIDE_BUY ? price >= other : price <= other;
}

/*
 * Returns the index that a price has, or would have, among the levels of a
 * side.
 */
static PEAL_DEV uint32_t level_of(const struct book *b, uint32_t side,
				  uint32_t price)
{
	uint32_t i = 0;

	while (i < b->n_levels[side] && b->level[side][i].price != price &&
	       reaches(side, b->level[side][i].price, price))
		i++;
	return i;
}

/* Removes a level without orders. */
static PEAL_DEV void level_close(struct book *b, uint32_t side, uint32_t at)
{
	uint32_t i;

	b->n_levels[side]--;
	for (i = at; i < b->n_levels[side]; i++)
		b->level[side][i] = b->level[side][i + 1];
}

/* Inserts a level. The side has fewer than LEVELS levels. */
static PEAL_DEV void level_open(struct book *b, uint32_t side, uint32_t at,
				uint32_t price)
{
	uint32_t i;

	for (i = b->n_levels[side]++; i > at; i--)
		b->level[side][i] = b->level[side][i - 1];
	b->level[side][at].price = price;
	b->level[side][at].first = b->level[side][at].last = 0;
}

/* ---- orders (called by the leader only) ---------------------------------- */

/*
 * Removes an order from its level. `before` is the order in front of it, or 0.
 */
static PEAL_DEV void leave(struct book *b, uint32_t side, uint32_t at,
			   uint32_t before, uint32_t place)
{
	struct level *level = &b->level[side][at];
	struct resting *r = &b->resting[place - 1];

	if (before)
		b->resting[before - 1].next = r->next;
	else
		level->first = r->next;
	if (level->last == place)
		level->last = before;
	r->quantity = 0;
	if (!level->first)
		level_close(b, side, at);
}

/*
 * Appends the rest of the current order to the queue at its price. Returns the
 * outcome.
 */
static PEAL_DEV uint32_t rest(struct book *b)
{
	const struct order *o = &b->order;
	uint32_t at = level_of(b, o->side, o->price), place = 0;
	struct level *level = &b->level[o->side][at];
	struct resting *r = b->resting;

	while (place < ORDERS && r[place].quantity)
		place++;
	if (place == ORDERS)
		return OUTCOME_FULL;
	if (at == b->n_levels[o->side] || level->price != o->price) {
		if (b->n_levels[o->side] == LEVELS)
			return OUTCOME_NO_LEVEL;
		level_open(b, o->side, at, o->price);
	}
	r[place].id = o->id;
	r[place].side = o->side;
	r[place].price = o->price;
	r[place].quantity = o->quantity;
	r[place].next = 0;
	if (level->last)
		r[level->last - 1].next = place + 1;
	else
		level->first = place + 1;
	level->last = place + 1;
	return OUTCOME_RESTS;
}

/* Cancels the resting order `place` (index + 1). Returns the outcome. */
static PEAL_DEV uint32_t cancel(struct book *b, uint32_t place)
{
	const struct resting *r = &b->resting[place - 1];
	uint32_t at = level_of(b, r->side, r->price), before = 0;
	uint32_t i = b->level[r->side][at].first;

	while (i != place) {
		before = i;
		i = b->resting[i - 1].next;
	}
	b->order.quantity = r->quantity;
	leave(b, r->side, at, before, place);
	return OUTCOME_CANCELLED;
}

/*
 * Returns the resting order that the current order trades with next (index +
 * 1), or 0.
 */
static PEAL_DEV uint32_t partner(const struct book *b)
{
	const struct order *o = &b->order;
	const struct level *best = b->level[!o->side];

	if (!o->quantity || !b->n_levels[!o->side] ||
	    (o->kind == KIND_LIMIT && !reaches(o->side, o->price, best->price)))
		return 0;
	return best->first;
}

/*
 * Trades until the report is full or no partner is left. Then lets the
 * remaining quantity rest if it can. Returns the outcome.
 */
static PEAL_DEV uint32_t trade(struct book *b)
{
	struct order *o = &b->order;
	struct report *report = &b->report;
	uint32_t place;

	while ((place = partner(b)) && report->n < FILLS) {
		struct resting *r = &b->resting[place - 1];
		struct fill *fill = &report->fill[report->n++];

		fill->order = r->id;
		fill->price = r->price;
		fill->quantity = o->quantity < r->quantity ? o->quantity :
							     r->quantity;
		o->quantity -= fill->quantity;
		r->quantity -= fill->quantity;
		if (!r->quantity)
			leave(b, r->side, 0, 0, place);
	}
	if (place)
		return OUTCOME_GOES_ON;
	if (!o->quantity)
		return OUTCOME_FILLED;
	if (o->kind == KIND_MARKET)
		return OUTCOME_EMPTY;
	return rest(b);
}

/* ---- messages ------------------------------------------------------------ */

/*
 * Stores an order that arrives while the book is busy. Returns 0, or 1 if the
 * queue is full and a report has to be sent.
 */
static PEAL_DEV int wait_for(struct book *b, const struct order *o)
{
	if (b->n_waiting < WAITING) {
		b->waiting[(b->first_waiting + b->n_waiting++) % WAITING] = *o;
		return 0;
	}
	b->report.order = o->id;
	b->report.outcome = OUTCOME_BUSY;
	b->report.quantity = o->quantity;
	return 1;
}

/*
 * Handles the current order. `same` is the resting order with the id that the
 * current order names (index + 1), or 0. Returns the outcome.
 */
static PEAL_DEV uint32_t handle(struct book *b, uint32_t same)
{
	const struct order *o = &b->order;

	if (o->kind == KIND_CANCEL && !same)
		return OUTCOME_UNKNOWN;
	if (o->kind == KIND_CANCEL)
		return cancel(b, same);
	if (b->begun)
		return trade(b);
	if (o->kind > KIND_MARKET || o->side > SIDE_SELL || !o->quantity)
		return OUTCOME_INVALID;
	if (same)
		return OUTCOME_SAME_ID;
	return trade(b);
}

/*
 * Fills in the report. Then makes the next waiting order the current one,
 * unless the current order continues.
 */
static PEAL_DEV void conclude(struct book *b, uint32_t outcome)
{
	b->report.order = b->order.id;
	b->report.outcome = outcome;
	b->report.quantity = b->order.quantity;
	b->begun = outcome == OUTCOME_GOES_ON;
	b->busy = b->begun || b->n_waiting;
	if (b->begun || !b->n_waiting)
		return;
	b->order = b->waiting[b->first_waiting];
	b->first_waiting = (b->first_waiting + 1) % WAITING;
	b->n_waiting--;
}

/* Collective: returns the resting order with an id (index + 1), or 0. */
static PEAL_DEV uint32_t find(const struct peal_worker *w, const struct book *b,
			      uint32_t id)
{
	uint64_t place = 0;
	uint32_t i;

	for (i = peal_lane(w); i < ORDERS; i += peal_lanes(w))
		if (b->resting[i].quantity && b->resting[i].id == id)
			place = i + 1; /* at most one lane finds the order */
	return (uint32_t)peal_sum(w, place);
}

static PEAL_DEV int book(struct peal_worker *w)
{
	struct book *b = (struct book *)peal_state(w);
	const struct order *o = order_data(w);
	int busy = b->busy, result = 0;
	struct go_on go_on = { 0 };
	uint32_t same;

	if (!o && !go_on_data(w))
		return PEAL_EPROTO;
	/* all lanes have read the state before the leader writes */
	peal_sync(w);
	if (peal_is_leader(w)) {
		b->report.symbol = b->symbol;
		b->report.n = 0;
		if (o && busy)
			result = wait_for(b, o);
		else if (o)
			b->order = *o;
	}
	/* A busy book sends a report only if it could not store the order. */
	if (o && busy) {
		if (!peal_broadcast(w, (uint64_t)result))
			return 0;
		return report_emit(w, 0, &b->report, 0);
	}
	peal_sync(w);
	/*
	 * Handle the current order and send its report. Continue later if it is
	 * not done.
	 */
	same = find(w, b,
		    b->order.kind == KIND_CANCEL ? b->order.target :
						   b->order.id);
	if (peal_is_leader(w))
		conclude(b, handle(b, same));
	peal_sync(w);
	result = report_emit(w, 0, &b->report, 0);
	return result || !b->busy ? result :
				    go_on_tell(w, peal_self(w), &go_on, 0);
}

#define HANDLERS(X) X(book, sizeof(struct book), PEAL_LIMITS(1, 1, 1, 0, 0))
PEAL_PROGRAM(order_book, HANDLERS);
