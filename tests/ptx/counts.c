/* SPDX-License-Identifier: Apache-2.0 */
#include "operands.h"
#include "state.h"

#include <stdio.h>
#include <string.h>

/* Counts of executed instructions, see machine.h. */

/* ---- classes ------------------------------------------------------------- */

static int is_move(const struct ptx_instruction *in)
{
	return in->opcode < PTX_N_VALUES &&
	       !strncmp(ptx_opcode_infos[in->opcode].text, "mov.", 4);
}

/* Of an opcode with no memory access. */
static enum ptx_class class_of_other(const struct ptx_instruction *in)
{
	switch (in->opcode) {
	case PTX_PACK:
	case PTX_UNPACK:
	case PTX_SPECIAL:
	case PTX_LOCAL_ADDRESS:
	case PTX_CVTA:
	case PTX_CVTA_SHARED:
	case PTX_CVTA_TO_GLOBAL:
	case PTX_CVTA_TO_SHARED:
	case PTX_CVTA_TO_LOCAL:
		return PTX_CLASS_MOVE;
	case PTX_LOAD_PARAM:
	case PTX_STORE_PARAM:
		return PTX_CLASS_PARAM;
	case PTX_BRANCH:
	case PTX_BRANCH_IF:
	case PTX_BRANCH_UNLESS:
	case PTX_BRANCH_TABLE:
		return PTX_CLASS_BRANCH;
	case PTX_CALL:
	case PTX_CALL_INDIRECT:
	case PTX_RETURN:
	case PTX_EXIT:
		return PTX_CLASS_CALL;
	case PTX_FENCE:
		return PTX_CLASS_FENCE;
	case PTX_BARRIER:
	case PTX_MBARRIER:
	case PTX_CLUSTER_ARRIVE:
	case PTX_CLUSTER_WAIT:
		return PTX_CLASS_BARRIER;
	case PTX_WARP_BARRIER:
	case PTX_SHFL:
	case PTX_VOTE:
	case PTX_MATCH:
	case PTX_REDUX:
	case PTX_ACTIVEMASK:
	case PTX_ELECT:
		return PTX_CLASS_WARP;
	default:
		return PTX_CLASS_OTHER;
	}
}

static enum ptx_class class_of(const struct ptx_instruction *in)
{
	if (in->opcode < PTX_N_VALUES)
		return is_move(in) ? PTX_CLASS_MOVE : PTX_CLASS_VALUE;
	if (ptx_is_load(in))
		return PTX_CLASS_LOAD;
	if (ptx_is_store(in))
		return PTX_CLASS_STORE;
	return in->opcode == PTX_ATOM ? PTX_CLASS_ATOM : class_of_other(in);
}

/* ---- accesses ------------------------------------------------------------ */

/* Returns a variable of the module, or NULL. */
static const struct ptx_variable *variable_at(const struct ptx_lane *lane,
					      uint64_t address)
{
	const struct ptx_variable *v = lane->function->module->variables;

	while (v && address - (uintptr_t)v->memory >= v->bytes)
		v = v->next;
	return v;
}

static enum ptx_memory generic_memory(const struct ptx_lane *lane,
				      uint64_t address)
{
	const struct ptx_grid *grid = lane->block->grid;
	const struct ptx_host *host = &grid->launch.host;
	const struct ptx_variable *v;

	if (address - (uintptr_t)lane->local < PTX_LOCAL_BYTES)
		return PTX_MEMORY_LOCAL;
	if (address - (uintptr_t)grid->shared <
	    (uint64_t)grid->launch.blocks * grid->shared_stride)
		return PTX_MEMORY_SHARED;
	v = variable_at(lane, address);
	if (v)
		return v->is_const ? PTX_MEMORY_CONST : PTX_MEMORY_GLOBAL;
	return host->memory ? host->memory(host->context, grid->launch.device,
					   address) :
			      PTX_MEMORY_GLOBAL;
}

static enum ptx_memory memory_of(const struct ptx_lane *lane,
				 const struct ptx_instruction *in)
{
	switch ((enum ptx_space)in->space) {
	case PTX_SPACE_SHARED:
	case PTX_SPACE_CLUSTER:
		return PTX_MEMORY_SHARED;
	case PTX_SPACE_LOCAL:
		return PTX_MEMORY_LOCAL;
	case PTX_SPACE_CONST:
		return PTX_MEMORY_CONST;
	default:
		return generic_memory(lane, lane->registers[in->a] +
						    (uint64_t)in->offset);
	}
}

/* An order or a fence without a scope has the scope of the device. */
static enum ptx_count_scope scope_of(const struct ptx_instruction *in)
{
	return in->scope ? (enum ptx_count_scope)(in->scope - PTX_SCOPE_CTA) :
			   PTX_COUNT_GPU;
}

static void count_access(struct ptx_lane *lane,
			 const struct ptx_instruction *in, enum ptx_class class)
{
	enum ptx_access access = class == PTX_CLASS_LOAD  ? PTX_ACCESS_LOAD :
				 class == PTX_CLASS_STORE ? PTX_ACCESS_STORE :
							    PTX_ACCESS_ATOM;

	lane->counts->accesses[access][memory_of(lane, in)]++;
	if (in->order >= PTX_ACQUIRE)
		lane->counts->orders[scope_of(in)]++;
}

/* ---- instructions -------------------------------------------------------- */

/* Returns 1 if a branch is the predicate of the next instruction. */
static int is_predicate(const struct ptx_lane *lane,
			const struct ptx_instruction *in)
{
	const struct ptx_function *f = lane->function;

	return (in->opcode == PTX_BRANCH_IF ||
		in->opcode == PTX_BRANCH_UNLESS) &&
	       ptx_place_of(f, in)->opcode_at ==
		       ptx_place_of(f, in + 1)->opcode_at;
}

static void count_class(struct ptx_counts *c, enum ptx_class class)
{
	c->instructions++;
	c->by_class[class]++;
}

void ptx_count(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	struct ptx_counts *c = lane->counts;
	enum ptx_class class = class_of(in);

	if (is_predicate(lane, in)) {
		uint64_t value = lane->registers[in->a] & 1;

		/* an instruction that is not skipped counts itself */
		if (value == (in->opcode == PTX_BRANCH_IF))
			count_class(c, class_of(in + 1));
		return;
	}
	count_class(c, class);
	if (class >= PTX_CLASS_LOAD && class <= PTX_CLASS_ATOM)
		count_access(lane, in, class);
	else if (class == PTX_CLASS_FENCE)
		c->fences[scope_of(in)]++;
}

/* ---- results ------------------------------------------------------------- */

/* A struct ptx_counts is an array of words. */
void ptx_counts_add(struct ptx_counts *to, const struct ptx_counts *from,
		    int64_t n)
{
	uint64_t *a = (uint64_t *)(void *)to;
	const uint64_t *b = (const uint64_t *)(const void *)from;
	size_t i;

	for (i = 0; i < sizeof(*to) / sizeof(*a); i++)
		a[i] += (uint64_t)n * b[i];
}

struct ptx_counts ptx_grid_counts(const struct ptx_grid *grid, uint32_t lane)
{
	struct ptx_counts sum = { 0 };
	uint32_t n = grid->launch.threads, i;

	for (i = 0; grid->counts && i < grid->launch.blocks * n; i++)
		if (lane == PTX_ALL_LANES || i % n == lane)
			ptx_counts_add(&sum, &grid->counts[i], 1);
	return sum;
}

/* ---- JSON ---------------------------------------------------------------- */

struct column {
	const char *name;
	uint64_t count;
};

static uint64_t in_memory(const struct ptx_counts *c, enum ptx_memory memory)
{
	uint64_t n = 0;
	int i;

	for (i = 0; i < PTX_N_ACCESSES; i++)
		n += c->accesses[i][memory];
	return n;
}

static uint64_t of_scopes(const uint64_t *counts)
{
	uint64_t n = 0;
	int i;

	for (i = 0; i < PTX_N_COUNT_SCOPES; i++)
		n += counts[i];
	return n;
}

void ptx_counts_print(const struct ptx_counts *c, uint64_t messages, FILE *file)
{
	const struct column columns[] = {
		{ "instructions", c->instructions },
		{ "moves", c->by_class[PTX_CLASS_MOVE] },
		{ "branches", c->by_class[PTX_CLASS_BRANCH] },
		{ "loads", c->by_class[PTX_CLASS_LOAD] },
		{ "stores", c->by_class[PTX_CLASS_STORE] },
		{ "atomics", c->by_class[PTX_CLASS_ATOM] },
		{ "host_accesses", in_memory(c, PTX_MEMORY_HOST) },
		{ "global_accesses", in_memory(c, PTX_MEMORY_GLOBAL) },
		{ "peer_accesses", in_memory(c, PTX_MEMORY_PEER) },
		{ "shared_accesses", in_memory(c, PTX_MEMORY_SHARED) },
		{ "local_accesses", in_memory(c, PTX_MEMORY_LOCAL) },
		{ "barriers", c->by_class[PTX_CLASS_BARRIER] },
		{ "fences", of_scopes(c->fences) },
		{ "orders", of_scopes(c->orders) },
		{ "system_orders",
		  c->orders[PTX_COUNT_SYS] + c->fences[PTX_COUNT_SYS] },
	};
	uint32_t i;

	for (i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		fprintf(file, "%s\"%s\": %.2f", i ? ", " : "", columns[i].name,
			(double)columns[i].count / (double)messages);
}

void ptx_grid_print(const struct ptx_grid *grid, FILE *file)
{
	const struct ptx_counts c = ptx_grid_counts(grid, PTX_ALL_LANES);

	fprintf(file,
		"{\"entry\": \"%s\", \"device\": %d, \"blocks\": %u, "
		"\"lanes\": %u, ",
		grid->function->text_name, grid->launch.device,
		grid->launch.blocks, grid->launch.threads);
	ptx_counts_print(&c, 1, file);
	fprintf(file, "}\n");
}
