/* SPDX-License-Identifier: Apache-2.0 */
#include "parser.h"

#include <stdlib.h>
#include <string.h>

/* ---- branches and calls -------------------------------------------------- */

static void decode_branch(struct ptx_parser *p)
{
	struct ptx_instruction *in = ptx_emit(p, PTX_BRANCH);

	if (in)
		ptx_jump(p, p->function->n_code - 1);
}

static void decode_branch_table(struct ptx_parser *p)
{
	uint32_t index = ptx_source(p), number;
	const struct ptx_symbol *s;
	struct ptx_instruction *in;

	ptx_need(p, ",");
	s = ptx_lookup(p, &p->token, &number);
	if (p->token.kind != PTX_WORD || !s || s->kind != PTX_TARGETS) {
		ptx_fail(p, "brx.idx: its targets are not known");
		return;
	}
	ptx_next(p);
	in = ptx_emit(p, PTX_BRANCH_TABLE);
	if (!in)
		return;
	in->a = index;
	in->targets = s->object;
}

/* Parses the name of a .param variable of the function. */
static struct ptx_param parse_argument(struct ptx_parser *p)
{
	struct ptx_param param = { 0 };
	uint32_t number;
	const struct ptx_symbol *s = ptx_lookup(p, &p->token, &number);

	if (p->token.kind != PTX_WORD || !s || s->kind != PTX_PARAM) {
		ptx_fail(p, "call: '%.*s' is not a parameter",
			 (int)(p->token.bytes < 60 ? p->token.bytes : 60),
			 p->token.at);
		return param;
	}
	param.offset = (uint32_t)s->value;
	param.bytes = s->n;
	ptx_next(p);
	return param;
}

/* Parses the prototype of an indirect call, and compares the arguments. */
static struct ptx_prototype *take_prototype(struct ptx_parser *p,
					    const struct ptx_call *call)
{
	uint32_t number;
	const struct ptx_symbol *s = ptx_lookup(p, &p->token, &number);
	struct ptx_prototype *prototype;

	if (p->token.kind != PTX_WORD || !s || s->kind != PTX_PROTOTYPE) {
		ptx_fail(p, "call: an indirect call needs a prototype");
		return NULL;
	}
	prototype = s->object;
	ptx_next(p);
	if (prototype->result_bytes != call->result_bytes ||
	    !ptx_same_params(prototype->params, prototype->n_params, call->from,
			     call->n_params))
		ptx_fail(p, "call: the prototype has other parameters");
	return prototype;
}

static struct ptx_call *new_call(struct ptx_parser *p)
{
	struct ptx_call *call = calloc(1, sizeof(*call));

	if (!call) {
		ptx_fail_memory(p);
		return NULL;
	}
	call->next = p->module->calls;
	p->module->calls = call;
	return call;
}

/* Parses the function of a call: its name, or a register with its address. */
static uint32_t take_callee(struct ptx_parser *p, struct ptx_call *call)
{
	uint32_t number;
	const struct ptx_symbol *s = ptx_lookup(p, &p->token, &number);

	if (p->token.kind != PTX_WORD || !s || s->kind != PTX_FUNCTION)
		return ptx_register(p);
	call->function = s->object;
	ptx_next(p);
	return 0;
}

/* The function that assert() calls has no body. */
static int is_assertion(const struct ptx_function *f)
{
	return !f->is_defined && !strcmp(f->text_name, "__assertfail");
}

static void decode_call(struct ptx_parser *p)
{
	struct ptx_call *call = new_call(p);
	struct ptx_instruction *in;
	struct ptx_param result;
	uint32_t callee;

	if (!call)
		return;
	if (ptx_take(p, "(")) {
		result = parse_argument(p);
		call->result_to = result.offset;
		call->result_bytes = result.bytes;
		ptx_need(p, ")");
		ptx_need(p, ",");
	}
	callee = take_callee(p, call);
	if (ptx_take(p, ",") && ptx_is(&p->token, "(")) {
		call->from =
			ptx_parse_params(p, &call->n_params, parse_argument);
		if (!call->function)
			ptx_need(p, ",");
	}
	if (call->function && is_assertion(call->function)) {
		call->function = NULL;
		in = ptx_emit(p, PTX_TRAP);
		if (in)
			in->mode = PTX_MODE_ASSERT;
		return;
	}
	if (!call->function)
		call->prototype = take_prototype(p, call);
	in = ptx_emit(p, call->function ? PTX_CALL : PTX_CALL_INDIRECT);
	if (!in)
		return;
	in->a = callee;
	in->call = call;
}

/* ---- barriers ------------------------------------------------------------ */

/* The order of a cluster barrier: release, acquire or relaxed. */
static int decode_cluster(struct ptx_parser *p, struct ptx_parts *parts)
{
	int is_arrive = ptx_part(parts, "arrive"), is_relaxed = 0;
	struct ptx_instruction *in;

	if (!is_arrive && !ptx_part(parts, "wait"))
		return 0;
	if (is_arrive)
		is_relaxed = !ptx_part(parts, "release") &&
			     ptx_part(parts, "relaxed");
	else
		ptx_part(parts, "acquire");
	ptx_part(parts, "aligned");
	if (parts->next != parts->n)
		return 0;
	in = ptx_emit(p, is_arrive ? PTX_CLUSTER_ARRIVE : PTX_CLUSTER_WAIT);
	if (in)
		in->order = is_relaxed ? PTX_RELAXED :
			    is_arrive  ? PTX_RELEASE :
					 PTX_ACQUIRE;
	return 1;
}

static int decode_warp_barrier(struct ptx_parser *p, struct ptx_parts *parts)
{
	struct ptx_instruction *in;
	uint32_t mask;

	if (!ptx_part(parts, "sync") || parts->next != parts->n)
		return 0;
	mask = ptx_source(p);
	in = ptx_emit(p, PTX_WARP_BARRIER);
	if (in)
		in->c = mask;
	return 1;
}

/* Reads what a barrier does besides waiting. Returns -1 if it is unknown. */
static int take_barrier_mode(struct ptx_parts *parts, int *aligned)
{
	static const char *const reductions[] = { "popc", "and", "or", NULL };
	static const char *const types[] = { "u32", "pred", NULL };
	int mode, type;

	if (ptx_part(parts, "sync") || ptx_part(parts, "arrive")) {
		mode = ptx_equal(parts->at[parts->next - 1],
				 parts->bytes[parts->next - 1], "sync") ?
			       PTX_MODE_NONE :
			       PTX_MODE_ARRIVE;
		*aligned |= ptx_part(parts, "aligned");
		return parts->next == parts->n ? mode : -1;
	}
	if (!ptx_part(parts, "red"))
		return -1;
	mode = ptx_part_of(parts, reductions);
	*aligned |= ptx_part(parts, "aligned");
	type = ptx_part_of(parts, types);
	if (mode < 0 || type != (mode ? 1 : 0) || parts->next != parts->n)
		return -1;
	return mode == 0 ? PTX_MODE_POPC :
	       mode == 1 ? PTX_MODE_AND :
			   PTX_MODE_OR;
}

/* bar.sync a{, b}; bar.arrive a, b; bar.red.op.type d, a{, b}, p; */
static int decode_barrier(struct ptx_parser *p, struct ptx_parts *parts,
			  int aligned)
{
	uint32_t d = 0, a, b = PTX_NO_SLOT, c = 0;
	struct ptx_instruction *in;
	int mode, is_red;

	if (ptx_part(parts, "cluster"))
		return decode_cluster(p, parts);
	if (ptx_part(parts, "warp"))
		return decode_warp_barrier(p, parts);
	ptx_part(parts, "cta");
	mode = take_barrier_mode(parts, &aligned);
	if (mode < 0)
		return 0;
	is_red = mode != PTX_MODE_NONE && mode != PTX_MODE_ARRIVE;
	if (is_red) {
		d = ptx_destination(p);
		ptx_need(p, ",");
	}
	a = ptx_source(p);
	if (ptx_take(p, ","))
		b = ptx_source(p);
	if (is_red && ptx_take(p, ",")) {
		c = ptx_source(p);
	} else if (is_red) {
		c = b;
		b = PTX_NO_SLOT;
	}
	if ((is_red && c == PTX_NO_SLOT) ||
	    (mode == PTX_MODE_ARRIVE && b == PTX_NO_SLOT))
		ptx_fail(p, "'%.*s' needs more operands", (int)p->opcode.bytes,
			 p->opcode.at);
	in = ptx_emit(p, PTX_BARRIER);
	if (!in)
		return 1;
	in->mode = (uint8_t)mode;
	in->aligned = aligned & 1;
	in->d = d;
	in->a = a;
	in->count = b != PTX_NO_SLOT; /* with a number of lanes */
	in->b = in->count ? b : 0;
	in->c = c;
	return 1;
}

/* ---- opcodes of a warp --------------------------------------------------- */

/* Emits an opcode of a warp: its mask is c. */
static struct ptx_instruction *emit_warp(struct ptx_parser *p,
					 enum ptx_opcode opcode, uint32_t d,
					 uint32_t a, uint32_t mask)
{
	struct ptx_instruction *in = ptx_emit(p, opcode);

	if (!in)
		return NULL;
	in->d = d;
	in->a = a;
	in->c = mask;
	in->v[2] = PTX_NO_SLOT; /* of a second destination */
	return in;
}

static uint32_t next_source(struct ptx_parser *p)
{
	ptx_need(p, ",");
	return ptx_source(p);
}

/* Parses |p behind a destination. */
static uint32_t second_destination(struct ptx_parser *p)
{
	return ptx_take(p, "|") ? ptx_destination(p) : PTX_NO_SLOT;
}

static int decode_shfl(struct ptx_parser *p, struct ptx_parts *parts)
{
	static const char *const modes[] = { "up", "down", "bfly", "idx",
					     NULL };
	struct ptx_instruction *in;
	uint32_t d, second, a, b, c, mask;
	int mode;

	if (!ptx_part(parts, "sync"))
		return 0;
	mode = ptx_part_of(parts, modes);
	if (mode < 0 || !ptx_part(parts, "b32") || parts->next != parts->n)
		return 0;
	d = ptx_destination(p);
	second = second_destination(p);
	a = next_source(p);
	b = next_source(p);
	c = next_source(p);
	mask = next_source(p);
	in = emit_warp(p, PTX_SHFL, d, a, mask);
	if (!in)
		return 1;
	in->mode = (uint8_t)(PTX_MODE_UP + mode);
	in->b = b;
	in->v[0] = c;
	in->v[2] = second;
	return 1;
}

static int decode_vote(struct ptx_parser *p, struct ptx_parts *parts)
{
	static const char *const modes[] = { "all", "any", "uni", "ballot",
					     NULL };
	struct ptx_instruction *in;
	uint32_t d, a;
	int mode, negated;

	if (!ptx_part(parts, "sync"))
		return 0;
	mode = ptx_part_of(parts, modes);
	if (mode < 0 || !ptx_part(parts, mode == 3 ? "b32" : "pred") ||
	    parts->next != parts->n)
		return 0;
	d = ptx_destination(p);
	ptx_need(p, ",");
	negated = ptx_take(p, "!");
	a = ptx_source(p);
	in = emit_warp(p, PTX_VOTE, d, a, next_source(p));
	if (!in)
		return 1;
	in->mode = (uint8_t)(PTX_MODE_ALL + mode);
	in->count = (uint8_t)negated;
	return 1;
}

static int decode_match(struct ptx_parser *p, struct ptx_parts *parts)
{
	static const char *const modes[] = { "all", "any", NULL };
	int mode = ptx_part_of(parts, modes);
	enum ptx_type_kind kind;
	struct ptx_instruction *in;
	uint32_t d, second, a, size;

	if (mode < 0 || !ptx_part(parts, "sync"))
		return 0;
	size = ptx_part_type(parts, &kind);
	if ((size != 4 && size != 8) || kind != PTX_TYPE_BITS)
		return 0;
	d = ptx_destination(p);
	second = mode == 0 ? second_destination(p) : PTX_NO_SLOT;
	a = next_source(p);
	in = emit_warp(p, PTX_MATCH, d, a, next_source(p));
	if (!in)
		return 1;
	in->mode = (uint8_t)(PTX_MODE_ALL + mode);
	in->size = (uint8_t)size;
	in->v[2] = second;
	return 1;
}

static int decode_redux(struct ptx_parser *p, struct ptx_parts *parts)
{
	static const char *const modes[] = { "add", "min", "max", "and",
					     "or",  "xor", NULL };
	enum ptx_type_kind kind;
	struct ptx_instruction *in;
	uint32_t d, a;
	int mode;

	if (!ptx_part(parts, "sync"))
		return 0;
	mode = ptx_part_of(parts, modes);
	if (mode < 0 || ptx_part_type(parts, &kind) != 4 ||
	    (mode < 3) != (kind != PTX_TYPE_BITS) || kind == PTX_TYPE_FLOAT)
		return 0;
	d = ptx_destination(p);
	a = next_source(p);
	in = emit_warp(p, PTX_REDUX, d, a, next_source(p));
	if (!in)
		return 1;
	in->mode = (uint8_t)(PTX_MODE_ADD + mode);
	in->kind = kind & 15;
	return 1;
}

/* ---- others -------------------------------------------------------------- */

static int decode_cvta(struct ptx_parser *p, struct ptx_parts *parts)
{
	static const char *const spaces[] = { "global", "const",  "param",
					      "local",	"shared", "shared::cta",
					      NULL };
	static const enum ptx_opcode from[] = {
		PTX_CVTA, PTX_CVTA,	   PTX_CVTA,
		PTX_CVTA, PTX_CVTA_SHARED, PTX_CVTA_SHARED
	};
	static const enum ptx_opcode to[] = {
		PTX_CVTA_TO_GLOBAL, PTX_CVTA_TO_GLOBAL, PTX_CVTA_TO_LOCAL,
		PTX_CVTA_TO_LOCAL,  PTX_CVTA_TO_SHARED, PTX_CVTA_TO_SHARED
	};
	int is_to = ptx_part(parts, "to");
	int space = ptx_part_of(parts, spaces);
	struct ptx_instruction *in;
	uint32_t d, a;

	if (space < 0 || !ptx_part(parts, "u64") || parts->next != parts->n)
		return 0;
	d = ptx_destination(p);
	a = next_source(p);
	in = ptx_emit(p, is_to ? to[space] : from[space]);
	if (!in)
		return 1;
	in->d = d;
	in->a = a;
	return 1;
}

static int decode_isspacep(struct ptx_parser *p, struct ptx_parts *parts)
{
	static const char *const names[] = { "global", "shared", "shared::cta",
					     "local", NULL };
	static const enum ptx_space spaces[] = { PTX_SPACE_GLOBAL,
						 PTX_SPACE_SHARED,
						 PTX_SPACE_SHARED,
						 PTX_SPACE_LOCAL };
	int space = ptx_part_of(parts, names);
	struct ptx_instruction *in;
	uint32_t d, a;

	if (space < 0 || parts->next != parts->n)
		return 0;
	d = ptx_destination(p);
	a = next_source(p);
	in = ptx_emit(p, PTX_ISSPACEP);
	if (!in)
		return 1;
	in->space = (uint8_t)spaces[space];
	in->d = d;
	in->a = a;
	return 1;
}

static void decode_mapa(struct ptx_parser *p)
{
	int is_generic = ptx_is(&p->opcode, "mapa.u64");
	uint32_t d = ptx_destination(p), a = next_source(p), b = next_source(p);
	struct ptx_instruction *in = ptx_emit(p, PTX_MAPA);

	if (!in)
		return;
	in->space = is_generic ? PTX_SPACE_GENERIC : PTX_SPACE_SHARED;
	in->d = d;
	in->a = a;
	in->b = b;
}

static void emit_move(struct ptx_parser *p, uint32_t d, uint32_t a)
{
	struct ptx_instruction *in = ptx_emit(p, PTX_MOV_B64);

	if (!in)
		return;
	in->d = d;
	in->a = a;
}

/* Parses the slots of one operand of mov.b128: a register, or two of 64 bits. */
static int wide_operand(struct ptx_parser *p, uint32_t slots[PTX_MAX_VECTOR],
			int is_source)
{
	int packed = ptx_is(&p->token, "{");

	if (packed) {
		ptx_vector(p, slots, 2, is_source);
	} else {
		slots[0] = ptx_wide_register(p);
		slots[1] = slots[0] + 1;
	}
	return packed;
}

/* The second source may be the first destination. */
static void decode_wide_move(struct ptx_parser *p)
{
	uint32_t d[PTX_MAX_VECTOR] = { 0 }, a[PTX_MAX_VECTOR] = { 0 };
	int packed = wide_operand(p, d, 0);
	uint32_t second = ptx_new_slot(p);

	ptx_need(p, ",");
	packed += wide_operand(p, a, 1);
	if (packed == 2)
		ptx_fail(p, "mov.b128 has no register of 128 bits");
	emit_move(p, second, a[1]);
	emit_move(p, d[0], a[0]);
	emit_move(p, d[1], second);
}

static void decode_elect(struct ptx_parser *p)
{
	uint32_t d = ptx_destination(p), second = second_destination(p);
	struct ptx_instruction *in =
		emit_warp(p, PTX_ELECT, d, 0, next_source(p));

	if (in)
		in->v[2] = second;
}

static void decode_nanosleep(struct ptx_parser *p)
{
	uint32_t a = ptx_source(p);
	struct ptx_instruction *in = ptx_emit(p, PTX_NANOSLEEP);

	if (in)
		in->a = a;
}

static void decode_activemask(struct ptx_parser *p)
{
	uint32_t d = ptx_destination(p);
	struct ptx_instruction *in = ptx_emit(p, PTX_ACTIVEMASK);

	if (in)
		in->d = d;
}

static void decode_return(struct ptx_parser *p)
{
	ptx_emit(p, p->function->is_entry ? PTX_EXIT : PTX_RETURN);
}

static void decode_exit(struct ptx_parser *p)
{
	ptx_emit(p, PTX_EXIT);
}

static void decode_trap(struct ptx_parser *p)
{
	ptx_emit(p, PTX_TRAP);
}

/* An event for a profiler. */
static void decode_event(struct ptx_parser *p)
{
	ptx_source(p);
}

/* Opcodes with one form. */
static int decode_whole(struct ptx_parser *p)
{
	static const struct {
		const char *text;
		void (*decode)(struct ptx_parser *p);
	} rows[] = {
		{ "bra", decode_branch },
		{ "bra.uni", decode_branch },
		{ "brx.idx", decode_branch_table },
		{ "brx.idx.uni", decode_branch_table },
		{ "call", decode_call },
		{ "call.uni", decode_call },
		{ "ret", decode_return },
		{ "ret.uni", decode_return },
		{ "exit", decode_exit },
		{ "trap", decode_trap },
		{ "pmevent", decode_event },
		{ "nanosleep.u32", decode_nanosleep },
		{ "activemask.b32", decode_activemask },
		{ "elect.sync", decode_elect },
		{ "mov.b128", decode_wide_move },
		{ "mapa.u64", decode_mapa },
		{ "mapa.shared::cluster.u32", decode_mapa },
		{ "mapa.shared::cluster.u64", decode_mapa },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (ptx_is(&p->opcode, rows[i].text)) {
			rows[i].decode(p);
			return 1;
		}
	return 0;
}

int ptx_decode_lanes(struct ptx_parser *p)
{
	struct ptx_parts parts;

	if (decode_whole(p))
		return 1;
	ptx_split(&parts, &p->opcode);
	if (ptx_part(&parts, "bar"))
		return decode_barrier(p, &parts, 1);
	if (ptx_part(&parts, "barrier"))
		return decode_barrier(p, &parts, 0);
	if (ptx_part(&parts, "shfl"))
		return decode_shfl(p, &parts);
	if (ptx_part(&parts, "vote"))
		return decode_vote(p, &parts);
	if (ptx_part(&parts, "match"))
		return decode_match(p, &parts);
	if (ptx_part(&parts, "redux"))
		return decode_redux(p, &parts);
	if (ptx_part(&parts, "cvta"))
		return decode_cvta(p, &parts);
	if (ptx_part(&parts, "isspacep"))
		return decode_isspacep(p, &parts);
	return 0;
}
