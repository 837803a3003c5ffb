/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_LEXER_H
#define PTX_LEXER_H

/* Splits PTX text into tokens. A token points into the text. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum ptx_token_kind {
	PTX_END,
	PTX_WORD, /* identifier, opcode or directive */
	PTX_NUMBER,
	PTX_STRING, /* with its quotes */
	PTX_MARK /* one character */
};

struct ptx_token {
	enum ptx_token_kind kind;
	const char *at;
	uint32_t bytes;
	uint64_t value; /* of a number: its bits */
};

struct ptx_lexer {
	const char *at, *end;
	uint32_t line;
};

struct ptx_token ptx_lex(struct ptx_lexer *lexer);
/* Skips the rest of the line. */
void ptx_lex_line(struct ptx_lexer *lexer);

static inline int ptx_equal(const char *at, size_t bytes, const char *text)
{
	return strlen(text) == bytes && !memcmp(at, text, bytes);
}

static inline int ptx_is(const struct ptx_token *token, const char *text)
{
	return ptx_equal(token->at, token->bytes, text);
}

#endif
