/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols.h"

#include <stdlib.h>

/* FNV-1a. */
static uint32_t hash(const char *name, uint32_t bytes)
{
	uint32_t h = 2166136261u;

	while (bytes--)
		h = (h ^ (unsigned char)*name++) * 16777619u;
	return h;
}

/* Doubles the number of buckets. The newest symbol of a bucket stays first. */
static int grow(struct ptx_symbols *symbols)
{
	uint32_t n = symbols->n_buckets ? symbols->n_buckets * 2 : 256;
	struct ptx_symbol **buckets = calloc(n, sizeof(*buckets)), *s, **end;

	if (!buckets)
		return -1;
	free(symbols->buckets);
	symbols->buckets = buckets;
	symbols->n_buckets = n;
	for (s = symbols->newest; s; s = s->older) {
		s->bucket = hash(s->name, s->bytes) & (n - 1);
		for (end = &buckets[s->bucket]; *end; end = &(*end)->next)
			;
		s->next = NULL;
		*end = s;
	}
	return 0;
}

struct ptx_symbol *ptx_symbol_add(struct ptx_symbols *symbols,
				  const struct ptx_token *name,
				  enum ptx_symbol_kind kind, uint64_t value)
{
	struct ptx_symbol *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	if (symbols->n >= symbols->n_buckets && grow(symbols)) {
		free(s);
		return NULL;
	}
	s->name = name->at;
	s->bytes = name->bytes;
	s->kind = kind;
	s->value = value;
	s->bucket = hash(s->name, s->bytes) & (symbols->n_buckets - 1);
	s->next = symbols->buckets[s->bucket];
	symbols->buckets[s->bucket] = s;
	s->older = symbols->newest;
	symbols->newest = s;
	symbols->n++;
	return s;
}

static const struct ptx_symbol *find(const struct ptx_symbols *symbols,
				     const char *name, uint32_t bytes)
{
	const struct ptx_symbol *s;

	if (!symbols->n_buckets)
		return NULL;
	s = symbols->buckets[hash(name, bytes) & (symbols->n_buckets - 1)];
	while (s && (s->bytes != bytes || memcmp(s->name, name, bytes) != 0))
		s = s->next;
	return s;
}

static int is_prefix(enum ptx_symbol_kind kind)
{
	return kind == PTX_REGISTERS || kind == PTX_WIDES;
}

const struct ptx_symbol *ptx_symbol_find(const struct ptx_symbols *symbols,
					 const char *name, uint32_t bytes,
					 uint32_t *number_out)
{
	const struct ptx_symbol *s = find(symbols, name, bytes);
	uint64_t number = 0, power = 1;

	*number_out = 0;
	if (s && !is_prefix(s->kind))
		return s;
	while (bytes > 1 && name[bytes - 1] >= '0' && name[bytes - 1] <= '9' &&
	       power < 1000000000) {
		number += power * (uint64_t)(name[--bytes] - '0');
		power *= 10;
	}
	s = power > 1 ? find(symbols, name, bytes) : NULL;
	if (!s || !is_prefix(s->kind) || number >= s->n)
		return NULL;
	*number_out = (uint32_t)number;
	return s;
}

void ptx_symbols_close(struct ptx_symbols *symbols, struct ptx_symbol *mark)
{
	while (symbols->newest != mark) {
		struct ptx_symbol *s = symbols->newest;

		/* the newest symbol is the first of its bucket */
		symbols->buckets[s->bucket] = s->next;
		symbols->newest = s->older;
		symbols->n--;
		free(s);
	}
}

void ptx_symbols_free(struct ptx_symbols *symbols)
{
	ptx_symbols_close(symbols, NULL);
	free(symbols->buckets);
	memset(symbols, 0, sizeof(*symbols));
}
