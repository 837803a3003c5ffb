/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pipeline by one call: the stages of 03_pipeline, each with two workers that take
 * batches in turn, over two devices. Batches come out in order all the same; who
 * pushes is told when the pipeline is full. The handlers are in programs/pipeline.c.
 */
#include <math.h>

#include <peal/device/kernel.h>

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

/* Pushes a batch, written where the first stage reads it; 0 if there is no room. */
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

/* Pulls the next batch, if there is one. */
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

static void print_stages(struct peal_pipeline *pipeline)
{
	struct peal_pipeline_stage_info stage;
	struct peal_pipeline_info info;

	check(peal_pipeline_info(pipeline, &info), "read the pipeline");
	printf("at most %llu batches inside, in %llu KiB of memory\n",
	       (unsigned long long)info.inside_most,
	       (unsigned long long)info.memory_bytes / 1024);
	for (uint32_t i = 0; i < info.stages; i++) {
		check(peal_pipeline_stage_info(pipeline, i, &stage),
		      "read a stage");
		printf("%s: %u workers, %llu batches, %llu bytes\n", stage.name,
		       stage.workers, (unsigned long long)stage.delivered,
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
	struct peal_pipeline_stage stages[STAGES] = {
		{ .program = program, .handler = "double_it", .device = 0 },
		{ .program = program, .handler = "take_root", .device = 1 },
		{ .program = program, .handler = "add_one", .device = 0 },
	};
	struct peal_runtime *runtime = open_runtime(2);
	struct peal_pipeline *pipeline;
	int pushed = 0, pulled = 0;

	for (int i = 0; i < STAGES; i++)
		stages[i].size = sizeof(stages[i]);
	check(peal_pipeline_create(runtime, stages, STAGES, &options,
				   &pipeline),
	      "make a pipeline");
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
