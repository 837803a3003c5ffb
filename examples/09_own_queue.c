/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a queue that the program places in the memory of a device. Two actors
 * push numbers, and two other actors pop them. Each number is popped once. The
 * host creates the queue and sends its address to the actors. Its messages
 * never pass through the host. The handlers are in programs/own_queue.c.
 *
 * Prints the kind of queue, its slots and bytes. Then prints the routes, the
 * count of the numbers and their sum.
 */
#include <inttypes.h>

#include <peal/device/kernel.h>
#include <peal/device_queue.h>
#include <peal/memory.h>
#include <peal/queue.h>
#include <peal/typed_endpoint.h>

#include "example.h"
#include "numbers.h"

PEAL_DECLARE_PROGRAM(own_queue);
PEAL_TYPED_ENDPOINT(range)
PEAL_TYPED_ENDPOINT(taken)

#define EACH 2 /* actors that push, and actors that pop */
#define NUMBERS 50000ull /* pushed by each actor that pushes */
#define ALL (EACH * NUMBERS)

/*
 * Spawns an actor with a state that starts with *place. Links the host to it.
 * The runtime assigns the workers in turn.
 */
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
		.mailbox.slots = 64, /* for messages of actors to themselves */
	};
	const struct peal_queue_options wanted = {
		.size = sizeof(wanted),
		.max_producers = EACH,
		.max_consumers = EACH,
		.capacity = 256,
		.message_bytes = sizeof(uint64_t),
	};
	struct peal_runtime *runtime = open_runtime(1);
	struct peal_device_queue queue;
	struct peal_kernel *kernel;
	struct peal_endpoint *host;
	struct place place = { 0 };
	uint64_t actor, n = 0, sum = 0;

	/* Create the queue in the memory of device 0. */
	check(peal_device_queue_create(runtime, 0, &wanted, &queue),
	      "place a queue");
	printf("%s of %u slots, %" PRIu64 " bytes on device 0\n",
	       peal_queue_kind_name(queue.kind), queue.capacity, queue.bytes);
	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	check(peal_kernel_launch(runtime, 0, &peal_program_own_queue, &options,
				 &kernel),
	      "launch");
	/* The state of each actor starts with the address of the queue. */
	place.queue = queue.address;
	for (uint32_t i = 0; i < EACH; i++) {
		place.index = i;
		enlist(runtime, kernel, host, "put", i, &place);
		actor = enlist(runtime, kernel, host, "take", EACH + i, &place);
		check(peal_connect(runtime, actor, 0,
				   peal_endpoint_address(host), NULL, NULL),
		      "connect");
	}
	/*
	 * Start all actors. Actors that pop ignore the numbers in the message.
	 */
	for (uint32_t i = 0; i < 2 * EACH; i++) {
		const struct range range = { i * NUMBERS, (i + 1) * NUMBERS };

		check(range_send(host, i, &range, SECOND, NULL), "send");
	}
	/* Receive the partial sums of the actors that pop. */
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

	/*
	 * The actors that pop send themselves messages without end, so stop the
	 * kernel. After that no handler uses the queue, and its memory can be
	 * freed.
	 */
	check(peal_kernel_stop(kernel, 10 * SECOND), "stop the kernel");
	check(peal_memory_free(runtime, 0, queue.address), "free the queue");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
