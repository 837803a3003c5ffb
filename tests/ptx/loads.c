/* SPDX-License-Identifier: Apache-2.0 */
#include "weak.h"

/*
 * Late loads and atomics. A load without an acquire may read memory later, up to
 * the first use of its register. Loads and stores pass it meanwhile. It is complete before
 * a release, a fence, a barrier, a call and a return of its lane. It is complete
 * before another access of its lane to one of its bytes, so that each location
 * is coherent.
 *
 * The load reads memory at once, too. It reads again when it completes.
 *
 * An atomic of device memory without an acquire may act later, as a whole. Other
 * lanes never see a part of it. A release has shown the earlier stores before.
 * An atomic completes before an instruction that writes one of its sources. It
 * completes in the end, also if no instruction uses its result.
 */

#define LATE 3 /* one of so many loads is late */

static struct ptx_late_loads *loads_of(const struct ptx_lane *lane)
{
	return &lane->block->weak->loads[lane->number];
}

static int is_atom(const struct ptx_late_load *load)
{
	return load->in->opcode == PTX_ATOM;
}

int ptx_loads_add(struct ptx_lane *lane, const struct ptx_instruction *in,
		  const void *at)
{
	const struct ptx_host *host = &lane->block->grid->launch.host;
	struct ptx_late_loads *loads = loads_of(lane);
	struct ptx_late_load *load = &loads->loads[loads->n];

	if (in->order == PTX_ACQUIRE || in->order == PTX_ACQ_REL ||
	    ptx_is_shared(lane, (uintptr_t)at) ||
	    loads->n == PTX_N_LATE_LOADS || ptx_random(lane->block) % LATE)
		return 0;
	load->in = in;
	load->at = at;
	load->registers = lane->registers;
	load->generation = host->generation ? host->generation(host->context) :
					      0;
	loads->n++;
	return 1;
}

/* Returns 1 if the host has freed the memory since. */
static int is_gone(struct ptx_lane *lane, const struct ptx_late_load *load)
{
	struct ptx_store store = { .at = (uintptr_t)load->at,
				   .generation = load->generation };

	store.is_variable = ptx_is_variable(lane, store.at);
	return ptx_store_is_freed(lane, &store);
}

static void complete_atom(struct ptx_lane *lane,
			  const struct ptx_late_load *load)
{
	uint64_t *registers = lane->registers;

	if (is_gone(lane, load))
		return;
	lane->registers = load->registers;
	ptx_weak_modify(lane, load->in, (void *)(uintptr_t)load->at);
	lane->registers = registers;
}

/* Completes late load i. The host may have freed the memory meanwhile: then the
 * first value stays. */
static void complete(struct ptx_lane *lane, uint32_t i)
{
	const struct ptx_host *host = &lane->block->grid->launch.host;
	struct ptx_late_loads *loads = loads_of(lane);
	struct ptx_late_load load = loads->loads[i];
	uint64_t *registers = lane->registers;

	loads->loads[i] = loads->loads[--loads->n];
	if (is_atom(&load)) {
		complete_atom(lane, &load);
		return;
	}
	if (host->generation &&
	    load.generation != host->generation(host->context))
		return;
	ptx_sector_forget(lane->block, (uintptr_t)load.at);
	lane->registers = load.registers;
	ptx_weak_read(lane, load.in, load.at);
	if (lane->slots_undefined)
		ptx_undefined_load(lane, load.in, load.at);
	lane->registers = registers;
}

void ptx_loads_complete(struct ptx_lane *lane)
{
	while (loads_of(lane)->n)
		complete(lane, loads_of(lane)->n - 1);
}

void ptx_loads_tick(struct ptx_lane *lane)
{
	struct ptx_late_loads *loads = loads_of(lane);
	uint32_t i;

	for (i = loads->n; i-- > 0;)
		if (is_atom(&loads->loads[i]) && ptx_is_shown(lane))
			complete(lane, i);
}

void ptx_loads_before_access(struct ptx_lane *lane, uint64_t at, uint32_t bytes)
{
	struct ptx_late_loads *loads = loads_of(lane);
	uint32_t i;

	for (i = loads->n; i-- > 0;) {
		const struct ptx_late_load *load = &loads->loads[i];
		uint64_t from = (uintptr_t)load->at;
		uint32_t n = (uint32_t)load->in->size * load->in->count;

		if (from < at + bytes && at < from + n)
			complete(lane, i);
	}
}

static int shares(const uint32_t *a, uint32_t n_a, const uint32_t *b,
		  uint32_t n_b)
{
	uint32_t i, k;

	for (i = 0; i < n_a; i++)
		for (k = 0; k < n_b; k++)
			if (a[i] == b[k])
				return 1;
	return 0;
}

/* Returns 1 if an instruction reads or writes a result of a late load. So it does if
 * it writes a source of a late atomic. */
static int uses(const struct ptx_instruction *in,
		const struct ptx_late_load *load)
{
	uint32_t slots[PTX_MAX_VECTOR], read[PTX_MAX_READ];
	uint32_t written[PTX_MAX_VECTOR], n = ptx_written(load->in, slots);
	uint32_t n_written = ptx_written(in, written);

	if (shares(slots, n, read, ptx_read(in, read)) ||
	    shares(slots, n, written, n_written))
		return 1;
	return is_atom(load) &&
	       shares(read, ptx_read(load->in, read), written, n_written);
}

void ptx_loads_before(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	struct ptx_late_loads *loads = loads_of(lane);
	uint32_t i;

	for (i = loads->n; i-- > 0;) {
		const struct ptx_late_load *load = &loads->loads[i];

		if (load->registers == lane->registers &&
		    (in->opcode == PTX_RETURN || uses(in, load)))
			complete(lane, i);
	}
}
