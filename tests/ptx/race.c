/* SPDX-License-Identifier: Apache-2.0 */
#include "race.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/*
 * A race: two lanes access a byte, and no order of the lanes separates them. One
 * access is a store, and one is weak. A word remembers some earlier accesses
 * only, so that a race may be missed.
 */

/* ---- memory -------------------------------------------------------------- */

/* Takes memory from the block's part. The first round only counts bytes. */
static void *take(struct ptx_races *races, size_t bytes)
{
	void *p = races->memory ? (uint8_t *)races->memory + races->bytes :
				  NULL;

	races->bytes += (bytes + 15) / 16 * 16;
	return p;
}

static uint32_t **take_clocks(struct ptx_races *races, uint32_t rows)
{
	uint32_t **row = take(races, rows * sizeof(*row)), i;
	uint32_t *clocks;

	for (i = 0; i < rows; i++) {
		clocks = take(races, races->n * sizeof(*clocks));
		if (row)
			row[i] = clocks;
	}
	return row;
}

static void lay_out(struct ptx_races *races, uint32_t shared_bytes)
{
	uint32_t *clocks, i;

	races->bytes = 0;
	races->clocks = take_clocks(races, races->n);
	races->fenced = take_clocks(races, races->n);
	races->seen = take_clocks(races, races->n);
	races->barriers = take_clocks(races, PTX_N_BARRIERS + 2);
	races->locations =
		take(races, PTX_N_LOCATIONS * sizeof(*races->locations));
	for (i = 0; i < PTX_N_LOCATIONS; i++) {
		clocks = take(races, races->n * sizeof(*clocks));
		if (races->locations)
			races->locations[i].clocks = clocks;
	}
	races->words =
		take(races, (shared_bytes / 8 + 1) * sizeof(*races->words));
}

int ptx_race_create(struct ptx_block *block)
{
	struct ptx_races *races = calloc(1, sizeof(*races));
	uint32_t i;

	if (!races)
		return 0;
	races->n = block->grid->launch.threads;
	lay_out(races, block->grid->shared_bytes);
	races->memory = mmap(NULL, races->bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			     0);
	if (races->memory == MAP_FAILED) {
		free(races);
		return 0;
	}
	lay_out(races, block->grid->shared_bytes);
	for (i = 0; i < races->n; i++)
		races->clocks[i][i] = 1;
	block->races = races;
	return 1;
}

void ptx_race_destroy(struct ptx_block *block)
{
	struct ptx_races *races = block->races;

	if (races)
		munmap(races->memory, races->bytes);
	free(races);
	block->races = NULL;
}

/* ---- accesses ------------------------------------------------------------ */

static int is_strong(const struct ptx_instruction *in)
{
	return in->order != PTX_WEAK;
}

/* Returns 1 if the access of a cell is in the past of a lane. */
static int is_past(const struct ptx_lane *lane, const struct ptx_cell *cell)
{
	return cell->clock <=
	       lane->block->races->clocks[lane->number][cell->lane];
}

static int races_with(const struct ptx_lane *lane, const struct ptx_cell *now,
		      const struct ptx_cell *cell)
{
	return cell->in && cell->lane != now->lane &&
	       cell->bytes & now->bytes && (cell->is_store || now->is_store) &&
	       !(is_strong(cell->in) && is_strong(now->in)) &&
	       !is_past(lane, cell);
}

static const char *name_of(const struct ptx_cell *cell)
{
	return cell->in->opcode == PTX_ATOM ? "atomic" :
	       cell->is_store		    ? "store" :
					      "load";
}

static void report(struct ptx_lane *lane, const struct ptx_cell *now,
		   const struct ptx_cell *cell, uint64_t offset)
{
	const struct ptx_module *m = cell->function->module;
	const struct ptx_place *place = ptx_place_of(cell->function, cell->in);
	const char *file = place->file < m->n_files ? m->files[place->file] :
						      NULL;

	ptx_fault(lane, now->in, PTX_FAULT_RACE, offset,
		  "%s of shared memory at %#llx races with a %s of lane %u at "
		  "%s:%u (line %u of the PTX)",
		  name_of(now), (unsigned long long)offset, name_of(cell),
		  cell->lane, file ? file : "an unknown file", place->line,
		  place->ptx_line);
}

/* Returns 1 if a new access finds each race that an old one would find. */
static int replaces(const struct ptx_lane *lane, const struct ptx_cell *now,
		    const struct ptx_cell *cell)
{
	if (!cell->in)
		return 1;
	if (cell->bytes & ~now->bytes || now->is_store < cell->is_store ||
	    is_strong(now->in) > is_strong(cell->in))
		return 0;
	return cell->lane == now->lane || is_past(lane, cell);
}

static void remember(struct ptx_lane *lane, struct ptx_word *word,
		     const struct ptx_cell *now)
{
	uint32_t i = 0;

	while (i < PTX_N_CELLS && !replaces(lane, now, &word->cells[i]))
		i++;
	if (i == PTX_N_CELLS)
		i = (uint32_t)(ptx_random(lane->block) % PTX_N_CELLS);
	word->cells[i] = *now;
}

/* Checks the bytes of one word. Returns 0 after a fault. */
static int access_word(struct ptx_lane *lane, const struct ptx_cell *now,
		       uint64_t offset)
{
	struct ptx_word *word = &lane->block->races->words[offset / 8];
	uint32_t i;

	for (i = 0; i < PTX_N_CELLS; i++)
		if (races_with(lane, now, &word->cells[i])) {
			report(lane, now, &word->cells[i], offset);
			return 0;
		}
	remember(lane, word, now);
	return 1;
}

static int access_shared(struct ptx_lane *lane,
			 const struct ptx_instruction *in, uint64_t offset)
{
	uint32_t left = (uint32_t)in->size * in->count, n;
	struct ptx_cell now = {
		.function = lane->function,
		.in = in,
		.clock = lane->block->races->clocks[lane->number][lane->number],
		.lane = (uint16_t)lane->number,
		.is_store = in->opcode == PTX_ATOM || ptx_is_store(in),
	};

	for (; left; left -= n, offset += n) {
		n = left < 8 ? left : 8; /* aligned: within a word */
		now.bytes = (uint8_t)(((1u << n) - 1) << offset % 8);
		if (!access_word(lane, &now, offset))
			return 0;
	}
	return 1;
}

int ptx_race_access(struct ptx_lane *lane, const struct ptx_instruction *in,
		    const void *at)
{
	const struct ptx_block *block = lane->block;
	uint64_t offset = (uint64_t)((const uint8_t *)at - block->shared);

	if (offset < block->grid->shared_bytes &&
	    !access_shared(lane, in, offset))
		return 0;
	ptx_order_access(lane, in, at);
	return 1;
}
