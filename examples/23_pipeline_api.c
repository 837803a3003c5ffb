/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a pipeline made by a single call. It has the stages of 03_pipeline.c,
 * which take the devices in turn. Each stage has two workers, which take batches
 * in turn. The results still arrive in order. With timeout 0 a push into a full
 * pipeline fails at once. The handlers are in programs/pipeline.c.
 *
 * Prints the largest number of batches inside and the counts of each stage.
 * Then prints the number of batches after all values were compared.
 */
#include <math.h>

#include <peal/device/kernel.h>
#include <peal/pipeline.h>

#include "example.h"

PEAL_DECLARE_PROGRAM(pipeline);

#define BATCHES 1000
#define FLOATS 256
#define BYTES (FLOATS * sizeof(float))
#define STAGES 3

static float input(int batch, int i)
{
	return (float)(batch * FLOATS + i) / 7;
}

/*
 * Writes a batch into the memory of the first stage's link and pushes it.
 * Returns 1, or 0 if the pipeline is full.
 */
static int try_push(struct peal_pipeline *pipeline, int batch)
{
	void *place;
	int result = peal_pipeline_reserve(pipeline, BYTES, 0, &place);

	if (result == PEAL_EAGAIN)
		return 0;
	check(result, "push");
	for (int i = 0; i < FLOATS; i++)
		((float *)place)[i] = input(batch, i);
	check(peal_pipeline_commit(pipeline, 0), "push");
	return 1;
}

/*
 * Pulls the next batch and checks it. Returns 1, or 0 if no batch arrives
 * within timeout_ns (0: does not wait).
 */
static int try_pull(struct peal_pipeline *pipeline, int batch,
		    int64_t timeout_ns)
{
	struct peal_received received;
	float values[FLOATS];
	int result = peal_pipeline_pull(pipeline, values, BYTES, &received,
					timeout_ns);

	if (result == PEAL_EAGAIN || result == PEAL_ETIMEDOUT)
		return 0;
	check(result, "pull");
	expect(received.sequence == (uint64_t)batch, "the order of batches");
	expect(received.length == BYTES, "the length of a batch");
	for (int i = 0; i < FLOATS; i++)
		expect(values[i] == sqrtf(input(batch, i) * 2) + 1, "a value");
	return 1;
}

/* Prints the counts of the pipeline and of each stage. */
static void print_stages(struct peal_pipeline *pipeline)
{
	struct peal_pipeline_stage_info stage;
	struct peal_pipeline_info info;

	check(peal_pipeline_info(pipeline, &info), "read the pipeline");
	printf("at most %llu batches inside, in %llu KiB of memory\n",
	       (unsigned long long)info.in_flight_max,
	       (unsigned long long)info.memory_bytes / 1024);
	for (uint32_t i = 0; i < info.stages; i++) {
		check(peal_pipeline_stage_info(pipeline, i, &stage),
		      "read a stage");
		printf("%s on device %d: %u workers, %llu batches, %llu bytes\n",
		       stage.name, stage.device, stage.workers,
		       (unsigned long long)stage.delivered,
		       (unsigned long long)stage.delivered_bytes);
		expect(stage.delivered == BATCHES, "batches of a stage");
	}
}

int main(void)
{
	const struct peal_program *program = &peal_program_pipeline;
	const struct peal_link_options link = { .size = sizeof(link),
						.capacity = 16,
						.message_bytes = BYTES };
	const struct peal_pipeline_options options = { .size = sizeof(options),
						       .workers = 2,
						       .link = &link };
	/* The three stages with their handlers. */
	struct peal_pipeline_stage stages[STAGES] = {
		{ .program = program, .handler = "double_it" },
		{ .program = program, .handler = "take_root" },
		{ .program = program, .handler = "add_one" },
	};
	struct peal_runtime *runtime = open_runtime(STAGES);
	struct peal_pipeline *pipeline;
	int pushed = 0, pulled = 0;

	for (int i = 0; i < STAGES; i++) {
		stages[i].size = sizeof(stages[i]);
		stages[i].device = device_of_part(runtime, i);
	}
	check(peal_pipeline_create(runtime, stages, STAGES, &options,
				   &pipeline),
	      "make a pipeline");
	/*
	 * Push while the pipeline has free slots. Wait for a result only if no
	 * batch could be pushed.
	 */
	while (pulled < BATCHES) {
		int more = pushed < BATCHES && try_push(pipeline, pushed);

		pushed += more;
		pulled += try_pull(pipeline, pulled, more ? 0 : 10 * SECOND);
	}
	check(peal_pipeline_drain(pipeline, 10 * SECOND), "drain");
	print_stages(pipeline);
	printf("%d batches of %d floats, all right and in order\n", pulled,
	       FLOATS);

	check(peal_pipeline_destroy(pipeline), "take the pipeline down");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
