/* SPDX-License-Identifier: Apache-2.0 */
#include "parser.h"

/* What the parts of ld, st, atom, red and fence say. */
struct access {
	struct ptx_parts parts;
	enum ptx_order order;
	enum ptx_scope scope;
	enum ptx_space space;
	enum ptx_type_kind kind;
	uint32_t size, count;
	int whole; /* .b128 */
};

static void take_scope(struct access *a)
{
	static const char *const names[] = { "cta", "cluster", "gpu", "sys",
					     NULL };
	int i = ptx_part_of(&a->parts, names);

	if (i >= 0)
		a->scope = (enum ptx_scope)(PTX_SCOPE_CTA + i);
}

/* Reads an order and its scope. */
static void take_order(struct access *a, const char *const *names,
		       const enum ptx_order *orders)
{
	int i = ptx_part_of(&a->parts, names);

	if (i >= 0)
		a->order = orders[i];
	take_scope(a);
}

static void take_space(struct access *a)
{
	static const char *const names[] = { "global",		"shared",
					     "shared::cta",	"local",
					     "param",		"param::func",
					     "param::entry",	"const",
					     "shared::cluster", NULL };
	static const enum ptx_space spaces[] = {
		PTX_SPACE_GLOBAL, PTX_SPACE_SHARED, PTX_SPACE_SHARED,
		PTX_SPACE_LOCAL,  PTX_SPACE_PARAM,  PTX_SPACE_PARAM,
		PTX_SPACE_PARAM,  PTX_SPACE_CONST,  PTX_SPACE_CLUSTER
	};
	int i = ptx_part_of(&a->parts, names);

	if (i >= 0)
		a->space = spaces[i];
}

/* Skips hints for caches: they change no value. */
static void skip_hints(struct access *a)
{
	static const char *const names[] = { "nc",
					     "ca",
					     "cg",
					     "cs",
					     "lu",
					     "cv",
					     "wb",
					     "wt",
					     "L1::evict_normal",
					     "L1::evict_unchanged",
					     "L1::evict_first",
					     "L1::evict_last",
					     "L1::no_allocate",
					     "L2::64B",
					     "L2::128B",
					     "L2::256B",
					     NULL };

	while (ptx_part_of(&a->parts, names) >= 0)
		;
}

static void take_vector(struct access *a)
{
	static const char *const names[] = { "v2", "v4", NULL };
	int i = ptx_part_of(&a->parts, names);

	a->count = i < 0 ? 1 : 2u << i;
}

/* Reads the type. A register of 128 bits has two slots. */
static void take_type(struct access *a)
{
	a->whole = a->count == 1 && ptx_part(&a->parts, "b128");
	if (a->whole) {
		a->kind = PTX_TYPE_BITS;
		a->size = 8;
		a->count = 2;
	} else {
		a->size = ptx_part_type(&a->parts, &a->kind);
	}
}

static void wide_slots(struct ptx_parser *p, uint32_t slots[PTX_MAX_VECTOR])
{
	slots[0] = ptx_wide_register(p);
	slots[1] = slots[0] + 1;
}

/* ---- ld and st ----------------------------------------------------------- */

static const char *const load_orders[] = { "weak", "volatile", "relaxed",
					   "acquire", NULL };
static const enum ptx_order load_order[] = { PTX_WEAK, PTX_VOLATILE,
					     PTX_RELAXED, PTX_ACQUIRE };
static const char *const store_orders[] = { "weak", "volatile", "relaxed",
					    "release", NULL };
static const enum ptx_order store_order[] = { PTX_WEAK, PTX_VOLATILE,
					      PTX_RELAXED, PTX_RELEASE };

/* An order of atomics needs a scope, and no other order has one. */
static int fits(const struct access *a)
{
	int needs_scope = a->order >= PTX_RELAXED;

	return a->size && a->size <= 8 && a->size * a->count <= 16 &&
	       a->parts.next == a->parts.n && needs_scope == !!a->scope;
}

static uint16_t opcode_of(const struct access *a, int is_load)
{
	int is_signed = a->kind == PTX_TYPE_SIGNED;

	if (a->count > 1)
		return is_load ? PTX_LOAD_VECTOR : PTX_STORE_VECTOR;
	switch (a->size) {
	case 1:
		return is_load ? is_signed ? PTX_LOAD_S8 : PTX_LOAD_U8 :
				 PTX_STORE_U8;
	case 2:
		return is_load ? is_signed ? PTX_LOAD_S16 : PTX_LOAD_U16 :
				 PTX_STORE_U16;
	case 4:
		return is_load ? is_signed ? PTX_LOAD_S32 : PTX_LOAD_U32 :
				 PTX_STORE_U32;
	default:
		return is_load ? PTX_LOAD_U64 : PTX_STORE_U64;
	}
}

static void emit_access(struct ptx_parser *p, const struct access *a,
			const struct ptx_address *address,
			const uint32_t slots[PTX_MAX_VECTOR], int is_load)
{
	struct ptx_instruction *in;
	uint16_t opcode = opcode_of(a, is_load);

	if (address->is_param) {
		if (a->space != PTX_SPACE_PARAM ||
		    address->param_left < a->size * a->count)
			ptx_fail(p, "'%.*s' is no access to this parameter",
				 (int)p->opcode.bytes, p->opcode.at);
		opcode = is_load ? PTX_LOAD_PARAM : PTX_STORE_PARAM;
	}
	in = ptx_emit(p, (enum ptx_opcode)opcode);
	if (!in)
		return;
	in->size = (uint8_t)a->size;
	in->count = (uint8_t)a->count;
	in->space = (uint8_t)(a->space == PTX_SPACE_PARAM ? PTX_SPACE_LOCAL :
							    a->space);
	in->order = a->order & 15;
	in->scope = a->scope & 15;
	in->kind = a->kind & 15;
	in->whole = a->whole & 1;
	in->a = address->base;
	in->offset = address->offset;
	in->d = slots[0];
	memcpy(in->v, slots, sizeof(in->v));
}

static int decode_load(struct ptx_parser *p, struct access *a)
{
	uint32_t slots[PTX_MAX_VECTOR] = { 0 };
	struct ptx_address address;

	take_order(a, load_orders, load_order);
	take_space(a);
	skip_hints(a);
	take_vector(a);
	take_type(a);
	if (!fits(a))
		return 0;
	if (a->whole)
		wide_slots(p, slots);
	else if (a->count > 1)
		ptx_vector(p, slots, a->count, 0);
	else
		slots[0] = ptx_destination(p);
	ptx_need(p, ",");
	address = ptx_parse_address(p);
	emit_access(p, a, &address, slots, 1);
	return 1;
}

static int decode_store(struct ptx_parser *p, struct access *a)
{
	uint32_t slots[PTX_MAX_VECTOR] = { 0 };
	struct ptx_address address;

	take_order(a, store_orders, store_order);
	take_space(a);
	skip_hints(a);
	take_vector(a);
	take_type(a);
	if (!fits(a) || a->space == PTX_SPACE_CONST)
		return 0;
	address = ptx_parse_address(p);
	ptx_need(p, ",");
	if (a->whole)
		wide_slots(p, slots);
	else if (a->count > 1)
		ptx_vector(p, slots, a->count, 1);
	else
		slots[0] = ptx_source(p);
	emit_access(p, a, &address, slots, 0);
	return 1;
}

/* ---- atom and red -------------------------------------------------------- */

/* Which types an operation has, as the name of a type. */
static int atom_fits(const struct access *a, enum ptx_operation operation)
{
	int wide = a->count == 1 && (a->size == 4 || a->size == 8);
	int is_unsigned = a->kind == PTX_TYPE_UNSIGNED;

	switch (operation) {
	case PTX_ATOM_ADD:
		return wide && a->kind != PTX_TYPE_BITS &&
		       (a->kind != PTX_TYPE_SIGNED || a->size == 4);
	case PTX_ATOM_MIN:
	case PTX_ATOM_MAX:
		return wide && (is_unsigned || a->kind == PTX_TYPE_SIGNED);
	case PTX_ATOM_ADD_F16:
	case PTX_ATOM_ADD_BF16:
		return 1;
	case PTX_ATOM_INC:
	case PTX_ATOM_DEC:
		return a->size == 4 && is_unsigned;
	case PTX_ATOM_EXCH:
		return (wide || a->whole) && a->kind == PTX_TYPE_BITS;
	case PTX_ATOM_CAS:
		return (wide || a->whole || a->size == 2) &&
		       a->kind == PTX_TYPE_BITS;
	default:
		return wide && a->kind == PTX_TYPE_BITS;
	}
}

/* Reads the parts before the type, in the order of the PTX ISA or in that of
 * libcu++. Returns the operation, or -1. */
static int take_atom(struct access *a)
{
	static const char *const orders[] = { "relaxed", "acquire", "release",
					      "acq_rel", NULL };
	static const enum ptx_order order[] = { PTX_RELAXED, PTX_ACQUIRE,
						PTX_RELEASE, PTX_ACQ_REL };
	static const char *const operations[] = { "add", "exch", "cas", "and",
						  "or",	 "xor",	 "min", "max",
						  "inc", "dec",	 NULL };
	int operation = ptx_part_of(&a->parts, operations);

	a->order = PTX_RELAXED;
	take_order(a, orders, order);
	take_space(a);
	if (!a->scope)
		take_scope(a);
	return operation >= 0 ? operation : ptx_part_of(&a->parts, operations);
}

/* Reads a type with numbers of 16 bits. Returns its addition, or -1. */
static int take_half(struct access *a)
{
	static const char *const types[] = { "f16", "f16x2", "bf16", "bf16x2",
					     NULL };
	int type = ptx_part_of(&a->parts, types);

	a->kind = PTX_TYPE_FLOAT;
	a->size = type & 1 ? 4 : 2;
	if (type < 0)
		return -1;
	return type < 2 ? PTX_ATOM_ADD_F16 : PTX_ATOM_ADD_BF16;
}

static int decode_atom(struct ptx_parser *p, struct access *a, int is_red)
{
	struct ptx_instruction *in;
	struct ptx_address address;
	uint32_t (*read)(struct ptx_parser * parser);
	uint32_t d, b, c = 0;
	int operation;

	operation = take_atom(a);
	a->count = 1;
	if (operation == PTX_ATOM_ADD && ptx_part(&a->parts, "noftz"))
		operation = take_half(a);
	else
		take_type(a);
	if (!a->scope)
		a->scope = PTX_SCOPE_GPU;
	if (operation < 0 || !fits(a) ||
	    (a->space >= PTX_SPACE_LOCAL && a->space != PTX_SPACE_CLUSTER) ||
	    !atom_fits(a, (enum ptx_operation)operation))
		return 0;
	read = a->whole ? ptx_wide_register : ptx_source;
	if (is_red && a->whole)
		return 0;
	d = is_red   ? ptx_new_slot(p) :
	    a->whole ? ptx_wide_register(p) :
		       ptx_destination(p);
	if (!is_red)
		ptx_need(p, ",");
	address = ptx_parse_address(p);
	ptx_need(p, ",");
	b = read(p);
	if (operation == PTX_ATOM_CAS) {
		ptx_need(p, ",");
		c = read(p);
	}
	emit_access(p, a, &address, (uint32_t[PTX_MAX_VECTOR]){ d, d + 1 }, 1);
	if (p->failed)
		return 1;
	in = &p->function->code[p->function->n_code - 1];
	in->opcode = PTX_ATOM;
	in->mode = (uint8_t)operation;
	in->b = b;
	in->c = c;
	return 1;
}

/* ---- fences -------------------------------------------------------------- */

/* A fence between proxies orders what the lane did before it and its copies. */
static int decode_proxy(struct ptx_parser *p, struct access *a)
{
	struct ptx_instruction *in;

	if (!ptx_part(&a->parts, "async"))
		return 0;
	take_space(a);
	if (a->parts.next != a->parts.n)
		return 0;
	in = ptx_emit(p, PTX_FENCE);
	if (!in)
		return 1;
	in->order = PTX_ACQ_REL;
	in->scope =
		(a->space == PTX_SPACE_SHARED ? PTX_SCOPE_CTA : PTX_SCOPE_GPU) &
		15;
	return 1;
}

static int decode_fence(struct ptx_parser *p, struct access *a)
{
	static const char *const names[] = { "acq_rel", "sc", NULL };
	static const enum ptx_order order[] = { PTX_ACQ_REL, PTX_SEQ_CST };
	struct ptx_instruction *in;

	a->order = PTX_ACQ_REL;
	if (ptx_part(&a->parts, "proxy"))
		return decode_proxy(p, a);
	if (ptx_part(&a->parts, "mbarrier_init"))
		ptx_part(&a->parts, "release");
	take_order(a, names, order);
	if (!a->scope || a->parts.next != a->parts.n)
		return 0;
	in = ptx_emit(p, PTX_FENCE);
	if (!in)
		return 1;
	in->order = a->order & 15;
	in->scope = a->scope & 15;
	return 1;
}

/* membar is fence.sc with older names of scopes. */
static int decode_membar(struct ptx_parser *p, struct access *a)
{
	static const char *const names[] = { "cta", "gl", "sys", NULL };
	static const enum ptx_scope scopes[] = { PTX_SCOPE_CTA, PTX_SCOPE_GPU,
						 PTX_SCOPE_SYS };
	int i = ptx_part_of(&a->parts, names);
	struct ptx_instruction *in;

	if (i < 0 || a->parts.next != a->parts.n)
		return 0;
	in = ptx_emit(p, PTX_FENCE);
	if (!in)
		return 1;
	in->order = PTX_SEQ_CST;
	in->scope = scopes[i] & 15;
	return 1;
}

int ptx_decode_memory(struct ptx_parser *p)
{
	struct access a = { .order = PTX_WEAK };

	ptx_split(&a.parts, &p->opcode);
	if (ptx_part(&a.parts, "ld"))
		return decode_load(p, &a);
	if (ptx_part(&a.parts, "st"))
		return decode_store(p, &a);
	if (ptx_part(&a.parts, "atom"))
		return decode_atom(p, &a, 0);
	if (ptx_part(&a.parts, "red"))
		return decode_atom(p, &a, 1);
	if (ptx_part(&a.parts, "fence"))
		return decode_fence(p, &a);
	if (ptx_part(&a.parts, "membar"))
		return decode_membar(p, &a);
	return 0;
}
