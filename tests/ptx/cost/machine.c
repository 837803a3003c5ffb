/* SPDX-License-Identifier: Apache-2.0 */
#include "cost.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The machine with two memories: of the device, and of the host. */

#define ARENA_BYTES (64ULL << 20)
#define CLOCK_STEP_NS 100

struct arena {
	uint8_t *memory;
	uint64_t used;
};

static struct arena arenas[PTX_N_MEMORIES];

void cost_die(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	fputs("cost: ", stderr);
	vfprintf(stderr, format, values);
	fputc('\n', stderr);
	va_end(values);
	exit(1);
}

/* ---- memory -------------------------------------------------------------- */

void *cost_alloc(enum ptx_memory memory, uint64_t bytes)
{
	struct arena *a = &arenas[memory];
	void *at;

	if (!a->memory) {
		at = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (at == MAP_FAILED)
			cost_die("no memory for %llu bytes",
				 (unsigned long long)ARENA_BYTES);
		a->memory = at;
	}
	bytes = (bytes + 4095) / 4096 * 4096;
	if (bytes > ARENA_BYTES - a->used)
		cost_die("more than %llu bytes are in use",
			 (unsigned long long)ARENA_BYTES);
	at = a->memory + a->used;
	a->used += bytes;
	return at;
}

void cost_free(void)
{
	int i;

	for (i = 0; i < PTX_N_MEMORIES; i++) {
		if (arenas[i].used)
			memset(arenas[i].memory, 0, arenas[i].used);
		arenas[i].used = 0;
	}
}

/* ---- what the machine asks ----------------------------------------------- */

struct clock {
	uint64_t now;
	cost_tick_fn tick;
	void *context;
};

static const struct arena *arena_at(uint64_t address)
{
	int i;

	for (i = 0; i < PTX_N_MEMORIES; i++)
		if (address - (uintptr_t)arenas[i].memory < arenas[i].used)
			return &arenas[i];
	return NULL;
}

static int find_range(void *context, int device, uint64_t address,
		      uint64_t *from, uint64_t *bytes)
{
	const struct arena *a = arena_at(address);

	(void)context;
	(void)device;
	if (!a)
		return 0;
	*from = (uintptr_t)a->memory;
	*bytes = a->used;
	return 1;
}

static enum ptx_memory memory_at(void *context, int device, uint64_t address)
{
	const struct arena *a = arena_at(address);

	(void)context;
	(void)device;
	return a == &arenas[PTX_MEMORY_HOST] ? PTX_MEMORY_HOST :
					       PTX_MEMORY_GLOBAL;
}

static uint64_t read_clock(void *context)
{
	struct clock *clock = context;

	if (clock->tick)
		clock->tick(clock->context);
	return clock->now += CLOCK_STEP_NS;
}

static void note_fault(void *context, const struct ptx_report *r)
{
	(void)context;
	cost_die("fault '%s' of entry '%s', lane %u, at %s:%u (%s): %s",
		 ptx_fault_name(r->fault), r->entry, r->lane, r->file, r->line,
		 r->opcode, r->text);
}

/* ---- modules and grids --------------------------------------------------- */

struct ptx_counts cost_run(struct ptx_module *module, const char *entry,
			   uint32_t lanes, uint32_t shared_bytes,
			   const void *params, cost_tick_fn tick, void *context)
{
	struct clock clock = { 0, tick, context };
	const struct ptx_launch launch = {
		.function = ptx_find(module, entry),
		.blocks = 1,
		.threads = lanes,
		.dynamic_shared_bytes = shared_bytes,
		.params = params,
		.host = { .range = find_range,
			  .clock = read_clock,
			  .fault = note_fault,
			  .context = &clock,
			  .memory = memory_at },
		.options = { .seed = 1, .count = 1 },
	};
	struct ptx_counts counts;
	struct ptx_grid *grid = ptx_grid_create(&launch);

	if (!grid)
		cost_die("entry '%s': cannot be launched", entry);
	ptx_grid_run_block(grid, 0);
	counts = ptx_grid_counts(grid, 0);
	ptx_grid_destroy(grid);
	return counts;
}
