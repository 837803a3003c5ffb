/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes orders for 14_order_matching, the same on every machine, and what has to
 * become of them: by a book that is a plain list, in which the best order is
 * looked for each time. It shares no code with the kernel, and no numbers but what
 * a book has room for, which are below.
 *
 *	make_orders ORDERS.txt TRADES.txt [N=1500]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ORDERS and LEVELS of order_book.h. */
#define ROOM 24
#define PRICES 6

#define SYMBOLS 8
#define ORDERS_MAX 1000000

/* What rests, oldest first. */
struct list {
	int n;
	struct entry {
		unsigned id, quantity, price;
		int buys;
	} entry[ROOM];
	FILE *out;
	char *text;
	size_t bytes;
	unsigned middle; /* of the prices that are asked for just now */
};

static const char *const names[SYMBOLS] = { "ALFA", "BETA", "GAMA", "DELT",
					    "EPSI", "ZETA", "ETA",  "THET" };
static uint64_t noise = 88172645463325252ull;

/* xorshift64: a number from 0 to n - 1. */
static unsigned below(unsigned n)
{
	noise ^= noise << 13;
	noise ^= noise >> 7;
	noise ^= noise << 17;
	return (unsigned)((noise >> 33) % n);
}

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

/* The oldest of those with the best price that somebody would trade with, whose
 * limit is 0 if any price will do; -1: there is none. */
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

/* How many prices a side has beside a given one. */
static int other_prices(const struct list *l, int buys, unsigned price)
{
	unsigned seen[ROOM];
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

/* Whether somebody at a side has that price. */
static int has_price(const struct list *l, int buys, unsigned price)
{
	for (int i = 0; i < l->n; i++)
		if (l->entry[i].buys == buys && l->entry[i].price == price)
			return 1;
	return 0;
}

/* What becomes of an order that has traded all it could. */
static const char *leave_rest(struct list *l, const struct entry *e)
{
	if (!e->quantity)
		return "filled";
	if (!e->price)
		return "empty";
	if (l->n == ROOM)
		return "no-room";
	if (!has_price(l, e->buys, e->price) &&
	    other_prices(l, e->buys, e->price) == PRICES)
		return "no-level";
	l->entry[l->n++] = *e;
	return "rests";
}

/* An order, at any price if that is 0. */
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

/* Writes an order, and what becomes of it. */
static void next_order(struct list *l, const char *name, unsigned id,
		       FILE *orders)
{
	struct entry e = { id, 1 + below(90), 0, (int)below(2) };
	unsigned kind = below(100);

	l->middle += below(3) - 1;
	if (kind < 20 && l->n) { /* one that rests, or long ago did */
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
	if (kind < 28) { /* at any price, of many orders at times */
		e.quantity *= 1 + below(8);
		fprintf(orders, "%u\n", e.quantity);
	} else { /* most at a distance, some reach the other side */
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
		if (id <= SYMBOLS) /* each once, then a few of one in a row */
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
