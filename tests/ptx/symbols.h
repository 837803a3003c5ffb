/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_SYMBOLS_H
#define PTX_SYMBOLS_H

/*
 * Names of a module and of a function, in nested scopes. A symbol of an inner
 * scope hides an outer one. Names point into the text.
 */

#include "lexer.h"

enum ptx_symbol_kind {
	PTX_REGISTER, /* value: slot */
	PTX_REGISTERS, /* a prefix as in %r<9>; value: first slot, n: number */
	PTX_PARAM, /* value: offset in the frame's memory, n: bytes */
	PTX_LOCAL,
	PTX_SHARED, /* value: offset */
	PTX_DYNAMIC, /* dynamic shared memory */
	PTX_GLOBAL, /* value: address */
	PTX_FUNCTION, /* object */
	PTX_LABEL, /* value: number of an instruction */
	PTX_PROTOTYPE, /* object: struct ptx_prototype */
	PTX_TARGETS, /* object: struct ptx_targets */
	PTX_WIDE, /* register of 128 bits; value: its first slot of two */
	PTX_WIDES /* a prefix of them, as PTX_REGISTERS */
};

struct ptx_symbol {
	const char *name;
	uint32_t bytes; /* of the name */
	enum ptx_symbol_kind kind;
	uint64_t value;
	uint32_t n;
	void *object;
	struct ptx_symbol *next; /* in the bucket */
	struct ptx_symbol *older;
	uint32_t bucket;
};

struct ptx_symbols {
	struct ptx_symbol **buckets;
	uint32_t n_buckets, n;
	struct ptx_symbol *newest;
};

/* Adds a symbol. Returns NULL if memory is exhausted. */
struct ptx_symbol *ptx_symbol_add(struct ptx_symbols *symbols,
				  const struct ptx_token *name,
				  enum ptx_symbol_kind kind, uint64_t value);
/* Finds the innermost symbol of a name. A register as %r8 has the kind
 * PTX_REGISTERS; *number_out is its number then. */
const struct ptx_symbol *ptx_symbol_find(const struct ptx_symbols *symbols,
					 const char *name, uint32_t bytes,
					 uint32_t *number_out);
/* Removes all symbols that are newer than `mark`, an earlier `newest`. */
void ptx_symbols_close(struct ptx_symbols *symbols, struct ptx_symbol *mark);
void ptx_symbols_free(struct ptx_symbols *symbols);

#endif
