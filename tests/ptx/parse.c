/* SPDX-License-Identifier: Apache-2.0 */
#include "parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_GLOBAL_BYTES (1u << 28)
#define MAX_SHARED_BYTES (1u << 18)
#define MAX_FRAME_BYTES (1u << 20)
#define MAX_ALIGNMENT 4096
#define MAX_FILES 65536
#define DEFAULT_MAX_THREADS 1024

/* ---- tokens -------------------------------------------------------------- */

void ptx_fail(struct ptx_parser *p, const char *format, ...)
{
	struct ptx_error *error = p->error;
	va_list values;
	int n;

	if (!p->failed) {
		error->line = p->token_line;
		n = snprintf(error->text, sizeof(error->text),
			     "PTX module '%.80s': line %u: ", p->module->name,
			     p->token_line);
		va_start(values, format);
		vsnprintf(error->text + n, sizeof(error->text) - (size_t)n,
			  format, values);
		va_end(values);
	}
	p->failed = 1;
	p->lexer.at = p->lexer.end;
	p->token = (struct ptx_token){ PTX_END, "", 0, 0 };
}

void ptx_fail_memory(struct ptx_parser *p)
{
	ptx_fail(p, "memory is exhausted");
}

static void fail_unexpected(struct ptx_parser *p, const char *wanted)
{
	int n = (int)(p->token.bytes < 60 ? p->token.bytes : 60);

	if (p->token.kind == PTX_END)
		ptx_fail(p, "the text ends where %s is needed", wanted);
	else
		ptx_fail(p, "'%.*s' is not %s", n, p->token.at, wanted);
}

void ptx_next(struct ptx_parser *p)
{
	if (p->failed)
		return;
	p->token = ptx_lex(&p->lexer);
	p->token_line = p->lexer.line;
}

int ptx_take(struct ptx_parser *p, const char *text)
{
	if (!ptx_is(&p->token, text))
		return 0;
	ptx_next(p);
	return 1;
}

void ptx_need(struct ptx_parser *p, const char *text)
{
	char wanted[16];

	if (ptx_take(p, text))
		return;
	snprintf(wanted, sizeof(wanted), "'%s'", text);
	fail_unexpected(p, wanted);
}

uint64_t ptx_number(struct ptx_parser *p, uint64_t limit)
{
	uint64_t value = p->token.value;

	if (p->token.kind != PTX_NUMBER) {
		fail_unexpected(p, "a number");
		return 0;
	}
	if (value >= limit) {
		ptx_fail(p, "%llu is too large (allowed 0 .. %llu)",
			 (unsigned long long)value,
			 (unsigned long long)limit - 1);
		return 0;
	}
	ptx_next(p);
	return value;
}

void ptx_skip_to(struct ptx_parser *p, const char *mark)
{
	while (p->token.kind != PTX_END && !ptx_is(&p->token, mark))
		ptx_next(p);
	ptx_need(p, mark);
}

/* Skips the rest of the line of the next token. */
static void skip_line(struct ptx_parser *p)
{
	if (p->failed)
		return;
	ptx_lex_line(&p->lexer);
	ptx_next(p);
}

static struct ptx_token take_name(struct ptx_parser *p)
{
	struct ptx_token name = p->token;

	if (name.kind != PTX_WORD || *name.at == '.')
		fail_unexpected(p, "a name");
	ptx_next(p);
	return name;
}

void *ptx_grow(struct ptx_parser *p, void *array, uint32_t *capacity,
	       size_t size)
{
	uint32_t n = *capacity ? *capacity * 2 : 64;
	void *larger = realloc(array, n * size);

	if (!larger) {
		ptx_fail_memory(p);
		return NULL;
	}
	*capacity = n;
	return larger;
}

/* ---- symbols ------------------------------------------------------------- */

const struct ptx_symbol *ptx_lookup(struct ptx_parser *p,
				    const struct ptx_token *name,
				    uint32_t *number_out)
{
	return ptx_symbol_find(&p->symbols, name->at, name->bytes, number_out);
}

void ptx_declare(struct ptx_parser *p, const struct ptx_token *name,
		 enum ptx_symbol_kind kind, uint64_t value, uint32_t n,
		 void *object)
{
	struct ptx_symbol *s;

	if (p->failed)
		return;
	s = ptx_symbol_add(&p->symbols, name, kind, value);
	if (!s) {
		ptx_fail_memory(p);
		return;
	}
	s->n = n;
	s->object = object;
}

uint32_t ptx_type(const char *at, size_t bytes, enum ptx_type_kind *kind_out)
{
	static const struct {
		const char *text;
		uint32_t bytes;
	} sizes[] = { { "8", 1 },  { "16", 2 },	  { "32", 4 },
		      { "64", 8 }, { "128", 16 }, { NULL, 0 } };
	int i;

	if (ptx_equal(at, bytes, "pred")) {
		*kind_out = PTX_TYPE_PRED;
		return 1;
	}
	if (bytes < 2)
		return 0;
	*kind_out = *at == 'u' ? PTX_TYPE_UNSIGNED :
		    *at == 's' ? PTX_TYPE_SIGNED :
		    *at == 'f' ? PTX_TYPE_FLOAT :
				 PTX_TYPE_BITS;
	if (*kind_out == PTX_TYPE_BITS && *at != 'b')
		return 0;
	for (i = 0; sizes[i].text; i++)
		if (ptx_equal(at + 1, bytes - 1, sizes[i].text))
			return sizes[i].bytes;
	return 0;
}

/* Parses a type with its dot. Returns its bytes. */
static uint32_t take_type(struct ptx_parser *p)
{
	enum ptx_type_kind kind;
	uint32_t bytes = 0;

	if (p->token.bytes > 1 && *p->token.at == '.')
		bytes = ptx_type(p->token.at + 1, p->token.bytes - 1, &kind);
	if (!bytes)
		fail_unexpected(p, "a type");
	ptx_next(p);
	return bytes;
}

/* Parses attributes of a variable. Returns its alignment, 0 if not given. */
static uint32_t take_attributes(struct ptx_parser *p)
{
	uint32_t alignment = 0;

	for (;;) {
		if (ptx_take(p, ".align"))
			alignment = (uint32_t)ptx_number(p, MAX_ALIGNMENT + 1);
		else if (!ptx_take(p, ".ptr") && !ptx_take(p, ".global") &&
			 !ptx_take(p, ".shared") && !ptx_take(p, ".const") &&
			 !ptx_take(p, ".visible"))
			break;
	}
	if (alignment & (alignment - 1))
		ptx_fail(p, "alignment %u is no power of two", alignment);
	return alignment;
}

/* Parses [n]... Returns the product; with [] it is 0. */
static uint64_t take_dimensions(struct ptx_parser *p)
{
	uint64_t n = 1;

	while (ptx_take(p, "[")) {
		n *= ptx_is(&p->token, "]") ? 0 :
					      ptx_number(p, MAX_GLOBAL_BYTES);
		ptx_need(p, "]");
		if (n > MAX_GLOBAL_BYTES)
			ptx_fail(p, "%llu elements are too many",
				 (unsigned long long)n);
	}
	return n;
}

/* Returns memory of the frame. */
static uint32_t take_frame(struct ptx_parser *p, uint64_t bytes,
			   uint32_t alignment)
{
	struct ptx_function *f = p->function;
	uint32_t at = ptx_align(p->free_memory, alignment);

	if (alignment > 16 || bytes > MAX_FRAME_BYTES ||
	    at + bytes > MAX_FRAME_BYTES) {
		ptx_fail(p,
			 "local memory: alignment %u or size %llu is too "
			 "large (allowed 16 and %u)",
			 alignment, (unsigned long long)at + bytes,
			 MAX_FRAME_BYTES);
		return 0;
	}
	p->free_memory = at + (uint32_t)bytes;
	if (p->free_memory > f->memory_bytes)
		f->memory_bytes = p->free_memory;
	return at;
}

struct ptx_param ptx_parse_param(struct ptx_parser *p, int place)
{
	struct ptx_param param = { 0 };
	uint32_t alignment = take_attributes(p), again;
	uint32_t bytes = take_type(p);
	struct ptx_token name;

	again = take_attributes(p);
	alignment = again > alignment ? again : alignment;
	if (bytes > alignment)
		alignment = bytes;
	name = take_name(p);
	param.name = name.at;
	param.name_bytes = name.bytes;
	param.bytes = (uint32_t)(bytes * take_dimensions(p));
	if (!place || p->failed)
		return param;
	param.offset = take_frame(p, param.bytes, alignment ? alignment : 1);
	ptx_declare(p, &name, PTX_PARAM, param.offset, param.bytes, NULL);
	return param;
}

/* ---- variables ----------------------------------------------------------- */

static void add_initial(struct ptx_parser *p, uint8_t *at, uint32_t bytes)
{
	struct ptx_initial *initial = calloc(1, sizeof(*initial));
	int generic = ptx_take(p, "generic");

	if (!initial) {
		ptx_fail_memory(p);
		return;
	}
	if (generic)
		ptx_need(p, "(");
	initial->line = p->token_line;
	initial->at = at;
	initial->bytes = bytes;
	initial->name = take_name(p);
	if (generic)
		ptx_need(p, ")");
	if (ptx_take(p, "+"))
		initial->addend = ptx_number(p, MAX_GLOBAL_BYTES);
	initial->next = p->initials;
	p->initials = initial;
}

static void take_initial(struct ptx_parser *p, uint8_t *at, uint32_t bytes)
{
	if (p->token.kind == PTX_NUMBER) {
		memcpy(at, &p->token.value, bytes);
		ptx_next(p);
	} else {
		add_initial(p, at, bytes);
	}
}

/* Parses the initial value behind =. An element has `bytes`. */
static void take_initials(struct ptx_parser *p, struct ptx_variable *v,
			  uint32_t bytes)
{
	uint64_t at = 0;

	if (!ptx_take(p, "{")) {
		take_initial(p, v->memory, bytes);
		return;
	}
	do {
		if (at + bytes > v->bytes || bytes > 8) {
			ptx_fail(p, "initial value: more than %llu bytes",
				 (unsigned long long)v->bytes);
			return;
		}
		take_initial(p, v->memory + at, bytes);
		at += bytes;
	} while (ptx_take(p, ","));
	ptx_need(p, "}");
}

static void add_global(struct ptx_parser *p, const struct ptx_token *name,
		       enum ptx_space space, uint32_t element, uint64_t n,
		       uint32_t alignment)
{
	uint64_t bytes = n * element;
	struct ptx_variable *v = calloc(1, sizeof(*v));
	size_t unit = alignment > 256 ? alignment : 256;

	if (!v) {
		ptx_fail_memory(p);
		return;
	}
	v->next = p->module->variables;
	p->module->variables = v;
	v->name = name->at;
	v->name_bytes = name->bytes;
	v->bytes = bytes;
	v->is_const = space == PTX_SPACE_CONST;
	if (p->failed || !n || bytes > MAX_GLOBAL_BYTES) {
		ptx_fail(p, "variable '%.*s': size is 0 or above %u",
			 (int)name->bytes, name->at, MAX_GLOBAL_BYTES);
		return;
	}
	v->memory = aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
	if (!v->memory) {
		ptx_fail_memory(p);
		return;
	}
	memset(v->memory, 0, bytes);
	ptx_declare(p, name, PTX_GLOBAL, (uintptr_t)v->memory, 0, v);
	if (ptx_take(p, "="))
		take_initials(p, v, element);
}

static void add_shared(struct ptx_parser *p, const struct ptx_token *name,
		       uint64_t bytes, uint32_t alignment, int inside)
{
	struct ptx_module *m = p->module;
	uint32_t at = ptx_align(m->shared_bytes, alignment), all;

	if (bytes > MAX_SHARED_BYTES || at + bytes > MAX_SHARED_BYTES) {
		ptx_fail(p, "shared memory: %llu bytes (allowed 0 .. %u)",
			 (unsigned long long)at + bytes, MAX_SHARED_BYTES);
		return;
	}
	all = at + (uint32_t)bytes - m->shared_bytes;
	m->shared_bytes += all;
	if (inside)
		p->function->shared_bytes += all;
	else
		m->own_shared_bytes += all;
	ptx_declare(p, name, PTX_SHARED, at, 0, NULL);
}

void ptx_parse_variable(struct ptx_parser *p, enum ptx_space space,
			int is_extern, int inside)
{
	uint32_t alignment = take_attributes(p);
	uint32_t element = take_type(p);
	struct ptx_token name = take_name(p);
	uint64_t n = take_dimensions(p);

	if (element > alignment)
		alignment = element;
	if (p->failed)
		return;
	if (space == PTX_SPACE_LOCAL && inside) {
		ptx_declare(p, &name, PTX_LOCAL,
			    take_frame(p, n * element, alignment),
			    (uint32_t)(n * element), NULL);
		p->function->local_bytes += (uint32_t)(n * element);
	} else if (space == PTX_SPACE_SHARED && is_extern) {
		ptx_declare(p, &name, PTX_DYNAMIC, 0, 0, NULL);
	} else if (space == PTX_SPACE_SHARED) {
		add_shared(p, &name, n * element, alignment, inside);
	} else if (space == PTX_SPACE_LOCAL || is_extern) {
		ptx_fail(p,
			 "variable '%.*s': a variable of this space "
			 "cannot be here",
			 (int)name.bytes, name.at);
	} else {
		add_global(p, &name, space, element, n, alignment);
	}
	ptx_need(p, ";");
}

/* ---- functions ----------------------------------------------------------- */

/* Returns the function of a name. Declares it if it is new. */
static struct ptx_function *declared(struct ptx_parser *p,
				     const struct ptx_token *name)
{
	uint32_t number;
	const struct ptx_symbol *s = ptx_lookup(p, name, &number);
	struct ptx_function *f;

	if (s && s->kind == PTX_FUNCTION)
		return s->object;
	f = calloc(1, sizeof(*f));
	if (!f) {
		ptx_fail_memory(p);
		return NULL;
	}
	f->next = p->module->functions;
	p->module->functions = f;
	f->module = p->module;
	f->name = name->at;
	f->name_bytes = name->bytes;
	f->max_threads = DEFAULT_MAX_THREADS;
	f->text_name = strndup(name->at, name->bytes);
	if (!f->text_name)
		ptx_fail_memory(p);
	ptx_declare(p, name, PTX_FUNCTION, 0, 0, f);
	return f;
}

struct ptx_param *ptx_parse_params(struct ptx_parser *p, uint32_t *n_out,
				   ptx_param_fn *parse)
{
	struct ptx_param *params = NULL, *more;
	uint32_t capacity = 0, n = 0;

	*n_out = 0;
	if (!ptx_take(p, "(") || ptx_take(p, ")"))
		return NULL;
	do {
		if (n == capacity) {
			more = ptx_grow(p, params, &capacity, sizeof(*params));
			if (!more)
				break;
			params = more;
		}
		params[n++] = parse(p);
	} while (ptx_take(p, ","));
	ptx_need(p, ")");
	*n_out = n;
	return params;
}

int ptx_same_params(const struct ptx_param *a, uint32_t n_a,
		    const struct ptx_param *b, uint32_t n_b)
{
	uint32_t i;

	for (i = 0; i < n_a && i < n_b; i++)
		if (a[i].bytes != b[i].bytes)
			return 0;
	return n_a == n_b;
}

static struct ptx_param parse_placed(struct ptx_parser *p)
{
	ptx_need(p, ".param");
	return ptx_parse_param(p, 1);
}

/* Parses .maxntid and other directives between a head and its body. */
static void take_tuning(struct ptx_parser *p, struct ptx_function *f)
{
	uint64_t threads = 1;

	while (p->token.kind == PTX_WORD) {
		if (!ptx_is(&p->token, ".maxntid") &&
		    !ptx_is(&p->token, ".reqntid")) {
			ptx_next(p);
			while (p->token.kind == PTX_NUMBER ||
			       p->token.kind == PTX_STRING ||
			       ptx_is(&p->token, ","))
				ptx_next(p);
			ptx_take(p, ";"); /* of .pragma */
			continue;
		}
		ptx_next(p);
		do
			threads *= ptx_number(p, DEFAULT_MAX_THREADS + 1);
		while (ptx_take(p, ","));
		if (threads && threads <= DEFAULT_MAX_THREADS)
			f->max_threads = (uint32_t)threads;
	}
}

/* Forgets the parameters of an earlier declaration. */
static void restart(struct ptx_parser *p, struct ptx_function *f)
{
	if (f->is_defined)
		ptx_fail(p, "function '%s' has two bodies", f->text_name);
	free(f->params);
	f->params = NULL;
	f->n_params = 0;
	f->result.bytes = 0;
	f->memory_bytes = 0;
	p->function = f;
	p->free_memory = 0;
	/* slot 0 is a source that no opcode reads */
	p->free_slot = f->n_registers = PTX_CARRY_SLOT + 1;
}

static void end_function(struct ptx_parser *p)
{
	free(p->fixups);
	free(p->constant_table);
	p->fixups = NULL;
	p->constant_table = NULL;
	p->n_fixups = p->fixup_capacity = 0;
	p->code_capacity = p->constant_capacity = p->table_size = 0;
	p->function = NULL;
}

/* Parses a function behind .entry or .func. The name stands behind the result:
 * the parameters are declared in a scope that holds the body, too. */
static void parse_function(struct ptx_parser *p, int is_entry)
{
	struct ptx_lexer at = p->lexer;
	struct ptx_token first = p->token, name;
	struct ptx_symbol *scope;
	struct ptx_function *f;

	if (ptx_take(p, "("))
		ptx_skip_to(p, ")");
	name = take_name(p);
	if (p->failed)
		return;
	f = declared(p, &name);
	if (p->failed)
		return;
	f->is_entry = is_entry;
	restart(p, f);
	if (p->failed)
		return;
	scope = p->symbols.newest;
	p->lexer = at;
	p->token = first;
	if (ptx_take(p, "(")) {
		f->result = parse_placed(p);
		ptx_need(p, ")");
	}
	ptx_next(p); /* the name */
	f->params = ptx_parse_params(p, &f->n_params, parse_placed);
	f->params_end = f->memory_bytes;
	take_tuning(p, f);
	if (!ptx_take(p, ";")) {
		ptx_need(p, "{");
		ptx_parse_body(p);
	}
	ptx_symbols_close(&p->symbols, scope);
	end_function(p);
}

/* ---- module -------------------------------------------------------------- */

static void parse_file(struct ptx_parser *p)
{
	struct ptx_module *m = p->module;
	uint32_t number = (uint32_t)ptx_number(p, MAX_FILES), n = number + 1;
	char **files;

	if (p->token.kind != PTX_STRING || p->token.bytes < 2) {
		fail_unexpected(p, "a file name");
		return;
	}
	if (n > m->n_files) {
		files = realloc(m->files, n * sizeof(*files));
		if (!files) {
			ptx_fail_memory(p);
			return;
		}
		memset(files + m->n_files, 0,
		       (n - m->n_files) * sizeof(*files));
		m->files = files;
		m->n_files = n;
	}
	free(m->files[number]);
	m->files[number] = strndup(p->token.at + 1, p->token.bytes - 2);
	skip_line(p);
}

static void parse_address_size(struct ptx_parser *p)
{
	if (p->token.kind != PTX_NUMBER || p->token.value != 64)
		ptx_fail(p, ".address_size: the machine has 64-bit addresses");
	ptx_next(p);
}

/* Parses one directive of the module. */
static void parse_directive(struct ptx_parser *p)
{
	int is_extern = 0;

	while (ptx_is(&p->token, ".visible") || ptx_is(&p->token, ".weak") ||
	       ptx_is(&p->token, ".extern") || ptx_is(&p->token, ".common")) {
		is_extern |= ptx_is(&p->token, ".extern");
		ptx_next(p);
	}
	if (ptx_take(p, ".entry"))
		parse_function(p, 1);
	else if (ptx_take(p, ".func"))
		parse_function(p, 0);
	else if (ptx_take(p, ".global"))
		ptx_parse_variable(p, PTX_SPACE_GLOBAL, is_extern, 0);
	else if (ptx_take(p, ".const"))
		ptx_parse_variable(p, PTX_SPACE_CONST, is_extern, 0);
	else if (ptx_take(p, ".shared"))
		ptx_parse_variable(p, PTX_SPACE_SHARED, is_extern, 0);
	else if (ptx_take(p, ".file"))
		parse_file(p);
	else if (ptx_take(p, ".address_size"))
		parse_address_size(p);
	else if (ptx_is(&p->token, ".version") || ptx_is(&p->token, ".target"))
		skip_line(p);
	else if (ptx_take(p, ".pragma"))
		ptx_skip_to(p, ";");
	else if (ptx_take(p, ".section"))
		ptx_skip_to(p, "}");
	else
		fail_unexpected(p, "a directive of a module");
}

/* Writes the addresses in initial values: all names are known now. */
static void write_initials(struct ptx_parser *p)
{
	struct ptx_initial *i;
	const struct ptx_symbol *s;
	uint64_t address;
	uint32_t number;

	for (i = p->initials; i; i = i->next) {
		s = ptx_lookup(p, &i->name, &number);
		if (!s || i->bytes != 8 ||
		    (s->kind != PTX_FUNCTION && s->kind != PTX_GLOBAL)) {
			p->token_line = i->line;
			ptx_fail(p, "initial value '%.*s' has no address",
				 (int)i->name.bytes, i->name.at);
			return;
		}
		address = s->kind == PTX_FUNCTION ? (uintptr_t)s->object :
						    s->value;
		address += i->addend;
		memcpy(i->at, &address, sizeof(address));
	}
}

/* Checks that a direct call passes what its function takes. */
static void check_call(struct ptx_parser *p, struct ptx_call *call)
{
	struct ptx_function *f = call->function;

	if (!f)
		return;
	if (!f->is_defined)
		ptx_fail(p, "function '%s' is called and has no body",
			 f->text_name);
	else if (f->is_entry || !ptx_same_params(f->params, f->n_params,
						 call->from, call->n_params))
		ptx_fail(p, "function '%s': a call has other parameters",
			 f->text_name);
	else if (f->result.bytes != call->result_bytes)
		ptx_fail(p, "function '%s': a call has another result",
			 f->text_name);
}

static void parse_module(struct ptx_parser *p)
{
	struct ptx_call *call;

	ptx_next(p);
	while (p->token.kind != PTX_END)
		parse_directive(p);
	if (!p->failed)
		write_initials(p);
	if (!p->failed && !ptx_keep_initials(p->module))
		ptx_fail_memory(p);
	for (call = p->module->calls; call && !p->failed; call = call->next)
		check_call(p, call);
	/* dynamic shared memory lies behind all static shared memory */
	p->module->shared_bytes = ptx_align(p->module->shared_bytes, 16);
}

static void free_parser(struct ptx_parser *p)
{
	struct ptx_initial *i;

	end_function(p);
	while ((i = p->initials)) {
		p->initials = i->next;
		free(i);
	}
	ptx_symbols_free(&p->symbols);
}

struct ptx_module *ptx_load(const char *text, size_t bytes, const char *name,
			    struct ptx_error *error_out)
{
	struct ptx_parser p = { .error = error_out };

	p.module = ptx_module_create(text, bytes, name);
	if (!p.module) {
		snprintf(error_out->text, sizeof(error_out->text),
			 "PTX module '%.80s': memory is exhausted",
			 name ? name : "");
		error_out->line = 0;
		return NULL;
	}
	p.lexer.at = p.module->text;
	p.lexer.end = p.module->text + bytes;
	p.lexer.line = 1;
	parse_module(&p);
	free_parser(&p);
	if (!p.failed) {
		ptx_estimate_registers(p.module);
		return p.module;
	}
	ptx_unload(p.module);
	return NULL;
}
