/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of one's own in a device's memory: two actors put numbers, two others
 * take them, each number once. The host makes the queue and hands its address to
 * them; no message of it passes the host. The handlers are in
 * programs/own_queue.c.
 */
#include <inttypes.h>

#include <peal/device/kernel.h>

#include "example.h"
#include "numbers.h"

PEAL_DECLARE_PROGRAM(own_queue);
PEAL_ENDPOINT_OF(range)
PEAL_ENDPOINT_OF(taken)

#define EACH 2 /* actors that put, and that take */
#define NUMBERS 50000ull /* of each that puts */
#define ALL (EACH * NUMBERS)

/* An actor that knows the queue; actors take workers in turn. */
static uint64_t enlist(struct peal_runtime *runtime, struct peal_kernel *kernel,
		       struct peal_endpoint *host, const char *handler,
		       uint32_t port, const struct place *place)
{
	const struct peal_actor_options options = {
		.size = sizeof(options),
		.init = place,
		.init_bytes = sizeof(*place),
	};
	uint64_t actor;

	check(peal_actor_spawn(kernel, handler, &options, &actor),
	      "spawn an actor");
	link_up(runtime, handler, peal_endpoint_address(host), port, actor,
		sizeof(struct range));
	return actor;
}

int main(void)
{
	const struct peal_kernel_options options = {
		.size = sizeof(options),
		.workers = 2 * EACH,
		.mailbox_slots = 64, /* for what actors tell themselves */
	};
	const struct peal_queue_options wanted = {
		.size = sizeof(wanted),
		.producers = EACH,
		.consumers = EACH,
		.capacity = 256,
		.message_bytes = sizeof(uint64_t),
	};
	struct peal_runtime *runtime = open_runtime(1);
	struct peal_queue_placed queue;
	struct peal_kernel *kernel;
	struct peal_endpoint *host;
	struct place place = { 0 };
	uint64_t actor, n = 0, sum = 0;

	check(peal_queue_place(runtime, 0, &wanted, &queue), "place a queue");
	printf("%s of %u slots, %" PRIu64 " bytes on device 0\n",
	       peal_queue_kind_name(queue.kind), queue.capacity, queue.bytes);
	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	check(peal_kernel_launch(runtime, 0, &peal_program_own_queue, &options,
				 &kernel),
	      "launch");
	place.queue = queue.address;
	for (uint32_t i = 0; i < EACH; i++) {
		place.index = i;
		enlist(runtime, kernel, host, "put", i, &place);
		actor = enlist(runtime, kernel, host, "take", EACH + i, &place);
		check(peal_connect(runtime, actor, 0,
				   peal_endpoint_address(host), NULL, NULL),
		      "connect");
	}
	for (uint32_t i = 0; i < 2 * EACH; i++) {
		const struct range range = { i * NUMBERS, (i + 1) * NUMBERS };

		check(range_send(host, i, &range, SECOND), "send");
	}
	while (n < ALL) {
		struct peal_received received;
		const struct taken *taken;

		check(peal_receive_peek(host, &received, 60 * SECOND),
		      "receive");
		taken = taken_received(&received);
		expect(taken != NULL, "what came");
		n += taken->n;
		sum += taken->sum;
		check(peal_receive_release(host), "release");
	}
	printf("%" PRIu64 " numbers, sum %" PRIu64 "\n", n, sum);
	expect(n == ALL && sum == ALL * (ALL - 1) / 2, "the sum");

	check(peal_kernel_stop(kernel, 10 * SECOND), "stop the kernel");
	check(peal_memory_free(runtime, 0, queue.address), "free the queue");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
