/* SPDX-License-Identifier: Apache-2.0 */
#include "stall.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* See ptx.h. */

/* ---- the environment ----------------------------------------------------- */

static int chosen;
static struct ptx_options options;
static uint32_t stall_s;

/* Returns a number from the environment. The default is 0. */
static uint64_t number(const char *variable, uint64_t most)
{
	const char *text = getenv(variable);
	unsigned long long value;
	char *end;

	if (!text || !*text)
		return 0;
	value = strtoull(text, &end, 10);
	if (*end || *text < '0' || *text > '9' || value > most)
		double_refuse(variable,
			      "is no whole number in the range (%s, allowed 0 "
			      "to %llu); unset it",
			      text, (unsigned long long)most);
	return value;
}

static int flag(const char *variable)
{
	return (int)number(variable, 1);
}

/* Opens a file that a variable names. Returns NULL for none. */
static FILE *file(const char *variable)
{
	const char *path = getenv(variable);
	FILE *f;

	if (!path || !*path)
		return NULL;
	f = fopen(path, "a");
	if (!f)
		double_refuse(variable,
			      "names no file that can be written "
			      "(%s); name another one",
			      path);
	setvbuf(f, NULL, _IOLBF, 0);
	return f;
}

static void read_options(void)
{
	struct ptx_error error = { 0, "" };

	options.seed = number("PEAL_DOUBLE_SEED", UINT64_MAX);
	options.quantum = (uint32_t)number("PEAL_DOUBLE_QUANTUM", 1000000);
	options.timer_step_ns = (uint32_t)number("PEAL_DOUBLE_TIMER", 1000000);
	stall_s = (uint32_t)number("PEAL_DOUBLE_STALL", 3600);
	options.weak = flag("PEAL_DOUBLE_WEAK");
	options.race = flag("PEAL_DOUBLE_RACE");
	options.undefined = flag("PEAL_DOUBLE_UNDEFINED");
	options.trace = flag("PEAL_DOUBLE_TRACE");
	options.trace_from = (uint32_t)number("PEAL_DOUBLE_TRACE_FROM", 1023);
	options.trace_to = (uint32_t)number("PEAL_DOUBLE_TRACE_TO", 1023);
	options.trace_lines = number("PEAL_DOUBLE_TRACE_LINES", UINT64_MAX);
	options.trace_file = file("PEAL_DOUBLE_TRACE_FILE");
	options.count = flag("PEAL_DOUBLE_COUNT");
	if (ptx_options_check(&options, &error))
		double_refuse("PEAL_DOUBLE_ENGINE", "%s", error.text);
}

static void read_environment(void)
{
	static const char variable[] = "PEAL_DOUBLE_ENGINE";
	const char *name = getenv(variable);

	if (!name || !*name || !strcmp(name, "host"))
		return;
	if (strcmp(name, "ptx") != 0)
		double_refuse(variable,
			      "names no engine (%s, allowed host or ptx); "
			      "unset it",
			      name);
	if (!double_vendor.is_cuda)
		double_refuse(variable,
			      "names an engine that HIP lacks (ptx, allowed "
			      "host); set PEAL_BACKENDS=cuda");
	chosen = 1;
	read_options();
}

int double_ptx_chosen(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_environment);
	return chosen;
}

uint32_t double_ptx_stall_s(void)
{
	return stall_s;
}

/*
 * Returns 1 if the double runs host code. The backend then shows the devices as
 * emulated.
 */
__attribute__((visibility("default"))) int peal_driver_double_emulates(void);
int peal_driver_double_emulates(void)
{
	return !double_ptx_chosen();
}

/* ---- faults -------------------------------------------------------------- */

/* Returns the driver's error for a fault. A GPU does not find each fault. */
static int error_of(enum ptx_fault fault)
{
	switch (fault) {
	case PTX_FAULT_BOUNDS:
		return 700; /* CUDA_ERROR_ILLEGAL_ADDRESS */
	case PTX_FAULT_ALIGNMENT:
		return 716; /* CUDA_ERROR_MISALIGNED_ADDRESS */
	case PTX_FAULT_JUMP:
		return 718; /* CUDA_ERROR_INVALID_PC */
	case PTX_FAULT_STACK:
		return 714; /* CUDA_ERROR_HARDWARE_STACK_ERROR */
	case PTX_FAULT_DEADLOCK:
	case PTX_FAULT_STEPS:
		return DOUBLE_TIMEOUT;
	default:
		return DOUBLE_LAUNCH_FAILED;
	}
}

/* context: the number of the device */
static void note_fault(void *context, const struct ptx_report *r)
{
	int device = (int)(intptr_t)context;

	fprintf(stderr,
		"PTX machine %d: fault '%s' of entry '%s', block %u, lane %u, "
		"in %s at %s:%u (line %u of the PTX, %s): %s\n",
		device, ptx_fault_name(r->fault), r->entry, r->block, r->lane,
		r->function, *r->file ? r->file : "an unknown file", r->line,
		r->ptx_line, r->opcode, r->text);
	double_fault(device, error_of(r->fault));
}

static void note_lane(void *context, const struct ptx_report *r)
{
	double_stall_print(r, (int)(intptr_t)context);
}

/* ---- memory -------------------------------------------------------------- */

static int finds_undefined(void)
{
	return double_ptx_chosen() && options.undefined;
}

void double_ptx_allocated(uint64_t address, uint64_t bytes)
{
	if (finds_undefined())
		ptx_memory_track(address, bytes);
}

void double_ptx_freed(uint64_t address, uint64_t bytes)
{
	if (finds_undefined())
		ptx_memory_untrack(address, bytes);
}

void double_ptx_copied(uint64_t to, uint64_t from, uint64_t bytes)
{
	if (finds_undefined())
		ptx_memory_copied(to, from, bytes);
}

void double_ptx_filled(uint64_t address, uint64_t bytes)
{
	if (finds_undefined())
		ptx_memory_written(address, bytes);
}

/* ---- modules and grids --------------------------------------------------- */

static int find_range(void *context, int device, uint64_t address,
		      uint64_t *from, uint64_t *bytes)
{
	(void)context;
	return double_sees(device, address, from, bytes);
}

static enum ptx_memory find_memory(void *context, int device, uint64_t address)
{
	int owner = double_owner(address);

	(void)context;
	return owner < 0       ? PTX_MEMORY_HOST :
	       owner == device ? PTX_MEMORY_GLOBAL :
				 PTX_MEMORY_PEER;
}

/* Returns 1 if 16-byte stores of a device to the memory of another one are torn. */
static int find_tears(void *context, int device, uint64_t address)
{
	int owner = double_owner(address);

	(void)context;
	return owner >= 0 && owner != device &&
	       double_link(device, owner).fault == PEALI_LINK_TORN;
}

static uint64_t find_generation(void *context)
{
	(void)context;
	return double_generation();
}

static uint64_t read_clock(void *context)
{
	(void)context;
	return double_clock_ns();
}

struct ptx_grid *double_ptx_grid(struct ptx_function *function,
				 const struct double_shape *shape,
				 uint64_t params)
{
	const struct ptx_launch launch = {
		.function = function,
		.blocks = shape->blocks,
		.threads = shape->threads,
		.cluster = shape->cluster,
		.dynamic_shared_bytes = shape->shared_bytes,
		.device = double_current(),
		.params = &params,
		.host = { .range = find_range,
			  .generation = find_generation,
			  .clock = read_clock,
			  .fault = note_fault,
			  .lane = note_lane,
			  .memory = find_memory,
			  .tears = strstr(double_links(), "torn") ? find_tears :
								    NULL,
			  .context = (void *)(intptr_t)double_current() },
		.options = options
	};
	struct ptx_function_info info;
	struct ptx_grid *grid;

	ptx_function_info(function, &info);
	if (info.params_bytes != sizeof(params))
		double_broken(
			"an entry with %u bytes of parameters: the double "
			"passes one address",
			info.params_bytes);
	grid = ptx_grid_create(&launch);
	if (!grid)
		double_broken("the PTX machine has no memory for a grid of %u "
			      "blocks with %u lanes",
			      shape->blocks, shape->threads);
	return grid;
}

void double_ptx_ended(const struct ptx_grid *grid)
{
	if (options.count)
		ptx_grid_print(grid, stderr);
}
