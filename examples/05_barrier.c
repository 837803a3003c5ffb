/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a barrier: two workers on each device work in phases. In each phase
 * every worker writes a number, waits at the barrier, and reads all numbers.
 * The host takes no part in the barrier. The handler is in programs/phases.c.
 *
 * Prints the routes, then how often the workers met after all sums were
 * compared.
 */
#include <peal/barrier.h>
#include <peal/device/kernel.h>
#include <peal/memory.h>

#include "example.h"

PEAL_DECLARE_PROGRAM(phases);

#define DEVICES 8 /* maximum */
#define EACH 2
#define PHASES 500

/* As in programs/phases.c: the message to the handler, and its result. */
struct job {
	uint64_t board;
	uint32_t workers, self, phases, reserved;
};

struct result {
	uint32_t self, reserved;
	uint64_t sum;
};

/* Returns the sum that each of n workers must report. */
static uint64_t expected(uint32_t n)
{
	uint64_t sum = 0;

	for (uint64_t phase = 1; phase <= PHASES; phase++)
		for (uint64_t i = 1; i <= n; i++)
			sum += phase * i * phase * i;
	return sum;
}

/*
 * Spawns the actor of worker `self` and lets the worker join the barrier. Links
 * the actor with the host in both directions.
 */
static void enlist(struct peal_runtime *runtime, struct peal_kernel *kernel,
		   struct peal_barrier *barrier, struct peal_endpoint *host,
		   uint32_t self)
{
	const struct peal_actor_options options = {
		.size = sizeof(options),
		.worker = PEAL_WORKER(self % EACH),
	};
	uint64_t actor;

	check(peal_actor_spawn(kernel, "work", &options, &actor),
	      "spawn an actor");
	check(peal_barrier_join(barrier, kernel, self % EACH), "join");
	link_up(runtime, "host to worker", peal_endpoint_address(host), self,
		actor, sizeof(struct job));
	link_up(runtime, "worker to host", actor, 0,
		peal_endpoint_address(host), sizeof(struct result));
}

int main(void)
{
	const struct peal_kernel_options options = {
		.size = sizeof(options),
		.workers = EACH,
	};
	static const int devices[DEVICES] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct peal_runtime *runtime = open_runtime(DEVICES);
	uint32_t n = (uint32_t)devices_in_use(runtime, DEVICES);
	struct peal_kernel *kernels[DEVICES];
	struct peal_barrier *barrier;
	struct peal_endpoint *host;
	struct job job = { .workers = n * EACH, .phases = PHASES };

	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	/* A barrier with EACH participants on each device. */
	check(peal_barrier_create(runtime, devices, n, EACH, NULL, &barrier),
	      "make a barrier");
	/* Host memory that all devices can access: a line per worker. */
	check(peal_memory_alloc(runtime, PEAL_HOST_MEMORY,
				job.workers * PEAL_SHARED_LINE, &job.board),
	      "take memory that all devices see");
	for (uint32_t i = 0; i < n; i++)
		check(peal_kernel_launch(runtime, devices[i],
					 &peal_program_phases, &options,
					 &kernels[i]),
		      "launch a kernel");
	for (uint32_t self = 0; self < job.workers; self++)
		enlist(runtime, kernels[self / EACH], barrier, host, self);

	/* Start all workers. Each one sends its result after the last phase. */
	for (job.self = 0; job.self < job.workers; job.self++)
		check(peal_send(host, job.self, 0, &job, sizeof(job), SECOND,
				NULL),
		      "send");
	for (uint32_t i = 0; i < job.workers; i++) {
		struct peal_received received;
		struct result result;

		check(peal_receive(host, &result, sizeof(result), &received,
				   60 * SECOND),
		      "receive");
		expect(result.sum == expected(job.workers), "a worker's sum");
	}
	printf("%u workers on %u device%s met %d times, all sums right\n",
	       job.workers, n, n == 1 ? "" : "s", 2 * PHASES);

	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
