/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a data-parallel fit by least squares. Each device has a part of the
 * rows and a copy of the model. In each round every device computes the
 * gradient of its rows. An all-reduce adds up the gradients. Every device then
 * changes its model by the same step, so the models stay equal bit by bit. The
 * result must match the normal equations. The handler is in
 * programs/least_squares.c.
 *
 * Prints the routes, each weight beside the exact one, and the number of
 * rounds.
 */
#include <math.h>
#include <string.h>

#include <peal/abi/collective.h>
#include <peal/communicator.h>
#include <peal/device/kernel.h>
#include <peal/memory.h>
#include <peal/peer.h>

#include "example.h"
#include "rows.h"

PEAL_DECLARE_PROGRAM(least_squares);

#define ROUNDS 70
#define BYTES (WEIGHTS * sizeof(double))

/*
 * Allocates memory on a device and copies `bytes` bytes from the host. If
 * `from` is NULL, the memory keeps its zeros. Returns the address.
 */
static uint64_t place(struct peal_runtime *runtime, int device,
		      const void *from, uint64_t bytes)
{
	uint64_t at;

	check(peal_memory_alloc(runtime, device, bytes, &at), "take memory");
	if (from)
		check(peal_peer_copy(runtime, device, at, PEAL_HOST_MEMORY,
				     (uintptr_t)from, bytes),
		      "copy to a device");
	return at;
}

/*
 * Copies a device's rows to the device and allocates a model of zeros there.
 * Launches a kernel and links its actor with the host in both directions.
 */
static struct fit enlist(struct peal_runtime *runtime,
			 struct peal_endpoint *host, int device, int devices)
{
	const struct peal_kernel_options lanes = { .size = sizeof(lanes),
						   .lanes = 32 };
	struct fit fit = { .rate = 1.0 / ROWS };
	const struct peal_actor_options options = { .size = sizeof(options),
						    .init = &fit,
						    .init_bytes = sizeof(fit) };
	uint64_t actor, first = peal_part(ROWS, (uint32_t)devices,
					  (uint32_t)device, &fit.n);

	fit.rows = place(runtime, device, rows + first, fit.n * sizeof(*rows));
	fit.weights = place(runtime, device, NULL, BYTES);
	fit.gradient = place(runtime, device, NULL, BYTES);
	fit.sum = place(runtime, device, NULL, BYTES);
	check(peal_actor_spawn(launch_as(runtime, device,
					 &peal_program_least_squares, &lanes),
			       "descend", &options, &actor),
	      "spawn an actor");
	link_up(runtime, "host to device", peal_endpoint_address(host),
		(uint32_t)device, actor, sizeof(struct lap));
	link_up(runtime, "device to host", actor, 0,
		peal_endpoint_address(host), sizeof(struct lap));
	return fit;
}

/*
 * Runs one round: all devices compute their gradients, then the all-reduce adds
 * them up.
 */
static void go_round(struct peal_endpoint *host, struct peal_comm *group,
		     const struct peal_collective *all, int n, uint64_t number)
{
	struct lap lap = { number };
	struct peal_received received;

	for (int i = 0; i < n; i++)
		check(peal_send(host, (uint32_t)i, 1, &lap, sizeof(lap), SECOND,
				NULL),
		      "send");
	for (int i = 0; i < n; i++)
		check(peal_receive(host, &lap, sizeof(lap), &received,
				   60 * SECOND),
		      "receive");
	check(peal_collective_run(group, all, 60 * SECOND), "all-reduce");
}

int main(void)
{
	struct peal_runtime *runtime = open_runtime(PEAL_COMM_MAX);
	int devices[PEAL_COMM_MAX], n = devices_in_use(runtime, PEAL_COMM_MAX);
	uint64_t in[PEAL_COMM_MAX], out[PEAL_COMM_MAX];
	const struct peal_collective all = { .size = sizeof(all),
					     .kind = PEAL_ALL_REDUCE,
					     .element = PEAL_F64,
					     .reduction = PEAL_SUM,
					     .count = WEIGHTS,
					     .in = in,
					     .out = out };
	double expected[WEIGHTS], weights[2][WEIGHTS];
	struct peal_endpoint_options ends = { .size = sizeof(ends) };
	struct fit fits[PEAL_COMM_MAX];
	struct peal_endpoint *host;
	struct peal_comm *group;

	make_rows();
	solve(expected);
	ends.max_ports = ends.max_inputs = (uint32_t)n;
	check(peal_endpoint_create(runtime, &ends, &host), "make an endpoint");
	for (int i = 0; i < n; i++) {
		devices[i] = i;
		fits[i] = enlist(runtime, host, i, n);
		in[i] = fits[i].gradient;
		out[i] = fits[i].sum;
	}
	check(peal_comm_create(runtime, devices, (uint32_t)n, NULL, &group),
	      "make a group");
	for (uint64_t number = 0; number < ROUNDS; number++)
		go_round(host, group, &all, n, number);
	for (int i = 0; i < n; i++) {
		check(peal_peer_copy(runtime, PEAL_HOST_MEMORY,
				     (uintptr_t)weights[i > 0], i,
				     fits[i].weights, BYTES),
		      "copy from a device");
		expect(!i || !memcmp(weights[0], weights[1], BYTES),
		       "two models, which are to be the same bits");
	}
	for (int j = 0; j < WEIGHTS; j++) {
		printf("weight %d: %.9f, by the normal equations %.9f\n", j,
		       weights[0][j], expected[j]);
		expect(fabs(weights[0][j] - expected[j]) < 1e-9, "a weight");
	}
	printf("%d rows, %d rounds, the same bits on all %d devices\n", ROWS,
	       ROUNDS, n);
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
