/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows asks: requests between actors. The host asks a broker on a device for
 * an item. The broker asks three shops at the same time and names the cheapest
 * one. One shop refuses some items. Another shop once keeps an ask and never
 * answers, so the ask times out. The handlers are in programs/quotes.c.
 *
 * Prints the routes, an offer for each item, and the kernel's counts of asks.
 */
#include <inttypes.h>

#include <peal/device/kernel.h>
#include <peal/typed_endpoint.h>

#include "example.h"
#include "quotes.h"

PEAL_DECLARE_PROGRAM(quotes);
PEAL_TYPED_ENDPOINT(wanted)
PEAL_TYPED_ENDPOINT(offer)

#define ITEMS 6

static struct peal_endpoint *host;

/* Spawns an actor on a worker. Its state starts with the bytes at `init`. */
static uint64_t spawn_with(struct peal_kernel *kernel, const char *handler,
			   uint32_t worker, const void *init, uint64_t bytes)
{
	const struct peal_actor_options options = { .size = sizeof(options),
						    .worker =
							    PEAL_WORKER(worker),
						    .init = init,
						    .init_bytes = bytes };
	uint64_t address;

	check(peal_actor_spawn(kernel, handler, &options, &address),
	      "spawn an actor");
	return address;
}

/* Launches a kernel with a broker and the shops on two workers. */
static struct peal_kernel *start(struct peal_runtime *runtime)
{
	const struct peal_kernel_options options = {
		.size = sizeof(options),
		.workers = 2,
		.mailbox.slots = 64,
		.max_asks = SHOPS,
	};
	struct peal_kernel *kernel =
		launch_as(runtime, 0, &peal_program_quotes, &options);
	uint32_t shop[SHOPS], i;
	uint64_t broker;

	for (i = 0; i < SHOPS; i++)
		shop[i] = (uint32_t)spawn_with(kernel, "shop", i % 2, &i,
					       sizeof(i));
	/* The broker's state starts with the numbers of the shops. */
	broker = spawn_with(kernel, "broker", 0, shop, sizeof(shop));
	link_up(runtime, "host to broker", peal_endpoint_address(host), 0,
		broker, sizeof(struct wanted));
	link_up(runtime, "broker to host", broker, 0,
		peal_endpoint_address(host), sizeof(struct offer));
	return kernel;
}

/* Computes the offer that the broker must make. */
static struct offer cheapest(uint32_t item)
{
	struct offer best = { 0, item, NO_SHOP, 0, 0 };

	for (uint32_t i = 0; i < SHOPS; i++) {
		uint64_t cents = price_at(i, item);

		best.silent += (uint32_t)says_nothing(i, item);
		best.refused += !cents;
		if (!cents || says_nothing(i, item) ||
		    (best.shop != NO_SHOP && cents >= best.cents))
			continue;
		best.shop = i;
		best.cents = cents;
	}
	return best;
}

/* Asks the broker for an item, prints the offer and checks it. */
static void want(uint32_t item)
{
	const struct wanted wanted = { item };
	const struct offer right = cheapest(item);
	struct peal_received got;
	struct offer o;

	check(wanted_send(host, 0, &wanted, 10 * SECOND, NULL),
	      "tell the broker");
	check(peal_receive(host, &o, sizeof(o), &got, 10 * SECOND), "receive");
	expect(offer_received(&got) != NULL, "the offer's type");
	printf("item %u: shop %u, %" PRIu64 " cents; %u refused, %u silent\n",
	       o.item, o.shop, o.cents, o.refused, o.silent);
	expect(o.item == item && o.refused == right.refused &&
		       o.silent == right.silent && o.cents == right.cents,
	       "the offer");
}

int main(void)
{
	struct peal_runtime *runtime = open_runtime(1);
	struct peal_kernel_info info;
	struct peal_kernel *kernel;

	check(peal_endpoint_create(runtime, NULL, &host), "an endpoint");
	kernel = start(runtime);
	for (uint32_t item = 0; item < ITEMS; item++)
		want(item);
	/* End the input. The drained kernel has closed all asks. */
	check(peal_send_end(host, 0, 10 * SECOND), "end");
	check(peal_kernel_drain(kernel, 10 * SECOND), "drain");
	check(peal_kernel_info(kernel, &info), "read the kernel");
	printf("%" PRIu64 " asks: %" PRIu64 " answered, %" PRIu64
	       " refused, %" PRIu64 " timed out\n",
	       info.asks.asked, info.asks.answered, info.asks.error_replies,
	       info.asks.timed_out);
	expect(info.asks.asked == SHOPS * ITEMS && info.asks.timed_out == 1 &&
		       info.asks.asked == info.asks.answered +
						  info.asks.error_replies +
						  info.asks.timed_out,
	       "what became of the asks");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
