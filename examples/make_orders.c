/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes orders for 14_order_matching.c, and the trades that they must lead to.
 * The files are equal on every machine. The book here is a plain list, which is
 * searched for the best order each time. It shares no code with the kernel. It
 * repeats two capacities of order_book.h.
 *
 *	make_orders ORDERS.txt TRADES.txt [N=1500]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Equal to ORDERS and LEVELS of order_book.h. */
#define MAX_ORDERS 24
#define PRICES 6

#define SYMBOLS 8
#define ORDERS_MAX 1000000

/* A book: its resting orders, the oldest first, and its reports. */
struct list {
	int n;
	struct entry {
		unsigned id, quantity, price;
		int buys;
	} entry[MAX_ORDERS];
	FILE *out;
	char *text;
	size_t bytes;
	unsigned middle; /* middle of the prices of new orders */
};

static const char *const names[SYMBOLS] = { "ALFA", "BETA", "GAMA", "DELT",
					    "EPSI", "ZETA", "ETA",  "THET" };
static uint64_t noise = 88172645463325252ull;

/* Returns a random number from 0 to n - 1, by xorshift64. */
static unsigned below(unsigned n)
{
	noise ^= noise << 13;
	noise ^= noise >> 7;
	noise ^= noise << 17;
	return (unsigned)((noise >> 33) % n);
}

/* Returns the index of a resting order, or -1. */
static int place_of(const struct list *l, unsigned id)
{
	for (int i = 0; i < l->n; i++)
		if (l->entry[i].id == id)
			return i;
	return -1;
}

static void take_out(struct list *l, int place)
{
	l->n--;
	memmove(l->entry + place, l->entry + place + 1,
		sizeof(*l->entry) * (size_t)(l->n - place));
}

/*
 * Returns the index of the resting order that an order trades with. That is the
 * oldest with the best price. limit: of the order; 0: any price. Returns -1 if
 * there is no such order.
 */
static int best_for(const struct list *l, int buys, unsigned limit)
{
	int best = -1;

	for (int i = 0; i < l->n; i++) {
		unsigned price = l->entry[i].price;

		if (l->entry[i].buys == buys ||
		    (limit && (buys ? price > limit : price < limit)))
			continue;
		if (best < 0 || (buys ? price < l->entry[best].price :
					price > l->entry[best].price))
			best = i;
	}
	return best;
}

/* Returns the number of prices that a side has besides `price`. */
static int other_prices(const struct list *l, int buys, unsigned price)
{
	unsigned seen[MAX_ORDERS];
	int n = 0;

	for (int i = 0; i < l->n; i++) {
		int known = l->entry[i].buys != buys ||
			    l->entry[i].price == price;

		for (int k = 0; k < n; k++)
			known |= seen[k] == l->entry[i].price;
		if (!known)
			seen[n++] = l->entry[i].price;
	}
	return n;
}

/* Returns 1 if a side has a resting order with this price. */
static int has_price(const struct list *l, int buys, unsigned price)
{
	for (int i = 0; i < l->n; i++)
		if (l->entry[i].buys == buys && l->entry[i].price == price)
			return 1;
	return 0;
}

/*
 * Ends an order after its trades: lets the remaining quantity rest if it can.
 * Returns the outcome.
 */
static const char *leave_rest(struct list *l, const struct entry *e)
{
	if (!e->quantity)
		return "filled";
	if (!e->price)
		return "empty";
	if (l->n == MAX_ORDERS)
		return "no-room";
	if (!has_price(l, e->buys, e->price) &&
	    other_prices(l, e->buys, e->price) == PRICES)
		return "no-level";
	l->entry[l->n++] = *e;
	return "rests";
}

/* Matches an order and writes its reports. Price 0: any price. */
static void match(struct list *l, const char *name, struct entry e)
{
	const char *end = NULL;

	if (!e.quantity)
		end = "invalid";
	else if (place_of(l, e.id) >= 0)
		end = "same-id";
	while (!end) {
		int place = best_for(l, e.buys, e.price);
		struct entry *other;
		unsigned n;

		if (place < 0 || !e.quantity) {
			end = leave_rest(l, &e);
			break;
		}
		other = &l->entry[place];
		n = other->quantity < e.quantity ? other->quantity : e.quantity;
		fprintf(l->out, "%s %u trades %u %u %u\n", name, e.id,
			other->id, n, other->price);
		e.quantity -= n;
		other->quantity -= n;
		if (!other->quantity)
			take_out(l, place);
	}
	fprintf(l->out, "%s %u %s %u\n", name, e.id, end, e.quantity);
}

static void cancel(struct list *l, const char *name, unsigned id,
		   unsigned target)
{
	int place = place_of(l, target);

	fprintf(l->out, "%s %u %s %u\n", name, id,
		place < 0 ? "unknown" : "cancelled",
		place < 0 ? 0 : l->entry[place].quantity);
	if (place >= 0)
		take_out(l, place);
}

/* Writes an order and its reports. */
static void next_order(struct list *l, const char *name, unsigned id,
		       FILE *orders)
{
	struct entry e = { id, 1 + below(90), 0, (int)below(2) };
	unsigned kind = below(100);

	l->middle += below(3) - 1;
	if (kind < 20 && l->n) { /* cancel a resting order, or a random id */
		unsigned target = below(8) ?
					  l->entry[below((unsigned)l->n)].id :
					  1 + below(id);

		fprintf(orders, "%u %s cancel %u\n", id, name, target);
		cancel(l, name, id, target);
		return;
	}
	if (kind >= 97)
		e.quantity = 0;
	else if (kind == 96 && l->n)
		e.id = l->entry[0].id;
	fprintf(orders, "%u %s %s ", e.id, name, e.buys ? "buy" : "sell");
	if (kind < 28) { /* a market order, sometimes for several orders */
		e.quantity *= 1 + below(8);
		fprintf(orders, "%u\n", e.quantity);
	} else { /* a limit order; some prices reach the other side */
		e.price = e.buys ? l->middle + 2 - below(9) :
				   l->middle - 2 + below(9);
		e.quantity *= below(10) ? 1 : 5;
		fprintf(orders, "%u %u\n", e.quantity, e.price);
	}
	match(l, name, e);
}

int main(int argc, char **argv)
{
	static struct list lists[SYMBOLS];
	unsigned long n = argc > 3 ? strtoul(argv[3], NULL, 10) : 1500;
	FILE *orders, *trades;
	unsigned symbol = 0;
	int bad;

	if (argc < 3 || argc > 4 || !n || n > ORDERS_MAX) {
		fprintf(stderr, "usage: make_orders ORDERS.txt TRADES.txt "
				"[N=1500, up to 1000000]\n");
		return 2;
	}
	orders = fopen(argv[1], "w");
	trades = fopen(argv[2], "w");
	for (int i = 0; i < SYMBOLS; i++) {
		lists[i].middle = 1000 + 100 * (unsigned)i;
		lists[i].out = open_memstream(&lists[i].text, &lists[i].bytes);
		if (!lists[i].out)
			return 1;
	}
	if (!orders || !trades) {
		perror("make_orders: cannot open a file");
		return 1;
	}
	for (unsigned id = 1; id <= n; id++) {
		/* first each symbol once, then short runs of one symbol */
		if (id <= SYMBOLS)
			symbol = id - 1;
		else if (!below(4))
			symbol = below(SYMBOLS);
		next_order(&lists[symbol], names[symbol], id, orders);
	}
	for (int i = 0; i < SYMBOLS; i++) {
		fclose(lists[i].out);
		fputs(lists[i].text, trades);
		free(lists[i].text);
	}
	bad = ferror(orders) || ferror(trades);
	bad |= fclose(orders);
	bad |= fclose(trades);
	if (bad)
		fprintf(stderr, "make_orders: cannot write\n");
	return bad != 0;
}
