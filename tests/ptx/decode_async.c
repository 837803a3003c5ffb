/* SPDX-License-Identifier: Apache-2.0 */
#include "parser.h"

/* mbarrier, st.async and cp.async.bulk. */

/* Parses [address] into a slot. May append an instruction that adds. */
static uint32_t address_slot(struct ptx_parser *p)
{
	struct ptx_address address = ptx_parse_address(p);
	uint32_t sum, offset;
	struct ptx_instruction *in;

	if (address.is_param)
		ptx_fail(p, "'%.*s' takes no parameter's address",
			 (int)p->opcode.bytes, p->opcode.at);
	if (!address.offset)
		return address.base;
	offset = ptx_constant(p, (uint64_t)address.offset);
	sum = ptx_new_slot(p);
	in = ptx_emit(p, PTX_ADD_U64);
	if (!in)
		return 0;
	in->a = address.base;
	in->b = offset;
	in->d = sum;
	return sum;
}

static uint32_t next_address(struct ptx_parser *p)
{
	ptx_need(p, ",");
	return address_slot(p);
}

/* Reads the order and the scope into an instruction, if they are there. */
static void take_order(struct ptx_parts *parts, struct ptx_instruction *in)
{
	static const char *const orders[] = { "relaxed", "acquire", "release",
					      "weak", NULL };
	static const enum ptx_order order[] = { PTX_RELAXED, PTX_ACQUIRE,
						PTX_RELEASE, PTX_WEAK };
	static const char *const scopes[] = { "cta", "cluster", "gpu", "sys",
					      NULL };
	int i = ptx_part_of(parts, orders);

	if (i >= 0)
		in->order = order[i] & 15;
	i = ptx_part_of(parts, scopes);
	in->scope = (PTX_SCOPE_CTA + (i < 0 ? 0 : i)) & 15;
}

static enum ptx_space take_shared(struct ptx_parts *parts)
{
	static const char *const names[] = { "shared", "shared::cta",
					     "shared::cluster", NULL };
	int i = ptx_part_of(parts, names);

	return i < 0  ? PTX_SPACE_GENERIC :
	       i == 2 ? PTX_SPACE_CLUSTER :
			PTX_SPACE_SHARED;
}

/* ---- mbarrier ------------------------------------------------------------ */

/* Reads the part that tells what else an arrival does. */
static enum ptx_mbarrier take_arrival(struct ptx_parts *parts, int drops)
{
	static const char *const names[] = { "expect_tx", "noComplete", NULL };
	int i = ptx_part_of(parts, names);

	return (enum ptx_mbarrier)(
		(drops ? PTX_MBARRIER_DROP : PTX_MBARRIER_ARRIVE) + i + 1);
}

static int take_operation(struct ptx_parts *parts)
{
	static const char *const names[] = { "init",	      "inval",
					     "expect_tx",     "complete_tx",
					     "pending_count", "arrive",
					     "arrive_drop",   "test_wait",
					     "try_wait",      NULL };
	static const enum ptx_mbarrier operations[] = {
		PTX_MBARRIER_INIT, PTX_MBARRIER_INVAL, PTX_MBARRIER_EXPECT,
		PTX_MBARRIER_COMPLETE, PTX_MBARRIER_PENDING
	};
	int i = ptx_part_of(parts, names);

	if (i < 5)
		return i < 0 ? -1 : (int)operations[i];
	if (i < 7)
		return (int)take_arrival(parts, i == 6);
	return ptx_part(parts, "parity") ? PTX_MBARRIER_PARITY :
					   PTX_MBARRIER_TEST;
}

static int has_result(enum ptx_mbarrier operation)
{
	return operation >= PTX_MBARRIER_ARRIVE;
}

/* Parses the operand behind the address. Arrivals have 1 by default. */
static uint32_t take_operand(struct ptx_parser *p, enum ptx_mbarrier operation)
{
	uint32_t slot;

	if (operation == PTX_MBARRIER_INVAL ||
	    ((operation == PTX_MBARRIER_ARRIVE ||
	      operation == PTX_MBARRIER_DROP) &&
	     !ptx_is(&p->token, ",")))
		return ptx_constant(p, 1);
	ptx_need(p, ",");
	slot = ptx_source(p);
	if (operation >= PTX_MBARRIER_TEST && ptx_take(p, ","))
		ptx_source(p); /* the time that the lane may sleep */
	return slot;
}

/* Arrivals release and tests acquire, unless the text has another order. */
static enum ptx_order default_order(enum ptx_mbarrier operation)
{
	if (operation >= PTX_MBARRIER_TEST)
		return PTX_ACQUIRE;
	return operation >= PTX_MBARRIER_ARRIVE ? PTX_RELEASE : PTX_RELAXED;
}

/* Parses the operands behind the result. */
static void take_operands(struct ptx_parser *p, struct ptx_instruction *in)
{
	struct ptx_address address;

	if (in->mode == PTX_MBARRIER_PENDING) {
		in->b = ptx_source(p);
		return;
	}
	address = ptx_parse_address(p);
	in->a = address.base;
	in->offset = address.offset;
	in->b = take_operand(p, (enum ptx_mbarrier)in->mode);
}

static int decode_mbarrier(struct ptx_parser *p, struct ptx_parts *parts)
{
	struct ptx_instruction what = { .size = 8, .count = 1 }, *in;
	int operation = take_operation(parts);

	what.mode = (uint8_t)operation;
	what.order = default_order((enum ptx_mbarrier)operation) & 15;
	what.d = PTX_NO_SLOT;
	take_order(parts, &what);
	what.space = (uint8_t)take_shared(parts);
	if (operation < 0 || !ptx_part(parts, "b64") || parts->next != parts->n)
		return 0;
	if (has_result((enum ptx_mbarrier)operation)) {
		what.d = ptx_destination(p);
		ptx_need(p, ",");
	}
	take_operands(p, &what);
	what.opcode = PTX_MBARRIER;
	in = ptx_emit(p, PTX_MBARRIER);
	if (in)
		*in = what;
	return 1;
}

/* ---- st.async ------------------------------------------------------------ */

static int decode_store(struct ptx_parser *p, struct ptx_parts *parts)
{
	static const char *const vectors[] = { "v2", "v4", NULL };
	uint32_t slots[PTX_MAX_VECTOR] = { 0 }, size, count, mbarrier;
	enum ptx_type_kind kind;
	struct ptx_address address;
	struct ptx_instruction *in;
	struct ptx_instruction order = { 0 };
	int vector;

	take_order(parts, &order); /* weak, the only one */
	ptx_part(parts, "shared::cluster");
	if (!ptx_part(parts, "mbarrier::complete_tx::bytes"))
		return 0;
	vector = ptx_part_of(parts, vectors);
	count = vector < 0 ? 1 : 2u << vector;
	size = ptx_part_type(parts, &kind);
	if (size < 4 || size > 8 || size * count > 16 ||
	    parts->next != parts->n)
		return 0;
	address = ptx_parse_address(p);
	ptx_need(p, ",");
	if (count > 1)
		ptx_vector(p, slots, count, 1);
	else
		slots[0] = ptx_source(p);
	mbarrier = next_address(p);
	in = ptx_emit(p, PTX_STORE_ASYNC);
	if (!in)
		return 1;
	in->space = PTX_SPACE_CLUSTER;
	in->size = (uint8_t)size;
	in->count = (uint8_t)count;
	in->a = address.base;
	in->offset = address.offset;
	in->b = mbarrier;
	memcpy(in->v, slots, sizeof(in->v));
	return 1;
}

/* ---- cp.async.bulk ------------------------------------------------------- */

static int emit_bulk(struct ptx_parser *p, enum ptx_bulk form, uint32_t b)
{
	struct ptx_instruction *in = ptx_emit(p, PTX_BULK);

	if (!in)
		return 1;
	in->mode = (uint8_t)form;
	in->b = b;
	return 1;
}

static int decode_copy(struct ptx_parser *p, enum ptx_bulk form,
		       enum ptx_space from)
{
	uint32_t d = address_slot(p), a = next_address(p), bytes, mbarrier = 0;
	struct ptx_instruction *in;

	ptx_need(p, ",");
	bytes = ptx_source(p);
	if (form == PTX_BULK_TO_SHARED)
		mbarrier = next_address(p);
	in = ptx_emit(p, PTX_BULK);
	if (!in)
		return 1;
	in->mode = (uint8_t)form;
	in->space = (uint8_t)from;
	in->a = d;
	in->b = a;
	in->c = bytes;
	in->v[0] = mbarrier;
	return 1;
}

static int decode_bulk(struct ptx_parser *p, struct ptx_parts *parts)
{
	static const char *const spaces[] = { "shared::cluster", "shared::cta",
					      "global", NULL };
	int to, from;

	if (ptx_part(parts, "commit_group"))
		return parts->next == parts->n &&
		       emit_bulk(p, PTX_BULK_COMMIT, 0);
	if (ptx_part(parts, "wait_group")) {
		ptx_part(parts, "read");
		return parts->next == parts->n &&
		       emit_bulk(p, PTX_BULK_WAIT, ptx_source(p));
	}
	to = ptx_part_of(parts, spaces);
	from = ptx_part_of(parts, spaces);
	if (to == 2 && from == 1 && ptx_part(parts, "bulk_group"))
		return parts->next == parts->n &&
		       decode_copy(p, PTX_BULK_TO_GLOBAL, PTX_SPACE_SHARED);
	if (to < 0 || to > 1 || from < 1 || from == to ||
	    !ptx_part(parts, "mbarrier::complete_tx::bytes") ||
	    parts->next != parts->n)
		return 0;
	return decode_copy(p, PTX_BULK_TO_SHARED,
			   from == 1 ? PTX_SPACE_SHARED : PTX_SPACE_GLOBAL);
}

int ptx_decode_async(struct ptx_parser *p)
{
	struct ptx_parts parts;

	ptx_split(&parts, &p->opcode);
	if (ptx_part(&parts, "mbarrier"))
		return decode_mbarrier(p, &parts);
	if (ptx_part(&parts, "st") && ptx_part(&parts, "async"))
		return decode_store(p, &parts);
	if (ptx_part(&parts, "cp") && ptx_part(&parts, "async") &&
	    ptx_part(&parts, "bulk"))
		return decode_bulk(p, &parts);
	return 0;
}
