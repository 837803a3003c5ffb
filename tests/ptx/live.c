/* SPDX-License-Identifier: Apache-2.0 */
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

struct slots {
	uint32_t n;
	uint32_t at[3 + PTX_MAX_VECTOR];
};

static void add_slot(struct slots *s, uint32_t slot)
{
	s->at[s->n++] = slot;
}

static void add_vector(struct slots *s, const struct ptx_instruction *in,
		       uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		add_slot(s, in->v[i]);
}

/* ---- classes of opcodes -------------------------------------------------- */

static int is_load(const struct ptx_instruction *in)
{
	return in->opcode >= PTX_LOAD_U8 && in->opcode <= PTX_LOAD_S32;
}

static int is_store(const struct ptx_instruction *in)
{
	return in->opcode >= PTX_STORE_U8 && in->opcode <= PTX_STORE_U64;
}

static int is_warp(const struct ptx_instruction *in)
{
	return in->opcode == PTX_SHFL || in->opcode == PTX_VOTE ||
	       in->opcode == PTX_MATCH || in->opcode == PTX_REDUX ||
	       in->opcode == PTX_ELECT;
}

/* ---- registers of an instruction ----------------------------------------- */

/* Registers that an instruction writes. */
static struct slots written(const struct ptx_instruction *in)
{
	struct slots s = { 0 };

	if (in->opcode == PTX_LOAD_VECTOR || in->opcode == PTX_LOAD_PARAM) {
		add_vector(&s, in, in->count);
	} else if (in->opcode == PTX_UNPACK) {
		add_vector(&s, in, 2);
	} else if (is_warp(in)) {
		add_slot(&s, in->d);
		if (in->v[2] != PTX_NO_SLOT)
			add_slot(&s, in->v[2]);
	} else if (in->opcode < PTX_N_VALUES || is_load(in) ||
		   in->opcode == PTX_ATOM || in->opcode == PTX_ACTIVEMASK ||
		   in->opcode == PTX_PACK ||
		   (in->opcode >= PTX_SPECIAL && in->opcode <= PTX_MAPA) ||
		   (in->opcode == PTX_BARRIER && in->d)) {
		add_slot(&s, in->d);
	}
	return s;
}

static void add_sources(struct slots *s, const struct ptx_instruction *in)
{
	const uint32_t sources[4] = { in->a, in->b, in->c, in->v[0] };
	int i;

	for (i = 0; i < ptx_opcode_infos[in->opcode].sources; i++)
		add_slot(s, sources[i]);
}

/* Registers that an instruction reads. Fields without a use are 0 or ignored:
 * register 0 is of no program. */
static struct slots read_by(const struct ptx_instruction *in)
{
	struct slots s = { 0 };

	if (in->opcode < PTX_N_VALUES) {
		add_sources(&s, in);
	} else if (is_warp(in)) {
		add_slot(&s, in->a);
		add_slot(&s, in->b);
		add_slot(&s, in->c);
		if (in->opcode == PTX_SHFL)
			add_slot(&s, in->v[0]);
	} else if (in->opcode == PTX_STORE_PARAM) {
		add_vector(&s, in, in->count);
	} else if (in->opcode == PTX_PACK) {
		add_vector(&s, in, 2);
	} else if (in->opcode != PTX_LOAD_PARAM) {
		add_slot(&s, in->a);
		add_slot(&s, in->b);
		add_slot(&s, in->c);
		if (is_store(in))
			add_slot(&s, in->d);
		else if (in->opcode == PTX_STORE_VECTOR)
			add_vector(&s, in, in->count);
	}
	return s;
}

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
	return in->opcode == PTX_ISSPACEP ||
	       (in->opcode == PTX_VOTE && in->mode != PTX_MODE_BALLOT) ||
	       (in->opcode == PTX_BARRIER && in->mode != PTX_MODE_POPC);
}

/* 32-bit registers of a result of an instruction. The second result of an
 * opcode of a warp is a predicate. */
static uint32_t width(const struct ptx_instruction *in, uint32_t result)
{
	if (is_warp(in) && result)
		return 0;
	if (in->opcode < PTX_N_VALUES)
		return value_bytes(in->opcode) / 4 +
		       (value_bytes(in->opcode) == 2);
	if (is_load(in) || in->opcode == PTX_ATOM ||
	    in->opcode == PTX_LOAD_VECTOR || in->opcode == PTX_LOAD_PARAM ||
	    in->opcode == PTX_PACK)
		return in->size == 8 ? 2 : 1;
	if (in->opcode >= PTX_LOCAL_ADDRESS && in->opcode <= PTX_MAPA)
		return in->opcode == PTX_ISSPACEP ? 0 : 2;
	if (in->opcode == PTX_SPECIAL)
		return in->mode == PTX_CLOCK || in->mode == PTX_GLOBALTIMER ?
			       2 :
			       1;
	return !writes_predicate(in);
}

/* ---- blocks -------------------------------------------------------------- */

/* A run of instructions without a jump into it or out of it. */
struct block {
	uint32_t first, end;
	uint64_t *used, *killed, *in; /* sets of registers */
};

struct flow {
	struct ptx_function *function;
	uint32_t words; /* of a set */
	struct block *blocks;
	uint32_t n_blocks;
	uint32_t *block_at; /* by instruction: its block */
	uint64_t *sets, *live;
	uint8_t *widths; /* by register */
};

static int is_in(const uint64_t *set, uint32_t slot)
{
	return set[slot / 64] >> slot % 64 & 1;
}

static void set_in(uint64_t *set, uint32_t slot, int value)
{
	uint64_t bit = 1ULL << slot % 64;

	set[slot / 64] = value ? set[slot / 64] | bit : set[slot / 64] & ~bit;
}

static int is_register(const struct flow *f, uint32_t slot)
{
	return slot && slot < f->function->n_registers;
}

/* Calls visit() for each instruction that may follow. */
static void each_next(const struct flow *f, uint32_t at,
		      void (*visit)(const struct flow *f, uint32_t next,
				    void *context),
		      void *context)
{
	const struct ptx_instruction *in = &f->function->code[at];
	const struct ptx_instruction *code = f->function->code;
	uint32_t i;

	switch (in->opcode) {
	case PTX_BRANCH_TABLE:
		for (i = 0; i < in->targets->n; i++)
			visit(f, (uint32_t)(in->targets->targets[i] - code),
			      context);
		return;
	case PTX_BRANCH_IF:
	case PTX_BRANCH_UNLESS:
		visit(f, at + 1, context);
		visit(f, (uint32_t)(in->target - code), context);
		return;
	case PTX_BRANCH:
		visit(f, (uint32_t)(in->target - code), context);
		return;
	case PTX_RETURN:
	case PTX_EXIT:
	case PTX_TRAP:
		return;
	default:
		visit(f, at + 1, context);
	}
}

static int ends_block(const struct ptx_instruction *in)
{
	return (in->opcode >= PTX_BRANCH && in->opcode <= PTX_BRANCH_TABLE) ||
	       in->opcode == PTX_RETURN || in->opcode == PTX_EXIT ||
	       in->opcode == PTX_TRAP;
}

static void mark_first(const struct flow *f, uint32_t next, void *context)
{
	(void)context;
	f->block_at[next] = 1;
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
	f->sets = calloc((size_t)f->n_blocks * 3 + 1, f->words * 8);
	if (!f->blocks || !f->sets)
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

/* Fills in the registers that a block reads before it writes them, and those
 * that it writes. */
static void summarize(struct flow *f, struct block *b, uint64_t *sets)
{
	uint32_t at, i;

	b->used = sets;
	b->killed = sets + f->words;
	b->in = sets + 2 * (size_t)f->words;
	for (at = b->first; at < b->end; at++) {
		const struct ptx_instruction *in = &f->function->code[at];
		struct slots reads = read_by(in), writes = written(in);

		for (i = 0; i < reads.n; i++)
			if (is_register(f, reads.at[i]) &&
			    !is_in(b->killed, reads.at[i]))
				set_in(b->used, reads.at[i], 1);
		for (i = 0; i < writes.n; i++) {
			uint32_t slot = writes.at[i], w = width(in, i);

			if (f->widths[slot] < w)
				f->widths[slot] = (uint8_t)w;
			set_in(b->killed, slot, 1);
		}
	}
}

/* ---- live registers ------------------------------------------------------ */

static void add_live(const struct flow *f, uint32_t next, void *context)
{
	const uint64_t *in = f->blocks[f->block_at[next]].in;
	uint64_t *live = context;
	uint32_t i;

	for (i = 0; i < f->words; i++)
		live[i] |= in[i];
}

/* Sets f->live to the registers that are live at the end of a block. */
static void live_at_end(struct flow *f, const struct block *b)
{
	memset(f->live, 0, f->words * 8);
	each_next(f, b->end - 1, add_live, f->live);
}

/* Returns 1 if more registers are live at the start of a block than before. */
static int update(struct flow *f, struct block *b)
{
	int changed = 0;
	uint32_t i;

	live_at_end(f, b);
	for (i = 0; i < f->words; i++) {
		uint64_t in = b->used[i] | (f->live[i] & ~b->killed[i]);

		changed |= in != b->in[i];
		b->in[i] = in;
	}
	return changed;
}

static void solve(struct flow *f)
{
	int changed = 1;
	uint32_t i;

	while (changed) {
		changed = 0;
		for (i = f->n_blocks; i-- > 0;)
			changed |= update(f, &f->blocks[i]);
	}
}

/* Makes a register live or not. Returns the change of the width of all. */
static int32_t change(struct flow *f, uint32_t slot, int value)
{
	int32_t w = f->widths[slot];

	if (!is_register(f, slot) || is_in(f->live, slot) == value)
		return 0;
	set_in(f->live, slot, value);
	return value ? w : -w;
}

static uint32_t registers_of(struct ptx_function *function);

/* Returns the most registers at an instruction. *width_ref is the width of all
 * live registers. It changes from that after the instruction to that before. */
static uint32_t step_back(struct flow *f, const struct ptx_instruction *in,
			  int32_t *width_ref)
{
	struct slots reads = read_by(in), writes = written(in);
	uint32_t most, i;

	for (i = 0; i < writes.n; i++)
		*width_ref += change(f, writes.at[i], 1);
	most = (uint32_t)*width_ref;
	if (in->opcode == PTX_CALL)
		most += registers_of(in->call->function);
	for (i = 0; i < writes.n; i++)
		*width_ref += change(f, writes.at[i], 0);
	for (i = 0; i < reads.n; i++)
		*width_ref += change(f, reads.at[i], 1);
	return (uint32_t)*width_ref > most ? (uint32_t)*width_ref : most;
}

static uint32_t most_in_block(struct flow *f, const struct block *b)
{
	uint32_t most = 0, at, i;
	int32_t all = 0;

	live_at_end(f, b);
	for (i = 0; i < f->function->n_registers; i++)
		if (is_in(f->live, i))
			all += f->widths[i];
	for (at = b->end; at-- > b->first;) {
		uint32_t here = step_back(f, &f->function->code[at], &all);

		if (here > most)
			most = here;
	}
	return most;
}

/* ---- functions ----------------------------------------------------------- */

static int open_flow(struct flow *f)
{
	uint32_t i;

	f->words = (f->function->n_registers + 63) / 64;
	f->block_at = calloc(f->function->n_code, sizeof(*f->block_at));
	f->widths = calloc(ptx_n_slots(f->function) + 1, 1);
	if (!f->block_at || !f->widths || !find_blocks(f))
		return 0;
	for (i = 0; i < f->n_blocks; i++)
		summarize(f, &f->blocks[i], f->sets + 3 * (size_t)f->words * i);
	f->live = f->sets + 3 * (size_t)f->words * f->n_blocks;
	return 1;
}

static void close_flow(struct flow *f)
{
	free(f->block_at);
	free(f->widths);
	free(f->blocks);
	free(f->sets);
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
		solve(&f);
		for (i = 0; i < f.n_blocks; i++) {
			uint32_t here = most_in_block(&f, &f.blocks[i]);

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
