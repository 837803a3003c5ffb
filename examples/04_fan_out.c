/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows an actor with several ports. It splits an array into four parts and
 * sends each part to another worker. Two kernels have two workers each. Each
 * kernel has a device of its own, if there are two. The host adds up the four
 * sums. The handlers are in programs/fan_out.c.
 *
 * Prints the routes, then the number of arrays after all sums were compared.
 */
#include <string.h>

#include <peal/device/kernel.h>

#include "example.h"

PEAL_DECLARE_PROGRAM(fan_out);

#define PARTS 4
#define VALUES 1000
#define ROUNDS 100

/* Launches a kernel with two workers. */
static struct peal_kernel *launch_two(struct peal_runtime *runtime, int device)
{
	const struct peal_kernel_options options = {
		.size = sizeof(options),
		.workers = 2,
	};
	struct peal_kernel *kernel;

	check(peal_kernel_launch(runtime, device, &peal_program_fan_out,
				 &options, &kernel),
	      "launch a kernel");
	return kernel;
}

/* Spawns an actor on a worker of the kernel (0 or 1). Returns its address. */
static uint64_t spawn_on(struct peal_kernel *kernel, const char *handler,
			 uint32_t worker)
{
	const struct peal_actor_options options = {
		.size = sizeof(options),
		.worker = PEAL_WORKER(worker),
	};
	uint64_t address;

	check(peal_actor_spawn(kernel, handler, &options, &address),
	      "spawn an actor");
	return address;
}

/* Sends the numbers from `first` on and receives the sums of the parts. */
static void round_trip(struct peal_endpoint *host, uint64_t first)
{
	uint64_t values[VALUES], sum, expected = 0, total = 0;
	unsigned int seen = 0;

	for (int i = 0; i < VALUES; i++)
		expected += values[i] = first + (uint64_t)i;
	check(peal_send(host, 0, 0, values, sizeof(values), SECOND, NULL),
	      "send");
	for (int i = 0; i < PARTS; i++) {
		struct peal_received received;

		check(peal_receive(host, &sum, sizeof(sum), &received,
				   10 * SECOND),
		      "receive");
		/* The message type is the number of the part. */
		seen |= 1u << received.type;
		total += sum;
	}
	expect(seen == (1u << PARTS) - 1, "the parts that came back");
	expect(total == expected, "the sum of all parts");
}

int main(void)
{
	struct peal_runtime *runtime = open_runtime(2);
	int device[2] = { 0, device_of_part(runtime, 1) };
	struct peal_kernel *kernels[2] = { launch_two(runtime, device[0]),
					   launch_two(runtime, device[1]) };
	uint64_t split = spawn_on(kernels[0], "split", 0);
	struct peal_endpoint *host;

	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	link_up(runtime, "host to split", peal_endpoint_address(host), 0, split,
		VALUES * sizeof(uint64_t));
	for (uint32_t part = 0; part < PARTS; part++) {
		uint64_t adder =
			spawn_on(kernels[part / 2], "add_up", part % 2);
		char name[64];

		snprintf(name, sizeof(name),
			 "split to worker %u of kernel %u on device %d",
			 part % 2, part / 2, device[part / 2]);
		link_up(runtime, name, split, part, adder,
			VALUES * sizeof(uint64_t));
		link_up(runtime, "its sum to host", adder, 0,
			peal_endpoint_address(host), sizeof(uint64_t));
	}
	for (uint64_t i = 0; i < ROUNDS; i++)
		round_trip(host, i * i);
	printf("%d arrays of %d numbers added up by %d workers, all right\n",
	       ROUNDS, VALUES, PARTS);

	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
