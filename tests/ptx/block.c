/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/*
 * Runs the lanes of a block on one thread. The next lane and its number of
 * steps are random, as with independent thread scheduling.
 */

#define DEFAULT_QUANTUM 60
#define ALONE_QUANTUM 100000 /* of a block with one lane */
#define IDLES 16 /* one of so many waits delivers all late stores */
#define STEPS 4 /* one of so many turns calls the host */

/* xorshift64 (Marsaglia, Journal of Statistical Software 8/14, 2003). */
uint64_t ptx_random(struct ptx_block *block)
{
	uint64_t x = block->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	block->random = x;
	return x;
}

/* ---- lanes --------------------------------------------------------------- */

static size_t lane_bytes(void)
{
	return PTX_LOCAL_BYTES + PTX_N_SLOTS * sizeof(uint64_t);
}

static void enter_params(struct ptx_lane *lane)
{
	const struct ptx_grid *grid = lane->block->grid;
	uint32_t bytes = grid->function->params_end;

	memcpy(lane->memory, grid->params, bytes);
	ptx_undefined_copy(lane, lane->memory, NULL, bytes);
}

/* Local memory of all lanes comes first, then their registers. */
static int create_lanes(struct ptx_block *block)
{
	const struct ptx_grid *grid = block->grid;
	uint32_t n = grid->launch.threads, i;
	uint8_t *memory, *slots;

	block->lanes = calloc(n, sizeof(*block->lanes));
	if (!block->lanes)
		return 0;
	memory = mmap(NULL, n * lane_bytes(), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return 0;
	block->lane_memory = memory;
	slots = memory + (size_t)n * PTX_LOCAL_BYTES;
	if (grid->launch.options.undefined && !ptx_undefined_create(block))
		return 0;
	if (grid->launch.options.race && !ptx_race_create(block))
		return 0;
	if (grid->launch.options.weak && !ptx_weak_create(block))
		return 0;
	for (i = 0; i < n; i++) {
		struct ptx_lane *lane = &block->lanes[i];

		lane->block = block;
		lane->number = i;
		if (grid->counts)
			lane->counts = &grid->counts[block->number * n + i];
		lane->function = grid->function;
		lane->in = grid->function->code;
		lane->local = lane->local_top =
			memory + (size_t)i * PTX_LOCAL_BYTES;
		lane->slots = lane->slots_top =
			(uint64_t *)(void *)slots + (size_t)i * PTX_N_SLOTS;
		ptx_undefined_lane(lane);
		if (!ptx_enter(lane, grid->function))
			lane->state = PTX_ENDED;
		else if (grid->function->params_end)
			enter_params(lane);
	}
	return 1;
}

static void destroy_lanes(struct ptx_block *block)
{
	uint32_t n = block->grid->launch.threads, i;
	uint64_t instructions = 0;

	for (i = 0; block->lanes && i < n; i++)
		instructions += block->lanes[i].instructions;
	atomic_fetch_add(&block->grid->instructions, instructions);
	if (block->lanes)
		ptx_weak_destroy(block);
	if (block->lane_memory)
		munmap(block->lane_memory, n * lane_bytes());
	ptx_undefined_destroy(block);
	ptx_race_destroy(block);
	free(block->lanes);
	block->lanes = NULL;
	block->lane_memory = NULL;
}

static void begin_block(struct ptx_block *block)
{
	if (!create_lanes(block))
		atomic_store(&block->grid->faulted, 1);
}

/* ---- turns --------------------------------------------------------------- */

static void end_lane(struct ptx_lane *lane)
{
	lane->state = PTX_ENDED;
	lane->block->live--;
	ptx_cluster_lane_ended(lane);
	ptx_barrier_lane_ended(lane->block);
	ptx_warp_lane_ended(lane);
}

static int64_t next_quantum(struct ptx_block *block)
{
	uint32_t max = block->grid->launch.options.quantum;

	if (block->grid->launch.threads == 1 && !block->together)
		return ALONE_QUANTUM;
	return 1 + (int64_t)(ptx_random(block) % (max ? max : DEFAULT_QUANTUM));
}

/* What a round over the lanes has seen. */
struct round {
	int ran; /* lanes that executed something */
	int waits; /* for time or for other blocks */
};

static void check_steps(struct ptx_lane *lane)
{
	uint64_t limit = lane->block->grid->launch.options.step_limit;

	if (!limit || lane->instructions <= limit || lane->state == PTX_ENDED)
		return;
	ptx_fault(lane, lane->in, PTX_FAULT_STEPS, 0,
		  "the lane executed more than %llu instructions",
		  (unsigned long long)limit);
}

/* Returns 1 if a lane can run now. */
static int is_ready(struct ptx_lane *lane, struct round *round)
{
	switch (lane->state) {
	case PTX_SLEEPS:
		round->waits = 1;
		return 1;
	case PTX_AT_CLUSTER:
		if (ptx_cluster_passed(lane))
			return 1;
		round->waits = 1;
		return 0;
	case PTX_AT_ACTIVEMASK:
		ptx_warp_activemask(lane);
		return 1;
	default:
		return lane->state == PTX_RUNS;
	}
}

static void run_lane(struct ptx_lane *lane, struct round *round)
{
	int slept = lane->state == PTX_SLEEPS;

	if (!is_ready(lane, round))
		return;
	lane->state = PTX_RUNS;
	ptx_lane_run(lane, next_quantum(lane->block));
	check_steps(lane);
	if (lane->state == PTX_ENDED)
		end_lane(lane);
	/* a lane that sleeps again and again makes no haste */
	if (!slept || lane->state != PTX_SLEEPS)
		round->ran = 1;
}

/* Gives some lanes a turn each. A round may end early, so that lanes get
 * different numbers of turns. */
static struct round run_round(struct ptx_block *block)
{
	uint32_t n = block->grid->launch.threads, i;
	uint32_t first = n > 1 ? (uint32_t)(ptx_random(block) % n) : 0;
	struct round round = { 0, 0 };

	for (i = 0; i < n; i++) {
		struct ptx_lane *lane = &block->lanes[(first + i) % n];

		run_lane(lane, &round);
		if (block->turn_over ||
		    (round.ran && ptx_random(block) % 4 == 0))
			break;
	}
	return round;
}

/* ---- block --------------------------------------------------------------- */

/* Sleeps longer with each round in which no lane ran. */
static void pause_block(uint32_t idle)
{
	struct timespec t = { 0, 20000 };

	if (idle < 20) {
		sched_yield();
		return;
	}
	if (idle > 200)
		t.tv_nsec = 200000;
	nanosleep(&t, NULL);
}

static const char *wait_name(enum ptx_lane_state state)
{
	return state == PTX_AT_BARRIER ? "a barrier" :
	       state == PTX_AT_WARP    ? "the lanes of a mask" :
					 "nothing";
}

static void fault_deadlock(struct ptx_block *block)
{
	struct ptx_lane *lane = block->lanes;
	int at_barrier;

	while (lane->state == PTX_ENDED)
		lane++;
	at_barrier = lane->state == PTX_AT_BARRIER;
	ptx_fault(lane, lane->in - at_barrier, PTX_FAULT_DEADLOCK, 0,
		  "no lane of the block can continue: %u have not ended, and "
		  "lane %u waits for %s",
		  block->live, lane->number, wait_name(lane->state));
}

static int must_end(const struct ptx_grid *grid)
{
	return grid->faulted || grid->stopped;
}

static void describe_lanes(struct ptx_block *block)
{
	uint32_t i;

	block->described = block->grid->describe;
	for (i = 0; i < block->grid->launch.threads; i++)
		if (block->lanes[i].state != PTX_ENDED)
			ptx_describe(&block->lanes[i]);
}

/* Completes asynchronous copies: at times, and if no lane can run. */
static void step_asyncs(struct ptx_block *block, struct round *round)
{
	if (!block->asyncs || (round->ran && ptx_random(block) % 4))
		return;
	ptx_async_step(block);
	round->ran = 1;
}

/* Gives lanes of a block a turn. */
static struct round turn_block(struct ptx_block *block)
{
	struct round round = run_round(block);

	step_asyncs(block, &round);
	if (block->described != block->grid->describe)
		describe_lanes(block);
	if (!round.ran && !round.waits && block->live)
		fault_deadlock(block);
	return round;
}

static int is_running(const struct ptx_block *block)
{
	return block->live && !must_end(block->grid);
}

static void run_rounds(struct ptx_block *block)
{
	uint32_t idle = 0;

	while (is_running(block)) {
		struct round round = turn_block(block);

		if (round.ran) {
			idle = 0;
		} else if (round.waits) {
			ptx_weak_idle(block);
			pause_block(idle++);
		}
	}
}

static void end_block(struct ptx_block *block)
{
	ptx_async_end(block, must_end(block->grid));
	atomic_store(&block->ended, 1);
	destroy_lanes(block);
}

void ptx_grid_run_block(struct ptx_grid *grid, uint32_t number)
{
	struct ptx_block *block = &grid->blocks[number];

	begin_block(block);
	run_rounds(block);
	end_block(block);
}

/* ---- blocks of several grids on one thread ------------------------------- */

/* Calls a function for each block. */
static void for_blocks(struct ptx_grid *const *grids, uint32_t n,
		       void (*call)(struct ptx_block *block))
{
	uint32_t i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < grids[i]->launch.blocks; k++)
			call(&grids[i]->blocks[k]);
}

static void begin_together(struct ptx_block *block)
{
	block->together = 1;
	begin_block(block);
}

/* Gives a block a turn. After its end, it shows its late stores. */
static void turn_together(struct ptx_block *block)
{
	struct round round;

	if (!block->live) {
		block->drained = !ptx_weak_drain(block);
		return;
	}
	round = turn_block(block);
	if (round.waits && ptx_random(block) % IDLES == 0)
		ptx_weak_idle(block);
}

static int is_open(const struct ptx_block *block)
{
	return !block->drained && !must_end(block->grid);
}

/* Returns an open block, the number `skip` of them, or NULL. */
static struct ptx_block *open_block(struct ptx_grid *const *grids, uint32_t n,
				    uint64_t skip)
{
	uint32_t i, k, n_open = 0;

	for (i = 0; i < n; i++)
		for (k = 0; k < grids[i]->launch.blocks; k++)
			n_open += (uint32_t)is_open(&grids[i]->blocks[k]);
	if (!n_open)
		return NULL;
	skip %= n_open;
	for (i = 0; i < n; i++)
		for (k = 0; k < grids[i]->launch.blocks; k++)
			if (is_open(&grids[i]->blocks[k]) && !skip--)
				return &grids[i]->blocks[k];
	return NULL;
}

static int any_faulted(struct ptx_grid *const *grids, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (grids[i]->faulted)
			return 1;
	return 0;
}

void ptx_grids_run(struct ptx_grid *const *grids, uint32_t n,
		   int (*step)(void *context), void *context)
{
	struct ptx_block *first = &grids[0]->blocks[0], *block;

	for_blocks(grids, n, begin_together);
	while (!any_faulted(grids, n) &&
	       (block = open_block(grids, n, ptx_random(first))) != NULL) {
		int seen;

		turn_together(block);
		seen = block->turn_over;
		block->turn_over = 0;
		if (step && (seen || ptx_random(first) % STEPS == 0) &&
		    !step(context))
			break;
	}
	for_blocks(grids, n, end_block);
}
