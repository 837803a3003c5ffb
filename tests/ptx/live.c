/* SPDX-License-Identifier: Apache-2.0 */
#include "operands.h"
#include "parser.h"

#include <stdlib.h>
#include <string.h>

/*
 * Estimates the registers of a function: the most 32-bit registers that hold a
 * value which a later instruction reads. A callee's registers come on top of
 * those of its callers. Predicates and constants need none. ptxas orders
 * instructions in another way and needs registers of its own.
 */

#define RECURSIVE UINT32_MAX /* as max_live_registers: being computed */

/* Bytes of the result of an opcode that computes a value; 1: a predicate. */
static uint32_t value_bytes(uint32_t opcode)
{
#define ROW(text, id, n, tr, ta, tb, tc, e) sizeof(tr),
	static const uint8_t bytes[PTX_N_VALUES] = { PTX_VALUES(ROW) };
#undef ROW

	return bytes[opcode];
}

static int writes_predicate(const struct ptx_instruction *in)
{
	return in->opcode == PTX_ISSPACEP || ptx_is_phase_test(in) ||
	       (in->opcode == PTX_VOTE && in->mode != PTX_MODE_BALLOT) ||
	       (in->opcode == PTX_BARRIER && in->mode != PTX_MODE_POPC);
}

/* 32-bit registers of a result of an instruction. The second result of an
 * opcode of a warp is a predicate. */
static uint32_t width(const struct ptx_instruction *in, uint32_t result)
{
	if (ptx_is_warp(in) && result)
		return 0;
	if (in->opcode < PTX_N_VALUES)
		return value_bytes(in->opcode) / 4 +
		       (value_bytes(in->opcode) == 2);
	if (ptx_is_load(in) || in->opcode == PTX_ATOM ||
	    in->opcode == PTX_LOAD_VECTOR || in->opcode == PTX_LOAD_PARAM ||
	    in->opcode == PTX_PACK)
		return in->size == 8 ? 2 : 1;
	if (in->opcode >= PTX_LOCAL_ADDRESS && in->opcode <= PTX_MAPA)
		return in->opcode == PTX_ISSPACEP ? 0 : 2;
	if (in->opcode == PTX_SPECIAL)
		return in->mode == PTX_CLOCK || in->mode == PTX_GLOBALTIMER ?
			       2 :
			       1;
	if (in->opcode == PTX_MBARRIER && !ptx_is_phase_test(in))
		return in->mode == PTX_MBARRIER_PENDING ? 1 : 2;
	return !writes_predicate(in);
}

/* ---- relations ----------------------------------------------------------- */

/* Pairs of numbers. After sort_pairs(), each key has its values in one run. */
struct pairs {
	uint32_t (*all)[2];
	uint32_t n, capacity;
	uint32_t *first; /* by key: its first value; one more key at the end */
	uint32_t *values; /* NULL: before the sort */
};

static int add_pair(struct pairs *p, uint32_t key, uint32_t value)
{
	if (p->n == p->capacity) {
		uint32_t capacity = p->capacity ? 2 * p->capacity : 256;
		void *grown = realloc(p->all, capacity * sizeof(*p->all));

		if (!grown)
			return 0;
		p->all = grown;
		p->capacity = capacity;
	}
	p->all[p->n][0] = key;
	p->all[p->n++][1] = value;
	return 1;
}

/* Sorts by counting. The values of a key keep their order. */
static int sort_pairs(struct pairs *p, uint32_t n_keys)
{
	uint32_t i;

	p->first = calloc((size_t)n_keys + 2, sizeof(*p->first));
	p->values = malloc((p->n + 1) * sizeof(*p->values));
	if (!p->first || !p->values)
		return 0;
	for (i = 0; i < p->n; i++)
		p->first[p->all[i][0] + 2]++;
	for (i = 2; i < n_keys + 2; i++)
		p->first[i] += p->first[i - 1];
	for (i = 0; i < p->n; i++)
		p->values[p->first[p->all[i][0] + 1]++] = p->all[i][1];
	return 1;
}

static void free_pairs(struct pairs *p)
{
	free(p->all);
	free(p->first);
	free(p->values);
}

/* ---- blocks -------------------------------------------------------------- */

/* A run of instructions without a jump into it or out of it. */
struct block {
	uint32_t first, end;
};

struct flow {
	struct ptx_function *function;
	struct block *blocks;
	uint32_t n_blocks, n_slots;
	uint32_t *block_at; /* by instruction: its block */
	struct pairs previous; /* by block: the blocks before it */
	struct pairs used; /* by register: blocks that read, then write it */
	struct pairs killed; /* by register: blocks that write it */
	struct pairs live; /* by block: registers that are live at its start */
	uint32_t *stamp; /* by register: the block that saw it last, + 1 */
	uint32_t *reached; /* by block: the register that reached it last */
	uint32_t *stops; /* by block: the register that it writes */
	uint32_t *stack; /* blocks to visit */
	uint8_t *widths; /* by register */
};

static int is_register(const struct flow *f, uint32_t slot)
{
	return slot && slot < f->function->n_registers;
}

/* Calls visit() for each instruction that may follow. Stops at a result of 0
 * and returns it. */
static int each_next(struct flow *f, uint32_t at,
		     int (*visit)(struct flow *f, uint32_t next, void *context),
		     void *context)
{
	const struct ptx_instruction *in = &f->function->code[at];
	const struct ptx_instruction *code = f->function->code;
	uint32_t i;

	switch (in->opcode) {
	case PTX_BRANCH_TABLE:
		for (i = 0; i < in->targets->n; i++)
			if (!visit(f,
				   (uint32_t)(in->targets->targets[i] - code),
				   context))
				return 0;
		return 1;
	case PTX_BRANCH_IF:
	case PTX_BRANCH_UNLESS:
		return visit(f, at + 1, context) &&
		       visit(f, (uint32_t)(in->target - code), context);
	case PTX_BRANCH:
		return visit(f, (uint32_t)(in->target - code), context);
	case PTX_RETURN:
	case PTX_EXIT:
	case PTX_TRAP:
		return 1;
	default:
		return visit(f, at + 1, context);
	}
}

static int ends_block(const struct ptx_instruction *in)
{
	return (in->opcode >= PTX_BRANCH && in->opcode <= PTX_BRANCH_TABLE) ||
	       in->opcode == PTX_RETURN || in->opcode == PTX_EXIT ||
	       in->opcode == PTX_TRAP;
}

static int mark_first(struct flow *f, uint32_t next, void *context)
{
	(void)context;
	f->block_at[next] = 1;
	return 1;
}

/* Finds the blocks of the code. block_at is 1 at their first instructions. */
static int find_blocks(struct flow *f)
{
	uint32_t n = f->function->n_code, i;

	f->block_at[0] = 1;
	for (i = 0; i < n; i++) {
		if (!ends_block(&f->function->code[i]))
			continue;
		each_next(f, i, mark_first, NULL);
		if (i + 1 < n)
			f->block_at[i + 1] = 1;
	}
	for (i = 0; i < n; i++)
		f->n_blocks += f->block_at[i];
	f->blocks = calloc(f->n_blocks, sizeof(*f->blocks));
	if (!f->blocks)
		return 0;
	f->n_blocks = 0;
	for (i = 0; i < n; i++) {
		if (f->block_at[i])
			f->blocks[f->n_blocks++].first = i;
		f->blocks[f->n_blocks - 1].end = i + 1;
		f->block_at[i] = f->n_blocks - 1;
	}
	return 1;
}

static int add_previous(struct flow *f, uint32_t next, void *context)
{
	const uint32_t *block = context;

	return add_pair(&f->previous, f->block_at[next], *block);
}

static int note_reads(struct flow *f, uint32_t block,
		      const struct ptx_instruction *in)
{
	uint32_t slots[PTX_MAX_READ], n = ptx_read(in, slots), i;

	for (i = 0; i < n; i++)
		if (is_register(f, slots[i]) &&
		    f->stamp[slots[i]] != block + 1 &&
		    !add_pair(&f->used, slots[i], block))
			return 0;
	return 1;
}

/* A stamp shows that the block has written a register. */
static int note_writes(struct flow *f, uint32_t block,
		       const struct ptx_instruction *in)
{
	uint32_t slots[PTX_MAX_VECTOR], n = ptx_written(in, slots), i;

	for (i = 0; i < n; i++) {
		uint32_t slot = slots[i], w = width(in, i);

		if (f->widths[slot] < w)
			f->widths[slot] = (uint8_t)w;
		if (f->stamp[slot] != block + 1 &&
		    !add_pair(&f->killed, slot, block))
			return 0;
		f->stamp[slot] = block + 1;
	}
	return 1;
}

/* Notes that a block precedes the next ones. Notes the registers that it reads
 * before it writes them, and those that it writes. */
static int summarize(struct flow *f, uint32_t block)
{
	const struct block *b = &f->blocks[block];
	uint32_t at;

	for (at = b->first; at < b->end; at++) {
		const struct ptx_instruction *in = &f->function->code[at];

		if (!note_reads(f, block, in) || !note_writes(f, block, in))
			return 0;
	}
	return each_next(f, b->end - 1, add_previous, &block);
}

/* ---- live registers ------------------------------------------------------ */

/* Makes a register live at the start of a block, unless it is already. */
static int reach(struct flow *f, uint32_t slot, uint32_t block, uint32_t *n)
{
	if (f->reached[block] == slot)
		return 1;
	f->reached[block] = slot;
	f->stack[(*n)++] = block;
	return add_pair(&f->live, block, slot);
}

/* Follows a register from its reads back to its writes. */
static int follow(struct flow *f, uint32_t slot)
{
	const struct pairs *used = &f->used, *before = &f->previous;
	uint32_t n = 0, block, i;

	for (i = f->killed.first[slot]; i < f->killed.first[slot + 1]; i++)
		f->stops[f->killed.values[i]] = slot;
	for (i = used->first[slot]; i < used->first[slot + 1]; i++)
		if (!reach(f, slot, used->values[i], &n))
			return 0;
	while (n) {
		block = f->stack[--n];
		for (i = before->first[block]; i < before->first[block + 1];
		     i++)
			if (f->stops[before->values[i]] != slot &&
			    !reach(f, slot, before->values[i], &n))
				return 0;
	}
	return 1;
}

/* Finds the registers that are live at the start of each block. */
static int solve(struct flow *f)
{
	uint32_t slot;

	if (!sort_pairs(&f->previous, f->n_blocks) ||
	    !sort_pairs(&f->used, f->n_slots) ||
	    !sort_pairs(&f->killed, f->n_slots))
		return 0;
	for (slot = 1; slot < f->function->n_registers; slot++)
		if (!follow(f, slot))
			return 0;
	return sort_pairs(&f->live, f->n_blocks);
}

/* Makes a register live or not: its stamp is 1 or 0. Returns the change of the
 * width of all live registers. */
static int32_t change(struct flow *f, uint32_t slot, uint32_t value)
{
	int32_t w = f->widths[slot];

	if (!is_register(f, slot) || f->stamp[slot] == value)
		return 0;
	f->stamp[slot] = value;
	return value ? w : -w;
}

static uint32_t registers_of(struct ptx_function *function);

/* Returns the most registers at an instruction. *width_ref is the width of all
 * live registers. It changes from that after the instruction to that before. */
static uint32_t step_back(struct flow *f, const struct ptx_instruction *in,
			  int32_t *width_ref)
{
	uint32_t reads[PTX_MAX_READ], n_reads = ptx_read(in, reads);
	uint32_t writes[PTX_MAX_VECTOR], n_writes = ptx_written(in, writes);
	uint32_t most, i;

	for (i = 0; i < n_writes; i++)
		*width_ref += change(f, writes[i], 1);
	most = (uint32_t)*width_ref;
	if (in->opcode == PTX_CALL)
		most += registers_of(in->call->function);
	for (i = 0; i < n_writes; i++)
		*width_ref += change(f, writes[i], 0);
	for (i = 0; i < n_reads; i++)
		*width_ref += change(f, reads[i], 1);
	return (uint32_t)*width_ref > most ? (uint32_t)*width_ref : most;
}

/* Changes all registers that are live at the start of a block. */
static int32_t change_all(struct flow *f, uint32_t block, uint32_t value)
{
	const struct pairs *live = &f->live;
	int32_t all = 0;
	uint32_t i;

	for (i = live->first[block]; i < live->first[block + 1]; i++)
		all += change(f, live->values[i], value);
	return all;
}

static int add_live(struct flow *f, uint32_t next, void *context)
{
	*(int32_t *)context += change_all(f, f->block_at[next], 1);
	return 1;
}

/* No stamp is set before and after. */
static uint32_t most_in_block(struct flow *f, uint32_t block)
{
	const struct block *b = &f->blocks[block];
	uint32_t most = 0, at;
	int32_t all = 0;

	each_next(f, b->end - 1, add_live, &all);
	for (at = b->end; at-- > b->first;) {
		uint32_t here = step_back(f, &f->function->code[at], &all);

		if (here > most)
			most = here;
	}
	change_all(f, block, 0);
	return most;
}

/* ---- functions ----------------------------------------------------------- */

static int open_flow(struct flow *f)
{
	uint32_t n = f->function->n_code, i;

	f->n_slots = ptx_n_slots(f->function) + 1;
	f->block_at = calloc(n, sizeof(*f->block_at));
	f->widths = calloc(f->n_slots, 1);
	f->stamp = calloc(f->n_slots, sizeof(*f->stamp));
	if (!f->block_at || !f->widths || !f->stamp || !find_blocks(f))
		return 0;
	f->reached = calloc(f->n_blocks, sizeof(*f->reached));
	f->stops = calloc(f->n_blocks, sizeof(*f->stops));
	f->stack = calloc(f->n_blocks, sizeof(*f->stack));
	if (!f->reached || !f->stops || !f->stack)
		return 0;
	for (i = 0; i < f->n_blocks; i++)
		if (!summarize(f, i))
			return 0;
	memset(f->stamp, 0, f->n_slots * sizeof(*f->stamp));
	return solve(f);
}

static void close_flow(struct flow *f)
{
	free_pairs(&f->previous);
	free_pairs(&f->used);
	free_pairs(&f->killed);
	free_pairs(&f->live);
	free(f->block_at);
	free(f->widths);
	free(f->stamp);
	free(f->reached);
	free(f->stops);
	free(f->stack);
	free(f->blocks);
}

/* Returns the registers of a function. A recursive call counts none. */
static uint32_t registers_of(struct ptx_function *function)
{
	struct flow f = { .function = function };
	uint32_t most = 0, i;

	if (function->max_live_registers == RECURSIVE)
		return 0;
	if (function->max_live_registers || !function->n_code)
		return function->max_live_registers;
	function->max_live_registers = RECURSIVE;
	if (open_flow(&f)) {
		for (i = 0; i < f.n_blocks; i++) {
			uint32_t here = most_in_block(&f, i);

			most = here > most ? here : most;
		}
	}
	close_flow(&f);
	return function->max_live_registers = most ? most : 1;
}

void ptx_estimate_registers(struct ptx_module *module)
{
	struct ptx_function *f;

	for (f = module->functions; f; f = f->next)
		registers_of(f);
}
