/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a barrier: four workers on two devices work in phases. In each phase
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

#define DEVICES 2
#define EACH 2
#define WORKERS (DEVICES * EACH)
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

/* Returns the sum that every worker must report. */
static uint64_t expected(void)
{
	uint64_t sum = 0;

	for (uint64_t phase = 1; phase <= PHASES; phase++)
		for (uint64_t i = 1; i <= WORKERS; i++)
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
	static const int devices[DEVICES] = { 0, 1 };
	struct peal_runtime *runtime = open_runtime(DEVICES);
	struct peal_kernel *kernels[DEVICES];
	struct peal_barrier *barrier;
	struct peal_endpoint *host;
	struct job job = { .workers = WORKERS, .phases = PHASES };

	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	/* A barrier with EACH participants on each device. */
	check(peal_barrier_create(runtime, devices, DEVICES, EACH, NULL,
				  &barrier),
	      "make a barrier");
	/* Host memory that all devices can access: a line per worker. */
	check(peal_memory_alloc(runtime, PEAL_HOST_MEMORY,
				WORKERS * PEAL_SHARED_LINE, &job.board),
	      "take memory that all devices see");
	for (int i = 0; i < DEVICES; i++)
		check(peal_kernel_launch(runtime, i, &peal_program_phases,
					 &options, &kernels[i]),
		      "launch a kernel");
	for (uint32_t self = 0; self < WORKERS; self++)
		enlist(runtime, kernels[self / EACH], barrier, host, self);

	/* Start all workers. Each one sends its result after the last phase. */
	for (job.self = 0; job.self < WORKERS; job.self++)
		check(peal_send(host, job.self, 0, &job, sizeof(job), SECOND,
				NULL),
		      "send");
	for (int i = 0; i < WORKERS; i++) {
		struct peal_received received;
		struct result result;

		check(peal_receive(host, &result, sizeof(result), &received,
				   60 * SECOND),
		      "receive");
		expect(result.sum == expected(), "a worker's sum");
	}
	printf("%d workers on %d devices met %d times, all sums right\n",
	       WORKERS, DEVICES, 2 * PHASES);

	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
