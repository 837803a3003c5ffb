/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include <time.h>

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t global_timer(const struct ptx_grid *grid)
{
	const struct ptx_host *host = &grid->launch.host;
	uint32_t step = grid->launch.options.timer_step_ns;
	uint64_t now = host->clock ? host->clock(host->context) :
				     now_ns(CLOCK_REALTIME);

	return step ? now - now % step : now;
}

uint64_t ptx_special(const struct ptx_lane *lane,
		     const struct ptx_instruction *in)
{
	const struct ptx_block *block = lane->block;
	const struct ptx_grid *grid = block->grid;
	const struct ptx_launch *launch = &grid->launch;
	uint32_t bit = lane->number % PTX_WARP;

	switch ((enum ptx_special)in->mode) {
	case PTX_TID_X:
		return lane->number;
	case PTX_NTID_X:
		return launch->threads;
	case PTX_CTAID_X:
	case PTX_SMID:
		return block->number;
	case PTX_NCTAID_X:
		return launch->blocks;
	case PTX_ZERO:
	case PTX_GRIDID:
		return 0;
	case PTX_ONE:
		return 1;
	case PTX_LANEID:
		return bit;
	case PTX_WARPID:
		return lane->number / PTX_WARP;
	case PTX_NWARPID:
		return (launch->threads + PTX_WARP - 1) / PTX_WARP;
	case PTX_LANEMASK_EQ:
		return 1u << bit;
	case PTX_LANEMASK_LT:
		return (1u << bit) - 1;
	case PTX_LANEMASK_LE:
		return (2u << bit) - 1;
	case PTX_LANEMASK_GT:
		return ~((2u << bit) - 1);
	case PTX_LANEMASK_GE:
		return ~((1u << bit) - 1);
	case PTX_CLUSTERID_X:
		return block->number / grid->cluster_blocks;
	case PTX_NCLUSTERID_X:
		return launch->blocks / grid->cluster_blocks;
	case PTX_CLUSTER_CTAID_X:
		return block->number % grid->cluster_blocks;
	case PTX_CLUSTER_NCTAID_X:
		return grid->cluster_blocks;
	case PTX_CLOCK: /* so that equal runs have equal counts */
		return lane->instructions;
	case PTX_GLOBALTIMER:
		return global_timer(grid);
	case PTX_GLOBALTIMER_HI:
		return global_timer(grid) >> 32;
	case PTX_DYNAMIC_SIZE:
		return launch->dynamic_shared_bytes;
	case PTX_DYNAMIC_BASE:
		return lane->function->module->shared_bytes +
		       (uint64_t)in->offset;
	}
	return 0;
}
