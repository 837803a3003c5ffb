/* SPDX-License-Identifier: Apache-2.0 */
#include "parser.h"

#include <stdlib.h>

#define MAX_DEPTH 64
#define MAX_REGISTERS (1u << 20)

/* ---- instructions -------------------------------------------------------- */

struct ptx_instruction *ptx_emit(struct ptx_parser *p, enum ptx_opcode opcode)
{
	struct ptx_function *f = p->function;
	struct ptx_instruction *code;
	struct ptx_place *places;
	uint32_t capacity = p->code_capacity;

	if (p->failed)
		return NULL;
	if (f->n_code == capacity) {
		code = ptx_grow(p, f->code, &capacity, sizeof(*code));
		if (!code)
			return NULL;
		f->code = code;
		capacity = p->code_capacity;
		places = ptx_grow(p, f->places, &capacity, sizeof(*places));
		if (!places)
			return NULL;
		f->places = places;
		p->code_capacity = capacity;
	}
	places = &f->places[f->n_code];
	places->ptx_line = p->opcode_line;
	places->line = p->line;
	places->file = p->file;
	places->opcode_at = (uint32_t)(p->opcode.at - p->module->text);
	places->opcode_bytes = p->opcode.bytes;
	code = &f->code[f->n_code++];
	memset(code, 0, sizeof(*code));
	code->opcode = (uint16_t)opcode;
	return code;
}

/* ---- labels -------------------------------------------------------------- */

static void add_fixup(struct ptx_parser *p, const struct ptx_fixup *fixup)
{
	struct ptx_fixup *more;

	if (p->n_fixups == p->fixup_capacity) {
		more = ptx_grow(p, p->fixups, &p->fixup_capacity,
				sizeof(*more));
		if (!more)
			return;
		p->fixups = more;
	}
	p->fixups[p->n_fixups++] = *fixup;
}

static void jump_to(struct ptx_parser *p, uint32_t instruction,
		    struct ptx_targets *list)
{
	struct ptx_fixup fixup = { p->token.at, p->token.bytes, p->token_line,
				   instruction, list };

	if (p->token.kind != PTX_WORD)
		ptx_fail(p, "'%.*s' is not a label", (int)p->token.bytes,
			 p->token.at);
	add_fixup(p, &fixup);
	ptx_next(p);
}

void ptx_jump(struct ptx_parser *p, uint32_t instruction)
{
	jump_to(p, instruction, NULL);
}

/* Until the function ends, a target is a number: the code may still move. */
static const struct ptx_instruction *target_number(uint64_t number)
{
	return (const struct ptx_instruction *)(uintptr_t)number;
}

static const struct ptx_instruction *
target_address(const struct ptx_function *f,
	       const struct ptx_instruction *number)
{
	return f->code + (uintptr_t)number;
}

/* Resolves the jumps since `first` to known labels. Other jumps may go to a
 * label of an outer scope. */
static void resolve(struct ptx_parser *p, uint32_t first)
{
	uint32_t i, left = first, number;

	for (i = first; i < p->n_fixups; i++) {
		struct ptx_fixup *fixup = &p->fixups[i];
		const struct ptx_symbol *s = ptx_symbol_find(
			&p->symbols, fixup->label, fixup->bytes, &number);

		if (!s || s->kind != PTX_LABEL)
			p->fixups[left++] = *fixup;
		else if (fixup->list)
			fixup->list->targets[fixup->instruction] =
				target_number(s->value);
		else
			p->function->code[fixup->instruction].target =
				target_number(s->value);
	}
	p->n_fixups = left;
}

static void take_targets(struct ptx_parser *p, const struct ptx_token *label)
{
	struct ptx_targets *t = calloc(1, sizeof(*t));
	const struct ptx_instruction **more;

	if (!t) {
		ptx_fail_memory(p);
		return;
	}
	t->next = p->module->targets;
	p->module->targets = t;
	do {
		more = realloc(t->targets, (t->n + 1) * sizeof(*more));
		if (!more) {
			ptx_fail_memory(p);
			return;
		}
		t->targets = more;
		t->targets[t->n] = NULL;
		jump_to(p, t->n++, t);
	} while (ptx_take(p, ","));
	ptx_declare(p, label, PTX_TARGETS, 0, 0, t);
	ptx_need(p, ";");
}

static struct ptx_param parse_unplaced(struct ptx_parser *p)
{
	ptx_need(p, ".param");
	return ptx_parse_param(p, 0);
}

/* Parses .callprototype (.param .b32 _) _ (.param .b64 _, ...); */
static void take_prototype(struct ptx_parser *p, const struct ptx_token *label)
{
	struct ptx_prototype *t = calloc(1, sizeof(*t));

	if (!t) {
		ptx_fail_memory(p);
		return;
	}
	t->next = p->module->prototypes;
	p->module->prototypes = t;
	if (ptx_take(p, "(") && !ptx_take(p, ")")) {
		t->result_bytes = parse_unplaced(p).bytes;
		ptx_need(p, ")");
	}
	ptx_need(p, "_");
	t->params = ptx_parse_params(p, &t->n_params, parse_unplaced);
	ptx_declare(p, label, PTX_PROTOTYPE, 0, 0, t);
	while (p->token.kind == PTX_WORD) /* .noreturn */
		ptx_next(p);
	ptx_need(p, ";");
}

/* ---- statements ---------------------------------------------------------- */

/* Parses the registers behind .reg. */
static void take_registers(struct ptx_parser *p)
{
	int wide = ptx_is(&p->token, ".b128");
	struct ptx_token name;
	uint32_t n, first;

	ptx_next(p); /* the type */
	do {
		name = p->token;
		if (name.kind != PTX_WORD)
			ptx_fail(p, "'%.*s' is not a register's name",
				 (int)name.bytes, name.at);
		ptx_next(p);
		if (!ptx_take(p, "<")) {
			ptx_declare(p, &name, wide ? PTX_WIDE : PTX_REGISTER,
				    ptx_new_slot(p), 0, NULL);
			if (wide)
				ptx_new_slot(p);
			continue;
		}
		n = (uint32_t)ptx_number(p, MAX_REGISTERS);
		ptx_need(p, ">");
		first = p->free_slot;
		while (p->free_slot < first + (n << wide) && !p->failed)
			ptx_new_slot(p);
		ptx_declare(p, &name, wide ? PTX_WIDES : PTX_REGISTERS, first,
			    n, NULL);
	} while (ptx_take(p, ","));
	ptx_need(p, ";");
}

/* Parses .loc FILE LINE COLUMN and skips the rest of its line. */
static void take_loc(struct ptx_parser *p)
{
	p->file = (uint32_t)ptx_number(p, UINT32_MAX);
	p->line = (uint32_t)ptx_number(p, UINT32_MAX);
	if (p->failed)
		return;
	ptx_lex_line(&p->lexer);
	ptx_next(p);
}

static void take_directive(struct ptx_parser *p)
{
	if (ptx_take(p, ".loc")) {
		take_loc(p);
	} else if (ptx_take(p, ".reg")) {
		take_registers(p);
	} else if (ptx_take(p, ".param")) {
		ptx_parse_param(p, 1);
		ptx_need(p, ";");
	} else if (ptx_take(p, ".local")) {
		ptx_parse_variable(p, PTX_SPACE_LOCAL, 0, 1);
	} else if (ptx_take(p, ".shared")) {
		ptx_parse_variable(p, PTX_SPACE_SHARED, 0, 1);
	} else if (ptx_take(p, ".pragma")) {
		ptx_skip_to(p, ";");
	} else {
		ptx_fail(p, "directive '%.*s' is unknown",
			 (int)(p->token.bytes < 60 ? p->token.bytes : 60),
			 p->token.at);
	}
}

/* Declares a label, its targets or its prototype. p->token is behind the `:`. */
static void take_label(struct ptx_parser *p, const struct ptx_token *label)
{
	if (ptx_take(p, ".branchtargets"))
		take_targets(p, label);
	else if (ptx_take(p, ".callprototype"))
		take_prototype(p, label);
	else
		ptx_declare(p, label, PTX_LABEL, p->function->n_code, 0, NULL);
}

static void decode_next(struct ptx_parser *p, const struct ptx_token *opcode,
			uint32_t line)
{
	p->opcode = *opcode;
	p->opcode_line = line;
	ptx_decode(p);
	ptx_need(p, ";");
}

/* Parses an instruction behind its @p or @!p. Other instructions than a branch
 * follow a branch over them. */
static void take_predicated(struct ptx_parser *p)
{
	int negated = ptx_take(p, "!");
	uint32_t predicate = ptx_register(p), at;
	struct ptx_token opcode = p->token;
	uint32_t line = p->token_line;
	int is_branch = ptx_is(&opcode, "bra") || ptx_is(&opcode, "bra.uni");
	struct ptx_instruction *in;

	p->opcode = opcode;
	p->opcode_line = line;
	ptx_next(p);
	in = ptx_emit(p,
		      negated == is_branch ? PTX_BRANCH_UNLESS : PTX_BRANCH_IF);
	if (!in)
		return;
	in->a = predicate;
	at = p->function->n_code - 1;
	if (is_branch) {
		ptx_jump(p, at);
		ptx_need(p, ";");
		return;
	}
	decode_next(p, &opcode, line);
	if (!p->failed)
		p->function->code[at].target =
			target_number(p->function->n_code);
}

/* Parses a label or an instruction: both begin with a name. */
static void take_named(struct ptx_parser *p)
{
	struct ptx_token name = p->token;
	uint32_t line = p->token_line;

	ptx_next(p);
	if (ptx_take(p, ":"))
		take_label(p, &name);
	else
		decode_next(p, &name, line);
}

static void take_statement(struct ptx_parser *p)
{
	if (ptx_take(p, ";"))
		return;
	if (ptx_take(p, "@"))
		take_predicated(p);
	else if (p->token.kind != PTX_WORD)
		ptx_fail(p, "'%.*s' is no statement", (int)p->token.bytes,
			 p->token.at);
	else if (*p->token.at == '.')
		take_directive(p);
	else
		take_named(p);
}

/* ---- ends ---------------------------------------------------------------- */

static void place_constant(const struct ptx_function *f, uint32_t *slot)
{
	if (*slot != PTX_NO_SLOT && *slot & PTX_CONSTANT)
		*slot = f->n_registers + (*slot & ~PTX_CONSTANT);
}

static int has_target(const struct ptx_instruction *in)
{
	return in->opcode == PTX_BRANCH || in->opcode == PTX_BRANCH_IF ||
	       in->opcode == PTX_BRANCH_UNLESS;
}

/* Replaces the marks of constants and the numbers of targets. */
static void finish(struct ptx_parser *p, const struct ptx_targets *old)
{
	struct ptx_function *f = p->function;
	struct ptx_targets *t;
	uint32_t i, k;

	for (i = 0; i < f->n_code; i++) {
		struct ptx_instruction *in = &f->code[i];

		place_constant(f, &in->d);
		place_constant(f, &in->a);
		place_constant(f, &in->b);
		place_constant(f, &in->c);
		for (k = 0; k < PTX_MAX_VECTOR; k++)
			place_constant(f, &in->v[k]);
		if (has_target(in))
			in->target = target_address(f, in->target);
	}
	for (t = p->module->targets; t != old; t = t->next)
		for (i = 0; i < t->n; i++)
			t->targets[i] = target_address(f, t->targets[i]);
}

/* Parses a scope behind its {. Its names and its memory end with it. */
static void parse_scope(struct ptx_parser *p, int depth)
{
	struct ptx_symbol *newest = p->symbols.newest;
	uint32_t slot = p->free_slot, memory = p->free_memory;
	uint32_t fixups = p->n_fixups;

	if (depth == MAX_DEPTH)
		ptx_fail(p, "more than %d nested scopes", MAX_DEPTH);
	while (p->token.kind != PTX_END && !ptx_is(&p->token, "}")) {
		if (ptx_take(p, "{"))
			parse_scope(p, depth + 1);
		else
			take_statement(p);
	}
	ptx_need(p, "}");
	resolve(p, fixups);
	ptx_symbols_close(&p->symbols, newest);
	p->free_slot = slot;
	p->free_memory = memory;
}

void ptx_parse_body(struct ptx_parser *p)
{
	struct ptx_function *f = p->function;
	const struct ptx_targets *old = p->module->targets;

	p->line = p->file = 0;
	p->opcode = p->token;
	parse_scope(p, 0);
	/* a lane that passes the last instruction returns */
	p->opcode.bytes = 0;
	ptx_emit(p, f->is_entry ? PTX_EXIT : PTX_RETURN);
	if (p->n_fixups && !p->failed) {
		p->token_line = p->fixups->line;
		ptx_fail(p, "label '%.*s' is not in the function",
			 (int)p->fixups->bytes, p->fixups->label);
	}
	if (p->failed)
		return;
	finish(p, old);
	f->memory_bytes = ptx_align(f->memory_bytes, 16);
	f->is_defined = 1;
}
