/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows order books as actors, one for each symbol, on all devices in turn. The
 * orders come from data/orders.txt. The trades must equal data/trades.txt, byte
 * by byte. make_orders.c wrote both files. The handler is in
 * programs/order_book.c. order_text.h explains the lines of the files.
 *
 * Prints the routes and the number of orders. Without TRADES it prints the
 * trades instead of comparing them.
 *
 *	14_order_matching [ORDERS [TRADES]]
 */
#include <peal/device/kernel.h>
#include <peal/typed_endpoint.h>

#include "example.h"
#include "order_book.h"
#include "order_text.h"

PEAL_DECLARE_PROGRAM(order_book);
PEAL_TYPED_ENDPOINT(report)

/* The host's data of a book. */
static struct symbol {
	uint64_t book; /* address */
	uint32_t out; /* orders in flight */
	FILE *file; /* writes to text */
	char *text; /* lines of all its reports */
	size_t bytes;
} symbols[SYMBOLS];

static uint32_t devices; /* that have books, at most SYMBOLS */

/*
 * Launches a kernel on each device and spawns the books. Each book's state
 * starts with its number. The books of a kernel share the ports of its first
 * book.
 */
static void open_books(struct peal_runtime *runtime, struct peal_endpoint *host)
{
	/*
	 * For messages of a book to itself. Each book has at most one of them,
	 * so 64 slots are enough.
	 */
	const struct peal_kernel_options mail = { .size = sizeof(mail),
						  .mailbox.slots = 64 };
	struct peal_actor_options o = { .size = sizeof(o) };
	struct peal_kernel *kernel[SYMBOLS];
	uint64_t at = peal_endpoint_address(host);
	uint32_t i;

	for (i = 0; i < devices; i++)
		kernel[i] = launch_as(runtime, (int)i, &peal_program_order_book,
				      &mail);
	o.init = &i;
	o.init_bytes = sizeof(i);
	for (i = 0; i < SYMBOLS; i++) {
		if (i >= devices)
			o.share_ports_with = symbols[i % devices].book;
		check(peal_actor_spawn(kernel[i % devices], "book", &o,
				       &symbols[i].book),
		      "spawn a book");
		symbols[i].file =
			open_memstream(&symbols[i].text, &symbols[i].bytes);
		expect(symbols[i].file != NULL, "memory for text");
	}
	for (i = 0; i < devices; i++) {
		link_up(runtime, "orders", at, i, symbols[i].book, 0);
		link_up(runtime, "reports", symbols[i].book, 0, at,
			sizeof(struct report));
	}
}

/* Receives a report and appends its lines to the text of its book. */
static void take(struct peal_endpoint *host)
{
	struct peal_received got;
	const struct report *r;

	check(peal_receive_peek(host, &got, 10 * SECOND), "receive");
	r = report_received(&got);
	expect(r && r->symbol < SYMBOLS, "what came");
	report_print(symbols[r->symbol].file, r);
	symbols[r->symbol].out -= r->outcome != OUTCOME_GOES_ON;
	check(peal_receive_release(host), "release");
}

/*
 * Sends an order. A busy book stores up to WAITING orders. The link has slots
 * for the orders of all its books. So the host waits here for a report, and
 * never for a free slot.
 */
static void send(struct peal_endpoint *host, uint32_t symbol,
		 const struct order *o)
{
	while (symbols[symbol].out == WAITING)
		take(host);
	check(peal_send_to(host, symbol % devices, symbols[symbol].book,
			   order_number, o, sizeof(*o), SECOND, NULL),
	      "send an order");
	symbols[symbol].out++;
}

int main(int argc, char **argv)
{
	FILE *orders =
		     open_text(argc > 1 ? argv[1] : EXAMPLE_DATA "/orders.txt"),
	     *trades = NULL;
	struct peal_runtime *runtime = open_runtime(SYMBOLS);
	struct peal_endpoint *host;
	uint32_t n, symbol;
	char line[128];

	devices = (uint32_t)devices_in_use(runtime, SYMBOLS);
	if (argc != 2)
		trades = open_text(argc > 2 ? argv[2] :
					      EXAMPLE_DATA "/trades.txt");
	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	open_books(runtime, host);
	/* Send the orders of the file, in order. */
	for (n = 0; fgets(line, sizeof(line), orders); n++) {
		struct order o = order_of_line(line, &symbol);

		send(host, symbol, &o);
	}
	/*
	 * Receive the remaining reports, then compare or print the text of each
	 * book.
	 */
	for (symbol = 0; symbol < SYMBOLS; symbol++) {
		while (symbols[symbol].out)
			take(host);
		fclose(symbols[symbol].file);
		if (trades)
			expect_lines(trades, symbols[symbol].text);
		else
			fputs(symbols[symbol].text, stdout);
	}
	expect(!trades || fgetc(trades) == EOF, "more than was recorded");
	printf("%u orders%s\n", n, trades ? ", all as recorded" : "");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
