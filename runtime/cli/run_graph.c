/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels and links of `peal run`: set-up, shutdown, counters. */
#include <stdio.h>
#include <string.h>

#include <peal/metrics.h>
#include <peal/pipeline.h>
#include "runtime/cli/run.h"

/* Target bytes of a link with large items: more only adds latency. */
#define LINK_BYTES (4u << 20)
#define CAPACITY_LEAST 4
#define CAPACITY_MOST 1024
/* Slot size for lines: most lines fit and need no slab. */
#define LINE_SLOT_BYTES 256
#define SLAB_BYTES_MOST (64ull << 20)
#define SLAB_MESSAGES_LEAST 3
#define END_NS INT64_C(2000000000)
#define STOP_NS INT64_C(200000000)

static uint32_t default_capacity(const struct peali_run *run)
{
	uint32_t capacity = CAPACITY_MOST;

	if (run->reader.stream.format == &peali_format_lines)
		return CAPACITY_MOST;
	while (capacity > CAPACITY_LEAST &&
	       capacity * run->message_bytes > LINK_BYTES)
		capacity /= 2;
	return capacity;
}

static struct peal_link_options link_options(const struct peali_run *run)
{
	struct peal_link_options options = { .size = sizeof(options) };
	uint64_t each = PEAL_SLAB_ROUND(run->message_bytes);

	options.message_bytes = run->message_bytes;
	options.capacity = run->options.capacity ? run->options.capacity :
						   default_capacity(run);
	if (run->message_bytes <= 512)
		return options;
	if (run->reader.stream.format == &peali_format_lines)
		options.slot_bytes = LINE_SLOT_BYTES;
	/* One more, as a message is contiguous and may leave a gap. */
	options.slab_bytes = ((uint64_t)options.capacity + 1) * each;
	if (options.slot_bytes && options.slab_bytes > 8 * each)
		options.slab_bytes = 8 * each;
	if (options.slab_bytes > SLAB_BYTES_MOST)
		options.slab_bytes = SLAB_BYTES_MOST;
	if (options.slab_bytes < SLAB_MESSAGES_LEAST * each)
		options.slab_bytes = SLAB_MESSAGES_LEAST * each;
	return options;
}

/*
 * Returns the required route of a link. Two stages on one device need no peer
 * access, so there PEER also permits LOCAL.
 */
static uint32_t required(const struct peali_run *run, uint32_t i)
{
	const struct peali_stage *stages = run->pipeline.stages;
	uint32_t require = run->options.require;

	if (i == 0)
		return 0;
	if (require != PEAL_ROUTE_PEER ||
	    stages[i - 1].device != stages[i].device)
		return require;
	peali_say("'%s' and '%s' are on device %d: their route is local, "
		  "which --require peer accepts",
		  run->nodes[i - 1].text, run->nodes[i].text, stages[i].device);
	return PEAL_ROUTE_PEER | PEAL_ROUTE_LOCAL;
}

static struct peal_pipeline_stage stage_of(const struct peali_run *run,
					   const struct peal_program *program,
					   uint32_t i)
{
	const struct peali_stage *stage = run->pipeline.stages + i;

	return (struct peal_pipeline_stage){
		.size = sizeof(struct peal_pipeline_stage),
		.device = stage->device,
		.program = program,
		.handler = "stage",
		.init = &stage->config,
		.init_bytes = sizeof(stage->config),
		.lanes = run->options.lanes,
		.require = required(run, i),
		.name = run->nodes[i].text,
	};
}

/* Lists the links. Link i leads to stage i, the last link to the receiver. */
static void list_links(struct peali_run *run)
{
	uint32_t n = run->pipeline.n_stages;

	for (uint32_t i = 0; i <= n; i++) {
		run->links[i].link = peal_pipeline_link(run->flow, i, 0);
		run->links[i].from = i ? run->nodes[i - 1].text : "input";
		run->links[i].to = i < n ? run->nodes[i].text : "output";
	}
	run->n_links = n + 1;
}

int peali_run_build(struct peali_run *run)
{
	uint32_t n = run->pipeline.n_stages;
	struct peal_pipeline_stage stages[PEALI_STAGES_MAX];
	const struct peal_program *program;
	struct peal_link_options link;
	/* a failed item counts as not delivered, and later items continue */
	const struct peal_pipeline_options options = {
		.size = sizeof(options),
		.link = &link,
		.name = "peal run",
		.skip_failed = 1,
	};

	run->message_bytes = sizeof(struct peal_item) +
			     (uint64_t)run->reader.stream.item_bytes_max;
	link = link_options(run);
	run->options.capacity = link.capacity;
	if (run->options.require && n < 2)
		peali_say("--require has no effect: one stage has no link to "
			  "another");
	program = peal_program_find(run->runtime, "peal_stages");
	if (!program) {
		peali_run_fail_call(run, "find the built-in stages");
		return -1;
	}
	for (uint32_t i = 0; i < n; i++)
		peali_stage_describe(run->pipeline.stages + i,
				     run->nodes[i].text,
				     sizeof(run->nodes[i].text));
	for (uint32_t i = 0; i < n; i++)
		stages[i] = stage_of(run, program, i);
	if (peal_pipeline_create(run->runtime, stages, n, &options,
				 &run->flow) < 0) {
		peali_run_fail_call(run, "make the pipeline");
		return -1;
	}
	list_links(run);
	return 0;
}

/*
 * Reports kernels that failed by themselves. They are the cause of later
 * failures.
 */
static void tell_failed_kernels(struct peali_run *run)
{
	for (uint32_t i = 0; i < run->pipeline.n_stages; i++) {
		const struct peali_run_node *node = run->nodes + i;

		if (node->info.state == PEAL_KERNEL_FAILED)
			peali_say("the kernel '%s' on device %d failed: %s "
				  "(%s)",
				  node->text, node->info.device,
				  peal_error_text(node->info.result),
				  peal_error_name(node->info.result));
	}
}

static void read_counts(struct peali_run *run)
{
	for (uint32_t i = 0; i < run->n_links; i++)
		if (peal_link_info(run->links[i].link, &run->links[i].info) < 0)
			peali_run_fail_call(run, "read a link's counters");
	for (uint32_t i = 0; i < run->pipeline.n_stages; i++) {
		struct peali_run_node *node = run->nodes + i;

		if (peal_kernel_info(peal_pipeline_kernel(run->flow, i),
				     &node->info) < 0 ||
		    peal_pipeline_stage_info(run->flow, i, &node->stage) < 0)
			peali_run_fail_call(run, "read a kernel's counters");
		if (run->pipeline.stages[i].config.kind != PEAL_STAGE_CRC32C)
			continue;
		node->has_state =
			peal_actor_state(run->runtime,
					 peal_pipeline_actor(run->flow, i, 0),
					 &node->state,
					 sizeof(node->state)) == 0;
		if (!node->has_state && run->ended)
			peali_run_fail_call(run, "read a stage's state");
	}
	tell_failed_kernels(run);
}

void peali_run_collect(struct peali_run *run)
{
	run->ended = run->finished;
	if (!run->finished) {
		peal_pipeline_stop(run->flow, STOP_NS);
	} else if (peal_pipeline_drain(run->flow, END_NS) < 0) {
		run->ended = 0;
		peali_run_fail_call(run, "wait for the pipeline's end");
	}
	if (run->options.profile &&
	    peal_metrics_snapshot(run->runtime, &run->after) < 0)
		peali_run_fail_call(run, "read the runtime's counters");
	read_counts(run);
}
