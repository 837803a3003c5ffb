/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels and links of `peal run`, from set-up to what they counted. */
#include "runtime/cli/run.h"

#include <stdio.h>
#include <string.h>

/* In a link, of items that are large: more makes latency, not throughput. */
#define LINK_BYTES (4u << 20)
#define CAPACITY_LEAST 4
#define CAPACITY_MOST 1024
/* Slots for lines: most of them fit and need no slab. */
#define LINE_SLOT_BYTES 256
#define SLAB_BYTES_MOST (64ull << 20)
#define LANES_ON_GPU 128
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
	/* One more, as a message lies in one piece and leaves a gap. */
	options.slab_bytes = ((uint64_t)options.capacity + 1) * each;
	if (options.slot_bytes && options.slab_bytes > 8 * each)
		options.slab_bytes = 8 * each;
	if (options.slab_bytes > SLAB_BYTES_MOST)
		options.slab_bytes = SLAB_BYTES_MOST;
	if (options.slab_bytes < SLAB_MESSAGES_LEAST * each)
		options.slab_bytes = SLAB_MESSAGES_LEAST * each;
	return options;
}

/* Emulated lanes take turns on one core; those of a GPU run together. */
static uint32_t lanes_on(struct peal_runtime *runtime, int device)
{
	struct peal_device_info info;

	if (peal_device_info(runtime, device, &info) < 0 || info.emulated)
		return 1;
	return LANES_ON_GPU;
}

static int launch(struct peali_run *run, const struct peal_program *program,
		  uint32_t i)
{
	const struct peali_stage *stage = run->pipeline.stages + i;
	struct peali_run_node *node = run->nodes + i;
	const struct peal_kernel_options options = {
		.size = sizeof(options),
		.lanes = run->options.lanes ?
				 run->options.lanes :
				 lanes_on(run->runtime, stage->device),
		.end_with_inputs = 1,
		.name = node->text,
	};
	const struct peal_actor_options actor = {
		.size = sizeof(actor),
		.init = &stage->config,
		.init_bytes = sizeof(stage->config),
	};
	char doing[160];

	snprintf(doing, sizeof(doing), "launch '%s' on device %d", node->text,
		 stage->device);
	if (peal_kernel_launch(run->runtime, stage->device, program, &options,
			       &node->kernel) < 0 ||
	    peal_actor_spawn(node->kernel, "stage", &actor, &node->actor) < 0) {
		peali_run_fail_call(run, doing);
		return -1;
	}
	return 0;
}

/* Messages between two stages of one device need no peer access at all. */
static uint32_t required(const struct peali_run *run, uint32_t i)
{
	const struct peali_stage *stages = run->pipeline.stages;
	uint32_t require = run->options.require;

	if (i == 0 || i == run->pipeline.n_stages)
		return 0;
	if (require != PEAL_ROUTE_PEER ||
	    stages[i - 1].device != stages[i].device)
		return require;
	peali_say("'%s' and '%s' are on device %d: their route is local, "
		  "which --require peer lets pass",
		  run->nodes[i - 1].text, run->nodes[i].text, stages[i].device);
	return PEAL_ROUTE_PEER | PEAL_ROUTE_LOCAL;
}

/* Link i leads to stage i; the last one to the sink. */
static int connect_link(struct peali_run *run, uint32_t i,
			struct peal_link_options options)
{
	uint32_t n = run->pipeline.n_stages;
	struct peali_run_link *link = run->links + i;
	uint64_t from = i ? run->nodes[i - 1].actor :
			    peal_endpoint_address(run->source);
	uint64_t to = i < n ? run->nodes[i].actor :
			      peal_endpoint_address(run->sink);
	char doing[256];

	link->from = i ? run->nodes[i - 1].text : "input";
	link->to = i < n ? run->nodes[i].text : "output";
	options.require = required(run, i);
	if (peal_connect(run->runtime, from, 0, to, &options, &link->link) <
	    0) {
		snprintf(doing, sizeof(doing), "connect '%s' to '%s'",
			 link->from, link->to);
		peali_run_fail_call(run, doing);
		return -1;
	}
	run->n_links = i + 1;
	return 0;
}

static int make_endpoint(struct peali_run *run, const char *name,
			 struct peal_endpoint **out)
{
	const struct peal_endpoint_options options = {
		.size = sizeof(options),
		.name = name,
	};

	if (peal_endpoint_create(run->runtime, &options, out) < 0) {
		peali_run_fail_call(run, "make an endpoint");
		return -1;
	}
	return 0;
}

int peali_run_build(struct peali_run *run)
{
	uint32_t n = run->pipeline.n_stages;
	const struct peal_program *program;
	struct peal_link_options options;

	run->message_bytes = sizeof(struct peal_item) +
			     (uint64_t)run->reader.stream.item_bytes_max;
	options = link_options(run);
	run->options.capacity = options.capacity;
	if (run->options.require && n < 2)
		peali_say("--require asks for nothing here: one stage has no "
			  "link to another");
	program = peal_program_find(run->runtime, "stages");
	if (!program) {
		peali_run_fail_call(run, "find the built-in stages");
		return -1;
	}
	for (uint32_t i = 0; i < n; i++)
		peali_stage_describe(run->pipeline.stages + i,
				     run->nodes[i].text,
				     sizeof(run->nodes[i].text));
	if (make_endpoint(run, "input", &run->source) ||
	    make_endpoint(run, "output", &run->sink))
		return -1;
	for (uint32_t i = 0; i < n; i++)
		if (launch(run, program, i))
			return -1;
	for (uint32_t i = 0; i <= n; i++)
		if (connect_link(run, i, options))
			return -1;
	return 0;
}

/* A kernel that failed by itself is the cause of what failed after it. */
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

		if (peal_kernel_info(node->kernel, &node->info) < 0)
			peali_run_fail_call(run, "read a kernel's counters");
		if (run->pipeline.stages[i].config.kind != PEAL_STAGE_CRC32C)
			continue;
		node->has_state = peal_actor_state(run->runtime, node->actor,
						   &node->state,
						   sizeof(node->state)) == 0;
		if (!node->has_state && run->ended)
			peali_run_fail_call(run, "read a stage's state");
	}
	tell_failed_kernels(run);
}

void peali_run_collect(struct peali_run *run)
{
	uint32_t n = run->pipeline.n_stages;
	int halted = !run->finished;

	/* All are told first, so that they end at the same time. */
	for (uint32_t i = 0; halted && i < n; i++)
		peal_kernel_stop(run->nodes[i].kernel, 0);
	run->ended = !halted;
	for (uint32_t i = 0; i < n; i++) {
		int result = peal_kernel_wait(run->nodes[i].kernel,
					      halted ? STOP_NS : END_NS);

		if (result < 0 && !halted) {
			run->ended = 0;
			peali_run_fail_call(run, "wait for a kernel's end");
		}
	}
	read_counts(run);
}
