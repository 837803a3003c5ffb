/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_PARSER_H
#define PTX_PARSER_H

/*
 * The state of a load, and what its parts share:
 *
 *	module.c         creation, queries, end
 *	parse.c          directives, variables, functions
 *	body.c           declarations, labels and instructions of a function
 *	operand.c        registers, numbers, addresses, constants
 *	decode.c         opcodes of enum ptx_opcode from their text
 *	decode_memory.c  ld, st, atom, red, fence
 *	decode_lanes.c   branches, calls, barriers, opcodes of a warp
 *	decode_async.c   mbarrier, st.async, cp.async.bulk
 *
 * An error ends the text: later tokens are PTX_END. So only loops look for it.
 */

#include "module.h"
#include "symbols.h"

/* A branch to a label that has no address yet. */
struct ptx_fixup {
	const char *label;
	uint32_t bytes;
	uint32_t line;
	uint32_t instruction; /* or index of `list` */
	struct ptx_targets *list;
};

/* An address in the initial value of a variable. */
struct ptx_initial {
	struct ptx_initial *next;
	uint8_t *at;
	struct ptx_token name;
	uint64_t addend;
	uint32_t line, bytes;
};

struct ptx_parser {
	struct ptx_lexer lexer;
	struct ptx_token token; /* the next one */
	uint32_t token_line;
	int failed;
	struct ptx_error *error;
	struct ptx_module *module;
	struct ptx_symbols symbols; /* of all open scopes */
	struct ptx_initial *initials;

	/* the function */
	struct ptx_function *function;
	uint32_t code_capacity;
	uint32_t free_slot, free_memory; /* in the open scope */
	uint32_t *constant_table; /* indices by hash, + 1 */
	uint32_t constant_capacity, table_size;
	struct ptx_fixup *fixups;
	uint32_t n_fixups, fixup_capacity;
	uint32_t line, file; /* of .loc */
	struct ptx_token opcode; /* of the instruction */
	uint32_t opcode_line;
};

/* ---- parse.c ------------------------------------------------------------- */
/* Records the first error, with the line of the token. */
__attribute__((format(printf, 2, 3))) void ptx_fail(struct ptx_parser *p,
						    const char *format, ...);
void ptx_fail_memory(struct ptx_parser *p);
/* Creates an empty module with a copy of the text. Returns NULL if memory is
 * exhausted. */
struct ptx_module *ptx_module_create(const char *text, size_t bytes,
				     const char *name);
/* Copies the values of a module's variables for ptx_reset(). Returns 0 if memory
 * is exhausted. */
int ptx_keep_initials(struct ptx_module *module);
/* Goes to the next token. */
void ptx_next(struct ptx_parser *p);
/* Skips a mark or word if it is next. Returns 1 if it was. */
int ptx_take(struct ptx_parser *p, const char *text);
/* Skips a mark or word, or fails. */
void ptx_need(struct ptx_parser *p, const char *text);
/* Reads a number below a limit. */
uint64_t ptx_number(struct ptx_parser *p, uint64_t limit);
/* Skips to behind the next mark. */
void ptx_skip_to(struct ptx_parser *p, const char *mark);
/* Finds a symbol by a token. */
const struct ptx_symbol *ptx_lookup(struct ptx_parser *p,
				    const struct ptx_token *name,
				    uint32_t *number_out);
void ptx_declare(struct ptx_parser *p, const struct ptx_token *name,
		 enum ptx_symbol_kind kind, uint64_t value, uint32_t n,
		 void *object);
/* Parses a parameter behind .param. With `place` it gets memory. */
struct ptx_param ptx_parse_param(struct ptx_parser *p, int place);
/* Parses a list of parameters in ( ). Returns an array of the caller, or NULL. */
typedef struct ptx_param ptx_param_fn(struct ptx_parser *p);
struct ptx_param *ptx_parse_params(struct ptx_parser *p, uint32_t *n_out,
				   ptx_param_fn *parse);
/* Returns 1 if two lists of parameters have the same sizes. */
int ptx_same_params(const struct ptx_param *a, uint32_t n_a,
		    const struct ptx_param *b, uint32_t n_b);
/* Parses a variable behind its space. `inside`: in a function. */
void ptx_parse_variable(struct ptx_parser *p, enum ptx_space space,
			int is_extern, int inside);

/* Reads a type as .u32, without its dot. Returns its bytes, 0 if unknown. */
uint32_t ptx_type(const char *at, size_t bytes, enum ptx_type_kind *kind_out);

static inline uint32_t ptx_align(uint32_t at, uint32_t alignment)
{
	return (at + alignment - 1) / alignment * alignment;
}

/* Frees an array's old memory and returns one with twice the capacity. */
void *ptx_grow(struct ptx_parser *p, void *array, uint32_t *capacity,
	       size_t size);

/* ---- body.c -------------------------------------------------------------- */
/* Parses the body of p->function, behind its {. */
void ptx_parse_body(struct ptx_parser *p);
/* Appends an instruction. Valid until the next one is appended. */
struct ptx_instruction *ptx_emit(struct ptx_parser *p, enum ptx_opcode opcode);
/* Notes that an instruction jumps to the label p->token, and skips it. */
void ptx_jump(struct ptx_parser *p, uint32_t instruction);

/* ---- operand.c ----------------------------------------------------------- */
/* Returns a slot that no name has. */
uint32_t ptx_new_slot(struct ptx_parser *p);
/* Returns the slot of a constant. Constants lie behind all registers: the slot
 * has PTX_CONSTANT set until the function ends. */
uint32_t ptx_constant(struct ptx_parser *p, uint64_t value);
#define PTX_CONSTANT 0x80000000u
/* Parses a register. */
uint32_t ptx_register(struct ptx_parser *p);
/* Parses a register of 128 bits. Returns the first of its two slots. */
uint32_t ptx_wide_register(struct ptx_parser *p);
/* Parses the destination of an opcode: a register or _. */
uint32_t ptx_destination(struct ptx_parser *p);
/* Parses a source: register, number, or address of a variable or function. */
uint32_t ptx_source(struct ptx_parser *p);
/* Parses { a, b } or { a, b, c, d } of `n` operands. */
void ptx_vector(struct ptx_parser *p, uint32_t slots[PTX_MAX_VECTOR],
		uint32_t n, int is_source);
/* Parses [address]. May append an instruction that computes the base. */
struct ptx_address {
	uint32_t base; /* slot */
	int64_t offset;
	int is_param; /* the offset is in the frame's memory */
	uint32_t param_left; /* bytes from the offset to the parameter's end */
};
struct ptx_address ptx_parse_address(struct ptx_parser *p);

/* ---- decode*.c ----------------------------------------------------------- */
/* Decodes the instruction p->opcode. p->token is its first operand. */
void ptx_decode(struct ptx_parser *p);
/* Each returns 0 if the opcode is none of its own. */
int ptx_decode_memory(struct ptx_parser *p);
int ptx_decode_lanes(struct ptx_parser *p);
int ptx_decode_async(struct ptx_parser *p);
int ptx_decode_carry(struct ptx_parser *p);
/* Returns the row of PTX_VALUES with this text, or -1. */
int ptx_value_opcode(const char *text);
#define PTX_CARRY_SLOT 1 /* CC.CF of each function */

/* Parts of an opcode between its dots. */
struct ptx_parts {
	const char *at[12];
	uint32_t bytes[12];
	uint32_t n, next;
};
void ptx_split(struct ptx_parts *parts, const struct ptx_token *opcode);
/* Skips the next part if it has this text. Returns 1 if it had. */
int ptx_part(struct ptx_parts *parts, const char *text);
/* Skips the next part if it is in a list that ends with NULL. Returns its index,
 * or -1. */
int ptx_part_of(struct ptx_parts *parts, const char *const *list);
/* Reads the last part as a type. Returns its bytes, 0 if it is none. */
uint32_t ptx_part_type(struct ptx_parts *parts, enum ptx_type_kind *kind_out);

/* ---- live.c -------------------------------------------------------------- */
/* Estimates the registers of all functions. */
void ptx_estimate_registers(struct ptx_module *module);

#endif
