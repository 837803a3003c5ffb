/* SPDX-License-Identifier: Apache-2.0 */
#include "plant.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * The machine with exact ranges: each allocation is a range of its own. An
 * access behind the end of one is a fault.
 */

#define ARENA_BYTES (256ULL << 20)
#define GAP 65536 /* between two allocations */
#define MOST_RANGES 256
#define MOST_GRIDS 8
#define MOST_STEPS 1000000 /* instructions of a lane */
#define PAGE 4096

struct range {
	uint8_t *from;
	uint64_t bytes;
	enum ptx_memory memory;
};

static uint8_t *arena;
static uint64_t used;
static struct range ranges[MOST_RANGES];
static uint32_t n_ranges;

void cost_die(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	fputs("plant: ", stderr);
	vfprintf(stderr, format, values);
	fputc('\n', stderr);
	va_end(values);
	exit(1);
}

/* ---- memory -------------------------------------------------------------- */

static void map_arena(void)
{
	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (arena == MAP_FAILED)
		cost_die("no memory for %llu bytes",
			 (unsigned long long)ARENA_BYTES);
}

/* Each range begins at a page: undefined memory is known by pages. */
void *cost_alloc(enum ptx_memory memory, uint64_t bytes)
{
	struct range *r = &ranges[n_ranges];

	if (!arena)
		map_arena();
	bytes = (bytes + 15) / 16 * 16;
	if (n_ranges == MOST_RANGES || bytes + GAP > ARENA_BYTES - used)
		cost_die("more than %llu bytes are in use",
			 (unsigned long long)ARENA_BYTES);
	*r = (struct range){ arena + used, bytes, memory };
	n_ranges++;
	used += (bytes + PAGE - 1) / PAGE * PAGE + GAP;
	return r->from;
}

void *plant_scratch(uint64_t bytes)
{
	void *at = cost_alloc(PTX_MEMORY_GLOBAL, bytes);

	ptx_memory_track((uintptr_t)at, (bytes + PAGE - 1) / PAGE * PAGE);
	return at;
}

void cost_free(void)
{
	uint32_t i;

	for (i = 0; i < n_ranges; i++) {
		memset(ranges[i].from, 0, ranges[i].bytes);
		ptx_memory_untrack((uintptr_t)ranges[i].from,
				   (ranges[i].bytes + PAGE - 1) / PAGE * PAGE);
	}
	n_ranges = 0;
	used = 0;
}

static const struct range *range_at(uint64_t address)
{
	uint32_t i;

	for (i = 0; i < n_ranges; i++)
		if (address - (uintptr_t)ranges[i].from < ranges[i].bytes)
			return &ranges[i];
	return NULL;
}

static int find_range(void *context, int device, uint64_t address,
		      uint64_t *from, uint64_t *bytes)
{
	const struct range *r = range_at(address);

	(void)context;
	(void)device;
	if (!r)
		return 0;
	*from = (uintptr_t)r->from;
	*bytes = r->bytes;
	return 1;
}

static enum ptx_memory memory_at(void *context, int device, uint64_t address)
{
	const struct range *r = range_at(address);

	(void)context;
	(void)device;
	return r ? r->memory : PTX_MEMORY_GLOBAL;
}

/* ---- runs ---------------------------------------------------------------- */

void plant_found(struct plant_run *run, const char *check, const char *format,
		 ...)
{
	va_list values;

	if (run->found)
		return;
	run->found = check;
	va_start(values, format);
	vsnprintf(run->text, sizeof(run->text), format, values);
	va_end(values);
}

static uint64_t read_clock(void *context)
{
	struct plant_run *run = context;

	return run->clock += 100;
}

static const char *check_of(enum ptx_fault fault)
{
	switch (fault) {
	case PTX_FAULT_TRAP:
		return "content";
	case PTX_FAULT_STEPS:
		return "no end";
	default:
		return ptx_fault_name(fault);
	}
}

static void note_fault(void *context, const struct ptx_report *r)
{
	const char *slash = strrchr(r->file, '/');

	plant_found(context, check_of(r->fault), "%s, lane %u, %s:%u: %s",
		    r->entry, r->lane, slash ? slash + 1 : r->file, r->line,
		    r->text);
}

static struct ptx_grid *create(struct plant_run *run,
			       const struct plant_grid *grid, uint32_t number)
{
	const struct ptx_launch launch = {
		.function = ptx_find(run->module, grid->entry),
		.blocks = grid->blocks ? grid->blocks : 1,
		.threads = grid->lanes ? grid->lanes : 1,
		.cluster = grid->cluster,
		.dynamic_shared_bytes = grid->shared_bytes,
		.device = grid->device,
		.params = grid->params,
		.host = { .range = find_range,
			  .clock = read_clock,
			  .fault = note_fault,
			  .context = run,
			  .memory = memory_at },
		.options = run->options,
	};
	struct ptx_launch seeded = launch;
	struct ptx_grid *created;

	seeded.options.seed = run->options.seed * MOST_GRIDS + number;
	seeded.options.step_limit = MOST_STEPS;
	created = ptx_grid_create(&seeded);
	if (!created)
		cost_die("entry '%s': cannot be launched", grid->entry);
	return created;
}

void plant_run_grids(struct plant_run *run, const struct plant_grid *grids,
		     uint32_t n, int (*step)(void *context), void *context)
{
	struct ptx_grid *created[MOST_GRIDS] = { NULL };
	uint32_t i;

	for (i = 0; i < n; i++)
		created[i] = create(run, &grids[i], i);
	ptx_grids_run(created, n, step, context);
	for (i = 0; i < n; i++)
		ptx_grid_destroy(created[i]);
}
