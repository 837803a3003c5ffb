/* SPDX-License-Identifier: Apache-2.0 */
#include "lexer.h"

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Returns the value of a digit in any base, or 99. */
static unsigned digit(char c)
{
	if (is_digit(c))
		return (unsigned)(c - '0');
	c = (char)(c | 32);
	return c >= 'a' && c <= 'z' ? (unsigned)(c - 'a' + 10) : 99;
}

static int in_word(char c)
{
	return digit(c) < 36 || c == '_' || c == '$' || c == '.' || c == '%';
}

void ptx_lex_line(struct ptx_lexer *lexer)
{
	while (lexer->at < lexer->end && *lexer->at != '\n')
		lexer->at++;
}

static void skip_comment(struct ptx_lexer *lexer)
{
	lexer->at += 2;
	while (lexer->at + 1 < lexer->end &&
	       (lexer->at[0] != '*' || lexer->at[1] != '/'))
		lexer->line += *lexer->at++ == '\n';
	lexer->at = lexer->end - lexer->at > 2 ? lexer->at + 2 : lexer->end;
}

static void skip_blanks(struct ptx_lexer *lexer)
{
	while (lexer->at < lexer->end) {
		char c = *lexer->at;
		char next = lexer->end - lexer->at > 1 ? lexer->at[1] : 0;

		if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
			lexer->line += c == '\n';
			lexer->at++;
		} else if (c == '/' && next == '/') {
			ptx_lex_line(lexer);
		} else if (c == '/' && next == '*') {
			skip_comment(lexer);
		} else {
			return;
		}
	}
}

/* Reads digits of a base. Returns the number of digits. */
static uint32_t read_digits(const char *at, const char *end, unsigned base,
			    uint64_t *value)
{
	const char *from = at;

	*value = 0;
	for (; at < end && digit(*at) < base; at++)
		*value = *value * base + digit(*at);
	return (uint32_t)(at - from);
}

/* Reads a number without its sign: decimal, 0x.., 0b.., 0.., 0f.. or 0d.. */
static uint32_t read_number(const char *at, const char *end, uint64_t *value)
{
	char base = (char)(end - at > 1 && *at == '0' ? at[1] | 32 : 0);
	uint32_t n;

	if (base == 'x' || base == 'f' || base == 'd')
		n = 2 + read_digits(at + 2, end, 16, value);
	else if (base == 'b')
		n = 2 + read_digits(at + 2, end, 2, value);
	else
		return read_digits(at, end, *at == '0' ? 8 : 10, value);
	if ((base == 'f' && n != 10) || (base == 'd' && n != 18))
		return 0;
	return n;
}

static void lex_number(struct ptx_lexer *lexer, struct ptx_token *token)
{
	int negative = *lexer->at == '-';
	const char *from = lexer->at + negative;
	uint32_t n = read_number(from, lexer->end, &token->value);

	if (from + n < lexer->end && from[n] == 'U')
		n++;
	/* a letter follows the digits: no number */
	if (!n || (from + n < lexer->end && in_word(from[n]))) {
		token->kind = PTX_MARK;
		lexer->at++;
		return;
	}
	token->kind = PTX_NUMBER;
	if (negative)
		token->value = 0 - token->value;
	lexer->at = from + n;
}

static void lex_word(struct ptx_lexer *lexer)
{
	for (;;) {
		if (lexer->at < lexer->end && in_word(*lexer->at))
			lexer->at++;
		else if (lexer->end - lexer->at > 1 && lexer->at[0] == ':' &&
			 lexer->at[1] == ':')
			lexer->at += 2;
		else
			return;
	}
}

/* .reg.b32 is two words. */
static void lex_directive(struct ptx_lexer *lexer)
{
	do
		lexer->at++;
	while (lexer->at < lexer->end && in_word(*lexer->at) &&
	       *lexer->at != '.');
}

static void lex_string(struct ptx_lexer *lexer)
{
	do
		lexer->at++;
	while (lexer->at < lexer->end && *lexer->at != '"' &&
	       *lexer->at != '\n');
	if (lexer->at < lexer->end)
		lexer->at++;
}

struct ptx_token ptx_lex(struct ptx_lexer *lexer)
{
	struct ptx_token token = { PTX_END, NULL, 0, 0 };
	char c, next;

	skip_blanks(lexer);
	token.at = lexer->at;
	if (lexer->at >= lexer->end || !*lexer->at)
		return token;
	c = *lexer->at;
	next = lexer->end - lexer->at > 1 ? lexer->at[1] : 0;
	if (is_digit(c) || (c == '-' && is_digit(next))) {
		lex_number(lexer, &token);
	} else if (in_word(c)) {
		token.kind = PTX_WORD;
		if (c == '.')
			lex_directive(lexer);
		else
			lex_word(lexer);
	} else if (c == '"') {
		token.kind = PTX_STRING;
		lex_string(lexer);
	} else {
		token.kind = PTX_MARK;
		lexer->at++;
	}
	token.bytes = (uint32_t)(lexer->at - token.at);
	return token;
}
