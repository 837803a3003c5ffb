/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_ORDER_TEXT_H
#define PEAL_EXAMPLES_ORDER_TEXT_H

/*
 * Text of orders and reports, for 14_order_matching.c. Lines of orders:
 *
 *	17 ABC buy 300 1050	id, symbol, quantity, limit price
 *	18 ABC sell 200		market order: without a price
 *	19 ABC cancel 17	cancels order 17
 *
 * Lines of reports:
 *
 *	ABC 18 trades 17 200 1050	resting order, quantity, price
 *	ABC 18 filled 0			outcome, quantity left
 */

#include <string.h>

#include "example.h"
#include "order_book.h"

#define SYMBOLS 8

/* the symbol of each book, in order of appearance */
static char symbol_names[SYMBOLS][8];

/* Returns the number of a symbol. A new symbol gets the next number. */
static inline uint32_t symbol_of(const char *name)
{
	uint32_t i = 0;

	while (i < SYMBOLS - 1 && *symbol_names[i] &&
	       strcmp(symbol_names[i], name))
		i++;
	if (!*symbol_names[i])
		snprintf(symbol_names[i], sizeof(symbol_names[i]), "%s", name);
	expect(!strcmp(symbol_names[i], name), "more symbols than books");
	return i;
}

/* Parses a line into an order. Stores the number of its symbol in *symbol. */
static inline struct order order_of_line(const char *line, uint32_t *symbol)
{
	struct order o = { .kind = KIND_LIMIT };
	char name[8], what[8], more;
	uint32_t number = 0;
	int n = sscanf(line, "%u %7s %7s %u %u %c", &o.id, name, what, &number,
		       &o.price, &more);
	int buys = n > 3 && !strcmp(what, "buy");

	expect((buys || (n > 3 && !strcmp(what, "sell")) ||
		(n == 4 && !strcmp(what, "cancel"))) &&
		       n < 6,
	       line);
	o.side = buys ? SIDE_BUY : SIDE_SELL;
	if (n == 4)
		o.kind = *what == 'c' ? KIND_CANCEL : KIND_MARKET;
	if (o.kind == KIND_CANCEL)
		o.target = number;
	else
		o.quantity = number;
	*symbol = symbol_of(name);
	return o;
}

/* Writes the lines of a report. */
static inline void report_print(FILE *file, const struct report *r)
{
	const char *name = symbol_names[r->symbol];
	static const char *const outcomes[OUTCOME_COUNT] = {
		"goes-on", "filled",  "rests",	  "cancelled",
		"empty",   "no-room", "no-level", "unknown",
		"same-id", "invalid", "busy",
	};

	expect(r->n <= FILLS && r->outcome < OUTCOME_COUNT, "a report");
	for (uint32_t i = 0; i < r->n; i++)
		fprintf(file, "%s %u trades %u %u %u\n", name, r->order,
			r->fill[i].order, r->fill[i].quantity,
			r->fill[i].price);
	if (r->outcome != OUTCOME_GOES_ON)
		fprintf(file, "%s %u %s %u\n", name, r->order,
			outcomes[r->outcome], r->quantity);
}

static inline FILE *open_text(const char *path)
{
	FILE *file = fopen(path, "r");

	if (!file)
		perror(path);
	expect(file != NULL, "the file cannot be opened");
	return file;
}

/* Ends the example unless the next lines of the file equal `text`. */
static inline void expect_lines(FILE *file, const char *text)
{
	char line[128];

	while (*text) {
		size_t n = strchr(text, '\n') + 1 - text;

		if (!fgets(line, sizeof(line), file))
			*line = 0;
		if (strlen(line) != n || strncmp(line, text, n))
			fprintf(stderr, "expected: %sgot:      %.*s", line,
				(int)n, text);
		expect(strlen(line) == n && !strncmp(line, text, n), "a line");
		text += n;
	}
}

#endif
