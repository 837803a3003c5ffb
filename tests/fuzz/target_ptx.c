/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PTX text for the PTX machine: load, and run of the entry `t`. The first line
 * has two characters: the number of lanes, and the seed of their order. The seed
 * also chooses the checks. The entry gets the address of 256 bytes.
 */
#include "fuzz/fuzz.h"

#include "ptx/machine.h"

#define MEMORY_BYTES 256
#define STEPS 20000 /* instructions of a lane */

static int range(void *context, int device, uint64_t address, uint64_t *from,
		 uint64_t *bytes)
{
	(void)device;
	*from = (uintptr_t)context;
	*bytes = MEMORY_BYTES;
	return address - *from < MEMORY_BYTES;
}

/* Each fault has a name and one sentence. */
static void fault(void *context, const struct ptx_report *report)
{
	(void)context;
	FUZZ_CHECK(report->fault != PTX_FAULT_NONE);
	FUZZ_CHECK(ptx_fault_name(report->fault)[0]);
	FUZZ_CHECK(report->text[0] && report->opcode[0]);
}

static void run_entry(struct ptx_function *entry, const char *head)
{
	uint8_t params[4096] = { 0 };
	void *memory = calloc(1, MEMORY_BYTES);
	struct ptx_launch launch = { .function = entry,
				     .blocks = 1,
				     .params = params };
	struct ptx_function_info info;
	struct ptx_grid *grid;

	FUZZ_CHECK(memory);
	memcpy(params, &memory, sizeof(memory));
	ptx_function_info(entry, &info);
	launch.threads = 1 + (head[0] ? (uint8_t)head[0] % 64 : 0);
	launch.options.seed = head[0] ? (uint8_t)head[1] : 0;
	launch.options.undefined = launch.options.seed & 1;
	launch.options.race = launch.options.seed >> 1 & 1;
	launch.options.weak = launch.options.seed >> 2 & 1;
	launch.options.count = launch.options.seed >> 3 & 1;
	launch.options.step_limit = STEPS;
	launch.host = (struct ptx_host){ .range = range,
					 .fault = fault,
					 .context = memory };
	grid = info.params_bytes <= sizeof(params) ? ptx_grid_create(&launch) :
						     NULL;
	if (grid) {
		ptx_grid_run_block(grid, 0);
		ptx_grid_destroy(grid);
	}
	free(memory);
}

FUZZ_TARGET(ptx)
{
	struct fuzz_input in = { data, size };
	struct ptx_error error = { 0 };
	char *head = fuzz_line(&in);
	void *text = fuzz_copy(in.at, in.left);
	struct ptx_module *module = ptx_load(text, in.left, "made", &error);
	struct ptx_function *entry = module ? ptx_find(module, "t") : NULL;

	FUZZ_CHECK(module || error.text[0]);
	free(text);
	if (entry)
		run_entry(entry, head);
	ptx_unload(module);
	free(head);
	return 0;
}
