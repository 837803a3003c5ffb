/* SPDX-License-Identifier: Apache-2.0 */
#include "parser.h"

#include <pthread.h>

const struct ptx_opcode_info ptx_opcode_infos[PTX_N_VALUES] = {
#define ROW(text, id, n, tr, ta, tb, tc, e) { text, n },
	PTX_VALUES(ROW)
#undef ROW
};

/* ---- the table of values ------------------------------------------------- */

#define TABLE_SIZE 4096 /* a power of two, above twice the number of rows */

static uint16_t table[TABLE_SIZE]; /* opcodes + 1 by hash */
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

_Static_assert(PTX_N_VALUES * 2 < TABLE_SIZE, "TABLE_SIZE is too small");

static uint16_t *entry_of(const char *at, size_t bytes)
{
	uint32_t h = 2166136261u;
	size_t i;
	uint16_t *entry;

	for (i = 0; i < bytes; i++)
		h = (h ^ (unsigned char)at[i]) * 16777619u;
	for (;; h++) {
		entry = &table[h & (TABLE_SIZE - 1)];
		if (!*entry ||
		    ptx_equal(at, bytes, ptx_opcode_infos[*entry - 1].text))
			return entry;
	}
}

static void fill_table(void)
{
	uint16_t i;

	for (i = 0; i < PTX_N_VALUES; i++) {
		const char *text = ptx_opcode_infos[i].text;

		*entry_of(text, strlen(text)) = (uint16_t)(i + 1);
	}
}

/* ---- parts of an opcode -------------------------------------------------- */

void ptx_split(struct ptx_parts *parts, const struct ptx_token *opcode)
{
	const uint32_t max = sizeof(parts->at) / sizeof(*parts->at);
	const char *at = opcode->at, *end = at + opcode->bytes;

	parts->n = parts->next = 0;
	while (at <= end && parts->n < max) {
		const char *from = at;

		while (at < end && *at != '.')
			at++;
		parts->at[parts->n] = from;
		parts->bytes[parts->n++] = (uint32_t)(at - from);
		at++;
	}
	if (at <= end) /* too many parts: none matches */
		parts->n = 0;
}

int ptx_part(struct ptx_parts *parts, const char *text)
{
	uint32_t i = parts->next;

	if (i >= parts->n || !ptx_equal(parts->at[i], parts->bytes[i], text))
		return 0;
	parts->next++;
	return 1;
}

int ptx_part_of(struct ptx_parts *parts, const char *const *list)
{
	int i;

	for (i = 0; list[i]; i++)
		if (ptx_part(parts, list[i]))
			return i;
	return -1;
}

uint32_t ptx_part_type(struct ptx_parts *parts, enum ptx_type_kind *kind_out)
{
	uint32_t i = parts->next;

	if (i + 1 != parts->n)
		return 0;
	parts->next++;
	return ptx_type(parts->at[i], parts->bytes[i], kind_out);
}

/* ---- values -------------------------------------------------------------- */

static int begins(const struct ptx_parser *p, const char *text)
{
	size_t n = strlen(text);

	return p->opcode.bytes >= n && !memcmp(p->opcode.at, text, n);
}

/* Decodes mov.b32 d, {a, b} and mov.b32 {a, b}, d. */
static void decode_pack(struct ptx_parser *p, uint32_t d)
{
	uint32_t size =
		ptx_equal(p->opcode.at, p->opcode.bytes, "mov.b64") ? 8 :
		ptx_equal(p->opcode.at, p->opcode.bytes, "mov.b32") ? 4 :
								      0;
	uint32_t slots[PTX_MAX_VECTOR] = { 0 };
	int unpack = d == PTX_NO_SLOT;
	struct ptx_instruction *in;

	if (!size)
		ptx_fail(p, "'%.*s' has no vector", (int)p->opcode.bytes,
			 p->opcode.at);
	ptx_vector(p, slots, 2, !unpack);
	if (unpack) {
		ptx_need(p, ",");
		d = ptx_source(p);
	}
	in = ptx_emit(p, unpack ? PTX_UNPACK : PTX_PACK);
	if (!in)
		return;
	in->size = (uint8_t)size;
	in->d = unpack ? 0 : d;
	in->a = d;
	memcpy(in->v, slots, sizeof(slots));
}

static void decode_move(struct ptx_parser *p, uint16_t opcode)
{
	uint32_t d, a, before = p->function->n_code;
	struct ptx_instruction *in;

	if (ptx_is(&p->token, "{")) {
		decode_pack(p, PTX_NO_SLOT);
		return;
	}
	d = ptx_destination(p);
	ptx_need(p, ",");
	if (ptx_is(&p->token, "{")) {
		decode_pack(p, d);
		return;
	}
	a = ptx_source(p);
	if (p->failed)
		return;
	if (p->function->n_code > before) {
		/* an instruction computes the source: into d at once */
		p->function->code[p->function->n_code - 1].d = d;
		return;
	}
	in = ptx_emit(p, opcode);
	if (!in)
		return;
	in->d = d;
	in->a = a;
}

static void decode_value(struct ptx_parser *p, uint16_t opcode)
{
	uint32_t d = ptx_destination(p), inverse = PTX_NO_SLOT;
	uint32_t s[4] = { 0 };
	struct ptx_instruction *in;
	int i;

	if (begins(p, "setp.") && ptx_take(p, "|"))
		inverse = ptx_register(p);
	for (i = 0; i < ptx_opcode_infos[opcode].sources; i++) {
		ptx_need(p, ",");
		s[i] = ptx_source(p);
	}
	in = ptx_emit(p, opcode);
	if (!in)
		return;
	in->d = d;
	in->a = s[0];
	in->b = s[1];
	in->c = s[2];
	in->v[0] = s[3];
	if (inverse == PTX_NO_SLOT)
		return;
	in = ptx_emit(p, PTX_NOT_PRED);
	if (!in)
		return;
	in->d = inverse;
	in->a = d;
}

int ptx_value_opcode(const char *text)
{
	return *entry_of(text, strlen(text)) - 1;
}

void ptx_decode(struct ptx_parser *p)
{
	uint16_t found;

	pthread_once(&table_once, fill_table);
	found = *entry_of(p->opcode.at, p->opcode.bytes);
	if (found && begins(p, "mov."))
		decode_move(p, (uint16_t)(found - 1));
	else if (ptx_decode_carry(p))
		return;
	else if (found)
		decode_value(p, (uint16_t)(found - 1));
	else if (!ptx_decode_memory(p) && !ptx_decode_lanes(p) &&
		 !ptx_decode_async(p)) {
		p->token_line = p->opcode_line;
		ptx_fail(p, "opcode '%.*s' is unknown",
			 (int)(p->opcode.bytes < 80 ? p->opcode.bytes : 80),
			 p->opcode.at);
	}
}
