/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a data-parallel job: all devices add two vectors. Each device has a
 * part of the vectors in its own memory. The host scatters the parts, runs the
 * job and gathers the sums. The handler is in programs/vectors.c.
 *
 * Prints how many elements each device has added, then the number of sums after
 * all of them were compared.
 */
#include <inttypes.h>

#include <peal/device/kernel.h>
#include <peal/executor.h>
#include <peal/memory.h>
#include <peal/partition.h>

#include "example.h"

PEAL_DECLARE_PROGRAM(vectors);

#define COUNT 1000003
#define DEVICES PEAL_PARTS_MAX /* maximum */

static float a[COUNT], b[COUNT], sum[COUNT];

/*
 * Allocates memory on each device for its part. Stores the addresses in
 * `parts`.
 */
static void allocate(struct peal_runtime *runtime,
		     const struct peal_partition *p, uint64_t *parts)
{
	for (uint32_t i = 0; i < p->parts; i++)
		check(peal_memory_alloc(runtime, (int)i,
					peal_partition_length(p, i) *
						sizeof(float),
					&parts[i]),
		      "take memory");
}

/* Describes where a vector and its parts are. */
static struct peal_partition_memory vector(const struct peal_partition *p,
					   float *whole, const int *devices,
					   const uint64_t *parts)
{
	struct peal_partition_memory v = { .size = sizeof(v),
					   .element_bytes = sizeof(float),
					   .partition = p,
					   .whole_device = PEAL_HOST_MEMORY,
					   .whole = (uintptr_t)whole,
					   .devices = devices,
					   .parts = parts };

	return v;
}

int main(void)
{
	struct peal_runtime *runtime = open_runtime(DEVICES);
	int n = devices_in_use(runtime, DEVICES), devices[DEVICES];
	uint64_t parts[3][DEVICES];
	struct peal_job_argument arguments[3];
	struct peal_executor_report report;
	struct peal_executor *executor;
	struct peal_partition p;
	struct peal_partition_memory in_a, in_b, out;
	struct peal_job job = { .size = sizeof(job),
				.handler = "add",
				.count = COUNT,
				.n_arguments = 3,
				.arguments = arguments,
				.partition = &p };

	for (int i = 0; i < n; i++)
		devices[i] = i;
	for (uint32_t i = 0; i < COUNT; i++) {
		a[i] = (float)i;
		b[i] = (float)(COUNT - i) / 2;
	}
	/*
	 * One part for each device. Their lengths differ by at most one
	 * element.
	 */
	check(peal_partition_block(COUNT, (uint32_t)n, &p), "cut");
	for (int k = 0; k < 3; k++) {
		allocate(runtime, &p, parts[k]);
		arguments[k] = (struct peal_job_argument){
			.address = parts[k], .element_bytes = sizeof(float)
		};
	}
	in_a = vector(&p, a, devices, parts[0]);
	in_b = vector(&p, b, devices, parts[1]);
	out = vector(&p, sum, devices, parts[2]);
	/* The executor has a kernel on each device. */
	check(peal_executor_create(runtime, devices, (uint32_t)n,
				   &peal_program_vectors, NULL, &executor),
	      "make an executor");

	check(peal_scatter(runtime, &in_a), "scatter");
	check(peal_scatter(runtime, &in_b), "scatter");
	check(peal_executor_run(executor, &job, 10 * SECOND), "add");
	check(peal_gather(runtime, &out), "gather");

	check(peal_executor_report(executor, &report), "ask for the report");
	for (int i = 0; i < n; i++) {
		printf("device %d has added %" PRIu64 " elements\n", i,
		       report.part[i].elements);
		expect(report.part[i].elements ==
			       peal_partition_length(&p, (uint32_t)i),
		       "the part of a device");
	}
	for (uint32_t i = 0; i < COUNT; i++)
		expect(sum[i] == a[i] + b[i], "a sum");
	printf("%d sums are right\n", COUNT);

	check(peal_executor_destroy(executor), "end the executor");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
