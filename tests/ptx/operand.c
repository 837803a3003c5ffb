/* SPDX-License-Identifier: Apache-2.0 */
#include "parser.h"

#include <stdlib.h>

#define MAX_SLOTS (1u << 20)

static const struct {
	const char *name;
	enum ptx_special special;
} specials[] = {
	{ "%tid.x", PTX_TID_X },
	{ "%tid.y", PTX_ZERO },
	{ "%tid.z", PTX_ZERO },
	{ "%ntid.x", PTX_NTID_X },
	{ "%ntid.y", PTX_ONE },
	{ "%ntid.z", PTX_ONE },
	{ "%ctaid.x", PTX_CTAID_X },
	{ "%ctaid.y", PTX_ZERO },
	{ "%ctaid.z", PTX_ZERO },
	{ "%nctaid.x", PTX_NCTAID_X },
	{ "%nctaid.y", PTX_ONE },
	{ "%nctaid.z", PTX_ONE },
	{ "%laneid", PTX_LANEID },
	{ "%warpid", PTX_WARPID },
	{ "%nwarpid", PTX_NWARPID },
	{ "%smid", PTX_SMID },
	{ "%gridid", PTX_GRIDID },
	{ "%lanemask_eq", PTX_LANEMASK_EQ },
	{ "%lanemask_lt", PTX_LANEMASK_LT },
	{ "%lanemask_le", PTX_LANEMASK_LE },
	{ "%lanemask_gt", PTX_LANEMASK_GT },
	{ "%lanemask_ge", PTX_LANEMASK_GE },
	{ "%clusterid.x", PTX_CLUSTERID_X },
	{ "%nclusterid.x", PTX_NCLUSTERID_X },
	{ "%cluster_ctaid.x", PTX_CLUSTER_CTAID_X },
	{ "%cluster_ctarank", PTX_CLUSTER_CTAID_X },
	{ "%cluster_nctaid.x", PTX_CLUSTER_NCTAID_X },
	{ "%cluster_nctarank", PTX_CLUSTER_NCTAID_X },
	{ "%clock", PTX_CLOCK },
	{ "%clock64", PTX_CLOCK },
	{ "%globaltimer", PTX_GLOBALTIMER },
	{ "%globaltimer_lo", PTX_GLOBALTIMER },
	{ "%globaltimer_hi", PTX_GLOBALTIMER_HI },
	{ "%dynamic_smem_size", PTX_DYNAMIC_SIZE },
};

uint32_t ptx_new_slot(struct ptx_parser *p)
{
	if (p->free_slot >= MAX_SLOTS) {
		ptx_fail(p, "a function has more than %u registers", MAX_SLOTS);
		return 0;
	}
	p->free_slot++;
	if (p->free_slot > p->function->n_registers)
		p->function->n_registers = p->free_slot;
	return p->free_slot - 1;
}

/* ---- constants ----------------------------------------------------------- */

static uint32_t *table_entry(struct ptx_parser *p, uint64_t value)
{
	uint64_t h = (value ^ value >> 32) * 0x9e3779b97f4a7c15ULL >> 20;
	uint32_t *entry;

	for (;; h++) {
		entry = &p->constant_table[h & (p->table_size - 1)];
		if (!*entry || p->function->constants[*entry - 1] == value)
			return entry;
	}
}

static int grow_table(struct ptx_parser *p)
{
	struct ptx_function *f = p->function;
	uint32_t i;

	free(p->constant_table);
	p->table_size = p->table_size ? p->table_size * 2 : 64;
	p->constant_table = calloc(p->table_size, sizeof(*p->constant_table));
	if (!p->constant_table)
		return -1;
	for (i = 0; i < f->n_constants; i++)
		*table_entry(p, f->constants[i]) = i + 1;
	return 0;
}

uint32_t ptx_constant(struct ptx_parser *p, uint64_t value)
{
	struct ptx_function *f = p->function;
	uint32_t *entry;
	void *more;

	if (2 * f->n_constants >= p->table_size && grow_table(p)) {
		ptx_fail_memory(p);
		return 0;
	}
	entry = table_entry(p, value);
	if (*entry)
		return (*entry - 1) | PTX_CONSTANT;
	if (f->n_constants == p->constant_capacity) {
		more = ptx_grow(p, f->constants, &p->constant_capacity,
				sizeof(*f->constants));
		if (!more)
			return 0;
		f->constants = more;
	}
	f->constants[f->n_constants++] = value;
	*entry = f->n_constants;
	return (f->n_constants - 1) | PTX_CONSTANT;
}

/* ---- operands ------------------------------------------------------------ */

static void fail_operand(struct ptx_parser *p, const char *wanted)
{
	int n = (int)(p->token.bytes < 60 ? p->token.bytes : 60);

	ptx_fail(p, "operand '%.*s' of '%.*s' is not %s", n, p->token.at,
		 (int)(p->opcode.bytes < 60 ? p->opcode.bytes : 60),
		 p->opcode.at, wanted);
}

/* Returns the slot of a register, or PTX_NO_SLOT. */
static uint32_t slot_of(struct ptx_parser *p)
{
	uint32_t number;
	const struct ptx_symbol *s;

	if (p->token.kind != PTX_WORD)
		return PTX_NO_SLOT;
	s = ptx_lookup(p, &p->token, &number);
	if (!s || (s->kind != PTX_REGISTER && s->kind != PTX_REGISTERS))
		return PTX_NO_SLOT;
	return (uint32_t)s->value + number;
}

uint32_t ptx_register(struct ptx_parser *p)
{
	uint32_t slot = slot_of(p);

	if (slot == PTX_NO_SLOT) {
		fail_operand(p, "a register");
		return 0;
	}
	ptx_next(p);
	return slot;
}

uint32_t ptx_wide_register(struct ptx_parser *p)
{
	uint32_t number = 0;
	const struct ptx_symbol *s = p->token.kind == PTX_WORD ?
					     ptx_lookup(p, &p->token, &number) :
					     NULL;

	if (!s || (s->kind != PTX_WIDE && s->kind != PTX_WIDES)) {
		fail_operand(p, "a register of 128 bits");
		return 0;
	}
	ptx_next(p);
	return (uint32_t)s->value + 2 * number;
}

uint32_t ptx_destination(struct ptx_parser *p)
{
	return ptx_take(p, "_") ? ptx_new_slot(p) : ptx_register(p);
}

/* Parses an offset behind a name or a register: +4, +-4 or -4. */
static int64_t take_offset(struct ptx_parser *p)
{
	int64_t offset;

	if (!ptx_take(p, "+") &&
	    (p->token.kind != PTX_NUMBER || *p->token.at != '-'))
		return 0;
	offset = (int64_t)p->token.value;
	if (p->token.kind != PTX_NUMBER)
		fail_operand(p, "an offset");
	ptx_next(p);
	return offset;
}

/* Appends an instruction that puts a special register into a new slot. */
static uint32_t take_special(struct ptx_parser *p, enum ptx_special special,
			     int64_t offset)
{
	uint32_t slot = ptx_new_slot(p);
	struct ptx_instruction *in = ptx_emit(p, PTX_SPECIAL);

	if (!in)
		return 0;
	in->mode = special;
	in->d = slot;
	in->offset = offset;
	return slot;
}

/* Appends an instruction that computes an address in the frame's memory. */
static uint32_t take_frame_address(struct ptx_parser *p, int64_t offset)
{
	uint32_t slot = ptx_new_slot(p);
	struct ptx_instruction *in = ptx_emit(p, PTX_LOCAL_ADDRESS);

	if (!in)
		return 0;
	in->d = slot;
	in->offset = offset;
	return slot;
}

/* Parses the address of a symbol, with an offset. */
static uint32_t source_of(struct ptx_parser *p, const struct ptx_symbol *s)
{
	uint64_t value = s->value;

	ptx_next(p);
	if (s->kind == PTX_FUNCTION)
		return ptx_constant(p, (uintptr_t)s->object);
	value += (uint64_t)take_offset(p);
	if (s->kind == PTX_LOCAL || s->kind == PTX_PARAM)
		return take_frame_address(p, (int64_t)value);
	if (s->kind == PTX_DYNAMIC)
		return take_special(p, PTX_DYNAMIC_BASE, (int64_t)value);
	return ptx_constant(p, value);
}

static uint32_t special_of(struct ptx_parser *p)
{
	size_t i;

	for (i = 0; i < sizeof(specials) / sizeof(*specials); i++)
		if (ptx_is(&p->token, specials[i].name)) {
			ptx_next(p);
			return take_special(p, specials[i].special, 0);
		}
	return PTX_NO_SLOT;
}

uint32_t ptx_source(struct ptx_parser *p)
{
	const struct ptx_symbol *s;
	uint32_t slot = slot_of(p), number;
	uint64_t value = p->token.value;

	if (slot != PTX_NO_SLOT) {
		ptx_next(p);
		return slot;
	}
	if (p->token.kind == PTX_NUMBER) {
		ptx_next(p);
		return ptx_constant(p, value);
	}
	s = ptx_lookup(p, &p->token, &number);
	if (p->token.kind == PTX_WORD && s && s->kind <= PTX_FUNCTION)
		return source_of(p, s);
	if (ptx_take(p, "WARP_SZ"))
		return ptx_constant(p, PTX_WARP);
	slot = special_of(p);
	if (slot != PTX_NO_SLOT)
		return slot;
	fail_operand(p, "a register, a number or an address");
	return 0;
}

void ptx_vector(struct ptx_parser *p, uint32_t slots[PTX_MAX_VECTOR],
		uint32_t n, int is_source)
{
	uint32_t i;

	ptx_need(p, "{");
	for (i = 0; i < n; i++) {
		if (i)
			ptx_need(p, ",");
		slots[i] = is_source ? ptx_source(p) : ptx_destination(p);
	}
	ptx_need(p, "}");
}

struct ptx_address ptx_parse_address(struct ptx_parser *p)
{
	struct ptx_address address = { 0 };
	const struct ptx_symbol *s;
	uint32_t number;

	ptx_need(p, "[");
	s = p->token.kind == PTX_WORD ? ptx_lookup(p, &p->token, &number) :
					NULL;
	if (s && s->kind == PTX_PARAM) {
		ptx_next(p);
		address.offset = take_offset(p);
		address.is_param = 1;
		if (address.offset < 0 || address.offset > s->n)
			fail_operand(p, "an offset in the parameter");
		address.param_left = s->n - (uint32_t)address.offset;
		address.offset += (int64_t)s->value;
	} else {
		address.base = ptx_source(p);
		address.offset = take_offset(p);
	}
	ptx_need(p, "]");
	return address;
}
