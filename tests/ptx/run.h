/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_RUN_H
#define PTX_RUN_H

/* For tests: runs an entry of PTX text on memory of the test. */

#include "machine.h"

#include <pthread.h>

#include "peal_test.h"

/* A range of memory that the device may access, and the first fault. */
struct run {
	void *memory;
	uint64_t bytes;
	enum ptx_fault fault;
	char text[1024]; /* of the report */
	uint32_t block, lane, ptx_line;
	uint64_t address;
	struct ptx_options options;
	uint32_t dynamic_shared_bytes;
	int (*tears)(void *context, int device, uint64_t address);
};

static inline int run_range(void *context, int device, uint64_t address,
			    uint64_t *from, uint64_t *bytes)
{
	struct run *run = context;

	(void)device;
	if (address - (uintptr_t)run->memory >= run->bytes)
		return 0;
	*from = (uintptr_t)run->memory;
	*bytes = run->bytes;
	return 1;
}

static inline void run_fault(void *context, const struct ptx_report *report)
{
	struct run *run = context;

	run->fault = report->fault;
	run->block = report->block;
	run->lane = report->lane;
	run->ptx_line = report->ptx_line;
	run->address = report->address;
	snprintf(run->text, sizeof(run->text), "%s: %s: %s: %s: %s",
		 ptx_fault_name(report->fault), report->entry, report->opcode,
		 report->file, report->text);
}

/* Loads text that must be correct. */
static inline struct ptx_module *run_load(const char *text)
{
	struct ptx_error error = { 0 };
	struct ptx_module *m = ptx_load(text, strlen(text), "test", &error);

	if (!m)
		fprintf(stderr, "%s\n", error.text);
	CHECK(m != NULL);
	return m;
}

struct run_thread {
	pthread_t thread;
	struct ptx_grid *grid;
	uint32_t block;
};

static inline void *run_block(void *context)
{
	struct run_thread *t = context;

	ptx_grid_run_block(t->grid, t->block);
	return NULL;
}

/* Creates a grid of the entry `t` of a module. Its one parameter is the address
 * of run->memory. */
static inline struct ptx_grid *run_create(struct run *run,
					  struct ptx_module *module,
					  uint32_t blocks, uint32_t threads,
					  uint32_t cluster, int device)
{
	uint64_t params[1] = { (uintptr_t)run->memory };
	struct ptx_launch launch = {
		.function = ptx_find(module, "t"),
		.blocks = blocks,
		.threads = threads,
		.cluster = cluster,
		.dynamic_shared_bytes = run->dynamic_shared_bytes,
		.device = device,
		.params = params,
		.host = { run_range, NULL, NULL, run_fault, run,
			  .tears = run->tears },
		.options = run->options,
	};
	struct ptx_grid *grid;

	CHECK(launch.function != NULL);
	run->fault = PTX_FAULT_NONE;
	run->text[0] = 0;
	grid = ptx_grid_create(&launch);
	CHECK(grid != NULL);
	return grid;
}

/* Runs the entry `t` of a module. Each block has a thread. */
static inline void run_grid(struct run *run, struct ptx_module *module,
			    uint32_t blocks, uint32_t threads, uint32_t cluster)
{
	struct run_thread t[64];
	uint32_t i;

	CHECK(blocks <= 64);
	t[0].grid = run_create(run, module, blocks, threads, cluster, 0);
	for (i = 0; i < blocks; i++) {
		t[i].grid = t[0].grid;
		t[i].block = i;
		CHECK_EQ(pthread_create(&t[i].thread, NULL, run_block, &t[i]),
			 0);
	}
	for (i = 0; i < blocks; i++)
		CHECK_EQ(pthread_join(t[i].thread, NULL), 0);
	CHECK_EQ(ptx_grid_faulted(t[0].grid), run->fault != PTX_FAULT_NONE);
	ptx_grid_destroy(t[0].grid);
}

/* Loads text, runs its entry `t` in one block without a fault, and unloads. */
static inline void run_text(struct run *run, const char *text, uint32_t threads)
{
	struct ptx_module *m = run_load(text);

	run_grid(run, m, 1, threads, 0);
	if (run->fault)
		fprintf(stderr, "%s\n", run->text);
	CHECK_EQ(run->fault, PTX_FAULT_NONE);
	ptx_unload(m);
}

#define RUN_HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
/* An entry with registers of all kinds; %rd0 is the address of the memory. */
#define RUN_ENTRY                                                              \
	".visible .entry t(.param .u64 memory) {\n"                            \
	".reg .pred %p<16>; .reg .b16 %rs<16>; .reg .b32 %r<32>;\n"            \
	".reg .b64 %rd<32>; .reg .f32 %f<16>; .reg .f64 %fd<16>;\n"            \
	"ld.param.u64 %rd0, [memory];\n"

#endif
