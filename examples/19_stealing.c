/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows load balancing. Counting the divisors of a large number takes longer
 * than of a small one. All devices, with two workers each, do the job twice. At
 * first each device gets an equal part, and the last one has the largest
 * numbers. Then free workers take tasks, on the same device and across devices.
 * The handler is in programs/vectors.c.
 *
 * Prints, for both runs, the imbalance, the time, and the work of each device.
 */
#include <inttypes.h>

#include <peal/device/kernel.h>
#include <peal/executor.h>
#include <peal/memory.h>
#include <peal/partition.h>

#include "example.h"

PEAL_DECLARE_PROGRAM(vectors);

#define COUNT 12000
#define DEVICES PEAL_PARTS_MAX /* maximum */

/* The correct results. */
static uint32_t due[COUNT];

/* Computes them: each number divides its multiples. */
static void count_divisors(void)
{
	for (uint32_t d = 1; d < COUNT; d++)
		for (uint32_t n = d; n < COUNT; n += d)
			due[n]++;
}

/* Runs the job, prints the work of each device, and checks all results. */
static void share(struct peal_executor *executor, struct peal_job *job,
		  uint32_t sharing, const char *name, uint32_t *divisors)
{
	struct peal_executor_report r;

	for (uint64_t i = 0; i < COUNT; i++)
		divisors[i] = UINT32_MAX;
	job->schedule = sharing;
	check(peal_executor_run(executor, job, 60 * SECOND), "count divisors");
	check(peal_executor_report(executor, &r), "ask for the report");
	printf("%s: imbalance %.2f, all through after %.1f ms\n", name,
	       r.imbalance, (double)r.ns / 1e6);
	for (uint32_t i = 0; i < r.devices; i++)
		printf("  device %d: %" PRIu64 " numbers in %" PRIu64
		       " tasks, busy for %.1f ms\n",
		       i, r.part[i].elements, r.part[i].tasks,
		       (double)r.part[i].busy_ns / 1e6);
	expect(r.elements == COUNT, "how many were done");
	for (uint64_t i = 0; i < COUNT; i++)
		expect(divisors[i] == due[i], "how many divisors a number has");
}

int main(void)
{
	struct peal_runtime *runtime = open_runtime(DEVICES);
	const struct peal_executor_options options = {
		.size = sizeof(options),
		.workers = 2,
	};
	int devices[DEVICES], n = devices_in_use(runtime, DEVICES);
	uint64_t memory, address[DEVICES];
	struct peal_job_argument divisors = { .address = address,
					      .element_bytes = 4 };
	struct peal_job job = { .size = sizeof(job),
				.handler = "divide",
				.count = COUNT,
				.grain = 20,
				.n_arguments = 1,
				.arguments = &divisors };
	struct peal_executor *executor;

	count_divisors();
	/* All devices write to the same host memory. */
	check(peal_memory_alloc(runtime, PEAL_HOST_MEMORY, 4 * COUNT, &memory),
	      "take memory");
	for (int i = 0; i < n; i++) {
		devices[i] = i;
		address[i] = memory;
	}
	check(peal_executor_create(runtime, devices, (uint32_t)n,
				   &peal_program_vectors, &options, &executor),
	      "make an executor");
	share(executor, &job, PEAL_SCHEDULE_STATIC, "equal parts",
	      (uint32_t *)(uintptr_t)memory);
	share(executor, &job, PEAL_SCHEDULE_GUIDED,
	      "who is free, shrinking tasks", (uint32_t *)(uintptr_t)memory);
	check(peal_executor_destroy(executor), "end the executor");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
