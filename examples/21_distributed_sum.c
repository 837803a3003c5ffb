/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows an all-reduce. Each device adds up its part of the numbers. The
 * all-reduce then adds up the sums of the devices and stores the total on each
 * device. The handler is in programs/add_up.c.
 *
 * Prints the routes, the sum of each device, and the total.
 */
#include <peal/abi/collective.h>
#include <peal/communicator.h>
#include <peal/device/kernel.h>
#include <peal/memory.h>
#include <peal/peer.h>

#include "example.h"

PEAL_DECLARE_PROGRAM(add_up);

#define NUMBERS 1000003 /* prime: no number of devices divides it */

/* Message to the handler. It equals the type in programs/add_up.c. */
struct job {
	uint64_t numbers, n, sum;
};

static int64_t numbers[NUMBERS];

/* Makes positive and negative numbers. Returns their sum. */
static int64_t make_numbers(void)
{
	int64_t sum = 0;

	for (int64_t i = 0; i < NUMBERS; i++) {
		numbers[i] = i * 7919 % 2000003 - 1000000;
		sum += numbers[i];
	}
	return sum;
}

/*
 * Copies a device's part of the numbers to the device. Allocates memory there
 * for its own sum (`sum` of the result) and for the total (*total).
 */
static struct job hand_out(struct peal_runtime *runtime, int device,
			   int devices, uint64_t *total)
{
	struct job job;
	uint64_t first =
		peal_part(NUMBERS, (uint32_t)devices, (uint32_t)device, &job.n);

	check(peal_memory_alloc(runtime, device, job.n * sizeof(*numbers),
				&job.numbers),
	      "take memory");
	check(peal_memory_alloc(runtime, device, sizeof(int64_t), &job.sum),
	      "take memory");
	check(peal_memory_alloc(runtime, device, sizeof(int64_t), total),
	      "take memory");
	check(peal_peer_copy(runtime, device, job.numbers, PEAL_HOST_MEMORY,
			     (uintptr_t)(numbers + first),
			     job.n * sizeof(*numbers)),
	      "copy numbers to a device");
	return job;
}

/*
 * Launches a kernel on a device, lets it add up its part, and waits for the
 * sum.
 */
static void add_up(struct peal_runtime *runtime, int device,
		   const struct job *job)
{
	const struct peal_kernel_options options = { .size = sizeof(options),
						     .lanes = 32 };
	uint64_t actor = spawn(launch_as(runtime, device, &peal_program_add_up,
					 &options),
			       "add_up");
	struct peal_received received;
	struct peal_endpoint *host;
	int64_t sum;

	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	link_up(runtime, "host to device", peal_endpoint_address(host), 0,
		actor, sizeof(*job));
	link_up(runtime, "device to host", actor, 0,
		peal_endpoint_address(host), sizeof(sum));
	check(peal_send(host, 0, 0, job, sizeof(*job), SECOND, NULL), "send");
	check(peal_receive(host, &sum, sizeof(sum), &received, 60 * SECOND),
	      "receive");
	printf("device %d adds up %llu numbers: %lld\n", device,
	       (unsigned long long)job->n, (long long)sum);
}

int main(void)
{
	struct peal_runtime *runtime = open_runtime(PEAL_COMM_MAX);
	int devices[PEAL_COMM_MAX], n = devices_in_use(runtime, PEAL_COMM_MAX);
	uint64_t in[PEAL_COMM_MAX], out[PEAL_COMM_MAX];
	const struct peal_collective all = { .size = sizeof(all),
					     .kind = PEAL_ALL_REDUCE,
					     .element = PEAL_I64,
					     .reduction = PEAL_SUM,
					     .count = 1,
					     .in = in,
					     .out = out };
	int64_t expected = make_numbers(), total;
	struct peal_comm *group;

	for (int i = 0; i < n; i++) {
		struct job job = hand_out(runtime, i, n, &out[i]);

		devices[i] = i;
		in[i] = job.sum;
		add_up(runtime, i, &job);
	}
	/* Add up the sums of all devices. */
	check(peal_comm_create(runtime, devices, (uint32_t)n, NULL, &group),
	      "make a group");
	check(peal_collective_run(group, &all, 60 * SECOND), "all-reduce");
	for (int i = 0; i < n; i++) {
		check(peal_peer_copy(runtime, PEAL_HOST_MEMORY,
				     (uintptr_t)&total, i, out[i],
				     sizeof(total)),
		      "copy from a device");
		expect(total == expected, "a device's sum");
	}
	printf("all %d have %lld, as a plain loop has\n", n,
	       (long long)expected);

	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
